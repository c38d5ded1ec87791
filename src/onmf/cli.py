"""The `onmf` command: parse, call, print.

Exit codes: 0 good, 2 bad input, 3 not converged (the result is written all the same), 130
interrupted.
"""

import hashlib
import json
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from onmf import ONMF
from onmf.datasets import make_paper_synthetic
from onmf.files import Table, csv_text, read_table, replace_files
from onmf.metrics import adjusted_rand_score, clustering_accuracy

try:
    import click
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Table as Grid
except ImportError as missing:
    raise SystemExit(
        f'The onmf command needs {missing.name}, which `pip install "onmf[cli]"` installs.'
    ) from missing

NOT_CONVERGED = 3
INTERRUPTED = 130
LONGEST_BAR = 1000  # sweeps


class BadInput(click.ClickException):
    """What the user can put right: one sentence on stderr, no traceback."""

    exit_code = 2


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    args : sequence of str or None, default=None
        The words after `onmf`; None takes those of the process.

    Returns
    -------
    int

    Examples
    --------
    >>> from onmf.cli import main
    >>> main(["--version"])
    onmf ...
    0
    """
    try:
        return commands.main(args, prog_name="onmf", standalone_mode=False) or 0
    except click.ClickException as error:
        click.echo(f"Error: {error.format_message()}", err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(version("onmf"), message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Cluster non-negative data by orthogonal NMF.

    \b
    Example:
      onmf cluster tumours.csv -k 10 -o result
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@commands.command()
def demo() -> None:
    """Cluster digits and the paper's synthetic data, beside K-means.

    The relative error is that of the best rays for the labels found, "empty" the number of clusters
    without samples; the sweeps of K-means are those of its best start.

    \b
    Example:
      onmf demo
    """
    digits = load_digits()
    data = {
        "Handwritten digits": (digits.data, digits.target),
        "Synthetic at -3 dB": make_paper_synthetic(-3.0),
    }
    models = {
        "ONMF, smooth": ONMF(10, penalty="sncp", random_state=1),
        "ONMF, non-smooth": ONMF(10, penalty="nsncp", random_state=1),
        "K-means, 10 starts": KMeans(10, n_init=10, random_state=1),
    }
    ONMF(2, random_state=0).fit(digits.data[:50])  # compiles what there is to compile, once
    for title, (X, y) in data.items():
        grid = Grid("", title=f"{title}, {len(X)} x {X.shape[1]}", title_justify="left")
        for column in ("ACC %", "ARI %", "rel. error", "sweeps", "seconds", "empty"):
            grid.add_column(column, justify="right")
        for name, model in models.items():
            seconds = fit(model, X, f"{title}: {name}")
            grid.add_row(name, *measures(model, X, y, seconds))
        Console().print(grid)


def measures(model: Any, X: NDArray, y: NDArray, seconds: float) -> list[str]:
    """One row of the demo's table."""
    labels = model.labels_
    return [
        f"{100 * clustering_accuracy(y, labels):.1f}",
        f"{100 * adjusted_rand_score(y, labels):.1f}",
        f"{error_of_labels(X, labels):.4f}",
        f"{model.n_iter_}",
        f"{seconds:.1f}",
        f"{np.sum(cluster_sizes(labels, model.n_clusters) == 0)}",
    ]


def error_of_labels(X: NDArray, labels: NDArray) -> float:
    """Relative error of the best factors for given labels: 1 - sum_k sigma_1(X_k)^2 / ||X||^2."""
    explained = sum(np.linalg.norm(X[labels == k], 2) ** 2 for k in np.unique(labels[labels >= 0]))
    return float(1 - explained / np.vdot(X, X))


@commands.command()
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
    """Cluster the rows of a .npy, .npz, .csv or .tsv file.

    A .npz file holds one array or one SciPy sparse matrix. A text file may have a header and, in
    front, a column of sample names.

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


def fit(model: Any, X: Any, label: str) -> float:
    """Fit with a progress bar if stderr is a terminal, warnings as notes; return the seconds."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed} sweeps"),
        TimeElapsedColumn(),
    )
    with (
        warnings.catch_warnings(record=True) as notes,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        warnings.simplefilter("always")
        task = bar.add_task(label, total=None)
        if isinstance(model, ONMF):
            model.set_params(callback=follow(bar, task))
        begin = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - begin
    for note in notes:
        click.echo(f"Note: {label}: {one_line(note.message)}", err=True)
    return seconds


def follow(bar: Progress, task: Any) -> Callable[[Any], bool]:
    """The estimator's callback that moves a progress bar and never stops the fit.

    The paper's limits allow half a million sweeps of which a thousand are used: a bar of that
    length would stay empty, so it pulses instead.
    """

    def callback(event: Any) -> bool:
        total = event.max_sweeps if event.max_sweeps <= LONGEST_BAR else None
        bar.update(task, completed=event.sweep, total=total)
        return False

    return callback


@contextmanager
def bad_input() -> Iterator[None]:
    """Errors about the input or the file system become one sentence and exit code 2."""
    try:
        yield
    except (ValueError, TypeError, OSError, MemoryError) as error:
        raise BadInput(one_line(error)) from error


def one_line(message: object) -> str:
    """The message without line breaks."""
    return " ".join(str(message).split())


def cluster_sizes(labels: NDArray, k: int) -> NDArray:
    """Samples in each of k clusters."""
    return np.bincount(labels[labels >= 0], minlength=k)


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
