"""The theory pages: their names exist, their numbers are the paper's, and what they say holds."""

import importlib
import inspect
import os
import re
from pathlib import Path

import numpy as np
import pytest

from onmf import NSNCP, ONMF, SNCP
from onmf.datasets import make_rays
from onmf.metrics import adjusted_rand_score
from onmf.palm.steps import largest_eigenvalue
from onmf.search.numpy_kernels import unit
from onmf.search.sketch import width
from onmf_paper.bounds import partition_error

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted((DOCS / "theory").glob("*.md"))
ROLE = re.compile(r"\{py:(\w+)\}`~?([\w.]+)`")
KINDS = {
    "func": inspect.isroutine,
    "meth": inspect.isroutine,
    "class": inspect.isclass,
    "mod": inspect.ismodule,
}
NUMBERS = {  # of the LaTeX labels, as the pages and the docstrings have them
    "eqn: kmeans prob": 1,
    "eqn: nmf prob": 2,
    "eqn: onmf prob": 3,
    "eqn: x one nonzero": 4,
    "eqn: onmf prob P2": 7,
    "eqn: onmf prob PP": 9,
    "eqn: onmf prob PP smooth": 10,
    "eqn: onmf prob PP nsmooth": 11,
    "eqn: p_q_v": 12,
    "eqn: H update nonsmooth": 13,
    "eqn: prox prob": 14,
    "prop: the optimal solution": 15,
    "normal residual": 17,
    "thm: non-zero columns": "Proposition 1",
    "prop: prox map negative infinity norm": "Proposition 2",
    "prop: local min": "Theorem 1",
    "thm: stationary pont": "Theorem 2",
    "thm: exact penalty": "Theorem 3",
    "thm: convergence of PALM": "Theorem 4",
    "thm: convergence of non-smooth ALM": "Theorem 5",
    "table: SNCP": "Algorithm 1",
    "table: smooth ALM": "Algorithm 2",
    "table: non-smooth ALM": "Algorithm 3",
    "efficient": "Remark 3",
}


def resolve(name):
    """The object a dotted name stands for: the longest module in it, then attributes."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def sections(text):
    """The text between two headings."""
    return re.split(r"^#+ ", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_function_named_exists_and_is_what_the_page_calls_it(page):
    named = ROLE.findall(page.read_text(encoding="utf-8"))
    assert named
    for kind, name in named:
        assert KINDS[kind](resolve(name)), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_formula_stands_beside_the_function_that_computes_it(page):
    for section in sections(page.read_text(encoding="utf-8")):
        if "$$" in section:
            assert ROLE.search(section), section.splitlines()[0]


@pytest.mark.parametrize("page", ["theory/cost.md", "theory/default.md", "guide/dask.md"])
def test_the_width_of_the_sketch_is_that_of_the_code(page):
    text = (DOCS / page).read_text(encoding="utf-8").replace("\\", "").lower()
    [formula] = set(re.findall(r"min\(4k, k \+ \d+\) \+ \d+", text))
    times, spare, extra = (int(number) for number in re.findall(r"\d+", formula))
    for k in (2, 10, 20, 100):
        assert width(k) == min(times * k, k + spare) + extra


@pytest.fixture(scope="module")
def latex():
    beside = Path(os.environ.get("ONMF_DATA", "")).parent / "paper" / "paper.tex"
    path = Path(os.environ.get("ONMF_PAPER", beside))
    if not path.is_file():
        pytest.skip("the paper's LaTeX is not here: set ONMF_PAPER to paper.tex")
    return path.read_text(encoding="utf-8")


def numbered(latex):
    """Label -> number of every equation, theorem and algorithm of the paper, as LaTeX counts."""
    kinds = {"Theorem": "Theorem", "Prop": "Proposition", "Rmk": "Remark"}
    kinds |= {"algorithm": "Algorithm", "subequations": "", "align": ""}
    text = re.sub(r"(?<!\\)%.*", "", latex.split(r"\appendices")[0])
    counts, found, inside, last = {}, {}, False, ("", 0)
    for mark in re.finditer(r"\\(begin|end)\{(\w+)\}|\\label\{([^}]*)\}", text):
        verb, environment, label = mark.groups()
        if environment == "subequations":
            inside = verb == "begin"  # the lines within have letters, not numbers
        if verb == "begin" and environment in kinds and not (environment == "align" and inside):
            body = text[mark.end() : text.index(rf"\end{{{environment}}}", mark.end())]
            if environment == "align" and r"\notag" in body and r"\\" not in body:
                continue
            kind = kinds[environment]
            counts[kind] = counts.get(kind, 0) + 1
            last = (kind, counts[kind])
        elif label is not None and label not in found:
            found[label] = f"{last[0]} {last[1]}" if last[0] else last[1]
    return found


def test_statements_have_the_numbers_of_the_paper(latex):
    found = numbered(latex)
    assert {label: found.get(label) for label in NUMBERS} == NUMBERS


def test_the_table_of_statements_has_them_all():
    table = (DOCS / "theory" / "index.md").read_text(encoding="utf-8")
    first = " ".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| "))
    ranges = re.findall(r"Eq\. \((\d+)\)(?: to \((\d+)\))?", first)
    said = {n for low, high in ranges for n in range(int(low), int(high or low) + 1)}
    assert said == set(range(1, 18)) - {8}  # (8) defines the directional derivative
    for kind, count in {"Theorem": 5, "Proposition": 2, "Algorithm": 3}.items():
        for n in range(1, count + 1):
            plural = rf"{kind}s? (\d and )?{n}\b"
            assert re.search(plural, first), f"{kind} {n}"


# The theorems, on a grid: two clusters, one sample, every local minimum of the penalised problem.


def minima(penalty, rho, W, x, side=161):
    """Local minima over h >= 0, among grid points, of ||x - hW||^2 + rho phi(h); and all values."""
    ticks = np.linspace(0, 2, side)
    h = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    value = np.sum((x - h @ W) ** 2, axis=1) + rho * penalty.rows(h)
    value = value.reshape(side, side)
    around = np.pad(value, 1, constant_values=np.inf)
    others = [
        around[1 + i : 1 + i + side, 1 + j : 1 + j + side]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if i or j
    ]
    found = np.argwhere(value < np.min(others, axis=0))
    return ticks[found]


@pytest.mark.parametrize("seed", range(10))
def test_theorem_1_beyond_the_curvature_every_local_minimum_has_one_cluster(seed):
    rng = np.random.default_rng(seed)
    W = unit(np.eye(2, 4) + 0.5 * rng.random((2, 4)))
    x = np.array([0.7, 0.6]) @ W  # a true mixture
    limit = largest_eigenvalue(2 * W @ W.T)
    assert (minima(SNCP(), 0.01 * limit, W, x).min(axis=1) > 0).all()  # soft while rho is small
    hard = minima(SNCP(), 1.001 * limit, W, x)
    assert len(hard)
    assert (hard.min(axis=1) == 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_theorem_3_beyond_the_slope_every_stationary_point_has_one_cluster(seed):
    rng = np.random.default_rng(seed)
    W = unit(np.eye(2, 4) + 0.5 * rng.random((2, 4)))
    x = np.array([0.7, 0.6]) @ W
    corners = np.array([[0, 0], [2, 0], [0, 2], [2, 2]])
    slopes = 2 * (corners @ W - x) @ W.T  # linear in h: largest at a corner of the box
    limit = np.linalg.norm(slopes, axis=1).max()
    assert (minima(NSNCP(), 0.001 * limit, W, x).min(axis=1) > 0).all()
    hard = minima(NSNCP(), 1.001 * limit, W, x)
    assert len(hard)
    assert (hard.min(axis=1) == 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_doubled_step_is_no_further_from_the_image_than_the_ray_was(seed):
    rng = np.random.default_rng(seed)
    w, p = unit(rng.gamma(0.3, size=(2, 7)))
    v = unit(np.maximum(2 * p - w, 0)[None])[0]
    assert p @ v >= p @ w - 1e-12
    x = p @ w
    plain = unit((2 * p - w)[None])[0]
    assert p @ plain == pytest.approx((2 - x) / np.sqrt(5 - 4 * x))


def test_the_error_is_the_mean_squared_sine_weighted_by_squared_length():
    X, _ = make_rays(200, 20, 4, noise=1.0, random_state=0)
    model = ONMF(4, random_state=0).fit(X)
    sqnorms = np.sum(X**2, axis=1)
    sines = sqnorms @ model.distance(X) ** 2 / sqnorms.sum()
    assert model.relative_error_ == pytest.approx(sines)
    assert model.relative_error_ == pytest.approx(partition_error(X, model.labels_), rel=1e-6)


def test_rows_of_length_one_and_weights_are_the_same_problem():
    X, _ = make_rays(200, 20, 4, noise=1.0, random_state=0)
    length = np.linalg.norm(X, axis=1)
    scaled = ONMF(4, random_state=0).fit(X / length[:, None])
    weighted = ONMF(4, random_state=0).fit(X, sample_weight=length**-2)
    assert adjusted_rand_score(scaled.labels_, weighted.labels_) == 1
    assert scaled.relative_error_ == pytest.approx(weighted.relative_error_)
