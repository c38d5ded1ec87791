"""Parameters in, attributes out: `ONMF` and its files.

A fit, in the order in which it is read: `onmf` has the parameters, `clusterer` the
fit itself. The parameters are checked (`parameters`) and resolved into a start (`initialization`,
`known_classes`) and a frozen solver (`solvers`, `fitting`). Then samples come in (`data`), progress
is reported (`progress`), and the clusters are numbered (`ordering`). What a fitted model does:
`predictor`, with what it learns beside the fit (`kept`), `reporting`, `storage`. Batch by batch:
`partial_fit`, `stream`; by hand: `editing`; ids that outlive a fit: `lineage`.
"""

from onmf.estimators.known_classes import class_means
from onmf.estimators.onmf import ONMF
from onmf.estimators.solvers import PALM, Fast
from onmf.estimators.storage import load

__all__ = ["ONMF", "PALM", "Fast", "class_means", "load"]
