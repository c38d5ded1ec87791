"""Lower bounds of the error of any clustering: how far a fit can be from the best one."""

from onmf.bounds.certificate import Certificate, certify

__all__ = ["Certificate", "certify"]
