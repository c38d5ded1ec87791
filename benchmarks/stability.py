"""Is the recommended K right, what does it cost, how much memory does it take?"""

import os
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score

import sets
from onmf import ONMF, choose_k
from onmf.core.memory import InMemory
from onmf.datasets import make_paper_synthetic, make_rays
from onmf.exceptions import ConvergenceWarning
from onmf.stability import consensus, rule
from onmf.stability.errors import centres
from tables import table, write_section

DRAWS = range(1, 11)  # the rule was made with other seeds, from 100
TRUE = (3, 5, 8, 12)
SEEN = ("digits", "pbmc_facs", "RNA-seq 6 types", "miRNA 5 types", "miRNA 10 types")
SEEN += ("TDT2 1", "TDT2 3")
FRESH = ("miRNA 15 types", "miRNA 20 types", "TDT2 4", "TDT2 5", "TDT2 6")


def run() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    parts = [true_k(), real(), cost(), memory(), paper()]
    write_section("stability", "Stability, and the recommended K", "\n\n".join(parts))


def rules(choice) -> dict[str, int]:
    """What simpler rules make of the same table."""
    rows = [row for row in choice.table if np.isfinite(row.cophenetic)]
    pick = {
        "lowest held-out error": min(choice.table, key=lambda r: r.held_out).k,
        "largest score alone": max(rows, key=lambda r: np.nan_to_num(r.score)).k,
        "ratio of relative errors": max(rows, key=lambda r: np.nan_to_num(r.ratio)).k,
        "highest cophenetic": max(rows, key=lambda r: r.cophenetic).k,
        "centroid silhouette": max(rows, key=lambda r: r.silhouette).k,
    }
    again = max(r.agreement for r in rows) - rule.TOLERANCE
    return (
        {"**the rule**": choice.best_k}
        | pick
        | {"largest K found again": max(r.k for r in rows if r.agreement >= again)}
    )


def true_k() -> str:
    """Share of draws in which each rule finds the true K."""
    lines, notes = [], []
    for smallest in (15, 1):
        hits: dict[str, list[tuple[int, bool]]] = {}
        out_of_reach = []
        for k in TRUE:
            for draw in DRAWS:
                X, y = make_paper_synthetic(
                    0, n_clusters=k, smallest=smallest, outliers=0, random_state=draw
                )
                choice = choose_k(ONMF(random_state=draw), X, range(2, 16), n_runs=4)
                for name, best in rules(choice).items():
                    hits.setdefault(name, []).append((k, best == k))
                if choice.best_k != k:
                    true = centres(InMemory(X), y, k, rays=True).relative_error
                    fit = ONMF(k, random_state=draw).fit(X).relative_error_
                    out_of_reach.append(fit < true)
        for name, found in hits.items():
            counts = [sum(right for K, right in found if K == k) for k in TRUE]
            share = np.mean([right for _, right in found])
            lines.append([f"{smallest} or more", name, *counts, f"{share:.0%}"])
        notes.append(
            f"smallest cluster of {smallest} or more samples: {len(out_of_reach)} draws wrong, in "
            f"{sum(out_of_reach)} of which the fit with the true K has a lower error than the true "
            "labels (a large cluster split along its noise explains more than a tiny cluster does)"
        )
    body = table(["sizes", "rule", *(f"K = {k}" for k in TRUE), "right"], lines)
    return (
        "The paper's generator without outliers at 0 dB: draws right, of ten each (seeds 1-10), "
        f"K = 2..15, four runs.\n\n{body}\n\n" + "; ".join(notes) + "."
    )


def real() -> str:
    """What is recommended on real data, beside K-means with the silhouette."""
    lines, makers = [], sets.available()
    for name in (*SEEN, *FRESH):
        if name not in makers:
            continue
        X, y, k = makers[name]()
        most = max(12, k + 4)
        choice = choose_k(ONMF(random_state=0), X, range(2, most + 1))
        fits = {c: KMeans(c, n_init=5, random_state=0).fit_predict(X) for c in range(2, most + 1)}
        widths = {
            c: silhouette_score(X, labels, sample_size=min(2000, len(y)), random_state=0)
            for c, labels in fits.items()
        }
        other = max(widths, key=widths.get)
        true = adjusted_rand_score(y, ONMF(k, random_state=0).fit(X).labels_)
        ours = adjusted_rand_score(y, choice.consensus.labels)
        theirs = adjusted_rand_score(y, fits[other])
        lines.append(
            [
                name + ("" if name in SEEN else " (fresh)"),
                k,
                f"{choice.best_k} ({choice.runner_up})",
                f"{choice.confidence:.2f}",
                other,
                f"{100 * ours:.1f}",
                f"{100 * theirs:.1f}",
                f"{100 * true:.1f}",
            ]
        )
    columns = ["data", "classes", "recommended (runner-up)", "confidence", "silhouette, K-means"]
    columns += ["ARI %", "ARI % of K-means", "ARI % at the number of classes"]
    return (
        "Real data. The rule took its form while the first seven were looked at; the fresh ones "
        "were first run when it stood.\n\n" + table(columns, lines)
    )


def cost() -> str:
    """All of `choose_k`, 9 values x 10 runs, against 90 fits one by one; one thread."""
    data = {"synthetic 1 dB": sets.SYNTHETIC["synthetic 1 dB"]().X, "digits": sets.digits().X}
    if sets.folder():
        data |= {"RNA-seq 6 types": sets.rnaseq().X, "pbmc_facs": sets.pbmc().X}
    lines = []
    for name, X in data.items():
        fits, ours = 0.0, 0.0
        for seed in range(10):  # interleaved, a tenth of the work each
            fits += processor_time(lambda X=X, seed=seed: one_by_one(X, seed))
            if seed % 5 == 0:
                ours += processor_time(lambda X=X: chosen(X)) / 2
        lines.append([f"{name} {X.shape}", f"{fits:.1f}", f"{ours:.1f}", f"{ours / fits:.2f}"])
    return (
        "Cost of choose_k over K = 2..10, 10 runs each, held-out fits and all figures included, "
        "without early stop, against 90 fits with the same seeds: seconds of processor time, one "
        "thread, interleaved.\n\n" + table(["data", "90 fits", "choose_k", "ratio"], lines)
    )


def processor_time(task) -> float:
    begin = process_time()
    task()
    return process_time() - begin


def one_by_one(X, seed: int) -> None:
    for k in range(2, 11):
        ONMF(k, random_state=seed, n_jobs=1).fit(X)


def chosen(X) -> None:
    choose_k(ONMF(random_state=0), X, range(2, 11), n_jobs=1, early_stop=False)


def memory() -> str:
    """Peak above the data at 200,000 samples, in a process of its own."""
    code = "import stability; stability.measure_memory()"
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), *sys.path])
    out = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return f"Memory of choose_k, K = 2..10, 10 runs each, no early stop: {out.stdout.strip()}"


def measure_memory() -> None:
    X, _ = make_rays(200_000, 100, 6, noise=1.0, random_state=0, dtype=np.float32)
    chosen(X[:2000])  # compiles
    tracemalloc.start()
    choice = choose_k(ONMF(random_state=0), X, range(2, 11), n_jobs=1, early_stop=False)
    peak = tracemalloc.get_traced_memory()[1]
    row = choice.table[choice.best_k - 2]
    print(
        f"{X.shape[0]} x {X.shape[1]} in single precision ({X.nbytes / 1e6:.0f} MB), peak above "
        f"the data {peak / 1e6:.0f} MB; K={choice.best_k} recommended (true: 6), cophenetic "
        f"{row.cophenetic:.4f} +- {row.cophenetic_se:.4f}."
    )


def paper() -> str:
    """Cophenetic correlation on the paper's data at -5 dB, 20 runs each."""
    X, _ = make_paper_synthetic(-5)
    models = {
        "SNCP": ONMF(10, penalty="sncp", solver="palm", random_state=1),
        "NSNCP": ONMF(10, penalty="nsncp", solver="palm", random_state=1),
        "K-means": KMeans(10, init="random", n_init=1, random_state=1),
        "ONMF, default solver": ONMF(10, random_state=1),
    }
    lines = []
    for name, model in models.items():
        found = consensus(model, X, n_runs=20)
        figures = found.cophenetic, found.dispersion, found.ambiguous
        lines.append([name, *(f"{figure:.4f}" for figure in figures)])
    return "The paper's data at -5 dB, 20 runs from seeds 1-20.\n\n" + table(
        ["method", "cophenetic", "dispersion", "ambiguous pairs"], lines
    )
