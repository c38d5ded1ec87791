"""Clouds with the margins and correlations of given samples, and a test against such clouds.

The test that was compared with that of gaps: the fit is repeated on synthetic clouds of the same
samples. The statistic of a pair is the error of its fit, that of a feature its score.
"""

from time import process_time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from scipy.stats import false_discovery_control, norm

from onmf import ONMF, explain
from tables import table

FACTORS, REPEATS = 10, 19
LEVEL = 0.05
SAMPLES, FEATURES = 150, 1000  # of a type, and the most variable of them: refits cost


def copula(X, rng):
    """One cloud with the margins of X and the correlations of its normal scores."""
    n = len(X)
    ranks = np.lexsort((rng.random(X.shape), X), axis=0).argsort(axis=0)
    scores = rng.standard_normal((n, n)) @ norm.ppf((ranks + 0.5) / n) / np.sqrt(n)
    places = np.minimum((norm.cdf(scores) * n).astype(int), n - 1)
    return np.take_along_axis(np.sort(X, axis=0), places, axis=0)


def factors(X, rng):
    """One cloud: normal factors along the principal axes, and what they leave, shuffled."""
    mean, n = X.mean(axis=0), len(X)
    _, size, axes = svds(X - mean, FACTORS, v0=np.ones(min(X.shape)))
    rest = rng.permuted(X - mean - (X - mean) @ axes.T @ axes, axis=0)
    cloud = (rng.standard_normal((n, len(size))) * size / np.sqrt(n)) @ axes
    return np.maximum(mean + cloud + rest, 0)


DRAWS = {"copula": copula, "factors": factors}


def by_gap(X, loss, seed):
    """Whether two clusters are two, which features are called, and the time over that of a fit."""
    begin = process_time()
    model = ONMF(2, loss=loss, random_state=seed).fit(X)
    middle = process_time()
    found = model.explain(X).markers
    cost = (process_time() - middle) / (middle - begin)
    return found.p_one_cloud.min() < LEVEL, (found.p_adjusted < LEVEL).any(axis=0), cost


def by_clouds(X, loss, seed, draw):
    """The same from repeated fits to clouds: p = (1 + clouds as extreme as X) / (1 + clouds)."""

    def look(Y):
        model = ONMF(2, loss=loss, random_state=seed).fit(sp.csr_array(Y) if loss == "kl" else Y)
        return model.relative_error_, np.abs(explain.groups(model.labels_, Y).facts.score[0])

    begin = process_time()
    error, score = look(X)
    middle = process_time()
    rng = np.random.default_rng(seed)
    errors, scores = zip(*(look(draw(X, rng)) for _ in range(REPEATS)), strict=True)
    cost = (process_time() - middle) / (middle - begin)
    null = np.sort(np.concatenate(scores))
    beyond = len(null) - np.searchsorted(null, score)
    called = false_discovery_control((1 + beyond) / (1 + len(null))) < LEVEL
    return (1 + np.sum(np.array(errors) <= error)) / (1 + REPEATS) <= LEVEL, called, cost


TESTS = {
    "gap": by_gap,
    "copula": lambda *of: by_clouds(*of, copula),
    "factors": lambda *of: by_clouds(*of, factors),
}


def cases(X, y, seed):
    """Kind of truth, and samples: two types, one type, and clouds with its correlations."""
    rng = np.random.default_rng(seed)
    kinds = np.unique(y)

    def some(kind):
        own = np.flatnonzero(y == kind)
        return X[rng.permutation(own)[:SAMPLES]]

    for one, other in zip(kinds, np.roll(kinds, 1), strict=True):
        parts = [some(one), some(other)]
        yield "two types", variable(sp.vstack(parts) if sp.issparse(X) else np.vstack(parts))
        own = variable(some(one))
        yield "one type", own
        for name, draw in DRAWS.items():
            yield f"cloud ({name})", draw(own, rng)


def variable(X):
    """The features that vary most, of samples that have any."""
    X = X.toarray() if sp.issparse(X) else X
    X = X[:, np.argsort(-X.var(axis=0), kind="stable")[:FEATURES]]
    return np.ascontiguousarray(X[X.sum(axis=1) > 0])


def compare(sets, seed) -> str:
    """All tests on the same samples: true pairs, types alone, and clouds of types."""
    truths = ["two types", "one type", "cloud (copula)", "cloud (factors)"]
    rows = []
    for name, (X, y, loss) in sets.items():
        found = {(test, truth): [] for test in TESTS for truth in truths}
        for number, (truth, own) in enumerate(cases(X, y, seed)):
            for test, judge in TESTS.items():
                two, called, cost = judge(own, loss, seed + number)
                found[test, truth].append([two, called.any(), called.mean(), cost])
        for test in TESTS:
            own = {truth: np.array(found[test, truth], float) for truth in truths}
            cells = [f"{part[:, 0].sum():.0f} of {len(part)}" for part in own.values()]
            cells += [f"{100 * own[truth][:, 1].mean():.0f} %" for truth in truths[1:]]
            cells += [f"{100 * own['two types'][:, 2].mean():.0f} %"]
            cost = np.median(np.concatenate([*own.values()])[:, 3])
            rows.append([name, test, *cells, f"{cost:.0f}"])
    columns = ["types of", "test", *(f'{truth} called "two"' for truth in truths),
               *(f"any feature called, {truth}" for truth in truths[1:]),
               "features called, two types", "cost in fits"]  # fmt: skip
    return (
        f"The test of gaps beside one with synthetic clouds: the fit is repeated on {REPEATS} "
        "clouds with the margins and correlations of the samples; two clusters are two if their "
        "error is below that of all clouds, a feature is called by its score among those of all "
        f"features in all clouds. At most {SAMPLES} samples of a type, {FEATURES} features.\n\n"
        + table(columns, rows)
    )
