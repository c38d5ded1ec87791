"""What is told of outliers: in run.json, and in a sentence."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from onmf.cli.runs.tables import Model
from onmf.io.table import one_line

WORST = 10  # outliers that run.json names


def outlier_record(model: Model, samples: Sequence[str]) -> dict[str, Any] | None:
    """How many outliers there are, and the worst of them by name; None if nobody asked."""
    if not hasattr(model, "outlier_score_"):
        return None
    score = model.outlier_score_
    worst = [i for i in np.argsort(-score, kind="stable")[:WORST] if score[i] > 1]
    return {
        "samples": int(np.sum(score > 1)),
        "worst": [{"sample": str(samples[i]), "score": float(f"{score[i]:.4g}")} for i in worst],
    }


def outlier_sentence(samples: int, worst: list[dict[str, Any]]) -> str:
    """How many samples fit no cluster, and the worst of them."""
    names = ", ".join(one_line(each["sample"]) for each in worst[:3])
    more = ", ..." if samples > 3 else ""
    return f"{samples} outliers in no cluster{f': {names}{more}' if samples else ''}."
