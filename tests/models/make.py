"""Saved models and finished runs for the versions to come to read: make.py FOLDER.

Everything in them is made up here. A folder that was released is never made again: what it proves
is that files of that version are still read.
"""

import json
import os
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd

from onmf import NSNCP, ONMF, PALM, SNCP, Baseline, Fast, General, StreamONMF
from onmf.datasets import make_rays
from onmf_app import main

NAMES = ["size", "größe", "a, b", "width", 'the "long" one', "x5", "x6", "last"]
TOPICS = ["stars planets moons orbit", "genes cells protein tissue", "goals match players league"]
QUICK = PALM(growth=2.0)
MODELS = {
    "fast": ONMF(3, random_state=0),
    "names": ONMF(3, penalty="nsncp", random_state=1, n_init=2),
    "palm": ONMF(3, solver=PALM(growth=1.5, mu_h=1e-9), random_state=0),
    "general": ONMF(3, penalty=General(p=1, q=3, v=3), max_iter=40, random_state=0, solver=QUICK),
    "sncp": ONMF(3, penalty=SNCP(), tol=1e-6, random_state=2),
    "nsncp": ONMF(3, penalty=NSNCP(margin=1.0), max_iter=40, random_state=0, solver=QUICK),
    "signed": ONMF(3, center_bounds="data", random_state=0),
    "bounds": ONMF(3, center_bounds=(0, np.inf), random_state=0),
    "outliers": ONMF(3, outliers=2, random_state=0),
    "votes": ONMF(3, equal_votes=True, random_state=0),
    "kl": ONMF(3, loss="kl", random_state=0),
    "passes": ONMF(3, solver=Fast(passes=2, rho=1e-2), random_state=0),
    "hals": Baseline("hals", n_clusters=3, random_state=0),
    "k-means": Baseline("k-means", n_clusters=3, random_state=0),
}
STREAMS = {
    "stream": ONMF(3, random_state=0),
    "kl stream": ONMF(3, loss="kl", random_state=0),
    "births": StreamONMF(2, max_clusters=6, random_state=0),
    "warmup": StreamONMF(3, max_clusters=6, random_state=0),
}
DATA = {"names": {"names": NAMES, "dtype": "float32"}, "signed": {"shift": -0.125}}
RUNS = {
    "log": ("x.csv", "-k", "2:4", "--log", "--unit", "--labels", "type"),
    "text": ("texts.txt", "-k", "3", "--text"),
}


def samples():
    """Samples on three rays, one of them all zero, and as many new ones; with few digits."""
    X = np.round(make_rays(60, len(NAMES), 3, noise=0.1, random_state=0)[0], 3)
    X[7] = 0
    return X[:30], X[30:]


def data_of(X, names=None, shift=0.0, dtype="float64"):
    """What a model is fitted to, and asked about."""
    X = (np.array(X) + shift).astype(dtype)
    return X if names is None else pd.DataFrame(X, columns=names)


def said(model, new):
    """What a model is expected to say when it is loaded."""
    return {
        "class": type(model).__name__,
        "parameters": {name: repr(value) for name, value in model.get_params(deep=False).items()},
        "dtype": str(model.cluster_centers_.dtype),
        "labels": model.labels_.tolist(),
        "relative_error": float(model.relative_error_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "stages": len(model.history_),
        "top_features": model.top_features(2),
        "predict": model.predict(new).tolist(),
        "transform": [[float(f"{v:.8g}") for v in row] for row in model.transform(new).tolist()],
    }


def batches():
    """Batches of a stream; the last one is for after the file is read."""
    X, y = make_rays(400, len(NAMES), 4, noise=0.2, random_state=1)
    X, two = np.round(X, 3), np.isin(y, [0, 1])
    first = [X[two][:150], X[two][150:170], np.vstack([X[two][170:190], X[y == 2][:6]])]
    return first, X[-60:]


def write_models(folder):
    X, new = samples()
    first, later = batches()
    expected = {}
    for name, model in (MODELS | STREAMS).items():
        kind = DATA.get(name, {})
        if name in STREAMS:
            for batch in first[:2] if name == "warmup" else first:
                model.partial_fit(batch)
        else:
            model.fit(data_of(X, **kind))
        model.save(folder / f"{name}.onmf")
        expected[name] = {"data": kind} | said(model, data_of(new, **kind))
        if name in STREAMS:
            expected[name]["then"] = model.partial_fit(later).cluster_centers_.tolist()
    facts = {"X": X.tolist(), "new": new.tolist(), "later": later.tolist(), "models": expected}
    text = json.dumps(facts, ensure_ascii=False, default=lambda number: number.item())
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


def write_runs(folder):
    """Results of `onmf cluster`, without reports, beside their inputs."""
    counts = np.round(20 * samples()[0][:, :5])
    frame = pd.DataFrame(counts, [f"cell {i}" for i in range(30)], NAMES[:5])
    draws = [np.random.default_rng(i).choice(TOPICS[i % 3].split(), 6) for i in range(30)]
    frame.assign(type=[f"type {i % 3}" for i in range(30)]).to_csv(folder / "x.csv")
    (folder / "texts.txt").write_text("\n".join(map(" ".join, draws)) + "\n")
    with chdir(folder), open(os.devnull, "w") as nowhere:
        for name, words in RUNS.items():
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                code = main(["cluster", *words, "-o", name])
            assert code == 0, name


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir()
    warnings.simplefilter("ignore")  # two of the fits are cut short
    write_models(place)
    write_runs(place)
