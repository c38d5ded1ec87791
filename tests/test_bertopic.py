"""The recipe of docs/bertopic.md runs, against BERTopic's protocol or, if installed, itself."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from onmf import ONMF
from onmf.exceptions import SignedDataWarning

RECIPE = Path(__file__).parents[1] / "docs" / "bertopic.md"
WORDS = {
    60: "goal penalty match team goalkeeper league season striker referee score",
    45: "orbit rocket launch satellite moon astronaut shuttle nasa mission planet",
    30: "recipe oven butter flour sugar sauce garlic pepper bake kitchen",
}


class StandIn:
    """The order of calls in BERTopic's fit_transform and transform, and nothing else of it."""

    def __init__(self, embedding_model, umap_model, hdbscan_model):
        self.embedding_model, self.umap_model = embedding_model, umap_model
        self.hdbscan_model = hdbscan_model

    def fit_transform(self, documents):
        vectors = self.embedding_model.fit_transform(documents)
        reduced = self.umap_model.fit(vectors, y=None).transform(vectors)
        self.hdbscan_model.fit(reduced, y=None)
        return list(self.hdbscan_model.labels_), None

    def transform(self, documents):
        vectors = self.umap_model.transform(self.embedding_model.transform(documents))
        return list(self.hdbscan_model.predict(vectors)), None


class AsTheyAre:
    """bertopic.dimensionality.BaseDimensionalityReduction."""

    def fit(self, X=None, y=None):
        return self

    def transform(self, X):
        return X


@pytest.fixture(params=["stand-in", "BERTopic"])
def bertopic(request, monkeypatch):
    if request.param == "BERTopic":
        if importlib.util.find_spec("bertopic") is None:
            pytest.skip("BERTopic is not installed")
        return
    package, part = ModuleType("bertopic"), ModuleType("bertopic.dimensionality")
    package.BERTopic, part.BaseDimensionalityReduction = StandIn, AsTheyAre
    monkeypatch.setitem(sys.modules, "bertopic", package)
    monkeypatch.setitem(sys.modules, "bertopic.dimensionality", part)


@pytest.fixture
def documents():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(words.split(), 12)) for n, words in WORDS.items() for _ in range(n)]


@pytest.mark.filterwarnings("ignore")  # those of BERTopic and of what it imports
@pytest.mark.usefixtures("bertopic")
@pytest.mark.parametrize("block", range(2), ids=["tf-idf", "embeddings"])
def test_the_recipe_finds_the_topics(documents, block):
    code = re.findall(r"```python\n(.*?)```", RECIPE.read_text(encoding="utf-8"), re.DOTALL)[block]
    signed = make_pipeline(TfidfVectorizer(), TruncatedSVD(8, random_state=0))
    scope = {"documents": documents, "embedding_model": signed}
    exec(compile(code, str(RECIPE), "exec"), scope)
    assert scope["topics"] == np.repeat([0, 1, 2], list(WORDS)).tolist()
    assert list(scope["topics"]) == scope["topic_model"].hdbscan_model.labels_.tolist()
    if block == 0:
        assert scope["new_topics"] == [0]


def test_signed_vectors_are_clustered_with_a_warning(documents):
    vectors = make_pipeline(TfidfVectorizer(), TruncatedSVD(8, random_state=0)).fit_transform(
        documents
    )
    with pytest.warns(SignedDataWarning):
        labels = ONMF(3, random_state=0).fit(vectors).labels_
    assert len(np.unique(labels)) == 3
    with pytest.raises(ValueError, match="Negative values in data"):
        ONMF(3, loss="kl").fit(vectors)
