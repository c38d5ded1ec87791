"""What was done, with what, and how it ended: in a sentence, in figures, and in full."""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf.report.names import shown

PACKAGES = ("onmf", "numpy", "scipy", "scikit-learn")
LONGEST = 400  # characters of a parameter
PENALTIES = {"sncp": "smooth penalty", "nsncp": "non-smooth penalty"}


def account(model: Any) -> dict[str, Any]:
    """Parameters and versions of a fit that nobody kept a record of."""
    parameters = {k: v for k, v in model.get_params(deep=False).items() if k != "callback"}
    versions = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    return {"parameters": parameters, "versions": versions}


def plain(value: Any) -> Any:
    """The same as text, whole numbers, truth values, None, lists and dicts: fit to be shown."""
    if isinstance(value, dict):
        return {shown(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    return shown(value if isinstance(value, str) else repr(value), LONGEST)


def title(run: dict[str, Any]) -> str:
    """The name of the input file, if there was one."""
    source = run.get("input")
    file = source.get("file") if isinstance(source, dict) else None
    return shown(file) if file else "Clustering report"


def sentence(model: Any, shape: tuple[int, int]) -> str:
    """What was done, for people."""
    n, m = shape
    how = [PENALTIES.get(str(getattr(model, "penalty", "")), "")]
    if isinstance(seed := getattr(model, "random_state", None), int | np.integer):
        how.append(f"seed {seed}")
    means = ", ".join(filter(None, how))
    method = str(getattr(model, "method", type(model).__name__))
    ending = "" if getattr(model, "converged_", True) else ", where a limit stopped it"
    return (
        f"{method} put {n:,} samples of {m:,} features into {len(model.cluster_centers_):,} "
        f"clusters{f' ({means})' if means else ''}. One centroid a sample explains "
        f"{1 - model.relative_error_:.1%} of the data, after {count(model.n_iter_, 'sweep')} over "
        f"them{ending}."
    )


def count(n: int, what: str) -> str:
    """'1 sweep', '2 sweeps'."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def figures(model: Any, shape: tuple[int, int], labels: NDArray) -> dict[str, str]:
    """The key figures, with their names."""
    missing = int(np.sum(labels < 0))
    texts = {
        "samples": f"{shape[0]:,}",
        "features": f"{shape[1]:,}",
        "clusters": f"{len(model.cluster_centers_):,}",
        "relative error": f"{model.relative_error_:.4f}",
        "sweeps": f"{model.n_iter_:,}",
    }
    return texts | ({"in no cluster": f"{missing:,}"} if missing else {})
