"""What a run was made with."""

import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("onmf", "numpy", "scipy", "scikit-learn")


def package_versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of Python and of packages: part of every record of a run.

    Parameters
    ----------
    packages : iterable of str
        By default onmf and those it cannot do without.

    Returns
    -------
    dict

    Examples
    --------
    >>> from onmf.report import package_versions
    >>> list(package_versions(["onmf", "numpy"]))
    ['python', 'onmf', 'numpy']
    """
    return {"python": platform.python_version()} | {name: _version(name) for name in packages}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
