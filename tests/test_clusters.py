"""`onmf.cluster`: the labels, the tables and the page; new samples go through the same steps."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

import onmf
from onmf.datasets import make_rays

TEXTS = [
    *(f"the rocket left orbit near planet {i}" for i in "abcdefgh"),
    *(f"an oven bakes dough and flour {i}" for i in "abcdefgh"),
]


def reads(n=240, kinds=3, genes=150, seed=0):
    """Counts of genes of cells, of uneven depth."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % kinds
    level = rng.gamma(0.5, 2.0, (kinds, genes)) + 0.05
    depth = np.exp(rng.uniform(np.log(0.5), np.log(8), (n, 1)))
    return rng.poisson(level[y] * depth).astype(float), y


def kinds_of_data():
    """Name, data as people have them, and the classes."""
    rays, y = make_rays(240, 30, 3, noise=0.3, random_state=0)
    yield "array", rays, y
    yield "CSR", sp.csr_array(np.where(rays < 0.5, 0, rays)), y
    wine = load_wine(as_frame=True)
    yield "units", wine.data, wine.target
    counts, y = reads()
    genes = [f"ENSG{j:011}" for j in range(counts.shape[1])]
    yield "genes", pd.DataFrame(counts, [f"cell {i}" for i in range(240)], genes), y
    words = sp.csr_array(np.floor(counts[:, :60]))
    yield "counts", words, y
    yield "texts", TEXTS, np.repeat([0, 1], 8)
    yield "a series of texts", pd.Series(TEXTS, [f"t{i}" for i in range(16)]), np.repeat([0, 1], 8)
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(sp.csr_matrix(counts))
    cells.var_names = genes
    yield "cells", cells, y


@pytest.mark.parametrize("case", [*kinds_of_data()], ids=lambda case: case[0])
def test_it_predicts_what_it_found_from_the_data_as_they_were(case, tmp_path):
    _, data, y = case
    found = onmf.cluster(data, len(np.unique(y)))
    labels = np.asarray(found.labels)
    assert adjusted_rand_score(y, labels) > 0.6
    np.testing.assert_array_equal(found.predict(data), labels)
    np.testing.assert_array_equal(found.model.predict(data), found.onmf.labels_)
    path = tmp_path / "found.onmf"
    found.save(path)
    loaded = onmf.load(path)
    np.testing.assert_array_equal(loaded.predict(data), labels)
    np.testing.assert_array_equal(loaded.model.predict(data), found.onmf.labels_)
    assert (loaded.names, loaded.notes, loaded.tops) == (found.names, found.notes, found.tops)
    assert loaded.rows == found.rows
    assert sorted(found.names) == sorted({*labels.tolist()} - {-1})
    assert len(found.samples) == len(y)
    assert found.clusters["samples"].sum() == len(y)
    assert len(found.clusters) == len(np.unique(labels))


def test_results_have_the_index_of_a_frame_and_features_are_matched_by_name():
    wine = load_wine(as_frame=True).data.set_index([[f"w{i}" for i in range(178)]])
    found = onmf.cluster(wine, 3)
    assert list(found.labels.index) == list(wine.index) == list(found.samples.index)
    turned = wine[wine.columns[::-1]].assign(more=1.0)
    np.testing.assert_array_equal(found.predict(turned), found.labels)
    with pytest.raises(ValueError, match="the new samples lack 1 of 13 features: 'hue'"):
        found.predict(wine.drop(columns="hue"))


def test_the_number_is_chosen_and_said():
    X, _ = make_rays(240, 30, 4, noise=0.3, random_state=0)
    found = onmf.cluster(X)
    assert found.choice.best_k == len(found.names) == 4
    assert onmf.cluster(X, range(2, 4)).choice.best_k <= 4
    assert onmf.cluster(X, 3).choice is None
    with pytest.raises(ValueError, match="k must be a number"):
        onmf.cluster(X, "many")


def test_steps_can_be_named_or_left_out():
    counts, _ = reads()
    frame = pd.DataFrame(counts, columns=[f"ENSG{j:011}" for j in range(counts.shape[1])])
    auto, plain = onmf.cluster(frame, 3), onmf.cluster(frame, 3, prepare=None)
    assert len(auto.notes) == len(auto.steps) == 2
    assert plain.steps == []
    named = onmf.cluster(frame, 3, prepare=["depth", "log"])
    assert [step.name for step in named.steps] == ["depth", "log"]
    with pytest.raises(ValueError, match="no step 'scrub'"):
        onmf.cluster(frame, 3, prepare=["scrub"])


def test_known_classes_and_words_give_names_and_a_start():
    X, y = make_rays(240, 30, 3, noise=0.3, random_state=0)
    classes = np.where(np.arange(240) < 30, np.array(["a", "b", "c"])[y], None)
    found = onmf.cluster(X, 3, known=classes)
    assert list(found.names.values()) == ["a", "b", "c"]
    assert adjusted_rand_score(y, found.labels) > 0.95
    topics = onmf.cluster(TEXTS, 2, known={"space": ["rocket", "orbit"], "food": ["oven", "dough"]})
    assert {*topics.names.values()} == {"space", "food"}
    assert topics.names[topics.labels[0]] == "space"


def test_an_earlier_result_keeps_its_ids():
    counts, y = reads(480)
    names = [f"ENSG{j:011}" for j in range(counts.shape[1])]
    first = onmf.cluster(pd.DataFrame(counts[:240], columns=names), 3)
    again = onmf.cluster(pd.DataFrame(counts[240:], columns=names), like=first)
    np.testing.assert_array_equal(np.sort(list(again.names)), np.sort(list(first.names)))
    place = [first.labels[(y[:240] == kind)].mode()[0] for kind in range(3)]
    assert np.mean(np.array(place)[y[240:]] == again.labels) > 0.95


def test_embeddings_are_described_by_their_texts():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(5)[:2], 8, axis=0) + 0.05 * rng.standard_normal((16, 5))
    with pytest.warns(onmf.exceptions.SignedDataWarning):
        found = onmf.cluster(X, 2, describe=TEXTS)
    assert {"rocket", "orbit", "planet"} & {*found.markers.top(3)[0], *found.markers.top(3)[1]}


def test_the_means_of_batches_are_kept_with_the_model(tmp_path):
    X, y = make_rays(240, 30, 3, noise=0.3, random_state=0)
    batch = np.array(["one", "two"])[np.arange(240) % 2]
    X = X + 30 * (batch == "two")[:, None] * np.random.default_rng(0).random(30)
    found = onmf.cluster(X, 3, batch=batch, prepare=["batches"])
    assert adjusted_rand_score(y, found.labels) > 0.95
    np.testing.assert_array_equal(found.predict(X, batch=batch), found.labels)
    found.save(tmp_path / "found.onmf")
    again = onmf.load(tmp_path / "found.onmf")
    np.testing.assert_array_equal(again.predict(X[:7], batch=batch[:7]), found.labels[:7])


def test_old_and_new_samples_are_clustered_together_and_ids_stay(tmp_path):
    counts, _ = reads(480)
    names = [f"ENSG{j:011}" for j in range(counts.shape[1])]
    frame = pd.DataFrame(counts, [f"c{i}" for i in range(480)], names)
    found = onmf.cluster(frame[:300], 3)
    both = found.update(frame[300:])
    assert list(both.labels.index) == list(frame.index)
    assert np.mean(np.asarray(both.labels[:300]) == np.asarray(found.labels)) > 0.95
    assert len(found.update(frame[300:], 4).names) == 4
    found.save(tmp_path / "found.onmf")
    later = onmf.load(tmp_path / "found.onmf").update(frame[300:])
    assert np.mean(np.asarray(later.labels) == np.asarray(both.labels[300:])) > 0.95


def test_clusters_are_renamed_merged_and_split():
    X, _ = make_rays(240, 30, 4, noise=0.3, random_state=0)
    found = onmf.cluster(X, 4).rename({0: "first"})
    assert found.names[0] == "first"
    merged = found.merge([0, 1])
    assert len(merged.names) == len(merged.clusters) == 3
    largest = int(merged.clusters["samples"].idxmax())
    assert len(merged.split(largest).names) == 4


def test_labels_of_others_and_plain_models_are_explained():
    X, y = make_rays(240, 30, 4, noise=0.3, random_state=0)
    model = onmf.ONMF(4, random_state=0).fit(X)
    assert len(onmf.Clusters.of(model, X).clusters) == 4
    others = onmf.Clusters.of(y, X)
    assert others.markers.numbers(3) == onmf.explain.groups(y, X).numbers(3)
    np.testing.assert_array_equal(others.labels, y)


@pytest.mark.parametrize("damage", ["steps", "rows", "features"])
def test_a_forged_file_is_refused_in_a_sentence(damage, tmp_path):
    from onmf.files.container import MODEL, container_bytes, read_container

    onmf.cluster(load_wine(as_frame=True).data, 3).save(tmp_path / "m.onmf")
    header, arrays = read_container(tmp_path / "m.onmf", MODEL)
    header = {name: value for name, value in header.items() if name not in ("arrays", "format")}
    if damage == "steps":
        header["steps"][0]["step"] = "os.system"
    else:
        header["found"][damage] = [3] if damage == "features" else [{"cluster": 0}]
    (tmp_path / "m.onmf").write_bytes(container_bytes(MODEL, header, arrays))
    with pytest.raises(onmf.exceptions.FormatError, match=r"m\.onmf does not hold a sound"):
        onmf.load(tmp_path / "m.onmf")


def test_batches_that_are_clusters_are_said():
    X, y = make_rays(240, 30, 3, noise=0.3, random_state=0)
    assert any("batch" in note for note in onmf.cluster(X, 3, batch=y).notes)
    assert onmf.cluster(X, 3, batch=np.arange(240) % 2).notes == []


@pytest.mark.slow
def test_the_page_and_the_file(tmp_path):
    X, y = make_rays(120, 20, 3, noise=0.3, random_state=0)
    found = onmf.cluster(X, 3)
    found.page(tmp_path / "page.html", classes=y)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    found.save(tmp_path / "found.onmf")
    np.testing.assert_array_equal(onmf.load(tmp_path / "found.onmf").predict(X), found.labels)
    assert "<table>" in found._repr_html_()


WITHOUT_PANDAS = """
import sys
for name in ("pandas", "click", "rich"):
    sys.modules[name] = None
import numpy as np
import onmf
X = np.random.default_rng(0).random((40, 6))
found = onmf.cluster(X, 2)
assert isinstance(found.labels, np.ndarray)
assert (found.predict(X) == found.labels).all()
model = onmf.ONMF(2, random_state=0).fit(X)
model.save("m.onmf")
assert (onmf.load("m.onmf").predict(X) == model.labels_).all()
"""


@pytest.mark.slow
def test_the_library_works_without_pandas_click_and_rich(tmp_path):
    subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], check=True, cwd=tmp_path)


def test_no_module_hides_a_function_of_its_name():
    """With lazy imports the second call of `onmf.cluster` would find the module."""
    for name in onmf.__all__:
        if callable(getattr(onmf, name)):
            with pytest.raises(ImportError):
                __import__(f"onmf.{name}")


def test_a_loaded_result_gets_its_samples_back_and_places_new_ones(tmp_path):
    X, _ = make_rays(240, 30, 3, noise=0.3, random_state=0)
    frame = pd.DataFrame(X, [f"s{i}" for i in range(240)], [f"f{j}" for j in range(30)])
    found = onmf.cluster(frame, 3)
    found.save(tmp_path / "found.onmf")
    again = onmf.load(tmp_path / "found.onmf").with_samples(frame)
    pd.testing.assert_frame_equal(again.samples, found.samples)
    assert again.html(time=np.arange(240) // 10, classes=X.argmax(axis=1)).count('id="time"') == 1
    placed = again.place(frame[:7])
    pd.testing.assert_frame_equal(placed[[*found.samples]], found.samples[:7])
    np.testing.assert_allclose(placed.filter(like="probability_").sum(axis=1), 1)
    with pytest.raises(ValueError, match="240 were clustered"):
        again.with_samples(frame[:9])
    assert again.rows[0].name == again.names[0]
