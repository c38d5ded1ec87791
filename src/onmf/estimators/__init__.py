"""Parameters in, attributes out: `ONMF`, `Baseline`, and their files."""

from onmf.estimators.models import ONMF, Baseline, load

__all__ = ["ONMF", "Baseline", "load"]
