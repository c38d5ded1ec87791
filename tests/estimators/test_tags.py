"""The tags that scikit-learn reads are true for every combination of parameters."""

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from onmf import ONMF, PALM, Fast
from onmf.datasets import make_rays
from onmf.losses import LOSSES

X, _ = make_rays(60, 8, 3, noise=0.2, random_state=0)
HOLES = np.where(np.arange(X.size).reshape(X.shape) % 41 == 0, np.nan, X)
SIGNED = X - X.mean(axis=0)

PARAMETERS = {
    "loss": list(LOSSES),
    "solver": [
        *("fast", "palm", Fast(passes=1), Fast(passes=2)),
        *(PALM(center_bounds=bounds) for bounds in ("data", (0, None), (None, None), (-1, 5))),
    ],
    "outliers": [None, "auto", 3],
}


def check(model):
    """Whether the tags are true; None for a combination that is refused by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not fits(model, X):
            return None
        tags = model.__sklearn_tags__().input_tags
        return (tags.allow_nan, not tags.positive_only) == (fits(model, HOLES), fits(model, SIGNED))


def fits(model, data):
    try:
        model.fit(data)
    except ValueError:
        return False
    return True


def combinations():
    for values in product(*PARAMETERS.values()):
        given = dict(zip(PARAMETERS, values, strict=True))
        yield ONMF(3, random_state=0, max_iter=20, **given)


QUICK = [
    ONMF(3, random_state=0),
    ONMF(3, outliers="auto", random_state=0),
    ONMF(3, loss="kl", random_state=0),
    ONMF(3, solver="palm", max_iter=20, random_state=0),
]


@pytest.mark.parametrize("model", QUICK, ids=str)
def test_the_tags_say_what_is_accepted(model):
    assert check(model)


@pytest.mark.parametrize("k", [2, 3])
def test_a_clusterer_is_no_classifier_whatever_its_probabilities_are(k):
    model = ONMF(k, random_state=0)
    alone = model.__sklearn_tags__()
    assert alone.classifier_tags.multi_class == (k > 2)  # columns of `predict_proba`
    for one in (model, make_pipeline(MaxAbsScaler(), model), GridSearchCV(model, {"tol": [1e-5]})):
        assert not is_classifier(one)
        assert one.__sklearn_tags__().estimator_type == alone.estimator_type == "clusterer"
        assert one.fit(X).predict(X).shape == (60,)
        assert one.predict_proba(X).shape == (60, k)


@pytest.mark.slow
def test_the_tags_are_true_for_every_combination():
    verdicts = {str(model): check(model) for model in combinations()}
    assert [name for name, verdict in verdicts.items() if verdict is False] == []
    assert sum(verdict is True for verdict in verdicts.values()) > 20
