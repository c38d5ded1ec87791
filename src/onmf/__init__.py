"""Clustering by orthogonal non-negative matrix factorisation.

>>> from onmf import ONMF
>>> from onmf.datasets import make_rays
>>> X, y = make_rays(200, 30, 4, random_state=0)
>>> ONMF(n_clusters=4, random_state=0).fit(X).labels_.shape
(200,)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onmf import exceptions, explain, page, plot
    from onmf.cells import cluster_anndata
    from onmf.clusters import Clusters, cluster
    from onmf.estimators import ONMF, PALM, Fast, class_means, load
    from onmf.number import choose_k
    from onmf.palm.penalties import NSNCP, SNCP, General
    from onmf.texts import cluster_texts
    from onmf.tree import build_tree

__all__ = [
    "NSNCP",
    "ONMF",
    "PALM",
    "SNCP",
    "Clusters",
    "Fast",
    "General",
    "__version__",
    "build_tree",
    "choose_k",
    "class_means",
    "cluster",
    "cluster_anndata",
    "cluster_texts",
    "exceptions",
    "explain",
    "load",
    "page",
    "plot",
]
__version__ = "1.0.0"

# Imported when asked for: the command's --help need not wait for scikit-learn.
HOMES = {
    "NSNCP": "onmf.palm.penalties",
    "ONMF": "onmf.estimators",
    "PALM": "onmf.estimators",
    "SNCP": "onmf.palm.penalties",
    "Fast": "onmf.estimators",
    "General": "onmf.palm.penalties",
    "Clusters": "onmf.clusters",
    "build_tree": "onmf.tree",
    "choose_k": "onmf.number",
    "class_means": "onmf.estimators",
    "cluster": "onmf.clusters",
    "cluster_anndata": "onmf.cells",
    "cluster_texts": "onmf.texts",
    "load": "onmf.estimators",
}
MODULES = ("exceptions", "explain", "page", "plot")


if not TYPE_CHECKING:  # to which every name would be Any, misspelt ones too

    def __getattr__(name: str) -> Any:
        if name in MODULES:
            return import_module(f"onmf.{name}")
        if name not in HOMES:
            raise AttributeError(f"module 'onmf' has no attribute {name!r}")
        return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
