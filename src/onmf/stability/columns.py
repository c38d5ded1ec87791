"""Some features of the rows in memory: cut out of each block as it is read, never copied whole."""

from collections.abc import Sequence
from typing import Any

from onmf.core.memory import InMemory
from onmf.core.rows import Array, Block, Matrix


class Columns(InMemory):
    """The rows of X with these features alone."""

    def __init__(self, X: Matrix, columns: Array, n_threads: int = 1) -> None:
        self.columns = columns
        super().__init__(X, n_threads=n_threads)
        self.shape = X.shape[0], len(columns)

    def _blocks(self) -> Sequence[Block]:
        return _CutBlocks(super()._blocks(), self.columns)

    def take(self, numbers: Array) -> Block:
        X, weight = super().take(numbers)
        return Block(X[:, self.columns], weight)


class _CutBlocks(Sequence[Block]):
    """Blocks of which some columns are cut out when they are asked for."""

    def __init__(self, whole: Sequence[Block], columns: Array) -> None:
        self.whole, self.columns = whole, columns

    def __len__(self) -> int:
        return len(self.whole)

    def __getitem__(self, b: Any) -> Any:
        X, weight = self.whole[b]
        return Block(X[:, self.columns], weight)
