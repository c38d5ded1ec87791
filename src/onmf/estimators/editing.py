"""`merge` and `split`: what a person does to clusters after a fit, and nothing else moves."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from onmf.estimators.naming import MOST_CHARACTERS, as_pairs
from onmf.estimators.parameters import check_number
from onmf.estimators.partial_fit import PartialFitMixin, join_columns
from onmf.exceptions import EmptyClusterWarning, SignedDataWarning
from onmf.explain.checks import check_fitted_to
from onmf.io.table import listing
from onmf.losses.edits import Edits
from onmf.rows.assign import Rays
from onmf.rows.scale import no_rescaling
from onmf.rows.sweep import Array
from onmf.streams.lineage import Lineage, degrees

NO_NAMES: Mapping[int, str] = MappingProxyType({})
OUTDATED = ("certainty_curve_", "reason_", "tree_")  # after a change of the clusters


class EditingMixin(PartialFitMixin):
    """Clusters that are merged and split by hand."""

    _stream_history: Any  # of a stream in which clusters are born

    def merge(self, clusters: Iterable[int]) -> Self:
        """Make one cluster of several. X is not needed, and no other sample moves.

        The merged cluster keeps the rays of all its parts: `predict` gives a sample to the nearest
        ray, and then to the cluster that has it. So for every X `predict` says what it said before,
        the merged ids aside, and in a stream (`partial_fit`) the rays move on by themselves.
        `relative_error_`, `distance` and memberships are those of the nearest ray.
        `cluster_centers_` has the centroid of all samples of the cluster, from which a later fit
        (``init=model``) starts.

        Parameters
        ----------
        clusters : iterable of int
            Ids, as in `cluster_ids_`. The merged cluster keeps the first, and the name that was
            given to it; names that were found are joined by "+". The other ids are not given again.
            `labels_` stay numbers of rows of `cluster_centers_`, of which there are fewer: compare
            ``cluster_ids_[labels_]``.

        Returns
        -------
        self

        Examples
        --------
        >>> from onmf import ONMF
        >>> X = [[3, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 1]]
        >>> model = ONMF(n_clusters=3, random_state=0).fit(X).merge([2, 1])
        >>> model.cluster_ids_[model.predict(X)], model.lineage_.merged
        (array([0, 0, 2, 2]), ((1, 2),))
        """
        self._check_fitted()
        ids = self._known_clusters(clusters)
        if len(ids) < 2:
            raise ValueError(f"merge needs two clusters or more, not {listing(ids) or 'none'}.")
        with self._all_or_nothing():
            before, W, edits = self._before_edit()
            edits = edits._replace(steps=(*edits.steps, (ids, ids[:1])))
            place, flat = merged_places(before.ids, ids), edits.flat()
            at, sizes = place[before.ids.index(ids[0])], np.array(flat.sizes, np.float64)
            new = np.delete(W, [before.ids.index(own) for own in ids[1:]], axis=0)
            self.cluster_centers_ = flat.rays
            new[at] = self._centroids_of(flat.place(), np.maximum(sizes, 1))[at]
            drift = self._angle(W[before.ids.index(ids[0])], new[at])
            self.lineage_, self.cluster_centers_ = before.after_merger(ids, drift), new
            found = dict(getattr(self, "names_found_", ()))
            joined = " + ".join(dict.fromkeys(found[own] for own in ids if own in found))
            self._set_edits(edits, ids, {ids[0]: joined[:MOST_CHARACTERS]} if joined else {})
            if hasattr(self, "labels_"):
                self.labels_ = np.append(place, -1)[self.labels_]
            if hasattr(self, "membership_"):
                self.membership_ = join_columns(self.membership_, place)
        return self

    def split(
        self,
        cluster: int,
        X: Any,
        n_clusters: int | Literal["auto"] = 2,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Split a cluster into parts. No sample of another cluster moves.

        Its samples are clustered by themselves. `predict` first finds the cluster as before, then
        the nearest part: so also for new samples, nothing changes in other clusters. Later batches
        and fits (`partial_fit`, ``init=model``) treat all clusters alike.

        Parameters
        ----------
        cluster : int
            Id, as in `cluster_ids_`. The largest part keeps it; the others get new ids, and are the
            last rows of `cluster_centers_`.
        X : as for `fit`
            What the model was fitted to; for a stream any samples.
        n_clusters : int or "auto", default=2
            Number of parts; "auto" takes that of `choose_k` for the samples of the cluster, and
            refuses if it finds no evidence of parts.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self

        Examples
        --------
        >>> from onmf import ONMF
        >>> X = [[3, 0, 0], [2, 0, 0], [0, 2, 1], [0, 1, 2]]
        >>> model = ONMF(n_clusters=2, random_state=0).fit(X)
        >>> cluster = model.cluster_ids_[model.labels_[2]]
        >>> model.split(cluster, X).lineage_.born, len(set(model.predict(X)))
        ((2,), 3)
        """
        self._check_fitted()
        (own,) = self._known_clusters([cluster])
        if n_clusters != "auto":
            check_number(n_clusters, "n_clusters", 2, whole=True)
        with self._all_or_nothing():
            labels, fitted = self._labels_to_split(X)
            before, W, edits = self._before_edit()
            at = before.ids.index(own)
            inside = np.flatnonzero(labels == at)
            part = self._fit_parts(own, inside, X, sample_weight, n_clusters)
            parts, sizes = part.cluster_centers_.astype(W.dtype), np.bincount(part.labels_.clip(0))
            new = np.vstack([W, parts[1:]])
            new[at] = parts[0]
            drift = self._angle(W[at], new[at])
            self.lineage_ = before.after_split(own, len(parts), drift)
            step = (own,), (own, *self.lineage_.born)
            edited = Edits(
                np.vstack([edits.rays, parts]),
                edits.ids,
                (*edits.sizes, *sizes.tolist()),
                (*edits.steps, step),
            )
            self._split_stream(edits.flat(), edited.flat(), own, parts, sizes / sizes.sum())
            self._set_edits(edited, (own,))
            self.cluster_centers_ = new
            numbers = np.array([at, *range(len(W), len(new))])
            self.labels_ = labels.copy()
            self.labels_[inside] = numbers[part.labels_.clip(0)]
            H = getattr(self, "membership_", None)
            if fitted and type(H) is np.ndarray:
                H = np.pad(H, ((0, 0), (0, len(new) - len(W))))
                H[inside] = 0
                H[inside, self.labels_[inside]] = part.membership_.sum(axis=1)
                self.membership_ = H
            elif H is not None:
                self.membership_ = self.transform(X)
            self._measure_again(X, sample_weight)
        return self

    def _known_clusters(self, clusters: Iterable[int]) -> tuple[int, ...]:
        """Distinct ids, each of a cluster that there is."""
        known, ids = self.cluster_ids_.tolist(), [*clusters]
        if unknown := [one for one in ids if one not in known]:
            raise ValueError(
                f"there is no cluster {listing(unknown)}: the ids are {', '.join(map(str, known))}."
            )
        return tuple(dict.fromkeys(int(one) for one in ids))

    def _before_edit(self) -> tuple[Lineage, Array, Edits]:
        """Lineage, centroids and steps so far."""
        W = self.cluster_centers_
        before = self.lineage_ or Lineage.first(len(W))
        labels = getattr(self, "labels_", np.arange(len(W)))
        sizes = np.bincount(labels[labels >= 0], minlength=len(W))
        return before, W, Edits.of(self) or Edits(W, before.ids, tuple(sizes.tolist()))

    def _set_edits(
        self, edits: Edits, ids: tuple[int, ...], names: Mapping[int, str] = NO_NAMES
    ) -> None:
        """With these steps; what was found of the clusters before is outdated.

        Instead of those of these ids, the model has these names.
        """
        self.__dict__.update(edits.as_attributes())
        self.bound_ = self.gap_ = None  # of another number of clusters
        for name in OUTDATED:
            self.__dict__.pop(name, None)
        found = dict(getattr(self, "names_found_", ()))
        kept = {own: name for own, name in found.items() if own not in ids}
        self.names_found_ = as_pairs(kept | dict(names))

    def _cosines(self, W: Array, ray: Array) -> Array:
        """Of centroids with another one, as the loss compares them."""
        units = Rays.of(self._loss.view_rows(np.vstack([W, ray]))).units.astype(np.float64)
        return np.asarray(np.clip(units[:, :-1].T @ units[:, -1], 0, 1))

    def _angle(self, old: Array, new: Array) -> float:
        return float(np.round(degrees(self._cosines(old[None], new)), 6)[0])

    def _labels_to_split(self, X: Any) -> tuple[Array, bool]:
        """The labels of X, and whether they are those of the fit."""
        known, now = getattr(self, "labels_", None), np.asarray(self.predict(X))
        if known is None or (hasattr(self, "_stream") and len(known) != len(now)):
            return now, False
        if len(known) != len(now):
            raise ValueError(
                f"X has {len(now)} samples but the model was fitted to {len(known)}: give the X "
                "that it was fitted to."
            )
        if hasattr(self, "_stream") and not np.array_equal(known, now):
            return now, False  # those of the last batch, with the centroids before it
        check_fitted_to(self, X)
        return known, True

    def _fit_parts(
        self, own: int, inside: Array, X: Any, sample_weight: Any, n_clusters: int | str
    ) -> Any:
        """The samples of a cluster, clustered."""
        from onmf.estimators.onmf import ONMF

        rows = self._place(X, sample_weight, no_rescaling, reset=False)
        some = rows.data.take(inside)
        weight = None if rows.weight is None else some.weight[:, 0]
        names = ("loss", "random_state", "n_jobs")
        part = ONMF(**{name: getattr(self, name) for name in names})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SignedDataWarning)
            warnings.simplefilter("error", EmptyClusterWarning)
            if n_clusters == "auto":
                n_clusters = number_of_parts(part, some.X, weight, own)
            if len(inside) < int(n_clusters):
                raise ValueError(
                    f"cluster {own} has {len(inside)} sample(s): it cannot be split into "
                    f"{n_clusters}."
                )
            try:
                part.set_params(n_clusters=int(n_clusters)).fit(some.X, sample_weight=weight)
            except EmptyClusterWarning as few:
                raise ValueError(
                    f"the samples of cluster {own} have too few directions to be split into "
                    f"{n_clusters}: ask for fewer parts."
                ) from few
        return part

    def _split_stream(self, old: Edits, new: Edits, own: int, parts: Array, shares: Array) -> None:
        """The sums and memory of a stream, if there is one: parts instead of the rays of a cluster.

        Both have a row per ray, in the order of ids.
        """
        if not hasattr(self, "_stream"):
            return
        gone = np.array(old.rays_of_clusters()[own])
        born = (own, *(one for one in new.ids if one not in old.ids))
        weight, batches = self._stream.weight[gone].sum(), self._stream.batches[gone].max()
        sums = self._loss.batch_of_centroids(parts, shares * weight)
        sums = replace(sums, batches=np.full(len(parts), batches))
        k, ids = len(old.ids), [-1 if j in gone else one for j, one in enumerate(old.ids)]
        order = np.array([[*ids, *born].index(one) for one in new.ids])
        self._stream = self._stream.with_more(sums).only(order)
        if hasattr(self, "_stream_history"):
            rows = np.where(order < k, order, gone[0])
            share = np.append(np.ones(k), shares)[order]
            self._stream_history = self._stream_history.split(rows, share)

    def _measure_again(self, X: Any, sample_weight: Any) -> None:
        """The errors, with the parts."""
        old, new = self.relative_error_, max(1 - self.score(X, sample_weight=sample_weight), 0.0)
        self.inertia_ = float(self.inertia_ * (new / old if old > 0 else 1.0))
        self.relative_error_ = float(new)


def merged_places(ids: tuple[int, ...], merged: tuple[int, ...]) -> Array:
    """Where each cluster is after the merger of some, which are where the first of them was."""
    left = [one for one in ids if one not in merged[1:]]
    return np.array([left.index(merged[0] if one in merged else one) for one in ids])


def number_of_parts(model: Any, X: Any, weight: Any, own: int) -> int:
    """By `choose_k`, if the samples of the cluster fall apart at all."""
    from onmf.number import choose_k

    choice = choose_k(model, X, sample_weight=weight, n_jobs=model.n_jobs)
    if not choice.evidence:
        raise ValueError(
            f"nothing shows that cluster {own} has separate parts: give the number of parts to "
            "split it all the same."
        )
    return int(choice.best_k)
