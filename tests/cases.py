"""Cases of a test: those that `make quick` tries, and all."""

import pytest


def few(cases, n=1):
    """The first n of many cases of one promise; the others are slow: `make test` has them all."""
    return [
        case if i < n else pytest.param(*_values(case), marks=pytest.mark.slow)
        for i, case in enumerate(cases)
    ]


def _values(case):
    return case if isinstance(case, tuple) else (case,)
