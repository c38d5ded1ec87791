"""Options that several subcommands share, and how they become an `Input`."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from onmf.losses import LOSSES
from onmf.page.images import image_shape
from onmf.prepare import Tfidf
from onmf.prepare.base import Step, StepOption
from onmf.prepare.numerals import to_count
from onmf.prepare.steps import STEPS, WEIGHTS_OF_WORDS, suited_loss
from onmf.prepare.texts import document_count
from onmf_app.console import note
from onmf_app.read.documents import find_documents
from onmf_app.runs.config import CONFIG
from onmf_app.runs.inputs import Input, step_parameters
from onmf_app.runs.records import READING, PreviousRun
from onmf_app.sections import DOCUMENTS, PREPARATION, Decorator, section


class Word(click.ParamType):
    """The word after an option, read by a function that raises ValueError if it is wrong."""

    def __init__(self, parse: Callable[[str], Any], name: str) -> None:
        self.parse, self.name = parse, name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError:
            self.fail(f"{value!r} is not {self.name.replace('|', ' or ')}.", param, ctx)


def cluster_count(word: str) -> int | range | str:
    """A number of clusters, a range LOW:HIGH to choose from, or `auto`."""
    if word == "auto":
        return word
    low, colon, high = word.partition(":")
    first, last = to_count(low), to_count(high if colon else low)
    if not 1 <= first <= last or (colon and first < 2):
        raise ValueError
    return range(first, last + 1) if colon else first


def outlier_count(word: str) -> int | float | str:
    """`auto`, a share of the samples below 1, or a number of them."""
    if word in ("auto", "0"):
        return word if word == "auto" else 0
    count = document_count(word)
    if count == 1.0 and isinstance(count, float):
        raise ValueError
    return count


def checked_shape(word: str) -> str:
    """The height and width of images, as they were typed."""
    image_shape(word)
    return word


def step_option(step: type[Step], option: StepOption) -> Decorator:
    """The option of a step."""
    name = option.parameter or step.name
    same = [o.default for o in step.options if o.parameter == option.parameter]
    default = next((word for word in same if word is not None), None)  # one for all of them
    how: dict[str, Any] = {"default": default, "flag_value": option.value, "show_default": False}
    if option.choices:
        how = {"multiple": True, "type": click.Choice(option.choices)}
    elif option.parse is not None:
        kind = Word(option.parse, option.metavar or "TEXT")
        how = {"default": option.default, "type": kind, "metavar": option.metavar}
    return click.option(option.flag, name, help=option.help, **how)


INPUT = click.Path(exists=True, path_type=Path, allow_dash=True)
GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)  # typed, or in --config
OF_NUMBERS = {  # options of inputs that are no documents, or say where they are
    "text_column", "transpose", "decimal", "thousands", "skip_rows", "sheet", "layer", "raw",
    "describe", "images",
}  # fmt: skip
LIKE = click.option(
    "--like", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of an earlier run: read and prepare as there, start from its clusters, keep ids.",
)  # fmt: skip
FOLLOW_LINKS = click.option(
    "--follow-links", is_flag=True,
    help="Documents: accept links to files outside the folder.",
)  # fmt: skip
loss_option = click.option(
    "--loss", type=click.Choice([*LOSSES]),
    help="kl: Kullback-Leibler divergence, for counts of words or reads. Default: kl for texts "
    "and raw counts, frobenius (squares) for other data.",
)  # fmt: skip
OF_SQUARES = {"images"}  # need them
READING_SECTION = section(
    "Input",
    click.option("--labels", metavar="COLUMN|FILE|FILE:COLUMN",
                 help="True classes, for comparison only."),
    click.option("--transpose/--no-transpose", default=None,
                 help="Rows of the input are features, or samples; found by itself if not given."),
    click.option("--drop", multiple=True, metavar="NAME",
                 help="Column or row of a table to leave out; may be repeated."),
    click.option("--duplicates",
                 type=click.Choice(["number", "sum", "first", "refuse", "keep"]),
                 help="Features of the same name: number (default), sum, first or refuse. Equal "
                 "texts: keep (default), or first, which fits only one of them and gives its label "
                 "to all."),
    click.option("--decimal", type=click.Choice([".", ","]),
                 help="Decimal sign of a text table; found by itself if not given."),
    click.option("--thousands", default="", metavar="MARK", show_default=False,
                 help="Separator of digit groups in a text table: , or ' or a space."),
    click.option("--skip-rows", type=click.IntRange(0), default=0, metavar="N",
                 show_default=False, help="Lines above the table to leave out."),
    click.option("--encoding", metavar="NAME",
                 help="Of a text file; UTF-8, or else found by itself if not given."),
    click.option("--sheet", metavar="NAME", help="Sheet of a workbook; the first if not given."),
    click.option("--layer", metavar="NAME",
                 help="Of an .h5ad file, instead of X: a layer, raw, or obsm/NAME."),
    click.option("--text-column", metavar="NAME",
                 help="Column with documents, in a .csv, .tsv, .jsonl, .parquet or .xlsx file."),
    click.option("--id-column", metavar="NAME",
                 help="Column with the names of the documents; otherwise they are numbered."),
    CONFIG,
)  # fmt: skip


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How the input is read."""
    return READING_SECTION(command)


def preparation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is done to the input: `--text`, and the options of all steps."""
    every = [(step, option) for step in STEPS.values() for option in step.options]
    numbers = [step_option(step, option) for step, option in every if not step.of_texts]
    texts = [step_option(step, option) for step, option in every if step.of_texts]
    text = click.option("--text", is_flag=True, help="The input holds documents: files or lines.")
    command = section(DOCUMENTS, text, FOLLOW_LINKS, *texts)(command)
    raw = click.option(
        "--raw",
        is_flag=True,
        help="Cluster all numbers as they are, by squares; else raw counts of genes get --cp10k "
        "--log, other counts --loss kl, measurements in different units --scale, and columns of "
        "row numbers, ids or years are left out.",
    )
    return section(PREPARATION, *numbers, raw)(command)


def source_of(path: Path, options: dict[str, Any], previous: PreviousRun | None = None) -> Input:
    """The input that the options describe; they are removed from `options`."""
    origin = click.get_current_context().get_parameter_source
    given = {name for name in options if origin(name) in GIVEN}
    plain_flags = (STEPS.keys() - step_parameters()) & options.keys()  # log, unit, ...
    if previous is None:
        if not options["text"] and not given & OF_NUMBERS:
            _take_documents(path, options)
        steps = tuple(_chosen_steps(options, given))
    elif clash := given & (step_parameters() | plain_flags | {"text", "raw"}):
        raise click.UsageError(
            f"the input is prepared as in the earlier run: leave out {_flags(clash)}."
        )
    else:
        options |= {n: v for n, v in previous.settings().items() if n not in given}
    for name in plain_flags:
        del options[name]
    settings = {name: options.pop(name) for name in step_parameters()}
    read = {own.name: options.pop(own.name) for own in fields(Input) if own.name in options}
    if previous is None:
        source = Input(path, steps=steps, settings=settings, **read)
    else:
        asked = {name: read[name] for name in READING if name in given}
        source = previous.source(path, asked, read["follow_links"])
    if "loss" in options and (source.steps or given & OF_SQUARES):  # else the data decide
        options["loss"] = options["loss"] or suited_loss(source.steps)
    return source.received()


def _take_documents(path: Path, options: dict[str, Any]) -> None:
    """Set `text` and `text_column` for an input that holds documents and not numbers."""
    found = find_documents(path, options["drop"], options["encoding"])
    if found is not None:
        options |= {"text": True, "text_column": found or None}
        where = (
            f"its column {found!r} has the texts (--text-column)" if found else "--text is added"
        )
        note(path.name, [f"it holds documents: {where}."])


def _chosen_steps(options: dict[str, Any], given: set[str]) -> list[str]:
    """The names of the steps, in order; sets `options["text"]`."""
    described = options.get("describe") is not None
    of_documents = options["text_column"] is not None and not described
    options["text"] = text = options["text"] or of_documents
    chosen = {
        name
        for name, step in STEPS.items()
        if (text if step.of_texts else any(options[o.parameter or name] for o in step.options))
    }
    if not text:
        of_texts = (o.parameter for s in STEPS.values() if s.of_texts for o in s.options)
        clash = given & {*of_texts, "follow_links"}
        if clash and not described:
            raise click.UsageError(f"{_flags(clash)} needs --text or --text-column.")
        if options["duplicates"] == "keep":
            raise click.UsageError("--duplicates keep needs --text or --text-column.")
        return [name for name in STEPS if name in chosen]
    if clash := given & {"transpose", "layer", "raw", "describe"}:
        raise click.UsageError(f"--text does not combine with {_flags(clash)}.")
    if options["duplicates"] not in (None, "keep", "first"):
        raise click.UsageError("--duplicates of texts is keep or first.")
    loss = options.get("loss")
    plain = all(STEPS[name].of_texts for name in chosen)
    if Tfidf.name in chosen or (loss and plain and not LOSSES[loss].takes_counts):
        chosen |= {step.name for step in WEIGHTS_OF_WORDS}
    return [name for name in STEPS if name in chosen]


def _flags(parameters: set[str]) -> str:
    """The options that set these parameters, as they were typed."""
    context = click.get_current_context()
    flags = []
    for option in context.command.params:
        value = getattr(option, "flag_value", None)
        other = isinstance(value, str) and value != context.params.get(option.name)
        if option.name in parameters and not other:
            flags.append(option.opts[0])
    return ", ".join(sorted(flags))
