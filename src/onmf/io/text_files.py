"""Files of a folder, and lines of text; an error names the line that is not text."""

import codecs
import gzip
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedIOBase, BufferedReader, TextIOWrapper
from pathlib import Path

from onmf.exceptions import FormatError, TableWarning
from onmf.io.encodings import BYTES_INSPECTED, detect_encoding
from onmf.io.remote import AnyFile
from onmf.io.table import Progress, listing, no_progress, one_line

LONGEST_LINE = 200_000_000  # bytes: a longer line is no table, and may be a zip bomb
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
BYTES_PER_PROGRESS = 4_000_000  # between two calls of `progress`


def visible_files(folder: Path, links: bool = False) -> list[Path]:
    """Relative paths of all files of a folder that are not hidden, sorted.

    A link to a file outside the folder is refused unless `links` are followed: the folder may come
    from somebody else.
    """
    inside = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    names = sorted(name for name in inside if not any(part[0] == "." for part in name.parts))
    home = folder.resolve()
    outside = [one_line(n) for n in names if home not in (folder / n).resolve().parents]
    if outside and not links:
        raise ValueError(
            f"{one_line(folder.name)} has links to files outside it: {listing(outside)}. Remove "
            "them, or use --follow-links (follow_links=True)."
        )
    return names


@contextmanager
def open_unpacked(path: AnyFile) -> Iterator[tuple[BufferedReader | gzip.GzipFile, BufferedIOBase]]:
    """The content of a file, decompressed if its name ends in `.gz`, and the file itself."""
    with path.open("rb") as raw:
        packed = path.name.lower().endswith(".gz")
        try:
            yield (gzip.GzipFile(fileobj=raw) if packed else raw), raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FormatError(f"{path.name} is not a complete gzip file: {error}.") from error


def text_lines(
    path: AnyFile, progress: Progress = no_progress, encoding: str | None = None
) -> Iterator[str]:
    """The lines of a file; .gz is decompressed.

    Without an `encoding`: UTF-16 with a byte order mark; UTF-8; or else, with a `TableWarning`,
    what the first line beyond ASCII looks like.
    """
    with open_unpacked(path) as (stream, raw):
        start = stream.peek(4)[:4]
        if encoding is None and (
            start[:2] in UTF16_MARKS or (start[1::2] or b"1").strip(b"\0") == b""
        ):
            encoding = "utf-16" if start[:2] in UTF16_MARKS else "utf-16-le"
        if encoding is not None and "\n".encode(_known(encoding)) != b"\n":
            yield from _wide_lines(stream, path.name, encoding)
            return
        total, unreported, plain = path.stat().st_size, 0, True
        for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), 1):
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{path.name} has over {LONGEST_LINE} bytes in line {number}.")
            try:
                text = line.decode(encoding or "utf-8")
            except UnicodeDecodeError as error:
                if encoding is not None or not plain:
                    raise _wrong(
                        path.name, encoding or "UTF-8", number, line[error.start]
                    ) from error
                encoding = guess_encoding(line + stream.peek(BYTES_INSPECTED), path.name)
                text = line.decode(encoding, "replace")
            plain = plain and line.isascii()
            yield text.removeprefix("\ufeff") if number == 1 else text
            unreported += len(line)
            if unreported > BYTES_PER_PROGRESS:
                unreported = 0
                progress(raw.tell(), total)


def guess_encoding(content: bytes, name: str) -> str:
    """The encoding of a file that is not UTF-8, with a warning that names it."""
    encoding = detect_encoding(content)
    warnings.warn(
        f"{name} is not UTF-8 and is read as {encoding}; --encoding names another one.",
        TableWarning,
        stacklevel=3,
    )
    return encoding


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
