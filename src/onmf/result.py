"""What a solver reports: a `Stage` for each penalty weight, a `Factorization` at the end.

One `Recorder` keeps the stages of a fit and shows them to the callback.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from onmf.rows.sweep import Array, Data, divisor


class Stage(NamedTuple):
    """One row of the history: the state at the end of a stage.

    Attributes
    ----------
    rho : float
        Weight of the penalty; 0 without one.
    sweeps : int
        Sweeps since the fit began.
    relative_error : float
        ``||X - HW||^2 / ||X||^2``.
    penalty : float
        ``sum_i phi(h_i)``.
    orthogonality : float
        The paper's eps_orth.
    residual : float
        The paper's normalised residual eps_NR of this stage.
    empty_clusters : int
        Clusters in which no sample has a share.
    sent, received : int
        Bytes to and from other processes since the fit began; the sweeps are the rounds they went
        in.
    """

    rho: float
    sweeps: int
    relative_error: float
    penalty: float
    orthogonality: float
    residual: float
    empty_clusters: int
    sent: int = 0
    received: int = 0


class Event(NamedTuple):
    """What a callback sees after every sweep.

    Attributes
    ----------
    start : int
        Which restart.
    sweep : int
        Sweeps done in this restart.
    max_sweeps : int
        The most there can be.
    stage : Stage or None
        The stage that this sweep finished, if it did.
    membership : callable
        Call it for H (n_samples, n_clusters) at this moment; zero while there is none.
    """

    start: int
    sweep: int
    max_sweeps: int
    stage: Stage | None
    membership: Callable[[], Array]


Watch = Callable[[Event], bool]


def unwatched(event: Event) -> bool:
    """The watcher that lets a solver run to its end."""
    return False


class Factorization(NamedTuple):
    """X ~ HW as a solver leaves it.

    `sweeps` says how often X was read, `iterations` what the method itself counts. `stop` is
    "converged", "callback", or the name of the limit that was hit.
    """

    H: Array
    W: Array
    rho: float
    history: list[Stage]
    sweeps: int
    iterations: int
    relative_error: float
    stop: str


@dataclass
class Recorder:
    """Every stage is kept, and the watcher hears of every sweep; once it says so, `stopped`."""

    watch: Watch = unwatched
    max_sweeps: int = 0
    restart: int = 0
    history: list[Stage] = field(default_factory=list)
    stopped: bool = False

    @property
    def sweeps(self) -> int:
        """Of the stages so far."""
        return self.history[-1].sweeps if self.history else 0

    def tell(
        self, sweeps: int, membership: Callable[[], Array], stage: Stage | None = None
    ) -> bool:
        """So many sweeps are done, perhaps a stage with them; True once the watcher would stop."""
        event = Event(self.restart, sweeps, self.max_sweeps, stage, membership)
        self.stopped = bool(self.watch(event)) or self.stopped
        return self.stopped

    def record(self, stage: Stage, membership: Callable[[], Array]) -> bool:
        """A stage has ended; True once the watcher would stop."""
        self.history.append(stage)
        return self.tell(stage.sweeps, membership, stage)

    def result(
        self, H: Array, W: Array, rho: float, stop: str, iterations: int | None = None
    ) -> Factorization:
        """The factors as the fit leaves them; an iteration is a sweep by default."""
        iterations = self.sweeps if iterations is None else iterations
        error = self.history[-1].relative_error
        return Factorization(H, W, rho, self.history, self.sweeps, iterations, error, stop)


class FittedModel(Protocol):
    """What explanations, bounds, scores, pages and figures read of a fitted clusterer.

    A model may also have `cluster_ids_`, `names_given_`, `names_found_`, `feature_names_in_`,
    and `n_missing_`.
    """

    labels_: Any
    cluster_centers_: Any
    relative_error_: float
    n_iter_: int
    history_: Any

    def predict(self, X: Any) -> Any: ...
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


def cluster_ids(model: FittedModel) -> list[Any]:
    """The ids of the clusters: 0, 1, ... unless the model keeps those of an earlier one."""
    return np.asarray(getattr(model, "cluster_ids_", range(len(model.cluster_centers_)))).tolist()


def known_names(model: FittedModel) -> dict[int, str]:
    """Names of clusters that are still there, by id: those given, else those found."""
    ids = cluster_ids(model)
    pairs = (*getattr(model, "names_found_", ()), *getattr(model, "names_given_", ()))
    return {i: name for i, name in pairs if i in ids}


def known_feature_names(
    model: FittedModel, given: Sequence[Any] | None = None
) -> Sequence[Any] | None:
    """The names that were given, else those that X had in `fit`, else None."""
    return getattr(model, "feature_names_in_", None) if given is None else given


def html_table(header: Iterable[Any], rows: Iterable[Iterable[Any]], caption: str = "") -> str:
    """A table for a notebook, every text escaped."""
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{said}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def gram_orthogonality(gram: Array) -> float:
    """eps_orth = ||Q H'H Q - I||_F / k^2, Q making the columns of H unit vectors.

    An empty cluster, a column of zeros, leaves a zero on the diagonal of Q H'H Q: the paper's
    stopping rule is then out of reach, and its iteration counts show that it was so for its
    authors too.
    """
    size = np.sqrt(gram.diagonal().astype(np.float64))
    safe = divisor(size)
    off = gram / np.outer(safe, safe)
    np.fill_diagonal(off, size == 0)
    return float(np.linalg.norm(off)) / len(gram) ** 2


def error_from_sums(sqnorm: float, gram: Array, cross: Array, W: Array) -> float:
    """||X - HW||^2 / ||X||^2 from summaries: ||X||^2 - 2 <H'X, W> + <H'H, WW'>.

    Digits are lost near an exact fit (down to about 1e-15, 1e-7 in single precision), hence the
    floor; nothing stops by this number there.
    """
    W = W.astype(np.float64, copy=False)
    error = sqnorm - 2 * np.vdot(cross, W) + np.vdot(gram, W @ W.T)
    return max(float(error) / sqnorm, 0.0)


def stage_from_sums(data: Data, W: Array, gram: Array, cross: Array, **known: Any) -> Stage:
    """The measures of the paper, from W, H'H and H'X; the rest of the stage is `known`."""
    return Stage(
        relative_error=error_from_sums(data.sqnorm, gram, cross, W),
        orthogonality=gram_orthogonality(gram),
        empty_clusters=int(np.sum(gram.diagonal() == 0)),
        sent=data.traffic.sent,
        received=data.traffic.received,
        **known,
    )
