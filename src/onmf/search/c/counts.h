/* Moves of rows of counts between clusters under the Kullback-Leibler divergence: `kl_search`. */

/* log x for x > 0, in straight arithmetic that the compiler can do for several x at once: with
   x = 2^e m, sqrt(1/2) <= m < sqrt(2), and s = (m - 1) / (m + 1),

       log x = e log 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...),      s^2 < 0.0295: ten terms are enough.

   At 0 it is finite, so that 0 log 0 is 0. */
HELPER double FN(logarithm)(double x)
{
    const uint64_t one = 0x3FF0000000000000, root = 0x3FE6A09E667F3BCD; /* 1 and sqrt(1/2) */
    const uint64_t two_52 = 0x4330000000000000;                         /* 2^52 */
    uint64_t bits;
    double m, e;
    memcpy(&bits, &x, sizeof(x));
    const uint64_t up = bits + (one - root), biased = (up >> 52) | two_52;
    bits = bits - (up & 0xFFF0000000000000) + one;
    memcpy(&m, &bits, sizeof(m));
    memcpy(&e, &biased, sizeof(e));
    e -= 4503599627370496.0 + 1023; /* 2^52, and the bias of exponents */
    const double s = (m - 1) / (m + 1), z = s * s;
    double series = 2.0 / 19;
    series = series * z + 2.0 / 17;
    series = series * z + 2.0 / 15;
    series = series * z + 2.0 / 13;
    series = series * z + 2.0 / 11;
    series = series * z + 2.0 / 9;
    series = series * z + 2.0 / 7;
    series = series * z + 2.0 / 5;
    series = series * z + 2.0 / 3;
    return e * 0.6931471805599453 + (s * z * series + 2 * s);
}

HELPER double FN(phi)(double s) { return s * FN(logarithm)(s); }

/* s - x, zero where only rounding is left. */
HELPER double FN(less)(double s, double x, double rounding)
{
    return s - x > rounding * x ? s - x : 0;
}

/* s log s of all entries. */
KERNEL FN(phis)(Args *a)
{
    const double *restrict s = IN(double, 0);
    double *restrict p = OUT(double, 1);
    const int64_t n = SIZE('n');
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
        p[i] = FN(phi)(s[i]);
    return 0;
}

/* S_jk: the sum of the counts of feature j in the rows of cluster k. */
KERNEL FN(count_sums)(Args *a)
{
    const int64_t *indptr = IN(int64_t, 0), *j = IN(int64_t, 1), *labels = IN(int64_t, 3);
    const double *x = IN(double, 2);
    double *S = OUT(double, 4);
    const int64_t clusters = SIZE('c');
    a->broken = SIZE('e') != SIZE('n') + 1;
    for (int64_t i = 0; !a->broken && i < SIZE('n'); ++i) {
        const int64_t begin = indptr[i], end = indptr[i + 1];
        a->broken = begin < 0 || begin > end || end > SIZE('z') || OUTSIDE(labels[i], clusters);
        for (int64_t q = begin; !a->broken && q < end; ++q)
            if (!(a->broken = OUTSIDE(j[q], SIZE('m'))))
                S[j[q] * clusters + labels[i]] += x[q];
    }
    return 0;
}

/* sum_j phi(s_aj) + phi(s_bj) - phi(s_aj + s_bj) of pairs (a, b); P is phi(S). */
KERNEL FN(pair_costs)(Args *a)
{
    const int64_t *first = IN(int64_t, 2), *second = IN(int64_t, 3), m = SIZE('m');
    double *costs = OUT(double, 4);
    for (int64_t q = 0; q < SIZE('p'); ++q) {
        if ((a->broken = OUTSIDE(first[q], SIZE('c')) || OUTSIDE(second[q], SIZE('c'))))
            break;
        const double *restrict s = IN(double, 0) + first[q] * m;
        const double *restrict t = IN(double, 0) + second[q] * m;
        const double *restrict p = IN(double, 1) + first[q] * m;
        const double *restrict r = IN(double, 1) + second[q] * m;
        double cost = 0;
#pragma omp simd reduction(+ : cost)
        for (int64_t i = 0; i < m; ++i)
            cost += (p[i] + r[i]) - FN(phi)(s[i] + t[i]);
        costs[q] = cost;
    }
    return 0;
}

typedef struct {
    const int64_t *j; /* the row: where its counts are, how many, and their total */
    const double *x;
    int64_t count;
    double total;
    int64_t own, low, width;  /* its cluster, and those it may go to */
    double *S, *P, *sums;     /* (m, clusters), s log s of that, and sums of the columns */
    int64_t clusters;
    double rounding;
} FN(Row);

/* g(S_k + x) - g(S_k) for the clusters k from `low` on, without the row. */
HELPER void FN(gains)(const FN(Row) *row, double *restrict gain)
{
    double here = 0;
    memset(gain, 0, row->width * sizeof(double));
    for (int64_t q = 0; q < row->count; ++q) {
        const double x = row->x[q], *s = row->S + row->j[q] * row->clusters;
        const double *p = row->P + row->j[q] * row->clusters;
        const double *restrict near = s + row->low, *restrict known = p + row->low;
#pragma omp simd
        for (int64_t c = 0; c < row->width; ++c)
            gain[c] += FN(phi)(near[c] + x) - known[c];
        here += p[row->own] - FN(phi)(FN(less)(s[row->own], x, row->rounding));
    }
    const double *sums = row->sums + row->low, own = row->sums[row->own], t = row->total;
    for (int64_t c = 0; c < row->width; ++c)
        gain[c] -= FN(phi)(sums[c] + t) - FN(phi)(sums[c]);
    gain[row->own - row->low] = here - FN(phi)(own) + FN(phi)(FN(less)(own, t, row->rounding));
}

HELPER void FN(move)(const FN(Row) *row, int64_t best)
{
    const int64_t own = row->own;
    for (int64_t q = 0; q < row->count; ++q) {
        double *s = row->S + row->j[q] * row->clusters, *p = row->P + row->j[q] * row->clusters;
        s[own] = FN(less)(s[own], row->x[q], row->rounding);
        s[best] += row->x[q];
        p[own] = FN(phi)(s[own]);
        p[best] = FN(phi)(s[best]);
    }
    row->sums[own] = FN(less)(row->sums[own], row->total, row->rounding);
    row->sums[best] += row->total;
}

HELPER int FN(is_inside)(const Args *a, const FN(Row) *row, int64_t begin, int64_t end)
{
    int inside = begin >= 0 && begin <= end && end <= SIZE('z') && row->low >= 0
                 && row->low + row->width <= row->clusters && row->own >= row->low
                 && row->own < row->low + row->width;
    for (int64_t q = begin; inside && q < end; ++q)
        inside = !OUTSIDE(IN(int64_t, 1)[q], SIZE('m'));
    return inside;
}

/* The rows of `order` that are awake go where they gain most; returns how many moved. */
KERNEL FN(move_rows)(Args *a)
{
    const int64_t *indptr = IN(int64_t, 0), *order = IN(int64_t, 10), turn = a->whole[12];
    int64_t *labels = OUT(int64_t, 4), *wake = OUT(int64_t, 6), moves = 0;
    double *gain = OUT(double, 11);
    const double least = a->real[14], calm = a->real[15];
    FN(Row) row = {.S = OUT(double, 7), .P = OUT(double, 8), .sums = OUT(double, 9),
                   .clusters = SIZE('c'), .width = SIZE('w'), .rounding = a->real[16]};
    a->broken = SIZE('e') != SIZE('n') + 1;
    for (int64_t o = 0; !a->broken && o < SIZE('o'); ++o) {
        const int64_t i = order[o];
        if ((a->broken = OUTSIDE(i, SIZE('n'))) || wake[i] > turn)
            continue;
        row.own = labels[i];
        row.low = IN(int64_t, 5)[i];
        if ((a->broken = !FN(is_inside)(a, &row, indptr[i], indptr[i + 1])))
            continue;
        row.j = IN(int64_t, 1) + indptr[i];
        row.x = IN(double, 2) + indptr[i];
        row.count = indptr[i + 1] - indptr[i];
        row.total = IN(double, 3)[i];
        FN(gains)(&row, gain);
        const double stay = gain[row.own - row.low];
        double top = -INFINITY;
        gain[row.own - row.low] = -INFINITY;
        for (int64_t c = 0; c < row.width; ++c)
            top = MAX(top, gain[c]);
        if (stay >= top - least) {
            wake[i] = stay - top > calm * row.total ? turn + 1 + a->whole[13] : 0;
            continue;
        }
        int64_t best = 0;
        while (best < row.width - 1 && gain[best] < top - least)
            ++best;
        FN(move)(&row, row.low + best);
        labels[i] = row.low + best;
        ++moves;
    }
    return (double)moves;
}
