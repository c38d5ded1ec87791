"""Is the recommended K good, steady and honest, what does it cost, how much memory does it take?

The rule and its constants come from a study of 182 labelled sets, whose tuning half is the table
number.csv in the folder that ONMF_STUDIES names ("study"). Some 30 variants were tried on it and
on "labelled": exponents, weights of J, other uses of the valley; later about 600 more on the table,
products of powers of J + M, A, 1 - B and decreasing functions of V. Those in `OTHERS` have the
lowest regret there; what they do to the sets of "labelled" and "real" is shown beside the rule. The
search in halves and the threshold of the evidence were chosen on "labelled", "nothing" and parts of
"texts", the part of the valley in the score after a look at pbmc_facs and miRNA 5 of "real": none
of these is unseen.

Each part is written when it ends; some parts alone: `ONMF_PARTS=study,real`.
"""

import os
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

import labelled
import sets
from onmf import ONMF, choose_k
from onmf.datasets import make_rays
from onmf.ledger import Ledger
from onmf.number import rule
from tables import table, write_section

FINDABLE = 0.3  # best adjusted Rand index from which on a set has clusters that can be found
GRID = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 32, 40)  # K whose fits are looked at for the regret


def run() -> None:
    """Each part into a section of its own, as it ends."""
    warnings.simplefilter("ignore")
    parts = {
        "study": ("The recommended K: the tuning half of the study", study),
        "labelled": ("The recommended K: labelled sets", labelled_sets),
        "nothing": ("The recommended K: no clusters", nothing),
        "texts": ("The recommended K: counts of words by kl", texts),
        "real": ("The recommended K: real data", real),
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


def best_ari(X, y, ks) -> dict[int, float]:
    """Adjusted Rand index of the fit with each K."""
    return {k: adjusted_rand_score(y, ONMF(k, random_state=0).fit_predict(X)) for k in ks}


OTHERS = {
    "S^2.5": lambda f: f.comes_back**2.5,
    "(S (1 - B))^2.5": lambda f: (f.comes_back * (1 - f.border)) ** 2.5,
    "S^2 (1 - B)^4": lambda f: (f.comes_back * (1 - f.border) ** 2) ** 2,
    "(S (1 - B))^1.5 / (1 + V)": lambda f: (f.comes_back * (1 - f.border)) ** 1.5 / (1 + f.valley),
}  # times log K: the rule of the study, and others that have two constants or three


def by_others(known: dict[int, rule.Figures], n: int) -> dict[str, int]:
    """The K by other rules."""
    ks = [k for k in known if k <= max(n // rule.FEWEST_PER_CLUSTER, 2)]
    return {
        name: max(ks, key=lambda k, of=of: np.log(k) * of(known[k])) for name, of in OTHERS.items()
    }


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
        n, ari = int(own.n.iloc[0]), own.set_index("k").ari
        verdict = rule.decide(known, n)
        lost = {"regret": ari.max() - ari[verdict.best]}
        lost["best scale named"] = ari.max() - ari[verdict.scales].max()
        lost |= {name: ari.max() - ari[k] for name, k in by_others(known, n).items()}
        rows.append({"kind": own.kind.iloc[0], "best": ari.max(), "said": verdict.evidence} | lost)
    sure = pd.DataFrame(rows)
    some = sure[sure.kind != "no clusters"]
    return (
        "Statistics of halves by the former search. Regret: the best adjusted Rand index over all "
        "K minus that of the K chosen, or of the best scale named, or of the K with the largest "
        "log K times the formula. Said to have no evidence: "
        f"{1 - sure[sure.kind == 'no clusters'].said.mean():.0%} of the sets without clusters, "
        f"{1 - some[some.best >= FINDABLE].said.mean():.0%} of those with clusters that can be "
        "found.\n\n" + by_kind(some, ["regret", "best scale named", *OTHERS])
    )


def by_kind(rows: pd.DataFrame, columns: list[str]) -> str:
    """Means of some columns for each kind, and for all."""
    lines = [
        [kind, len(own), *(f"{own[name].mean():.3f}" for name in columns)]
        for kind, own in [*rows.groupby("kind"), ("**all**", rows)]
    ]
    return table(["kind", "sets", *columns], lines)


def labelled_sets() -> str:
    """Regret, evidence and steadiness on the sets of `labelled`."""
    lines, rows = [], []
    for one in labelled.every():
        with Ledger(":memory:") as book:
            choice = choose_k(ONMF(random_state=0), one.X, ledger=book)
            same = steady(one.X, book) if one.X.shape[0] >= 100 else {}
        n, classes = one.X.shape[0], len(np.unique(one.y))
        others = by_others(figures_of(choice), n)
        ks = {k for k in GRID if k < n / 8} | {2, classes, *(scale.k for scale in choice.scales)}
        found = best_ari(one.X, one.y, sorted(ks | {*others.values()}))
        best = max(found, key=found.get)
        lost = {name: found[best] - found[k] for name, k in others.items()}
        lost["regret"] = found[best] - found[choice.best_k]
        rows.append({"kind": one.kind, "best": found[best], "said": choice.evidence, "n": n})
        rows[-1] |= {"index": found[choice.best_k]} | same | lost
        scales = ", ".join(str(scale.k) for scale in choice.scales)
        said = "yes" if choice.evidence else "no"
        line = [one.name, one.kind, n, classes, choice.best_k, scales, said]
        line += [f"{100 * found[choice.best_k]:.1f}", f"{100 * found[best]:.1f} ({best})"]
        lines.append([*line, f"{lost['regret']:.3f}", *same.values()])
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    sure = pd.DataFrame(rows)
    kept = sure[(sure.best >= FINDABLE) & (sure.n >= 100)]
    columns = ["data", "kind", "samples", "classes", "K", "scales", "evidence", "ARI %"]
    columns += ["best ARI % (at K)", "regret", *SAME]
    return (
        f"{len(sure)} sets, at most 1,000 samples each, default range. Regret against the best of "
        f"K = {', '.join(map(str, GRID))}, the number of classes and the scales named. Evidence in "
        f"{kept.said.mean():.0%} of {len(kept)} sets of at least 100 samples with an index of 0.3 "
        f"or more at some K. {steadiness(sure)} No seed enters.\n\n"
        + by_kind(sure, ["regret", *OTHERS])
        + "\n\n"
        + table(columns, lines)
    )


def figures_of(choice) -> dict[int, rule.Figures]:
    """The figures in the table of a choice."""
    return {row.k: rule.Figures(*row[3:9]) for row in choice.table if not row.failed}


SAME = ["K, 2..40", "K, 2..40, other cuts", "K, 2..20", "K, 2..20, another order"]


def steady(X, book: Ledger) -> dict[str, int]:
    """The K by other halves, in longer ranges, and for the samples in another order."""
    n, model = X.shape[0], ONMF(random_state=0)
    most = min(40, n // rule.FEWEST_PER_CLUSTER)
    choose_k(model, X, range(2, most + 1), n_runs=24, ledger=book, beyond=False)
    order, few = np.random.default_rng(0).permutation(n), range(2, min(20, most) + 1)
    cuts = (
        by_cuts(book, range(6), n),
        by_cuts(book, range(6, 12), n),
        by_cuts(book, range(6), n, 20),
    )
    shuffled = choose_k(model, X[order], few, beyond=False).best_k
    return dict(zip(SAME, [*cuts, shuffled], strict=True))


def by_cuts(book: Ledger, cuts, n: int, last: int = 40) -> int:
    """The K by some of the cuts in a ledger."""
    figures: dict[int, list] = {}
    for row in book.rows():
        if row.trial["cut"] in cuts:
            for k, own in row.result["figures"].items():
                figures.setdefault(int(k), []).append(own)
    means = {k: np.mean(own, axis=0) for k, own in figures.items() if 2 <= k <= last}
    known = {k: rule.Figures(*m[:4], m[4] / max(m[5], 1e-9), m[6]) for k, m in means.items()}
    return rule.decide(known, n).best


def steadiness(rows: pd.DataFrame) -> str:
    """In how many sets K is the same."""
    rows = rows[rows.n >= 100]
    long, other, short, shuffled = (rows[name] for name in SAME)
    same, within = long == other, abs(long - other) <= 0.2 * np.maximum(long, other)
    shares = [
        f"{same[some].mean():.0%}, within 20 % in {within[some].mean():.0%} of the {some.sum()} "
        f"sets of at least 100 samples whose {what} has an index of 0.3 or more"
        for what, some in (("best K", rows.best >= FINDABLE), ("K", rows["index"] >= FINDABLE))
    ]
    return (
        f"Two disjoint sets of six cuts give the same K in {shares[0]} ({shares[1]}); the ranges "
        f"2..20 and 2..40 in {(long == short).mean():.0%} of all {len(rows)}, the samples in "
        f"another order in {(short == shuffled).mean():.0%}."
    )


def nothing() -> str:
    """Data without clusters: how often that is said."""
    said = {name: choose_k(ONMF(random_state=0), X) for name, X in labelled.without_clusters()}
    lines = [[name, own.best_k, "yes" if own.evidence else "no"] for name, own in said.items()]
    share = np.mean([not own.evidence for own in said.values()])
    return f"{len(said)} kinds of data without clusters: no evidence in {share:.0%}.\n\n" + table(
        ["data", "K", "evidence"], lines
    )


def texts() -> str:
    """K by kl on counts, and what it costs beside squares on tf-idf."""
    lines = []
    for name, (X, y) in {
        **{name: labelled.jsonl(name) for name in ("bbc", "searchsnippets", "m10")},
        **{f"TDT2 {subset}": sets.tdt2(subset, False)[:2] for subset in (1, 2)},
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


def real_sets():
    yield "digits", *sets.digits()
    if sets.folder() is None:
        return
    yield "RNA-seq 6 types", *sets.rnaseq()
    for types in (5, 10, 15, 20):
        yield f"miRNA {types} types", *sets.mirna(types)
    yield "pbmc_facs", *sets.pbmc()
    for subset in (1, 2):
        yield f"TDT2 {subset}, tf-idf", *sets.tdt2(subset, True)


def real() -> str:
    """Real data with all samples: K, scales and regret."""
    lines, lost = [], []
    for name, X, y, k in real_sets():
        choice = choose_k(ONMF(random_state=0), X)
        others = by_others(figures_of(choice), X.shape[0])
        around = {c for c in GRID if c <= 1.5 * k}
        found = best_ari(X, y, sorted({*around, k, choice.best_k, *others.values()}))
        best = max(found, key=found.get)
        lost.append(found[best] - found[choice.best_k])
        scales = ", ".join(str(scale.k) for scale in choice.scales)
        line = [name, k, choice.best_k, scales, "yes" if choice.evidence else "no"]
        line += [f"{100 * found[choice.best_k]:.1f}", f"{100 * found[best]:.1f} ({best})"]
        line += [f"{lost[-1]:.3f}", *(f"{100 * found[j]:.1f} ({j})" for j in others.values())]
        lines.append(line)
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    columns = ["data", "classes", "K", "scales", "evidence", "ARI %", "best ARI % (at K)", "regret"]
    return (
        f"Real data, all samples, default range: mean regret {np.mean(lost):.3f} against the best "
        f"of K = {', '.join(map(str, GRID))} (up to half as many again as there are classes), the "
        "number of classes and the K in this table; on the right ARI % (at K) by other rules.\n\n"
        + table([*columns, *OTHERS], lines)
    )


def cost() -> str:
    """All of `choose_k` over 2..20 against one fit with 20 clusters; one thread, interleaved."""
    data = {"synthetic 1 dB": sets.SYNTHETIC["synthetic 1 dB"]().X, "digits": sets.digits().X}
    if sets.folder():
        data |= {"RNA-seq 6 types": sets.rnaseq().X, "miRNA 10 types": sets.mirna(10).X}
        data |= {"TDT2 1": sets.tdt2(1, True).X}
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
