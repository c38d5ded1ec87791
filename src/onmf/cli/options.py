"""Options that several subcommands share, and the words they understand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from onmf.cli.console import note, notes, waiting, within_memory, write_log
from onmf.cli.runs import Input, Parent, before_fit, check_entries
from onmf.cli.runs.parent import READING
from onmf.cli.runs.standard_input import receive
from onmf.io import Table
from onmf.io.cells import to_count, to_number
from onmf.io.remote import AnyFile, as_file, is_remote
from onmf.io.table import Progress
from onmf.losses import LOSSES
from onmf.preparation.stop_words import LANGUAGES
from onmf.preparation.texts import MOST_WORDS, PAIRS, WORD

STEP_OPTIONS = (
    "log",
    "scale",
    "tfidf",
    "unit",
)  # in order, after depth
DOCUMENT_STEPS = ("words", "tfidf")
RAW_NAMES = click.option(
    "--raw-names",
    is_flag=True,
    help="Write names into .csv files as they are, also those that a spreadsheet would run.",
)


LIKE = click.option(
    "--like",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of an earlier run to go on from: read and prepare as there; clusters keep ids.",
)
REMOTE = click.option(
    "--remote", is_flag=True, help="Fetch the input if it is on another machine, as run.json says."
)


class InputPath(click.Path):
    """A file or folder of this machine, `-`, or the address of a file elsewhere."""

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=Path, allow_dash=True)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            if is_remote(value):
                return as_file(value)
            raise


class ClusterCount(click.ParamType):
    """A number of clusters, a range LOW:HIGH to choose from, or `auto`."""

    name = "K|LOW:HIGH|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | range | str:
        if isinstance(value, int | range) or value == "auto":
            return value
        low, colon, high = value.partition(":")
        try:
            first, last = to_count(low), to_count(high if colon else low)
        except ValueError:
            self.fail(f"{value!r} is no number, LOW:HIGH or auto.", param, ctx)
        if not 1 <= first <= last or (colon and first < 2):
            self.fail(f"{value!r} must be 1 or more, or rise from 2 or more.", param, ctx)
        return range(first, last + 1) if colon else first


class DocumentCount(click.ParamType):
    """A number of documents, or a share of them."""

    name = "N|SHARE"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | float:
        if isinstance(value, int | float):
            return value
        try:
            number = to_number(str(value)) if "." in str(value) else to_count(str(value))
        except ValueError:
            number = -1
        if number < 0 or number == 0 or (isinstance(number, float) and number > 1):
            self.fail(f"{value!r} is neither a number of documents nor a share.", param, ctx)
        return number


class OutlierCount(click.ParamType):
    """`auto`, a share of the samples, or a number of them."""

    name = "auto|SHARE|N"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | float | str:
        if value == "auto":
            return "auto"
        try:
            number = to_number(str(value)) if "." in str(value) else to_count(str(value))
        except ValueError:
            number = -1
        if number < 0 or (isinstance(number, float) and number >= 1):
            self.fail(f"{value!r} is neither auto nor a share nor a number of samples.", param, ctx)
        return number


class WordRange(click.ParamType):
    """FEWEST:MOST words in a row."""

    name = "FEWEST:MOST"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        try:
            fewest, most = (to_count(side) for side in value.split(":"))
        except ValueError:
            fewest = most = 0
        if not 1 <= fewest <= most <= MOST_WORDS:
            self.fail(f"{value!r} is not FEWEST:MOST, from 1 to {MOST_WORDS}.", param, ctx)
        return fewest, most


class CenterBounds(click.ParamType):
    """LOW:HIGH, either of which may be left out, or `data`."""

    name = "LOW:HIGH|data"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "data" or isinstance(value, tuple):
            return value
        low, colon, high = value.partition(":")
        try:
            bounds = tuple(to_number(side) if side else None for side in (low, high))
        except ValueError:
            colon = ""
        if not colon:
            self.fail(f"{value!r} is neither LOW:HIGH nor data.", param, ctx)
        return bounds


INPUT = InputPath()


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How the input is to be read."""
    for option in (
        click.option("--log-file", type=click.Path(dir_okay=False, path_type=Path),
                     callback=write_log, expose_value=False,
                     help="Write what is said, and how far it is, into this file as well."),
        click.option("--id-column", metavar="NAME",
                     help="Column with the names of the documents; else they are numbered."),
        click.option("--text-column", metavar="NAME",
                     help="Documents are in this column of a .csv, .tsv, .jsonl, .parquet, .xlsx."),
        click.option("--duplicates", type=click.Choice(["refuse", "sum", "first"]),
                     default="refuse", help="What becomes of features of the same name."),
        click.option("--drop", multiple=True, metavar="NAME",
                     help="Column or row of a table to leave out; may be given again."),
        click.option("--thousands", default="", metavar="MARK",
                     help="What groups the digits of a text table: , or ' or a space."),
        click.option("--decimal", type=click.Choice([".", ","]), default=".",
                     help="Decimal sign of a text table."),
        click.option("--layer", help="Layer of an .h5ad file, instead of X."),
        click.option("--labels", help="True classes: a column of the input, or a file."),
        click.option("--transpose", is_flag=True, help="Rows of the input are features."),
    ):  # fmt: skip
        command = option(command)
    return command


def preparation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is done to the input."""
    for option in (
        click.option("--max-df", type=click.FloatRange(0, 1), default=0.5,
                     help="With --text: leave out words of a larger share of documents."),
        click.option("--min-df", type=DocumentCount(), default=2, metavar=DocumentCount.name,
                     help="With --text: leave out words of fewer documents, or a smaller share."),
        click.option("--strip", multiple=True, type=click.Choice(["mail", "html"]),
                     help="With --text: without the headers of mails, or the tags of HTML."),
        click.option("--characters", is_flag=True,
                     help="With --text: count pairs of characters, for scripts without spaces."),
        click.option("--token-pattern", "pattern", default=WORD, show_default=False,
                     help="With --text: what is a word, as a regular expression."),
        click.option("--ngrams", type=WordRange(), default=(1, 1), show_default=False,
                     metavar=WordRange.name,
                     help="With --text: words in a row that count as one feature.  [default: 1:1]"),
        click.option("--stop-words", default="english", metavar="LANG|FILE|none",
                     help=f"With --text: words to leave out; LANG is {', '.join(LANGUAGES)}."),
        click.option("--unit", is_flag=True, help="Scale every sample to length 1."),
        click.option("--tfidf", is_flag=True, help="Weigh counts by tf-idf."),
        click.option("--scale", is_flag=True,
                     help="Give every feature the same weight: for measurements in many units."),
        click.option("--log", is_flag=True, help="Take log2(1 + x); of counts after --cpm."),
        click.option("--cpm-median", "total", flag_value="median", default=None,
                     help="The same, to the median of the samples' totals."),
        click.option("--cpm", "total", flag_value="1e6", default=None,
                     help="Scale every sample to a total of a million: counts per million."),
        click.option("--follow-links", is_flag=True,
                     help="With --text: also links that lead out of the folder."),
        click.option("--text", is_flag=True, help="The input holds documents: files, or lines."),
    ):  # fmt: skip
        command = option(command)
    return command


votes_option = click.option(
    "--equal-votes",
    is_flag=True,
    help="Long samples have no more say than short ones; memberships keep their units.",
)


loss_option = click.option(
    "--loss",
    type=click.Choice(list(LOSSES)),
    default="frobenius",
    help="kl: for counts as they are (words, reads), the Kullback-Leibler divergence.",
)


def source_like(parent: Parent, path: AnyFile, options: dict[str, Any]) -> Input:
    """The source that the parent describes; options of the command line may say how it is read."""
    told = click.get_current_context().get_parameter_source
    given = {name for name in options if told(name) is ParameterSource.COMMANDLINE}
    own = {field.name for field in fields(Input)}
    prepared = sorted(given & {*own, *STEP_OPTIONS, "characters"} - {*READING, "follow_links"})
    if prepared:
        raise click.UsageError(
            "--like prepares the input as the run before: leave out "
            f"--{', --'.join(prepared).replace('_', '-')}."
        )
    reading = {name: options[name] for name in READING if name in given}
    for name, value in parent.settings().items():
        options[name] = options[name] if name in given else value
    follow = options["follow_links"]
    for name in {*own, *STEP_OPTIONS, "characters"} & options.keys():
        del options[name]
    source = parent.source(path, reading, follow)
    return replace(source, path=receive(path, source.text and source.text_column is None))


def source_of(path: AnyFile, options: dict[str, Any], parent: Parent | None = None) -> Input:
    """The source that the options describe, which are taken out of them."""
    if parent is not None:
        return source_like(parent, path, options)
    options["text"] = options["text"] or options["text_column"] is not None
    if options.pop("characters"):
        options["pattern"] = PAIRS
    chosen = ["depth"] if options["total"] else []
    chosen += [name for name in STEP_OPTIONS if options.pop(name)]
    if options["text"] and (chosen or options["transpose"] or options["layer"]):
        raise click.UsageError(
            "--text has its own weights: leave out --cpm, --log, --scale, --tfidf, --unit, "
            "--transpose and --layer."
        )
    steps = tuple(chosen)
    if options["text"]:
        counts = "loss" in options and LOSSES[options["loss"]].takes_counts
        steps = DOCUMENT_STEPS[:1] if counts else DOCUMENT_STEPS
        steps = ("strip", *steps) if options["strip"] else steps
    own = {field.name for field in fields(Input)} & options.keys()
    lines = options["text"] and options["text_column"] is None
    return Input(receive(path, lines), steps=steps, **{name: options.pop(name) for name in own})


@contextmanager
def reading(source: Input) -> Iterator[Progress]:
    """A bar for the time that the input takes; warnings and lack of memory are said of it."""
    name = source.path.name
    with within_memory(name), notes(name), waiting(f"Reading {name}") as progress:
        yield progress


def read_with_notes(source: Input, holes: bool = False) -> Table:
    """The input as it is, once its entries pass, and what there is to say about it."""
    with reading(source) as progress:
        table = source.read(progress)
        check_entries(table, source.path.name, holes=holes)
    note_before_fit(source, table)
    return table


def note_before_fit(source: Input, table: Table) -> None:
    """What there is to say of the input as it was read."""
    with waiting(f"Looking at {source.path.name}"):
        said = before_fit(source, table)
    note(source.path.name, said)
