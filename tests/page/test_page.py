"""What the page promises: the facts, all of them, as text, and not a byte from elsewhere."""

import base64
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from cases import few
from onmf import ONMF, explain
from onmf.datasets import make_rays
from onmf.page import clustering, document, embedding, html, panels
from onmf.page.names import MAX_NAME, display_name
from onmf.page.periods import Period
from onmf.rows.terms import CELLS, DOCUMENTS
from page.standins import choice

pytestmark = pytest.mark.usefixtures("plain_pages")

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!--",
    "\"'&amp;",
    "a\u2028b\u2029c",
    "\u202eright to left",
    "שלום",
    "\ud800 alone",
    "\x00\x1b",
    "long" * 1_000,
]


@pytest.fixture(scope="module")
def data():
    """Samples on four rays, one of them zero, and a model of them."""
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 4
    X = rng.uniform(0.5, 2, (120, 1)) * rng.gamma(1.0, size=(4, 30))[labels]
    X += 0.4 * rng.random(X.shape)
    X[5] = 0
    with pytest.warns(UserWarning, match="label -1"):
        model = ONMF(4, random_state=0).fit(X)
    return model, X, labels


def facts_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def cosines(model, X):
    W = model.cluster_centers_
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    products = X @ W.T / np.linalg.norm(W, axis=1)
    return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)


@pytest.mark.parametrize("container", few([np.asarray, sp.csr_matrix, sp.csc_array]))
def test_clusters_are_described_by_their_size_features_and_samples(data, container):
    model, X, _ = data
    described = facts_of(html(model, container(X)))["clusters"]
    angles = cosines(model, X)
    first, found = angles.max(axis=1), explain.clusters(model, X)
    for k, panel in enumerate(described):
        inside = np.flatnonzero(model.labels_ == k)
        assert panel["size"] == len(inside)
        assert [entry["name"] for entry in panel["features"]] == found.markers.top(10)[k]
        for entry in panel["features"]:
            column = X[:, int(entry["name"][1:])]
            means = [column[model.labels_ == other].mean() for other in range(4)]
            np.testing.assert_allclose(entry["levels"], means, rtol=1e-2)
        sure = [i for i in inside if found.certainty[i] >= np.median(found.certainty[inside])]
        middle = sorted(found.distance[inside])[(len(inside) - 1) // 2]
        typical = sorted(sure, key=lambda i: abs(found.distance[i] - middle))[:5]
        assert [name for name, _ in panel["typical"]] == [str(i) for i in typical]
        np.testing.assert_allclose([e for _, e in panel["typical"]], first[typical] ** 2, rtol=1e-3)
        unsure = sorted(inside, key=lambda i: found.certainty[i])[:5]
        assert [name for name, *_ in panel["unsure"]] == [str(i) for i in unsure]
        shown = [float(text) for _, text, _ in panel["unsure"]]
        np.testing.assert_allclose(shown, found.certainty[unsure], atol=5e-3)
        assert len({*shown}) > 1
        other = np.argsort(-angles[unsure], axis=1)[:, 1]
        assert [third for *_, third in panel["unsure"]] == other.tolist()


def test_an_explanation_that_is_known_is_not_made_again(data, monkeypatch):
    model, X, _ = data
    known, page = explain.clusters(model, X), html(model, X)
    monkeypatch.setattr(clustering, "clusters_or_none", None)
    assert html(model, X, explanation=known) == page


def test_the_picture_of_features_has_the_level_and_share_of_each_in_every_cluster(data):
    model, X, _ = data
    dots = facts_of(html(model, X))["dots"]
    assert len(set(dots["features"])) == len(dots["features"])
    for j, feature in enumerate(dots["features"]):
        column = X[:, int(feature[1:])]
        means = np.array([column[model.labels_ == k].mean() for k in range(4)])
        expected = (means - means.min()) / np.ptp(means)
        np.testing.assert_allclose([row[j] for row in dots["levels"]], expected, atol=1e-2)
        shares = [(column[model.labels_ == k] != 0).mean() for k in range(4)]
        np.testing.assert_allclose([row[j] for row in dots["shares"]], shares, atol=1e-2)


@pytest.mark.parametrize("most", few([12, 64]))
def test_the_heat_map_has_the_weights_of_the_unit_centroids(data, most, monkeypatch):
    model, X, _ = data
    monkeypatch.setattr(panels.heat_columns, "__defaults__", (most,))
    panel = facts_of(html(model, X))["heat"]
    W = model.cluster_centers_ / np.linalg.norm(model.cluster_centers_, axis=1, keepdims=True)
    columns = [int(name[1:]) for name in panel["features"]]
    np.testing.assert_allclose(panel["weights"], W[:, columns], rtol=1e-2, atol=1e-9)
    assert panel["largest"] == W.max()
    if most == 64:
        assert columns == list(range(30))
        assert "all features" in panel["note"]
    else:  # the three heaviest of each of four clusters, each once
        assert len(columns) == len(set(columns)) <= 12
        for ray in W:
            assert set(np.argsort(-ray)[:3]) <= set(columns)
        assert "the heaviest of the 30 features" in panel["note"]


def test_what_the_page_shows_in_full_is_not_listed_again_among_the_parameters(data):
    model, X, _ = data
    run = {"table": [{"k": 2}], "reason": "because", "scales": [], "parameters": {"seed": 0}}
    assert facts_of(html(model, X, run=run))["run"] == {"parameters": {"seed": 0}}


def test_clusters_are_called_by_their_features_if_these_have_names(data):
    model, X, _ = data
    genes = [f"gene {j}" for j in range(30)]
    named, numbered = html(model, X, features=genes), html(model, X)
    expected = explain.clusters(model, X, feature_names=genes).markers.names
    assert [panel["name"] for panel in facts_of(named)["clusters"]] == expected
    assert not any(panel["name"] for panel in facts_of(numbered)["clusters"])


@pytest.mark.parametrize("kind", few([Path, str]))
def test_the_page_of_a_file_is_that_of_its_array(data, kind, tmp_path):
    model, X, _ = data
    np.save(tmp_path / "x.npy", X)
    page, same = html(model, kind(tmp_path / "x.npy")), html(model, X)
    assert facts_of(page)["clusters"] == facts_of(same)["clusters"]


def test_a_single_cluster_is_described_by_its_heaviest_features():
    X, _ = make_rays(30, 8, 3, random_state=0)
    model = ONMF(1, random_state=0).fit(X)
    facts = facts_of(html(model, X))
    assert facts["dots"] is None
    heavy = np.argsort(-model.cluster_centers_[0], kind="stable")
    assert [entry["name"] for entry in facts["clusters"][0]["features"]] == [f"x{j}" for j in heavy]


def test_every_sample_is_on_the_map_with_its_cluster(data):
    model, X, _ = data
    names = [f"sample {i}" for i in range(120)]
    points = facts_of(html(model, X, samples=names))["map"]
    assert sorted(points["sample"]) == sorted(names)
    for name, cluster in zip(points["sample"], points["cluster"], strict=True):
        assert cluster == model.labels_[int(name.split()[1])]
    assert min(points["x"]) == min(points["y"]) == 0
    assert max(points["x"] + points["y"]) == panels.MAP_GRID


def test_known_classes_give_scores_and_a_confusion_table(data):
    model, X, y = data
    classes = np.array(["ash", "beech", "<b>cedar", "elm"])[y]
    truth = facts_of(html(model, X, truth=classes))["truth"]
    labels = model.labels_
    assert truth["scores"]["ARI"] == pytest.approx(adjusted_rand_score(classes, labels), rel=1e-3)
    nmi = normalized_mutual_info_score(classes, labels)
    assert truth["scores"]["NMI"] == pytest.approx(nmi, rel=1e-3)
    for name, row, match in zip(truth["classes"], truth["counts"], truth["match"], strict=True):
        for k in (-1, 0, 1, 2, 3):
            assert row[k] == np.sum((classes == name) & (labels == k))
        assert match == np.argmax(row[:-1])  # clear enough here
    assert truth["match"] == [0, 1, 2, 3]


@pytest.mark.parametrize("k", [3, 7])
def test_the_diagonal_of_the_confusion_table_is_the_accuracy(k):
    rng = np.random.default_rng(k)
    truth, labels = rng.integers(0, 5, 200), rng.integers(-1, k, 200)
    table = panels.class_agreement(truth, labels, k)
    counts = np.array(table["counts"])
    assert np.trace(counts[:, :-1]) / 200 == pytest.approx(table["scores"]["ACC"], rel=1e-3)
    assert [m for m in table["match"] if m is not None] == list(range(min(k, 5)))
    for i, name in enumerate(table["classes"]):
        for j, cluster in enumerate([*table["clusters"], -1]):
            assert counts[i, j] == np.sum((truth == int(name)) & (labels == cluster))


def test_convergence_shows_the_history_to_its_end(data):
    model, X, _ = data
    curves = facts_of(html(model, X))["convergence"]
    assert curves[0]["title"] == "Relative error"
    assert curves[0]["x"][-1] == len(model.history_)
    assert curves[0]["y"][-1] == pytest.approx(model.relative_error_, rel=1e-3)
    assert len(panels.convergence_panel(model.history_ * 50)[0]["x"]) <= panels.MAX_STAGES + 1
    assert panels.convergence_panel([]) == []


@pytest.mark.parametrize("rows", few([lambda table: [row._asdict() for row in table], list]))
def test_a_choice_of_k_gives_its_curves_and_reason(data, rows):
    model, X, _ = data
    chosen = choice()
    chosen.table = rows(chosen.table)
    panel = facts_of(html(model, X, choice=chosen))["choice"]
    assert panel["best"] == 3
    assert panel["answer"] == "3 clusters: <b>because</b>."
    assert "the K with the largest is taken" in panel["reason"]
    assert panel["rows"][1] == ["3", "1", "0.9", "0.333", "0.9", "0.8", "0.5"]
    assert panel["rows"][3][6] == ""
    curves = {curve["title"]: curve for curve in panel["curves"]}
    found = curves["Overlap of clusters, J"]
    assert found["x"] == [2, 3, 4, 5]
    assert found["y"] == [0.5, 0.3333, 0.25, 0.2]
    assert curves["Density at borders, relative to inside, V"]["y"] == [0.5, 0.5, 0.5, None]


def test_names_are_carried_as_text(data):
    model, X, _ = data
    samples = HOSTILE + [f"s{i}" for i in range(110)]
    features = HOSTILE + [f"f{j}" for j in range(20)]
    record = {"input": {"file": HOSTILE[0]}, HOSTILE[1]: HOSTILE[2], "n": np.float64(np.inf)}
    page = html(model, X, samples=samples, features=features, truth=samples, run=record)
    assert page.count("<script") == page.count("</script") == 3
    assert "<img" not in page
    assert "<!--" not in page
    page.encode("utf-8")
    carried = facts_of(page)
    assert set(carried["map"]["sample"]) == {display_name(name) for name in samples}
    assert carried["run"][HOSTILE[1]] == HOSTILE[2]
    assert carried["title"] == HOSTILE[0]
    assert "<title>&lt;script&gt;" in page


def test_a_long_name_keeps_its_two_ends():
    text = display_name("begin" + "-" * 500 + "end")
    assert len(text) == MAX_NAME
    assert text.startswith("begin")
    assert text.endswith("end")
    assert display_name(12) == "12"


def test_the_page_allows_only_its_own_script_and_style_and_no_network(data):
    model, X, _ = data
    page = html(model, X)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page).group(1)
    assert policy.startswith("default-src 'none'; ")
    for kind, tag in (("script", 'script type="module"'), ("style", "style")):
        body = re.search(f"<{tag}>(.*?)</{kind}>", page, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    elsewhere = re.findall(r"""(?:src|href|url|import)\s*[=(]\s*["']?(?!#)[\w/]+[:/]""", page)
    assert elsewhere == []


def test_a_document_carries_what_it_is_given_and_no_script_unless_asked():
    page = document("1 < 2", "<p>text</p>", header="<nav></nav>", css="p { color: red }")
    assert "<title>1 &lt; 2</title>" in page
    assert page.index("<nav></nav>") < page.index("<main>") < page.index("<p>text</p>")
    assert "<script" not in page
    assert "script-src 'none'" in page
    assert "p { color: red }</style>" in page
    assert '<script type="module">run()</script>' in document("", "", script="run()")


@pytest.mark.slow
def test_ten_thousand_samples_with_the_longest_names_stay_under_five_megabytes(monkeypatch):
    monkeypatch.setattr(embedding, "MAX_TSNE_SAMPLES", 100)
    monkeypatch.setattr(embedding, "LANDMARKS", 100)
    X, _ = make_rays(10_000, 20, 4, random_state=0)
    model = ONMF(4, random_state=0).fit(X)
    page = html(model, X, samples=["<" * 500] * 10_000, features=["🧬" * 500] * 20)
    assert len(facts_of(page)["map"]["x"]) == 10_000
    assert len(page.encode()) < 5e6


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"X": np.ones((7, 30))}, "X has 7 samples but the model was fitted to 120"),
        ({"samples": ["a"]}, "1 names for 120 samples"),
        ({"features": ["a", "b"]}, "2 names for 30 features"),
        ({"truth": [0, 1, 2]}, "3 known classes for 120 samples"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(data, wrong, sentence):
    model, X, _ = data
    with pytest.raises(ValueError, match=sentence):
        html(model, **({"X": X} | wrong))


def test_a_frame_names_samples_and_features():
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).random((20, 3))
    frame = pd.DataFrame(
        X, columns=["tp53", "myc", "kras"], index=[f"tumour {i}" for i in range(20)]
    )
    carried = facts_of(html(ONMF(2, random_state=0).fit(frame), frame))
    assert set(carried["map"]["sample"]) == set(frame.index)
    assert {entry["name"] for entry in carried["clusters"][0]["features"]} <= set(frame.columns)


def test_without_a_record_parameters_and_versions_are_told(data):
    model, X, _ = data
    record = facts_of(html(model, X))["run"]
    assert record["parameters"]["n_clusters"] == 4
    assert record["parameters"]["loss"] == "frobenius"
    assert record["versions"]["numpy"] == np.__version__


def test_the_opening_sentence_is_about_the_data_and_that_of_the_end_about_the_fit(data):
    model, X, _ = data
    explained, facts = 100 * (1 - model.relative_error_), facts_of(html(model, X))
    assert facts["sentence"] == (
        "120 samples with 30 features, in 4 clusters. 1 sample fits no cluster."
    )
    assert facts["fit"] == (
        "Clustered by ONMF (squared error, seed 0). The centroids explain "
        f"{explained:.1f} % of the data ({model.n_iter_} passes)."
    )
    with pytest.warns(ConvergenceWarning):
        alone = ONMF(1, loss="kl", max_iter=3).fit(X[:3])
    facts = facts_of(html(alone, X[:3]))
    assert facts["sentence"] == "3 samples with 30 features, in 1 cluster."
    assert "The centroid explains 0.0 % of the data (3 passes, stopped by a limit)." in facts["fit"]


SECTION = re.compile(r'<section id="(technical|heat|convergence|run)".*', re.DOTALL)
CODE = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)


@pytest.mark.parametrize("terms", [DOCUMENTS, CELLS])
def test_the_page_speaks_the_words_of_the_reader(data, terms):
    """Outside the technical end neither its HTML nor its facts have other words."""
    model, X, _ = data
    periods = [Period(str(t), {0: 3, 1: 2}, {0: ["a"]}) for t in (1, 2)]
    reason = SimpleNamespace(best_k=4, reason="4 clusters: other samples agree", table=[])
    more = {"periods": periods, "choice": reason}
    page = html(model, X, terms=terms, features=[f"g{j}" for j in range(30)], **more)
    facts = facts_of(page)
    technical = ("fit", "fit_figures", "heat", "convergence", "run", "words")
    told = json.dumps({key: facts[key] for key in facts if key not in technical})
    told = re.sub(r'"\w+":', "", told)  # keys are ours
    shown = re.sub("<[^>]*>", " ", SECTION.sub("", CODE.sub("", page)))
    strange = r"(?i)\b(samples?|features?|sweeps?|rays?|smooth penalty|centroids?)\b"
    assert re.findall(strange, told + shown) == []
    assert f"All {terms.samples}" in shown
    if terms is DOCUMENTS:
        assert re.findall(r"(?i)\b(clusters?)\b", told + shown) == []
        assert facts["sentence"].startswith("120 documents with 30 words, in 4 topics.")


def test_topics_come_first_and_the_choice_of_k_after_them(data):
    model, X, _ = data
    order = re.findall('<section id="([a-z]+)"', html(model, X))
    assert order == ["clusters", "list", "map", "dots", "truth", "choice",
                     "technical", "heat", "convergence", "run"]  # fmt: skip
