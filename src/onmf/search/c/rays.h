/* Rays in float64: what has one type only. */

#define SHRINK JOIN(shrink, double, SET)
#define REDIRECT JOIN(redirect_rays, double, SET)

/* One over the length of the row, 0 if it has none. */
HELPER double SHRINK(const double *row, int64_t width)
{
    double size = 0;
#pragma omp simd reduction(+ : size)
    for (int64_t z = 0; z < width; ++z)
        size += row[z] * row[z];
    return size > 0 ? 1 / sqrt(size) : 0;
}

/* Rays U along the rows of P, where they are not zero. */
HELPER void REDIRECT(double *U, const double *P, int64_t k, int64_t width)
{
    for (int64_t j = 0; j < k; ++j) {
        const double size = SHRINK(P + j * width, width);
        if (size > 0)
            for (int64_t z = 0; z < width; ++z)
                U[j * width + z] = P[j * width + z] * size;
    }
}

KERNEL FN(redirect)(Args *a)
{
    REDIRECT(OUT(double, 0), IN(double, 1), SIZE('k'), SIZE('r'));
    return 0;
}

/* u_k <- (P_k - sum_{l != k} E_kl u_l) / norm, each k in turn: exact block minimisers. */
KERNEL FN(pulled)(Args *a)
{
    double *U = OUT(double, 0), *restrict u = OUT(double, 3);
    const double *cross = IN(double, 1), *E = IN(double, 2);
    const int64_t k = SIZE('k'), width = SIZE('r'), passes = a->whole[4];
    for (int64_t turn = 0; turn < passes * k; ++turn) {
        const int64_t j = turn % k;
        memcpy(u, cross + j * width, width * sizeof(double));
        for (int64_t other = 0; other < k; ++other) {
            const double weight = E[j * k + other], *row = U + other * width;
            if (weight != 0 && other != j)
                for (int64_t z = 0; z < width; ++z)
                    u[z] -= weight * row[z];
        }
        const double size = SHRINK(u, width);
        if (size > 0)
            for (int64_t z = 0; z < width; ++z)
                U[j * width + z] = u[z] * size;
    }
    return 0;
}
