"""`onmf cluster`."""

import json
import time as clock
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from onmf_app import NOT_CONVERGED
from onmf_app.commands.options import (
    CONFIG,
    FOLDER,
    INPUT,
    JSON,
    SET,
    Command,
    Settings,
    Word,
    whole_number,
)

if TYPE_CHECKING:
    from onmf_app.read import Input
    from onmf_app.run import Run

SECTIONS = {"text": "Input", "k": "Clusters", "out": "Output"}
READING = ("text", "text_column", "id_column", "labels", "time", "batch", "drop", "transpose",
           "layer", "sheet", "raw")  # fmt: skip


def cluster_count(word: str) -> int | range | str:
    """A number of clusters, a range LOW:HIGH to choose from, or `auto`."""
    if word == "auto":
        return word
    low, colon, high = word.partition(":")
    first, last = whole_number(low), whole_number(high if colon else low)
    if not 1 <= first <= last or (colon and first < 2):
        raise ValueError
    return range(first, last + 1) if colon else first


def outlier_count(word: str) -> int | float | str:
    """`auto`, a share of the samples below 1, or a number of them."""
    if word == "auto":
        return word
    found = float(word) if "." in word else int(word)
    if found < 0 or (isinstance(found, float) and not found < 1):
        raise ValueError
    return found


def image_shape(word: str) -> tuple[int, ...]:
    """HEIGHTxWIDTH or HEIGHTxWIDTHx3."""
    shape = tuple(int(part) for part in word.lower().split("x"))
    if len(shape) not in (2, 3) or min(shape) < 1 or shape[2:] not in ((), (1,), (3,)):
        raise ValueError
    return shape


def several(word: str) -> tuple[str, ...]:
    """Words between commas."""
    return tuple(filter(None, map(str.strip, word.split(","))))


@click.command("cluster", cls=Command, sections=SECTIONS)
@click.argument("input", type=INPUT)
@click.option("--text", is_flag=True, help="INPUT is documents: a folder of files, or lines.")
@click.option("--text-column", metavar="NAME", help="Column of a table with documents.")
@click.option("--id-column", metavar="NAME", help="Column with the names of the samples.")
@click.option("--labels", metavar="COLUMN|FILE[:COLUMN]", help="Known classes, to compare with.")
@click.option("--time", metavar="COLUMN|FILE[:COLUMN]", help="Times: the page has a section.")
@click.option("--batch", metavar="COLUMN|FILE[:COLUMN]", help="Says if clusters are batches.")
@click.option("--describe", type=click.Path(exists=True, path_type=Path), metavar="FILE",
              help="Texts of the samples, whose words describe them.")  # fmt: skip
@click.option("--drop", multiple=True, metavar="NAME", help="Leave out a column or row.")
@click.option("--transpose/--no-transpose", default=None, help="Rows are features, or not.")
@click.option("--layer", metavar="NAME", help="Of an .h5ad file: a layer, raw, obsm/NAME.")
@click.option("--sheet", metavar="NAME", help="Of a workbook.")
@click.option("--images", type=Word(image_shape, "HEIGHTxWIDTH[x3]"), metavar="HEIGHTxWIDTH[x3]",
              help="Samples are images.")  # fmt: skip
@click.option("--like", type=FOLDER, help="Earlier run: its preparation, clusters and ids.")
@click.option("-k", "--clusters", "k", type=Word(cluster_count, "K|LOW:HIGH|auto"),
              metavar="K|LOW:HIGH|auto", help="Number of clusters; auto chooses it.")  # fmt: skip
@click.option("--prepare", type=Word(several, "STEP,STEP"), metavar="STEP,...|none",
              help="depth, log, variable, scale, tfidf, unit, batches.")  # fmt: skip
@click.option("--raw", is_flag=True, help="All numbers as they are, by squares.")
@click.option("--loss", type=click.Choice(["frobenius", "kl"]), help="Squares, or for counts kl.")
@click.option("--outliers", type=Word(outlier_count, "auto|SHARE|N"), metavar="auto|SHARE|N",
              help="Samples of no cluster get -1.")  # fmt: skip
@click.option("--seeds", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              metavar="FILE", help="Lines `name: word word` of clusters you expect.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Random seed; 0.")
@click.option("--jobs", "n_jobs", type=int, metavar="N", help="Threads; -1: all processors.")
@SET
@CONFIG
@click.option("-o", "--out", type=click.Path(file_okay=False, path_type=Path),
              help="Folder; tumours-clusters for tumours.csv.")  # fmt: skip
@click.option("--tree", is_flag=True, help="Also clusters of clusters, and their parts.")
@click.option("--write-h5ad", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Copy of the .h5ad input with the clusters.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the results of an earlier run.")
@JSON
def run_cluster(
    out: Path | None, force: bool, as_json: bool, tree: bool, write_h5ad: Path | None, **asked: Any
) -> int:
    """Cluster the samples of a file.

    \b
    Examples:
      onmf cluster tumours.csv
      onmf cluster tumours.csv -k 10 -o result --labels cancer_type
      onmf cluster talks.csv --text-column abstract --time year --tree
      onmf cluster embeddings.npy --describe talks.csv --text-column abstract
      onmf cluster export.csv --prepare depth,log --set read.decimal=,

    INPUT: .csv .tsv .txt .gct (.gz) .xlsx .json .jsonl .parquet .npy .npz .mtx .h5ad, a
    folder of texts, or - for standard input. Samples are rows. The folder gets report.html,
    labels.csv, clusters.csv, markers.csv, centers.csv, model.onmf, run.json.
    """
    from onmf.files import place_for
    from onmf_app.console import say
    from onmf_app.inputs import received
    from onmf_app.run import RESULTS, Run

    check_combination(asked)
    path = received(asked.pop("input"), asked["text"])
    settings = Settings.of(asked.pop("sets"))
    out = out or Path("-".join(filter(None, [path.name.partition(".")[0], "clusters"])))
    if path.resolve() in (out.resolve(), *out.resolve().parents):
        raise ValueError("the output folder is inside the input folder: choose another one.")
    if write_h5ad is not None:
        check_copy(path, write_h5ad, force, asked["transpose"])
    previous = None if asked["like"] is None else Run.read(asked["like"])
    with place_for(out, RESULTS, force), place_for_copy(write_h5ad, force):
        run = fitted(path, out, asked, settings, previous)
        if tree:
            grow_tree(run)
        run.write(out)
        if write_h5ad is not None:
            write_copy(run, path, write_h5ad)
    say(json.dumps(run.record, indent=2) if as_json else run.summary(out))
    return 0 if run.found.onmf.converged_ else NOT_CONVERGED


def check_combination(asked: dict[str, Any]) -> None:
    """Refuse options that say two things."""
    documents = asked["text"] or (asked["text_column"] and not asked["describe"])
    clash = [n for n in ("layer", "transpose", "describe", "images", "raw") if asked[n]]
    if documents and clash:
        said = ", ".join(f"--{name}" for name in clash)
        raise click.UsageError(f"documents (--text) do not combine with {said}.")
    if "batches" in (asked["prepare"] or ()) and asked["batch"] is None:
        raise click.UsageError("--prepare batches needs --batch.")
    own = [f"--{n}" for n in ("prepare", "raw", "loss", "outliers", "seeds") if asked[n]]
    if asked["like"] is not None and own:
        raise click.UsageError(
            f"the input is prepared as in the earlier run: leave out {', '.join(own)}."
        )


def fitted(
    path: Path, out: Path, asked: dict[str, Any], settings: Settings, previous: "Run | None"
) -> "Run":
    """Read the input, cluster it, and note what was decided."""
    import onmf
    from onmf.rows import EMBEDDED, PICTURES
    from onmf_app.console import note, notes, waiting, within_memory
    from onmf_app.hints import after_fit, before_fit
    from onmf_app.inputs import TERMS, described, read_seeds
    from onmf_app.run import Run, input_record

    own = input_record(out, path, bool(settings.read.get("follow_links")))  # as it is read
    data, options, beside = samples_of(path, asked, settings, previous)
    describe, name = asked["describe"], path.name
    texts = data.data if data.kind == "documents" else None
    if describe is not None:
        texts = described(describe, data.samples, *beside.values())
    terms = EMBEDDED if describe else PICTURES if asked["images"] else TERMS[data.kind]
    known = None if asked["seeds"] is None else read_seeds(asked["seeds"])
    how, said = parameters_of_fit(asked, settings, data, previous)
    begin = clock.perf_counter()
    with waiting(f"Checking {name}"):
        said += before_fit(data, how)
    k: Any = asked["k"] or (len(known) if known else None if previous else "auto")
    if isinstance(k, range):
        k = range(k.start, max(min(k.stop, len(data.samples)), k.start + 1))
    if not hasattr(data.data, "columns"):
        how |= {"samples": data.samples, "features": data.features or None}
    with (
        within_memory(name), notes(name, terms) as warned, waiting(f"Clustering {name}") as progress
    ):  # fmt: skip
        found = onmf.cluster(
            data.data, k, known=known, batch=data.batches, random_state=asked["seed"] or 0,
            describe=texts if describe else None, layer=asked["layer"], n_jobs=asked["n_jobs"],
            progress=progress, **how,
        )  # fmt: skip
    seconds = clock.perf_counter() - begin
    found.terms = terms
    found.notes = [*said, *found.notes, *after_fit(found, data)]
    note(name, found.notes, terms)
    found.notes = [*found.notes, *warned]
    page = {"images": asked["images"], "describe": describe, **beside}
    run = Run.of(
        found, data, folder=out, inputs=[own], file=name, read=options, asked=page,
        seconds=seconds, texts=texts,
    )  # fmt: skip
    if previous is not None:
        continue_lineage(run, previous)
    return run


def samples_of(
    path: Path, asked: dict[str, Any], settings: Settings, previous: "Run | None"
) -> tuple["Input", dict[str, Any], dict[str, Any]]:
    """The samples, how they were read, and which columns the texts of --describe are in."""
    from onmf_app.console import note
    from onmf_app.inputs import read, read_new

    options = {n: asked[n] for n in READING if asked[n] not in (None, False, ())} | settings.read
    beside = {}
    if asked["describe"] is not None:
        beside = {name: options.pop(name, None) for name in ("text_column", "id_column")}
    if previous is None:
        data = read(path, options, few=settings.solver.get("passes") is not None)
        if data.kind == "documents" and not (options.get("text") or options.get("text_column")):
            where = f"its column {data.column!r} has the texts (--text-column)"
            note(path.name, [f"it holds documents: {where if data.column else '--text is added'}."])
    else:
        known = previous.record["beside"]  # files about the samples of that run
        like = {n: v for n, v in previous.options(asked["like"]).items() if n not in known}
        options = like | options
        data = read_new(path, options, previous.found)
    if data.kind == "documents":  # a column that was found is that of later commands, too
        options |= {"text_column": data.column} if data.column else {"text": True}
    return data, options, beside


def parameters_of_fit(
    asked: dict[str, Any], settings: Settings, data: "Input", previous: "Run | None"
) -> tuple[dict[str, Any], list[str]]:
    """Parameters of `onmf.cluster`, and what was decided."""
    how = settings.parameters()
    if previous is not None:
        model = previous.found.onmf
        return how | {"like": previous.found, "outliers": model.outliers}, []
    if asked["outliers"] is not None:
        how["outliers"] = asked["outliers"]
    loss = asked["loss"] or ("frobenius" if asked["raw"] else "auto")
    steps, loss, said = steps_of(asked, settings.prepare, data, loss)
    return how | {"prepare": steps, "loss": loss}, said


def continue_lineage(run: "Run", previous: "Run") -> None:
    """The chain of fits up to this one."""
    from onmf.files import to_json_values
    from onmf_app.console import note

    entry = {
        "input": run.record["input"]["sha256"],
        "model": previous.record["files"]["model.onmf"],
    }
    chain = previous.record["lineage"]
    last = entry | to_json_values(run.found.onmf.lineage_)
    run.record["lineage"] = [*chain, last]
    if len(last["kept"]) < len(last["vanished"]):
        before = len(last["kept"]) + len(last["vanished"])
        said = f"only {len(last['kept'])} of {before} clusters kept their ids: "
        said += "--like is for old and new samples together. "
        note("clusters", [f"{said}For new samples alone use onmf predict."], run.found.terms)


def steps_of(
    asked: dict[str, Any], settings: dict[str, Any], data: "Input", loss: str
) -> tuple[Any, str, list[str]]:
    """The steps of --prepare with their settings, the loss, and what was decided."""
    from onmf.prepare import Words, default_preparation
    from onmf_app.commands.options import steps

    names: Sequence[str] | None = asked["prepare"]
    if asked["raw"]:
        names = ("none",)
    own = None if names is None else [name for name in names if name not in ("none", "auto")]
    known = steps()
    if unknown := [name for name in own or () if name not in known]:
        raise click.UsageError(
            f"there is no step {unknown[0]!r} for --prepare: choose among {', '.join(known)}, none."
        )
    if not settings and data.kind != "documents":
        return ("auto" if own is None else own), loss, []
    chain: list[Any] = [known[name]() for name in own or ()]
    said: list[str] = []
    if own is None:
        found = default_preparation(data.data, data.features or None, loss=loss)
        chain, loss, said = found.steps, found.loss, found.notes
    elif data.kind == "documents" and not any(isinstance(step, Words) for step in chain):
        chain = [Words(), *chain]
    for name, value in settings.items():
        takes = [step for step in chain if name in step.get_params()]
        if not takes:
            raise click.UsageError(
                f"no step here takes prepare.{name}: name the step by --prepare."
            )
        for step in takes:
            step.set_params(**{name: value})
    return chain, loss, said


def grow_tree(run: "Run") -> None:
    """The tree of the clusters, which the page then has."""
    from onmf_app.console import notes, waiting
    from onmf_app.inputs import in_memory

    if run.data is None or not in_memory(run.data):
        raise ValueError("--tree needs rows in memory, and they are read in blocks: omit it.")
    with notes("tree.json", run.found.terms), waiting("Looking for groups and parts of clusters"):
        run.found.tree()


def place_for_copy(target: Path | None, force: bool) -> AbstractContextManager[None]:
    """`place_for` the annotated copy, if there is one."""
    from onmf.files import place_for

    return nullcontext() if target is None else place_for(target.parent, [target.name], force)


def check_copy(path: Path, target: Path, force: bool, transpose: bool | None) -> None:
    """Refuse --write-h5ad for other inputs, and a target that exists."""
    if path.suffix != ".h5ad" or transpose:
        raise ValueError("--write-h5ad needs an .h5ad file as input, and no --transpose.")
    if target.resolve() == path.resolve():
        raise ValueError(
            f"--write-h5ad names the input {target}, which later commands need unchanged: name "
            "another file."
        )
    if target.exists() and not force:
        raise ValueError(f"{target} already exists: name another file, or add --force.")


def write_copy(run: "Run", path: Path, target: Path) -> None:
    """The .h5ad input with what was found."""
    import shutil
    from tempfile import TemporaryDirectory

    import anndata

    from onmf.files import replace_files

    adata = anndata.read_h5ad(path)
    run.found.annotate(adata)
    with TemporaryDirectory(prefix="onmf-") as folder:
        copy = Path(folder, "copy.h5ad")
        adata.write_h5ad(copy)

        def write(file: IO[bytes]) -> None:
            with copy.open("rb") as opened:
                shutil.copyfileobj(opened, file)

        replace_files(target.parent, {target.name: write})
