"""`onmf update`."""

import json
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onmf_app import NOT_CONVERGED
from onmf_app.commands.options import FOLDER, INPUT, JSON, Command, Word

if TYPE_CHECKING:
    from onmf import Clusters
    from onmf_app.read import Input
    from onmf_app.run import Run

UNUSUAL = 0.05  # share of the samples of a cluster that are as far


def new_count(word: str) -> int | str:
    """A number of clusters, or auto."""
    if word != "auto" and int(word) < 1:
        raise ValueError
    return word if word == "auto" else int(word)


@click.command("update", cls=Command)
@click.argument("run", type=FOLDER)
@click.argument("input", type=INPUT)
@click.option("-k", "--clusters", "k", type=Word(new_count, "K|auto"), metavar="K|auto",
              help="Number of clusters from now on; auto chooses it.")  # fmt: skip
@JSON
def run_update(run: Path, input: Path, k: Any, as_json: bool) -> int:  # noqa: A002
    """Cluster the samples of a finished run together with new ones.

    RUN is the folder of `onmf cluster`. INPUT has new samples of the same kind, read and prepared
    as the input of the run was. The search starts from the clusters of the run, which keep their
    ids and names; the files are then about all samples. If an input of the run is gone, has
    changed or does not fit into memory, the clusters are moved by the new samples alone.

    \b
    Examples:
      onmf update topics new-talks/
      onmf update result week-32.csv -k 12
    """
    from onmf.files import place_for
    from onmf_app.console import say
    from onmf_app.inputs import received
    from onmf_app.run import RUN, Run

    with place_for(run, [RUN], force=True):
        after = with_new(Run.read(run), run, received(input), k)
        after.write(run, again=True)
    say(json.dumps(after.record, indent=2) if as_json else after.summary(run))
    return 0 if after.found.onmf.converged_ else NOT_CONVERGED


def with_new(previous: "Run", folder: Path, path: Path, k: int | str | None) -> "Run":
    """The run with the samples of another input."""
    from onmf.files import checksum
    from onmf_app.commands.cluster import continue_lineage, grow_tree
    from onmf_app.console import note, notes, waiting, within_memory
    from onmf_app.inputs import in_memory, joined, placed, relative, with_names
    from onmf_app.run import LABELS, TREE, Run

    found, record, terms = previous.found, previous.record, previous.found.terms
    digest = checksum(path, previous.links)
    if digest in [one["sha256"] for one in record["inputs"]]:
        raise ValueError(f"{path} is an input of the run already.")
    known = previous.options(folder)
    options = {n: v for n, v in known.items() if n not in record["beside"]}
    new = new_samples(path, options, found)
    unusual = float((placed(found, new)["unusual"] < UNUSUAL).mean())
    said = [f"{100 * unusual:.0f} % of the new samples are unusual for their clusters."]
    why = previous.changed(folder)
    old = None if why else previous.read_inputs(folder)
    if old is not None and not (in_memory(old) and in_memory(new)):
        why, old = "an input is too large for the memory.", None
    data = new if old is None else joined(old, new, path.name)
    begin, earlier = clock.perf_counter(), None
    texts = data.data if isinstance(data.data, list) else None
    name = path.name
    with within_memory(name), notes(name, terms), waiting(f"Clustering {name}") as bar:
        if old is None:
            fitted = found.update(with_names(new))
            said += [f"{why} The clusters were moved by the new samples alone; in {LABELS} the "
                     "others are as they were, and the page is about the new ones."]  # fmt: skip
            earlier = (folder / LABELS).read_text(encoding="utf-8-sig")
        else:
            texts = previous.texts_again(folder, data)
            fitted = together(previous, data, k, texts, bar)
    seconds = clock.perf_counter() - begin
    note(path.name, said, terms)
    fitted.terms, fitted.notes = terms, said
    after = Run.of(
        fitted, data, folder=folder, file=record["input"]["file"],
        inputs=[*record["inputs"], {"path": relative(folder, path), "sha256": digest}],
        read=known | options, asked=absolute(record["asked"], folder), seconds=seconds, texts=texts,
    )  # fmt: skip
    after.earlier = earlier
    continue_lineage(after, previous)
    if TREE in record["files"] and old is not None:
        grow_tree(after)
    return after


def together(
    previous: "Run", data: "Input", k: int | str | None, texts: Any, progress: Any
) -> "Clusters":
    """Old and new samples, clustered from the clusters there are."""
    import onmf

    found = previous.found
    n = len(found.names)
    among: Any = range(max(n, 2), 2 * n + 3) if k == "auto" else n if k is None else k
    how: dict[str, Any] = {m: getattr(found.onmf, m) for m in ("outliers", "solver", "n_init")}
    if not hasattr(data.data, "columns"):
        how |= {"samples": data.samples, "features": data.features or None}
    describe = texts if previous.record["asked"].get("describe") else None
    return onmf.cluster(
        data.data, among, like=found, batch=data.batches, describe=describe, layer=found.layer,
        random_state=previous.record["seed"], progress=progress, **how,
    )  # fmt: skip


def new_samples(path: Path, options: dict[str, Any], found: Any) -> "Input":
    """New samples, which need not have the classes, times and batches of the others."""
    from onmf_app.inputs import OF_SAMPLES, read_new

    try:
        return read_new(path, options, found)
    except ValueError:
        if not {*OF_SAMPLES} & options.keys():
            raise
        return read_new(path, {n: v for n, v in options.items() if n not in OF_SAMPLES}, found)


def absolute(asked: dict[str, Any], run: Path) -> dict[str, Any]:
    """The record of the other options, with the path of the texts from here."""
    describe = asked.get("describe")
    there = None if describe is None or not (run / describe).exists() else run / describe
    return {**asked, "describe": there}
