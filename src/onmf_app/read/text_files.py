"""Files of a folder, and lines of text; an error names the line that is not text."""

import codecs
import gzip
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import SEEK_END, BufferedIOBase, BufferedReader, TextIOWrapper
from itertools import islice
from pathlib import Path

from onmf.exceptions import FormatError, TableWarning
from onmf.rows import Progress, no_progress
from onmf_app.read.encodings import detect_encoding

LONGEST_LINE = 200_000_000  # bytes: a longer line is no table, and may be a zip bomb
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HARMLESS_BYTES = 16 << 20  # that any file may unpack to
MAX_UNPACKING = 100  # times its size: counts that are mostly zero, as text, unpack to 50 times
LINES_INSPECTED = 500  # that are not UTF-8, to find their encoding
BYTES_PER_PROGRESS = 4_000_000  # between two calls of `progress`


@contextmanager
def open_unpacked(path: Path) -> Iterator[tuple[BufferedReader | gzip.GzipFile, BufferedIOBase]]:
    """The content of a file, decompressed if its name ends in `.gz`, and the file itself."""
    with path.open("rb") as raw:
        packed = path.name.lower().endswith(".gz")
        try:
            if packed and raw.seekable():
                check_beginning(raw, path.name)
            yield (gzip.GzipFile(fileobj=raw) if packed else raw), raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FormatError(f"{path.name} is not a complete gzip file: {error}.") from error


def check_unpacked(name: str, unpacked: int, packed: int) -> None:
    """Refuse a file that unpacks to very much more than it is: no table of numbers does."""
    if unpacked > HARMLESS_BYTES and unpacked > MAX_UNPACKING * packed:
        raise FormatError(
            f"{name} unpacks to over {MAX_UNPACKING} times its size: unpack it yourself if you "
            "trust it."
        )


def check_beginning(raw: BufferedIOBase, name: str) -> None:
    """Refuse a gzip file whose first bytes unpack to very much; only if its end says so, too."""
    size = raw.seek(0, SEEK_END)
    raw.seek(max(size - 4, 0))
    suspicious = int.from_bytes(raw.read(4), "little") > max(HARMLESS_BYTES, MAX_UNPACKING * size)
    raw.seek(0)
    if suspicious:
        seen, stream = 0, gzip.GzipFile(fileobj=raw)
        while seen <= HARMLESS_BYTES and (part := stream.read(1 << 20)):
            seen += len(part)
        check_unpacked(name, seen, raw.tell())
        raw.seek(0)


def text_lines(
    path: Path, progress: Progress = no_progress, encoding: str | None = None
) -> Iterator[str]:
    """The lines of a file; .gz is decompressed.

    Without an `encoding`: UTF-16 with a byte order mark; UTF-8; and for lines that are not UTF-8,
    with a `TableWarning`, what they look like.
    """
    with open_unpacked(path) as (stream, raw):
        if encoding is None:
            encoding = wide_encoding(stream.peek(4)[:4])
        if encoding is not None and "\n".encode(_known(encoding)) != b"\n":
            yield from _wide_lines(stream, path.name, encoding)
            return
        total, unreported, seen, other = path.stat().st_size, 0, 0, ""
        for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), 1):
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{path.name} has over {LONGEST_LINE} bytes in line {number}.")
            try:
                text = line.decode(encoding or "utf-8")
            except UnicodeDecodeError as error:
                if encoding is not None:
                    raise _wrong(path.name, encoding, number, line[error.start]) from error
                other = other or _encoding_of_lines(path, number)
                text = line.decode(other, "replace")
            yield text.removeprefix("\ufeff") if number == 1 else text
            unreported += len(line)
            if unreported > BYTES_PER_PROGRESS:
                seen, unreported = seen + unreported, 0
                check_unpacked(path.name, seen, raw.tell())
                progress(raw.tell(), total)


def wide_encoding(start: bytes) -> str | None:
    """UTF-16, if the first bytes of a file look like it."""
    if start[:2] in UTF16_MARKS:
        return "utf-16"
    return "utf-16-le" if (start[1::2] or b"1").strip(b"\0") == b"" else None


def _encoding_of_lines(path: Path, first: int) -> str:
    """The encoding of the lines of a file that are not UTF-8, with a warning that names it."""
    with open_unpacked(path) as (stream, _):
        odd = b"".join(islice((line for line in stream if not is_utf8(line)), LINES_INSPECTED))
    encoding = detect_encoding(odd)
    warnings.warn(
        f"{path.name}, line {first}, is not UTF-8 and is read as {encoding}; --encoding names "
        "another one.",
        TableWarning,
        stacklevel=3,
    )
    return encoding


def is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def decode_text(content: bytes, encoding: str | None = None) -> tuple[str, str]:
    """A whole text and its encoding: the one given, UTF-8, UTF-16 or what it looks like.

    ValueError if it is no text.
    """
    errors = "strict" if encoding else "replace"
    encoding = _known(encoding) if encoding else wide_encoding(content[:4])
    if encoding is None:
        encoding = "utf-8" if is_utf8(content) else detect_encoding(content)
        if b"\0" in content:
            raise ValueError("a text has no zero bytes.")
    return content.decode(encoding, errors).removeprefix("\ufeff"), encoding


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}: use utf-8, latin-1, cp1252, mac_roman, utf-16 or "
            "another name that Python knows."
        ) from None


def _wrong(name: str, encoding: str, number: int, byte: int) -> ValueError:
    return ValueError(
        f"{name} is not {encoding} in line {number} (byte 0x{byte:02x}): name its encoding with "
        "--encoding, or save it as UTF-8."
    )


def _wide_lines(stream: BufferedReader | gzip.GzipFile, name: str, encoding: str) -> Iterator[str]:
    """Lines in UTF-16, as spreadsheets write "Unicode text", or another wide encoding."""
    text, number = TextIOWrapper(stream, encoding, newline="\n"), 0
    try:
        while line := text.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{name} has over {LONGEST_LINE} bytes in line {number}.")
            yield line
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not {encoding.upper()} after line {number}: save it as UTF-8."
        ) from error
    finally:
        text.detach()  # the caller closes the file
