"""Fixtures of the tests of pages."""

from page.browsing import browser

__all__ = ["browser"]
