"""`onmf cluster`."""

import json
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from onmf import ONMF, certify, choose_k
from onmf.cells import CellFit, annotated
from onmf.cli import NOT_CONVERGED
from onmf.cli.console import note, notes, say, show_sweeps, waiting, within_memory
from onmf.cli.options import (
    INPUT,
    LIKE,
    RAW_NAMES,
    CenterBounds,
    ClusterCount,
    OutlierCount,
    loss_option,
    note_before_fit,
    preparation_options,
    reading,
    reading_options,
    source_of,
    votes_option,
)
from onmf.cli.report import make_report, spread_over_time
from onmf.cli.runs import (
    REPORT,
    RESULTS,
    RUN,
    Findings,
    FinishedFit,
    Input,
    Origin,
    Parent,
    after_fit,
    can_certify,
    check_entries,
    first_words,
    outlier_sentence,
    sample_in_memory,
)
from onmf.estimators.solvers import with_solver
from onmf.io import Table, checksum, place_for, replace_files, seal_files
from onmf.io.remote import is_remote
from onmf.io.table import listing
from onmf.io.versions import package_versions
from onmf.losses import LOSSES


@click.command("cluster")
@click.argument("input", type=INPUT)
@click.option(
    "-k",
    "--clusters",
    "k",
    type=ClusterCount(),
    metavar=ClusterCount.name,
    help="Number of clusters; LOW:HIGH or auto: as `onmf choose-k` says. As there with --like.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for the results.",
)
@LIKE
@click.option("--time", metavar="COLUMN", help="When each sample was: the report then tells of it.")
@reading_options
@preparation_options
@loss_option
@votes_option
@click.option(
    "--outliers",
    type=OutlierCount(),
    metavar=OutlierCount.name,
    help="Samples that fit no cluster get -1: those far off, this share, or so many.",
)
@click.option("--penalty", type=click.Choice(["sncp", "nsncp"]), default="sncp")
@click.option("--solver", type=click.Choice(["fast", "palm"]), help="palm: the paper's method.")
@click.option("--accelerate", is_flag=True, help="With --solver palm: fewer sweeps, by inertia.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0)
@click.option("--starts", "--n-init", "n_init", type=click.IntRange(1), help="The best is kept.")
@click.option(
    "--bounds",
    "center_bounds",
    type=CenterBounds(),
    metavar=CenterBounds.name,
    help="Of the centroids; data: the range of the data, which may then be negative.",
)
@click.option("--max-iter", type=click.IntRange(1), help="Raise it if a fit does not converge.")
@click.option(
    "--passes",
    type=click.IntRange(2),
    metavar="N",
    help="Read the rows N times in all: 2 find the clusters on a sample of them, and label.",
)
@click.option("--jobs", "n_jobs", type=int, help="Threads; -1 takes all processors.")
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False),
    help="Folder for notes of a long fit: killed, the same command goes on from there.",
)
@click.option(
    "--write-h5ad",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A copy of the .h5ad input with the clusters in obs, obsm, varm and uns.",
)
@RAW_NAMES
@click.option("--force", is_flag=True, help="Replace results that are there.")
@click.option("--no-report", is_flag=True, help="Do not make report.html.")
@click.option("--json", "as_json", is_flag=True, help="Print run.json instead of a summary.")
def run_cluster(
    k: int | range | None,
    out: Path,
    like: Path | None,
    seed: int,
    force: bool,
    raw_names: bool,
    no_report: bool,
    as_json: bool,
    write_h5ad: Path | None,
    **options: Any,
) -> int:
    """Cluster the samples of a file.

    INPUT is a table (.csv, .tsv, .txt, also .gz; .parquet, .xlsx), an array (.npy, .npz), a Matrix
    Market file (.mtx), annotated data (.h5ad) or, with --text, documents: a folder of files, or a
    file with one a line, or with --text-column a column of a table. `-` is standard input, and an
    address such as s3://bucket/x.npy a file on another machine. Samples are rows. Header and sample
    names are found by themselves; a cell without a value (empty, NA) is not observed. Arrays,
    .parquet, .h5ad, .h5 and .zarr that would fill more than half the free memory are read block by
    block.

    Written are labels.csv (cluster, certainty and distance of each sample), markers.csv (what makes
    each cluster), centers.csv, top_features.csv, model.onmf (for `onmf predict`), run.json and
    report.html; with --write-h5ad also a copy of the input with the clusters, as
    `onmf.cluster_anndata` writes them.

    \b
    Examples:
      onmf cluster tumours.csv -k 10 -o result --cpm --log --labels cancer_type
      onmf cluster talks.csv --text-column abstract -k auto -o topics
      onmf cluster talks/ --text -k auto -o topics --jobs -1
      onmf cluster counts.h5ad -k 12 -o cells --equal-votes --outliers auto
      onmf cluster parts/ -k 20 -o result --passes 2    (a folder of .parquet files)
      onmf cluster tumours.csv -k 10 -o paper --cpm --log --solver palm --accelerate
      onmf cluster talks/ --text -k 20 -o topics --loss kl
      onmf cluster talks.csv --text-column abstract -k 20 -o topics --time year
      onmf cluster tonight.csv --like result -o tonight
    """
    parent = None if like is None else Parent.of(like)
    source = source_of(options.pop("input"), options, parent)
    if k is None and parent is None:
        raise click.UsageError("Missing option '-k' / '--clusters'.")
    if source.path.resolve() in (out.resolve(), *out.resolve().parents):
        raise ValueError("the results must not lie among the documents: choose another folder.")
    if write_h5ad is not None:
        check_annotation(source, write_h5ad, force)
    given = {name: value for name, value in options.items() if value is not None}
    settings = given | {"random_state": seed}
    with place_for(out, RESULTS, force), place_for_copy(write_h5ad, force):
        run = fit_input(settings, k, source, parent)
        record = run.record(out)
        pages = {} if no_report else {REPORT: make_report(run, record)}
        record, files = seal_files(pages | run.files(raw_names), RUN, record)
        older = set(RESULTS) - set(files)  # which would speak of another run
        replace_files(out, files, gone=older)
        if write_h5ad is not None:
            found = run.findings.explanation
            result = CellFit(run.model, run.table, found, source.layer, run.choice)
            write = partial(annotated, str(source.path), result)
            replace_files(write_h5ad.parent, {write_h5ad.name: write})
    say(json.dumps(record, indent=2) if as_json else summarise_run(record, out))
    return 0 if run.model.converged_ else NOT_CONVERGED


def fit_input(
    settings: dict[str, Any], k: int | range | None, source: Input, parent: Parent | None
) -> FinishedFit:
    """From a file to a fit that is explained, with notes on what looks wrong on the way."""
    check = ONMF(**with_solver(settings))._check
    signed, holes, remedy = check.signed, check.allow_missing, ""
    with reading(source) as progress:
        raw = source.read(progress)
        origin = Origin(checksum(source.path, source.follow_links), package_versions())
        check_entries(raw, source.path.name, signed, remedy, holes)
    note_before_fit(source, raw)
    table, chain = source.learn(raw)
    choice = None
    if k is not None and not isinstance(k, int):
        choice = choose_count(ONMF(**with_solver(settings)), table, k)
        k = int(choice.best_k)
    init = "random" if parent is None else parent.model
    with within_memory(source.path.name), show_sweeps(source.path.name) as callback:
        begin = time.perf_counter()
        model = ONMF(k, init=init, callback=callback, **with_solver(settings)).fit(table)
        seconds = time.perf_counter() - begin
    model.set_params(callback=None)
    with waiting(f"Looking at {source.path.name}"):
        said = after_fit(source, raw, model.labels_, model.cluster_centers_)
    note(source.path.name, said)
    if chain:
        model.preprocessing_ = chain
    with waiting("Comparing the clusters"):
        findings = Findings.of(model, table)
    if findings.curve is not None:
        model.certainty_curve_ = findings.curve
    if findings.proof is None and can_certify(model, table):
        with waiting("Bounding the error of all clusterings"):
            findings = findings._replace(proof=certify(model, table).record())
    periods = spread_over_time(model, findings.ids, source, table)
    shown = first_words(raw)
    return FinishedFit(
        model, source, origin, table, findings, seconds, shown, choice, parent, periods
    )


def place_for_copy(target: Path | None, force: bool) -> AbstractContextManager[None]:
    """The same for the annotated copy, if one is wanted."""
    return nullcontext() if target is None else place_for(target.parent, [target.name], force)


def check_annotation(source: Input, target: Path, force: bool) -> None:
    """The result can be written beside the input's own samples and features, into this file."""
    if source.path.suffix != ".h5ad" or source.transpose or is_remote(source.path):
        raise ValueError(
            "--write-h5ad needs an .h5ad file of this machine as input, and no --transpose."
        )
    if target.resolve() == source.path.resolve():
        raise ValueError(
            f"--write-h5ad names the input {target}, which later commands compare with what was "
            "clustered: name another file."
        )
    if target.exists() and not force:
        raise ValueError(f"{target} is there already: name another file, or add --force.")


def choose_count(model: ONMF, table: Table, among: range | str) -> Any:
    """The number of clusters, by `onmf.choose_k`; no more than there can be."""
    some = sample_in_memory(table, model.random_state)
    n, possible, label = len(some.samples), None, "Choosing the number of clusters"
    if isinstance(among, range):
        possible = range(among.start, max(min(among.stop, n), among.start + 1))
        label = f"Choosing among {possible[0]} to {possible[-1]} clusters"
    with notes("choosing K"), waiting(label) as progress:
        choice: Any = choose_k(model, some.X, possible, n_jobs=model.n_jobs, progress=progress)
    if some is table:
        return choice
    note("choosing K", [f"K was chosen by {n} of the {len(table.samples)} samples."])
    return replace(choice, consensus=None)  # it is not about all of them


def summarise_run(record: dict[str, Any], out: Path) -> str:
    """The result in a few lines."""
    results, choice = record["results"], record["choice"]
    sizes = ", ".join(map(str, results["cluster_sizes"]))
    measure = LOSSES[record["parameters"]["loss"]].words.error
    lines = [
        f"Clusters of {sizes} samples, {measure} {results['relative_error']:.4g}, "
        f"{results['sweeps']} sweeps, {results['seconds']:.1f} s."
    ]
    if results["outliers"] is not None:
        lines.append(outlier_sentence(**results["outliers"]))
    if record["lineage"]:
        lines.append(descent_sentence(record["lineage"][-1]))
    if choice is not None:
        lines.insert(0, f"{choice['best_k']} clusters: {choice['reason']}")
    if results["proof"] is not None:
        said = results["proof"]["sentence"]
        lines.append(f"{said[0].upper()}{said[1:]}.")
    if results["scores"] is not None:
        agreement = results["scores"].items()
        lines.append(", ".join(f"{name.replace('_', ' ')} {v:.3f}" for name, v in agreement) + ".")
    written = [name for name in RESULTS if (out / name).exists()]
    return "\n".join([*lines, f"Wrote {', '.join(written)} to {out}."])


def descent_sentence(told: dict[str, Any]) -> str:
    """What became of the clusters of the run before."""
    turned = max((angle for angle in told["drift"] if angle is not None), default=0)
    said = f"{len(told['kept'])} clusters kept their ids (turned by at most {turned:.1f} degrees)"
    for word in ("born", "vanished"):
        said += f", {word}: {listing(told[word]) or 'none'}"
    if told["new_features"] or told["lost_features"]:
        said += f"; {told['new_features']} features are new, {told['lost_features']} lost"
    return f"{said}."
