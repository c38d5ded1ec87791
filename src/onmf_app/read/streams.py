"""Files: one counting reader for everything that is packed, and lines of text in UTF-8.

A packed stream may not give more than MAX_UNPACKING times the bytes it takes; sizes that the file
itself declares are not believed.
"""

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from onmf_app.read.encodings import detect_encoding, is_utf8, known_encoding, wide_encoding

LONGEST_LINE = 200_000_000  # bytes: a longer line is no table
HARMLESS_BYTES = 16 << 20  # that any file may unpack to
MAX_UNPACKING = 100  # times its size: counts that are mostly zero, as text, unpack to 50 times
BLOCK = 1 << 17
SHOWN = 10  # names in a sentence


class Counting(io.RawIOBase):
    """A packed stream, with bytes out counted against bytes in."""

    def __init__(self, unpacked: Any, taken: Callable[[], int], name: str) -> None:
        self._unpacked, self._taken, self._name, self._given = unpacked, taken, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            n = int(self._unpacked.readinto(buffer))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{self._name} is not a complete gzip file: {error}.") from error
        self._given += n
        check_unpacked(self._name, self._given, self._taken())
        return n


def check_unpacked(name: str, given: int, taken: int) -> None:
    """Refuse a file that unpacks to very much more than it is: no table of numbers does."""
    if given > HARMLESS_BYTES and given > MAX_UNPACKING * taken:
        raise ValueError(
            f"{name} unpacks to over {MAX_UNPACKING} times its size: unpack it yourself if you "
            "trust it."
        )


class File:
    """A file that is read, what is said about it, and who is told how far it is."""

    def __init__(
        self,
        path: str | Path,
        encoding: str | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self.path = Path(path)
        self.name = self.path.name
        self.ending = Path(self.name.lower().removesuffix(".gz")).suffix
        self.encoding, self.progress = encoding, progress or (lambda done, total: None)
        self.notes: list[str] = []

    def note(self, said: str) -> None:
        """Keep a sentence, once."""
        if said not in self.notes:
            self.notes.append(said)

    @contextmanager
    def open(self) -> Iterator[tuple[io.BufferedReader, Callable[[], object]]]:
        """Its bytes, unpacked if its name ends in .gz; and a function that tells the progress."""
        with self.path.open("rb") as raw:
            size, stream = self.path.stat().st_size, raw
            if self.name.lower().endswith(".gz"):
                packed = gzip.GzipFile(fileobj=raw)
                stream = io.BufferedReader(Counting(packed, raw.tell, self.name), BLOCK)
            yield stream, lambda: self.progress(raw.tell(), size)

    def blocks(self) -> Iterator[list[bytes]]:
        """Its lines, some at a time, in UTF-8 and without their ends.

        Without an encoding: UTF-16 with a byte order mark; UTF-8; and where lines are not UTF-8,
        with a note, what they look like.
        """
        with self.open() as (stream, told):
            number, other = 1, ""
            own = self.encoding and known_encoding(self.encoding)
            wide = own or wide_encoding(stream.peek(4)[:4])
            if wide is not None and "\n".encode(wide) != b"\n":
                blocks, own = self._narrow(stream, wide), "utf-8"
            else:
                blocks = iter(lambda: stream.read(BLOCK), b"")
            for block in self._whole_lines(blocks):
                if number == 1:
                    block = block.removeprefix(codecs.BOM_UTF8)
                if own is not None and not block.isascii():
                    block = self._decoded(block, own, number).encode()
                lines = block.removesuffix(b"\n").split(b"\n")
                if not block.isascii() and not is_utf8(block):
                    odd = [i for i, line in enumerate(lines) if not is_utf8(line)]
                    if not other:
                        other = detect_encoding(b"\n".join(lines[i] for i in odd[:500]))
                        first = number + odd[0]
                        self.note(
                            f"{self.name}, line {first}, is not UTF-8 and is read as {other}; "
                            "--set read.encoding=NAME names another."
                        )
                    for i in odd:
                        lines[i] = lines[i].decode(other, "replace").encode()
                if b"\0" in block:
                    raise ValueError(f"{self.name} is not a text: it has zero bytes.")
                number += len(lines)
                told()
                yield lines

    def lines(self) -> Iterator[str]:
        """Its lines, with an end."""
        return (line.decode() + "\n" for lines in self.blocks() for line in lines)

    def _whole_lines(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Blocks cut at ends of lines, which all become new lines."""
        parts, held = list[bytes](), 0
        for block in blocks:
            end = block.rfind(b"\n") + 1 or block.rfind(b"\r", 0, -1) + 1
            if not end:
                parts.append(block)
                held += len(block)
                if held > LONGEST_LINE:
                    raise ValueError(f"{self.name} has over {LONGEST_LINE} bytes in a line.")
                continue
            yield _ended(b"".join([*parts, block[:end]]))
            parts, held = [block[end:]], len(block) - end
        if rest := b"".join(parts):
            yield _ended(rest)

    def _narrow(self, stream: Any, encoding: str) -> Iterator[bytes]:
        """Text in UTF-16, as spreadsheets write it, or in another wide encoding, in UTF-8."""
        text = io.TextIOWrapper(stream, encoding, newline="")
        try:
            while block := text.read(BLOCK):
                yield block.encode("utf-8", "replace")
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.name} is not {encoding.upper()}: save it as UTF-8.") from error
        finally:
            with suppress(ValueError):  # the file is closed, if its lines were not read to the end
                text.detach()

    def _decoded(self, block: bytes, encoding: str, number: int) -> str:
        try:
            return block.decode(encoding)
        except UnicodeDecodeError as error:
            line = number + block.count(b"\n", 0, error.start)
            raise ValueError(
                f"{self.name} is not {encoding} in line {line} (byte 0x{block[error.start]:02x}): "
                "name its encoding with --set read.encoding=NAME, or save it as UTF-8."
            ) from error


def _ended(text: bytes) -> bytes:
    """Lines that end in a new line; a lone return ends one only where there is nothing else."""
    if b"\r" not in text:
        return text
    return text.replace(b"\r\n", b"\n") if b"\n" in text else text.replace(b"\r", b"\n")


def listing(names: Any, total: int | None = None) -> str:
    """'a, b, c and 12 more'."""
    named = [*map(str, names)]
    total = len(named) if total is None else total
    shown = ", ".join(named[:SHOWN])
    return shown if total <= SHOWN else f"{shown} and {total - SHOWN} more"
