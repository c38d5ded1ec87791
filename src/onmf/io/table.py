"""What every reader returns, and what holds for all of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ID_HEADINGS = {"", "id", "index", "sample", "sample_id"}
SHOWN = 10  # names or cells that an error lists

Progress = Callable[[int, int], object]  # (done, total)


def quiet(done: int, total: int) -> None:
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


class Wish(NamedTuple):
    """What a reader is asked for besides the numbers; one that cannot know it leaves it out."""

    labels: str | None = None  # column of true classes
    layer: str | None = None  # of an .h5ad file
    progress: Progress = quiet


def numbered(n: int) -> list[str]:
    """Names where a file gives none."""
    return [str(i) for i in range(n)]


def listing(names: Iterable[Any], total: int | None = None) -> str:
    """'a, b, c and 12 more'."""
    named = list(names)
    total = len(named) if total is None else total
    shown = ", ".join(map(str, named[:SHOWN]))
    return shown if total <= SHOWN else f"{shown} and {total - SHOWN} more"


def one_line(said: object) -> str:
    """The words of a library, or a name from a file, which may have several lines."""
    return " ".join(str(said).split())


def check_unique(names: Sequence[str], what: str, file: str) -> None:
    """No two samples, or features, have one name."""
    if len(set(names)) == len(names):
        return
    twice = [repr(name) for name, count in Counter(names).items() if count > 1]
    raise ValueError(f"{file} has {what} of the same name: {listing(twice)}; rename or drop them.")


def check_extent(shape: Sequence[int], entries: int, file: str) -> None:
    """A sparse matrix is not so empty that its mere outline would fill the memory."""
    if max(shape, default=0) > 1_000_000 + 100 * entries:
        raise ValueError(
            f"{file} says it is {' x '.join(map(str, shape))} but has only {entries} entries."
        )


def check_compressed(data: Any, indices: Any, indptr: Any) -> None:
    """The parts of a CSR or CSC matrix fit each other, as SciPy takes for granted."""
    if data.ndim != 1 or indices.shape != data.shape or indptr.ndim != 1 or not len(indptr):
        raise ValueError("its sparse matrix has parts that do not fit each other.")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError("its sparse matrix has indices that are not whole numbers.")
    if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("its sparse matrix has an indptr that does not run up to its entries.")


def check_size(declared: int, stored: int, file: str) -> None:
    """So many bytes can come out of what is stored: deflate gains a factor of 1032 at most."""
    if declared > 1100 * stored + 1_000_000:
        raise ValueError(f"{file} says it holds {declared} bytes but has only {stored}.")


def class_names(values: Iterable[Any]) -> list[str]:
    """Classes as text; whole numbers without a decimal point."""
    return [
        str(int(v)) if isinstance(v, float) and v.is_integer() else str(v).strip() for v in values
    ]


def check_file(labels: str | Path, table: str) -> None:
    """True classes that are no column of a table are in a file."""
    if not Path(labels).is_file():
        raise ValueError(
            f"{table} has no column {str(labels)!r} that could be taken as true classes, and there "
            "is no file of that name."
        )
