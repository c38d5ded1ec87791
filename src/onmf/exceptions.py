"""Warnings and errors of the package, by name, so that each can be caught or silenced alone.

A fit that ran into a limit gives scikit-learn's `ConvergenceWarning`.
"""

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "EmptyClusterWarning",
    "FormatError",
    "SignedDataWarning",
    "TableWarning",
    "UnassignedSampleWarning",
    "UnobservedWarning",
    "UnsavedParameterWarning",
    "UnusedParameterWarning",
]


class EmptyClusterWarning(UserWarning):
    """Fewer clusters than asked for have samples.

    ``solver="palm"`` may leave clusters empty; the default solver
    does so only if X has fewer directions than clusters were asked for: those that there are then
    explain X without error, and no further one could.

    Examples
    --------
    >>> import warnings
    >>> from onmf import ONMF
    >>> from onmf.exceptions import EmptyClusterWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", EmptyClusterWarning)
    ...     model = ONMF(3, solver="palm", random_state=0).fit([[3, 1], [6, 2], [1, 3]])
    >>> len(set(model.labels_.tolist()))
    2
    """


class FormatError(ValueError):
    """A file that is damaged, is not what it should be, or is of a version that is not known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import onmf
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.onmf")
    >>> _ = path.write_bytes(b"noise")
    >>> try:
    ...     onmf.load(path)
    ... except onmf.exceptions.FormatError as error:
    ...     print(error)
    model.onmf is not a model, or is damaged: File is not a zip file
    """


class SignedDataWarning(UserWarning):
    """X has negative entries, so that the centroids are free.

    Examples
    --------
    >>> import warnings
    >>> from onmf import ONMF
    >>> from onmf.exceptions import SignedDataWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SignedDataWarning)  # embeddings, for example
    ...     model = ONMF(2, random_state=0).fit([[3, -1], [2, -0.9], [-1, 3]])
    >>> model.labels_
    array([0, 0, 1])
    """


class TableWarning(UserWarning):
    """Something in a table was set aside or put together so that it could be read.

    Examples
    --------
    >>> import warnings
    >>> from onmf.exceptions import TableWarning
    >>> warnings.simplefilter("ignore", TableWarning)
    """


class UnassignedSampleWarning(UserWarning):
    """Some samples belong to no cluster: all zero, or no feature in common with any centroid.

    Examples
    --------
    >>> import warnings
    >>> from onmf import ONMF
    >>> from onmf.exceptions import UnassignedSampleWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UnassignedSampleWarning)
    ...     model = ONMF(2, random_state=0).fit([[1, 0], [0, 1], [0, 0]])
    >>> model.labels_
    array([ 0, 1, -1])
    """


class UnobservedWarning(UserWarning):
    """X has NaN, and samples or features of which too little is observed.

    A sample without an observed entry has label -1; a feature without one is zero in every
    centroid, so that no sample is placed by it.

    Examples
    --------
    >>> import warnings
    >>> from onmf import ONMF
    >>> from onmf.exceptions import UnobservedWarning
    >>> nan = float("nan")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UnobservedWarning)
    ...     model = ONMF(2, random_state=0).fit([[3, nan], [nan, 2], [1, 0], [nan, nan]])
    >>> model.labels_
    array([ 0, 1, 0, -1])
    """


class UnsavedParameterWarning(UserWarning):
    """A parameter that only a pickle could store was left out of a saved model.

    Examples
    --------
    >>> import pathlib, tempfile, warnings
    >>> import onmf
    >>> from onmf.exceptions import UnsavedParameterWarning
    >>> model = onmf.ONMF(2, random_state=0, callback=lambda event: False).fit([[1, 0], [0, 1]])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.onmf")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UnsavedParameterWarning)
    ...     model.save(path)
    >>> onmf.ONMF.load(path).callback is None
    True
    """


class UnusedParameterWarning(UserWarning):
    """`n_init` asks for several starts, but `init` gives the centroids: there is one.

    Examples
    --------
    >>> import warnings
    >>> from onmf import ONMF
    >>> from onmf.exceptions import UnusedParameterWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UnusedParameterWarning)
    ...     model = ONMF(2, init=[[1, 0], [0, 1]], n_init=5).fit([[1, 0], [0, 1], [0, 2]])
    >>> model.labels_
    array([0, 1, 1])
    """
