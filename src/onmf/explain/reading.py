"""All that an explanation needs of X, in one read of it.

For every sample its margin and its distance, for some its labels by halves of the features; for
every cluster, of the model and of the first two halves, the sums of `onmf.explain.sums`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple, cast

import numpy as np

from onmf.explain.halves import EXPLAIN_STREAM, HalfLabels, matching_numbers, split_fits
from onmf.explain.noise import FEW_FEATURES, noisy_agreement
from onmf.explain.separation import Separation, look_at_halves
from onmf.explain.sums import GroupSums, PowerSums, SumPowers
from onmf.losses import loss_of
from onmf.result import FittedModel
from onmf.rows import Check, Placement, PlacementRequest, place
from onmf.rows.assign import Assignment, ClustersOfRays, nearness
from onmf.rows.scale import rescale_to_safe_range, safe_scale
from onmf.rows.sweep import Array, Block, Data, Matrix
from onmf.rows.threads import single_threaded_blas

MOST_LOOKED_AT = 100_000  # samples by halves: certainties then have errors below 1 %


class Reading(NamedTuple):
    """What was read of X.

    scale : what X was multiplied by.
    moved : how many samples are nearer to another centroid than to their own.
    margin, distance : of each sample.
    whole : sums by the labels of the model.
    tests : for each half of the first split its features, and their sums by the other half.
    tried, agree : some samples, and the share of the looks at each that agreed on its cluster.
    found_again, separation : of the clusters, by halves of the samples.
    """

    scale: float
    moved: int
    margin: Array
    distance: Array
    whole: GroupSums
    tests: list[tuple[Array, GroupSums]]
    tried: Array
    agree: Array
    found_again: Array
    separation: Separation


class Part(NamedTuple):
    """Of a block: the labels of its samples, and the numbers in it of those that are looked at."""

    labels: Array
    seen: Array


class Look(NamedTuple):
    """What is found of a block; `labels` by halves (samples looked at, halves)."""

    moved: Array
    margin: Array
    distance: Array
    labels: Array


@dataclass(frozen=True)
class ReadBlock:
    """What is read of a block: sums by the labels of the model and of the first two halves."""

    assignment: Assignment
    view: Callable[[Matrix], Matrix]
    halves: HalfLabels
    sums: SumPowers

    def __call__(self, block: Block, own: Part) -> tuple[Look, PowerSums]:
        near, _ = self.assignment.nearness(block, None)
        nearest = self.assignment(block, None)[0].labels
        _, whole = self.sums(block, own.labels[:, None])
        if len(own.seen) < len(own.labels):
            block = Block(block.X[own.seen], block.weight[own.seen])
        looks, _ = self.halves(block._replace(X=self.view(block.X)), None)
        _, tests = self.sums(block, looks[:, :2])
        both = PowerSums(*map(np.concatenate, zip(whole, tests, strict=True)))
        moved = (own.labels >= 0) & (nearest != own.labels)
        return Look(moved, near.margin, near.distance, looks), both


def read_clusters(
    model: FittedModel, X: Any, sample_weight: Any, splits: int, seed: int
) -> Reading:
    """What an explanation of these clusters needs of X, which is read once."""
    labels, centers = np.asarray(model.labels_), np.asarray(model.cluster_centers_)
    samples = place_samples(X, sample_weight, len(labels), f"the model was fitted to {len(labels)}")
    k, data = len(centers), samples.data.with_larger_blocks()
    if data.shape[1] != centers.shape[1]:
        raise ValueError(
            f"X has {data.shape[1]} features but the model was fitted to {centers.shape[1]}: give "
            "the X that it was fitted to."
        )
    loss = loss_of(model)
    voters = loss.view(samples.data)
    rays = loss.view_rows(rescale_to_safe_range(centers)[0])
    tried = some_numbers(len(labels), seed)
    with single_threaded_blas():
        halves = split_fits(loss, voters, k, splits, seed)
        trust = look_at_halves(loss, voters, labels, rays, seed)
        move = ReadBlock(
            _assignment(model, data),
            loss.view_rows,
            HalfLabels.of(halves, data),
            SumPowers(k, data.n_missing),
        )
        rows, sums = data.sweep(move, parts(data, labels.astype(np.intp), tried))
    moved, margin, distance, looks = (
        data.gather(data.map_blocks(attrgetter(name), rows)) for name in Look._fields
    )
    (whole,) = sums.of(slice(1)).of_groups(labels[:, None], data.weight)
    tests = sums.of(slice(1, None)).of_groups(looks[:, :2], data.weight[tried])
    numbers = [matching_numbers(own, labels[tried], k) for own in looks.T]
    tests = [own.renumbered(new[:-1]) for own, new in zip(tests, numbers, strict=False)]
    tested = [half.features for half in halves[1::-1]]  # on the clusters of the other half
    looks = np.column_stack([new[own] for new, own in zip(numbers, looks.T, strict=True)])
    agree = _agreement(looks)
    if data.shape[1] < FEW_FEATURES:
        some, share = noisy_agreement(data, loss.view_rows, labels, rays, splits, seed)
        if len(some):  # empty if every sample has a NaN
            tried, agree = some, share
    return Reading(
        samples.scale,
        int(moved.sum()),
        margin,
        distance,
        whole,
        [(own, test.of_features(own)) for own, test in zip(tested, tests, strict=True)],
        tried,
        agree,
        *trust,
    )


def some_numbers(n: int, seed: int) -> Array:
    """The numbers of the samples that are looked at by halves: all, or MOST_LOOKED_AT of them."""
    if n <= MOST_LOOKED_AT:
        return np.arange(n)
    rng = np.random.default_rng((EXPLAIN_STREAM, MOST_LOOKED_AT, seed))
    return np.sort(rng.choice(n, MOST_LOOKED_AT, replace=False))


def parts(data: Data, labels: Array, tried: Array) -> list[Part]:
    """For each block its labels, and which of its samples are looked at."""
    edges = [*data.first, len(labels)]
    cuts = np.searchsorted(tried, edges).tolist()
    return [
        Part(labels[i:j], tried[a:b] - i)
        for (i, j), (a, b) in zip(pairwise(edges), pairwise(cuts), strict=True)
    ]


def _agreement(looks: Array) -> Array:
    """The share of the splits whose halves put each sample into the same cluster."""
    one, other = looks[:, ::2], looks[:, 1::2]
    return np.mean((one == other) & (one >= 0), axis=1)


def distances(model: FittedModel, X: Any) -> Array:
    """Distance of each sample from its centroid, also if there is only one cluster."""
    data = place_samples(X, None, len(model.labels_), f"the model has {len(model.labels_)}").data
    return nearness(data, _assignment(model, data)).distance


def _assignment(model: FittedModel, data: Data) -> Assignment:
    """How the loss of the model gives samples to its centroids, of which directions are enough."""

    W, _ = rescale_to_safe_range(np.asarray(getattr(model, "rays_", model.cluster_centers_)))
    rays = loss_of(model).assignment(W.astype(data.dtype, copy=False), data.n_missing)
    if len(W) == len(model.cluster_centers_):
        return rays
    return ClustersOfRays(rays, cast(Any, model).cluster_of_ray_)


def place_samples(X: Any, sample_weight: Any, n: int, otherwise: str) -> Placement:
    """X in its place; it must have as many samples as there are labels."""
    check = Check("onmf.explain", signed=True, allow_missing=True)
    samples = place(X, sample_weight, PlacementRequest(check, safe_scale))
    if samples.data.shape[0] != n:
        raise ValueError(
            f"X has {samples.data.shape[0]} samples but {otherwise}: give the X that they belong "
            "to."
        )
    return samples
