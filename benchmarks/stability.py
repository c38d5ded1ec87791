"""Is the recommended K right, steady and honest, what does it cost, how much memory does it take?

The rule was made with other draws (seeds from 100), other TDT2 subsets (11 to 17), other choices of
miRNA types and Newsgroups; but also with subsets of the digits, of pbmc_facs and of RNA-seq, so
that these three, and in part the collections, are not unseen. Nor are the sets of "real" and
"planted": the cost of a cluster (0.35 after 0.4) and the scales (nearly best at some cost, after
best) were settled on tuning sets, but after a look at what came before gave here. What is done
where no K scores above zero was chosen on tuning sets (20 Newsgroups, TDT2, miRNA, digits) and on
sets of other collections (Reuters, tales, MNIST, satellite images, cells), then measured here.

Each part is written when it ends: "planted" and "real" take four minutes of one core each, "many"
and "large" are the dearest. More seeds for the steadiness: `ONMF_SEEDS=20`; some parts alone:
`ONMF_PARTS=planted,real`.
"""

import os
import subprocess
import sys
import tracemalloc
import warnings
from itertools import pairwise, product
from pathlib import Path
from time import process_time

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF, choose_k
from onmf.datasets import make_paper_synthetic, make_rays
from onmf.exceptions import ConvergenceWarning
from tables import table, write_section

KS = (3, 5, 8, 12, 20)
SHUFFLES = range(1, 4)
SEEDS = range(int(os.environ.get("ONMF_SEEDS", "2")))
GRID = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 32, 40)  # K whose fits are looked at for the regret


def run() -> None:
    """Each part into a section of its own, as it ends."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    parts = {
        "planted": ("The recommended K: planted clusters", lambda: made_up(KS)),
        "many": ("The recommended K: forty planted clusters", lambda: made_up((40,))),
        "nothing": ("The recommended K: no clusters", nothing),
        "real": ("The recommended K: real data", lambda: real(real_sets())),
        "large": ("The recommended K: larger real data", lambda: real(large_sets())),
        "steady": ("The recommended K: other seeds, ranges and orders", steady),
        "sizes": ("The recommended K: the paper's sizes", paper_sizes),
        "confidence": ("The recommended K: confidence", calibration),
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


def no_clusters(kind: str, seed: int):
    rng = np.random.default_rng([9, seed])
    n, m = [(300, 50), (1000, 300), (500, 1000), (200, 30)][seed % 4]
    if kind == "one ray":
        w = rng.exponential(size=m)
        E = 0.5 * w.mean() * rng.standard_normal((n, m))
        return np.maximum(np.outer(rng.uniform(0.5, 2, n), w) + E, 0)
    if kind == "gradient":
        a, b = rng.exponential(size=(2, m))
        t = rng.uniform(size=(n, 1))
        return np.maximum((1 - t) * a + t * b + 0.3 * rng.standard_normal((n, m)), 0)
    if kind == "uniform noise":
        return rng.uniform(size=(n, m))
    return rng.poisson(2 * rng.exponential(size=m), (n, m)).astype(float)


def nothing() -> str:
    """Data without clusters: how often that is said."""
    lines = []
    for kind in ("one ray", "gradient", "uniform noise", "Poisson noise"):
        said = [
            not choose_k(ONMF(random_state=0), no_clusters(kind, seed), range(2, 13)).evidence
            for seed in range(20)
        ]
        lines.append([kind, f"{np.mean(said):.0%}"])
    return "No clusters, 20 draws each: no evidence found in\n\n" + table(["data", "share"], lines)


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
                f"{choice.confidence:.2f}",
                f"{100 * found[choice.best_k]:.1f}",
                f"{100 * found[best]:.1f} ({best})",
                f"{regret:.3f}",
            ]
        )
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    columns = ["data", "classes", "K", "scales", "evidence", "confidence", "ARI %"]
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


def steady() -> str:
    """The same K for other seeds, ranges, and orders of the samples."""
    data = {
        f"planted, K = {k}": planted(k, True, 5, 0, counts, seed=2)[0]
        for k, counts in ((3, 0), (8, 1), (12, 0), (20, 1))
    }
    data["digits"] = sets.digits().X
    if sets.folder():
        data |= {"pbmc_facs": sets.pbmc().X, "RNA-seq 6 types": sets.rnaseq().X}
        data |= {f"miRNA {types} types": sets.mirna(types).X for types in (5, 10)}
        data |= {f"TDT2 {subset}": sets.tdt2(subset, True).X for subset in (1, 3, 5)}
    lines = []
    for name, X in data.items():
        first = choose_k(ONMF(random_state=0), X).best_k
        spans = [range(2, first + 1), range(2, first + 9), range(max(first - 2, 2), first + 15)]
        ranges = [
            choose_k(ONMF(random_state=seed), X, span).best_k for span in spans for seed in SEEDS
        ]
        orders = [
            choose_k(ONMF(random_state=0), X[np.random.default_rng(s).permutation(X.shape[0])])
            for s in SHUFFLES
        ]
        ks = [choice.best_k for choice in orders]
        same = f"{sum(k == first for k in ranges)} of {len(ranges)}"
        shuffled = f"{sum(k == first for k in ks)} of {len(ks)} ({', '.join(map(str, ks))})"
        lines.append([name, first, same, shuffled])
        print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    return (
        "Steady: the score of K depends on the data and K alone, no seed enters. Runs with the "
        "same K as the default call: other seeds with other ranges that contain it, and the "
        f"samples in another order, so that all halves are others. {len(SEEDS)} seeds x 3 ranges."
        "\n\n" + table(["data", "K", "seeds and ranges", "orders"], lines)
    )


def calibration() -> str:
    """Is K right as often as the confidence says? From easy to hopeless."""
    sure, right = [], []
    for seed in range(200):
        X, k = any_planted(seed)
        choice = choose_k(ONMF(random_state=0), X, range(2, 21))
        sure.append(choice.confidence)
        right.append(choice.best_k == k)
    sure, right = np.array(sure), np.array(right)
    edges, lines, gap = np.linspace(0, 1, 6), [], 0.0
    for low, high in pairwise(edges):
        inside = (sure >= low) & ((sure < high) | (high == 1))
        if inside.any():
            said, was = sure[inside].mean(), right[inside].mean()
            gap += inside.mean() * abs(said - was)
            lines.append([f"{low:.1f}-{high:.1f}", inside.sum(), f"{said:.2f}", f"{was:.2f}"])
    return (
        f"Confidence on 200 planted sets from easy to hopeless: expected calibration error "
        f"{gap:.3f}.\n\n" + table(["confidence", "sets", "mean", "right"], lines)
    )


def any_planted(seed: int):
    """A draw of 150 to 600 samples, 2 to 15 clusters, dense or counts, at any noise."""
    rng = np.random.default_rng([777, seed])
    n, m = int(rng.choice([150, 300, 600])), int(rng.choice([50, 200]))
    k, least = int(rng.integers(2, 16)), 5
    shares = rng.dirichlet(np.ones(k)) if rng.random() < 0.5 else np.full(k, 1 / k)
    y = np.repeat(np.arange(k), least + rng.multinomial(n - least * k, shares))
    if rng.random() < 0.5:
        topics = rng.gamma(0.5, size=(k, m))
        length = rng.poisson(rng.choice([8, 15, 30, 80, 250]), n) + 3
        X = rng.poisson(topics[y] / topics.sum(axis=1)[y, None] * length[:, None]).astype(float)
        return X, k
    S, E = rng.uniform(size=(k, m))[y] * rng.uniform(0.5, 2, (n, 1)), rng.standard_normal((n, m))
    ratio = 10 ** (rng.uniform(-10, 5) / 10)
    return np.maximum(S + E * np.sqrt(np.sum(S**2) / np.sum(E**2) / ratio), 0), k


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
