"""What a person takes away from a fitted model: an explanation, a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onmf.estimators.naming import NamingMixin
from onmf.estimators.storage import write_model
from onmf.rows.sweep import Array

if TYPE_CHECKING:
    from onmf.explain import Explanation


class ReportMixin(NamingMixin):
    """Explanation and file of a fitted model."""

    def explain(self, X: Any, **options: Any) -> "Explanation":
        """What makes each cluster, and how sure it is of each sample: `onmf.explain.clusters`.

        The model remembers how margins become certainties, for `predict_proba`.

        Parameters
        ----------
        X : as for `fit`
            What the model was fitted to. A model of `cluster_texts` also takes its texts.
        **options
            `by`, `feature_names`, `sample_weight`, `log_base`, `rank`, `splits`, `random_state`.

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

        The format is described in `onmf.files.container`. Parameters that only Python could store
        (a callable, a RandomState, arrays given as `init`) are left out with a warning.
        `preprocessing_`, if it was set after the fit, is stored with the model: a tuple of steps of
        ``onmf.prepare.steps`` that the data went through before, as ``onmf cluster`` sets it.

        Parameters
        ----------
        path : str or Path
            The file, replaced if it exists.
        samples : bool, default=True
            Whether to store what the model says of samples, `labels_` and `membership_`, and, after
            `partial_fit`, the samples of the stream that it keeps: rows of your data are then in
            the file. Without them the file has what `predict` needs, and its size does not depend
            on the number of samples; a stream continues from one row per ray.

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
