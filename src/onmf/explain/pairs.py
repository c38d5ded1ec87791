"""Names of clusters of texts: their distinctive words, or the pairs in which these words stand.

    n_w  = texts of the cluster with the word w,    n_p = those with the pair p = (v, w) or (w, v)
    shown for w:  the p with the largest n_p, if n_p > n_w / 2,  else w

"minister" becomes "prime minister" where most texts of the cluster that have the one have the
other. Two neighbours are a pair if nothing but other signs is between them, and both are among the
distinctive words of the cluster.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from onmf.explain.markers import FEATURES_PER_NAME, Markers, short_names
from onmf.rows.sweep import Array

PAIRED_WORDS = 20  # distinctive words of a cluster that may stand in a pair


def names_by_pairs(markers: Markers, labels: Array, texts: Iterable[Sequence[str]]) -> list[str]:
    """The name of each cluster from the words of its texts, each a sequence of words in order."""
    top = markers.top(PAIRED_WORDS)
    known = [{*words} for words in top]
    words: list[Counter[str]] = [Counter() for _ in top]
    pairs: list[Counter[tuple[str, str]]] = [Counter() for _ in top]
    for k, text in zip(labels.tolist(), texts, strict=True):
        if k >= 0:
            own = [word if word in known[k] else "" for word in text]
            words[k].update({*own})
            pairs[k].update({(a, b) for a, b in pairwise(own) if a and b and a != b})
    shown = [_in_pairs(*counts) for counts in zip(top, words, pairs, strict=True)]
    return short_names([terms[: FEATURES_PER_NAME + 1] for terms in shown])


def _in_pairs(
    top: Sequence[str], words: Counter[str], pairs: Counter[tuple[str, str]]
) -> list[str]:
    """The words, best first, those that mostly stand in a pair as this pair; each word once."""
    shown: list[str] = []
    said: set[str] = set()
    for word in top:
        if not said.isdisjoint(word.split()):
            continue
        best = max((p for p in pairs if word in p), key=lambda p: (pairs[p], p), default=None)
        usual = best is not None and 2 * pairs[best] > words[word] and said.isdisjoint(best)
        shown.append(" ".join(best) if best is not None and usual else word)
        said.update(best if best is not None and usual else word.split())
    return shown
