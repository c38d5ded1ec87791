"""Commands run in an empty folder."""

import pytest


@pytest.fixture(autouse=True)
def few_splits(monkeypatch):
    """Half the time of a command goes into five splits of the features: here there is one."""
    monkeypatch.setattr("onmf.explain.explanation.SPLITS", 1)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
