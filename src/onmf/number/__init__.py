"""How many clusters, and can they be believed?"""

from onmf.number.choice import KChoice, KRow, Scale
from onmf.number.choose import choose_k

__all__ = ["KChoice", "KRow", "Scale", "choose_k"]
