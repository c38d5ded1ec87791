"""A choice of K with the members that the page and the figures ask for."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np


class Row(NamedTuple):
    k: int
    score: float
    comes_back: float
    found_again: float
    kept: float
    feature_agreement: float
    border: float
    valley: float
    failed: str


def choice(best_k=3):
    """Over K = 2 to 5; the last K has no valley."""
    rest = {"comes_back": 0.9, "kept": 0.9, "feature_agreement": 0.8, "failed": ""}
    table = [
        Row(
            k=k,
            score=float(k == best_k),
            found_again=1 / k,
            border=0.1,
            valley=0.5 if k < 5 else np.nan,
            **rest,
        )
        for k in range(2, 6)
    ]
    return SimpleNamespace(best_k=best_k, reason="3 clusters: <b>because</b>.", table=table)
