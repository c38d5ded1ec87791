"""Fits in several threads at once do not disturb each other: `make parallel` repeats each test."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from onmf import ONMF, Fast
from onmf.datasets import make_rays

X, Y = make_rays(120, 20, 4, random_state=0)
MODELS = [
    ONMF(4, random_state=0),
    ONMF(4, loss="kl", random_state=0),
    ONMF(4, outliers="auto", random_state=0),
    ONMF(4, solver=Fast(passes=2), random_state=0),
    ONMF(4, solver="palm", random_state=0),
]
EXPECTED = {str(model): clone(model).fit(X).relative_error_ for model in MODELS}


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_fit_is_the_same_whatever_else_runs(model, kind):
    mine = clone(model).fit(kind(X))
    assert mine.relative_error_ == pytest.approx(EXPECTED[str(model)], rel=1e-9)
    np.testing.assert_array_equal(mine.predict(kind(X)), mine.labels_)


def test_one_model_answers_several_threads():
    model = SHARED
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(1 - model.relative_error_)


SHARED = ONMF(4, random_state=0).fit(X)
