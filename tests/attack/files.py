"""Hostile files: bombs, links, and the readers of `make fuzz-files` under random bytes."""

import os
import resource
import subprocess
import sys

import numpy as np

from attack.kills import ENVIRONMENT
from fuzz.targets import TARGETS, attack
from onmf.files.output import replace_files
from reading import read_documents

CASES = 200  # changes of a file, for one attack


def changed(rng, data):
    """Bytes with some of them changed, cut out, doubled or lost at the end."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 8))):
        if not data:
            break
        i = int(rng.integers(len(data)))
        j = min(len(data), i + int(rng.integers(1, 64)))
        match rng.integers(4):
            case 0:
                data[i] = int(rng.integers(256))
            case 1:
                del data[i:j]
            case 2:
                data[i:i] = data[i:j]
            case 3:
                del data[i if rng.random() < 0.2 else len(data) :]
    return bytes(data)


def changed_bytes_are_read_or_refused(rng, folder):
    names = [name for name in TARGETS if not TARGETS[name].may_hang]
    target = TARGETS[names[int(rng.integers(len(names)))]]
    seeds = [*target.seeds()]
    for _ in range(CASES):
        data = changed(rng, seeds[int(rng.integers(len(seeds)))])
        wrong = attack(target, data, folder)
        assert not wrong, f"{target.name}: {wrong}\n{data[:300]!r}"


READ = """
import sys
from onmf_app.read import read_input
try:
    read_input(sys.argv[1], text=False)
except (ValueError, OSError) as error:
    print("refused", error)
else:
    print("read")
"""


def a_bomb_takes_no_more_than_it_holds(rng, folder):
    """Once, and a little: twice would be a copy."""
    path = folder / "bomb.npz"
    size = int(rng.integers(50, 300)) * 1_000_000
    np.savez_compressed(path, X=np.zeros((size // 1000, 1000), np.uint8))

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (size + 1_000_000_000, size + 1_000_000_000))

    words = [sys.executable, "-c", READ, str(path)]
    one = ENVIRONMENT | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        words, env=one, preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith(("read", "refused")), done.stderr


def links_are_not_followed(rng, folder):
    victim, inside = folder / "victim", folder / "inside"
    victim.write_text("precious")
    inside.mkdir()
    for name in (f".a.{os.getpid()}", ".a.part", ".a.tmp", "a"):
        (inside / name).symlink_to(victim)
    replace_files(inside, {"a": "new", "b": "new"})
    assert victim.read_text() == "precious"
    assert not (inside / "a").is_symlink()
    try:
        read_documents(inside)
    except ValueError as error:
        raise AssertionError(str(error)) from error  # hidden ones are no documents
    (inside / "shown.txt").symlink_to(victim)
    try:
        read_documents(inside)
    except ValueError:
        return
    raise AssertionError("a link out of the folder was read")


ATTACKS = (changed_bytes_are_read_or_refused, a_bomb_takes_no_more_than_it_holds,
           links_are_not_followed)  # fmt: skip
