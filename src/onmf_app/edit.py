"""`onmf edit`."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from onmf import ONMF
from onmf.files import checksum, place_for, replace_together, seal_files, to_json_values
from onmf.prepare.numerals import to_count
from onmf.rows import Table, Terms, one_line
from onmf_app.console import notes, say, waiting
from onmf_app.options import Word
from onmf_app.runs.fits import grow_tree
from onmf_app.runs.page import make_report
from onmf_app.runs.records import MODEL_FILE, REPORT, RUN
from onmf_app.runs.results import read_run


def new_name(word: str) -> tuple[int, str]:
    """ID=NAME."""
    cluster, _, name = word.partition("=")
    if "=" not in word:
        raise ValueError
    return to_count(cluster), name


def several_ids(word: str) -> tuple[int, ...]:
    """ID,ID,..."""
    return tuple(map(to_count, word.split(",")))


def parts_of_cluster(word: str) -> tuple[int, int | str]:
    """ID=PARTS; ID alone: two parts."""
    cluster, _, parts = word.partition("=")
    count = 2 if "=" not in word else parts if parts == "auto" else to_count(parts)
    return to_count(cluster), count


@click.command("edit")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--merge", "merges", multiple=True, type=Word(several_ids, "ID,ID,..."), metavar="ID,ID,...",
    help="Make one cluster of several; it keeps the first id and its name.",
)  # fmt: skip
@click.option(
    "--split", "splits", multiple=True, type=Word(parts_of_cluster, "ID[=PARTS]"),
    metavar="ID[=PARTS]",
    help="Split a cluster, in two if PARTS is not given; auto: as many as are found. The largest "
    "part keeps the id.",
)  # fmt: skip
@click.option(
    "--rename", "names", multiple=True, type=Word(new_name, "ID=NAME"), metavar="ID=NAME",
    help='Name a cluster; an empty name ("2=") removes the one given before.',
)  # fmt: skip
def run_edit(
    folder: Path,
    merges: tuple[tuple[int, ...], ...],
    splits: tuple[tuple[int, Any], ...],
    names: tuple[tuple[int, str], ...],
) -> None:
    """Rename, merge and split clusters of a finished run.

    FOLDER is the output folder of `onmf cluster`, whose input must still exist, unchanged; ID is
    the id of a cluster, as in labels.csv. Options may be repeated: clusters are first merged, then
    split, then renamed. Names and ids stay in `onmf predict`, `update` and `cluster --like`, and
    run.json records the changes.

    All files are written again: all of them, or none if the command is killed.

    \b
    Examples:
      onmf edit topics --rename 2="Motor sport"
      onmf edit topics --merge 3,7 --split 1=3
    """
    if not (merges or splits or names):
        raise click.UsageError("Nothing to do: add --rename, --merge or --split.")
    steps: list[dict[str, Any]] = []

    def change(model: ONMF, table: Table, terms: Terms) -> None:
        has_tree = hasattr(model, "tree_")
        with notes(folder.name, terms), waiting("Changing the clusters"):
            for clusters in merges:
                model.merge(clusters)
                steps.append(to_json_values(model.lineage_))
            for cluster, parts in splits:
                model.split(cluster, table, parts)
                steps.append(to_json_values(model.lineage_))
            model.rename(dict(names))
        if has_tree and steps:  # it was that of the clusters before
            grow_tree(model, table, terms)

    with place_for(folder, [RUN], force=True):
        run, record = read_run(folder, change)
        record["results"] = to_json_values(run.results())
        origin = {"input": run.origin.digest, "model": checksum(folder / MODEL_FILE)}
        record["lineage"] = [*(record.get("lineage") or []), *(origin | step for step in steps)]
        files = replace(run, choice=None).files()
        if (folder / REPORT).exists():
            files[REPORT] = make_report(run, record)
        replace_together(folder, seal_files(files, RUN, record)[1])
    terms, sizes = run.source.terms, Counter(run.sample_ids.tolist())
    for own, name in run.model.cluster_names_.items():
        say(f"{terms.cluster.capitalize()} {own} {one_line(name)}: "
            f"{terms.counted(sizes.get(own, 0), 'sample')}")  # fmt: skip
