/* min_{h >= 0} h'Qh - 2 c'h for each row of C, by principal pivoting: see `row_problems`. */

typedef struct {
    double ridge, slack;
    int64_t patience, most; /* full exchanges without progress; exchanges in all */
    char *inside;           /* (k,) whether in the support */
    int64_t *place;         /* the support, and three more */
    double *slope, *h, *R;  /* (k,), (k,) and (k, k + 4) */
    int64_t work;           /* products so far, about */
} FN(Pivot);

/* Four entries of row p of R from q on, before they are divided by the root of the diagonal. */
HELPER void FN(reduce)(const double *R, int64_t stride, int64_t p, int64_t q, const double *row,
                       const int64_t *place, double *entries)
{
#ifdef FOUR
    four sum = {row[place[q]], row[place[q + 1]], row[place[q + 2]], row[place[q + 3]]};
    for (int64_t t = 0; t < p; ++t)
        sum -= R[t * stride + p] * FOUR(double, R + t * stride + q);
    *(four_double *)entries = sum;
#else
    for (int z = 0; z < 4; ++z) {
        entries[z] = row[place[q + z]];
        for (int64_t t = 0; t < p; ++t)
            entries[z] -= R[t * stride + p] * R[t * stride + q + z];
    }
#endif
}

/* Q_SS h_S = c_S by Cholesky, for the support S of `size` places: rows of R with R'R = Q_SS, from
   the four entries with the diagonal on; what is left of that and behind the last is never used.
   The diagonal of Q has the ridge already. */
HELPER void FN(solve_on)(const FN(Pivot) *now, const double *Q, const T *c, int64_t k, int64_t size)
{
    const int64_t *place = now->place, stride = (size + 3) / 4 * 4;
    double *h = now->h, *R = now->R, *inverse = now->slope;
    for (int64_t p = 0; p < size; ++p) {
        const int64_t begin = p / 4 * 4;
        double *own = R + p * stride, value = c[place[p]];
        for (int64_t q = begin; q < stride; q += 4)
            FN(reduce)(R, stride, p, q, Q + place[p] * k, place, own + q);
        for (int64_t t = 0; t < p; ++t)
            value -= R[t * stride + p] * h[t];
        const double scale = 1 / sqrt(MAX(own[p], now->ridge));
        for (int64_t q = begin; q < stride; q += 4)
            for (int z = 0; z < 4; ++z)
                own[q + z] *= scale;
        inverse[p] = scale;
        h[p] = value * scale;
    }
    for (int64_t p = size - 1; p >= 0; --p) {
        const double value = h[p] *= inverse[p];
        for (int64_t t = 0; t < p; ++t)
            h[t] -= R[t * stride + p] * value;
    }
}

/* slope = c - Qh, from the rows of Q in the support alone; those inside, -1 or, where h < 0, inf. */
HELPER void FN(slopes)(const FN(Pivot) *now, const double *Q, const T *c, int64_t k, int64_t size)
{
    double *restrict slope = now->slope;
    const int64_t *place = now->place;
    const double *h = now->h;
    for (int64_t j = 0; j < k; ++j)
        slope[j] = c[j];
    int64_t p = 0;
    for (; p + 4 <= size; p += 4) {
        const double *one = Q + place[p] * k, *two = Q + place[p + 1] * k;
        const double *three = Q + place[p + 2] * k, *four = Q + place[p + 3] * k;
        const double f = h[p], g = h[p + 1], u = h[p + 2], v = h[p + 3];
#pragma omp simd
        for (int64_t j = 0; j < k; ++j)
            slope[j] -= f * one[j] + g * two[j] + (u * three[j] + v * four[j]);
    }
    for (; p < size; ++p) {
        const double *row = Q + place[p] * k, value = h[p];
#pragma omp simd
        for (int64_t j = 0; j < k; ++j)
            slope[j] -= value * row[j];
    }
    for (p = 0; p < size; ++p)
        slope[place[p]] = h[p] >= 0 ? -1 : INFINITY;
}

/* One row: the size of its support, into `place` and h. */
HELPER int64_t FN(solve_row)(FN(Pivot) *now, const double *Q, const T *c, int64_t k)
{
    double scale = 0;
    int64_t fewest = k + 1, grace = now->patience, size = 0;
    for (int64_t j = 0; j < k; ++j)
        scale = MAX(scale, c[j]);
    const double most = now->slack * scale;
    for (int64_t turn = 0; turn < now->most; ++turn) {
        size = 0;
        for (int64_t j = 0; j < k; ++j) {
            now->place[size] = j;
            size += now->inside[j] != 0;
        }
        for (int64_t q = size; q < size + 3; ++q)
            now->place[q] = 0;
        now->work += size * (size * size / 6 + k) + k;
        FN(solve_on)(now, Q, c, k, size);
        FN(slopes)(now, Q, c, k, size);
        int64_t bad = 0, last = -1;
        for (int64_t j = 0; j < k; ++j)
            if (now->slope[j] > most) {
                ++bad;
                last = j;
            }
        if (!bad)
            return size;
        grace = bad < fewest ? now->patience : grace - 1;
        fewest = bad < fewest ? bad : fewest;
        if (grace < 0)
            now->inside[last] ^= 1; /* the last one alone: that cannot cycle */
        else
            for (int64_t j = 0; j < k; ++j)
                now->inside[j] ^= now->slope[j] > most;
    }
    for (int64_t p = 0; p < size; ++p)
        now->h[p] = MAX(now->h[p], 0);
    return size;
}

/* H, from a guess of the supports; H'H and H'Y, which are added to. It ends early after so much
   work, for the sake of interrupts, and returns the number of rows that it has done. */
KERNEL FN(solve_rows)(Args *a)
{
    const double *Q = IN(double, 0);
    const T *C = IN(T, 1), *Y = IN(T, 3);
    double *H = OUT(double, 4), *gram = OUT(double, 5), *cross = OUT(double, 6);
    const int64_t n = SIZE('n'), k = SIZE('k'), width = SIZE('r');
    FN(Pivot) now = {.ridge = a->real[7], .slack = a->real[8], .patience = a->whole[9],
                     .most = a->whole[10]};
    double *memory = malloc((k * (k + 4) + 2 * k) * sizeof(double) + (k + 3) * sizeof(int64_t) + k + 1);
    if (!memory) {
        a->no_memory = 1;
        return 0;
    }
    now.R = memory;
    now.slope = now.R + k * (k + 4);
    now.h = now.slope + k;
    now.place = (int64_t *)(now.h + k);
    now.inside = (char *)(now.place + k + 3);
    int64_t i = 0;
    for (; i < n && now.work < a->whole[11]; ++i) {
        memcpy(now.inside, IN(char, 2) + i * k, k);
        const int64_t size = FN(solve_row)(&now, Q, C + i * k, k);
        for (int64_t p = 0; p < size; ++p) {
            const int64_t j = now.place[p];
            const double value = now.h[p];
            if (!(value > 0))
                continue;
            H[i * k + j] = value;
            for (int64_t q = 0; q < size; ++q)
                gram[j * k + now.place[q]] += value * now.h[q];
            FN(add)(cross + j * width, value, Y + i * width, width);
        }
    }
    free(memory);
    return (double)i;
}
