"""Coverage-guided fuzzing of every reader of files, by atheris (libFuzzer).

    python tests/fuzz/run.py --minutes 10 [--only "model"] [--keep folder]

Each target runs in a process of its own, for its share of the time, on inputs that libFuzzer
changes so that they reach new branches of onmf. Counted as failures are exceptions that are not
documented, errors that are not one sentence, reading for more than SECONDS, and memory beyond
MEGABYTES. The table says what was tried; the bytes that failed are kept, each with its traceback.
That the HDF5 library may loop for ever is known (docs/reliability.md) and no failure.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

SECONDS = 10  # to read a file of at most LONGEST bytes
MEGABYTES = 3000  # of address space beyond what the libraries take: a good file needs none of it
LONGEST = 20_000  # bytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", default="", help="targets whose names contain this")
    parser.add_argument("--keep", type=Path, default=Path(".fuzz"), help="corpus and failures")
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    if options.target:
        fuzz(options.target, options.keep, rest)
        return 0
    from fuzz.targets import TARGETS

    names = [name for name in TARGETS if options.only in name]
    tried = failed = 0
    begin = time.monotonic()
    print(f"{'reader':26}{'cases':>10}{'branches':>10}{'failures':>10}", flush=True)
    for name in names:
        share = options.minutes * 60 / len(names)
        cases, branches, failures = run(name, options.keep, share, TARGETS[name].may_hang)
        print(f"{name:26}{cases:10,}{branches:10,}{len(failures):10,}", flush=True)
        for line in failures:
            print(f"    {line}", flush=True)
        tried, failed = tried + cases, failed + len(failures)
    minutes = (time.monotonic() - begin) / 60
    print(f"{tried:,} cases of {len(names)} readers in {minutes:.1f} minutes, {failed} failures.")
    return 1 if failed else 0


def run(name: str, keep: Path, seconds: float, may_hang: bool) -> tuple[int, int, list[str]]:
    """(cases, branches, failures) of one target; a process that died is started again."""
    place = keep / re.sub(r"\W+", "-", name)
    (place / "failures").mkdir(parents=True, exist_ok=True)
    for old in (place / "failures").iterdir():
        old.unlink()
    cases, branches, deadline = 0, 0, time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 1 or not cases:
        done = subprocess.run(
            [sys.executable, __file__, "--target", name, "--keep", place,
             f"-max_total_time={max(1, int(left))}", f"-timeout={SECONDS}", "-rss_limit_mb=0",
             f"-max_len={LONGEST}", f"-artifact_prefix={place}/failures/", "-print_final_stats=1",
             place / "corpus"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
        )  # fmt: skip
        counted = re.findall(r"number_of_executed_units: (\d+)", done.stderr)
        seen = re.findall(r"#(\d+)\t.*? cov: (\d+)", done.stderr)
        for file in (place / "failures").iterdir():
            known = may_hang and file.name.startswith("timeout-")
            if not file.suffix and (known or not comes_again(name, file)):
                file.unlink()  # or the machine was busy, or the process stood still
        cases += int(counted[-1]) if counted else int(seen[-1][0]) if seen else 0
        branches = max([branches, *(int(cov) for _, cov in seen)])
        if done.returncode and not cases:
            raise RuntimeError(f"the fuzzer of {name} does not run:\n{done.stderr[-3000:]}")
    return cases, branches, [first_line(file) for file in sorted((place / "failures").iterdir())
                             if file.suffix != ".bytes"]  # fmt: skip


def comes_again(name: str, file: Path) -> bool:
    """Whether a crash or a time-out of libFuzzer is one when the file is read alone."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, __file__, "--target", name, "--keep", place]
        alone = [*command, f"-timeout={SECONDS}", "-rss_limit_mb=0", file]
        return subprocess.run(alone, capture_output=True).returncode != 0


def first_line(file: Path) -> str:
    """The error behind a traceback; for libFuzzer's own findings, its name for them."""
    if file.suffix == ".txt":
        return file.read_text().strip().splitlines()[-1][:150] + f" ({file.name})"
    return file.name


def fuzz(name: str, place: Path, arguments: list[str]) -> None:
    """Fuzz one target in this process until the time is up."""
    import atheris

    with atheris.instrument_imports(include=["onmf", "onmf_app"]):
        import onmf_app.read
        from fuzz.targets import TARGETS, attack

        for module in iter_modules(onmf_app.read.__path__, "onmf_app.read."):  # they are lazy
            import_module(module.name)
    target, corpus = TARGETS[name], place / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    memory = Path("/dev/shm")
    folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    tempfile.tempdir = folder.name
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limit = used + (MEGABYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def once(data: bytes) -> None:
        with tempfile.TemporaryDirectory(dir=folder.name) as own:
            try:
                wrong = attack(target, data, Path(own))
            except Exception as error:
                note(place, error_place(error), traceback.format_exc(), data)
            else:
                if wrong:
                    note(place, "sentence", wrong, data)

    atheris.Setup([sys.argv[0], *arguments], once)
    atheris.Fuzz()


def error_place(error: BaseException) -> str:
    """What and where: failures of one kind are kept once."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "onmf" in frame.filename] or list(frames)
    return f"{type(error).__name__}-{Path(ours[-1].filename).stem}-{ours[-1].lineno}"


def note(place: Path, kind: str, said: str, data: bytes) -> None:
    """Keep the smallest input of each kind."""
    file = place / "failures" / f"{kind}.bytes"
    if not file.exists() or file.stat().st_size > len(data):
        file.write_bytes(data)
        file.with_suffix(".txt").write_text(said)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.exit(main())
