"""`onmf update`."""

import json
from pathlib import Path
from typing import Any

import click

from onmf.cli.console import note, say, waiting
from onmf.cli.options import INPUT, RAW_NAMES, reading_options
from onmf.cli.predict import MISSING, read_along
from onmf.cli.runs import RUN, Input, align_features
from onmf.cli.runs.standard_input import receive
from onmf.cli.runs.streams import StreamRun
from onmf.io import checksum, place_for
from onmf.preparation import Words


@click.command("update")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("input", type=INPUT, required=False)
@click.option(
    "--batch",
    metavar="NAME",
    help="What the batch is called; a batch of a name that was counted is not counted again.",
)
@click.option(
    "--max-clusters", type=click.IntRange(1), default=1000, help="That there may be at a time."
)
@reading_options
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero"]),
    default="refuse",
    help="What becomes of features of the model that the input lacks.",
)
@click.option("--follow-links", is_flag=True, help="Of documents: also links out of the folder.")
@RAW_NAMES
@click.option("--json", "as_json", is_flag=True, help="Print what is known of the last batch.")
def run_update(
    folder: Path,
    batch: str | None,
    max_clusters: int,
    missing: str,
    raw_names: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Take one batch more into the clusters of a finished run.

    FOLDER is what `onmf cluster` wrote, INPUT the batch, read and prepared as `onmf predict` does.
    Its samples go to their nearest clusters, and these turn towards them; clusters keep their ids.
    Samples that are strange to all of them wait, and where enough agree, a cluster is born; one
    that has had nothing for long is closed, and its id never given again.

    A batch that was counted is not counted again: it is known by its content, or by --batch. The
    command may be killed at any moment and given again. Without INPUT it only puts in order what a
    killed one left.

    Written are batches/00001.csv and so on (the cluster of each sample), stream.html (sizes and
    words of the clusters over the batches), centers.csv, top_features.csv, model.onmf, run.json and
    stream.onmf, the state of all.

    \b
    Examples:
      onmf update topics tuesday.csv --text-column abstract
      onmf update result week-32.csv --batch week-32
    """
    given = options.pop("input")
    with place_for(folder, [RUN], force=True):
        run = StreamRun.of(folder)
        said = "" if given is None else count(run, given, batch, max_clusters, MISSING[missing],
                                              raw_names, options)  # fmt: skip
        if len(run.batches) > 1:
            with waiting("Writing the files"):
                run.write()
    say(json.dumps(run.batches[-1], indent=2) if as_json else said + run.sentence())


def count(
    run: StreamRun,
    path: Any,
    batch: str | None,
    most: int,
    fill: float | None,
    raw_names: bool,
    options: dict[str, Any],
) -> str:
    """Take the batch in, unless it is known; what there is to say about it."""
    model = run.model
    of_words = any(isinstance(step, Words) for step in getattr(model, "preprocessing_", ()))
    lines = of_words and options["text_column"] is None
    source = Input(receive(path, lines), text=of_words, **options)
    key = batch or checksum(source.path, source.follow_links)
    name = batch or source.path.name
    if run.knows(key):
        return f"{name} was counted before, and nothing is changed. "
    table, told = align_features(read_along(source, model), model, fill)
    with waiting(f"Taking in {name}"):
        run.take_in(table, key, name, most, raw_names)
    note(name, told)
    return ""
