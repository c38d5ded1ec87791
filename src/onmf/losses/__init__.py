"""What is minimised: losses by name, with their assignments and alternations."""

from onmf.losses.base import Loss, Words
from onmf.losses.kl import KullbackLeibler
from onmf.losses.squares import Squares

__all__ = ["LOSSES", "KullbackLeibler", "Loss", "Squares", "Words", "loss_of"]

LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Squares(), KullbackLeibler())}


def loss_of(model: object) -> Loss:
    """The loss of an estimator; squares for those that do not name one."""
    return LOSSES[getattr(model, "loss", "frobenius")]
