/* What is done row by row to scores A (n, k) and to rows Y (n, r), of float32 or float64. */

/* The first place where the row is not below the bound; the last if there is none. */
HELPER int64_t FN(first_from)(const T *row, int64_t k, T bound)
{
    int64_t begin = 0;
    for (; begin + CHUNK < k; begin += CHUNK) {
        int there = 0;
#pragma omp simd reduction(| : there)
        for (int64_t j = 0; j < CHUNK; ++j)
            there |= row[begin + j] >= bound;
        if (there)
            break;
    }
    const int64_t count = k - begin < CHUNK ? k - begin : CHUNK;
    uint32_t bits = 0; /* no branch: which place it is cannot be foreseen */
    for (int64_t j = 0; j < count; ++j)
        bits |= (uint32_t)(row[begin + j] >= bound) << j;
    return begin + (bits ? LOWEST_BIT(bits) : count - 1);
}

/* Where the row is largest; the first of those that are equal, to rounding. */
HELPER int64_t FN(first_top)(const T *row, int64_t k, T equal)
{
    T top = row[0];
    if (k < CHUNK)
        for (int64_t j = 1; j < k; ++j)
            top = MAX(row[j], top);
    else { /* of four parts, which may overlap: one maximum would wait for itself */
        const int64_t part = (k + CHUNK - 1) / CHUNK * (CHUNK / 4), last = k - part;
        const T *second = row + (part < last ? part : last);
        const T *third = row + (2 * part < last ? 2 * part : last), *fourth = row + last;
        T two = top, three = top, four = top;
#pragma omp simd reduction(max : top, two, three, four)
        for (int64_t j = 0; j < part; ++j) {
            top = MAX(row[j], top);
            two = MAX(second[j], two);
            three = MAX(third[j], three);
            four = MAX(fourth[j], four);
        }
        top = MAX(MAX(top, two), MAX(three, four));
    }
    return FN(first_from)(row, k, top - equal * (top < 0 ? -top : top));
}

/* The ray with the largest product and the product; -1 and 0 if it is below `least`. */
KERNEL FN(nearest)(Args *a)
{
    const T *A = IN(T, 0), equal = a->real[3], least = a->real[4];
    int64_t *labels = OUT(int64_t, 1);
    T *scores = OUT(T, 2);
    const int64_t n = SIZE('n'), k = SIZE('k');
    for (int64_t i = 0; i < n; ++i) {
        const T *row = A + i * k;
        const int64_t b = FN(first_top)(row, k, equal);
        const int there = row[b] >= least;
        labels[i] = there ? b : -1;
        scores[i] = there ? row[b] : 0;
    }
    return 0;
}

/* Labels, scores and the sums of s_i y_i over clusters, which are added to; returns sum s_i^2.

   A has a column more than there are rays if rows may be outliers. */
KERNEL FN(images)(Args *a)
{
    const T *A = IN(T, 0), *Y = IN(T, 1), equal = a->real[6];
    const double *U = IN(double, 2);
    int64_t *labels = OUT(int64_t, 3);
    double *best = OUT(double, 4), *P = OUT(double, 5), energy = 0;
    const int64_t n = SIZE('n'), c = SIZE('c'), k = SIZE('k'), width = SIZE('r');
    for (int64_t i = 0; i < n; ++i) {
        const int64_t b = FN(first_top)(A + i * c, c, equal);
        const T *row = Y + i * width;
        double score = b < k ? FN(product)(row, U + b * width, width) : (double)A[i * c + b];
        score = MAX(score, 0);
        labels[i] = b;
        best[i] = score;
        energy += score * score;
        FN(add)(P + b * width, score, row, width);
    }
    return energy;
}

HELPER void FN(add_rows)(Args *a, const int64_t *labels, const double *factors, const T *Y,
                         double *P)
{
    const int64_t n = SIZE('n'), k = SIZE('k'), width = SIZE('r');
    for (int64_t i = 0; i < n; ++i) {
        if (OUTSIDE(labels[i], k)) {
            a->broken = 1;
            return;
        }
        FN(add)(P + labels[i] * width, factors[i], Y + i * width, width);
    }
}

/* The sum of f_i y_i over the rows of each cluster, added to P. */
KERNEL FN(sums)(Args *a)
{
    FN(add_rows)(a, IN(int64_t, 0), IN(double, 1), IN(T, 2), OUT(double, 3));
    return 0;
}

/* U after power steps of each ray on the rows of its cluster alone; returns what it explains. */
KERNEL FN(fit_rays)(Args *a)
{
    const T *Y = IN(T, 0);
    const int64_t *labels = IN(int64_t, 1), n = SIZE('n'), k = SIZE('k'), width = SIZE('r');
    double *U = OUT(double, 2), *P = OUT(double, 3), explained = 0;
    for (int64_t left = a->whole[4]; left >= 0; --left) {
        memset(P, 0, k * width * sizeof(double));
        explained = 0;
        for (int64_t i = 0; i < n; ++i) {
            const int64_t b = labels[i];
            if (OUTSIDE(b, k)) {
                a->broken = 1;
                return 0;
            }
            const double score = FN(product)(Y + i * width, U + b * width, width);
            explained += MAX(score, 0) * MAX(score, 0);
            if (left)
                FN(add)(P + b * width, score, Y + i * width, width);
        }
        if (left)
            REDIRECT(U, P, k, width);
    }
    return explained;
}

/* The second best ray of each row and its score, not below zero. */
KERNEL FN(runners_up)(Args *a)
{
    const T *A = IN(T, 0), equal = a->real[5];
    const int64_t *labels = IN(int64_t, 1), n = SIZE('n'), k = SIZE('k');
    int64_t *second = OUT(int64_t, 2);
    double *score = OUT(double, 3);
    T *row = OUT(T, 4);
    for (int64_t i = 0; i < n; ++i) {
        memcpy(row, A + i * k, k * sizeof(T));
        if (labels[i] < -k || labels[i] >= k) {
            a->broken = 1;
            return 0;
        }
        row[labels[i] < 0 ? labels[i] + k : labels[i]] = -INFINITY; /* as an index in Python */
        const int64_t b = FN(first_top)(row, k, equal);
        second[i] = b;
        score[i] = MAX(row[b], 0);
    }
    return 0;
}

/* Two rays for the rows of each cluster after alternations, and their energy. */
KERNEL FN(split_clusters)(Args *a)
{
    const T *Y = IN(T, 0);
    const int64_t *labels = IN(int64_t, 1), n = SIZE('n'), k = SIZE('k'), width = SIZE('r');
    double *pair = OUT(double, 2), *P = OUT(double, 3), *energy = OUT(double, 4);
    for (int64_t left = a->whole[5]; left >= 0; --left) {
        memset(P, 0, 2 * k * width * sizeof(double));
        memset(energy, 0, k * sizeof(double));
        for (int64_t i = 0; i < n; ++i) {
            const int64_t b = labels[i];
            if (OUTSIDE(b, k)) {
                a->broken = 1;
                return 0;
            }
            const T *row = Y + i * width;
            const double first = FN(product)(row, pair + b * width, width);
            const double second = FN(product)(row, pair + (k + b) * width, width);
            const int side = second > MAX(first, 0);
            const double score = side ? second : MAX(first, 0);
            energy[b] += score * score;
            if (left)
                FN(add)(P + (side * k + b) * width, score, row, width);
        }
        if (left)
            REDIRECT(pair, P, 2 * k, width);
    }
    return 0;
}

/* The best other cluster of each row, and what its move there gains at least. */
KERNEL FN(transfers)(Args *a)
{
    const T *A = IN(T, 0);
    const int64_t *labels = IN(int64_t, 1), n = SIZE('n'), k = SIZE('k');
    const double *energy = IN(double, 2), *own = IN(double, 3);
    double *restrict join = OUT(double, 4), *gain = OUT(double, 6);
    const double equal = a->real[7];
    int64_t *target = OUT(int64_t, 5);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t b = labels[i];
        const T *row = A + i * k;
        const double all = energy[i];
        if (OUTSIDE(b, k)) {
            a->broken = 1;
            return 0;
        }
        double top = -INFINITY;
#pragma omp simd reduction(max : top)
        for (int64_t c = 0; c < k; ++c) {
            const double score = row[c], square = score * score;
            const double off = MAX(all - square, 0), both = own[c] + square - off;
            const double value = (off - own[c] + square + sqrt(both * both + 4 * square * off)) / 2;
            join[c] = score > 0 && c != b ? value : -INFINITY;
            top = MAX(top, join[c]);
        }
        const double bound = top - equal * (top < 0 ? -top : top);
        const int64_t where = JOIN(first_from, double, SET)(join, k, bound);
        const double mine = MAX(row[b], 0), square = mine * mine;
        const double rest = MAX(own[b] - square, 0), off = MAX(all - square, 0);
        target[i] = where;
        gain[i] = join[where] - (own[b] - (rest + sqrt(rest * rest + 4 * square * off)) / 2);
    }
    return 0;
}
