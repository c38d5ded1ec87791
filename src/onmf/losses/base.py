"""What a loss must know. Everything that depends on the loss asks this object.

    min over W and H with one non-zero entry per row of  sum_i d_i loss(x_i, h_i W)

`Squares` and `KullbackLeibler` are the examples; `LOSSES` of the package has them by name. The
contract tests of ``tests/losses/test_contract.py`` run over that registry.
"""

from typing import NamedTuple, Protocol

import numpy as np

from onmf.losses.alternation import Alternation
from onmf.losses.quick_fit import Look
from onmf.rows.assign import Assignment
from onmf.rows.sweep import Array, Block, Data, Matrix, Move
from onmf.search.starts import Settings


class Words(NamedTuple):
    """What to call things, in messages and on pages."""

    error: str  # of a fit: "relative error"
    loss: str  # what is minimised: "squared error"


class Loss(Protocol):
    """A loss. It has no parameters: its instances are constants."""

    @property
    def name(self) -> str: ...
    @property
    def words(self) -> Words: ...
    @property
    def supports(self) -> frozenset[str]:
        """The features of `losses.support.FEATURES` that it can do."""

    @property
    def degree(self) -> int:
        """The loss of cX is c^degree times that of X."""

    @property
    def min_sweeps(self) -> int:
        """The lowest `max_iter`: reads of X before the alternation, and one for it."""

    def assignment(self, W: Array, n_missing: int = 0) -> Assignment:
        """What gives a sample to one of the centroids W: labels, scores, memberships, margins."""

    def value(self, X: Matrix, H: Array, W: Array) -> float:
        """The loss of X beside HW, H having at most one non-zero entry per row."""

    def alternation(self, data: Data, settings: Settings) -> Alternation:
        """What a fit repeats, and how it finds its starts."""

    def typical_samples(self, W: Array, weight: Array) -> Array:
        """The row for each centroid (k, m) that, with its weight, stands for all its samples."""

    def joint_centroids(self, rows: Array, weight: Array, cluster: Array, k: int) -> Array:
        """The best centroids (k, m) of such rows, each in one of k clusters."""

    def sums(self, X: Matrix, weight: Array, rays: Array, W: Array) -> Array:
        """What samples of the rays with these numbers (-1 for none) add to each of W (k, m)."""

    def centroids_of_sums(self, S: Array, weight: Array, W: Array) -> Array:
        """The centroids of rays with these sums and weights; W where there are none."""

    def sampling_weight(self, X: Matrix) -> Array:
        """What a sample of a block counts for (b,); 0 for a sample of zeros."""

    def measure(self) -> Move | None:
        """A move whose totals `Alternation.moved_to` needs; None if it needs none."""

    def view(self, data: Data) -> Data:
        """The rows in which cosines compare samples as this loss does."""

    def quick_look(self, seen: Block, k: int, rng: np.random.Generator) -> Look:
        """K rays of some rows of the view, by a short search of this loss."""

    def view_rows(self, X: Matrix) -> Matrix:
        """The same for some rows, or centroids, in which lengths do not count."""
