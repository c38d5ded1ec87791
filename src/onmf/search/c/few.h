/* Alternations of a few rays on the rows of a few clusters: the trials of swaps. */

enum { FN(LANES) = 16, FN(AT_ONCE) = 4 }; /* rays and rows whose scores are found together */

/* Scores (count, LANES) of up to AT_ONCE rows on rays in columns, (width, LANES) with zeros behind
   the last: for each feature all rays at once, so that nothing has to be summed across. */
HELPER void FN(few_scores)(const T *const *rows, int count, const T *rays, int64_t width, T *scores)
{
    for (int i = count; i < FN(AT_ONCE); ++i)
        ((const T **)rows)[i] = rows[0];
#ifdef FOUR
    enum { VECTORS = FN(LANES) * sizeof(T) / 32 };
    typedef T Vector __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
    Vector sum[FN(AT_ONCE)][VECTORS] = {{{0}}};
    for (int64_t z = 0; z < width; ++z)
        for (int v = 0; v < VECTORS; ++v) {
            const Vector ray = *((const Vector *)(rays + z * FN(LANES)) + v);
            for (int i = 0; i < FN(AT_ONCE); ++i)
                sum[i][v] += rows[i][z] * ray;
        }
    memcpy(scores, sum, count * FN(LANES) * sizeof(T));
#else
    for (int i = 0; i < count; ++i) {
        for (int j = 0; j < FN(LANES); ++j)
            scores[i * FN(LANES) + j] = 0;
        for (int64_t z = 0; z < width; ++z)
            for (int j = 0; j < FN(LANES); ++j)
                scores[i * FN(LANES) + j] += rows[i][z] * rays[z * FN(LANES) + j];
    }
#endif
}

/* One pass: what is explained of the rows from `begin` to `end`, whose sums are added to P. */
HELPER double FN(few_pass)(const T *Z, const T *floor, int64_t begin, int64_t end, const T *rays,
                           const double *U, int64_t k, int64_t width, T equal, double *P)
{
    double explained = 0;
    for (int64_t i = begin; i < end; i += FN(AT_ONCE)) {
        const T *rows[FN(AT_ONCE)];
        T scores[FN(AT_ONCE) * FN(LANES)];
        const int count = end - i < FN(AT_ONCE) ? (int)(end - i) : FN(AT_ONCE);
        for (int p = 0; p < count; ++p)
            rows[p] = Z + (i + p) * width;
        FN(few_scores)(rows, count, rays, width, scores);
        for (int p = 0; p < count; ++p) {
            T *row = scores + p * FN(LANES);
            if (floor)
                row[k] = floor[i + p]; /* that of no cluster */
            const int64_t b = FN(first_top)(row, k + (floor != NULL), equal);
            double score = b < k ? FN(product)(rows[p], U + b * width, width) : (double)row[b];
            score = MAX(score, 0);
            explained += score * score;
            if (b < k)
                FN(add)(P + b * width, score, rows[p], width);
        }
    }
    return explained;
}

/* `alternations` of the rays U on the rows of some places alone, place p having the rows from
   edges[p] to edges[p + 1]; returns what is explained. */
KERNEL FN(alternate_few)(Args *a)
{
    const T *Z = IN(T, 0), *floor = SIZE('f') ? IN(T, 4) : NULL;
    const int64_t *edges = IN(int64_t, 1), *places = IN(int64_t, 2);
    const int64_t n = SIZE('n'), k = SIZE('k'), width = SIZE('r');
    double *U = OUT(double, 3), *P = OUT(double, 5), before = -1;
    T *rays = OUT(T, 6);
    const T equal = (T)a->real[7];
    const double goal = a->real[9], least = a->real[10], patience = a->real[11];
    a->broken = (floor && SIZE('f') != n) || k + (floor != NULL) > FN(LANES)
                || SIZE('l') != FN(LANES);
    for (int64_t p = 0; !a->broken && p < SIZE('p'); ++p)
        a->broken = OUTSIDE(places[p], SIZE('e') - 1) || edges[places[p]] < 0
                    || edges[places[p] + 1] > n || edges[places[p]] > edges[places[p] + 1];
    for (int64_t left = a->whole[8]; !a->broken; --left) {
        double explained = 0;
        memset(P, 0, k * width * sizeof(double));
        for (int64_t z = 0; z < width; ++z)
            for (int64_t j = 0; j < FN(LANES); ++j)
                rays[z * FN(LANES) + j] = j < k ? (T)U[j * width + z] : 0;
        for (int64_t p = 0; p < SIZE('p'); ++p)
            explained += FN(few_pass)(Z, floor, edges[places[p]], edges[places[p] + 1], rays, U, k,
                                      width, equal, P);
        const double gain = explained - before;
        before = explained;
        if (left <= 0 || gain <= least * (explained - gain)
            || explained + patience * left * gain < goal
            || !REDIRECT_SOME(U, P, k, width, least * explained / (double)k, NULL))
            break;
    }
    return before;
}
