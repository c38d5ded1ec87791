"""Every day again: streams and refits that keep the ids of their clusters."""

import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

import sets
from onmf import ONMF, StreamONMF
from onmf.datasets import make_rays
from onmf.io import checksum
from onmf.metrics import partition_error
from onmf.page.panels import unit_rays
from onmf.prepare import tfidf
from onmf_app import ALREADY_COUNTED, LOCKED
from tables import table, write_section

K, BATCH_SIZE = 30, 102
ORDERS = (1811, 1812)  # of the samples: never used while the streams were made
CATEGORY_ORDERS = (0, 1811, 1812)  # 0: as the file has them, the largest first
SOON, SMALL = 2, 10  # batches in which a topic must be noticed, documents that make one
NIGHTS, STAY, WINDOW = 20, 0.9, 5000
KILLS, RACES = 40, 5


@cache
def documents() -> sets.Set:
    """All of TDT2, weighted by tf-idf on one vocabulary."""
    X = tfidf().fit_transform(sets.used(sets.tdt2_counts().data))
    return sets.Set(X, sets.tdt2_counts().target, K)


def texts(name: str) -> sets.Set:
    """Labelled texts, weighted by tf-idf; classes as numbers."""
    X, y, k = sets.word_counts(name)
    return sets.Set(tfidf().fit_transform(X), np.unique(y, return_inverse=True)[1], k)


def streams() -> dict[str, sets.Set]:
    """News, and of the labelled texts those that are there."""
    named = [name for name in ("bbc", "searchsnippets") if name in sets.texts_of_folder()]
    return {"TDT2": documents(), **{name: texts(name) for name in named}}


def in_batches(order: np.ndarray) -> list[np.ndarray]:
    """Batches of one size in every set: a hundred of TDT2."""
    return np.array_split(order, max(2, round(len(order) / BATCH_SIZE)))


def fitted(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def follow(model, X, batches):
    """After every batch: its number, and how many ids are nearer to the old ray of another."""
    for number, rows in enumerate(batches):
        old = (model.cluster_ids_, unit_rays(model.cluster_centers_)) if number else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(X[rows])
        if old is None:
            yield number, 0
            continue
        nearest = old[0][(unit_rays(model.cluster_centers_) @ old[1].T).argmax(axis=1)]
        pairs = zip(model.cluster_ids_, nearest, strict=True)
        yield number, sum(own in old[0] and own != near for own, near in pairs)


def run_random() -> None:
    """The error after one pass in random order, beside the batch fit and K-means in batches."""
    rows = []
    for (name, (X, _, k)), seed in itertools.product(streams().items(), ORDERS):
        batches = in_batches(np.random.default_rng(seed).permutation(X.shape[0]))
        best = fitted(ONMF(k, random_state=0, n_jobs=1), X).relative_error_
        means = MiniBatchKMeans(k, random_state=0, n_init=3)
        for batch in batches:
            means.partial_fit(X[batch])
        for kind in (ONMF, StreamONMF):
            model, begin = kind(k, random_state=0, n_jobs=1), time.process_time()
            changed = sum(own for _, own in follow(model, X, batches))
            error, seconds = 1 - model.score(X), time.process_time() - begin
            told = kind.__name__, *errors(error, best), changed, len(model.cluster_ids_)
            rows.append([name, seed, *told])
            print(rows[-1], f"{seconds:.0f} s", flush=True)
        error = partition_error(X, means.predict(X))
        rows.append([name, seed, "MiniBatchKMeans", *errors(error, best), "", k])
    columns = ["set", "order", "method", "error", "above the batch fit", "ids that changed",
               "clusters"]  # fmt: skip
    note = f"""

Documents in batches of about {BATCH_SIZE} in random order, each read once; as many clusters as
classes, {K} of TDT2. *Ids that changed*: over all batches, ids whose ray is afterwards nearer to
the ray that another id had before. MiniBatchKMeans on unit rows: the error of the best rays for its
labels. Asked: no id that changed, at most .5 % above."""
    write_section("stream-random", "A stream in random order", table(columns, rows) + note)


def errors(error: float, best: float) -> list[str]:
    return [f"{error:.5f}", f"{100 * (error / best - 1):+.2f} %"]


def run_topics() -> None:
    """New topics appear over time: which are noticed, and how many births are none."""
    rows = []
    for (name, (X, y, _)), seed in itertools.product(streams().items(), CATEGORY_ORDERS):
        rng, topics = np.random.default_rng(seed), np.unique(y)
        topics = topics if seed == 0 else rng.permutation(topics)
        order = np.concatenate([rng.permutation(np.flatnonzero(y == topic)) for topic in topics])
        batches = in_batches(order)
        model, births, first, changed = stream_of_topics(X, y, batches)
        known, noticed = {*y[batches[0]]}, {}
        for when, topic in births:
            if topic not in known:
                noticed.setdefault(topic, when)
        wanted = [t for t in topics if np.sum(y == t) >= SMALL and t not in known]
        soon = sum(noticed.get(t, np.inf) <= first[t] + SOON for t in wanted)
        false = len(births) - len(noticed)
        order_of = "of the file" if seed == 0 else seed
        told = [f"{soon} of {len(wanted)} ({100 * soon / len(wanted):.0f} %)"]
        told += [f"{false} of {len(births)} ({100 * false / max(len(births), 1):.0f} %)"]
        rows.append([name, order_of, *told, changed, len(model.cluster_ids_)])
        print(rows[-1], flush=True)
    columns = [
        "set",
        "order of the topics",
        "noticed",
        "false births",
        "ids that changed",
        "open at end",
    ]
    note = f"""

The same documents topic after topic, `StreamONMF(1, max_clusters=1000)`. A topic of at least
{SMALL} documents is noticed if a cluster is born most of whose samples so far are of it, at the
latest {SOON} batches after its first document; a birth is false if its topic was there at the start
or has had a birth before. Asked of TDT2: 90 % noticed, at most 10 % false. A class of bbc or
searchsnippets has many stories or searches, so a birth inside it counts as false here."""
    write_section("stream-topics", "A stream of new topics", table(columns, rows) + note)


def stream_of_topics(X, y, batches):
    """The model, (batch, topic) of each birth, the first batch of each topic, ids that changed."""
    model = StreamONMF(1, max_clusters=1000, random_state=0, n_jobs=1)
    births, first, changed = [], {}, 0
    for number, wrong in follow(model, X, batches):
        changed += wrong
        for topic in np.unique(y[batches[number]]):
            first.setdefault(topic, number)
        born = model.lineage_.born if number else ()
        if born:
            recent = np.concatenate(batches[max(number - SOON, 0) : number + 1])
            ids = model.cluster_ids_[model.predict(X[recent])]
            own = [np.bincount(y[recent][ids == cluster]) for cluster in born]
            births += [(number, int(counts.argmax())) for counts in own if len(counts)]
    return model, births, first, changed


def run_nights() -> None:
    """Refit every night on data of which nine tenths stay, beside a fresh fit of each night."""
    X, _, _ = documents()
    order = np.random.default_rng(ORDERS[0]).permutation(X.shape[0])
    step = round((1 - STAY) * WINDOW)
    last, kept, agreed, alike, above = None, [], [], [], []
    for night in range(NIGHTS + 1):
        rows = order[np.arange(night * step, night * step + WINDOW) % len(order)]
        fresh = fitted(ONMF(K, random_state=1811 + night, n_jobs=1), X[rows])
        if last is None:
            last = fresh, dict(zip(rows, fresh.labels_, strict=True))
            continue
        model = fitted(ONMF(init=last[0], random_state=night, n_jobs=1), X[rows])
        now = model.cluster_ids_[model.labels_]
        other = matched_ids(fresh, model)
        both = [i for i, row in enumerate(rows) if row in last[1]]
        before = np.array([last[1][rows[i]] for i in both])
        same = now[both] == before
        kept.append(same.mean())
        agreed.append((same | (other[both] != before)).mean())
        alike.append(adjusted_rand_score(fresh.labels_, model.labels_))
        above.append(model.relative_error_ / fresh.relative_error_ - 1)
        last = model, dict(zip(rows, now, strict=True))
        print(
            night, f"{kept[-1]:.4f} {agreed[-1]:.4f} {alike[-1]:.3f} {above[-1]:+.5f}", flush=True
        )
        figures = [kept, agreed, alike, above]
        means = [f"{100 * np.mean(part):.2f} %" for part in figures]
        ends = [min, min, min, max]
        worst = [f"{100 * end(part):.2f} %" for end, part in zip(ends, figures, strict=True)]
        columns = ["", "kept their id", "kept, or the fresh fit disagrees too", "ARI with fresh",
                   "error above fresh"]  # fmt: skip
        body = table(columns, [["mean", *means], ["worst night", *worst]])
        note = f"""

{len(kept)} nights of {WINDOW} documents of TDT2, K = {K}, each the night before less a tenth and a
tenth new ones; `ONMF(init=the night before)`. Of the samples that stay; the fresh fit, from a seed
of its own, is matched to the warm one by the samples they share, and disagrees where it, too, has a
sample elsewhere than the night before. Asked: 99 % of the samples that stay."""
        write_section("stream-nights", "Refits night after night", body + note)


def matched_ids(fresh, model):
    """The labels of the fresh fit under the ids of the other, cluster by cluster."""
    counts = np.zeros((K, len(model.cluster_ids_)))
    np.add.at(counts, (fresh.labels_, model.labels_), 1)
    own, theirs = linear_sum_assignment(-counts)
    ids = np.full(K, -2)
    ids[own] = model.cluster_ids_[theirs]
    return ids[fresh.labels_]


def write_batches(folder: Path, number: int) -> list[Path]:
    """Files of two hundred samples each."""
    X, _ = make_rays(200 * number, 40, 5, noise=0.5, random_state=0)
    files = [folder / f"{part}.csv" for part in range(number)]
    for part, path in zip(np.split(X, number), files, strict=True):
        pd.DataFrame(part, [f"{path.stem}.{i}" for i in range(200)]).to_csv(path)
    return files


def run_kills() -> None:
    """`kill -9` while `onmf update` works: afterwards the state of one that was not killed."""
    rng, killed, same, streams = np.random.default_rng(1811), 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, whole, cut = (folder / where / "run" for where in ("first", "whole", "cut"))
        files = write_batches(folder, 3)
        finish(start("cluster", files[0], "-k", 5, "-o", first, "--no-report"))
        shutil.copytree(first, whole)
        lengths = []
        for path in files[1:]:
            process = at_work(start("update", whole, path), whole)
            begin = time.monotonic()
            finish(process)
            lengths.append(time.monotonic() - begin)
        while killed < KILLS:
            streams += 1
            shutil.copytree(first, cut)
            for path in files[1:]:
                process = at_work(start("update", cut, path), cut)
                killed += killed_within(process, rng.uniform(0, 1.1) * max(lengths))
                finish(start("update", cut, path))
            same += contents(whole) == contents(cut)
            shutil.rmtree(cut)
        outcomes = [race(folder / f"race{jobs}", first, files[1:], jobs) for jobs in (2, 3)]
    body = table(["streams of two batches", "commands killed", "ends with every file the same"],
                 [[streams, killed, same]])  # fmt: skip
    races = table(["jobs at once", "races", "every batch once"], outcomes)
    note = f"""

Each command is killed at a random moment after it has locked the folder, unless it has ended by
then, and then given again. In a race all jobs send the same two batches, and again as long as the
folder is in use. Asked: {KILLS} kills and all the same, every batch once.

"""
    write_section("stream-kills", "kill -9 in onmf update", body + note + races)


def race(place: Path, first: Path, files: list[Path], jobs: int) -> list[int]:
    """Jobs that all send the same batches: how many races, and how many counted each batch once."""
    right = 0
    for _ in range(RACES):
        folder = place / "run"
        shutil.copytree(first, folder)
        left = [path for path in files for _ in range(jobs)]
        while left:
            racing = [(path, start("update", folder, path)) for path in left[:jobs]]
            busy = [path for path, process in racing if process.wait() == LOCKED]
            left = busy + left[jobs:]
        right += len(json.loads((folder / "run.json").read_text())["lineage"]) == len(files)
        shutil.rmtree(place)
    return [jobs, RACES, right]


def contents(folder: Path) -> dict[Path, str]:
    """Every file but those that a killed command could not take away."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
    return {path.relative_to(folder): checksum(path) for path in files}


def start(*words) -> subprocess.Popen:
    """A command."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-m", "onmf", *map(str, words)], **quiet)


def at_work(process: subprocess.Popen, folder: Path) -> subprocess.Popen:
    """The process, once it has locked the folder or ended."""
    while process.poll() is None and not (folder / ".run.json.lock").exists():
        time.sleep(0.001)
    return process


def killed_within(process: subprocess.Popen, seconds: float) -> bool:
    """Whether a process still ran after so many seconds, and was killed."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def finish(process: subprocess.Popen) -> None:
    """Wait for the end of a command, which must not fail."""
    if process.wait() not in (0, ALREADY_COUNTED):
        raise RuntimeError(f"{' '.join(process.args)} failed")


def run() -> None:
    run_kills()
    if sets.folder():
        run_topics()
        run_random()
        run_nights()
