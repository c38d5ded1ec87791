/* Rays in float64: what has one type only. */

#define SHRINK JOIN(length_inverse, double, SET)
#define REDIRECT JOIN(redirect_rays, double, SET)
#define REDIRECT_SOME JOIN(redirect_some, double, SET)

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

/* Rays U along the rows p of P where that gains |p| |p / |p| - u|^2 > least; how many did, and in
   `moved`, unless it is NULL, which. */
HELPER int64_t REDIRECT_SOME(double *U, const double *P, int64_t k, int64_t width, double least,
                             char *moved)
{
    int64_t count = 0;
    for (int64_t j = 0; j < k; ++j) {
        double *restrict u = U + j * width, along = 0;
        const double *restrict p = P + j * width, inverse = SHRINK(p, width);
#pragma omp simd reduction(+ : along)
        for (int64_t z = 0; z < width; ++z)
            along += u[z] * p[z];
        const int gains = inverse > 0 && 2 * (1 / inverse - along) > least;
        for (int64_t z = 0; gains && z < width; ++z)
            u[z] = p[z] * inverse;
        if (moved)
            moved[j] = (char)gains;
        count += gains;
    }
    return count;
}

KERNEL FN(redirect)(Args *a)
{
    return (double)REDIRECT_SOME(OUT(double, 0), IN(double, 1), SIZE('k'), SIZE('r'), a->real[3],
                                 OUT(char, 2));
}

/* e_k + e_c less what the best ray in the span of u_k and u_c explains of their rows: see `swaps`.

   C are the cosines of the rays; the matrix is symmetric. */
KERNEL FN(merge_losses)(Args *a)
{
    const double *C = IN(double, 0), *squares = IN(double, 1), *products = IN(double, 2);
    const double *own = IN(double, 3);
    double *loss = OUT(double, 4);
    const int64_t k = SIZE('k');
    for (int64_t j = 0; j < k; ++j) {
        loss[j * k + j] = INFINITY;
#pragma omp simd
        for (int64_t c = 0; c < j; ++c) {
            const double cosine = C[j * k + c] > 1 ? 1 : C[j * k + c] < -1 ? -1 : C[j * k + c];
            const double square = 1 - cosine * cosine, sine_2 = MAX(square, 1e-12);
            const double uu = own[j] + squares[c * k + j], cc = own[c] + squares[j * k + c];
            const double uc = products[j * k + c] + products[c * k + j];
            const double ud_2 = (uc - cosine * uu) * (uc - cosine * uu) / sine_2;
            const double dd = (cc - 2 * cosine * uc + cosine * cosine * uu) / sine_2;
            const double half = (uu - dd) / 2;
            loss[j * k + c] = own[j] + own[c] - (uu + dd) / 2 - sqrt(half * half + ud_2);
        }
    }
    for (int64_t j = 0; j < k; ++j)
        for (int64_t c = 0; c < j; ++c)
            loss[c * k + j] = loss[j * k + c];
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
