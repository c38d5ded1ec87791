"""Versions of Python and packages."""

import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

REQUIRED_PACKAGES = ("onmf", "numpy", "scipy", "scikit-learn")


def package_versions(packages: Iterable[str] = REQUIRED_PACKAGES) -> dict[str, str]:
    """Versions of Python and of packages, as stored with every run.

    Parameters
    ----------
    packages : iterable of str
        By default onmf and the packages it requires.

    Returns
    -------
    dict

    Examples
    --------
    >>> from onmf.page import package_versions
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
