"""Mergers and splits: which rays belong to which cluster, by hand, and every sample's way."""

import numpy as np
import pytest

from onmf.losses.edits import Edits, flat_edits
from onmf.losses.ray_alternation import KernelRays
from onmf.rows.sweep import Block
from onmf.search.row_problems import unit

# Rays 0 to 2 of the fit, with ids 4, 6 and 9; 9 was split into 9 and 10, 4 and 6 merged to 4.
RAYS = np.vstack([np.eye(4)[:3], unit(np.array([[0, 0, 1.0, 0], [0, 0, 1, 1]]))])
EDITS = Edits(RAYS, (4, 6, 9), (7, 5, 8, 6, 2), (((9,), (9, 10)), ((4, 6), (4,))))


def samples():
    rng = np.random.default_rng(0)
    return unit(np.vstack([RAYS[[0, 1, 3, 4]]] * 5) + 0.05 * rng.random((20, 4))) * 3


def assigned(X, edits=EDITS):
    return edits.assignment(KernelRays.of), Block(X, np.ones((len(X), 1)))


def test_the_rays_of_each_cluster():
    assert EDITS.rays_of_clusters() == {4: [0, 1], 9: [3], 10: [4]}
    np.testing.assert_array_equal(EDITS.place(), [0, 0, -1, 1, 2])  # ray 2 was split


def test_flat_rays_are_equals_and_mergers_stay():
    flat = EDITS.flat()
    assert flat.ids == (4, 6, 9, 10)
    np.testing.assert_array_equal(flat.rays, RAYS[[0, 1, 3, 4]])
    assert flat.sizes == (7, 5, 6, 2)
    assert flat.steps == (((4, 6), (4,)),)
    assert flat.rays_of_clusters() == {4: [0, 1], 9: [2], 10: [3]}


def test_a_model_keeps_mergers_and_forgets_splits():
    class Model:
        pass

    model = Model()
    assert flat_edits(model) is None
    vars(model).update(EDITS.as_attributes())
    flat = flat_edits(model)
    assert flat.steps == (((4, 6), (4,)),)
    assert Edits.of(model).ids == flat.ids
    vars(model).update(EDITS._replace(steps=EDITS.steps[:1]).as_attributes())
    assert flat_edits(model) is None  # nothing was merged
    assert Edits.of(model) is None


def test_every_sample_goes_to_the_nearest_ray_of_the_fit_and_then_to_that_of_its_part():
    X = samples()
    assignment, block = assigned(X)
    code, sums = assignment(block, None)
    labels, multiples, explained = [], [], 0.0
    for x in X:
        ray = int((RAYS[:3] @ x).argmax())
        if ray == 2:
            ray = 3 + int((RAYS[3:] @ x).argmax())
        labels.append([0, 0, None, 1, 2][ray])
        multiples.append(RAYS[ray] @ x)
        explained += (RAYS[ray] @ x) ** 2
    np.testing.assert_array_equal(code.labels, labels)
    np.testing.assert_allclose(code.multiples, multiples)
    assert np.sum(sums.explained) == pytest.approx(explained)
    np.testing.assert_allclose(assignment.memberships(code).sum(axis=1), multiples)
    np.testing.assert_array_equal(assignment.memberships(code).argmax(axis=1), labels)
    np.testing.assert_array_equal(assignment.scores(block).argmax(axis=1), labels)
    total, score = assignment.total_and_score(None, code)
    np.testing.assert_allclose(total, np.square(X).sum(axis=1))
    np.testing.assert_allclose(score, (X @ RAYS[:3].T).max(axis=1))


def test_scores_of_parts_are_those_of_their_cluster_less_what_the_best_part_has_more():
    X = samples()
    assignment, block = assigned(X)
    fit, parts = (KernelRays.of(some).scores(block) for some in (RAYS[:3], RAYS[3:]))
    found = assignment.scores(block)
    np.testing.assert_allclose(found[:, 0], fit[:, :2].max(axis=1))
    lower = fit[:, [2]] - (parts.max(axis=1, keepdims=True) - parts)
    np.testing.assert_allclose(found[:, 1:], np.maximum(lower, np.minimum(fit[:, [2]], 0)))


def test_the_margin_is_that_of_the_scores_and_the_distance_that_of_the_ray():
    X = samples()
    assignment, block = assigned(X)
    near, _ = assignment.nearness(block, None)
    best = np.sort(np.maximum(assignment.scores(block), 0), axis=1)
    np.testing.assert_allclose(near.margin, best[:, -1] - best[:, -2])
    code, _ = assignment(block, None)
    cosine = np.minimum(code.multiples / np.linalg.norm(X, axis=1), 1)
    np.testing.assert_allclose(near.distance, np.sqrt(1 - cosine**2), atol=1e-7)
    one = Edits(RAYS[:2], (0, 1), (1, 1), (((0, 1), (0,)),))
    alone, block = assigned(X, one)
    near, _ = alone.nearness(block, None)
    np.testing.assert_allclose(near.margin, np.maximum(alone.scores(block), 0)[:, 0])


def test_a_sample_without_a_cluster_has_none_after_an_edit():
    X = np.vstack([samples(), np.zeros((2, 4))])
    code, _ = assigned(X)[0](assigned(X)[1], None)
    np.testing.assert_array_equal(code.labels[-2:], -1)
    np.testing.assert_array_equal(code.multiples[-2:], 0)


def test_no_samples_give_sums_of_nothing():
    assignment, block = assigned(np.empty((0, 4)))
    code, sums = assignment(block, None)
    assert len(code.labels) == 0
    assert np.sum(sums.explained) == 0


@pytest.mark.parametrize("forged", [
    EDITS._replace(ids=(4, 6, 8)),
    EDITS._replace(sizes=(7, 5, 8, 6)),
    EDITS._replace(rays=RAYS[:4]),
    EDITS._replace(rays=RAYS[:, :3]),
    EDITS._replace(rays=np.where(RAYS > 0, RAYS, np.nan)),
    EDITS._replace(rays=np.ones((5, 4), int)),
    EDITS._replace(steps=(((3,), (9, 10)),)),
    EDITS._replace(steps=None),
])  # fmt: skip
def test_steps_that_do_not_fit_the_clusters_are_refused(forged):
    EDITS.check((4, 9, 10), (3, 4))
    with pytest.raises(ValueError, match="mergers and splits"):
        forged.check((4, 9, 10), (3, 4))
    with pytest.raises(ValueError, match="mergers and splits"):
        EDITS.check((4, 9, 11), (3, 4))
