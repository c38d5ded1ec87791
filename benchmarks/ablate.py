"""`make ablate`: what each mechanism of the default fit is worth, by switching it off.

It stays if its row is above .02 % of the error or .5 points of ARI, or .1 % on the worst set.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_sample_image, load_wine
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF
from onmf.datasets import make_paper_synthetic, make_rays
from onmf.losses import kl_starts, ray_alternation
from onmf.prepare import tfidf
from onmf.search import rays, sketch, starts, swaps
from onmf.search.numpy_kernels import unit
from sets import Set
from tables import table, write_section

MOST_TEXTS = 4000
ROUNDING = 1e-12  # errors below it are nothing
FIRST_SEED = 3101  # never used while the search was made
COLUMNS = ["without", "error, mean", "error, worst", "on", "ARI", "time", "sweeps"]
NOTE = """

Relative to the fit with everything, the same seed: error in percent, mean over the sets and on the
worst of them, ARI in points, processor time and sweeps as ratios, on one thread, interleaved."""


def cut(data: Set) -> Set:
    """At most MOST_TEXTS samples, without features and samples that are then zero."""
    X, y = data.X, np.asarray(data.y)
    if X.shape[0] > MOST_TEXTS:
        rows = np.sort(np.random.default_rng(0).choice(X.shape[0], MOST_TEXTS, replace=False))
        X, y = sp.csr_array(X)[rows], y[rows]
    X = sets.used(sp.csr_array(X))
    kept = np.flatnonzero(X.sum(axis=1) > 0)
    return Set(X[kept], y[kept], data.k)


def weighted(data: Set) -> Set:
    counts = cut(data)
    return counts._replace(X=tfidf().fit_transform(counts.X))


def every_topic() -> Set:
    """The topics of TDT2 with at least ten documents."""
    news = sets.tdt2_counts()
    sizes = np.bincount(news.target)
    rows = np.flatnonzero(sizes[news.target] >= 10)
    return cut(Set(news.data[rows], news.target[rows], int((sizes >= 10).sum())))


def patches(k: int) -> Set:
    image = load_sample_image("china.jpg").mean(axis=2)
    X = extract_patches_2d(image, (8, 8), max_patches=4000, random_state=0).reshape(4000, -1)
    return Set(X, np.zeros(len(X)), k)


def by_largest(load: Callable) -> Set:
    X, y = load(return_X_y=True)
    return Set(X / X.max(axis=0), y, len(np.unique(y)))


def giant(factor: float) -> Set:
    """One sample that outweighs all others."""
    X, y = make_rays(600, 300, 6, noise=0.3, random_state=0)
    X[17] = factor * np.random.default_rng(1).random(300)
    return Set(X, y, 7)


def nearly_parallel() -> Set:
    """Clusters that differ in the fifth digit."""
    X, y = make_rays(600, 300, 6, noise=0.1, random_state=0)
    rng = np.random.default_rng(1)
    return Set(rng.uniform(1, 2, (600, 1)) * (rng.random(300) + 1e-5 * X), y, 6)


SMALL = load_wine, load_breast_cancer, load_iris
BUNDLED = {
    **{load.__name__: lambda load=load: by_largest(load) for load in SMALL},
    "digits": sets.digits,
    "digits, K = 100": lambda: sets.digits()._replace(k=100),
    "patches, K = 50": lambda: patches(50),
    "patches, K = 300": lambda: patches(300),
    "synthetic -3 dB": lambda: Set(*make_paper_synthetic(-3), 10),
    "synthetic 1 dB": lambda: Set(*make_paper_synthetic(1), 10),
}
HARD = {f"giant {f:.0e}": lambda f=f: giant(f) for f in (1e5, 1e9)} | {"parallel": nearly_parallel}
TEXTS = ("bbc", "m10", "searchsnippets", "stackoverflow", "tweet", "dbpedia_it")


def squares() -> dict[str, Callable[[], Set]]:
    if not sets.folder():
        return BUNDLED
    texts = {n: lambda n=n: weighted(sets.word_counts(n)) for n in TEXTS[:3]}
    return BUNDLED | texts | {
        "RNA": sets.rnaseq,
        "miRNA 10": lambda: sets.mirna(10),
        "miRNA 32": lambda: sets.mirna(32),
        "cells": sets.pbmc,
        "TDT2 3": lambda: sets.tdt2(3, True),
        "TDT2, every topic": lambda: weighted(every_topic()),
        "20 Newsgroups": lambda: weighted(sets.newsgroup_counts()),
    }  # fmt: skip


def counts() -> dict[str, Callable[[], Set]]:
    if not sets.folder():
        return {"digits": sets.digits}
    texts = {name: lambda name=name: cut(sets.word_counts(name)) for name in TEXTS}
    return texts | {
        "TDT2 3": lambda: sets.tdt2(3, False),
        "TDT2, every topic": every_topic,
        "20 Newsgroups": lambda: cut(sets.newsgroup_counts()),
    }


def rows_by_chance(Y, sqnorms, k, rng):
    return unit(Y[rng.choice(len(Y), k, replace=len(Y) < k)].astype(np.float64))


DRAWN, WIDTH = rays.drawn, sketch.width
Off = list[tuple[object, str, object]]  # where, which name, what instead
OF_SQUARES: dict[str, Off] = {
    "all starts but one": [(starts, "STARTS", 1), (starts, "MOST_STARTS", 1)],
    "k-means++ (rows by chance)": [(starts, "spread", rows_by_chance)],
    "rows drawn by energy": [
        (starts, "drawn", lambda Y, _, *more: DRAWN(Y, np.ones(len(Y)), *more))
    ],
    "more rows for the best start": [(starts, "SWAP_ROWS_FACTOR", 1)],
    "second subspace iteration": [(sketch, "SUBSPACE_STEPS", 1)],
    "half of the columns": [(sketch, "width", lambda k: WIDTH(k) // 2)],
    "swaps": [(swaps, "MAX_SWAP_ROUNDS", 0)],
    "neighbours in swaps": [(swaps, "MAX_NEIGHBOURS", 0)],
    "several trials of a split": [(swaps, "SPLIT_TRIALS", 1)],
    "moves in rounds of swaps": [(swaps, "ROUND_MOVES", 0)],
    "all moves": [(swaps, "ROUND_MOVES", 0), (starts, "FINAL_MOVES", 0)],
    "doubled and Ritz steps": [
        (ray_alternation, "next_rays", lambda s, _: unit(s.sums.cross, unit(s.W)))
    ],
}
OF_HARD: dict[str, Off] = {
    "k-means++, hard sets": [(starts, "spread", rows_by_chance)],
    "damping of heavy samples, hard sets": [(sketch, "HEAVY", 1e300)],
    "a second sketch in double, hard sets": [(sketch.Sketch, "tells_apart", lambda small, U: True)],
}
OF_COUNTS: dict[str, Off] = {
    "the start from roots": [(kl_starts, "labels_by_roots", kl_starts.annealed)],
    "crossover": [(kl_starts, "combined", lambda counts, one, other, k: one)],
    "moves of single rows": [(kl_starts, "MOVES", 0)],
    "six rounds of moves (two)": [(kl_starts, "MOVES", 2)],
    "24 temperatures (eight)": [(kl_starts, "BETAS", np.geomspace(2, 20, 8))],
    "all starts but the first": [(kl_starts, "MOST_STARTS", 1)],
    "12 starts (eight)": [(kl_starts, "MOST_STARTS", 8)],
    "five starts in vain (three)": [(kl_starts, "VAIN_STARTS", 3)],
}  # fmt: skip


@contextmanager
def without(off: Off) -> Iterator[None]:
    before = [getattr(where, name) for where, name, _ in off]
    try:
        for where, name, instead in off:
            setattr(where, name, instead)
        yield
    finally:
        for (where, name, _), value in zip(off, before, strict=True):
            setattr(where, name, value)


def fit(data: Set, loss: str, seed: int, off: Off) -> tuple[float, float, float, int]:
    """Error, ARI in percent, processor seconds and sweeps."""
    with without(off):
        begin = process_time()
        model = ONMF(data.k, loss=loss, random_state=seed, n_jobs=1).fit(data.X)
        seconds = process_time() - begin
    agreement = 100 * adjusted_rand_score(data.y, model.labels_)
    return model.relative_error_, agreement, seconds, model.n_iter_


def rows_of(loss: str, makers: dict, mechanisms: dict[str, Off], seeds: range) -> Iterator[list]:
    fits: dict[str, dict[str, np.ndarray]] = {name: {} for name in ["everything", *mechanisms]}
    for set_name, make in makers.items():
        data = make()
        for name, off in ({"everything": []} | mechanisms).items():
            fits[name][set_name] = np.mean([fit(data, loss, seed, off) for seed in seeds], axis=0)
        print(loss, set_name, flush=True)
    whole = np.array([*fits.pop("everything").values()])
    for name, found in fits.items():
        part, names = np.array([*found.values()]), [*found]
        error = 100 * ((part[:, 0] + ROUNDING) / (whole[:, 0] + ROUNDING) - 1)
        ratios = np.exp(np.log(part[:, 2:] / whole[:, 2:]).mean(axis=0))
        yield [
            name, f"{error.mean():+.3f}", f"{error.max():+.2f}", names[int(error.argmax())],
            f"{(part[:, 1] - whole[:, 1]).mean():+.2f}", *(f"{ratio:.2f}" for ratio in ratios),
        ]  # fmt: skip


def run(seeds: int = 1) -> None:
    warnings.simplefilter("ignore")
    chosen = range(FIRST_SEED, FIRST_SEED + seeds)
    rows = [*rows_of("frobenius", squares(), OF_SQUARES, chosen)]
    rows += [*rows_of("frobenius", HARD, OF_HARD, chosen)]
    rows += [*rows_of("kl", counts(), OF_COUNTS, chosen)]
    write_section(
        "ablate", "What each mechanism of the default is worth", table(COLUMNS, rows) + NOTE
    )


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
