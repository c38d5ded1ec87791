"""How low the error of any clustering into K rays can be, by the spectrum.

    relative error  >=  1 - (sigma_1^2 + ... + sigma_K^2) / ||X||^2      (of D^(1/2) X with weights)

because each clustering is an approximation of rank K. The sum f(S) of the K largest eigenvalues of
S = X'DX must be bounded from above, and Ritz values lie below: so, with V orthonormal, A = V'SV,
the residual R = SV - VA, and C the part of S outside of V, for every e > 0

    S  <=  V (A + R'R / e) V'  +  (C + e) outside of V,

as 2 x'By <= x'BB'x / e + e y'y. Hence f(S) is at most the sum of the K largest among the
eigenvalues of A + R'R / e and as many times c + e as need be, c >= ||C||. For the last, s Gaussian
vectors P outside of V: for all polynomials p at once ||p(C) P||_F^2 >= p(||C||)^2 t, t being a
chi-squared number of s degrees of freedom, below its quantile at `DOUBT` only with that
probability. So c is the largest number at which the Christoffel function of the measure that P has
on the spectrum of C, min { ||p(C) P||_F^2 : p(c) = 1, degree <= q }, is not below that quantile; q
steps of Lanczos give it. With few features or samples all eigenvalues of S or XX' are computed.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from onmf.palm.start import Image, Power
from onmf.rows.sweep import Array, Block, Data

DOUBT = 1e-6  # the probability that the bound on ||C|| does not hold
PROBES = 4  # s
QUICK_POWERS, THOROUGH_POWERS = 6, 16  # q
EXTRA_BASIS = 5  # of the basis, in addition to K rays and K random ones
ALL_EIGENVALUES = 100  # features or samples up to which all are computed
MERGE_STEPS = 30  # values of e that are tried
ULP = 2.0**-53

Operator = Callable[[Array], Array]  # B -> S B for a symmetric S


class LowerBound(NamedTuple):
    """A lower bound of the relative error, and the probability that it does not hold."""

    bound: float
    doubt: float


def spectral_bound(data: Data, W: Array, seed: int, powers: int = QUICK_POWERS) -> LowerBound:
    """No clustering into len(W) rays has a lower relative error; good rays W make it tighter.

    Reads X once if it has few features, 2 + `powers` times otherwise.
    """
    data, k = data.with_larger_blocks(), len(W)
    n, m = data.shape
    if data.sqnorm == 0 or k >= min(n, m):
        return LowerBound(0.0, 0.0)
    if min(n, m) <= ALL_EIGENVALUES:
        largest, doubt = top_sum(np.linalg.eigvalsh(small_gram(data)), k), 0.0
    else:

        def multiply(B: Array) -> Array:
            return np.asarray(data.sweep(Power(B))[1].cross)

        rng = np.random.default_rng(seed)
        largest, doubt = ceiling(multiply, W.T.astype(np.float64), rng, powers), DOUBT
    least = 1 - largest / data.sqnorm - rounding(n, m)
    return LowerBound(float(np.clip(least * weight_rounding(data), 0, 1)), doubt)


def gap_between(error: float, bound: float) -> float:
    """(error - bound) / error: the most by which another clustering can be better."""
    return max((error - bound) / error, 0.0) if error > 0 else 0.0


def cheap_bound(data: Data, W: Array, error: float) -> tuple[float, float] | None:
    """Bound and gap if they cost at most one sweep: with few features or samples."""
    if min(data.shape) > ALL_EIGENVALUES:
        return None
    bound = min(spectral_bound(data, W, 0).bound, error)
    return bound, gap_between(error, bound)


def rounding(n: int, m: int) -> float:
    """The rounding error of sums over n samples and m features, as a share of ||X||^2."""
    return 8 * (n + m) * ULP


def weight_rounding(data: Data) -> float:
    """What remains of a share at least, if weights are rounded as X is: by half an eps each."""
    return 1 - 4 * float(np.finfo(data.dtype).eps)


def small_gram(data: Data) -> Array:
    """X'DX, or D^(1/2) XX' D^(1/2), which has the same eigenvalues, whichever is smaller."""
    n, m = data.shape
    if m <= n:
        return np.asarray(data.sweep(gram_of_features)[1].cross)
    return gram_of_samples(data.take(np.arange(n)))


def gram_of_features(block: Block, rows: object) -> tuple[None, Image]:
    """X'DX of a block, in double precision."""
    X = block.X.astype(np.float64, copy=False)
    weighted = X.multiply(block.weight) if sp.issparse(X) else X * block.weight
    gram = X.T @ weighted
    return None, Image(np.asarray(gram.todense() if sp.issparse(gram) else gram))


def gram_of_samples(samples: Block) -> Array:
    """D^(1/2) XX' D^(1/2) (n, n), in double precision."""
    X, root = samples.X.astype(np.float64, copy=False), np.sqrt(samples.weight.astype(np.float64))
    gram = X @ X.T
    return root * np.asarray(gram.todense() if sp.issparse(gram) else gram) * root.T


def top_sum(values: Array, k: int) -> float:
    """The sum of the k largest of the values that are positive."""
    return float(np.maximum(np.sort(values)[-k:], 0).sum())


def ceiling(S: Operator, begin: Array, rng: np.random.Generator, powers: int) -> float:
    """At least f(S) for K = columns of `begin`, except with probability DOUBT."""
    size, k = begin.shape
    V = np.linalg.qr(S(np.hstack([begin, rng.standard_normal((size, k + EXTRA_BASIS))])))[0]
    SV = S(V)
    A = V.T @ SV
    most = outer_ceiling(S, V, rng.standard_normal((size, PROBES)), powers)
    return merge(A, SV - V @ A, most, k)


def outer_ceiling(S: Operator, V: Array, P: Array, powers: int) -> float:
    """c: at least the largest eigenvalue of S outside of V, except with probability DOUBT."""
    Q, mass = normalize(outside(V, P))
    basis, diagonal, beside = [Q], [], []
    for _ in range(powers):
        image = outside(V, S(basis[-1]))
        diagonal.append(np.vdot(basis[-1], image))
        for _ in range(2):  # a second time against rounding
            for known in basis:
                image = image - np.vdot(known, image) * known
        Q, size = normalize(image)
        if size <= ULP * max(map(abs, diagonal)):  # the whole spectrum is known
            break
        beside.append(size)
        basis.append(Q)
    least = float(chi2.ppf(DOUBT, P.shape[1])) / mass**2 if mass else 1.0
    return christoffel(np.array(diagonal), np.array(beside), least)


def christoffel(diagonal: Array, beside: Array, least: float) -> float:
    """The largest x at which 1 / sum_j pi_j(x)^2 >= `least`, pi_j being orthonormal polynomials."""

    def density(x: float) -> float:
        before, now, total = 0.0, 1.0, 1.0
        for j, b in enumerate(beside):
            ahead = ((x - diagonal[j]) * now - (beside[j - 1] * before if j else 0)) / b
            before, now = now, ahead
            total += now * now
        return total

    low = float(np.max(diagonal)) + 2 * float(np.max(beside, initial=0))  # beyond all zeros
    if len(beside) < len(diagonal):  # the whole spectrum is known
        return low
    high = max(low, ULP)
    while density(high) * least < 1:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if density(middle) * least < 1 else (low, middle)
    return high


def normalize(B: Array) -> tuple[Array, float]:
    """B / ||B||_F and ||B||_F."""
    size = float(np.linalg.norm(B))
    return (B / size if size else B), size


def outside(V: Array, B: Array) -> Array:
    """The part of B that is orthogonal to V; twice, against rounding."""
    for _ in range(2):
        B = B - V @ (V.T @ B)
    return B


def merge(A: Array, R: Array, most: float, k: int) -> float:
    """The sum of the k largest of A + R'R / e and k times `most` + e, for the best e."""
    A, spread = (A + A.T) / 2, R.T @ R
    top, sums = np.abs(np.linalg.eigvalsh(A)).max(), []
    for e in np.geomspace(1e-9, 1, MERGE_STEPS) * top:
        inside = np.linalg.eigvalsh(A + spread / e)
        sums.append(top_sum(np.append(inside, [most + e] * k), k))
    return min(sums)
