"""Remote files such as `s3://bucket/X.npy` by fsspec: the only module that imports it.

    part = read_range(start, stop),    0 <= start <= stop <= size

A `RemoteFile` has the members of a `Path` that the readers use. All of them read parts of the file,
so data that are read in blocks are also fetched in blocks.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, NamedTuple

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]+://")
PASSWORD = re.compile(r"(://)[^/?#\s]*@")
QUERY = re.compile(r"(https?://[^\s?]*\?|://[^\s?]*\?(?=\S*=))(\S+)")
HIDDEN = "***"
WEB_SCHEMES = ("http://", "https://")  # a query may follow the file name
BYTES_PER_FETCH = 1 << 20  # at least


class FileSize(NamedTuple):
    """The part of `os.stat_result` that a remote file has."""

    st_size: int


@dataclass(frozen=True, repr=False)
class RemoteFile:
    """A file or folder at an address; the server is contacted only when needed."""

    address: str

    def __str__(self) -> str:
        return without_secrets(self.address)

    __repr__ = __str__

    @property
    def parts(self) -> tuple[str, str, str]:
        """Folder, name and query: signatures and tokens follow a name after `?key=`."""
        end = r"\?" if any(web in self.address for web in WEB_SCHEMES) else r"\?(?=[^/?]*=)"
        place = re.split(end, self.address, maxsplit=1)[0]
        folder, _, name = place.rstrip("/").rpartition("/")
        return folder, name, self.address[len(place) :]

    @property
    def name(self) -> str:
        """The part after the last slash, without a query."""
        return self.parts[1]

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    def resolve(self) -> "RemoteFile":
        return self

    def with_name(self, name: str) -> "RemoteFile":
        folder, _, query = self.parts
        return RemoteFile(f"{folder}/{name}{query}")

    @cached_property
    def system(self) -> tuple[Any, str]:
        """The file system of fsspec, and the path in it."""
        try:
            from fsspec.core import url_to_fs
        except ImportError as missing:
            raise ImportError(
                f"{self.name} is remote, and remote files are read by fsspec, which "
                '`pip install "onmf[remote]"` installs.'
            ) from missing
        with self._errors():
            system, path = url_to_fs(self.address)
        return system, str(path)

    @cached_property
    def facts(self) -> dict[str, Any] | None:
        """The server's description of it; None if there is no such file."""
        system, path = self.system
        try:
            with self._errors():
                return dict(system.info(path))
        except FileNotFoundError:
            return None

    def exists(self) -> bool:
        return self.facts is not None

    def is_file(self) -> bool:
        return self.exists() and not self.is_dir()

    def is_dir(self) -> bool:
        return self.facts is not None and self.facts.get("type") == "directory"

    def stat(self) -> FileSize:
        """Its size."""
        size = None if self.facts is None else self.facts.get("size")
        if self.facts is None:
            raise FileNotFoundError(f"there is no file {self}.")
        if size is None:
            raise ConnectionError(f"the size of {self} is unknown: copy it first.")
        return FileSize(int(size))

    def files(self) -> dict[str, "RemoteFile"]:
        """The files of a folder that are not hidden, by relative name, sorted."""
        system, path = self.system
        with self._errors():
            found = sorted(str(name) for name in system.find(path))
        names = [name.removeprefix(path).lstrip("/") for name in found]
        visible = [name for name in names if not any(p[0] == "." for p in name.split("/"))]
        return {name: RemoteFile(f"{self.address.rstrip('/')}/{name}") for name in visible}

    def open(self, mode: str = "rb", buffering: int = -1) -> BufferedReader:
        """Open it for reading."""
        if mode != "rb":
            raise ValueError(f"{self} can only be read.")
        return BufferedReader(RemoteStream(self), BYTES_PER_FETCH)

    def read_range(self, start: int, stop: int) -> bytes:
        """Bytes `start` to `stop` - 1, or fewer at the end of the file."""
        system, path = self.system
        with self._errors():
            part: bytes = system.cat_file(path, start=start, end=stop) if stop > start else b""
        if len(part) > stop - start:
            raise ConnectionError(f"{self} cannot be read in parts: copy it first.")
        return part

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Any error of the libraries behind fsspec as a sentence with the address.

        What they say may have secrets in it, so tracebacks do not show it.
        """
        try:
            yield
        except MemoryError:
            raise
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file {self}.") from None
        except Exception as error:
            said = " ".join(str(error).split()).removesuffix(".") or type(error).__name__
            kind = ImportError if isinstance(error, ImportError) else ConnectionError
            raise kind(f"{self} cannot be read: {without_secrets(said)}.") from None


class RemoteStream(RawIOBase):
    """A remote file as a seekable stream of bytes."""

    def __init__(self, file: RemoteFile) -> None:
        self.file, self.size, self.position = file, file.stat().st_size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = 0) -> int:
        self.position = (0, self.position, self.size)[whence] + offset
        return self.position

    def readinto(self, buffer: Any) -> int:
        stop = min(self.position + len(buffer), self.size)
        part = self.file.read_range(self.position, max(stop, self.position))
        buffer[: len(part)] = part
        self.position += len(part)
        return len(part)


AnyFile = Path | RemoteFile


def without_secrets(text: str) -> str:
    """The text with users, passwords and the values of queries in its addresses hidden."""

    def hide(found: re.Match[str]) -> str:
        return found[1] + "&".join(map(_hidden, found[2].split("&")))

    return QUERY.sub(hide, PASSWORD.sub(rf"\1{HIDDEN}@", text))


def _hidden(part: str) -> str:
    """`key=***`, or `***` for a value without a key."""
    key, equals, value = part.partition("=")
    if HIDDEN in (key[:3], value[:3]):
        return part
    return f"{key}={HIDDEN}" if equals else HIDDEN


def is_remote(path: object) -> bool:
    """Whether it is the address of a remote file, such as `s3://bucket/X.npy`."""
    return isinstance(path, RemoteFile) or (isinstance(path, str) and bool(ADDRESS.match(path)))


def as_file(path: str | AnyFile) -> AnyFile:
    """A local path, or a remote file."""
    if isinstance(path, RemoteFile):
        return path
    return RemoteFile(path) if isinstance(path, str) and is_remote(path) else Path(path)
