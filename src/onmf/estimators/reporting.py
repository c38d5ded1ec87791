"""What a person takes away from a fitted model: its features, a page, a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onmf.estimators.naming import NamingMixin
from onmf.estimators.parameters import check_number
from onmf.estimators.storage import write_model
from onmf.io import replace_files
from onmf.io.terms import DOCUMENTS
from onmf.prepare.cleaning import Strip
from onmf.prepare.steps import apply
from onmf.prepare.texts import as_texts
from onmf.rows.sweep import Array, divisor

if TYPE_CHECKING:
    from onmf.explain import Explanation


class ReportMixin(NamingMixin):
    """Features, explanation, page and file of a fitted model."""

    def top_features(
        self, n: int = 10, feature_names: Sequence[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        """The n heaviest features of each centroid with their weights (unit centroids).

        Parameters
        ----------
        n : int, default=10
        feature_names : sequence of str, optional
            Names of the features, as a vectoriser's ``get_feature_names_out()`` gives them; those
            that X had in `fit` if None, or x0, x1, ...

        Returns
        -------
        list of list of (str, float)
            One list a cluster.

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0], [0, 1]])
        >>> model.top_features(1)
        [[('x0', 1.0)], [('x1', 1.0)]]
        >>> model.top_features(1, feature_names=["salt", "sugar"])
        [[('salt', 1.0)], [('sugar', 1.0)]]
        """
        self._check_fitted()
        check_number(n, "n", 1, whole=True)
        names = self._features.names if feature_names is None else feature_names
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"feature_names has {len(names)} names, but {type(self).__name__} was fitted to "
                f"{self.n_features_in_} features: give one name a feature."
            )
        sizes = np.linalg.norm(self.cluster_centers_, axis=1, keepdims=True)
        rays = self.cluster_centers_ / divisor(sizes)
        order = np.argsort(-rays, axis=1, kind="stable")[:, :n]
        return [
            [(str(names[j]), float(ray[j])) for j in top]
            for ray, top in zip(rays, order, strict=True)
        ]

    def explain(self, X: Any, **options: Any) -> "Explanation":
        """What makes each cluster, and how sure it is of each sample: `onmf.explain.clusters`.

        The model remembers how margins become certainties, for `predict_proba`.

        Parameters
        ----------
        X : as for `fit`
            What the model was fitted to. A model of `cluster_texts` also takes its texts.
        **options
            `by`, `feature_names`, `sample_weight`, `log_base`, `rank`, `splits`, `random_state`,
            `strangers`.

        Returns
        -------
        onmf.explain.Explanation

        Examples
        --------
        >>> from onmf import ONMF
        >>> from onmf.datasets import make_rays
        >>> X, _ = make_rays(60, 30, 3, random_state=0)
        >>> found = ONMF(n_clusters=3, random_state=0).fit(X).explain(X)
        >>> len(found.markers.top(5)), float(found.certainty.min()) > 0.5
        (3, True)
        """
        from onmf.explain import clusters

        self._check_labels()
        if any(step.of_texts for step in getattr(self, "preprocessing_", ())):
            options = {"rank": "presence"} | options
        found = clusters(self, self._prepared(X), **options)
        self.certainty_curve_ = found.calibration.array()
        return found

    def report(self, path: str | Path, X: Any, labels: Any = None, **panels: Any) -> None:
        """Write a page about the fit: one HTML file that needs no network, to look at in a browser.

        Parameters
        ----------
        path : str or Path
            The file, replaced if it exists.
        X : array, sparse matrix, DataFrame, path of rows on disk or texts
            What the model was fitted to.
        labels : array of shape (n_samples,), optional
            Known classes: adds the confusion table and the scores.
        **panels
            `samples`, `features`, `texts`, `images`, `terms`, `run`, `choice`, `consensus`: see
            `onmf.page.html`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from onmf import ONMF
        >>> from onmf.datasets import make_rays
        >>> X, y = make_rays(60, 8, 3, random_state=0)
        >>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
        >>> ONMF(n_clusters=3, random_state=0).fit(X).report(path, X, labels=y)
        >>> path.exists()
        True
        """
        from onmf.explain.checks import has_groups
        from onmf.page import html

        self._check_labels()
        rows, own = self._prepared(X), {}
        if rows is not X:  # texts
            clean = [step for step in self.preprocessing_ if isinstance(step, Strip)]
            own = {"texts": apply(clean, as_texts(X)), "terms": DOCUMENTS}
            own["explanation"] = self.explain(X) if has_groups(self.labels_) else None
        path, page = Path(path), html(self, rows, truth=labels, **own | panels)
        replace_files(path.parent, {path.name: page})

    def _check_labels(self) -> None:
        """There are clusters, and samples in them."""
        self._check_fitted()
        if not hasattr(self, "labels_"):
            raise ValueError(
                f"this {type(self).__name__} has no labels: it read X once, or was saved with "
                "samples=False; fit it with passes=2, or set labels_ to what predict(X) gives."
            )

    def save(self, path: str | Path, *, samples: bool = True) -> None:
        """Put the fitted model into a file, without pickle; `onmf.load` reads it.

        The format is described in `onmf.io.container`. Parameters that only Python could store
        (a callable, a RandomState, arrays given as `init`) are left out with a warning.
        `preprocessing_`, if it was set after the fit, is stored with the model: a tuple of steps of
        ``onmf.prepare.steps`` that the data went through before, as ``onmf cluster`` sets it.

        Parameters
        ----------
        path : str or Path
            The file, replaced if it exists.
        samples : bool, default=True
            Whether to store what the model says of the samples of its fit: `labels_`,
            `membership_` and `outlier_score_`. Without them the file has what `predict` needs, and
            its size does not depend on the number of samples.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import onmf
        >>> path = pathlib.Path(tempfile.mkdtemp(), "model.onmf")
        >>> onmf.ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0.1], [0, 1]]).save(path)
        >>> onmf.load(path).labels_
        array([0, 0, 1])
        """
        self._check_fitted()
        write_model(self, path, samples)

    @property
    def components_(self) -> Array:
        """`cluster_centers_`, as decompositions call them."""
        return self.cluster_centers_

    @property
    def reconstruction_err_(self) -> float:
        """||X - HW||, the square root of `inertia_`, as scikit-learn's NMF has it."""
        return float(np.sqrt(self.inertia_))
