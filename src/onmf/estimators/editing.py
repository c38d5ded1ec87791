"""`merge` and `split`: what a person does to clusters after a fit.

A model is rays and the cluster of each ray. `merge` changes owners, so nothing else moves; `split`
puts the rays of parts in the place of those of a cluster.
"""

import warnings
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from onmf.estimators.kept import LEARNT, OF_UNUSUAL, KeptSamples
from onmf.estimators.lineage import Lineage
from onmf.estimators.naming import MOST_CHARACTERS, as_pairs
from onmf.estimators.parameters import check_number
from onmf.estimators.partial_fit import PartialFitMixin, turn
from onmf.exceptions import EmptyClusterWarning, SignedDataWarning
from onmf.explain.checks import check_fitted_to
from onmf.rows import Placement
from onmf.rows.scale import safe_scale
from onmf.rows.sweep import Array
from onmf.rows.table import listing
from onmf.rows.threads import single_threaded_blas

NO_NAMES: Mapping[int, str] = MappingProxyType({})
OUTDATED = ("reason_", "tree_")  # after a change of the clusters


class EditingMixin(PartialFitMixin):
    """Clusters that are merged and split by hand."""

    def merge(self, clusters: Iterable[int]) -> Self:
        """Make one cluster of several. X is not needed, and no other sample moves.

        The merged cluster owns the rays of all its parts (`cluster_of_ray_`), and `predict` gives a
        sample to the owner of the nearest ray. So for every X `predict` says what it said before,
        the merged ids aside. `relative_error_`, `distance` and memberships are those of the nearest
        ray. `cluster_centers_` has the centroid of all samples of the cluster, from which a later
        fit (``init=model``) starts.

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
            W = self.cluster_centers_
            before = self.lineage_ or Lineage.first(len(W))
            left = [own for own in before.ids if own not in ids[1:]]
            place = np.array([left.index(ids[0] if own in ids else own) for own in before.ids])
            self.__dict__.pop("_stream", None)
            order = self._set_rays(self.rays_, self.ray_weight_, place[self.cluster_of_ray_])
            at = place[before.ids.index(ids[0])]
            drift = turn(
                W[before.ids.index(ids[0])], self.cluster_centers_[at], self._loss.view_rows
            )
            self.lineage_ = before.after_merger(ids, drift)
            found = dict(getattr(self, "names_found_", ()))
            joined = " + ".join(dict.fromkeys(found[own] for own in ids if own in found))
            self._forget(ids, {ids[0]: joined[:MOST_CHARACTERS]} if joined else {})
            if (kept := vars(self).get(OF_UNUSUAL[1])) is not None:
                rays = np.argsort(order)[kept[:, 0].astype(np.intp)]
                self.unusual_kept_ = np.column_stack([rays, kept[:, 1:]])
            if hasattr(self, "labels_"):
                self.labels_ = np.append(place, -1)[self.labels_]
            if hasattr(self, "membership_"):
                self.membership_ = self.membership_ @ np.eye(len(left), dtype=W.dtype)[place]
        return self

    def split(
        self,
        cluster: int,
        X: Any,
        n_clusters: int | Literal["auto"] = 2,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Split a cluster into parts.

        Its samples are clustered by themselves, and the rays of the parts take the place of its
        own. A few samples at its border may then be nearer to another cluster, or samples of other
        clusters nearer to a part: ``lineage_.moved`` says how many.

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
            rows = self._place(X, sample_weight, safe_scale, reset=False)
            W = self.cluster_centers_
            before = self.lineage_ or Lineage.first(len(W))
            labels, at = self._labels_to_split(X), before.ids.index(own)
            part = self._fit_parts(own, np.flatnonzero(labels == at), rows, n_clusters)
            stays = self.cluster_of_ray_ != at
            rays, owner = self.rays_[stays], self.cluster_of_ray_[stays]
            share = part.ray_weight_ / part.ray_weight_.sum()
            weight = np.append(self.ray_weight_[stays], share * self.ray_weight_[~stays].sum())
            typical = self._loss.typical_samples  # for what all centroids of a loss share
            new = typical(part.cluster_centers_, part.ray_weight_) / W.dtype.type(rows.scale)
            every = np.vstack([typical(self.rays_, self.ray_weight_)[stays], new])
            parts = self._loss.joint_centroids(every, weight, np.arange(len(every)), len(every))
            rays = np.vstack([rays, parts[len(rays) :]]).astype(W.dtype)
            k, n_parts = len(W), len(share)
            now = np.concatenate([owner, [at], np.arange(k, k + n_parts - 1)])
            self.__dict__.pop("_stream", None)
            self._set_rays(rays, weight, now)
            drift = turn(W[at], self.cluster_centers_[at], self._loss.view_rows)
            self._forget((own,))
            for name in LEARNT:
                self.__dict__.pop(name, None)
            with single_threaded_blas():
                self._kept = KeptSamples.of(rows, len(self.rays_))
                self._describe(rows)
            outside = labels != at
            moved = int(np.sum(labels[outside] != self.labels_[outside]))
            self.lineage_ = before.after_split(own, n_parts, drift, moved)
        return self

    def _known_clusters(self, clusters: Iterable[int]) -> tuple[int, ...]:
        """Distinct ids, each of a cluster that there is."""
        known, ids = self.cluster_ids_.tolist(), [*clusters]
        if unknown := [one for one in ids if one not in known]:
            raise ValueError(
                f"there is no cluster {listing(unknown)}: the ids are {', '.join(map(str, known))}."
            )
        return tuple(dict.fromkeys(int(one) for one in ids))

    def _forget(self, ids: tuple[int, ...], names: Mapping[int, str] = NO_NAMES) -> None:
        """What was found of the clusters before; those of these ids now have these names."""
        for name in OUTDATED:
            self.__dict__.pop(name, None)
        if "_kept" in vars(self):
            for name in LEARNT:
                self.__dict__.pop(name, None)
        found = dict(getattr(self, "names_found_", ()))
        kept = {own: name for own, name in found.items() if own not in ids}
        self.names_found_ = as_pairs(kept | dict(names))

    def _labels_to_split(self, X: Any) -> Array:
        """The labels of X: those of the fit, which it must be of, or in a stream those of now."""
        known, now = getattr(self, "labels_", None), np.asarray(self.predict(X))
        if known is None or hasattr(self, "_stream"):
            return now
        if len(known) != len(now):
            raise ValueError(
                f"X has {len(now)} samples but the model was fitted to {len(known)}: give the X "
                "that it was fitted to."
            )
        check_fitted_to(self, X)
        return np.asarray(known)

    def _fit_parts(self, own: int, inside: Array, rows: Placement, n_clusters: int | str) -> Any:
        """A model of the samples of a cluster."""
        from onmf.estimators.onmf import ONMF

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
                return part.set_params(n_clusters=int(n_clusters)).fit(some.X, sample_weight=weight)
            except EmptyClusterWarning as few:
                raise ValueError(
                    f"the samples of cluster {own} have too few directions to be split into "
                    f"{n_clusters}: ask for fewer parts."
                ) from few


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
