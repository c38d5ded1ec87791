"""Files of a folder, and lines of text in any encoding."""

import codecs
import gzip
import itertools
import re
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader, TextIOWrapper
from pathlib import Path

from onmf.exceptions import FormatError, TableWarning
from onmf.io.remote import AnyFile
from onmf.io.table import Progress, listing, no_progress, one_line

LONGEST_LINE = 200_000_000  # bytes: a longer line is no table, and may be a zip bomb
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
BYTES_PER_PROGRESS = 4_000_000  # between two calls of `progress`
INSPECTED = 1000  # bytes, in which UTF-16 shows
LINES_INSPECTED = 200  # that are not UTF-8, to find their encoding
FOREIGN = 0.25  # share of letters beyond ASCII; at most .15 in Western texts, .9 in Russian ones
FEWEST_FOREIGN = 8  # letters beyond ASCII that tell anything: one word, or the names of columns
SIGNS_IN_WORDS = re.compile(rb"(?<=[A-Za-z])[\xa1-\xa9\xab\xac\xae-\xb3\xb5\xb6\xb8\xb9\xbb-\xbf]"
                            rb"(?=[A-Za-z])")  # fmt: skip


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
    """The lines of a file, decompressed if it is a .gz.

    The encoding is UTF-8, or UTF-16 as spreadsheets write "Unicode text", if none is given. Lines
    that are not UTF-8 are decoded by the one that `find_encoding` finds for them, with a warning.
    """
    total, unreported, number, other = path.stat().st_size, 0, 0, None
    with open_unpacked(path) as (stream, raw):
        if encoding or (encoding := _wide(stream.peek(INSPECTED)[:INSPECTED])):
            yield from _decoded_lines(stream, path.name, encoding)
            return
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{path.name} has over {LONGEST_LINE} bytes in line {number}.")
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                other = other or _encoding_of_lines(path, number)
                yield line.decode(other, "replace")
            unreported += len(line)
            if unreported > BYTES_PER_PROGRESS:
                unreported = 0
                progress(raw.tell(), total)


def _decoded_lines(
    stream: BufferedReader | gzip.GzipFile, name: str, encoding: str
) -> Iterator[str]:
    """Lines in an encoding in which a line break may be more than one byte."""
    text, number = TextIOWrapper(stream, encoding, newline="\n"), 0
    try:
        while line := text.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{name} has over {LONGEST_LINE} bytes in line {number}.")
            yield line
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not {encoding} after line {number}.") from error
    finally:
        text.detach()  # the caller closes the file


def _encoding_of_lines(path: AnyFile, first: int) -> str:
    """The encoding of the lines of a file that are not UTF-8, with a warning."""
    with open_unpacked(path) as (stream, _):
        odd = itertools.islice(filter(_not_utf8, stream), LINES_INSPECTED)
        found = find_encoding(b"".join(odd))
    if found is None:
        raise ValueError(
            f"{path.name} is not UTF-8 in line {first}, and its encoding cannot be recognised: "
            "name it with --encoding (encoding=), or save the file as UTF-8."
        )
    warnings.warn(
        f"{path.name} is not UTF-8 in line {first}; lines like it were read as {found}. "
        "--encoding (encoding=) names another encoding.",
        TableWarning,
        stacklevel=2,
    )
    return found


def _not_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def decode_text(content: bytes, encoding: str | None = None) -> tuple[str, str]:
    """A whole text and its encoding: the one given, UTF-8, UTF-16 or one that is recognised.

    ValueError if it is none of them.
    """
    errors = "replace" if encoding is None else "strict"
    if encoding is None and not (encoding := _wide(content[:INSPECTED])):
        start = content[: INSPECTED * LINES_INSPECTED]
        encoding = find_encoding(start) if _not_utf8(content) else "utf-8"
    if encoding is None:
        raise ValueError("its encoding cannot be recognised.")
    return content.decode(encoding, errors).removeprefix("\ufeff"), encoding


def _wide(start: bytes) -> str | None:
    """UTF-16, if a file starts with its mark, or has its zeros without one."""
    if start[:2] in UTF16_MARKS:
        return "utf-16"
    even, odd = start[::2].count(0), start[1::2].count(0)
    if 4 * max(even, odd) > len(start) and not min(even, odd):
        return "utf-16-be" if even else "utf-16-le"
    return None


def find_encoding(sample: bytes) -> str | None:
    """The encoding of bytes that are not UTF-8; None if they are no text.

    Western text (cp1252, and Latin-1 in it) has few letters beyond ASCII, and no signs within its
    words. charset-normalizer takes such text for Polish, so it is only asked about all other.
    """
    beyond = len(re.findall(rb"[\x80-\xff]", sample))
    letters = beyond + len(re.findall(rb"[A-Za-z]", sample))
    signs = len(SIGNS_IN_WORDS.findall(sample))
    try:
        sample.decode("cp1252")
        few = beyond < max(FOREIGN * letters, FEWEST_FOREIGN)
        if b"\0" not in sample and few and signs < FOREIGN * beyond:
            return "cp1252"
    except UnicodeDecodeError:
        pass
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    best = from_bytes(sample).best()
    return None if best is None else best.encoding
