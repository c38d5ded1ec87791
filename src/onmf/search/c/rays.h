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
