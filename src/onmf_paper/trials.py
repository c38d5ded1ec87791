"""One trial: a method on a data set from one start, timed and scored.

A trial is flat: data, fingerprint, method, seed, and the parameters that differ from the paper's.
Times are CPU seconds of one thread; the clock stands still while a stage is scored.
"""

import time
import warnings
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.metrics import adjusted_rand_score, clustering_accuracy
from onmf_paper.bounds import partition_error
from onmf_paper.data_sets import DATA_SETS, LabelledData, data_fingerprint, load_data_set
from onmf_paper.methods import FAITHFUL, build_estimator
from onmf_paper.rivals import Rival
from onmf_paper.unlucky import first_memberships

Trial = dict[str, Any]
Outcome = tuple[dict[str, Any], NDArray[Any] | None]

KEY = ("data", "fingerprint", "method", "seed")
POINTS = 200  # of a curve
CURVES = ("sweeps", "residual", "orthogonality", "relative_error", "acc")


def make_trial(data: str, method: str, seed: int, **changes: Any) -> Trial:
    """The row of a trial, as the ledger keeps it."""
    return {
        "data": data,
        "fingerprint": data_fingerprint(data),
        "method": method,
        "seed": seed,
        **changes,
    }


def changed_parameters(trial: Trial) -> dict[str, Any]:
    """Those that differ from the paper's."""
    return {name: value for name, value in trial.items() if name not in KEY}


def run_trial(trial: Trial) -> Outcome:
    """Run a trial.

    Parameters
    ----------
    trial : dict
        As `make_trial` makes it.

    Returns
    -------
    result : dict
        `acc` and `ari` in percent; `error`, the relative error of the best rays for the labels;
        `cpu`; `sweeps`, the iterations; `empty` clusters; `converged`; and curves.
    labels : ndarray or None
    """
    if trial["fingerprint"] != data_fingerprint(trial["data"]):
        raise ValueError(f"the data of {trial['data']} are not those that the trial was planned on")
    samples = load_data_set(trial["data"])
    changes = changed_parameters(trial)
    with threadpool_limits(1), warnings.catch_warnings():
        # Empty clusters and limits that were hit are results here, and recorded as such.
        warnings.simplefilter("ignore")
        if trial["method"] == "t-sne":
            return tsne_points(samples, trial["seed"])
        warm_up()
        return fit_and_score(samples, DATA_SETS[trial["data"]].family, trial, changes)


def fit_and_score(
    samples: LabelledData, family: str, trial: Trial, changes: dict[str, Any]
) -> Outcome:
    """Cluster, and score what comes out."""
    X, y, k, centroids = samples
    stages = StageScores(y, changes.pop("stages", None))
    if centroids is not None:
        kind = changes.pop("memberships", "ray")
        changes["init"] = (first_memberships(kind, len(X), k, trial["seed"]), centroids)
    model = build_estimator(trial["method"], family, X, k, trial["seed"], changes)
    drawn = centroids is None  # as curves
    if trial["method"] in FAITHFUL and (drawn or stages.last is not None):
        model.set_params(callback=stages)
    begin = time.process_time()
    model.fit(X)
    cpu = time.process_time() - begin - stages.seconds
    labels = model.labels_
    rival = isinstance(model, Rival)
    curves = iteration_curves(model.residuals_) if rival else stages.curves()
    result = score_labels(X, y, k, labels) | {
        "cpu": cpu,
        "sweeps": model.n_iter_,
        "converged": bool(getattr(model, "converged_", True)),
        "curves": curves if drawn else {},
    }
    return result, labels


def score_labels(X: Any, y: NDArray[Any], k: int, labels: NDArray[Any]) -> dict[str, Any]:
    return {
        "acc": 100 * clustering_accuracy(y, labels),
        "ari": 100 * adjusted_rand_score(y, labels),
        "error": partition_error(X, labels),
        "empty": k - len(np.unique(labels[labels >= 0])),
    }


class StageScores:
    """A callback that scores every stage of the growing penalty, and may end the fit after one."""

    def __init__(self, y: NDArray[Any], last: int | None) -> None:
        self.y, self.last, self.seconds = y, last, 0.0
        self.rows: list[list[float]] = []

    def __call__(self, event: Any) -> bool:
        if event.stage is None:
            return False
        begin = time.process_time()
        labels = event.membership().argmax(axis=1)
        stage, acc = event.stage, 100 * clustering_accuracy(self.y, labels)
        values = (stage.sweeps, stage.residual, stage.orthogonality, stage.relative_error, acc)
        self.rows.append([float(f"{value:.6g}") for value in values])
        self.seconds += time.process_time() - begin
        return len(self.rows) == self.last

    def curves(self) -> dict[str, list[float]]:
        return {name: [row[i] for row in self.rows] for i, name in enumerate(CURVES)}


def iteration_curves(residuals: list[float]) -> dict[str, list[float]]:
    """Iterations and residuals of a rival, thinned out; K-means has none."""
    places = np.unique(np.geomspace(1, max(len(residuals), 1), POINTS).round().astype(int))
    places = places[: len(residuals)]
    return {
        "sweeps": places.tolist(),
        "residual": [float(f"{residuals[i - 1]:.6g}") for i in places],
    }


def tsne_points(samples: LabelledData, seed: int) -> Outcome:
    """t-SNE of the samples in the plane; many terms are first brought down to 50 dimensions."""
    X = samples.X
    if X.shape[1] > 50:
        X = TruncatedSVD(50, random_state=seed).fit_transform(X)
    points = TSNE(random_state=seed, init="pca").fit_transform(X)
    return {"points": [[round(float(v), 2) for v in point] for point in points]}, None


@cache
def warm_up() -> None:
    """Compile what there is to compile, so that no trial pays for it."""
    for sparsity in (0.0, 0.5):
        X, _ = make_rays(60, 20, 2, sparsity=sparsity, random_state=0)
        ONMF(2, random_state=0).fit(X)
