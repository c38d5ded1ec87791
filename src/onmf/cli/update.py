"""`onmf update`."""

import json
from pathlib import Path
from typing import Any

import click

from onmf.cli.console import note, say, waiting
from onmf.cli.options import FOLLOW_LINKS, INPUT, RAW_NAMES, reading_options
from onmf.cli.predict import FILLS, read_for
from onmf.cli.runs.align import align_features
from onmf.cli.runs.inputs import Input
from onmf.cli.runs.records import RUN
from onmf.cli.runs.streams import StreamRun
from onmf.cli.sections import SectionedCommand
from onmf.io import checksum, place_for


@click.command("update", cls=SectionedCommand)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("input", type=INPUT, required=False)
@click.option("--batch", metavar="NAME", help="Name of the batch; each name is added only once.")
@click.option("--max-clusters", type=click.IntRange(1), default=1000, help="At any time.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero"]),
    default="refuse",
    help="What to do if the input lacks features of the model.",
)
@FOLLOW_LINKS
@RAW_NAMES
@click.option("--json", "as_json", is_flag=True, help="Print the entry of the last batch.")
@reading_options
def run_update(
    folder: Path,
    batch: str | None,
    max_clusters: int,
    missing: str,
    raw_names: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Add a batch of samples to the clusters of a finished run.

    FOLDER is the output folder of `onmf cluster`, INPUT the batch, read and prepared as by `onmf
    predict`. Samples are assigned to their nearest clusters, which move towards them and keep their
    ids. Samples far from all clusters wait, and enough similar ones become a new cluster. A cluster
    without new samples for long is closed; its id is not used again.

    A batch is added only once: it is recognised by its content, or by --batch. If the command is
    killed, run it again. Without INPUT it only completes what a killed command left.

    Writes batches/00001.csv and so on (the cluster of each sample), stream.html (sizes and words of
    the clusters over the batches), centers.csv, top_features.csv, model.onmf, run.json and
    stream.onmf, the state.

    \b
    Examples:
      onmf update result week-32.csv
      onmf update result week-32.csv --batch week-32
      onmf update topics tuesday.csv --text-column abstract
    """
    path = options.pop("input")
    with place_for(folder, [RUN], force=True):
        run = StreamRun.of(folder)
        said = ""
        if path is not None:
            source = Input.for_model(run.model, path, **options)
            key, name = (
                batch or checksum(source.path, source.follow_links),
                batch or source.path.name,
            )
            if run.knows(key):
                said = f"{name} was added before; nothing has changed. "
            else:
                table, notes = align_features(
                    read_for(run.model, source), run.model, FILLS[missing]
                )
                with waiting(f"Adding {name}"):
                    run.add(table, key, name, max_clusters, raw_names)
                note(name, notes)
        if len(run.batches) > 1:
            with waiting("Writing the files"):
                run.write()
    say(json.dumps(run.batches[-1], indent=2) if as_json else said + run.sentence())
