"""Parameters in, attributes out: `ONMF`, `Baseline`, and their files.

A fit, in the order in which it is read: `onmf` (or `baseline`) has the parameters, `clusterer` the
fit itself. It has them checked (`parameters`) and resolved into a start (`beginning`) and a frozen
solver (`solvers`; `divergence` for counts, `few_passes` for few readings), takes the samples in
(`samples`), tells how far it is (`progress`, `checkpoint`), and puts the clusters into their order
(`ordering`, `lineage`). What a fitted model does: `predictor`, `presenter`, `storage`, `loading`.
Batch by batch: `stream_clusterer` on `stream`, `evolution`, `waiting` and `stream_storage`.
"""

from onmf.estimators.baseline import Baseline
from onmf.estimators.loading import load
from onmf.estimators.onmf import ONMF

__all__ = ["ONMF", "Baseline", "load"]
