"""`onmf cluster`."""

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import numpy as np

from onmf import ONMF
from onmf.cli.console import NOT_CONVERGED, bad_input, cluster_sizes, fit
from onmf.files import Table, csv_text, read_table, replace_files


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-k", "--clusters", "k", type=click.IntRange(1), required=True, help="Number of clusters."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for labels.csv, centers.csv and run.json.",
)
@click.option("--penalty", type=click.Choice(["sncp", "nsncp"]), default="sncp")
@click.option("--solver", type=click.Choice(["fast", "palm"]), help="palm: the paper's method.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0)
@click.option("--n-init", type=click.IntRange(1), help="Starts; the best one is kept.")
@click.option("--max-iter", type=click.IntRange(1), help="Raise it if a fit does not converge.")
@click.option("--jobs", type=int, help="Threads; -1 takes all processors.")
@click.option("--json", "as_json", is_flag=True, help="Print run.json instead of a summary.")
def cluster(file: Path, k: int, out: Path, seed: int, as_json: bool, **options: Any) -> int:
    """Cluster the rows of a file.

    The file is a .npy, .npz, .csv or .tsv file. A .npz file holds one array or one SciPy sparse
    matrix. A text file may have a header and, in front, a column of sample names.

    \b
    Example:
      onmf cluster tumours.csv -k 10 -o result --n-init 10 --jobs -1
    """
    options["n_jobs"] = options.pop("jobs")
    chosen = {name: value for name, value in options.items() if value is not None}
    model = ONMF(k, random_state=seed, **chosen)
    with bad_input():
        out.mkdir(parents=True, exist_ok=True)  # before the long part, not after it
        table = read_table(file)
        seconds = fit(model, table.X, file.name)
        run = account(model, table, file, seconds)
        replace_files(out, result_files(model, table, run))
    if as_json:
        click.echo(json.dumps(run, indent=2))
    else:
        click.echo(summary(run["results"], out))
    return 0 if model.converged_ else NOT_CONVERGED


def account(model: ONMF, table: Table, file: Path, seconds: float) -> dict[str, Any]:
    """What was done, to what, with what, and how it ended: the content of run.json."""
    parameters = model.get_params(deep=False)
    del parameters["callback"]
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    n, m = table.X.shape
    packages = ("onmf", "numpy", "scipy", "scikit-learn")
    return {
        "input": {"file": file.name, "sha256": digest, "samples": n, "features": m},
        "seed": model.random_state,
        "parameters": parameters,
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "results": {
            "relative_error": float(model.relative_error_),
            "sweeps": int(model.n_iter_),
            "converged": bool(model.converged_),
            "cluster_sizes": cluster_sizes(model.labels_, model.n_clusters).tolist(),
            "samples_in_no_cluster": int(np.sum(model.labels_ < 0)),
            "seconds": round(seconds, 3),
        },
    }


def summary(results: dict[str, Any], out: Path) -> str:
    """The result in two lines."""
    sizes = ", ".join(map(str, results["cluster_sizes"]))
    return (
        f"Clusters of {sizes} samples, relative error {results['relative_error']:.4g}, "
        f"{results['sweeps']} sweeps, {results['seconds']:.1f} s.\n"
        f"Wrote labels.csv, centers.csv and run.json to {out}."
    )


def result_files(model: ONMF, table: Table, run: dict[str, Any]) -> dict[str, str]:
    """Name and text of each file; run.json comes last, so where it is, the others are."""
    labels = zip(table.samples, model.labels_.tolist(), strict=True)
    centers = ([i, *row] for i, row in enumerate(model.cluster_centers_.tolist()))
    return {
        "labels.csv": csv_text(["sample", "cluster"], labels),
        "centers.csv": csv_text(["cluster", *table.features], centers),
        "run.json": json.dumps(run, indent=2) + "\n",
    }
