"""scikit-learn's callbacks on our estimators; under a version without them nothing is missing."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from cases import few
from onmf import ONMF

callback = pytest.importorskip("sklearn.callback")


class Diary:
    """Writes down what it is told; stops after so many sweeps."""

    max_propagation_depth = None

    def __init__(self, stop_after=None):
        self.told, self.most, self.asked, self.stop_after = [], [], [], stop_after

    def setup(self, estimator, context):
        self.told.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.told.append(f"begin {context.task_name}")
        if context.task_name == "fit":
            self.most.append(context.max_subtasks)

    def on_fit_task_end(self, estimator, context, *, X=None, metadata=None, fitted_estimator=None):
        self.told.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.asked.append(fitted_estimator.predict(X))
        return self.stop_after is not None and self.told.count("end sweep") >= self.stop_after

    def teardown(self, estimator, context):
        self.told.append("teardown")


@pytest.mark.parametrize(
    ("model", "most"),
    few(
        [
            (ONMF(4, random_state=0), 40),
            (ONMF(4, random_state=0, max_iter=20), 20),
            (ONMF(4, solver="palm", random_state=0), None),
            (ONMF(4, solver="palm", random_state=0, n_init=2, max_iter=900), 1800),
        ],
        5,
    ),
    ids=str,
)
def test_every_sweep_is_a_task_of_the_fit(model, most, planted):
    X, _ = planted
    sweeps = []
    note = lambda event: sweeps.append((event.start, event.sweep))  # noqa: E731
    diary = Diary()
    model = clone(model).set_params(callback=note).set_callbacks(diary).fit(X)
    pairs = ["begin sweep", "end sweep"] * len(set(sweeps))
    assert diary.told == ["setup", "begin fit", *pairs, "end fit", "teardown"]
    assert diary.most == [most]
    np.testing.assert_array_equal(diary.asked[-1], model.predict(X))
    plain = clone(model).set_callbacks().set_params(callback=None).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)


def test_a_callback_may_end_the_fit(planted):
    model = ONMF(4, random_state=0).set_callbacks(Diary(stop_after=2)).fit(planted[0])
    assert model.n_iter_ == 2
    assert not model.converged_


def test_a_fit_that_fails_tears_down_and_changes_nothing(planted):
    diary = Diary()
    model = ONMF(4, random_state=0).set_callbacks(diary)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(planted[0] > 1, np.inf, planted[0]))
    assert diary.told == ["setup", "begin fit", "teardown"]
    assert not hasattr(model, "labels_")
    assert model.fit(planted[0]).converged_


@pytest.mark.filterwarnings("ignore:X has only", "ignore:ONMF did not converge")
def test_more_sweeps_than_foreseen_are_not_told():
    X = np.repeat(np.eye(5)[:3] + 0.1, 6, axis=0)
    diary = Diary()
    ONMF(7, random_state=0, max_iter=5).set_callbacks(diary).fit(X)
    assert diary.told.count("end sweep") == 5


def test_the_progress_bar_of_scikit_learn_shows_the_sweeps(planted, capsys):
    pytest.importorskip("rich")
    ONMF(4, random_state=0).set_callbacks(callback.ProgressBar()).fit(planted[0])
    assert "ONMF - fit" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:The estimator Normalizer does not support callbacks")
def test_callbacks_of_a_pipeline_and_a_search_reach_the_model(planted):
    X, _ = planted
    diary = Diary()
    pipe = make_pipeline(Normalizer(), ONMF(4, random_state=0))
    search = GridSearchCV(pipe, {"onmf__n_clusters": [3, 4]}, cv=2)
    search.set_callbacks(diary).fit(X)
    assert diary.told.count("begin sweep") == diary.told.count("end sweep") > 5
    assert diary.told.count("setup") == diary.told.count("teardown") == 1


@pytest.mark.slow
def test_without_callbacks_the_estimators_work_as_ever():
    code = (
        "import sys, sklearn.cluster, sklearn.decomposition, sklearn.pipeline\n"
        "sys.modules['sklearn.callback'] = None\n"
        "from onmf import ONMF\n"
        "print(ONMF(2, random_state=0).fit_predict([[3, 0], [2, .1], [0, 1]]).tolist(),"
        " hasattr(ONMF, 'set_callbacks'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[0, 0, 1] False", done.stderr
