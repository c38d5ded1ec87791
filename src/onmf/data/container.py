"""How much memory a container, a batch system or a service still allows: Linux's control groups.

    free = limit - used + inactive_file,    of each group around this process that has a limit

What the system keeps of files it has read (inactive_file) counts as used but is given back.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
FILES = {  # of limit and use, by the kind of a hierarchy: version 2 has one for all
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}
INACTIVE = re.compile(r"(?:total_)?inactive_file (\d+)")


def container_memory(groups: Path = GROUPS, own: Path = OWN) -> Iterator[int]:
    """Bytes that each group around this process may still take, if it has a limit."""
    lines: list[str] = []
    with suppress(OSError):
        lines = own.read_text(encoding="ascii").splitlines()
    for _, kind, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if kind in FILES:
            base = groups / kind
            inner = base / path.strip("/")
            around = [inner, *(p for p in inner.parents if p.is_relative_to(base))]
            for group in around:
                yield from _allowed(group, *FILES[kind])


def _allowed(group: Path, most: str, taken: str) -> Iterator[int]:
    """What one group allows; nothing is said by "max", or where a file is missing."""
    with suppress(OSError, ValueError):
        limit, used = (int((group / name).read_text(encoding="ascii")) for name in (most, taken))
        cached = INACTIVE.findall((group / "memory.stat").read_text(encoding="ascii"))
        yield max(0, limit - used + max(map(int, cached), default=0))
