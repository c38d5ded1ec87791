"""`onmf demo`."""

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from onmf import ONMF
from onmf.datasets import make_paper_synthetic
from onmf.files import replace_files
from onmf.metrics import adjusted_rand_score, clustering_accuracy
from onmf_app.commands.cluster import run_cluster
from onmf_app.console import say, waiting

REPORT = "report.html"

DOCUMENTS = "documents.csv"  # in the folder of the demo
N_DOCUMENTS, SHORTEST, LONGEST = 600, 20, 5000  # samples, and their lengths in words
SHARE_OF_SUBJECT = 0.2  # of the words of a document; the others are of no subject
SUBJECTS = {
    "cooking": "bake bread butter cheese cook dough flour garlic oven pan pepper recipe salt sauce "
    "simmer soup stir sugar tomato yeast",
    "football": "ball club coach defender fans final foul goal header keeper league midfield "
    "offside pass penalty referee score season striker team",
    "astronomy": "asteroid comet cosmic dwarf eclipse galaxy light lunar mars moon nebula orbit "
    "planet satellite solar star sun supernova telescope universe",
    "music": "album band bass chord choir concert drums guitar harmony jazz lyrics melody note "
    "opera orchestra piano rhythm singer song violin",
    "medicine": "artery blood cell clinic diagnosis disease doctor dose fever heart hospital "
    "infection lung nurse patient surgery symptom therapy vaccine virus",
    "finance": "account bank bond budget capital cash credit debt dividend fund inflation interest "
    "invest loan market price profit stock tax trade",
}
COMMON = (
    "about after again also always because before between come day even find first give good great "
    "just know last little long look make many may more most much new now often only other own "
    "part people place right same say see should small still take thing think time use very want "
    "way week well work world year"
)


@click.command("demo")
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the documents, their clusters and report.html.",
)
def run_demo(out: Path) -> None:
    """Compare with K-means on three data sets, and write a page.

    Word counts of short and long documents on six subjects, handwritten digits of which each image
    has a brightness of its own, and the paper's synthetic data. K-means compares sizes as well as
    patterns, ONMF patterns only. The relative error is that of the best rays for the labels found;
    "empty" is the number of clusters without samples. The page shows the clusters of the documents.

    \b
    Example:
      onmf demo
    """
    documents = make_documents()
    counts, subjects, digits = (
        documents.drop(columns="subject"),
        documents["subject"],
        load_digits(),
    )
    brightness = np.random.default_rng(0).lognormal(0, 0.5, (len(digits.data), 1))
    data = {
        "Documents, 20 to 5000 words": (counts.to_numpy(float), subjects.to_numpy()),
        "Digits of different brightness": (digits.data * brightness, digits.target),
        "The paper's synthetic data, -3 dB": make_paper_synthetic(-3.0),
    }
    ONMF(2, random_state=0).fit(digits.data[:50])  # imports all that a fit needs
    for title, (X, y) in data.items():
        Console().print(comparison(title, X, y))
    page = out / REPORT
    write_page(documents, out)
    say(f"Open {page} in a browser to see the clusters of the documents: {page.resolve().as_uri()}")


def comparison(title: str, X: Any, y: Any) -> Table:
    """ONMF and K-means on the same samples."""
    k = len(np.unique(y))
    models = {
        "ONMF": ONMF(k, random_state=1),
        "K-means, 10 starts": KMeans(k, n_init=10, random_state=1),
    }
    size = f"{X.shape[0]} x {X.shape[1]}, {k} clusters"
    grid = Table("", title=f"{title} ({size})", title_justify="left")
    for column in ("ACC %", "ARI %", "rel. error", "passes", "seconds", "empty"):
        grid.add_column(column, justify="right")
    for name, model in models.items():
        begin = time.perf_counter()
        with waiting(f"{title}: {name}"):
            model.fit(X)
        seconds = time.perf_counter() - begin
        acc, ari, error, empty = quality_cells(X, y, model.labels_, k)
        grid.add_row(name, acc, ari, error, f"{model.n_iter_}", f"{seconds:.2f}", empty)
    return grid


def quality_cells(X: Any, y: Any, labels: Any, k: int) -> tuple[str, str, str, str]:
    """ACC, ARI, relative error and number of empty clusters, as text."""
    return (
        f"{100 * clustering_accuracy(y, labels):.1f}",
        f"{100 * adjusted_rand_score(y, labels):.1f}",
        f"{error_of_rays(X, labels):.4f}",
        f"{k - len(np.unique(labels[labels >= 0]))}",
    )


def error_of_rays(X: Any, labels: Any) -> float:
    """sqrt(1 - sum_k ||X_k||_2^2 / ||X||^2): the relative error of the best rays for labels."""
    explained = sum(np.linalg.norm(X[labels == k], 2) ** 2 for k in np.unique(labels))
    return float(np.sqrt(1 - explained / np.sum(X**2)))


def make_documents() -> pd.DataFrame:
    """Word counts: a document draws its words from its subject, and from words of no subject."""
    rng = np.random.default_rng(0)
    names = [*COMMON.split(), *" ".join(SUBJECTS.values()).split()]
    place = {name: i for i, name in enumerate(names)}
    common = np.zeros(len(names))
    common[: len(COMMON.split())] = rng.dirichlet(np.full(len(COMMON.split()), 1.0))
    rows, subjects = [], rng.choice(list(SUBJECTS), N_DOCUMENTS)
    frequencies = {subject: rng.dirichlet(np.full(20, 2.0)) for subject in SUBJECTS}
    lengths = np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST), N_DOCUMENTS)).astype(int)
    for subject, length in zip(subjects, lengths, strict=True):
        words = (1 - SHARE_OF_SUBJECT) * common
        words[[place[word] for word in SUBJECTS[subject].split()]] += (
            SHARE_OF_SUBJECT * frequencies[subject]
        )
        rows.append(rng.multinomial(length, words / words.sum()))
    samples = [f"text {i + 1} ({length} words)" for i, length in enumerate(lengths)]
    return pd.DataFrame(rows, samples, names).assign(subject=subjects)


def write_page(documents: pd.DataFrame, out: Path) -> None:
    """The documents and what `onmf cluster` writes for them."""
    again = (out / DOCUMENTS).exists()  # only the results of an earlier demo are replaced
    out.mkdir(parents=True, exist_ok=True)
    replace_files(out, {DOCUMENTS: documents.to_csv().encode()})
    words = [out / DOCUMENTS, "-k", len(SUBJECTS), "--labels", "subject", "-o", out]
    run_cluster.main([*map(str, words), *["--force"] * again], standalone_mode=False)
