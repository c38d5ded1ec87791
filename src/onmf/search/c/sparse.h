/* Rows that are given by the entries that are not zero: row i has the values from edges[i] to
   edges[i + 1], in these places. */

/* The sum of f_i y_i over the rows of each cluster, added to P. */
KERNEL FN(sparse_sums)(Args *a)
{
    const int64_t *labels = IN(int64_t, 0), n = SIZE('n'), k = SIZE('k'), width = SIZE('m');
    const double *factors = IN(double, 1);
    const T *values = IN(T, 2);
    const int32_t *places = IN(int32_t, 3), *edges = IN(int32_t, 4);
    a->broken = SIZE('e') != n + 1;
    for (int64_t i = 0; i < n && !a->broken; ++i) {
        a->broken = OUTSIDE(labels[i], k) || OUTSIDE(edges[i], SIZE('z') + 1)
                    || OUTSIDE(edges[i + 1], SIZE('z') + 1);
        if (a->broken)
            break;
        double *sum = OUT(double, 5) + labels[i] * width;
        for (int64_t z = edges[i]; z < edges[i + 1]; ++z) {
            if (OUTSIDE(places[z], width)) {
                a->broken = 1;
                break;
            }
            sum[places[z]] += factors[i] * values[z];
        }
    }
    return 0;
}


#ifdef FOUR
/* The first `count` vectors of the product of a row of `size` entries with rays in columns. */
HELPER __attribute__((always_inline)) void FN(part)(const T *values, const int32_t *places,
                                                    int64_t size, const T *rays, int64_t width,
                                                    const int count, T *sums)
{
    FN(Vector) sum[8] = {{0}};
    for (int64_t z = 0; z < size; ++z) {
        const FN(Vector) *ray = (const FN(Vector) *)(rays + places[z] * width);
        for (int v = 0; v < count; ++v)
            sum[v] += values[z] * ray[v];
    }
    memcpy(sums, sum, count * sizeof(*sum));
}
#endif

/* The product of a row with rays in columns (m, width). */
HELPER void FN(sparse_row)(const T *values, const int32_t *places, int64_t size, const T *rays,
                           int64_t width, T *restrict sums)
{
    int64_t j = 0;
#ifdef FOUR
    enum { LANES = 32 / sizeof(T) };
    for (; j + 8 * LANES <= width; j += 8 * LANES)
        FN(part)(values, places, size, rays + j, width, 8, sums + j);
    if (j + 4 * LANES <= width) {
        FN(part)(values, places, size, rays + j, width, 4, sums + j);
        j += 4 * LANES;
    }
    if (j + 2 * LANES <= width) {
        FN(part)(values, places, size, rays + j, width, 2, sums + j);
        j += 2 * LANES;
    }
    if (j + LANES <= width) {
        FN(part)(values, places, size, rays + j, width, 1, sums + j);
        j += LANES;
    }
    if (j < width && width >= LANES) { /* some columns once more */
        FN(part)(values, places, size, rays + width - LANES, width, 1, sums + width - LANES);
        return;
    }
#endif
    for (int64_t c = j; c < width; ++c)
        sums[c] = 0;
    for (int64_t z = 0; z < size; ++z)
        for (int64_t c = j; c < width; ++c)
            sums[c] += values[z] * rays[places[z] * width + c];
}

HELPER int FN(fits)(Args *a, int64_t i, const int32_t *places, const int32_t *edges, int64_t m)
{
    int outside = OUTSIDE(edges[i], SIZE('z') + 1) || OUTSIDE(edges[i + 1], SIZE('z') + 1);
    for (int64_t z = edges[i]; !outside && z < edges[i + 1]; ++z)
        outside = OUTSIDE(places[z], m);
    a->broken |= outside;
    return !outside;
}

/* Products of rows with rays in columns. */
KERNEL FN(sparse_products)(Args *a)
{
    const T *values = IN(T, 0), *rays = IN(T, 3);
    const int32_t *places = IN(int32_t, 1), *edges = IN(int32_t, 2);
    T *products = OUT(T, 4);
    const int64_t n = SIZE('n'), m = SIZE('m'), width = SIZE('r');
    a->broken = SIZE('e') != n + 1;
    for (int64_t i = 0; i < n && !a->broken && FN(fits)(a, i, places, edges, m); ++i)
        FN(sparse_row)(values + edges[i], places + edges[i], edges[i + 1] - edges[i], rays, width,
                       products + i * width);
    return 0;
}

/* The sum of y_i (y_i'V) over the rows, added to P; each product stays in a cache. */
KERNEL FN(sparse_image)(Args *a)
{
    const T *values = IN(T, 0), *V = IN(T, 3);
    const int32_t *places = IN(int32_t, 1), *edges = IN(int32_t, 2);
    T *P = OUT(T, 4), *products = OUT(T, 5);
    const int64_t n = SIZE('e') - 1, m = SIZE('m'), width = SIZE('r');
    for (int64_t i = 0; i < n && FN(fits)(a, i, places, edges, m); ++i) {
        FN(sparse_row)(values + edges[i], places + edges[i], edges[i + 1] - edges[i], V, width,
                       products);
        for (int64_t z = edges[i]; z < edges[i + 1]; ++z) {
            T *restrict sum = P + places[z] * width;
            const T *restrict product = products, value = values[z];
#pragma omp simd
            for (int64_t c = 0; c < width; ++c)
                sum[c] += value * product[c];
        }
    }
    return 0;
}
