"""How many clusters, and can they be believed? For `ONMF` and for any scikit-learn clusterer."""

from onmf.number.agreement import Consensus
from onmf.number.choice import KChoice, KRow, Scale
from onmf.number.choose import choose_k, consensus

__all__ = ["Consensus", "KChoice", "KRow", "Scale", "choose_k", "consensus"]
