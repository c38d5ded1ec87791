"""What a step of preparation is, and how the command offers it."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self


class StepOption(NamedTuple):
    """An option of the command that chooses a step, or sets a parameter of its `fit`.

    flag : "--min-df".
    help : one sentence.
    parameter : of `fit`; empty for an option that only chooses the step.
    value : of the parameter, for an option without a word after it.
    parse : from the word after the option to a value; ValueError if it is wrong.
    default : that word, if the option is not given.
    metavar : the word in `--help`.
    choices : words of an option that may be repeated, instead of `parse`.
    """

    flag: str
    help: str
    parameter: str = ""
    value: Any = True
    parse: Callable[[str], Any] | None = None
    default: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()


class Step:
    """What a step has; a step is a frozen dataclass whose fields `fit` learns from data."""

    name: ClassVar[str]
    of_texts: ClassVar[bool] = False  # whether it is applied to texts instead of numbers
    loss: ClassVar[str] = "frobenius"  # that suits the data after this step
    options: ClassVar[tuple[StepOption, ...]]
    said: ClassVar[str] = "texts were turned into counts of words"  # with fields of the step

    @classmethod
    def fit(cls, X: Any) -> Self:
        """The step for these data; more parameters are those of `options`."""
        return cls()

    def __call__(self, X: Any) -> Any:
        """The data after this step."""
        raise NotImplementedError

    def sentence(self) -> str:
        """What was done, for the methods of a paper."""
        return self.said.format(self)

    @property
    def units(self) -> Any:
        """What its output is multiplied by to be in the units of its input, by feature."""
        return 1.0

    def check(self, n_features: int) -> None:
        """ValueError if the step cannot precede a model with so many features."""
