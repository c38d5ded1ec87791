/* A few rays: the trials of swaps, and rows with few features. */

enum { FN(LANES) = 16, FN(AT_ONCE) = 4, FN(FEW) = 8 }; /* rays, rows, features */

/* `first_top` of all lanes at once: those behind the last ray are as the first. */
HELPER int64_t FN(first_lane)(const T *row, T equal)
{
    T top = row[0];
    uint32_t bits = 0;
#pragma omp simd reduction(max : top)
    for (int j = 0; j < FN(LANES); ++j)
        top = MAX(row[j], top);
    const T bound = top - equal * (top < 0 ? -top : top);
#pragma omp simd reduction(| : bits)
    for (int j = 0; j < FN(LANES); ++j)
        bits |= (uint32_t)(row[j] >= bound) << j;
    return bits ? LOWEST_BIT(bits) : 0;
}

/* Scores (AT_ONCE, LANES) of rows on rays in columns, (width, LANES): for each feature all rays at
   once, so that nothing has to be summed across. */
HELPER void FN(few_scores)(const T *const *rows, const T *rays, int64_t width, T *scores)
{
#ifdef FOUR
    enum { VECTORS = FN(LANES) * sizeof(T) / 32 };
    FN(Vector) sum[FN(AT_ONCE)][VECTORS] = {{{0}}};
    for (int64_t z = 0; z < width; ++z)
        for (int v = 0; v < VECTORS; ++v) {
            const FN(Vector) ray = ((const FN(Vector) *)(rays + z * FN(LANES)))[v];
            for (int i = 0; i < FN(AT_ONCE); ++i)
                sum[i][v] += rows[i][z] * ray;
        }
    memcpy(scores, sum, sizeof(sum));
#else
    for (int i = 0; i < FN(AT_ONCE); ++i)
        for (int j = 0; j < FN(LANES); ++j) {
            T sum = 0;
            for (int64_t z = 0; z < width; ++z)
                sum += rows[i][z] * rays[z * FN(LANES) + j];
            scores[i * FN(LANES) + j] = sum;
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
        for (int p = 0; p < FN(AT_ONCE); ++p)
            rows[p] = Z + (i + (p < count ? p : 0)) * width;
        FN(few_scores)(rows, rays, width, scores);
        for (int p = 0; p < count; ++p) {
            T *row = scores + p * FN(LANES);
            if (floor)
                row[k] = floor[i + p]; /* that of no cluster */
            const int64_t b = FN(first_lane)(row, equal);
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
                rays[z * FN(LANES) + j] = (T)U[(j < k ? j : 0) * width + z];
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

/* Label and score of a row whose best ray is b; -1 and 0 if that is below `least`. */
HELPER void FN(note)(T score, int64_t b, T least, int64_t *label, T *best)
{
    const int there = score >= least;
    *label = there ? b : -1;
    *best = there ? score : 0;
}

/* As `nearest`, of rows X with few features on rays in columns: each row's scores stay in a cache. */
KERNEL FN(nearest_few)(Args *a)
{
    const T *X = IN(T, 0), *rays = IN(T, 1), equal = a->real[5], least = a->real[6];
    int64_t *labels = OUT(int64_t, 2);
    T *scores = OUT(T, 3), *restrict row = OUT(T, 4);
    const int64_t n = SIZE('n'), m = SIZE('m'), k = SIZE('k');
    if (k <= FN(LANES) && m <= FN(FEW)) {
        T lanes[FN(FEW) * FN(LANES)], found[FN(AT_ONCE) * FN(LANES)];
        for (int64_t z = 0; z < m; ++z)
            for (int64_t j = 0; j < FN(LANES); ++j)
                lanes[z * FN(LANES) + j] = rays[z * k + (j < k ? j : 0)];
        for (int64_t i = 0; i < n; i += FN(AT_ONCE)) {
            const T *rows[FN(AT_ONCE)];
            for (int p = 0; p < FN(AT_ONCE); ++p)
                rows[p] = X + (i + p < n ? i + p : i) * m;
            FN(few_scores)(rows, lanes, m, found);
            for (int p = 0; p < FN(AT_ONCE) && i + p < n; ++p) {
                const int64_t b = FN(first_lane)(found + p * FN(LANES), equal);
                FN(note)(found[p * FN(LANES) + b], b, least, labels + i + p, scores + i + p);
            }
        }
        return 0;
    }
    for (int64_t i = 0; i < n; ++i) {
        const T *restrict ray = rays;
        T x = X[i * m];
        for (int64_t j = 0; j < k; ++j)
            row[j] = x * ray[j];
        for (int64_t z = 1; z < m; ++z) {
            ray += k;
            x = X[i * m + z];
            for (int64_t j = 0; j < k; ++j)
                row[j] += x * ray[j];
        }
        const int64_t b = FN(first_top)(row, k, equal);
        FN(note)(row[b], b, least, labels + i, scores + i);
    }
    return 0;
}
