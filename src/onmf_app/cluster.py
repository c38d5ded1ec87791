"""`onmf cluster`."""

import json
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from onmf.cells import CellFit, annotated
from onmf.files import Content, place_for, replace_files, seal_files
from onmf.prepare.seeds import read_seeds
from onmf_app import NOT_CONVERGED
from onmf_app.console import note, say
from onmf_app.options import (
    INPUT,
    LIKE,
    Word,
    checked_shape,
    cluster_count,
    loss_option,
    outlier_count,
    preparation_options,
    reading_options,
    source_of,
)
from onmf_app.read import FORMATS
from onmf_app.runs.fits import fit_input
from onmf_app.runs.inputs import Input
from onmf_app.runs.page import make_report
from onmf_app.runs.records import OPTIONAL, REPORT, RESULTS, RUN, PreviousRun
from onmf_app.runs.summary import lost_ids, summarise_run
from onmf_app.sections import SectionedCommand, section


@click.command("cluster", cls=SectionedCommand)
@click.argument("input", type=INPUT)
@click.option(
    "-k",
    "--clusters",
    "k",
    type=Word(cluster_count, "K|LOW:HIGH|auto"),
    metavar="K|LOW:HIGH|auto",
    help="Number of clusters; LOW:HIGH or auto chooses it. Default: auto.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the results; tumours-clusters, for tumours.csv, if not given.",
)
@LIKE
@click.option(
    "--time",
    metavar="COLUMN|FILE",
    help="Time of each sample; adds a time section to the report.",
)
@click.option(
    "--batch",
    metavar="COLUMN|FILE:COLUMN",
    help="Batch of each sample; the run says if clusters are batches.",
)
@click.option(
    "--center-batches",
    is_flag=True,
    help="Give features the same mean in all batches; for logarithms.",
)
@click.option(
    "--describe",
    type=click.Path(exists=True, path_type=str),
    help="Texts of the samples, whose words describe the clusters of embeddings.",
)
@click.option(
    "--images", type=Word(checked_shape, "HEIGHTxWIDTH[x3]"), metavar="HEIGHTxWIDTH[x3]",
    help="Samples are images: the report has thumbnails.",
)  # fmt: skip
@click.option(
    "--seeds",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Lines `name: word word ...`: features of clusters that you expect, which get the names.",
)
@reading_options
@preparation_options
@section(
    "Model",
    loss_option,
    click.option("--outliers", type=Word(outlier_count, "auto|SHARE|N"), metavar="auto|SHARE|N",
                 help="Label outliers -1: chosen automatically, a share of the samples, or N."),
    click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Random seed; 0 if not given."),
    click.option("--starts", "--n-init", "n_init", type=click.IntRange(1),
                 help="Number of random starts, of which the best is kept."),
    click.option("--passes", type=click.IntRange(2), metavar="N",
                 help="Read the rows N times in all; 2 cluster a sample, then label all rows."),
    click.option("--jobs", "n_jobs", type=int, help="Threads; -1 uses all processors."),
)  # fmt: skip
@section(
    "Output",
    click.option("--write-h5ad", type=click.Path(dir_okay=False, path_type=Path),
                 help="Also write a copy of the .h5ad input with the clusters."),
    click.option("--tree", is_flag=True,
                 help="Also put clusters together, and split them, where there is evidence."),
    click.option("--force", is_flag=True, help="Replace existing results."),
    click.option("--json", "as_json", is_flag=True, help="Print run.json instead of a summary."),
)  # fmt: skip
def run_cluster(
    k: int | range | str | None,
    out: Path | None,
    like: Path | None,
    seed: int | None,
    force: bool,
    tree: bool,
    as_json: bool,
    write_h5ad: Path | None,
    **options: Any,
) -> int:
    """Cluster the samples of a file.

    \b
    Examples:
      onmf cluster tumours.csv
      onmf cluster tumours.csv -k 10 -o result --labels cancer_type
      onmf cluster talks/ -o topics
      onmf cluster talks.csv --text-column abstract -o topics --time year --tree
      onmf cluster embeddings.npy -k 20 --describe talks.csv --text-column abstract
      onmf cluster counts.h5ad -k 12 -o cells --outliers auto
      onmf cluster parts/ -k 20 -o result --passes 2    (a folder of .parquet files)
      onmf cluster tonight.csv --like result -o tonight

    INPUT is a table, an array, a sparse matrix or annotated data: ENDINGS. Samples are rows. Header
    and sample names are found automatically; an empty cell or NA is a missing value. With --text
    INPUT is a folder of documents, or a file with one per line. `-` is standard input. Arrays,
    .parquet and .h5ad that would fill more than half of the free memory are read in blocks.

    Writes labels.csv (cluster, its name, probability and distance of each sample, and how unusual
    it is; for documents the text), clusters.csv (how much each cluster can be trusted), markers.csv
    (distinctive features of each cluster), centers.csv, model.onmf (for `onmf predict`), run.json
    and report.html; with -k auto also scales.csv (clusters at coarser and finer scales), with
    --tree tree.json (clusters of clusters, as by `onmf.build_tree`; the page has them as lists that
    open), with --write-h5ad a copy of the input, as by `onmf.cluster_anndata`.
    """
    previous = None if like is None else PreviousRun.of(like)
    source = source_of(options.pop("input"), options, previous)
    if source.center_batches and source.batch is None:
        raise click.UsageError("--center-batches needs --batch.")
    seeds = options.get("seeds") and read_seeds(options["seeds"])
    if seeds and k is None:
        k = len(seeds)
    if k is None and previous is None:
        k = "auto"
    out = out or Path("-".join(filter(None, [source.path.name.partition(".")[0], "clusters"])))
    if source.path.resolve() in (out.resolve(), *out.resolve().parents):
        raise ValueError("the output folder is inside the input folder: choose another one.")
    if write_h5ad is not None:
        check_annotation(source, write_h5ad, force)
    given = {name: value for name, value in options.items() if value is not None}
    settings = given | {"random_state": seed or 0, "seeds": seeds}
    with place_for(out, (*OPTIONAL, *RESULTS), force), place_for_copy(write_h5ad, force):
        run = fit_input(settings, k, source, previous, tree)
        record = run.record(out) | ({"seeds": seeds} if seeds else {})
        pages: dict[str, Content] = {REPORT: make_report(run, record)}
        record, files = seal_files(pages | run.files(), RUN, record)
        replace_files(out, files, gone={*RESULTS, *OPTIONAL} - set(files))  # of an older run
        if write_h5ad is not None:
            found = run.findings.explanation
            result = CellFit(run.model, run.table, found, {}, None, run.choice)
            write = partial(annotated, str(source.path), source.layer, result)
            replace_files(write_h5ad.parent, {write_h5ad.name: write})
    note(source.path.name, lost_ids(record["lineage"]), source.terms)
    say(json.dumps(record, indent=2) if as_json else summarise_run(record, out, source.terms))
    return 0 if run.model.converged_ else NOT_CONVERGED


run_cluster.help = str(run_cluster.help).replace("ENDINGS", ", ".join(FORMATS))


def place_for_copy(target: Path | None, force: bool) -> AbstractContextManager[None]:
    """`place_for` the annotated copy, if there is one."""
    return nullcontext() if target is None else place_for(target.parent, [target.name], force)


def check_annotation(source: Input, target: Path, force: bool) -> None:
    """Refuse --write-h5ad for other inputs, and a target that exists."""
    if source.path.suffix != ".h5ad" or source.transpose:
        raise ValueError("--write-h5ad needs an .h5ad file as input, and no --transpose.")
    if target.resolve() == source.path.resolve():
        raise ValueError(
            f"--write-h5ad names the input {target}, which later commands need unchanged: name "
            "another file."
        )
    if target.exists() and not force:
        raise ValueError(f"{target} already exists: name another file, or add --force.")
