"""What each study runs: data sets x methods x starts x parameters, and what it shows of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from onmf_paper.methods import ACCELERATED, FAITHFUL, NAMES, ORDER
from onmf_paper.published import COLUMNS
from onmf_paper.trials import Trial, make_trial
from onmf_paper.unlucky import DRAWS, SETTINGS

Cell = tuple[str, str, dict[str, Any]]  # data, method, changed parameters

EVERYWHERE = tuple(method for method in NAMES if method not in ACCELERATED)
SIGNED = ("k-means", "k-means++", *FAITHFUL, "default", "k-means-10")
RIDGES = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
EPSILONS = (1e-2, 3e-3, 1e-3, 3e-4)
GROWTHS = (1.1, 1.5, 2.0, 5.0)
EXPONENTS = ((1, 2, 2), (1, 2, 4), (1, 2, 10), (1, 3, 10), (1, 5, 10), (2, 3, 10))
TSNE_SETS = (2, 4, 6)


@dataclass(frozen=True)
class Study:
    """Cells to run, each from several starts, and what is shown of them."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    trials: int  # starts of a cell, unless the user says otherwise
    measures: tuple[str, ...] = ()  # tables
    figures: tuple[str, ...] = ()  # functions of `figures`
    note: str = ""
    source: str = ""  # the table of the paper, if it has another name than the study
    most: int = 1000  # starts that are of use

    def plan(self, trials: int | None = None, only: tuple[str, ...] = ()) -> list[Trial]:
        """The trials, those of a method together, from start 1 on."""
        n = min(self.most, self.trials if trials is None else trials)
        return [
            make_trial(data, method, seed, **changes)
            for data, method, changes in self.cells
            if not only or method in only or method == "t-sne"
            for seed in range(1, n + 1)
        ]


def all_on_all(data: tuple[str, ...], methods: tuple[str, ...] = EVERYWHERE) -> tuple[Cell, ...]:
    """All methods on all data; the cheap and the important ones first."""
    chosen = [method for method in ORDER if method in methods]
    return tuple((name, method, {}) for method, name in product(chosen, data))


def both_penalties(data: str, values: Iterator[dict[str, Any]]) -> tuple[Cell, ...]:
    """Both faithful methods on one data set with changed parameters, each combination once."""
    unique = {tuple(sorted(change.items())): change for change in values}
    return tuple((data, method, change) for change in unique.values() for method in FAITHFUL)


def inner_tolerance(eps: float) -> dict[str, Any]:
    """The change that sets eps_PALM; none for the paper's own, whose trials other studies share."""
    return {} if eps == 3e-3 else {"inner_tol": eps}


def ridge_changes() -> Iterator[dict[str, Any]]:
    for fixed, moving in product((0.0, 1e-6), RIDGES):
        yield {"mu_w": fixed, "mu_h": moving}
        yield {"mu_w": moving, "mu_h": fixed}


def growth_changes() -> Iterator[dict[str, Any]]:
    no_ridge = {"mu_w": 0.0, "mu_h": 0.0}
    for eps, growth in product((1e-2, 1e-3), GROWTHS):
        yield {"inner_tol": eps, "growth": growth, **no_ridge}
    for growth, eps in product((1.1, 2.0), EPSILONS):
        yield {"inner_tol": eps, "growth": growth, **no_ridge}


def three_rays_cells() -> tuple[Cell, ...]:
    """The clusters on the way, from three bad centroids."""
    cells: list[Cell] = [("three rays", "k-means", {"max_iter": i}) for i in (1, 2, 6)]
    cells += [("three rays", "sncp", {"stages": i}) for i in (1, 3, 41)]
    cells += [("three rays", "nsncp", {"stages": i}) for i in (1, 11, 13)]
    return (*cells, ("three rays", "default", {}))


def unlucky_cells() -> tuple[Cell, ...]:
    """All settings on all draws; K-means, whose seeds they share, once on each draw."""
    cells: dict[str, Cell] = {}
    for setting, draw in product(SETTINGS, DRAWS):
        data = f"{setting.data} {draw}"
        cells[data] = (data, "k-means", {})
        for method in FAITHFUL:
            cells[f"{method} {setting} {draw}"] = (data, method, setting.solver_changes)
    return tuple(cells.values())


HARD = "synthetic -3 dB"
NOISIEST = "synthetic -5 dB"
TCGA = (*COLUMNS["tcga"][:3], "RNA-seq 6 types")
STUDIES = {
    study.name: study
    for study in (
        Study(
            "table1",
            "Table I: accuracy and time on the synthetic data",
            all_on_all(COLUMNS["table1"]),
            20,
            ("acc", "cpu", "error"),
        ),
        Study(
            "ari",
            "Supplement: adjusted Rand index on the synthetic data",
            all_on_all(COLUMNS["table1"]),
            20,
            ("ari",),
            source="table1",
        ),
        Study(
            "table2",
            "Table II: iterations on the synthetic data",
            all_on_all(COLUMNS["table1"], ("dtpp", "onmf-s", "hals", *FAITHFUL, *ACCELERATED)),
            10,
            ("sweeps", "acc"),
            note="The paper has no column for 5 dB and no accuracy here: that is Table I, of 20 "
            "starts. Accelerated: the paper's method with inertial passes, an addition of ours.",
        ),
        Study(
            "tdt2",
            "TDT2 documents",
            all_on_all(COLUMNS["tdt2"]),
            5,
            ("acc", "ari", "cpu", "error", "empty"),
            note="The paper does not say which ten categories each of its subsets has. Ours are "
            "ten random categories with the same number of documents; the paper's numbers are of "
            "other categories.",
        ),
        Study(
            "tdt2-reduced",
            "TDT2 documents after spectral dimension reduction",
            all_on_all(COLUMNS["tdt2-reduced"], SIGNED),
            5,
            ("acc", "ari", "cpu"),
            note="The subsets are those of the table before, hence not the paper's. Eigenvectors "
            "have negative entries: the rivals here take non-negative data only, so that HALS and "
            "ONP-MF, which the paper shows, are absent, as are DTPP, ONMF-S (which the paper "
            "leaves out, too) and exact alternation.",
        ),
        Study(
            "tcga",
            "TCGA tumours",
            all_on_all(TCGA),
            5,
            ("acc", "ari", "cpu", "error", "empty"),
            note="The paper's matrix of 33 cancer types (11135 samples, 20531 genes) is not "
            "available here. MicroRNA of the same patients stands in for it, with as many types; "
            "the paper's numbers are of its gene matrix and of other types. The 5000 genes of the "
            "RNA-seq set are chosen by the chi-squared test against the cancer types, as in the "
            "paper: the choice has seen the answer.",
        ),
        Study(
            "convergence",
            "Residual and orthogonality along the path, -3 dB",
            both_penalties(HARD, map(inner_tolerance, EPSILONS)),
            1,
            figures=("convergence",),
            most=1,
        ),
        Study(
            "accuracy",
            "Accuracy along the path, and against eps_PALM, -3 dB",
            both_penalties(HARD, map(inner_tolerance, EPSILONS)),
            10,
            figures=("accuracy",),
            most=10,
        ),
        Study(
            "iterations",
            "Residual against iterations, -3 and -1 dB",
            all_on_all((HARD, "synthetic -1 dB"), ("dtpp", "onp-mf", "onmf-s", "hals", *FAITHFUL)),
            10,
            figures=("iterations",),
            most=10,
        ),
        Study(
            "consensus",
            "Consensus maps, -5 dB",
            all_on_all((NOISIEST,)),
            10,
            figures=("consensus",),
            most=10,
        ),
        Study(
            "t-sne",
            "TDT2 before and after dimension reduction",
            tuple((f"TDT2 {s}{kind}", "t-sne", {}) for kind in ("", " reduced") for s in TSNE_SETS),
            1,
            figures=("maps",),
            most=1,
        ),
        Study(
            "ridges",
            "The ridges mu_h and mu_w, -3 dB",
            both_penalties(HARD, ridge_changes()),
            1,
            figures=("ridges_sncp", "ridges_nsncp"),
            most=1,
        ),
        Study(
            "growth",
            "The growth of the penalty and eps_PALM, -3 dB",
            both_penalties(HARD, growth_changes()),
            1,
            figures=("growth_sncp", "growth_nsncp"),
            most=1,
        ),
        Study(
            "penalties",
            "Other penalties (p, q, v), -3 dB",
            tuple((HARD, "sncp", dict(zip("pqv", pqv, strict=True))) for pqv in EXPONENTS),
            1,
            figures=("contours", "exponents"),
            most=1,
        ),
        Study(
            "three-rays",
            "Three rays and three bad centroids",
            three_rays_cells(),
            1,
            figures=("three_rays",),
            most=1,
        ),
        Study(
            "unlucky-starts",
            "Three rays again: in which settings are the bad centroids overcome?",
            unlucky_cells(),
            1,
            figures=("unlucky_starts",),
            note="The supplement does not say how wide the clusters are, how the three points are "
            "drawn, where the memberships begin, or which ridge is used. Each setting is one "
            f"answer to all of that, tried on {len(DRAWS)} draws. Thirty were chosen on other "
            "draws, three were added after their neighbours' counts on these.",
            most=1,
        ),
    )
}
FIGURE_STUDIES = tuple(name for name, study in STUDIES.items() if study.figures)
