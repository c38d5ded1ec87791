"""What people build on the estimators: subclasses, pages in notebooks, other ways of saving."""

import pickle
import re
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import onmf
from onmf import ONMF, Fast, choose_k
from onmf.datasets import make_rays

X, _ = make_rays(120, 12, 3, random_state=0)
DOCS = Path(__file__).parents[2] / "docs"


class Topics(ONMF):
    """A subclass with fewer parameters, and one of its own."""

    def __init__(self, n_clusters=3, language="en"):
        super().__init__(n_clusters, random_state=0)
        self.language = language


def test_a_subclass_with_fewer_parameters_does_all_that_its_class_does(tmp_path):
    base = ONMF
    model = Topics().fit(X)
    expected = base(**{name: getattr(model, name) for name in base().get_params()}).fit(X)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(clone(model).fit(X).labels_, model.labels_)
    assert pickle.loads(pickle.dumps(model)).relative_error_ == model.relative_error_
    assert model.explain(X).certainty.shape == (120,)
    assert not model._get_doc_link()  # it is no page of ours
    model.save(tmp_path / "model.onmf")
    loaded = onmf.ONMF.load(tmp_path / "model.onmf")
    assert type(loaded) is base
    assert loaded.get_params() == expected.get_params()
    np.testing.assert_array_equal(loaded.labels_, model.labels_)


def test_a_subclass_goes_through_starts_streams_choices_and_checks():
    model = Topics().fit(X)
    assert ONMF(init=model).fit(X).cluster_ids_.tolist() == [0, 1, 2]
    assert type(model.partial_fit(X)) is Topics
    assert choose_k(Topics(), X, range(2, 5)).best_k in range(2, 5)
    with pytest.raises(ValueError, match="n_clusters must be a whole number"):
        Topics(n_clusters=0).fit(X)


@pytest.mark.parametrize("estimator", [ONMF(), Fast(), onmf.PALM()])
def test_the_view_in_a_notebook_links_the_page_of_the_documentation(estimator):
    name = type(estimator).__name__
    link = estimator._get_doc_link()
    assert re.fullmatch(rf"https://.*/en/stable/api/generated/onmf\.{name}\.html", link)
    assert f'href="{link}"' in estimator._repr_html_()
    listed = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    assert re.search(rf"currentmodule:: onmf\n.*:toctree: generated.*\n   {name}\n", listed, re.S)


TRUSTED = ["onmf.estimators.kept.KeptSamples", "onmf.estimators.onmf.ONMF", "onmf.result.Stage"]


def test_the_guide_names_the_types_to_trust():
    guide = (DOCS / "guide" / "saving.md").read_text(encoding="utf-8")
    assert all(f'"{name}"' in guide for name in TRUSTED)
    model = ONMF(3, random_state=0).fit(X)
    model.predict_proba(X)
    parts = [model, *vars(model).values(), *model.history_]
    kinds = {f"{type(part).__module__}.{type(part).__name__}" for part in parts}
    assert sorted(kind for kind in kinds if kind.startswith("onmf.")) == TRUSTED


def test_skops_stores_a_model_and_asks_for_our_types_only(tmp_path):
    io = pytest.importorskip("skops.io")
    model = ONMF(3, random_state=0).fit(X)
    io.dump(model, tmp_path / "model.skops")
    asked = io.get_untrusted_types(file=tmp_path / "model.skops")
    assert asked == TRUSTED
    again = io.load(tmp_path / "model.skops", trusted=asked)
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    assert again.history_ == model.history_


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_mlflow_logs_and_loads_a_model(tmp_path):
    mlflow = pytest.importorskip("mlflow")
    model = ONMF(3, random_state=0).fit(X)
    options = {}
    if "skops_trusted_types" in signature(mlflow.sklearn.save_model).parameters:
        options["skops_trusted_types"] = TRUSTED
    mlflow.sklearn.save_model(model, tmp_path / "model", **options)
    again = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.labels_)
