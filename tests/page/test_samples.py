"""The list of all samples that a page carries."""

import gzip
import json
import re
from base64 import b64decode

import numpy as np
import pytest

from onmf import ONMF
from onmf.page import html, samples
from onmf.page.samples import SampleTimes, text_length
from onmf.rows.terms import DOCUMENTS

pytestmark = pytest.mark.usefixtures("plain_pages")

TEXTS = [f"text {i} </script><b>{'x' * i}</b>\n=1+1 \ud800" for i in range(60)]


def carried(page):
    packed = re.search(r'id="samples">(.*?)</script>', page, re.DOTALL).group(1)
    return json.loads(gzip.decompress(b64decode(packed)))


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    X = rng.gamma(1.0, size=(3, 20))[np.arange(60) % 3] + 0.1 * rng.random((60, 20))
    return ONMF(3, random_state=0).fit(X), X


def test_every_sample_is_there_with_its_text_cluster_and_numbers(fitted):
    model, X = fitted
    found = model.explain(X)
    times = SampleTimes(["May", "June"], np.arange(60) % 2)
    truth = np.array(["a", "b", "c"])[np.arange(60) % 3]
    names = [f"doc {i}" for i in range(60)]
    page = html(model, X, explanation=found, texts=TEXTS, samples=names, times=times, truth=truth)
    own = carried(page)
    assert own["name"] == names
    assert own["text"] == [text.replace("\ud800", "?") for text in TEXTS]
    assert own["cluster"] == model.labels_.tolist()
    assert own["class"] == truth.tolist()
    assert own["period"] == times.numbers.tolist()
    np.testing.assert_allclose(own["numbers"]["certainty"]["values"], found.certainty, atol=6e-4)
    np.testing.assert_allclose(own["numbers"]["distance"]["values"], found.distance, atol=6e-4)
    assert own["note"] == ""
    assert "<b>" not in page


def test_a_large_list_is_a_choice_of_every_cluster_and_says_so(fitted, monkeypatch):
    model, X = fitted
    monkeypatch.setattr(samples, "MAX_ROWS", 33)
    monkeypatch.setattr(samples, "MAX_CHARACTERS", 700)
    own = carried(html(model, X, texts=TEXTS, terms=DOCUMENTS))
    assert len(own["name"]) == len(own["text"]) == 33
    assert {own["cluster"].count(k) for k in range(3)} == {11}
    assert sum(map(len, own["text"])) <= 700
    assert own["note"].startswith("33 of the 60 documents, chosen at random in proportion to the")
    assert re.search(r"Texts are shown up to \d+ characters\.$", own["note"])


@pytest.mark.parametrize("seed", range(3))
def test_texts_are_cut_at_the_largest_length_that_fits(monkeypatch, seed):
    lengths = np.random.default_rng(seed).integers(0, 90, 40)
    monkeypatch.setattr(samples, "MAX_CHARACTERS", most := 1200)
    assert lengths.sum() > most
    total = [int(np.minimum(lengths, length).sum()) for length in range(100)]
    assert text_length(lengths.tolist()) == max(n for n in range(100) if total[n] <= most)
    monkeypatch.setattr(samples, "MAX_CHARACTERS", int(lengths.sum()))
    assert text_length(lengths.tolist()) is None


def test_a_wrong_number_of_texts_is_refused(fitted):
    with pytest.raises(ValueError, match="59 texts for 60 samples: give one for each"):
        html(*fitted, texts=TEXTS[1:])
