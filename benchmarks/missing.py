"""Entries that are not observed: agreement, imputation and time beside imputing first."""

from time import process_time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.metrics import adjusted_rand_score

from onmf import ONMF
from sets import available
from tables import table, write_section

SEEDS = range(2101, 2104)  # of holes and fits; others were used while this was made
SETS = ("digits", "synthetic -3 dB", "RNA-seq 6 types", "miRNA 10 types")
LARGE = 200_000  # entries, from which KNN imputation, which is slow, is done for one seed only
DONORS = 1000  # samples among which neighbours are sought, of more than twice as many
KINDS = {
    "10 %": lambda X, rng: rng.random(X.shape) < 0.1,
    "30 %": lambda X, rng: rng.random(X.shape) < 0.3,
    "50 %": lambda X, rng: rng.random(X.shape) < 0.5,
    "30 %, small ones": lambda X, rng: rng.random(X.shape) < 0.6 * (1 - ranks(X, rng)),
}
METHODS = ("NaN", "mean, ONMF", "mean, K-means", "KNN, ONMF", "KNN, K-means")
COLUMNS = [
    "data", "missing", "complete", *METHODS, "error filled: NaN", "mean", "KNN", "time ratio",
]  # fmt: skip
NOTE = f"""

Adjusted Rand index in percent, means over seeds {SEEDS[0]}-{SEEDS[-1]} of holes and of fits (KNN:
the first seed alone but on digits; miRNA: neighbours among {DONORS} samples). *Complete*: ONMF on
the data without holes; *NaN*: ONMF on the data as they are; the others are filled first, by the
mean of each feature or by scikit-learn's KNNImputer (5 neighbours), then clustered by ONMF or
K-means (10 starts). *Small ones*: an entry is missing with a chance that falls from 60 % to 0 with
its rank among all entries. Error filled: root of the squared error over the squared size of the
entries that were removed; NaN is `inverse_transform(transform(X))`. Time ratio: processor time of
the fit with holes to that without, the least of the seeds each, one thread, one after the other."""


def ranks(X, rng):
    """Where each entry stands among all, from 0 to 1; equal ones in random order."""
    order = np.lexsort([rng.random(X.size), X.ravel()])
    place = np.empty(X.size)
    place[order] = np.linspace(0, 1, X.size)
    return place.reshape(X.shape)


def run() -> None:
    rows = []
    for name in filter(available().__contains__, SETS):
        rows += measure_set(name)
        write_rows(rows)


def write_rows(rows) -> None:
    """The section, with the means over the sets below."""
    rows = list(rows)
    for kind in KINDS:
        of_kind = [row[2:] for row in rows if row[1] == kind]
        rows.append(["**mean of the sets**", kind, *np.mean(of_kind, axis=0)])
    told = [
        [*row[:2], *(f"{v:.{d}f}" for v, d in zip(row[2:], DIGITS, strict=True))] for row in rows
    ]
    write_section("missing", "Missing values", table(COLUMNS, told) + NOTE)


DIGITS = [1] * 6 + [3] * 3 + [1]


def measure_set(name):
    """One row a kind of holes."""
    data = available()[name]()
    X, y, k = np.ascontiguousarray(data.X, dtype=float), data.y, data.k
    complete = {}
    for seed in SEEDS:
        model, seconds = timed(lambda seed=seed: ONMF(k, random_state=seed, n_jobs=1).fit(X))
        complete[seed] = 100 * adjusted_rand_score(y, model.labels_), seconds
    rows = []
    for kind, holes_of in KINDS.items():
        found = [measure(X, y, k, holes_of(X, np.random.default_rng(seed)), seed) for seed in SEEDS]
        agreement, errors, seconds = zip(*found, strict=True)
        base = [ari for ari, _ in complete.values()], [s for _, s in complete.values()]
        rows.append(
            [
                name,
                kind,
                np.mean(base[0]),
                *np.nanmean(agreement, axis=0),
                *np.nanmean(errors, axis=0),
                min(seconds) / min(base[1]),
            ]
        )
        print(rows[-1], flush=True)
    return rows


def measure(X, y, k, holes, seed):
    """Agreement of each method, error of each filling, and the time of the fit with holes."""
    Z = np.where(holes, np.nan, X)
    model, seconds = timed(lambda: ONMF(k, random_state=seed, n_jobs=1).fit(Z))
    full = {"NaN": model.inverse_transform(model.transform(Z))}
    full["mean"] = SimpleImputer(keep_empty_features=True).fit_transform(Z)
    full["KNN"] = np.full(X.shape, np.nan)
    if X.size <= LARGE or seed == SEEDS[0]:
        few = DONORS if len(Z) > 2 * DONORS else len(Z)
        some = np.random.default_rng(seed).permutation(len(Z))[:few]
        full["KNN"] = KNNImputer(keep_empty_features=True).fit(Z[np.sort(some)]).transform(Z)
    agreement = [adjusted_rand_score(y, model.labels_)]
    for name in ("mean", "KNN"):
        for rival in (
            ONMF(k, random_state=seed, n_jobs=1),
            KMeans(k, n_init=10, random_state=seed),
        ):
            known = np.isfinite(full[name]).all()
            labels = rival.fit(full[name]).labels_ if known else None
            agreement.append(adjusted_rand_score(y, labels) if known else np.nan)
    size = np.linalg.norm(X[holes])
    errors = [np.linalg.norm((guess - X)[holes]) / size for guess in full.values()]
    return 100 * np.array(agreement), errors, seconds


def timed(task):
    begin = process_time()
    return task(), process_time() - begin
