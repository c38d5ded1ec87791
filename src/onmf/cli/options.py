"""Options that several subcommands share, and the words they understand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from onmf.cli.runs import Input

INPUT = click.Path(exists=True, path_type=Path)
STEP_OPTIONS = ("log", "tfidf", "unit")  # in the order in which they are applied
DOCUMENT_STEPS = ("words", "tfidf")


class ClusterCount(click.ParamType):
    """A number of clusters, a range LOW:HIGH to choose from, or `auto`."""

    name = "K|LOW:HIGH|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | range | str:
        if isinstance(value, int | range) or value == "auto":
            return value
        low, colon, high = value.partition(":")
        try:
            first, last = int(low), int(high if colon else low)
        except ValueError:
            self.fail(f"{value!r} is no number, LOW:HIGH or auto.", param, ctx)
        if not 1 <= first <= last or (colon and first < 2):
            self.fail(f"{value!r} must be 1 or more, or rise from 2 or more.", param, ctx)
        return range(first, last + 1) if colon else first


class CenterBounds(click.ParamType):
    """LOW:HIGH, either of which may be left out, or `data`."""

    name = "LOW:HIGH|data"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "data" or isinstance(value, tuple):
            return value
        low, colon, high = value.partition(":")
        try:
            bounds = tuple(float(side) if side else None for side in (low, high))
        except ValueError:
            colon = ""
        if not colon:
            self.fail(f"{value!r} is neither LOW:HIGH nor data.", param, ctx)
        return bounds


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How the input is to be read."""
    for option in (
        click.option("--layer", help="Layer of an .h5ad file, instead of X."),
        click.option("--labels", help="True classes: a column of the input, or a file."),
        click.option("--transpose", is_flag=True, help="Rows of the input are features."),
    ):
        command = option(command)
    return command


def preparation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is done to the input."""
    for option in (
        click.option("--max-df", type=click.FloatRange(0, 1), default=0.5,
                     help="With --text: leave out words of a larger share of documents."),
        click.option("--min-df", type=click.IntRange(1), default=2,
                     help="With --text: leave out words of fewer documents."),
        click.option("--unit", is_flag=True, help="Scale every sample to length 1."),
        click.option("--tfidf", is_flag=True, help="Weigh counts by tf-idf."),
        click.option("--log", is_flag=True, help="Take log2(1 + x)."),
        click.option("--text", is_flag=True, help="The input holds documents."),
    ):  # fmt: skip
        command = option(command)
    return command


votes_option = click.option(
    "--equal-votes",
    is_flag=True,
    help="Long samples have no more say than short ones; memberships keep their units.",
)


def source_of(path: Path, options: dict[str, Any]) -> Input:
    """The source that the options describe, which are taken out of them."""
    chosen = [name for name in STEP_OPTIONS if options.pop(name)]
    if options["text"] and (chosen or options["transpose"] or options["layer"]):
        raise click.UsageError(
            "--text has its own weights: leave out --log, --tfidf, --unit, --transpose and --layer."
        )
    steps = DOCUMENT_STEPS if options["text"] else tuple(chosen)
    names = ("text", "transpose", "labels", "layer", "min_df", "max_df")
    return Input(path, steps=steps, **{name: options.pop(name) for name in names})
