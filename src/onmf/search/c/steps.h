/* Steps of rays on the data: centroids W (k, m) of float32 or float64, images of float64. */

/* The step along the image, doubled unless it turns back, into `new`. */
HELPER void FN(step)(const T *last, const T *now, const double *image, int is_signed, double *new,
                     int64_t width)
{
    const double u = FN(length_inverse)(last, width), w = FN(length_inverse)(now, width);
    const double p = SHRINK(image, width);
    double turn = 0;
#pragma omp simd reduction(+ : turn)
    for (int64_t z = 0; z < width; ++z)
        turn += (p * image[z] - w * now[z]) * (w * now[z] - u * last[z]);
    /* Of a cluster without an image the ray stays: as if its image were itself. */
    const double along = p == 0 ? 0 : turn < 0 ? p : 2 * p;
    const double back = p == 0 ? -w : turn < 0 ? 0 : w;
    for (int64_t z = 0; z < width; ++z) {
        const double value = along * image[z] - back * now[z];
        new[z] = is_signed || value > 0 ? value : 0;
    }
    double scale = SHRINK(new, width);
    for (int64_t z = 0; scale == 0 && z < width; ++z)
        new[z] = p == 0 ? (double)now[z] : image[z];
    scale = scale > 0 ? scale : SHRINK(new, width);
    for (int64_t z = 0; z < width; ++z)
        new[z] *= scale;
}

/* As `numpy_kernels.ritz`, for one ray, into `new`; 0 if its image is zero. */
HELPER int FN(ritz)(const T *last, const double *Su, const T *now, const double *Sw, double *new,
                    int64_t width)
{
    const double u = FN(length_inverse)(last, width), w = FN(length_inverse)(now, width);
    double c = 0, apart = 0, uu = 0, ud = 0, dd = 0;
#pragma omp simd reduction(+ : c)
    for (int64_t z = 0; z < width; ++z)
        c += u * last[z] * (w * now[z]);
#pragma omp simd reduction(+ : apart, uu, ud, dd)
    for (int64_t z = 0; z < width; ++z) {
        const double d = w * now[z] - c * (u * last[z]);
        apart += d * d;
        uu += u * last[z] * Su[z];
        ud += d * Su[z];
        dd += d * (Sw[z] - c * Su[z]);
    }
    apart = sqrt(apart);
    double along = c, aside = 1; /* the image of now: the two rays are one */
    if (apart > 1e-9) {
        const double angle = 0.5 * atan2(2 * ud / apart, uu - dd / (apart * apart));
        along = cos(angle);
        aside = sin(angle) / apart;
    }
    for (int64_t z = 0; z < width; ++z)
        new[z] = along * Su[z] + aside * (Sw[z] - c * Su[z]);
    const double size = SHRINK(new, width);
    for (int64_t z = 0; z < width; ++z)
        new[z] *= size;
    return size > 0;
}

/* Unit rays from those along W and last_W and their images. */
KERNEL FN(ray_steps)(Args *a)
{
    const T *W = IN(T, 0), *last_W = IN(T, 2);
    const double *cross = IN(double, 1), *last_cross = IN(double, 3);
    const char *kept = IN(char, 4);
    double *U = OUT(double, 5);
    const int64_t k = SIZE('k'), width = SIZE('m');
    const int is_signed = a->whole[6] != 0;
    for (int64_t j = 0; j < k; ++j) {
        const int64_t at = j * width;
        double least = 0;
        int best = kept[j] && FN(ritz)(last_W + at, last_cross + at, W + at, cross + at, U + at,
                                       width);
        for (int64_t z = 0; best && !is_signed && z < width; ++z)
            least = U[at + z] < least ? U[at + z] : least;
        if (!best || least < 0)
            FN(step)(last_W + at, W + at, cross + at, is_signed, U + at, width);
    }
    return 0;
}

/* Root mean square distance of the rays along the rows of W and V. */
KERNEL FN(ray_distance)(Args *a)
{
    const int64_t k = SIZE('k'), width = SIZE('m');
    double total = 0;
    for (int64_t j = 0; j < k; ++j) {
        const T *one = IN(T, 0) + j * width, *other = IN(T, 1) + j * width;
        const double w = FN(length_inverse)(one, width), v = FN(length_inverse)(other, width);
#pragma omp simd reduction(+ : total)
        for (int64_t z = 0; z < width; ++z) {
            const double apart = w * one[z] - v * other[z];
            total += apart * apart;
        }
    }
    return k ? sqrt(total / k) : 0;
}
