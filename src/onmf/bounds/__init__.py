"""How far from the best possible clustering one can be: bounds that hold for all of them."""

from onmf.bounds.certificate import Certificate, certify

__all__ = ["Certificate", "certify"]
