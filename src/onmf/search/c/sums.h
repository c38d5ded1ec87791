/* Products and sums of one row of float32 or float64. */

#ifdef FOUR
typedef T FN(Vector) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
#endif

/* <row, ray>: four sums of four entries each, for one would wait for itself. */
HELPER double FN(product)(const T *row, const double *ray, int64_t width)
{
    double sum = 0;
    int64_t z = 0;
#ifdef FOUR
    four sum_0 = {0}, sum_1 = {0}, sum_2 = {0}, sum_3 = {0};
    for (; z + 16 <= width; z += 16) {
        sum_0 += FOUR(T, row + z) * FOUR(double, ray + z);
        sum_1 += FOUR(T, row + z + 4) * FOUR(double, ray + z + 4);
        sum_2 += FOUR(T, row + z + 8) * FOUR(double, ray + z + 8);
        sum_3 += FOUR(T, row + z + 12) * FOUR(double, ray + z + 12);
    }
    for (; z + 4 <= width; z += 4)
        sum_0 += FOUR(T, row + z) * FOUR(double, ray + z);
    sum_0 += sum_1 + (sum_2 + sum_3);
    sum = sum_0[0] + sum_0[1] + (sum_0[2] + sum_0[3]);
#endif
    for (; z < width; ++z)
        sum += row[z] * ray[z];
    return sum;
}

/* |row|^2, in the same way. */
HELPER double FN(sqnorm)(const T *row, int64_t width)
{
    double sum = 0;
    int64_t z = 0;
#ifdef FOUR
    four sums[4] = {{0}};
    for (; z + 16 <= width; z += 16)
        for (int v = 0; v < 4; ++v) {
            const four part = FOUR(T, row + z + 4 * v);
            sums[v] += part * part;
        }
    sums[0] += sums[1] + (sums[2] + sums[3]);
    sum = sums[0][0] + sums[0][1] + (sums[0][2] + sums[0][3]);
#endif
    for (; z < width; ++z)
        sum += (double)row[z] * (double)row[z];
    return sum;
}

/* One over the length of the row, 0 if it has none; squares of its entries may over- or underflow. */
HELPER double FN(length_inverse)(const T *row, int64_t width)
{
    double size = FN(sqnorm)(row, width), top = 0, sum = 0;
    if (size > 1e-280 && size < 1e280)
        return 1 / sqrt(size);
    for (int64_t z = 0; z < width; ++z)
        top = MAX(top, fabs((double)row[z]));
    if (top < 1e-304) /* its digits are lost, and its inverse is no number */
        return 0;
    for (int64_t z = 0; z < width; ++z)
        sum += (row[z] / top) * (row[z] / top);
    return 1 / sqrt(sum) / top;
}

HELPER void FN(add)(double *restrict sum, double factor, const T *restrict row, int64_t width)
{
#pragma omp simd
    for (int64_t z = 0; z < width; ++z)
        sum[z] += factor * row[z];
}
