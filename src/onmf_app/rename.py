"""`onmf rename`."""

from pathlib import Path

import click

from onmf.io import place_for
from onmf.io.table import one_line
from onmf_app.console import say
from onmf_app.runs.naming import rename_clusters
from onmf_app.runs.records import RUN, STREAM_FILE


@click.command("rename")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("cluster", type=int)
@click.argument("name")
def run_rename(folder: Path, cluster: int, name: str) -> None:
    """Give a cluster of a finished run a name.

    FOLDER is the output folder of `onmf cluster`, CLUSTER the id of a cluster. The name stays with
    the cluster in `onmf predict`, `update`, `report`, `explain` and `cluster --like`. An empty name
    ("") removes the one given before.

    Writes labels.csv (and labels.parquet, labels.xlsx and the files of batches, if there are any),
    model.onmf and run.json: all of them or, if the command is interrupted or killed, none. Run
    `onmf report FOLDER` to see the name on the page.

    \b
    Example:
      onmf rename topics 3 "Motor sport"
    """
    with place_for(folder, [RUN], force=True):
        names, terms = rename_clusters(folder, {cluster: name})
    told = f"{terms.cluster.capitalize()} {cluster} is now called {one_line(names[cluster])}."
    stream = (folder / STREAM_FILE).exists()
    say(told if stream else f"{told} Run onmf report {folder} to see it on the page.")
