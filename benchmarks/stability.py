"""Is the recommended K good, steady and honest, what does it cost, how much memory does it take?

The rule and its constants come from a study of 182 labelled sets, whose tuning half is the table
number.csv in the folder that ONMF_STUDIES names ("study"). Some 30 variants were tried on it and
on "labelled": exponents, weights of J, other uses of the valley. The search in halves and the
threshold of the evidence were chosen on "labelled", "nothing" and parts of "texts", the part of the
valley in the score after a look at pbmc_facs and miRNA 5 of "real": none of these is unseen.

Each part is written when it ends; some parts alone: `ONMF_PARTS=study,real`.
"""

import os
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import labelled
import sets
from onmf import ONMF, choose_k
from onmf.datasets import make_paper_synthetic, make_rays
from onmf.exceptions import ConvergenceWarning
from onmf.ledger import Ledger
from onmf.stability import rule
from tables import table, write_section

KS = (3, 5, 8, 12, 20)
FINDABLE = 0.3  # best adjusted Rand index from which on a set has clusters that can be found
GRID = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 32, 40)  # K whose fits are looked at for the regret


def run() -> None:
    """Each part into a section of its own, as it ends."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    parts = {
        "study": ("The recommended K: the tuning half of the study", study),
        "labelled": ("The recommended K: labelled sets", labelled_sets),
        "nothing": ("The recommended K: no clusters", nothing),
        "steady": ("The recommended K: other halves, ranges and orders", steady),
        "texts": ("The recommended K: counts of words by kl", texts),
        "planted": ("The recommended K: planted clusters", lambda: made_up(KS)),
        "many": ("The recommended K: forty planted clusters", lambda: made_up((40,))),
        "real": ("The recommended K: real data", lambda: real(real_sets())),
        "large": ("The recommended K: larger real data", lambda: real(large_sets())),
        "sizes": ("The recommended K: the paper's sizes", paper_sizes),
        "cost": ("The recommended K: cost", cost),
        "memory": ("The recommended K: memory", memory),
    }
    asked = os.environ.get("ONMF_PARTS")
    for name in parts if asked is None else asked.split(","):
        title, part = parts[name]
        begin = process_time()
        body = part()
        spent = f"{(process_time() - begin) / 60:.0f} minutes of one core."
        write_section(f"stability {name}", title, f"{body}\n\n{spent}")


def planted(k: int, unequal: bool, snr_db: float, outliers: float, counts: bool, seed: int):
    """K rays in 400 features, the smallest cluster of 15 samples or all the same size.

    Dense: uniform rays, Gaussian noise at this ratio. Counts: Poisson documents of 80 words (0 dB)
    or 250 (5 dB) on average. Outliers are uniform samples, or documents with topics of their own.
    """
    rng = np.random.default_rng([k, unequal, int(snr_db), int(100 * outliers), counts, seed])
    n, m = (1000 if k <= 20 else 2000), 400
    sizes = np.full(k, n // k)
    if unequal:
        sizes = 15 + np.floor(rng.dirichlet(np.full(k, 0.7)) * (n - 15 * k)).astype(int)
    y = rng.permutation(np.repeat(np.arange(k), sizes))
    n, lost = len(y), rng.random(len(y)) < outliers
    if counts:
        topics = rng.gamma(0.5, size=(k + lost.sum(), m))
        topics /= topics.sum(axis=1, keepdims=True)
        mixed = y.copy()
        mixed[lost] = k + np.arange(lost.sum())
        length = rng.poisson({0: 80, 5: 250}[snr_db], n) + 5
        return sp.csr_array(rng.poisson(topics[mixed] * length[:, None]).astype(float)), y, lost
    S = rng.uniform(size=(k, m))[y] * rng.uniform(0.5, 2, n)[:, None]
    E = rng.standard_normal((n, m))
    X = np.maximum(S + E * np.sqrt(np.sum(S**2) / np.sum(E**2) / 10 ** (snr_db / 10)), 0)
    X[lost] = 5 * rng.uniform(size=(lost.sum(), m))
    return X, y, lost


def best_ari(X, y, ks) -> dict[int, float]:
    """Adjusted Rand index of the fit with each K."""
    return {k: adjusted_rand_score(y, ONMF(k, random_state=0).fit_predict(X)) for k in ks}


def near(k: int, true: int) -> bool:
    return abs(k - true) <= 0.2 * true


def made_up(ks) -> str:
    """Planted clusters: how often K is right, and what a wrong one costs."""
    rows = []
    for k, unequal, snr, share, counts in product(ks, (0, 1), (0, 5), (0, 0.05), (0, 1)):
        X, y, lost = planted(k, unequal, snr, share, counts, seed=5)
        choice = choose_k(ONMF(random_state=0), X)
        best = choice.best_k
        found = best_ari(X, y, sorted({best, k, k + 1} - {1}))
        extra = outlier_cluster(choice.model.labels_, lost) and best == k + 1
        finer = sum(scale.k > 1.2 * k for scale in choice.scales)
        rows.append((k, share, counts, best, extra, max(found.values()) - found[best], finer))
        print(rows[-1], file=sys.stderr, flush=True)
    lines = []
    groups = {
        "no outliers": lambda r: r[1] == 0,
        "5 % outliers": lambda r: r[1] > 0,
        "dense": lambda r: not r[2],
        "counts": lambda r: r[2],
        **{f"K = {k}": lambda r, k=k: r[0] == k for k in ks},
        "**all**": lambda r: True,
    }
    for name, inside in groups.items():
        own = [row for row in rows if inside(row)]
        exact = np.mean([r[3] == r[0] for r in own])
        lenient = np.mean([r[3] == r[0] or r[4] for r in own])
        within = np.mean([near(r[3], r[0]) for r in own])
        regret, finer = np.mean([r[5:7] for r in own], axis=0)
        shares = [f"{share:.0%}" for share in (exact, lenient, within)]
        lines.append([name, len(own), *shares, f"{regret:.3f}", f"{finer:.2f}"])
    columns = ["sets", "number", "exact", "exact, or K + 1 with the outliers as a cluster"]
    columns += ["within 20 %", "regret", "scales above 1.2 K"]
    return (
        f"Planted clusters, K = {', '.join(map(str, ks))}, equal and very unequal sizes (15 or "
        "more samples), 0 and 5 dB, without and with outliers, dense and counts; default range. "
        "Regret: the best adjusted Rand index among K chosen, true K and true K + 1, minus that of "
        "the K chosen. Scales above 1.2 K name pieces of clusters.\n\n" + table(columns, lines)
    )


def outlier_cluster(labels, lost) -> bool:
    """Whether some cluster has mostly outliers, and most of them."""
    sizes = np.bincount(labels[labels >= 0])
    inside = np.bincount(labels[lost & (labels >= 0)], minlength=len(sizes))
    return bool(np.any((inside > 0.5 * np.maximum(sizes, 1)) & (inside > 0.5 * lost.sum())))


def paper_sizes() -> str:
    """The paper's generator, with clusters down to a single sample."""
    lines = []
    for smallest in (15, 1):
        hits = [
            [
                choose_k(ONMF(random_state=draw), X, range(2, 16)).best_k == k
                for draw in range(1, 11)
                for X, _ in [
                    make_paper_synthetic(
                        0, n_clusters=k, smallest=smallest, outliers=0, random_state=draw
                    )
                ]
            ]
            for k in (3, 5, 8, 12)
        ]
        lines.append([f"{smallest} or more", *(sum(own) for own in hits), f"{np.mean(hits):.0%}"])
    return (
        "The paper's generator without outliers at 0 dB: draws right, of ten each (seeds 1-10), "
        "K = 2..15.\n\n" + table(["sizes", "K = 3", "K = 5", "K = 8", "K = 12", "right"], lines)
    )


def study() -> str:
    """The rule on the statistics of the study, without a fit."""
    folder = os.environ.get("ONMF_STUDIES") or str(sets.folder() / ".." / "studies")
    found = pd.read_csv(Path(folder) / "number.csv")
    found["kind"] = found.kind.fillna("no clusters").replace(
        {"textcounts": "text", "cells": "expression", "other": "image", "hier": "levels"}
    )
    rows = []
    for _, own in found.groupby("name"):
        known = {int(r.k): rule.Figures(r.J, r.kept, r.A, r.B, r.valley) for r in own.itertuples()}
        verdict, ari = rule.decide(known, int(own.n.iloc[0])), own.set_index("k").ari
        named = ari[verdict.scales].max()
        best = ari.max()
        rows.append((own.kind.iloc[0], best, best - ari[verdict.best], best - named, verdict[3]))
    sure = pd.DataFrame(rows, columns=["kind", "best", "regret", "scales", "evidence"])
    some = sure[sure.kind != "no clusters"]
    lines = [
        [kind, len(own), f"{own.regret.mean():.3f}", f"{own.scales.mean():.3f}"]
        for kind, own in [*some.groupby("kind"), ("**all**", some)]
    ]
    return (
        "Statistics of halves by the former search. Regret: the best adjusted Rand index over all "
        "K minus that of the K chosen, or of the best scale named. Said to have no evidence: "
        f"{1 - sure[sure.kind == 'no clusters'].evidence.mean():.0%} of the sets without clusters, "
        f"{1 - some[some.best >= FINDABLE].evidence.mean():.0%} of those with clusters that can be "
        "found.\n\n" + table(["kind", "sets", "regret", "best scale named"], lines)
    )


def labelled_sets() -> str:
    """Regret and evidence on the sets of `labelled`."""
    lines, rows = [], []
    for one in labelled.every():
        choice = choose_k(ONMF(random_state=0), one.X)
        n, classes = one.X.shape[0], len(np.unique(one.y))
        ks = {k for k in GRID if k < n / 8} | {2, classes, *(scale.k for scale in choice.scales)}
        found = best_ari(one.X, one.y, sorted(ks))
        best = max(found, key=found.get)
        regret = found[best] - found[choice.best_k]
        rows.append((one.kind, found[best], regret, choice.evidence, n))
        scales = ", ".join(str(scale.k) for scale in choice.scales)
        said = "yes" if choice.evidence else "no"
        figures = f"{100 * found[choice.best_k]:.1f}", f"{100 * found[best]:.1f} ({best})"
        lines.append(
            [one.name, one.kind, n, classes, choice.best_k, scales, said, *figures, f"{regret:.3f}"]
        )
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    sure = pd.DataFrame(rows, columns=["kind", "best", "regret", "evidence", "n"])
    kinds = "; ".join(f"{kind} {own.regret.mean():.3f}" for kind, own in sure.groupby("kind"))
    kept = sure[(sure.best >= FINDABLE) & (sure.n >= 100)].evidence
    columns = ["data", "kind", "samples", "classes", "K", "scales", "evidence", "ARI %"]
    return (
        f"{len(sure)} sets, at most 1,000 samples each, default range: mean regret "
        f"{sure.regret.mean():.3f} ({kinds}) against the best of K = {', '.join(map(str, GRID))}, "
        f"the number of classes and the scales named. Evidence in {kept.mean():.0%} of {len(kept)} "
        "sets of at least 100 samples with an index of 0.3 or more.\n\n"
        + table([*columns, "best ARI % (at K)", "regret"], lines)
    )


def nothing() -> str:
    """Data without clusters: how often that is said."""
    said = {name: choose_k(ONMF(random_state=0), X) for name, X in labelled.without_clusters()}
    lines = [[name, own.best_k, "yes" if own.evidence else "no"] for name, own in said.items()]
    share = np.mean([not own.evidence for own in said.values()])
    return f"{len(said)} kinds of data without clusters: no evidence in {share:.0%}.\n\n" + table(
        ["data", "K", "evidence"], lines
    )


def steady() -> str:
    """The same K by other halves, in longer ranges, and for the samples in another order."""
    lines, total = [], []
    for one in labelled.every():
        n = one.X.shape[0]
        if n < 100:
            continue
        with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "l") as book:
            model = ONMF(random_state=0)
            choice = choose_k(model, one.X, range(2, min(40, n // 8) + 1), n_runs=24, ledger=book)
            twice = [by_cuts(book, some, n) for some in (range(6), range(6, 12))]
            short = by_cuts(book, range(6), n, 20)
        order = np.random.default_rng(0).permutation(n)
        shuffled = choose_k(model, one.X[order], range(2, min(20, n // 8) + 1), beyond=False).best_k
        ari = adjusted_rand_score(one.y, choice.model.labels_)
        lines.append([one.name, *twice, short, shuffled, f"{ari:.2f}"])
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
        total.append(
            (twice[0] == twice[1], near(*twice), twice[0] == short, short == shuffled, ari)
        )
    same, within, ranges, orders, ari = np.array(total, float).T
    easy = ari >= FINDABLE
    return (
        f"Two disjoint sets of six cuts give the same K in {same[easy].mean():.0%}, within 20 % in "
        f"{within[easy].mean():.0%} of the {easy.sum()} sets whose K has an index of 0.3 or more; "
        f"the ranges 2..20 and 2..40 the same K in {ranges.mean():.0%} of all {len(total)}, the "
        f"samples in another order in {orders.mean():.0%}. No seed enters.\n\n"
        + table(["data", "K", "K by other cuts", "K up to 20", "another order", "ARI"], lines)
    )


def by_cuts(book: Ledger, cuts, n: int, last: int = 40) -> int:
    """The K by some of the cuts in a ledger."""
    figures: dict[int, list] = {}
    for row in book.rows():
        if row.trial["cut"] in cuts:
            for k, own in row.result["figures"].items():
                figures.setdefault(int(k), []).append(own)
    means = {k: np.mean(own, axis=0) for k, own in figures.items() if 2 <= k <= last}
    known = {k: rule.Figures(*m[:4], m[4] / max(m[5], 1e-9)) for k, m in means.items()}
    return rule.decide(known, n).best


def texts() -> str:
    """K by kl on counts, and what it costs beside squares on tf-idf."""
    lines = []
    for name, (X, y) in {
        **{name: labelled.jsonl(name) for name in ("bbc", "searchsnippets", "m10")},
        "cells of three lines, reads": labelled.reads(),
    }.items():
        some = np.asarray(X.sum(axis=1)).ravel() > 0
        X, y, spent, best = X[some], y[some], [], []
        for loss, Y in (("kl", X), ("frobenius", labelled.tfidf(X))):
            begin = process_time()
            choice = choose_k(ONMF(random_state=0, loss=loss, n_jobs=1), Y, n_jobs=1)
            spent.append(process_time() - begin)
            best.append(choice)
        ks = sorted({*range(2, 11), 12, 15, best[0].best_k})
        fits = {k: ONMF(k, random_state=0, loss="kl").fit_predict(X) for k in ks}
        found = {k: adjusted_rand_score(y, labels) for k, labels in fits.items()}
        k, top = best[0].best_k, max(found, key=found.get)
        figures = f"{100 * found[k]:.1f}", f"{100 * found[top]:.1f} ({top})"
        ratio = f"{spent[0]:.1f}", f"{spent[1]:.1f}", f"{spent[0] / spent[1]:.1f}"
        regret = f"{found[top] - found[k]:.3f}"
        lines.append([f"{name} {X.shape}", k, *figures, regret, best[1].best_k, *ratio])
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    columns = ["data", "K by kl", "ARI %", "best ARI % (at K)", "regret", "K by tf-idf"]
    return (
        'Counts of words (and reads of cells), `loss="kl"`; seconds of processor time of '
        "`choose_k`, one thread, beside squares on tf-idf of the same counts.\n\n"
        + table([*columns, "seconds, kl", "seconds, squares", "ratio"], lines)
    )


def text(name: str, counts, y, k: int):
    """The three preparations of a collection of documents."""
    roots = counts.astype(float)
    roots.data = np.sqrt(roots.data)
    weighted = sets.tfidf().fit_transform(counts)
    for way, X in (("tf-idf", weighted), ("square roots", roots), ("counts", counts.astype(float))):
        yield f"{name}, {way}", X, y, k, True


def real_sets():
    yield "digits", *sets.digits(), False
    if sets.folder() is None:
        return
    yield "RNA-seq 6 types", *sets.rnaseq(), False
    for types in (5, 10):
        yield f"miRNA {types} types", *sets.mirna(types), False
    for subset in range(1, 7):
        yield from text(f"TDT2 {subset}", *sets.tdt2(subset, False))
    yield "pbmc_facs", *sets.pbmc(), False
    for types in (15, 20):
        yield f"miRNA {types} types", *sets.mirna(types), False


def large_sets():
    if sets.folder() is None:
        return
    yield "miRNA 32 types", *sets.mirna(32), False
    messages = sets.load_newsgroups()
    yield from text("20 Newsgroups", sp.csr_array(sets.used(messages.data)), messages.target, 20)


def real(collections) -> str:
    """Real data: K, scales and regret."""
    lines, kinds = [], {True: [], False: []}
    for name, X, y, k, is_text in collections:
        choice = choose_k(ONMF(random_state=0), X)
        around = {c for c in GRID if c <= 1.5 * k}
        found = best_ari(X, y, sorted({*around, k, choice.best_k} - {1}))
        regret = max(found.values()) - found[choice.best_k]
        scales = [scale.k for scale in choice.scales]
        hit = any(near(scale, k) for scale in scales)
        kinds[is_text].append((regret, hit))
        best = max(found, key=found.get)
        lines.append(
            [
                name,
                k,
                choice.best_k,
                ", ".join(map(str, scales)),
                "yes" if choice.evidence else "no",
                f"{100 * found[choice.best_k]:.1f}",
                f"{100 * found[best]:.1f} ({best})",
                f"{regret:.3f}",
            ]
        )
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    columns = ["data", "classes", "K", "scales", "evidence", "ARI %"]
    columns += ["best ARI % (at K)", "regret"]
    summary = "; ".join(
        f"{'text' if is_text else 'not text'}: mean regret {np.mean([r for r, _ in own]):.3f}, "
        f"classes within 20 % of a scale in {np.mean([hit for _, hit in own]):.0%}"
        for is_text, own in kinds.items()
        if own
    )
    among = ", ".join(map(str, GRID))
    return (
        f"Real data, default range. {summary}. Regret against the best of K = {among} (up to half "
        "as many again as there are classes), the number of classes and the K chosen.\n\n"
        + table(columns, lines)
    )


def cost() -> str:
    """All of `choose_k` over 2..20 against one fit with 20 clusters; one thread, interleaved."""
    data = {"synthetic 1 dB": sets.SYNTHETIC["synthetic 1 dB"]().X, "digits": sets.digits().X}
    if sets.folder():
        data |= {"RNA-seq 6 types": sets.rnaseq().X, "pbmc_facs": sets.pbmc().X}
        data |= {"miRNA 10 types": sets.mirna(10).X, "TDT2 1": sets.tdt2(1, True).X}
    lines = []
    for name, X in data.items():
        fits, ours = [], []
        for _ in range(3):
            fits.append(processor_time(lambda X=X: ONMF(20, random_state=0, n_jobs=1).fit(X)))
            ours.append(processor_time(lambda X=X: chosen(X)))
        fit, own = min(fits), min(ours)
        lines.append([f"{name} {X.shape}", f"{fit:.2f}", f"{own:.2f}", f"{own / fit:.1f}"])
    return (
        "Cost of choose_k over K = 2..20, the fit with the K recommended and all figures included: "
        "seconds of processor time, one thread, best of three.\n\n"
        + table(["data", "one fit, K = 20", "choose_k", "ratio"], lines)
    )


def processor_time(task) -> float:
    begin = process_time()
    task()
    return process_time() - begin


def chosen(X):
    return choose_k(ONMF(random_state=0, n_jobs=1), X, range(2, 21), n_jobs=1, beyond=False)


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
    return f"Memory of choose_k, K = 2..20: {out.stdout.strip()}"


def measure_memory() -> None:
    X, _ = make_rays(200_000, 100, 6, noise=1.0, random_state=0, dtype=np.float32)
    chosen(X[:2000])  # compiles
    tracemalloc.start()
    choice = chosen(X)
    peak = tracemalloc.get_traced_memory()[1]
    print(
        f"{X.shape[0]} x {X.shape[1]} in single precision ({X.nbytes / 1e6:.0f} MB), peak above "
        f"the data {peak / 1e6:.0f} MB; K={choice.best_k} recommended (true: 6)."
    )
