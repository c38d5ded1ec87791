"""How much memory is free: on the machine, and in the container, batch job or service.

    free = limit - used + inactive_file,    for each Linux control group with a limit

Cached files (inactive_file) count as used, but are released when memory is needed.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CONTROL_GROUPS, OWN_CONTROL_GROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
LIMIT_AND_USE = {  # file names by the kind of a hierarchy; version 2 has one for all
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}
INACTIVE_FILE = re.compile(r"(?:total_)?inactive_file (\d+)")


class NoRoomError(OSError):
    """Unpacked data do not fit on the disk, or in memory."""


def free_memory() -> int:
    """Bytes that are free without swapping, on the machine and in the container."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            facts = dict(line.split(":") for line in lines)
        free = int(facts["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError):
        free = int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    return min([free, *container_memory()])


def check_memory(size: int, what: str) -> None:
    """Refuse data of more bytes than are free: a small file may hold any number of zeros."""
    free = free_memory()
    if free < size:
        raise NoRoomError(
            errno.ENOMEM,
            f"{what} needs {size / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free: save "
            "it as .npy or .h5ad and pass the path to ONMF, which reads it in blocks",
        )


def container_memory(groups: Path = CONTROL_GROUPS, own: Path = OWN_CONTROL_GROUP) -> Iterator[int]:
    """Free bytes of each control group around this process that has a limit."""
    lines: list[str] = []
    with suppress(OSError):
        lines = own.read_text(encoding="ascii").splitlines()
    for _, kind, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if kind in LIMIT_AND_USE:
            base = groups / kind
            inner = base / path.strip("/")
            for group in [inner, *(p for p in inner.parents if p.is_relative_to(base))]:
                yield from _free_in(group, *LIMIT_AND_USE[kind])


def _free_in(group: Path, limit_file: str, use_file: str) -> Iterator[int]:
    """Free bytes of one group; nothing if the limit is "max" or a file is missing."""
    with suppress(OSError, ValueError):
        limit, used = (int((group / f).read_text(encoding="ascii")) for f in (limit_file, use_file))
        cached = INACTIVE_FILE.findall((group / "memory.stat").read_text(encoding="ascii"))
        yield max(0, limit - used + max(map(int, cached), default=0))
