"""Two at once: in processes, in threads."""

import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info

from attack.kills import check_run, cluster, start, write_table
from onmf import ONMF
from onmf.datasets import make_rays
from onmf.rows.threads import blas_threads
from onmf_app import BAD_INPUT, LOCKED


def of_two_runs_into_one_folder_one_stays(rng, folder):
    """Without --force exactly one may end well; with it the files are those of one of them."""
    write_table(folder)
    force = ["--force"] if rng.random() < 0.5 else []
    runs = [cluster(folder, k, *force) for k in (3, 4)]
    for process in runs:
        _, said = process.communicate(timeout=180)
        assert process.returncode in (0, BAD_INPUT, LOCKED), said
    ended = [process.returncode for process in runs]
    assert 0 in ended
    assert force or ended.count(0) == 1
    check_run(folder, {3, 4})
    assert not [path for path in (folder / "out").iterdir() if path.name.startswith(".")]


def two_predictions_into_one_file_are_one_of_them(rng, folder):
    write_table(folder)
    with cluster(folder, 3) as process:
        process.communicate()
    target = folder / "new.csv"
    words = ("predict", folder / "out", folder / "x.csv", "-o", target)
    runs = [start("-m", "onmf", *words) for _ in range(2)]
    for process in runs:
        process.communicate(timeout=120)
    good, refused = sorted(process.returncode for process in runs)
    assert good == 0
    assert refused in (BAD_INPUT, LOCKED)
    assert len(target.read_text().splitlines()) == 401


def fits_that_overlap_keep_their_limit(rng, folder):
    """A fit that ends early does not give BLAS its threads back while others run."""
    X, _ = make_rays(400, 30, 4, noise=1.0, random_state=int(rng.integers(1000)))
    alone = ONMF(4, random_state=0).fit(X).labels_
    seen = []

    def look(event):
        counts = (pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        seen.append(max(counts))

    def fit(tol):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ONMF(4, random_state=0, callback=look).fit(X).labels_

    before = blas_threads()
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(fit, range(12)))
    assert set(seen) == {1}
    assert blas_threads() == before
    for labels in answers:
        np.testing.assert_array_equal(labels, alone)


def a_folder_that_vanishes_is_told(rng, folder):
    write_table(folder)
    with cluster(folder, 3) as process:
        while process.poll() is None and not (folder / "out").exists():
            pass
        shutil.rmtree(folder / "out", ignore_errors=True)
        _, said = process.communicate(timeout=120)
    assert process.returncode in (0, BAD_INPUT), said
    assert "Traceback" not in said, said


ATTACKS = (
    of_two_runs_into_one_folder_one_stays,
    two_predictions_into_one_file_are_one_of_them,
    fits_that_overlap_keep_their_limit,
    a_folder_that_vanishes_is_told,
)
