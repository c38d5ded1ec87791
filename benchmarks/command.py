"""What `onmf cluster` costs beside the fit that is in it: 20 Newsgroups, K = 20."""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import scipy.sparse as sp

from onmf import ONMF
from sets import folder, newsgroups
from tables import best_times, table, write_section

K, REPEATS, SEED = 20, 3, 0
PROGRAM = "import sys; from onmf.cli import main; sys.exit(main(sys.argv[1:]))"


def run() -> None:
    if folder() is None:
        body = "Not measured (set ONMF_DATA)."
    else:
        with tempfile.TemporaryDirectory() as place:
            body = measured(Path(place))
    write_section("command", "The command beside the fit", body)


def measured(place: Path) -> str:
    """Seconds of the fit alone and of whole commands, start of Python and reading included."""
    X = sp.csr_array(newsgroups().X)
    sp.save_npz(place / "news.npz", X, compressed=False)
    base = ["cluster", "news.npz", "-k", K, "-o", "out", "--seed", SEED, "--force"]
    tasks = {
        "fit alone": lambda: ONMF(K, random_state=SEED).fit(X),
        "onmf --help": lambda: command(place, "--help"),
        "onmf cluster --no-report": lambda: command(place, *base, "--no-report"),
    }
    if find_spec("onmf.report"):
        tasks["onmf cluster"] = lambda: command(place, *base)
    tasks["onmf predict"] = lambda: command(
        place, "predict", "out", "news.npz", "-o", "new.csv", "--force"
    )
    best = best_times(tasks, REPEATS)
    rows = [[name, f"{t:.2f}", f"{t / best['fit alone']:.2f}"] for name, t in best.items()]
    note = f"{X.shape[0]} x {X.shape[1]} CSR, K = {K}, best of {REPEATS}; the bound is 2.5."
    return f"{table(['what', 'seconds', 'of the fit'], rows)}\n\n{note}"


def command(place: Path, *words: object) -> None:
    """One command in a process of its own."""
    subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, words)],
        cwd=place,
        check=True,
        capture_output=True,
    )
