"""Fixtures of the tests of pages."""

from report.browsing import browser

__all__ = ["browser"]
