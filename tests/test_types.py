"""Type hints as users meet them: mypy and pyright find each mistake of a script, and no other."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each starts a process

SOURCES = Path(__file__).parents[1] / "src"
SCRIPT = Path(__file__).parent / "typed" / "script.txt"


@pytest.fixture
def script(tmp_path):
    """The script where a user would have it: outside of the package and of its settings."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.read_text())
    return path


@pytest.fixture
def wrong():
    lines = enumerate(SCRIPT.read_text().splitlines(), 1)
    numbers = [number for number, line in lines if line.endswith("# wrong")]
    assert len(numbers) == 30
    return numbers


def run(script, *command):
    whole = [sys.executable, "-m", *command, script.name]
    return subprocess.run(whole, cwd=script.parent, capture_output=True, text=True).stdout


def test_mypy_finds_every_mistake_and_no_other(script, wrong, monkeypatch):
    pytest.importorskip("mypy")
    monkeypatch.setenv("MYPYPATH", str(SOURCES))
    said = run(script, "mypy", "--ignore-missing-imports", "--follow-imports=silent")
    assert [int(n) for n in re.findall(r"script\.py:(\d+): error", said)] == wrong, said


def test_pyright_finds_every_mistake_and_no_other(script, wrong):
    pytest.importorskip("pyright")
    if shutil.which("node") is None:
        pytest.skip("pyright needs node")
    settings = {"extraPaths": [str(SOURCES)], "reportUnusedExpression": "none"}
    script.with_name("pyrightconfig.json").write_text(json.dumps(settings))
    said = json.loads(run(script, "pyright", "--outputjson", "--pythonpath", sys.executable))
    found = [
        one["range"]["start"]["line"] + 1
        for one in said["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    assert found == wrong, said
