"""scikit-learn's base classes, as mypy should see them.

scikit-learn has no type hints: to mypy its classes are Any, and a class that inherits from Any has
every attribute, `lables_` too. So mypy gets the declarations of `declared.pyi`. At run time, and to
pyright, which reads scikit-learn's code, they are scikit-learn's own.
"""

from typing import TYPE_CHECKING, Any

MYPY = False  # which mypy takes for True

if MYPY:
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


__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "ClusterMixin",
    "TransformerMixin",
    "available_if",
    "with_callbacks",
]
