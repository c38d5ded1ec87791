"""Commands run in an empty folder."""

import pytest


@pytest.fixture(autouse=True)
def plain(plain_pages):
    """What a command shows is tested elsewhere."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
