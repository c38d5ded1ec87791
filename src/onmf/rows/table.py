"""What every file becomes, and the names and messages that all formats share."""

import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, overload
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.exceptions import FormatError
from onmf.rows.room import NoRoomError

Array = NDArray[Any]
Progress = Callable[[int, int], object]  # (done, total)

MOST_LISTED = 10  # names or cells that an error lists
NAMES_PER_BLOCK = 100_000  # that are text at the same time: about 6 MB
DAMAGE: tuple[type[Exception], ...] = (  # what libraries raise on damaged or forged files
    ArithmeticError, AttributeError, BadZipFile, EOFError, LookupError, OSError, RuntimeError,
    TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip
# Control characters except tab and new line, marks of the writing direction, other ends of lines,
# lone surrogates, and what is not seen: two names must not look the same. Not the joiners U+200C
# and U+200D, which Persian, Indian languages and emoji need.
TERMINAL_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def no_progress(done: int, total: int) -> None:
    """Ignore the progress."""


class Table(NamedTuple):
    """Samples as rows, the names of samples and features, and the true classes if known.

    X is an array or a csr_array. For documents it is the list of texts, without features.
    """

    X: Any
    samples: Sequence[str]
    features: list[str]
    labels: list[str] | None = None


class Names(Sequence[str]):
    """Names that become text when they are asked for: text takes ten times the memory."""

    def texts(self, start: int, stop: int) -> list[str]:
        """The names from `start` to `stop` - 1."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, int) and 0 <= index < len(self):
            return self.texts(index, index + 1)[0]
        numbers = range(len(self))[index]
        if isinstance(numbers, int):
            return self.texts(numbers, numbers + 1)[0]
        if numbers.step != 1:
            return self.texts(0, len(self))[index]
        return self.texts(numbers.start, numbers.stop)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(in_blocks(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr([*self])


@dataclass(frozen=True, eq=False, repr=False)
class Numbered(Names):
    """0, 1, ..., n - 1: the names where a file gives none."""

    n: int

    def __len__(self) -> int:
        return self.n

    def texts(self, start: int, stop: int) -> list[str]:
        return [*map(str, range(start, stop))]


@dataclass(frozen=True, eq=False, repr=False)
class Coded(Names):
    """words[codes[0]], words[codes[1]], ...: a few names, many times."""

    words: Sequence[str]
    codes: Array

    def __len__(self) -> int:
        return len(self.codes)

    def texts(self, start: int, stop: int) -> list[str]:
        return list(np.array(self.words, object)[self.codes[start:stop]].tolist())


def in_blocks(names: Any, size: int | None = None) -> Iterator[Any]:
    """All names, or numbers of an array, some at a time."""
    size = NAMES_PER_BLOCK if size is None else size
    return (names[i : i + size] for i in range(0, len(names), size))


def turn(table: Table) -> Table:
    """The table with rows as columns, without classes."""
    X = table.X.T
    X = sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)
    return Table(X, table.features, [*table.samples])


class Options(NamedTuple):
    """How a file of arrays is opened; a format without such a thing ignores it."""

    labels: str | None = None  # column of true classes
    layer: str | None = None  # of annotated data
    drop: Collection[str] = ()  # columns to leave out


@contextmanager
def reading_errors(name: str, form: str, *also: type[Exception]) -> Iterator[None]:
    """Turn the errors of a library into one sentence that names the file."""
    try:
        yield
    except (FormatError, FileNotFoundError, ConnectionError, NoRoomError, MemoryError):
        raise  # their messages are complete, and not about damage
    except DAMAGE + also as error:
        said = one_line(error).removesuffix(".")
        raise FormatError(f"{name} cannot be read as {form}: {said}.") from error


def numbered(n: int) -> list[str]:
    """Names of features where a file gives none."""
    return [*Numbered(n)]


def listing(names: Iterable[Any], total: int | None = None) -> str:
    """'a, b, c and 12 more'."""
    named = list(names)
    total = len(named) if total is None else total
    shown = ", ".join(map(str, named[:MOST_LISTED]))
    return shown if total <= MOST_LISTED else f"{shown} and {total - MOST_LISTED} more"


def one_line(text: object) -> str:
    """The text of an error or a name, without line breaks, safe to print."""
    return printable(" ".join(str(text).split()))


def printable(text: str) -> str:
    """The text with every character that controls a terminal written as an escape."""
    return TERMINAL_CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def check_unique(names: Sequence[str], what: str, file: str) -> None:
    """Refuse samples, or features, that share a name."""
    if isinstance(names, Numbered):
        return
    codes = np.fromiter(map(hash, names), np.int64, len(names))
    known, counts = np.unique(codes, return_counts=True)
    again = {*known[counts > 1].tolist()}  # few names, or none: others may have their codes
    times = Counter(name for name in names if hash(name) in again) if again else Counter[str]()
    repeated = [repr(name) for name, count in times.items() if count > 1]
    if not repeated:
        return
    raise ValueError(
        f"{file} has {what} of the same name: {listing(repeated)}. Rename or drop them; features "
        "can be numbered, summed or taken once (--set read.duplicates=sum), also if they are rows "
        "(--transpose). If the column holds classes, use --labels or --drop."
    )


def class_names(values: Iterable[Any], samples: Sequence[str], where: str) -> list[str]:
    """Classes as text, whole numbers without a decimal point; none may be missing."""
    classes = [
        str(int(v)) if isinstance(v, float) and v.is_integer() else str("" if v is None else v)
        for v in values
    ]
    missing = [repr(s) for s, name in zip(samples, classes, strict=True) if not name.strip()]
    if missing:
        raise ValueError(f"{where} has no value for {listing(missing)}: fill it in.")
    return [name.strip() for name in classes]


def check_text(names: Sequence[str], what: str, file: str) -> None:
    """Refuse a name that no file can hold: half of a pair of code units, from damaged text."""
    for some in () if isinstance(names, Numbered) else in_blocks(names):
        try:
            "".join(some).encode("utf-8")
        except UnicodeEncodeError:
            name = next(n for n in some if n != n.encode("utf-8", "ignore").decode("utf-8"))
            raise ValueError(
                f"{file} has a {what} {name!a} whose name is no valid text (a lone surrogate): "
                "rename it."
            ) from None


def check_extent(shape: Sequence[int], entries: int, file: str) -> None:
    """Refuse a sparse matrix with so many empty rows or columns that they fill the memory."""
    if max(shape, default=0) > 1_000_000 + 100 * entries:
        raise ValueError(
            f"{file} declares {' x '.join(map(str, shape))} but has only {entries} entries."
        )


def check_size(declared: int, stored: int, file: str) -> None:
    """Refuse more bytes than deflate can compress: its ratio is at most 1032."""
    if declared > 1100 * stored + 1_000_000:
        raise ValueError(f"{file} declares {declared} bytes but has only {stored}.")
