"""`onmf cluster --tree`: tree.json, and the levels on the page, through later commands."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onmf import ONMF, build_tree, load
from onmf.exceptions import FormatError
from onmf.files.checksums import checksum
from onmf.tree import Tree

pytest.importorskip("click")
pytest.importorskip("rich")

from onmf_app import main

BOLD = "<b>bold</b>"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Two groups of two clusters, in a file; the names of the features are HTML."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rays = [np.eye(12)[g * 6 : g * 6 + 3].sum(0) + np.eye(12)[g * 6 + 3 + p] for g in (0, 1)
            for p in (0, 1)]  # fmt: skip
    X = np.abs(np.repeat(rays, 60, axis=0) + 0.05 * rng.normal(size=(240, 12)))
    table = pd.DataFrame(X, columns=[f"{BOLD}{j}" for j in range(12)])
    table.to_csv("x.csv", index_label="sample")


def run(*words):
    assert main([str(word) for word in words]) == 0


def stored():
    record = json.loads(Path("out/run.json").read_text())
    assert record["files"]["tree.json"] == checksum(Path("out/tree.json"))
    return Tree.from_dict(json.loads(Path("out/tree.json").read_text()))


def panel():
    page = Path("out/report.html").read_text()
    return page[page.index('<section id="levels"') :].partition("</section>")[0]


@pytest.mark.slow
def test_the_levels_nest_and_are_on_the_page(here, capsys):
    run("cluster", "x.csv", "-k", 4, "-o", "out", "--tree")
    assert "run.json, tree.json to out" in capsys.readouterr().out
    tree = stored()
    assert tree.depth == 2
    sizes = [len(np.unique(tree.cut(level))) for level in range(3)]
    assert sizes == [1, 2, 4]
    for level in (0, 1):
        pairs = {*zip(tree.cut(level + 1).tolist(), tree.cut(level).tolist(), strict=True)}
        assert len(pairs) == sizes[level + 1]  # each in one of the coarser level
    clusters = pd.read_csv("out/labels.csv")["cluster"].tolist()
    assert [tree.nodes[leaf].cluster for leaf in tree.leaves] == clusters
    shown = panel()
    assert "<b>" not in shown
    assert "&lt;b&gt;bold" in shown
    assert shown.count("<details") == 3
    assert shown.count("<details open>") == 1
    assert "All 240 samples" in shown
    assert "Node 1 (120 samples)" in shown
    kept = load("out/model.onmf").tree_
    assert kept.nodes == tree.nodes
    np.testing.assert_array_equal(kept.leaves, tree.leaves)

    run("edit", "out", "--rename", "0=<i>First</i>")
    assert (
        'Cluster 0 &lt;i&gt;First&lt;/i&gt; (<a href="#list" data-cluster="0">60 samples</a>)'
        in panel()
    )

    run("edit", "out", "--merge", "0,1")
    merged = stored()
    known = [node.cluster for node in merged.nodes if node.cluster is not None]
    assert sorted(known) == [0, 2, 3]
    assert "Cluster 1" not in panel()

    changed = json.loads(Path("out/tree.json").read_text())
    Path("out/tree.json").write_text(json.dumps(changed | {"leaves": []}))
    assert main(["edit", "out", "--rename", "0=x"]) == 2
    assert "tree.json is not the tree of this run: it has changed" in capsys.readouterr().err

    run("cluster", "x.csv", "-k", 4, "-o", "out", "--force")
    assert not Path("out/tree.json").exists()
    assert 'id="levels"' not in Path("out/report.html").read_text()


def test_an_existing_tree_is_refused(here, capsys):
    Path("out").mkdir()
    Path("out/tree.json").write_text("precious")
    assert main(["cluster", "x.csv", "-k", "4", "-o", "out"]) == 2
    assert "out already has tree.json" in capsys.readouterr().err
    assert Path("out/tree.json").read_text() == "precious"


def test_the_model_has_its_tree_until_its_clusters_change(here):
    X = pd.read_csv("x.csv", index_col=0).to_numpy()
    model = ONMF(2, random_state=0).fit(X)
    tree = build_tree(model, X, max_depth=1)
    assert model.tree_ is tree
    again = Tree.from_dict(json.loads(json.dumps(tree.to_dict())))
    assert again.nodes == tree.nodes
    assert np.array_equal(again.leaves, tree.leaves)
    model.save("m.onmf")
    loaded = load("m.onmf")
    assert loaded.tree_.nodes == tree.nodes
    assert loaded.tree_.merges == tree.merges
    np.testing.assert_array_equal(loaded.tree_.cut(1), tree.cut(1))
    assert not hasattr(loaded.partial_fit(X), "tree_")
    loaded.save("n.onmf")
    assert not hasattr(load("n.onmf"), "tree_")
    cluster = int(model.cluster_ids_[0])
    assert not hasattr(load("m.onmf").split(cluster, X), "tree_")
    model.merge([0, 1])
    assert not hasattr(model, "tree_")
    build_tree(model, X, max_depth=1)
    assert not hasattr(model.fit(X), "tree_")


def test_a_tree_of_other_samples_is_refused(here):
    X = pd.read_csv("x.csv", index_col=0).to_numpy()
    model = ONMF(2, random_state=0).fit(X)
    tree = build_tree(model, X, max_depth=1)
    for forged, said in (
        (replace(tree, leaves=tree.leaves[1:]), "its tree is of other samples"),
        (replace(tree, leaves=tree.leaves + 9), "a sample has an unknown node"),
        (replace(tree, merges=((0, 5),)), "merged in no possible order"),
        (replace(tree, nodes=[tree.nodes[0]._replace(size="3")]), "a value of the wrong kind"),
    ):
        model.tree_ = forged
        model.save("m.onmf")
        with pytest.raises(FormatError, match=said):
            load("m.onmf")


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values["nodes"][0].update(parent=0),
        lambda values: values["nodes"][1].update(parent=2),
        lambda values: values["nodes"][1].update(id=5),
        lambda values: values.update(nodes=[]),
        lambda values: values["leaves"].append(3),
        lambda values: values["leaves"].append(-2),
    ],
)
def test_what_is_no_tree_is_refused(change):
    node = {"level": 1, "size": 1, "cluster": None, "words": []}
    nodes = [node | {"id": i, "parent": 0 if i else None} for i in range(3)]
    values = {"nodes": nodes, "leaves": [1, 2, -1]}
    Tree.from_dict(values)
    change(values)
    with pytest.raises(ValueError, match="node"):
        Tree.from_dict(values)
