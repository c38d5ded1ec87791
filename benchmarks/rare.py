"""Rare types of cells: sorted blood cells with one type thinned to 1 % and 2 % of all cells.

Recall of a type: the share of its cells in the cluster that has most of them, if that type is the
most frequent one there; else 0.
"""

import re
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf import ONMF, choose_k
from onmf.prepare import Variable
from onmf.prepare.expression import VARIABLE_GENES
from sets import pbmc
from tables import table, write_section

SHARES, SEED, CELLS = (0.01, 0.02), 12, 2000  # the scale for rare groups was made with seed 11
NOTE = """

Sorted blood cells (1,500 most variable genes), one type thinned. Recall in percent at the K that
`choose_k` takes, and at the best of its finer scales, by the labels of that scale; *named for rare
groups* is the K that its sentence names for them; *others* is the smallest recall of the types that
were not thinned, at K."""


def run() -> None:
    warnings.simplefilter("ignore")
    full, rows = pbmc(), []
    classes = np.asarray(full.y).astype(str)
    for kind in np.unique(classes):
        for share in SHARES:
            some = thinned(classes, kind, share)
            X, own = sp.csr_array(full.X)[some], classes[some]
            X = Variable.fit(X, VARIABLE_GENES)(X)
            choice = choose_k(ONMF(random_state=0), X)
            tried = {scale.k: recalls(own, scale.labels) for scale in choice.scales}
            finer = [k for k in tried if k > choice.best_k]
            at = tried[choice.best_k]
            best = max(finer, key=lambda k: tried[k][kind], default=None)
            later = "none" if best is None else f"{100 * tried[best][kind]:.0f} (K = {best})"
            named = re.search(r"(\d+) finer ones, \d+ % \(for rare", choice.reason)
            others = min(value for name, value in at.items() if name != kind)
            rows.append([kind, f"{share:.0%} ({(own == kind).sum()} cells)", choice.best_k,
                         f"{100 * at[kind]:.0f}", later, named[1] if named else "none",
                         f"{100 * others:.0f}"])  # fmt: skip
            columns = ["thinned type", "share", "K", "recall at K", "at a finer scale"]
            columns += ["named for rare groups", "others"]
            write_section("rare", "Rare types of cells", table(columns, rows) + NOTE)


def thinned(classes: Any, kind: str, share: float) -> Any:
    """Some cells, of which a share is of one type."""
    rng = np.random.default_rng(SEED)
    others = rng.permutation(np.flatnonzero(classes != kind))[:CELLS]
    few = rng.permutation(np.flatnonzero(classes == kind))
    return np.sort(np.concatenate([others, few[: round(share * len(others) / (1 - share))]]))


def recalls(classes: Any, labels: Any) -> dict[str, float]:
    found = {}
    for kind in np.unique(classes):
        inside = labels[classes == kind]
        main = np.bincount(inside[inside >= 0], minlength=1).argmax()
        names, counts = np.unique(classes[labels == main], return_counts=True)
        found[str(kind)] = float((inside == main).mean()) if names[counts.argmax()] == kind else 0.0
    return found
