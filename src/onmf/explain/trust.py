"""What each cluster is worth, in a row and in words: is it found again, and is it separate?"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from onmf.explain.separation import LEVEL

TRUSTED = 0.5  # found again: below it a cluster has dissolved (Hennig 2007)


class ClusterRow(NamedTuple):
    """One cluster, and how much it can be trusted.

    Attributes
    ----------
    cluster : int
        Its id.
    name : str
    samples : int
    certainty : float
        Mean of its samples.
    found_again : float
        Its overlap (Jaccard) with the most similar cluster of half of the samples, mean of both
        halves.
    neighbour : int or None
        The id of the nearest cluster.
    p_one_cloud : float
        p-value of the hypothesis that it and its neighbour are parts of one cloud.
    one_cloud_with : str
        Ids of the clusters to which no gap was found.
    note : str
        In words what speaks against it, or nothing.

    Examples
    --------
    >>> from onmf import ONMF
    >>> from onmf.datasets import make_rays
    >>> X, _ = make_rays(200, 30, 3, random_state=0)
    >>> rows = ONMF(3, random_state=0).fit(X).explain(X).clusters()
    >>> [row.found_again for row in rows]
    [1.0, 1.0, 1.0]
    """

    cluster: Any
    name: str
    samples: int
    certainty: float
    found_again: float
    neighbour: Any
    p_one_cloud: float
    one_cloud_with: str
    note: str

    def sentences(self) -> list[str]:
        """The two figures in words."""
        return [again_sentence(self.found_again), self.gap_sentence()]

    def gap_sentence(self) -> str:
        p = f"p = {self.p_one_cloud:.2g}"
        if self.p_one_cloud <= LEVEL:
            return f"A gap to cluster {self.neighbour} ({p})"
        return f"No gap to cluster {self.neighbour} ({p}): they may be parts of one cloud"


def again_sentence(share: float) -> str:
    """How much of a cluster was found again, and whether that is too little."""
    percent = f"{100 * share:.0f} % of it found again in halves of the samples"
    return percent if share >= TRUSTED else f"Only {percent}: do not rely on it"


def in_words(ids: Sequence[Any]) -> str:
    """1, 2 and 5."""
    *most, last = map(str, ids)
    return f"{', '.join(most)} and {last}" if most else last


def note_of(found_again: float, one_cloud_with: list[Any]) -> str:
    """What speaks against a cluster."""
    said = [] if found_again >= TRUSTED else [again_sentence(found_again)]
    if one_cloud_with:
        several = "clusters" if len(one_cloud_with) > 1 else "cluster"
        said.append(
            f"No gap to {several} {in_words(one_cloud_with)}: they may be parts of one cloud"
        )
    return ". ".join(said)
