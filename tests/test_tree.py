"""`build_tree`: levels that are nested, and each with evidence."""

import json

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.preprocessing import normalize

import onmf
from onmf import ONMF
from onmf.metrics import adjusted_rand_score


def nested(seed=0, sizes=(3, 3, 2), n=60):
    """Groups of rays: rays of one group share half of their direction."""
    rng = np.random.default_rng(seed)
    group, fine, X = [], [], []
    for g, parts in enumerate(sizes):
        common = rng.gamma(0.3, size=40)
        for _ in range(parts):
            ray = common / np.linalg.norm(common) + 0.6 * (own := rng.gamma(0.3, size=40)) / (
                np.linalg.norm(own)
            )
            X.append(np.abs(rng.gamma(5, size=(n, 1)) * ray + 0.02 * rng.normal(size=(n, 40))))
            group += [g] * n
            fine += [len(X)] * n
    return np.vstack(X), np.array(group), np.array(fine)


@pytest.fixture(scope="module")
def data():
    return nested()


@pytest.fixture(scope="module")
def tree(data):
    return onmf.build_tree(ONMF(8, random_state=0).fit(data[0]), data[0])


def test_groups_above_and_clusters_below(data, tree):
    _, group, fine = data
    assert tree.depth == 2
    assert adjusted_rand_score(group, tree.cut(1)) > 0.95
    assert adjusted_rand_score(fine, tree.cut(2)) > 0.95
    assert set(tree.cut(0).tolist()) == {0}


@pytest.mark.slow
def test_parts_are_found_below_a_coarse_fit(data):
    X, group, fine = data
    below = onmf.build_tree(ONMF(3, random_state=0).fit(X), X)
    assert adjusted_rand_score(group, below.cut(1)) > 0.95
    assert adjusted_rand_score(fine, below.cut(below.depth)) > 0.9


def test_the_nodes_are_a_tree(tree):
    assert [node.id for node in tree.nodes] == list(range(len(tree.nodes)))
    for node in tree.nodes[1:]:
        assert tree.nodes[node.parent].level < node.level
        inside = tree.cut(node.level) == node.id
        assert inside.sum() == node.size
        assert {*tree.cut(node.level - 1)[inside].tolist()} == {node.parent}
    for node in tree.nodes:
        if parts := tree.children(node.id):
            assert sum(part.size for part in parts) == node.size
    assert sorted(node.cluster for node in tree.nodes if node.cluster is not None) == [*range(8)]
    with pytest.raises(ValueError, match="level must be from 0 to 2, not 3"):
        tree.cut(3)


def test_it_can_be_read_and_stored(data, tree):
    assert json.loads(json.dumps(tree.to_dict()))["nodes"][0]["size"] == len(data[0])
    assert len(str(tree).splitlines()) == len(tree.nodes)
    names = [f"<b>{j}</b>" for j in range(40)]
    named = onmf.build_tree(ONMF(8, random_state=0).fit(data[0]), data[0], feature_names=names)
    shown = named._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
    assert shown.count("<details") == sum(bool(named.children(n.id)) for n in named.nodes)


def test_clusters_are_put_together_to_any_number_of_groups(data, tree):
    X = data[0]
    model = ONMF(8, random_state=0).fit(X)
    links = linkage(normalize(model.cluster_centers_), "ward")
    for n in range(1, 9):
        expected = cut_tree(links, n)[model.labels_, 0]
        assert adjusted_rand_score(expected, tree.groups(n)) == 1
        assert len(np.unique(tree.groups(n))) == n
    assert adjusted_rand_score(tree.groups(3), tree.cut(1)) == 1
    assert all(node.evidence for node in tree.nodes)
    for wrong in (0, 9):
        with pytest.raises(ValueError, match="n must be from 1 to the 8 clusters"):
            tree.groups(wrong)


def test_many_clusters_are_put_together_without_evidence_and_say_so():
    X = np.random.default_rng(0).random((300, 15))
    model = ONMF(10, random_state=0).fit(X)
    tree = onmf.build_tree(model, X)
    assert tree.depth == 2
    assert {node.evidence for node in tree.nodes if node.level == 1} == {False}
    assert all(node.evidence for node in tree.nodes if node.level != 1)
    heights = linkage(normalize(model.cluster_centers_), "ward")[:, 2]
    gaps = {n: heights[10 - n] - heights[9 - n] for n in range(3, 6)}
    assert len(tree.children(0)) == max(gaps, key=gaps.get)


def test_without_evidence_there_is_one_level():
    X = np.random.default_rng(0).random((200, 15))
    X[7] = 0
    with pytest.warns(onmf.exceptions.UnassignedSampleWarning):
        model = ONMF(2, random_state=0).fit(X)
    flat = onmf.build_tree(model, X)
    assert flat.depth == 1
    assert flat.cut(1)[7] == -1
    with pytest.raises(ValueError, match="100 samples but the model was fitted to 200"):
        onmf.build_tree(model, X[:100])
