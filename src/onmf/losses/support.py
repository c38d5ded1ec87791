"""Which features work together: one table, and one kind of sentence for the others.

    feature x loss x solver

A loss names the features that it can do with the default solver (`Loss.supports`). The paper's
method, PALM, does squares only, and only what the paper has.
"""

from collections.abc import Iterable
from itertools import combinations

FEATURES = {  # feature -> what the user asked for, as a message names it
    "outliers": "outliers",
    "missing": "missing values (NaN)",
    "signed": "negative entries",
    "passes": "passes",
    "streams": "partial_fit",
    "model": "a model as init",
    "n_init": "n_init",
}
EVERY_FEATURE = frozenset(FEATURES)
OF_PALM = EVERY_FEATURE - {"outliers", "missing", "passes", "streams"}
# Pairs that make no sense for any loss, and why.
CONFLICTS = {
    frozenset({"model", "n_init"}): "a fit from a model has one start",
}


def refusal(loss: str, supports: frozenset[str], solver: str, features: Iterable[str]) -> str:
    """Why these features do not work together, in a sentence; empty if they do."""
    wanted = [name for name in FEATURES if name in set(features)]
    if solver == "palm" and loss != "frobenius":
        return f"loss={loss!r} needs solver='fast': the paper's method is for squares."
    for name in wanted:
        if name not in supports:
            return f"{FEATURES[name]} is not available with loss={loss!r}."
        if solver == "palm" and name not in OF_PALM:
            return f"{FEATURES[name]} needs solver='fast'."
    for first, second in combinations(wanted, 2):
        pair = frozenset({first, second})
        if why := CONFLICTS.get(pair):
            return f"{FEATURES[first]} and {FEATURES[second]} cannot be combined: {why}."
    return ""
