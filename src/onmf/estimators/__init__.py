"""Parameters in, attributes out: `ONMF`, `StreamONMF`, and their files.

A fit, in the order in which it is read: `onmf` (or `baseline`) has the parameters, `clusterer` the
fit itself. The parameters are checked (`parameters`) and resolved into a start (`initialization`)
and a frozen solver (`solvers`, `fitting`). Then samples come in (`data`), progress is reported
(`progress`, `checkpoint`), and the clusters are numbered (`ordering`). What a fitted model does:
`predictor`, `reporting`, `storage`, `loading`. Batch by batch: `partial_fit` and `stream`.
"""

from onmf.estimators.loading import load
from onmf.estimators.onmf import ONMF
from onmf.estimators.solvers import PALM, Fast
from onmf.estimators.stream import StreamONMF

__all__ = ["ONMF", "PALM", "Fast", "StreamONMF", "load"]
