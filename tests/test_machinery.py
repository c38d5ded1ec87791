"""What surrounds the code says what it should: container, hooks and workflow."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="not a checkout")


def test_the_container_installs_extras_that_exist_and_runs_the_demo():
    text = (ROOT / "Dockerfile").read_text()
    extras = re.search(r'"/onmf\[([\w,]+)\]"', text)[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*extras} <= {*project["optional-dependencies"]}
    assert "onmf demo" in text
    assert 'ENTRYPOINT ["onmf"]' in text


def test_the_workflow_calls_what_everybody_calls():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert re.findall(r"- run: (.*)", text)[0] == ".ci/run"  # the others are other systems
    assert (ROOT / ".ci" / "run").exists()


def test_the_hooks_ask_what_lint_asks():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    for tool in ("ruff-check", "ruff-format", "mypy"):
        assert f"id: {tool}" in hooks
