"""Commands run in an empty folder."""

import pytest


@pytest.fixture(autouse=True)
def few_splits():
    """Half the time of a command goes into five splits of the features: here there is one."""
    with pytest.MonkeyPatch.context() as patch:  # of its own: a test may undo the other
        patch.setattr("onmf.explain.explanation.SPLITS", 1)
        yield


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
