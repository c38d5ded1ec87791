"""An installation without any extra: it clusters, also by its command, and says what to install for
the rest."""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

from sklearn.datasets import load_digits

import onmf
from onmf import metrics
from onmf.rows import open_rows
from onmf_app.read.formats import read_table

EXTRAS = {"matplotlib": "plot", "h5py": "h5ad", "pyarrow": "parquet",
          "dask": "dask", "anndata": "anndata"}  # fmt: skip


def main() -> None:
    assert Path(onmf.__file__).is_relative_to(sys.prefix), onmf.__file__
    present = [name for name in EXTRAS if find_spec(name)]
    assert not present, f"an environment without extras has {present}"
    digits = load_digits()
    model = onmf.ONMF(10, random_state=0).fit(digits.data)
    accuracy = metrics.clustering_accuracy(digits.target, model.labels_)
    assert accuracy > 0.5, accuracy
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder / "m.onmf")
        assert (onmf.load(folder / "m.onmf").predict(digits.data) == model.labels_).all()
        assert onmf.page.html(model, digits.data).startswith("<!doctype html>")
        for file in ("x.parquet", "x.h5ad"):
            (folder / file).touch()
        asks("parquet", lambda: read_table(folder / "x.parquet"))
        asks("h5ad", lambda: read_table(folder / "x.h5ad"))
        asks("parquet", lambda: open_rows(folder / "x.parquet"))
        asks("h5ad", lambda: open_rows(folder / "x.h5ad"))
        table = folder / "x.csv"
        table.write_text("1,0\n2,0.1\n0,1\n0.1,3\n")
        script = [Path(sysconfig.get_path("scripts"), "onmf")]
        for command in (script, [sys.executable, "-m", "onmf"]):
            run = [*command, "cluster", table, "-k", "2", "-o", folder / "out", "--force"]
            done = subprocess.run(run, capture_output=True, text=True, env=dict(os.environ))
            assert done.returncode == 0, done
            assert (folder / "out" / "report.html").is_file()
    asks("plot", lambda: onmf.plot)
    asks("dask", lambda: __import__("onmf.rows.dask"))


def asks(extra: str, work) -> None:
    """The work ends with one sentence that names the extra."""
    said = "nothing"
    try:
        work()
    except ImportError as error:
        said = str(error)
    assert re.search(rf'pip install "onmf\[{extra}\]"', said), said
    assert "\n" not in said, said


if __name__ == "__main__":
    main()
