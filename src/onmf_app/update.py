"""`onmf update`."""

import json
from dataclasses import replace
from pathlib import Path

import click

from onmf.files import checksum, place_for, replace_together, seal_files
from onmf_app import NOT_CONVERGED
from onmf_app.console import note, say
from onmf_app.options import INPUT
from onmf_app.runs.fits import fit_input
from onmf_app.runs.inputs import Input
from onmf_app.runs.page import make_report
from onmf_app.runs.records import REPORT, RUN, TREE, PreviousRun, read_source
from onmf_app.runs.summary import lost_ids, summarise_run


@click.command("update")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("input", type=INPUT)
@click.option("-k", "--clusters", "k", type=click.IntRange(1), help="Number of clusters from now.")
@click.option("--json", "as_json", is_flag=True, help="Print run.json instead of a summary.")
def run_update(folder: Path, input: Path, k: int | None, as_json: bool) -> int:  # noqa: A002
    """Cluster the samples of a finished run together with new ones.

    FOLDER is the output folder of `onmf cluster`, whose input must still exist, unchanged. INPUT
    has new samples of the same kind, read and prepared as that input was. The search starts from
    the clusters of the run, which keep their ids and names.

    All files are written again: all of them, or none if the command is killed.

    \b
    Examples:
      onmf update topics new-talks/
      onmf update result week-32.csv -k 12
    """
    with place_for(folder, [RUN], force=True):
        previous = PreviousRun.of(folder)
        source = with_new(read_source(previous.record, folder), input)
        settings = previous.settings() | {"random_state": previous.record["seed"]}
        run = fit_input(settings, k, source, previous, (folder / TREE).exists())
        record = run.record(folder)
        files = run.files()
        if (folder / REPORT).exists():
            files[REPORT] = make_report(run, record)
        record, files = seal_files(files, RUN, record)
        replace_together(folder, files)
    note(source.path.name, lost_ids(record["lineage"]), source.terms)
    said = summarise_run(record, folder, source.terms)
    say(json.dumps(record, indent=2) if as_json else said)
    return 0 if run.model.converged_ else NOT_CONVERGED


def with_new(source: Input, path: Path) -> Input:
    """The input of a run, followed by a new one."""
    path = replace(source, path=path).received().path
    for known in source.paths:
        if not known.exists():
            raise FileNotFoundError(f"the input {known} no longer exists: put it back.")
        if checksum(known, source.follow_links) == checksum(path, source.follow_links):
            raise ValueError(f"{path} is {known}, whose samples are in the run.")
    return replace(source, more=(*source.more, path))
