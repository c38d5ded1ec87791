"""Bytes of files: one counting reader for everything that is packed, and lines of text in UTF-8.

A packed stream may not give more than MAX_UNPACKING times the bytes it takes; sizes that the file
itself declares are not believed.
"""

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onmf_app.read.encodings import detect_encoding

LONGEST_LINE = 200_000_000  # bytes: a longer line is no table
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HARMLESS_BYTES = 16 << 20  # that any file may unpack to
MAX_UNPACKING = 100  # times its size: counts that are mostly zero, as text, unpack to 50 times
BLOCK = 1 << 17
SHOWN = 10  # names in a sentence
Note = Callable[[str], object]
Progress = Callable[[int, int], object]


def ignore(*_: Any) -> None:
    """What a caller does not want to be told."""


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


@contextmanager
def open_bytes(path: Path) -> Iterator[tuple[io.BufferedReader, Callable[[], int]]]:
    """The content of a file, unpacked if its name ends in .gz; and how much of the file is read."""
    with path.open("rb") as raw:
        if path.name.lower().endswith(".gz"):
            packed = gzip.GzipFile(fileobj=raw)
            yield io.BufferedReader(Counting(packed, raw.tell, path.name), BLOCK), raw.tell
        else:
            yield raw, raw.tell


def text_blocks(
    path: Path,
    encoding: str | None = None,
    note: Note = ignore,
    progress: Progress = ignore,
) -> Iterator[list[bytes]]:
    """Whole lines of a file, some at a time, in UTF-8 and without their ends.

    Without an `encoding`: UTF-16 with a byte order mark; UTF-8; and where lines are not UTF-8, with
    a note, what they look like.
    """
    with open_bytes(path) as (stream, taken):
        size, number, other = path.stat().st_size, 1, ""
        wide = encoding or wide_encoding(stream.peek(4)[:4])
        if wide is not None and "\n".encode(known_encoding(wide)) != b"\n":
            blocks, encoding = _wide_blocks(stream, path.name, wide), "utf-8"
        else:
            blocks = iter(lambda: stream.read(BLOCK), b"")
        for block in _whole_lines(blocks, path.name):
            if number == 1:
                block = block.removeprefix(codecs.BOM_UTF8)
            if not block.isascii() and encoding not in (None, "utf-8"):
                block = _decoded(block, encoding or "", path.name, number).encode()
            elif not is_utf8(block):
                if encoding is not None:
                    _decoded(block, encoding, path.name, number)
                lines = block.split(b"\n")
                odd = [i for i, line in enumerate(lines) if not is_utf8(line)]
                if not other:
                    other = detect_encoding(b"\n".join(lines[i] for i in odd[:500]))
                    note(
                        f"{path.name}, line {number + odd[0]}, is not UTF-8 and is read as "
                        f"{other}; --encoding names another one."
                    )
                for i in odd:
                    lines[i] = lines[i].decode(other, "replace").encode()
                block = b"\n".join(lines)
            if b"\0" in block:
                raise ValueError(f"{path.name} is not a text: it has zero bytes.")
            lines = block.split(b"\n")
            if not lines[-1]:
                lines.pop()
            number += len(lines)
            progress(taken(), size)
            yield lines


def _whole_lines(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Blocks cut at ends of lines, which all become new lines."""
    parts: list[bytes] = []
    held = 0
    for block in blocks:
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1
        if not end:
            parts.append(block)
            held += len(block)
            if held > LONGEST_LINE:
                raise ValueError(f"{name} has over {LONGEST_LINE} bytes in a line.")
            continue
        whole = b"".join([*parts, block[:end]])
        parts, held = [block[end:]], len(block) - end
        yield whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in whole else whole
    if rest := b"".join(parts):
        yield rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _wide_blocks(stream: Any, name: str, encoding: str) -> Iterator[bytes]:
    """Text in UTF-16, as spreadsheets write it, or in another wide encoding, in UTF-8."""
    text = io.TextIOWrapper(stream, encoding, newline="")
    try:
        while block := text.read(BLOCK):
            yield block.encode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not {encoding.upper()}: save it as UTF-8.") from error
    finally:
        text.detach()  # the caller closes the file


def _decoded(block: bytes, encoding: str, name: str, number: int) -> str:
    try:
        return block.decode(encoding)
    except UnicodeDecodeError as error:
        line = number + block.count(b"\n", 0, error.start)
        raise ValueError(
            f"{name} is not {encoding} in line {line} (byte 0x{block[error.start]:02x}): name its "
            "encoding with --encoding, or save it as UTF-8."
        ) from error


def decode_text(content: bytes, encoding: str | None = None) -> tuple[str, str]:
    """A whole text and its encoding: the one given, UTF-8, UTF-16 or what it looks like.

    ValueError if it is no text.
    """
    errors = "strict" if encoding else "replace"
    encoding = known_encoding(encoding) if encoding else wide_encoding(content[:4])
    if encoding is None:
        encoding = "utf-8" if is_utf8(content) else detect_encoding(content)
        if b"\0" in content:
            raise ValueError("a text has no zero bytes.")
    return content.decode(encoding, errors).removeprefix("\ufeff"), encoding


def wide_encoding(start: bytes) -> str | None:
    """UTF-16, if the first bytes of a file look like it."""
    if start[:2] in UTF16_MARKS:
        return "utf-16"
    return "utf-16-le" if (start[1::2] or b"1").strip(b"\0") == b"" else None


def is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def known_encoding(encoding: str) -> str:
    """The name of an encoding of text as Python spells it."""
    try:
        found = codecs.lookup(encoding)
        if not found._is_text_encoding:
            raise LookupError
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}: use utf-8, latin-1, cp1252, mac_roman, utf-16 or "
            "another name that Python knows."
        ) from None
    return found.name


def listing(names: Any, total: int | None = None) -> str:
    """'a, b, c and 12 more'."""
    named = [*map(str, names)]
    total = len(named) if total is None else total
    shown = ", ".join(named[:SHOWN])
    return shown if total <= SHOWN else f"{shown} and {total - SHOWN} more"
