"""What it costs to know by which rows a fit was broken off: the hash of X beside the fit."""

import tempfile
import warnings
from time import process_time

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from onmf import ONMF, Fast
from onmf.datasets import make_rays
from onmf.estimators.checkpoint import fit_fingerprint
from onmf.rows.memory import InMemory
from tables import table, write_section

COLUMNS = [
    "rows",
    "MB",
    "hash (s)",
    "a row (us)",
    "a GB (s)",
    "share of the fit",
    "fit with notes / fit",
]


def run() -> None:
    rows = []
    for name, X in matrices().items():
        data = InMemory(X)
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ONMF(10, random_state=0, n_jobs=1).fit(X[:500])
            plain, noted, hashed = np.min([costs(X, data) for _ in range(3)], axis=0)
        size = (X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes) / 1e9
        n = X.shape[0]
        rows.append([
            name, f"{1000 * size:.0f}", f"{hashed:.3f}", f"{1e6 * hashed / n:.1f}",
            f"{hashed / size:.1f}", f"{hashed / plain:.2f}", f"{noted / plain:.2f}",
        ])  # fmt: skip
        write_section("checkpoint", "What a checkpoint costs", table(COLUMNS, rows))


def matrices() -> dict:
    tall, _ = make_rays(100_000, 20, 10, random_state=0)
    wide, _ = make_rays(5_000, 4_000, 10, random_state=0)
    words = sp.random_array((50_000, 20_000), density=0.002, format="csr", rng=0)
    return {
        "100,000 x 20": tall,
        "5,000 x 4,000": wide,
        "50,000 x 20,000, CSR, 40 entries a row": sp.csr_array(words),
    }


def costs(X, data) -> tuple[float, float, float]:
    """Processor seconds of a fit, of one that notes how far it is, and of the hash alone."""
    marks = [process_time()]
    ONMF(10, random_state=0, n_jobs=1).fit(X)
    marks.append(process_time())
    with tempfile.TemporaryDirectory() as folder:
        ONMF(10, random_state=0, n_jobs=1, solver=Fast(checkpoint=folder)).fit(X)
    marks.append(process_time())
    fit_fingerprint("ONMF", {"random_state": 0}, data)
    marks.append(process_time())
    plain, noted, hashed = np.diff(marks)
    return plain, noted, hashed
