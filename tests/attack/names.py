"""Names and numbers that somebody made up: into tables, out of them, and onto the terminal."""

import contextlib
import csv
import io
import warnings

import numpy as np

import onmf_app as cli
from onmf import ONMF, PALM
from onmf.exceptions import EmptyClusterWarning
from onmf_app.read.cells import is_number
from reading import csv_text, read_table

PARTS = [
    "=",
    "+",
    "-",
    "@",
    "'",
    "\t",
    "\x1b[2J",
    "\x07",
    "\x9b",
    "a",
    "1",
    ",",
    '"',
    "\u202e",
    "é",
    "\r",
    "\n",
    "\x0b",
    "\x85",
    "\u2028",
]
OBEYED = ("\x1b", "\x07", "\x9b", "\u202e")


def made_up(rng, count):
    """Names, each of which is another."""
    return [
        "".join(rng.choice(PARTS, int(rng.integers(1, 6)))).strip() + f"x{i}" for i in range(count)
    ]


def names_come_back_and_run_nowhere(rng, folder):
    samples, features = made_up(rng, 30), made_up(rng, 6)
    text = csv_text(["id", *features], ([s, *rng.random(6)] for s in samples))
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            assert cell[:1] not in tuple("=+-@\t\r\n") or is_number(cell), repr(cell)
    path = folder / "x.csv"
    path.write_text(text, encoding="utf-8", newline="")
    table = read_table(path)
    assert table.samples == samples
    assert table.features == features
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        words = ["cluster", str(path), "-k", "3", "-o", str(folder / "o\x1b[2Jut")]
        assert cli.main(words) == 0
        words = ["cluster", str(path), "-k", "99", "-o", str(folder / "\x1b[2J")]
        assert cli.main(words) == 2
    assert not any(mark in out.getvalue() + err.getvalue() for mark in OBEYED)


def numbers_of_any_size_are_clustered_or_refused(rng, folder):
    n, m = int(rng.integers(2, 40)), int(rng.integers(1, 12))
    k = int(rng.choice([1, 2, 3, n]))
    span, place = rng.choice([0, 30, 160, 300]), rng.choice([0, -150, -300, -320, 150, 290])
    X = rng.random((n, m)) * (rng.random((n, m)) < rng.choice([0.3, 1]))
    with np.errstate(all="ignore"):
        X = X * 10.0 ** rng.uniform(-span / 2, span / 2, (n, 1)) * 10.0**place
        X = np.where(np.isfinite(X), X, 0).astype(rng.choice(["f8", "f8", "f4"]))
    X = np.where(np.isfinite(X), X, 0)
    weight = (
        None if rng.random() < 0.5 else 10.0 ** rng.uniform(*sorted(rng.uniform(-300, 300, 2)), n)
    )
    options = {}
    options["init"] = str(rng.choice(["random", "k-means++", "nndsvd"]))
    if palm := rng.random() < 0.3:
        bounds = "data" if rng.random() < 0.5 else (0, None)
        penalty = str(rng.choice(["sncp", "nsncp"]))
        options |= {"solver": PALM(penalty, bounds), "max_iter": 20}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = ONMF(k, random_state=0, **options).fit(X, sample_weight=weight)
        except np.linalg.LinAlgError:
            raise
        except ValueError as error:
            assert "\n" not in str(error)
            return
        assert np.isfinite(model.cluster_centers_).all()
        assert np.isfinite(model.membership_).all()
        if not palm:
            told = any(issubclass(each.category, EmptyClusterWarning) for each in caught)
            assert told or set(model.labels_) - {-1} == set(range(k)), (X.shape, k)
            np.testing.assert_array_equal(model.predict(X), model.labels_)


def many_numbers_of_any_size(rng, folder):
    for _ in range(20):
        numbers_of_any_size_are_clustered_or_refused(rng, folder)


ATTACKS = (names_come_back_and_run_nowhere, many_numbers_of_any_size)
