"""What the package needs and asks for: no network, no more than it declares."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
from importlib import metadata, util
from pathlib import Path

import pytest

import onmf
from onmf.search.numpy_kernels import kernel_sentence

ROOT = Path(__file__).parents[1]
OUTSIDE = "192.0.2.1"  # reserved for documentation: nobody is there


def refused(no_network):
    """What was refused in this test, which is then forgiven."""
    found = list(no_network.REFUSED)
    no_network.REFUSED.clear()
    return found


def test_a_test_cannot_leave_the_machine(no_network):
    with socket.socket() as outward, pytest.raises(no_network.NetworkError, match=OUTSIDE):
        outward.connect((OUTSIDE, 80))
    with (
        socket.socket(type=socket.SOCK_DGRAM) as outward,
        pytest.raises(no_network.NetworkError, match=OUTSIDE),
    ):
        outward.sendto(b"x", (OUTSIDE, 53))
    with pytest.raises(no_network.NetworkError, match=r"example\.org"):
        urllib.request.urlopen("http://example.org")
    assert refused(no_network) == [
        f"socket.connect {OUTSIDE}", f"socket.sendto {OUTSIDE}", "socket.getaddrinfo example.org",
    ]  # fmt: skip


def test_what_takes_no_for_an_answer_fails_all_the_same(no_network):
    with contextlib.suppress(Exception):  # as a library would
        socket.getaddrinfo("example.org", 80)
    assert refused(no_network) == ["socket.getaddrinfo example.org"]


def test_a_process_that_a_test_starts_cannot_either():
    program = f"import socket; socket.create_connection(({OUTSIDE!r}, 80), timeout=1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "tests do not use the network" in done.stderr


def test_the_machine_itself_may_be_asked(no_network):
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    assert socket.getaddrinfo("localhost", 80)
    assert refused(no_network) == []


@pytest.mark.slow
def test_importing_and_fitting_ask_for_no_network_and_for_nothing_optional():
    program = (
        "import sys, numpy as np, onmf\n"
        "onmf.ONMF(3, random_state=0).fit(np.random.default_rng(0).random((60, 5)))\n"
        "assert not {'dask', 'h5py'} & {*sys.modules}\n"
        "import onmf.metrics, onmf.datasets, onmf.number, onmf.page"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# --- what is declared -----------------------------------------------------------------------------


def constraints():
    script = ROOT / ".ci" / "minimum.py"
    if not script.exists():
        pytest.skip("not a checkout")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    return dict(line.split("==") for line in done.stdout.split())


def test_every_dependency_has_a_lower_bound_that_can_be_installed():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*declared["dependencies"]]
    for extra in declared["optional-dependencies"].values():
        wanted += [one for one in extra if not one.startswith("onmf[")]
    names = {re.split(r"[\[>]", one)[0] for one in wanted}
    assert set(constraints()) == names
    assert {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "click"} <= names


def test_the_all_extra_has_every_feature():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    everything = set(re.findall(r"\w+", extras["all"][0])) | set(
        re.findall(r"\w+", extras["disk"][0])
    )
    assert extras.keys() - {"all", "test", "fuzz", "dev", "docs"} <= everything


# --- what is released ---------------------------------------------------------------------------


def test_one_version_everywhere():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert onmf.__version__ == declared == metadata.version("onmf")
    assert f"\nversion: {declared}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'version: "{declared}"' in (ROOT / "conda" / "recipe.yaml").read_text()
    assert f"\n## {declared}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_conda_needs_what_the_wheel_needs():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text().split("  run:\n")[1].split("\n\n")[0]
    wanted = [line.strip("- ").replace(" ", "") for line in recipe.splitlines()]
    python = f"python{declared['requires-python']}"
    assert sorted(wanted) == sorted([python, *declared["dependencies"]])


def test_every_action_is_pinned_by_the_hash_of_a_commit():
    used = [
        line
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in path.read_text().splitlines()
        if re.search(r"\buses:", line)
    ]
    assert len(used) > 5
    assert [one for one in used if not re.search(r"@[0-9a-f]{40} # v\d", one)] == []


def test_the_same_source_is_packed_into_the_same_bytes(tmp_path):
    spec = util.spec_from_file_location("dist", ROOT / ".ci" / "dist.py")
    dist = util.module_from_spec(spec)
    spec.loader.exec_module(dist)
    packed = []
    for run in ("one", "two"):
        folder = tmp_path / run / "onmf"
        folder.mkdir(parents=True)
        for name in ("a", "b") if run == "one" else ("b", "a"):
            (folder / name).write_text("same")
            os.utime(folder / name, (1e9, 1e9 if run == "one" else 1.5e9))
        (folder / "a").chmod(0o600 if run == "one" else 0o664)
        with tarfile.open(tmp_path / f"{run}.tar.gz", "w:gz") as archive:
            archive.add(folder, "onmf")
        path = dist.repack(tmp_path / f"{run}.tar.gz", tmp_path / f"{run}-again.tar.gz", 10**9)
        packed.append(path.read_bytes())
    assert packed[0] == packed[1]
    with tarfile.open(path) as archive:
        assert archive.getnames() == ["onmf", "onmf/a", "onmf/b"]
        assert archive.extractfile("onmf/a").read() == b"same"


# --- the command as a module ----------------------------------------------------------------------


def run_module(*args, **environment):
    return subprocess.run(
        [sys.executable, "-m", "onmf", *args],
        capture_output=True, text=True, env=os.environ | environment,
    )  # fmt: skip


def test_the_module_is_the_command():
    pytest.importorskip("click")
    done = run_module("--version")
    known = f"onmf {onmf.__version__}, {kernel_sentence()}\n"
    assert (done.returncode, done.stdout) == (0, known)
    done = run_module("--version", ONMF_KERNELS="numpy")
    assert done.stdout == f"onmf {onmf.__version__}, NumPy kernels (ONMF_KERNELS=numpy)\n"


@pytest.mark.slow
def test_the_module_clusters(tmp_path):
    pytest.importorskip("click")
    (tmp_path / "x.csv").write_text("1,0\n2,0.1\n0,1\n0.1,3\n")
    done = run_module("cluster", str(tmp_path / "x.csv"), "-k", "2", "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "labels.csv").is_file()
    assert run_module("cluster", "nowhere.csv", "-k", "2").returncode == 2
