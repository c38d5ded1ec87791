"""The estimators by name, and the way back from a file to one of them."""

from pathlib import Path
from typing import Any

from onmf.estimators.onmf import ONMF
from onmf.estimators.parameters import check_parameters
from onmf.estimators.solvers import SOLVERS, check_solver_parameters, is_given, solver_of
from onmf.estimators.storage import read_model
from onmf.estimators.stream import StreamONMF
from onmf.exceptions import FormatError

ESTIMATORS: dict[str, type[ONMF]] = {
    "ONMF": ONMF,
    "StreamONMF": StreamONMF,
}
FORMER_PARAMETERS = (  # of ONMF in version 0.1, which are now those of a solver
    *("rho", "growth", "passes", "mu_h", "mu_w", "inner_tol", "accelerate", "checkpoint"),
    *("warm_start", "max_clusters"),
)


def with_solver_object(kind: str, parameters: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The class and parameters of a model of version 0.1 as they are now called."""
    if kind != "ONMF" or not set(FORMER_PARAMETERS) & set(parameters):
        return kind, parameters
    kept = {name: v for name, v in parameters.items() if name not in FORMER_PARAMETERS}
    solver = SOLVERS[parameters.get("solver", "fast")]
    names = set(solver().get_params(deep=False)) - {"checkpoint"}
    own = {name: value for name, value in parameters.items() if name in names and is_given(value)}
    if own:
        kept["solver"] = solver(**own)
    if parameters.get("max_clusters") is None:
        return kind, kept
    kept.pop("outliers", None)  # which could not be combined
    return "StreamONMF", kept | {"max_clusters": parameters["max_clusters"]}


def load(path: str | Path) -> ONMF:
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
        A ValueError: the file is no model, is damaged, or of a version that is not known.

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
    kind, parameters, attributes = read_model(path)
    try:
        kind, parameters = with_solver_object(kind, parameters)
        model = ESTIMATORS[kind](**parameters)
        check_parameters(model.get_params(deep=False))
        if isinstance(model, ONMF):
            check_solver_parameters(solver_of(model.solver))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{Path(path).name} holds a {kind} that this onmf does not know: {error}."
        ) from error
    strange = [name for name in attributes if hasattr(model, name)]
    if strange:
        raise FormatError(f"{Path(path).name} has values for {', '.join(strange)}, a method.")
    model.__dict__.update(attributes)
    return model
