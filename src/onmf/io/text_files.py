"""Files of a folder, and lines of text; an error names the line that is not text."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_END, BufferedIOBase, BufferedReader, TextIOWrapper
from pathlib import Path

from onmf.exceptions import FormatError
from onmf.io.remote import AnyFile
from onmf.io.table import Progress, listing, no_progress, one_line

LONGEST_LINE = 200_000_000  # bytes: a longer line is no table, and may be a zip bomb
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HARMLESS_BYTES = 16 << 20  # that any file may unpack to
MAX_UNPACKING = 100  # times its size: counts that are mostly zero, as text, unpack to 50 times
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


def text_lines(path: AnyFile, progress: Progress = no_progress) -> Iterator[str]:
    """The lines of a file in UTF-8, or UTF-16 with a byte order mark; .gz is decompressed."""
    total, unreported, number, seen = path.stat().st_size, 0, 0, 0
    with open_unpacked(path) as (stream, raw):
        if stream.peek(2)[:2] in UTF16_MARKS:
            yield from _wide_lines(stream, path.name)
            return
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{path.name} has over {LONGEST_LINE} bytes in line {number}.")
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path.name} is not UTF-8 in line {number} (byte "
                    f"0x{line[error.start]:02x}): save it as UTF-8."
                ) from error
            unreported += len(line)
            if unreported > BYTES_PER_PROGRESS:
                seen, unreported = seen + unreported, 0
                check_unpacked(path.name, seen, raw.tell())
                progress(raw.tell(), total)


def _wide_lines(stream: BufferedReader | gzip.GzipFile, name: str) -> Iterator[str]:
    """Lines in UTF-16, as spreadsheets write "Unicode text"."""
    text, number = TextIOWrapper(stream, "utf-16", newline="\n"), 0
    try:
        while line := text.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{name} has over {LONGEST_LINE} bytes in line {number}.")
            yield line
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-16 after line {number}: save it as UTF-8.") from error
    finally:
        text.detach()  # the caller closes the file
