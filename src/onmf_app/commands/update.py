"""`onmf update`."""

import json
import time as clock
from pathlib import Path
from typing import Any

import click

from onmf_app import NOT_CONVERGED
from onmf_app.commands.options import FOLDER, INPUT, JSON, Command, Word


def new_count(word: str) -> int | str:
    """A number of clusters, or auto."""
    if word != "auto" and int(word) < 1:
        raise ValueError
    return word if word == "auto" else int(word)


@click.command("update", cls=Command)
@click.argument("run", type=FOLDER)
@click.argument("input", type=INPUT)
@click.option("-k", "--clusters", "k", type=Word(new_count, "K|auto"), metavar="K|auto",
              help="Number of clusters from now; auto chooses it, from what it was on.")  # fmt: skip
@JSON
def run_update(run: Path, input: Path, k: int | str | None, as_json: bool) -> int:  # noqa: A002
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
    from onmf.files import checksum, place_for
    from onmf_app.commands.cluster import continue_lineage, grow_tree
    from onmf_app.console import note, notes, say, waiting, within_memory
    from onmf_app.inputs import in_memory, joined, read_new, received
    from onmf_app.run import LABELS, RUN, TREE, Run

    with place_for(run, [RUN], force=True):
        previous, path = Run.read(run), received(input)
        found, record = previous.found, previous.record
        links = bool(record["read"].get("follow_links"))
        digest = checksum(path, links)
        if digest in [one["sha256"] for one in record["inputs"]]:
            raise ValueError(f"{path} is an input of the run already.")
        options = {n: v for n, v in previous.options(run).items() if n not in record["beside"]}
        new = read_new_with_values(read_new, path, options, found)
        why = previous.changed(run)
        old = None if why else previous.read_inputs(run)
        if old is not None and not (in_memory(old) and in_memory(new)):
            why, old = "an input is too large for the memory.", None
        begin = clock.perf_counter()
        data = new if old is None else joined(old, new, path.name)
        unusual = share_unusual(found, new)
        names = {} if hasattr(data.data, "columns") else {"samples": data.samples}
        if data.features and not hasattr(data.data, "columns"):
            names["features"] = data.features
        with within_memory(path.name), notes(path.name, found.terms), waiting(
            f"Clustering {path.name}"
        ) as progress:
            fitted = follow(found, data, k, old is None, previous, run, names, progress)
        seconds = clock.perf_counter() - begin
        fitted.terms, fitted.notes = found.terms, []
        said = [f"{unusual:.0%} of the new samples are unusual for their clusters."]
        earlier = None
        if old is None:
            said += [f"{why} The clusters were moved by the new samples alone; in {LABELS} the "
                     "others are as they were, and the page is about the new ones."]  # fmt: skip
            earlier = (run / LABELS).read_text(encoding="utf-8-sig")
        note(path.name, said, found.terms)
        fitted.notes = said
        texts = previous.texts_again(run, data) if old is not None or found.terms.feature == "word" else None
        after = Run.of(fitted, data, folder=run, paths=[*previous.paths(run), path]
                       if not why else [path], read=record["read"] | options,
                       asked=absolute(record["asked"], run), seconds=seconds, texts=texts)  # fmt: skip
        if why:
            after.record["inputs"] = [*record["inputs"], *after.record["inputs"]]
        after.earlier = earlier
        continue_lineage(after, previous)
        if (run / TREE).exists() and TREE in record["files"] and not why:
            grow_tree(after)
        after.write(run, again=True)
    say(json.dumps(after.record, indent=2) if as_json else after.summary(run))
    return 0 if fitted.onmf.converged_ else NOT_CONVERGED


def follow(found: Any, data: Any, k: Any, partial: bool, previous: Any, run: Path, names: Any, progress: Any) -> Any:
    """The clusters after the new samples."""
    import onmf
    from onmf_app.commands.predict import given

    if partial:
        return found.update(given(data))
    n = len(found.names)
    among = range(max(n, 2), 2 * n + 3) if k == "auto" else n if k is None else k
    describe = previous.texts_again(run, data) if previous.record["asked"].get("describe") else None
    own = {name: getattr(found.onmf, name) for name in ("outliers", "solver", "n_init")}
    return onmf.cluster(
        data.data, among, like=found, batch=data.batches, describe=describe,
        random_state=previous.record["seed"], progress=progress, **names, **own,
    )  # fmt: skip


def read_new_with_values(read_new: Any, path: Path, options: dict[str, Any], found: Any) -> Any:
    """New samples, which need not have the classes, times and batches of the others."""
    from onmf_app.inputs import OF_SAMPLES

    try:
        return read_new(path, options, found)
    except ValueError:
        if not {*OF_SAMPLES} & options.keys():
            raise
        left = {name: value for name, value in options.items() if name not in OF_SAMPLES}
        return read_new(path, left, found)


def share_unusual(found: Any, new: Any) -> float:
    """The share of samples that are farther from their centroid than 95 of 100 of the old."""
    from onmf_app.commands.predict import given

    return float((found.place(given(new))["unusual"] < 0.05).mean())


def absolute(asked: dict[str, Any], run: Path) -> dict[str, Any]:
    """The record of the other options, with the path of the texts from here."""
    describe = asked.get("describe")
    there = None if describe is None or not (run / describe).exists() else run / describe
    return {**asked, "describe": there}
