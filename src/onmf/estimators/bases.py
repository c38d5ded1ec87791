"""scikit-learn's base classes, as type checkers should see them.

scikit-learn has no type hints: to mypy its classes are Any, and a class that inherits from Any has
every attribute, `lables_` too. So type checkers get the declarations of `declared.pyi`. At run time
the classes are scikit-learn's own.
"""

from importlib.metadata import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onmf.estimators.declared import (
        BaseEstimator,
        CallbackSupportMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        TransformerMixin,
    )
else:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        TransformerMixin,
    )

    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError:  # before 1.9

        class CallbackSupportMixin:
            """Nothing to support."""


if TYPE_CHECKING:  # decorators that leave a method its type
    from onmf.estimators.declared import available_if, with_callbacks
else:
    from sklearn.utils.metaestimators import available_if

    try:
        from sklearn.callback import with_callbacks
    except ImportError:

        def with_callbacks(method: Any) -> Any:
            """The method itself."""
            return method


class DocumentedEstimator(BaseEstimator):
    """An estimator whose HTML view links its page of the documentation."""

    _doc_link_module = "onmf"

    @property
    def _doc_link_template(self) -> str:
        """With the address in `[project.urls]` of pyproject.toml; empty if there is none."""
        addresses = metadata("onmf").get_all("Project-URL") or []
        home = dict(entry.split(", ", 1) for entry in addresses).get("Documentation")
        return "" if home is None else f"{home}en/stable/api/generated/onmf.{{estimator_name}}.html"


__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "ClusterMixin",
    "DocumentedEstimator",
    "TransformerMixin",
    "available_if",
    "with_callbacks",
]
