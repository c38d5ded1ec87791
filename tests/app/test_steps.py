"""The command offers every step that is registered, by the options of its class."""

from dataclasses import dataclass, fields
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import onmf_app as cli
from onmf.prepare.base import Step, StepOption
from onmf.prepare.steps import STEPS
from onmf.rows.table import Table

pytest.importorskip("rich")

from command_line import ask
from onmf_app.options import preparation_options, reading_options, source_of
from onmf_app.runs.inputs import Input
from onmf_app.sections import SectionedCommand

pytestmark = pytest.mark.usefixtures("here")


@dataclass(frozen=True)
class Power(Step):
    """x^p."""

    p: float
    name = "power"
    options = (StepOption("--power", "Take powers.", "power", parse=float, metavar="P"),)

    @classmethod
    def fit(cls, X, power=1.0):
        return cls(power)

    def __call__(self, X):
        return X**self.p


def source(*words):
    """The input that these words describe, and the help of a command that takes them."""
    made = []

    @click.command("make", cls=SectionedCommand)
    @click.argument("input", type=Path)
    @reading_options
    @preparation_options
    def command(**options):
        made.append(source_of(options.pop("input"), options))
        assert options == {}

    CliRunner().invoke(command, ["x.csv", *words], catch_exceptions=False)
    return made[0], CliRunner().invoke(command, ["--help"]).output


def test_a_new_step_is_offered_applied_and_recorded(monkeypatch, here):
    monkeypatch.setitem(STEPS, "power", Power)
    found, help_ = source("--power", "3", "--log")
    assert "--power P" in help_
    assert "Take powers." in help_
    assert found.steps == ("log", "power")
    table, steps = found.learn(Table(np.array([[1.0, 3.0]]), ["a"], ["u", "v"]))
    np.testing.assert_array_equal(table.X, [[1, 8]])
    assert steps == (STEPS["log"](), Power(3.0))
    assert Input.from_record(found.record(here), here).settings == found.settings
    assert source()[0].steps == ()


def test_every_option_of_a_step_is_a_parameter_of_its_fit_or_chooses_it():
    help_ = cli.commands.get_command(None, "cluster").get_help(click.Context(click.Command("x")))
    for step in STEPS.values():
        code = step.fit.__func__.__code__
        known = code.co_varnames[: code.co_argcount]
        assert {option.parameter for option in step.options} <= {*known, ""}, step
        assert all(option.flag in help_ for option in step.options)
        assert all(option.value is not True for option in step.options if option.parameter
                   and option.parse is None and not option.choices)  # fmt: skip
        assert (
            [option for option in step.options if option.parameter]
            or not fields(step)
            or (step.name in ("tfidf", "scale"))
        )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--min-df", "3"], "--min-df needs --text or --text-column"),
        (["--strip", "mail", "--follow-links"], "--follow-links, --strip needs --text"),
        (["--text", "--layer", "x"], "--text does not combine with --layer"),
        (["--text", "--duplicates", "sum"], "--duplicates of texts is keep or first"),
        (["--duplicates", "keep"], "--duplicates keep needs --text"),
        (["--encoding", "klingon"], "there is no encoding 'klingon'"),
        (["--text", "--ngrams", "2:1"], "'2:1' is not LOW:HIGH"),
        (["--text", "--max-df", "2"], "'2' is not SHARE"),
    ],
)
def test_options_that_would_be_ignored_are_refused(words, said, capsys, here):
    (here / "x.csv").write_text("id,u\na,1\n")
    assert said in ask(capsys, "cluster", "x.csv", "-k", 2, "-o", "out", *words, code=2)
