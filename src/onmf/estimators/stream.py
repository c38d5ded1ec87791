"""What a model has seen: a weighted sample of its samples, or one row per ray.

A fit leaves rays w_r and, for each, the weight of its samples; the row that stands for them
(`Loss.typical_samples`) has both. Samples are added to these rows, and of many a weighted sample is
kept (`rows.summary`), in which every sum over what was seen is unbiased.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses import Loss
from onmf.rows.summary import BottomKSampler, Candidates, Summary, stack, two_digits, uniform_hash
from onmf.rows.sweep import Array, Block, Matrix

ROWS_PER_RAY = 600  # that are kept; 280: up to .1 % more error on texts (benchmarks/stream.py)
PREFIX = "stream."  # of its arrays in a file
COUNTS = ("count", "weight", "influence")  # of the summary


@dataclass(frozen=True)
class Stream:
    """The rows that are kept, and how much they stood for at the last fit.

    rays : numbers of kept rows and of the ray that each was added to, -1 for none (2, rows).
    seen : how many rows were added, whatever became of them.
    fitted : weight of what was seen at the last fit.
    samples_only : whether no row stands for many samples.
    """

    summary: Summary
    rays: Array
    seen: int
    fitted: float
    samples_only: bool

    @classmethod
    def of(
        cls, X: Matrix, weight: Array, rays: Array, k: int, loss: Loss, samples_only: bool
    ) -> Self:
        """That begins with these rows, to which the k rays of a model are fitted."""
        summary = draw(X, weight, 0, ROWS_PER_RAY * k, loss)
        known = np.array([np.arange(len(rays)), rays])
        return cls(summary, known, X.shape[0], summary.weight, samples_only)

    def after(self, X: Matrix, weight: Array, rays: Array, loss: Loss) -> "Stream":
        """With more rows, added to these rays."""
        before = self.summary
        if sp.issparse(X) != sp.issparse(before.candidates[0].X):
            X = sp.csr_array(X)
            parts = [part._replace(X=sp.csr_array(part.X)) for part in before.candidates]
            before = replace(before, candidates=parts)
        more = draw(X, weight, self.seen, before.size, loss)
        seen = self.seen + X.shape[0]
        known, summary = np.hstack([self.rays, [np.arange(self.seen, seen), rays]]), before + more
        kept = np.concatenate([part.numbers for part in summary.candidates])
        if known.shape[1] > 2 * len(kept):
            known = known[:, np.isin(known[0], kept)]
        return replace(self, summary=summary, rays=known, seen=seen)

    @property
    def whole(self) -> bool:
        """Whether every row is kept."""
        return self.summary.count <= self.summary.size

    def rays_of(self, numbers: Array) -> Array:
        """The rays that the kept rows with these numbers were added to."""
        return self.rays[1][np.searchsorted(self.rays[0], numbers)]

    def renumbered(self, place: Array) -> "Stream":
        """With ray r as ray place[r]."""
        return replace(self, rays=np.array([self.rays[0], np.append(place, -1)[self.rays[1]]]))

    def refitted(self, rays: Callable[[Matrix], Array]) -> "Stream":
        """After a fit to the rows, which gives `rays(X)` to samples."""
        kept = stack(self.summary.candidates)
        kept = kept.take(np.argsort(kept.numbers))
        return replace(
            self, rays=np.array([kept.numbers, rays(kept.X)]), fitted=self.summary.weight
        )

    def arrays(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """For a file: arrays by name, and the rest as JSON."""
        rows = stack(self.summary.candidates)
        arrays = {"numbers": rows.numbers.astype(np.int64), "weights": rows.weight}
        arrays["rays"] = self.rays_of(rows.numbers).astype(np.int64)
        if sp.issparse(rows.X):
            X = rows.X
            places = {"indices": X.indices.astype(np.int64), "indptr": X.indptr.astype(np.int64)}
            arrays |= {"data": X.data} | places
        else:
            arrays["rows"] = rows.X
        facts: dict[str, Any] = {name: getattr(self.summary, name) for name in COUNTS}
        facts |= {"size": self.summary.size, "seen": self.seen, "fitted": self.fitted}
        named = {PREFIX + name: array for name, array in arrays.items()}
        return named, facts | {"samples_only": self.samples_only}

    @classmethod
    def taken_from(
        cls, arrays: dict[str, Array], facts: Mapping[str, Any], W: Array, loss: Loss
    ) -> Self:
        """From a file, whose arrays are taken out; ValueError if they are not sound."""
        own = {n.removeprefix(PREFIX): arrays.pop(n) for n in [*arrays] if n.startswith(PREFIX)}
        numbers, weight, rays = own["numbers"], own["weights"], own["rays"]
        n, (k, m) = len(numbers), W.shape
        X: Matrix
        if "rows" in own:
            X = own["rows"]
        else:
            X = sp.csr_array((own["data"], own["indices"], own["indptr"]), shape=(n, m))
            X.check_format(full_check=True)
        values = X.data if sp.issparse(X) else X
        whole = [facts[name] for name in ("count", "size", "seen")]
        sound = (
            X.shape == (n, m)
            and values.dtype.kind == "f"
            and not np.isinf(values).any()
            and weight.shape == numbers.shape == rays.shape == (n,)
            and weight.dtype.kind == "f"
            and numbers.dtype.kind == rays.dtype.kind == "i"
            and bool(n)
            and len(np.unique(numbers)) == n
            and -1 <= int(rays.min()) <= int(rays.max()) < k
            and bool((np.isfinite(weight) & (weight > 0) & (numbers >= 0)).all())
            and all(type(number) is int and number > 0 for number in whole)
            and all(0 < float(facts[name]) < np.inf for name in (*COUNTS, "fitted"))
            and type(facts["samples_only"]) is bool
        )
        if not sound:
            raise ValueError("its stream is damaged.")
        influence = two_digits(loss.sampling_weight(X))
        kept = Candidates(X, numbers, uniform_hash(numbers, 0), weight, influence)
        summary = Summary(facts["size"], [kept], *(facts[name] for name in COUNTS))
        known = np.array([numbers, rays])[:, np.argsort(numbers)]
        return cls(summary, known, facts["seen"], facts["fitted"], facts["samples_only"])


def draw(X: Matrix, weight: Array, first: int, size: int, loss: Loss) -> Summary:
    """The summary of these rows, whose numbers begin at `first`."""
    sampler = BottomKSampler(size, weight_of=loss.sampling_weight)
    return sampler.draw(Block(X, np.asarray(weight, np.float64)[:, None]), first)


class Refit(NamedTuple):
    """A fit to the rows that are kept.

    rays, weight : new rays, and the weight of their rows.
    labels : the new ray of each row, -1 for none.
    heirs : the number of the old ray that each new one is; a higher number for none.
    """

    rays: Array
    weight: Array
    labels: Array
    heirs: tuple[int, ...]


def corrected(
    fit: Refit, stream: Stream, S: Array, weight: Array, W: Array, loss: Loss
) -> tuple[Array, Array]:
    """New rays as those of all that was seen, and its weights.

    S' = S - (sum of the kept rows of the old ray) + (sum of the kept rows of the new one)

    The kept rows stand for all, so the sums stay unbiased; of a ray that kept its rows they stay
    as they are. S and `weight` are those by the old rays W.
    """
    rows, d = stream.summary.chosen()
    old, same = stream.rays_of(rows.numbers), np.array(fit.heirs) < len(W)
    place, inside = np.where(same, fit.heirs, 0), old >= 0
    rest = S - loss.sums(rows.X, d, old, W)
    left = weight - np.bincount(old[inside], d[inside], len(W))
    new = loss.sums(rows.X, d, fit.labels, fit.rays) + rest[place] * same[:, None]
    n = np.maximum(fit.weight + left[place] * same, 0.0)
    low = 0.0 if min(fit.rays.min(), S.min()) >= 0 else -np.inf
    return loss.centroids_of_sums(np.maximum(new, low), n, fit.rays), n
