"""Figures of curves: along the path, over iterations, for other parameters.

Each function takes the finished rows of its study and draws what there is; what has not been run is
left out.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf_paper.drawing import COLOURS, add_legend, axes_grid
from onmf_paper.ledger import Row
from onmf_paper.methods import FAITHFUL, NAMES
from onmf_paper.studies import EPSILONS, EXPONENTS, GROWTHS, HARD, RIDGES, inner_tolerance
from onmf_paper.trials import changed_parameters

Array = NDArray[Any]

MARKS = {"residual": "normalised residual", "orthogonality": "orthogonality",
         "relative_error": "relative error", "acc": "accuracy (%)"}  # fmt: skip


def select_rows(rows: Iterable[Row], method: str, data: str = HARD, **changed: Any) -> list[Row]:
    """The trials of a method with exactly these parameters changed."""
    return [
        row
        for row in rows
        if (row.trial["method"], row.trial["data"]) == (method, data)
        and changed_parameters(row.trial) == changed
    ]


def curve_of(row: Row, name: str) -> Array:
    return np.array(row.result["curves"][name])


def draw_along_path(axis: Any, rows: list[Row], name: str, label: str, **look: Any) -> None:
    """One curve over the stages of the growing penalty, on a logarithmic scale where it helps."""
    for row in rows[:1]:
        values = curve_of(row, name)
        positive = np.where(values > 0, values, np.nan)
        plot = axis.plot if name in ("acc", "relative_error") else axis.semilogy
        plot(np.arange(1, len(values) + 1), positive, label=label, **look)
    axis.set(xlabel="stage of the growing penalty", ylabel=MARKS[name])


def draw_convergence(rows: list[Row]) -> Any:
    """Residual and orthogonality along the path, start 1."""
    figure, axes = axes_grid(1, 2, 4, 3)
    for axis, name in zip(axes[0], ("residual", "orthogonality"), strict=True):
        for style, method in zip(("-", "--"), FAITHFUL, strict=True):
            for colour, eps in zip(COLOURS, EPSILONS, strict=False):
                first = select_rows(rows, method, **inner_tolerance(eps))
                label = f"{NAMES[method]}, eps_PALM = {eps:g}"
                draw_along_path(axis, first, name, label, color=colour, linestyle=style)
    add_legend(axes[0, 1], 6)
    return figure


def draw_accuracy(rows: list[Row]) -> Any:
    """Mean and deviation of the accuracy along the path, and at its end against eps_PALM."""
    figure, axes = axes_grid(1, 2, 4, 3)
    for method in FAITHFUL:
        curves = [curve_of(row, "acc") for row in select_rows(rows, method)]
        if curves:
            table = pad_curves(curves)
            stages = np.arange(1, table.shape[1] + 1)
            sd = table.std(axis=0, ddof=1) if len(table) > 1 else None
            label = f"{NAMES[method]}, {len(table)} starts"
            axes[0, 0].errorbar(
                stages, table.mean(axis=0), sd, errorevery=10, elinewidth=0.6, label=label
            )
        by_eps = {eps: select_rows(rows, method, **inner_tolerance(eps)) for eps in EPSILONS}
        finals = {eps: [row.result["acc"] for row in some] for eps, some in by_eps.items() if some}
        if finals:
            means = [np.mean(values) for values in finals.values()]
            sds = [np.std(values, ddof=1) if len(values) > 1 else 0 for values in finals.values()]
            axes[0, 1].errorbar(list(finals), means, sds, marker="o", label=NAMES[method])
    axes[0, 0].set(xlabel="stage of the growing penalty", ylabel=MARKS["acc"])
    axes[0, 1].set(xlabel="eps_PALM", ylabel=MARKS["acc"], xscale="log")
    axes[0, 1].invert_xaxis()
    for axis in axes[0]:
        add_legend(axis, 8)
    return figure


def pad_curves(curves: list[Array]) -> Array:
    """Curves of unequal length as one table, each going on with its last value."""
    longest = max(map(len, curves))
    return np.array([np.pad(values, (0, longest - len(values)), mode="edge") for values in curves])


def draw_iterations(rows: list[Row]) -> Any:
    """Geometric mean of the residual over the starts, against iterations."""
    figure, axes = axes_grid(1, 2, 4, 3)
    grid = np.unique(np.geomspace(1, 2000, 300).round())
    for axis, data in zip(axes[0], (HARD, "synthetic -1 dB"), strict=True):
        for method in NAMES:
            chosen = select_rows(rows, method, data)
            logs = [np.log(curve_of(row, "residual").clip(1e-16)) for row in chosen]
            if chosen:
                sweeps = (curve_of(row, "sweeps") for row in chosen)
                curves = map(np.interp, repeat(grid), sweeps, logs)
                axis.loglog(grid, np.exp(np.mean(list(curves), axis=0)), label=NAMES[method])
        axis.set(xlabel="iterations", ylabel=MARKS["residual"], title=data)
        axis.axhline(1e-5, color="0.7", linewidth=0.8)
    add_legend(axes[0, 0], 7)
    return figure


def draw_parameter_study(rows: list[Row], method: str, lines: Any, names: Sequence[str]) -> Any:
    """A line of panels for each fixed parameter, a curve for each value of the moving one."""
    figure, axes = axes_grid(len(lines), len(names), 3.2, 1.9)
    for line, (fixed, variants) in zip(axes, lines, strict=True):
        for axis, name in zip(line, names, strict=True):
            for label, changed in variants.items():
                draw_along_path(axis, select_rows(rows, method, **changed), name, label)
            axis.set_title(fixed, fontsize=8)
        add_legend(line[0], 6)
    return figure


def _draw_ridges(rows: list[Row], method: str) -> Any:
    names = (("mu_w", "mu_h"), ("mu_h", "mu_w"))
    lines = [
        (f"{fixed} = {at:g}", {f"{moving} = {m:g}": {fixed: at, moving: m} for m in RIDGES})
        for fixed, moving in names
        for at in (0.0, 1e-6)
    ]
    return draw_parameter_study(rows, method, lines, ("acc", "residual", "orthogonality"))


def _draw_growth(rows: list[Row], method: str) -> Any:
    none = {"mu_w": 0.0, "mu_h": 0.0}
    by_growth = [
        (
            f"eps_PALM = {eps:g}",
            {f"gamma = {g:g}": {"inner_tol": eps, "growth": g, **none} for g in GROWTHS},
        )
        for eps in (1e-2, 1e-3)
    ]
    by_eps = [
        (
            f"gamma = {g:g}",
            {f"eps_PALM = {eps:g}": {"inner_tol": eps, "growth": g, **none} for eps in EPSILONS},
        )
        for g in (1.1, 2.0)
    ]
    return draw_parameter_study(
        rows, method, by_growth + by_eps, ("relative_error", "residual", "orthogonality")
    )


def exponents_title(pqv: tuple[int, int, int]) -> str:
    return "p = {}, q = {}, v = {}".format(*pqv)


def draw_exponents(rows: list[Row]) -> Any:
    """Accuracy, residual and orthogonality for other penalties, start 1."""
    changes = {e: dict(zip("pqv", e, strict=True)) for e in EXPONENTS}
    lines = [
        ("p = 1, q = 2", {exponents_title(e): changes[e] for e in EXPONENTS if e[:2] == (1, 2)}),
        ("v = 10", {exponents_title(e): changes[e] for e in EXPONENTS if e[2] == 10}),
    ]
    return draw_parameter_study(rows, "sncp", lines, ("acc", "residual", "orthogonality"))


def draw_ridges_sncp(rows: list[Row]) -> Any:
    """SNCP with other ridges mu_h and mu_w, start 1."""
    return _draw_ridges(rows, "sncp")


def draw_ridges_nsncp(rows: list[Row]) -> Any:
    """NSNCP with other ridges mu_h and mu_w, start 1."""
    return _draw_ridges(rows, "nsncp")


def draw_growth_sncp(rows: list[Row]) -> Any:
    """SNCP with other growth factors gamma and other eps_PALM, no ridges, start 1."""
    return _draw_growth(rows, "sncp")


def draw_growth_nsncp(rows: list[Row]) -> Any:
    """NSNCP with other growth factors gamma and other eps_PALM, no ridges, start 1."""
    return _draw_growth(rows, "nsncp")
