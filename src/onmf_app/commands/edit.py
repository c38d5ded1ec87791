"""`onmf edit`."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from onmf_app.commands.options import FOLDER, Command, Word, whole_number


def new_name(word: str) -> tuple[int, str]:
    """ID=NAME."""
    cluster, equals, name = word.partition("=")
    if not equals:
        raise ValueError
    return whole_number(cluster), name


def several_ids(word: str) -> tuple[int, ...]:
    """ID,ID,..."""
    return tuple(map(whole_number, word.split(",")))


def parts_of_cluster(word: str) -> tuple[int, Any]:
    """ID=PARTS; ID alone: two parts."""
    cluster, equals, parts = word.partition("=")
    return whole_number(cluster), 2 if not equals else parts if parts == "auto" else whole_number(
        parts
    )


@click.command("edit", cls=Command)
@click.argument("run", type=FOLDER)
@click.option("--merge", "merges", multiple=True, type=Word(several_ids, "ID,ID,..."),
              metavar="ID,ID,...", help="Make one cluster of several; it keeps the first id "
              "and its name.")  # fmt: skip
@click.option("--split", "splits", multiple=True, type=Word(parts_of_cluster, "ID[=PARTS]"),
              metavar="ID[=PARTS]", help="Split a cluster, in two if PARTS is not given; auto: as "
              "many as are found. The largest part keeps the id.")  # fmt: skip
@click.option("--rename", "names", multiple=True, type=Word(new_name, "ID=NAME"),
              metavar="ID=NAME",
              help='Name a cluster; "2=" removes the name.')  # fmt: skip
def run_edit(run: Path, merges: Any, splits: Any, names: Any) -> None:
    """Rename, merge and split clusters of a finished run.

    RUN is the folder of `onmf cluster`, whose input must still exist, unchanged; ID is the id of a
    cluster, as in labels.csv. Options may be repeated: clusters are first merged, then split, then
    renamed. Names and ids stay in `onmf predict`, `update` and `cluster --like`, and run.json
    records the changes. All files are written again: all of them, or none if it is killed.

    \b
    Examples:
      onmf edit topics --rename 2="Motor sport"
      onmf edit topics --merge 3,7 --split 1=3
    """
    from onmf.files import place_for, to_json_values
    from onmf.rows import one_line
    from onmf_app.commands.cluster import grow_tree
    from onmf_app.console import notes, say, waiting
    from onmf_app.run import RUN, SCALES, TREE, Run

    if not (merges or splits or names):
        raise click.UsageError("Nothing to do: add --rename, --merge or --split.")
    steps: list[Any] = []
    with place_for(run, [RUN], force=True):
        own = Run.read(run)
        found, terms = own.found, own.found.terms
        own.data = data = own.read_inputs(run)
        own.texts = own.texts_again(run, data)
        names_of = getattr(data.data, "index", data.samples)
        names_of = data.samples if isinstance(data.data, list) else names_of
        with notes(run.name, terms), waiting("Changing the clusters"):
            describe = own.texts if own.record["asked"].get("describe") else None
            found.with_samples(data.data, samples=names_of,
                               batch=data.batches, describe=describe)  # fmt: skip
            found.terms = terms
            for clusters in merges:
                steps.append(to_json_values(found.merge(clusters).onmf.lineage_))
            for cluster, parts in splits:
                steps.append(to_json_values(found.split(cluster, parts).onmf.lineage_))
            found.rename(dict(names))
        origin = {
            "input": own.record["input"]["sha256"],
            "model": own.record["files"]["model.onmf"],
        }
        own.record["lineage"] = [*own.record["lineage"], *(origin | step for step in steps)]
        own.finish()
        if TREE in own.record["files"]:
            grow_tree(own)
        own.write(run, again=True, keep=[SCALES])
    sizes = Counter(found.samples["cluster"].tolist())
    for number, name in found.names.items():
        said = terms.counted(sizes.get(number, 0), "sample")
        say(f"{terms.cluster.capitalize()} {number} {one_line(name)}: {said}")
