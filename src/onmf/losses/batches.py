"""What a stream remembers of its clusters: sums over batches, averaged over time.

    P_k <- (1 - eta_t) P_k + eta_t (sum over the samples of the batch that are in k),
    w_k = the best centroid for P_k,      eta_t = t^(-3/4)  in the t-th batch that has samples of k

These are the steps of stochastic approximation (Robbins and Monro 1951: sum eta = inf, sum eta^2 <
inf) on the map whose fixed points are those of the alternation of a fit. On a stream of independent
batches the centroids converge to such a point for the distribution of the stream, and on a data set
given again and again in batches to one for the data set, where the assignments settle.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from onmf.losses.kl_alternation import CountSums, as_centroids
from onmf.losses.missing import MaskedSums
from onmf.losses.ray_alternation import ClusterSums, with_length
from onmf.rows.sweep import Array, divisor
from onmf.search.row_problems import unit

DECAY = 0.75  # of the steps, between 1/2 and 1


@dataclass(frozen=True, eq=False)
class BatchSums:
    """Means over the batches that had samples of a cluster; every field has k rows."""

    batches: Array  # how many had samples (k,)
    weight: Array  # sum_i d_i (k,)

    by_feature: ClassVar[tuple[str, ...]] = ()  # the fields that are (k, m); the others are (k,)

    def after(self, now: Any) -> Any:
        """With one more batch; a cluster without samples in it stays as it is."""
        if type(now) is not type(self):  # one of them has missing values
            return self.masked().after(now.masked())
        batches = self.batches + now.batches
        eta = now.batches * np.maximum(batches, 1.0) ** -DECAY
        means = {"batches": batches}
        for name in self.names()[1:]:
            old, new = getattr(self, name), getattr(now, name)
            means[name] = old + eta.reshape(-1, *[1] * (old.ndim - 1)) * (new - old)
        return type(self)(**means)

    @classmethod
    def names(cls) -> list[str]:
        return [field.name for field in fields(cls)]

    def masked(self) -> Any:
        """The same for batches with missing values, for a loss that can have them."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Array]:
        return {name: getattr(self, name) for name in self.names()}

    def only(self, order: Array) -> Self:
        """With these clusters, in this order."""
        return type(self)(**{name: part[order] for name, part in self.as_dict().items()})

    def as_mean_of(self, batches: int) -> Self:
        """The sums of so many batches at once, as the mean of them."""
        parts = {name: part / batches for name, part in self.as_dict().items()}
        return type(self)(**parts | {"batches": np.where(self.batches > 0, batches, 0)})

    def merged(self, place: Array, k: int) -> Self:
        """Cluster j is put into cluster place[j] of k."""
        parts = {}
        for name, part in self.as_dict().items():
            parts[name] = np.zeros((k, *part.shape[1:]), part.dtype)
            (np.maximum if name == "batches" else np.add).at(parts[name], place, part)
        return type(self)(**parts)

    def with_more(self, other: Any) -> Any:
        """And the clusters of the other."""
        if type(other) is not type(self):
            return self.masked().with_more(other.masked())
        others = other.as_dict()
        parts = {
            name: np.concatenate([part, others[name]]) for name, part in self.as_dict().items()
        }
        return type(self)(**parts)

    def centroids(self, W: Array, signed: bool) -> Array:
        """The best centroids; W where a cluster never had samples."""
        raise NotImplementedError

    def directions(self, W: Array, signed: bool) -> Array:
        """What the samples of each cluster are multiples of: its centroid."""
        return self.centroids(W, signed)


def has_samples(weight: Array) -> Array:
    return (weight > 0).astype(np.intp)


@dataclass(frozen=True, eq=False)
class RayBatches(BatchSums):
    """Squares: a_i is the score of sample i on its ray."""

    image: Array  # sum_i d_i a_i x_i (k, m)
    explained: Array  # sum_i d_i a_i^2 (k,)

    by_feature: ClassVar[tuple[str, ...]] = ("image",)

    @classmethod
    def of(cls, sums: ClusterSums) -> Self:
        image = np.ascontiguousarray(sums.cross)  # as a file keeps it: sums end in the same bits
        return cls(has_samples(sums.weight), sums.weight, image, sums.explained)

    def masked(self) -> "MaskedBatches":
        shown = np.repeat(self.explained[:, None], self.image.shape[1], axis=1)
        return MaskedBatches(**self.as_dict(), shown=shown, mass=self.explained)

    def centroids(self, W: Array, signed: bool) -> Array:
        """Along the images, as long as a typical sample."""
        typical = self.explained / divisor(self.weight)
        return self._along(self.image, typical, W, signed)

    @staticmethod
    def _along(images: Array, sqlength: Array, W: Array, signed: bool) -> Array:
        U = unit(images, otherwise=unit(W.astype(np.float64)))
        U = U if signed else np.maximum(U, 0)
        return with_length(U, sqlength, W.dtype)


@dataclass(frozen=True, eq=False)
class MaskedBatches(RayBatches):
    """Squares with missing values: h_i is the multiple of the unit ray, m_i what is observed."""

    shown: Array  # sum_i d_i h_i^2 m_i (k, m)
    mass: Array  # sum_i d_i h_i^2 (k,)

    by_feature: ClassVar[tuple[str, ...]] = ("image", "shown")

    @classmethod
    def of(cls, sums: MaskedSums) -> Self:  # type: ignore[override]
        plain = has_samples(sums.weight), sums.weight, sums.cross, sums.explained
        return cls(*plain, sums.shown, sums.mass)

    def masked(self) -> "MaskedBatches":
        return self

    def centroids(self, W: Array, signed: bool) -> Array:
        """As before where no batch showed a feature of a cluster."""
        seen, old = self.shown > 0, unit(W.astype(np.float64))
        images = np.where(seen, self.image / np.where(seen, self.shown, 1), 0)
        size = np.where(seen, old * old, 0).sum(axis=1)
        along = (images * old).sum(axis=1) / divisor(size)
        images = np.where(seen, images, along[:, None] * old)
        typical = self.mass / divisor(self.weight)
        return self._along(images, np.square(images).sum(axis=1) * typical, W, signed)


@dataclass(frozen=True, eq=False)
class CountBatches(BatchSums):
    """The Kullback-Leibler divergence."""

    sums: Array  # S_k = sum_i d_i x_i (k, m)

    by_feature: ClassVar[tuple[str, ...]] = ("sums",)

    @classmethod
    def of(cls, sums: CountSums) -> Self:
        return cls(has_samples(sums.weight), sums.weight, np.ascontiguousarray(sums.sums))

    def centroids(self, W: Array, signed: bool) -> Array:
        """The mean samples."""
        mean = self.sums.sum(axis=0) / max(self.sums.sum(), np.finfo(float).tiny)
        new = as_centroids(self.sums, self.weight, mean).astype(W.dtype)
        return np.where(self.batches[:, None] > 0, new, W)

    def directions(self, W: Array, signed: bool) -> Array:
        """Without the overall mean in the centroids, which moves with every other cluster."""
        some = self.sums.sum(axis=1, keepdims=True) > 0
        return np.where(some, self.sums.astype(W.dtype), W)
