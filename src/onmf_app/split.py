"""`onmf split`."""

from pathlib import Path
from typing import Any

import click

from onmf_app.console import say, waiting
from onmf_app.options import REMOTE, Word, cluster_count
from onmf_app.runs.edits import edit_run


def part_count(word: str) -> int | str:
    """A number of parts, two or more, or `auto`."""
    count = cluster_count(word)
    if isinstance(count, range) or count == 1:
        raise ValueError
    return count


@click.command("split")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("cluster", type=int)
@click.option(
    "-k",
    "--parts",
    "k",
    type=Word(part_count, "N|auto"),
    metavar="N|auto",
    default="2",
    help="Number of parts; auto: by `onmf choose-k` for the samples of the cluster.",
)
@REMOTE
def run_split(folder: Path, cluster: int, k: int | str, remote: bool) -> None:
    """Split a cluster of a finished run.

    FOLDER is the output folder of `onmf cluster`, CLUSTER an id as in labels.csv. The largest part
    keeps the id, the others get new ones. No sample of another cluster moves, neither in labels.csv
    nor for `onmf predict`. The split is recorded in run.json and survives `onmf update`.

    All files are written again, with report.html: all of them, or none if the command is killed. In
    a run that `onmf update` continued, the samples of all batches say where to split, and get the
    new ids; of batches whose files are gone or have changed they keep the id, and a note says so.

    \b
    Examples:
      onmf split topics 2
      onmf split topics 2 -k auto
    """

    def split(model: Any, samples: Any) -> None:
        known = cluster in model.cluster_ids_
        table = samples(cluster) if known else None  # `split` names the ids that there are
        with waiting(f"Splitting {cluster}"):
            model.split(cluster, table, k)
        parts.extend([cluster, *model.lineage_.born])

    parts: list[int] = []
    sizes, terms = edit_run(folder, remote, split)
    shown = ", ".join(f"{own} ({terms.counted(sizes.get(own, 0), 'sample')})" for own in parts)
    say(f"Split {cluster} into {shown}: {terms.counted(len(sizes), 'cluster')}.")
