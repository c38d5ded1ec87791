"""A fitted estimator as arrays and JSON, and back.

Stored are the class, the parameters, every fitted attribute, the names of the features, and the
steps of `onmf.prepare` that come before the model (`preprocessing_`). A parameter that
only Python could store (a function, a random generator, arrays to start from) is left out with a
warning; after loading it has its default, which matters only if the model is fitted again.
"""

import warnings
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onmf.estimators.bases import BaseEstimator
from onmf.estimators.data import DataMixin, own_class
from onmf.estimators.encoding import decode, encode, encode_all
from onmf.estimators.kept import OF_UNUSUAL, learn_all
from onmf.estimators.known_classes import ClassMeans
from onmf.estimators.lineage import Lineage
from onmf.estimators.naming import check_names
from onmf.estimators.parameters import check_parameters
from onmf.estimators.solvers import check_solver_parameters, solver_of
from onmf.estimators.stream import Stream
from onmf.exceptions import FormatError, UnsavedParameterWarning
from onmf.explain.tree import Tree
from onmf.files.container import MODEL, Container, container_bytes, read_container
from onmf.files.output import replace_files
from onmf.losses import LOSSES
from onmf.prepare.steps import STEPS, Step
from onmf.result import Stage
from onmf.rows.sweep import Array
from onmf.search.outliers import POWERS

if TYPE_CHECKING:
    from onmf.estimators.onmf import ONMF

OF_SAMPLES = ("membership_", "labels_")  # which may be missing: the command keeps labels.csv
LIMIT = "outlier_limit_"  # of models with outliers
RAYS = ("rays_", "cluster_of_ray_")  # of clusters with several
NAMES, HISTORY, CHAIN = "feature_names_in_", "history_", "preprocessing_"
LINEAGE = "lineage_"
TREE, LEAVES = "tree_", "tree_leaves_"  # its JSON is in the header, the leaves are an array
COUNTS = ("sweeps", "empty_clusters", "sent", "received")  # the whole numbers of a stage
ATTRIBUTE_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("relative_error_", "inertia_", "stationarity_"), (float, int)),
    **dict.fromkeys(("n_iter_", "n_features_in_", "n_missing_", "n_disagreements_"), (int,)),
    "converged_": (bool,),
}  # of those that are numbers
HEADER_PARTS = {"class": str, "parameters": dict, "attributes": dict, "chain": list, "stream": dict}


class StoredModel(NamedTuple):
    """The content of the file of a model."""

    kind: str
    parameters: dict[str, Any]
    attributes: dict[str, Any]


def write_model(model: DataMixin, path: str | Path, samples: bool = True) -> None:
    """Put a fitted model into a file: in full, or not at all."""
    path = Path(path)
    replace_files(path.parent, {path.name: model_bytes(model, samples)})


def model_bytes(model: DataMixin, samples: bool = True, **more: Any) -> bytes:
    """The content of the file of a fitted model; without its samples, what predicts is left.

    `more` is JSON for the header, which whoever wrote it will look for.
    """
    if not _is_number_of(vars(model), model.n_clusters):
        raise ValueError(
            f"n_clusters was set to {model.n_clusters} after the fit, which has "
            f"{len(model.cluster_centers_)} clusters: fit again, or set it back."
        )
    fitted = {name: v for name, v in vars(model).items() if name.endswith("_") and name[0] != "_"}
    fitted |= learn_all(model)
    tree = fitted.pop(TREE, None)
    if not samples:
        fitted = {n: v for n, v in fitted.items() if n not in OF_SAMPLES}
    if all(name in fitted for name in OF_SAMPLES):
        fitted |= _compact(*(fitted[name] for name in OF_SAMPLES))
    chain, names = fitted.pop(CHAIN, ()), fitted.pop(NAMES, None)
    arrays = {name: value for name, value in fitted.items() if isinstance(value, np.ndarray)}
    numbers = {name: v for name, v in fitted.items() if name not in (HISTORY, *arrays)}
    if HISTORY in fitted:
        arrays[HISTORY] = np.array(fitted[HISTORY], np.float64).reshape(-1, len(Stage._fields))
    header = {
        "class": own_class(model).__name__,
        "onmf": version("onmf"),
        "parameters": _storable_parameters(model),
        "attributes": encode_all(numbers),
        "features": None if names is None else [str(name) for name in names],
        "chain": [_put_away(step, place, arrays) for place, step in enumerate(chain)],
    }
    if model._rays is not None:
        arrays |= {name: getattr(model, name) for name in RAYS}
    header["stream"], stream = {}, vars(model).get("_stream")
    if samples and stream is not None:
        rows, header["stream"] = stream.arrays()
        arrays |= rows
    if tree is not None:
        header["tree"] = tree.to_dict() | {"leaves": []}
        arrays[LEAVES] = tree.leaves.astype(np.int32)
    return container_bytes(MODEL, header | more, arrays)


def _is_number_of(fitted: dict[str, Any], n_clusters: int | None) -> bool:
    """Whether a fit for n_clusters can have these centroids; a model that was continued has any."""
    known = (len(fitted["cluster_centers_"]), None)  # None: as many as the model before had
    return fitted.get(LINEAGE) is not None or n_clusters in known


def _compact(membership: Any, labels: Array) -> dict[str, Array]:
    """H as one number per sample, its entry in the column of the label, if it has no other."""
    H = np.asarray(membership)  # of Dask: the workers have it
    value = np.where(labels >= 0, H[np.arange(len(labels)), labels], H.dtype.type(0))
    is_single = np.count_nonzero(value) == np.count_nonzero(H)
    return {"membership_": value if is_single else H, "labels_": labels.astype(np.int32)}


def _unfold(value: Array, labels: Array, k: int) -> Array:
    """H (n, k) with these entries in the columns of the labels; what `_compact` was given."""
    H = np.zeros((len(labels), k), value.dtype)
    inside = np.flatnonzero(labels >= 0)
    H[inside, labels[inside]] = value[inside]
    return H


def _put_away(step: Any, place: int, arrays: dict[str, Array]) -> dict[str, Any]:
    """One step of the chain as JSON; its arrays go to the others."""
    settings = {field.name: getattr(step, field.name) for field in fields(step)}
    for name in [name for name, value in settings.items() if isinstance(value, np.ndarray)]:
        arrays[_step_array(place, name)] = settings.pop(name)
    return {"step": step.name} | encode_all(settings)


def _storable_parameters(model: DataMixin) -> dict[str, Any]:
    """Those that can be stored; the others are named in a warning.

    But for a model or classes that the fit began with: what they left is in lineage and names.
    """
    storable, left_out = {}, []
    for name, value in model._parameters().items():
        if name == "init" and isinstance(value, BaseEstimator | ClassMeans):
            continue
        try:
            storable[name] = encode(value)
        except TypeError:
            left_out.append(name)
    if left_out:
        warnings.warn(
            f"{', '.join(left_out)} cannot be stored without pickle: the loaded model will have "
            "the default, which matters only if it is fitted again.",
            UnsavedParameterWarning,
            stacklevel=5,
        )
    return storable


def _step_array(place: int, name: str) -> str:
    return f"step{place}.{name}"


def read_model(path: str | Path) -> StoredModel:
    """The model that a file holds; FormatError, in a sentence, if it does not hold a sound one."""
    path = Path(path)
    stored = read_container(path, MODEL)
    try:
        return _sound_model(stored)
    except FormatError as error:
        raise FormatError(f"{path.name} {error}") from None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(f"{path.name} does not hold a sound model: {error}") from error


def _sound_model(stored: Container) -> StoredModel:
    """The parts of the model, each of the kind it must be, and all of one size."""
    header, arrays = stored.header, dict(stored.arrays)
    if str(header.get("onmf", "0.")).startswith("0."):
        raise FormatError("was written before version 1.0: fit again.")
    for part, kind in HEADER_PARTS.items():
        if not isinstance(header.get(part), kind):
            raise ValueError(f"its {part} is missing.")
    attributes = {name: decode(value) for name, value in header["attributes"].items()}
    n_features = _check_arrays(arrays, attributes)
    settings = {name: decode(value) for name, value in header["parameters"].items()}
    private: dict[str, Any] = {"_rays": _taken_rays(arrays)}
    if header["stream"]:
        loss = LOSSES[settings.get("loss", "frobenius")]
        rays = private["_rays"][0] if private["_rays"] else arrays["cluster_centers_"]
        private["_stream"] = Stream.taken_from(arrays, header["stream"], rays, loss)
    chain = tuple(_take_out(s, place, arrays) for place, s in enumerate(header["chain"]))
    for step in chain:
        step.check(n_features)
    if HISTORY in arrays:
        attributes[HISTORY] = _as_stages(arrays.pop(HISTORY))
    if attributes.get(LINEAGE) is not None:
        k = len(arrays["cluster_centers_"])
        attributes[LINEAGE] = Lineage.sound(attributes[LINEAGE], k)
    check_names(attributes)
    if LEAVES in arrays:
        leaves = arrays.pop(LEAVES)
        attributes[TREE] = Tree.from_dict(header["tree"] | {"leaves": leaves})
        if len(arrays.get("labels_", leaves)) != len(leaves):
            raise ValueError("its tree is of other samples.")
    if (names := header.get("features")) is not None:
        attributes[NAMES] = _as_names(names, n_features)
    attributes |= arrays | ({CHAIN: chain} if chain else {})
    for name in attributes:
        if not (name.isidentifier() and name.endswith("_") and name[0] != "_"):
            raise ValueError(f"{name!r} is no name of a fitted attribute.")
        kinds = ATTRIBUTE_KINDS.get(name)
        if kinds is not None and type(attributes[name]) not in kinds:
            raise ValueError(f"its {name} is a {type(attributes[name]).__name__}.")
    if not _is_number_of(attributes, settings.get("n_clusters")):
        raise ValueError("it does not have n_clusters centroids.")
    return StoredModel(header["class"], settings, attributes | private)


def _taken_rays(arrays: dict[str, Array]) -> tuple[Array, Array] | None:
    """The rays of clusters that have several, and their owners; they leave the arrays."""
    rays, owner = (arrays.pop(name, None) for name in RAYS)
    W = arrays["cluster_centers_"]
    weight = arrays.get("ray_weight_", np.ones(len(W)))
    if rays is None or owner is None:
        rays, owner = W, np.arange(len(W))
    sound = rays.ndim == 2 and rays.shape[1] == W.shape[1] and rays.dtype.kind == "f"
    sound &= owner.shape == weight.shape == (len(rays),) and owner.dtype.kind == "i"
    if not sound or np.unique(owner).tolist() != [*range(len(W))]:
        raise ValueError("its rays are not those of its clusters.")
    if not np.isfinite(rays).all() or not (weight >= 0).all() or not np.isfinite(weight).all():
        raise ValueError("its rays are not finite.")
    return None if len(rays) == len(W) else (rays, owner.astype(np.intp))


def _check_arrays(arrays: dict[str, Array], attributes: dict[str, Any]) -> int:
    """Centroids, memberships and labels agree in shape, and are sound; the number of features."""
    W = arrays["cluster_centers_"]
    none = np.empty((0, len(W) if W.ndim else 0), W.dtype), np.empty(0, np.int64)
    known = OF_SAMPLES if any(name in arrays for name in OF_SAMPLES) else ()
    H, labels = [arrays[name] for name in known] or none
    shapes = [(len(labels), len(W)), (len(labels),)] if labels.ndim and W.ndim else []
    if W.ndim != 2 or not all(W.shape) or labels.ndim != 1 or H.shape not in shapes:
        raise ValueError("its centroids, memberships and labels differ in shape.")
    if W.dtype.kind != "f" or H.dtype.kind != "f" or labels.dtype.kind != "i":
        raise ValueError("its centroids, memberships or labels are of the wrong type.")
    if not (np.isfinite(W).all() and np.isfinite(H).all()):
        raise ValueError("its centroids or memberships are not all finite.")
    if len(labels) and not -1 <= labels.min() <= labels.max() < len(W):
        raise ValueError("it has labels of clusters that it does not have.")
    if known:
        arrays["labels_"] = labels.astype(np.intp)
        arrays["membership_"] = _unfold(H, labels, len(W)) if H.ndim == 1 else H
    _check_limit(attributes.get(LIMIT, (0.0, 0.0)))
    if attributes.get("n_features_in_") != W.shape[1]:
        raise ValueError("its number of features is not that of its centroids.")
    _check_unusual(arrays, W.shape[1])
    return W.shape[1]


def _check_unusual(arrays: dict[str, Array], m: int) -> None:
    """What is usual in each cluster: weights of features, and three columns of numbers."""
    weights, kept = (arrays.get(name) for name in OF_UNUSUAL)
    if weights is None or kept is None:
        return
    rays = len(arrays.get(RAYS[0], arrays["cluster_centers_"]))
    sound = weights.shape == (m,) and kept.shape[1:] == (3,)
    if not sound or not (np.isfinite(weights).all() and np.isfinite(kept).all()):
        raise ValueError("its distances of samples are damaged.")
    if len(kept) and not 0 <= kept[:, 0].min() <= kept[:, 0].max() < rays:
        raise ValueError("its distances are of rays that it does not have.")


def _check_limit(limit: Any) -> None:
    """Two numbers that are not negative, the second one of the powers there are."""
    numbers = isinstance(limit, tuple) and [type(part) for part in limit] == [float, float]
    if not numbers or not 0 <= limit[0] < np.inf or limit[1] not in POWERS:
        raise ValueError("its limit of outliers is no pair of a height and a power.")


def _take_out(settings: Any, place: int, arrays: dict[str, Array]) -> Step:
    """One step of the chain, with its arrays, which leave the others."""
    if not isinstance(settings, dict) or settings.get("step") not in STEPS:
        raise ValueError("its chain has an unknown step.")
    learnt = {name: decode(value) for name, value in settings.items() if name != "step"}
    for key in [key for key in arrays if key.startswith(_step_array(place, ""))]:
        learnt[key.removeprefix(_step_array(place, ""))] = arrays.pop(key)
    step: Step = STEPS[settings["step"]](**learnt)
    return step


def _as_stages(history: Array) -> list[Stage]:
    """The history, with whole numbers where they belong."""
    if history.ndim != 2 or history.shape[1] != len(Stage._fields):
        raise ValueError("its history has another shape.")
    rows = (Stage(*row) for row in history.tolist())
    return [row._replace(**{name: int(getattr(row, name)) for name in COUNTS}) for row in rows]


def _as_names(names: Any, n_features: int) -> Array:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("its names of features are not text.")
    if len(names) != n_features:
        raise ValueError(f"it has {len(names)} names for {n_features} features.")
    return np.array(names, dtype=object)


def load(path: str | Path) -> "ONMF":
    """Read a fitted model that `save`, or ``onmf cluster``, wrote.

    No pickle is inside: nothing in the file is executed, and a damaged or forged file is refused.
    `preprocessing_` of a model made by ``onmf cluster`` are the steps that its data went through;
    ``onmf.prepare.steps.apply(model.preprocessing_, X)`` does the same to new samples.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    ONMF
        With all fitted attributes.

    Raises
    ------
    FormatError
        A ValueError: the file is no model, is damaged, or was written before version 1.0.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import onmf
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.onmf")
    >>> onmf.ONMF(2, random_state=0).fit(np.eye(2)).save(path)
    >>> onmf.load(path).predict([[0.1, 3.0]])
    array([1])
    """
    from onmf.estimators import ONMF

    kind, parameters, attributes = read_model(path)
    try:
        model = {"ONMF": ONMF}[kind](**parameters)
        check_parameters(model.get_params(deep=False))
        if isinstance(model, ONMF):
            check_solver_parameters(solver_of(model.solver))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{Path(path).name} holds a {kind} that this onmf does not know: {error}."
        ) from error
    strange = [name for name in attributes if hasattr(type(model), name) and name[0] != "_"]
    if strange:
        raise FormatError(f"{Path(path).name} has values for {', '.join(strange)}, a method.")
    model.__dict__.update(attributes)
    return model
