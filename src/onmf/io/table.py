"""What every file becomes, and what holds for all of them."""

import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from zipfile import BadZipFile

from onmf.exceptions import FormatError
from onmf.io.flat import NoRoomError

MOST_LISTED = 10  # names or cells that an error lists
DAMAGE: tuple[type[Exception], ...] = (  # what libraries raise on files that are damaged or forged
    ArithmeticError, AttributeError, BadZipFile, EOFError, LookupError, OSError, RuntimeError,
    TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip

OBEYED = re.compile(  # control characters but tab and new line; turns of the direction; half pairs
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

Progress = Callable[[int, int], object]  # (done, total)


def no_progress(done: int, total: int) -> None:
    """Progress that nobody follows."""


class Table(NamedTuple):
    """Samples as rows, with their names and those of the features; true classes if there are any.

    X is an array or a csr_array; for documents it is the list of their texts, which has no
    features yet.
    """

    X: Any
    samples: list[str]
    features: list[str]
    labels: list[str] | None = None


class Options(NamedTuple):
    """What may be asked of a file besides its numbers; a format without such a thing ignores it."""

    labels: str | None = None  # column of true classes
    layer: str | None = None  # of annotated data
    decimal: str = "."  # of text tables
    thousands: str = ""  # what groups their digits; "" for nothing, or "." beside a decimal comma
    drop: Collection[str] = ()  # columns and rows that are not read
    progress: Progress = no_progress


@contextmanager
def reading_errors(name: str, form: str, *also: type[Exception]) -> Iterator[None]:
    """What a library says of a damaged file becomes a sentence that names the file."""
    try:
        yield
    except (FormatError, FileNotFoundError, ConnectionError, NoRoomError, MemoryError):
        raise  # they say what is wrong, and it is not the file
    except DAMAGE + also as error:
        said = one_line(error).removesuffix(".")
        raise FormatError(f"{name} cannot be read as {form}: {said}.") from error


def numbered(n: int) -> list[str]:
    """Names where a file gives none."""
    return [str(i) for i in range(n)]


def listing(names: Iterable[Any], total: int | None = None) -> str:
    """'a, b, c and 12 more'."""
    named = list(names)
    total = len(named) if total is None else total
    shown = ", ".join(map(str, named[:MOST_LISTED]))
    return shown if total <= MOST_LISTED else f"{shown} and {total - MOST_LISTED} more"


def one_line(said: object) -> str:
    """The words of a library, or a name from a file, which may have several lines."""
    return printable(" ".join(str(said).split()))


def printable(text: str) -> str:
    """The same with every mark that a terminal would obey, and not show, written out."""
    return OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def check_unique(names: Sequence[str], what: str, file: str) -> None:
    """No two samples, or features, have one name."""
    if len(set(names)) == len(names):
        return
    twice = [repr(name) for name, count in Counter(names).items() if count > 1]
    raise ValueError(
        f"{file} has {what} of the same name: {listing(twice)}; rename or drop them, or, for "
        "features, take their sum or the first (--duplicates); a column of classes is named by "
        "--labels, or left out by --drop."
    )


def check_extent(shape: Sequence[int], entries: int, file: str) -> None:
    """A sparse matrix is not so empty that its mere outline would fill the memory."""
    if max(shape, default=0) > 1_000_000 + 100 * entries:
        raise ValueError(
            f"{file} says it is {' x '.join(map(str, shape))} but has only {entries} entries."
        )


def check_size(declared: int, stored: int, file: str) -> None:
    """So many bytes can come out of what is stored: deflate gains a factor of 1032 at most."""
    if declared > 1100 * stored + 1_000_000:
        raise ValueError(f"{file} says it holds {declared} bytes but has only {stored}.")
