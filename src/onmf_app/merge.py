"""`onmf merge`."""

from pathlib import Path

import click

from onmf_app.console import say
from onmf_app.options import REMOTE
from onmf_app.runs.edits import edit_run


@click.command("merge")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("clusters", type=int, nargs=-1, required=True)
@REMOTE
def run_merge(folder: Path, clusters: tuple[int, ...], remote: bool) -> None:
    """Make one cluster of several in a finished run.

    FOLDER is the output folder of `onmf cluster`, CLUSTERS are ids as in labels.csv. The merged
    cluster keeps the first id and its name. No other sample moves, neither in labels.csv nor for
    `onmf predict`. The merger is recorded in run.json and survives `onmf update`.

    All files are written again, with report.html: all of them, or none if the command is killed.
    After `onmf update` the input is not needed.

    \b
    Examples:
      onmf merge topics 3 7
      onmf merge topics 3 7 12
    """
    sizes, terms = edit_run(folder, remote, lambda model, samples: model.merge(clusters))
    first, *others = dict.fromkeys(clusters)
    joined = ", ".join(map(str, others))
    merged = terms.counted(sizes.get(first, 0), "sample")
    say(f"Merged {joined} into {first}: {merged}, {terms.counted(len(sizes), 'cluster')}.")
