"""The page of results: one section a benchmark, replaced when that benchmark is run again."""

import datetime
import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

PAGE = Path(__file__).with_name("RESULTS.md")
HEAD = """# Results

Made by `make bench`; one section alone by `make bench ONLY=name`. Times are compared as ratios
within one run, interleaved, best of several; seconds are for orientation only.
"""


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def write_section(name: str, title: str, body: str) -> None:
    """Replace or append the section between its marks."""
    stamp = f"*{datetime.date.today()}, {machine()}*"
    section = f"<!-- {name} -->\n## {title}\n{stamp}\n\n{body}\n<!-- end {name} -->\n"
    page = PAGE.read_text() if PAGE.exists() else HEAD
    old = re.compile(rf"<!-- {name} -->.*?<!-- end {name} -->\n", re.DOTALL)
    page = old.sub(lambda _: section, page) if old.search(page) else f"{page}\n{section}"
    PAGE.write_text(page)
    print(body.strip().rsplit("|\n", 1)[0][-600:], flush=True)


def machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    python = f"Python {platform.python_version()}"
    return f"{os.cpu_count()} cores {platform.machine()}, {python}, {versions}"


def best_times(tasks: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Shortest time of each task over interleaved repeats."""
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            begin = perf_counter()
            task()
            best[name] = min(best[name], perf_counter() - begin)
    return best
