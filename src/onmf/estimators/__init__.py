"""Parameters in, attributes out: `ONMF`, `Baseline`, and their files."""

from onmf.estimators.baseline import Baseline
from onmf.estimators.loading import load
from onmf.estimators.onmf import ONMF

__all__ = ["ONMF", "Baseline", "load"]
