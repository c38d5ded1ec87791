"""What each cluster is worth, in a row and in words: is it found again, and is it separate?"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from onmf.explain.separation import LEVEL

MOST_LISTED = 5  # clusters named in a sentence
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
    enough_samples : bool
        Whether such a gap could have been seen. False if too little of what the clusters differ by
        in half of the samples is there in the other half.
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
    enough_samples: bool
    note: str

    def sentences(self) -> list[str]:
        """The two figures in words."""
        return [again_sentence(self.found_again), self.gap_sentence()]

    def gap_sentence(self) -> str:
        beside = f"to cluster {self.neighbour} (p = {self.p_one_cloud:.2g})"
        return (
            f"A gap {beside}" if self.p_one_cloud <= LEVEL else no_gap(beside, self.enough_samples)
        )


def again_sentence(share: float) -> str:
    """How much of a cluster was found again, and whether that is too little."""
    percent = f"{100 * share:.0f} % of it found again in halves of the samples"
    return percent if share >= TRUSTED else f"Only {percent}: do not rely on it"


def in_words(ids: Sequence[Any]) -> str:
    """1, 2 and 5; of many 1, 2, 3 and 16 others."""
    if len(ids) > MOST_LISTED + 1:
        return f"{', '.join(map(str, ids[:MOST_LISTED]))} and {len(ids) - MOST_LISTED} others"
    *most, last = map(str, ids)
    return f"{', '.join(most)} and {last}" if most else last


def no_gap(between: str, enough_samples: bool) -> str:
    """That no gap was found `between` some clusters, and what it means."""
    if not enough_samples:
        return f"Samples too few or too noisy to tell whether there is a gap {between}"
    return f"No gap {between}: they may be parts of one cloud"


def note_of(found_again: float, one_cloud_with: list[Any], enough_samples: bool) -> str:
    """What speaks against a cluster."""
    said = [] if found_again >= TRUSTED else [again_sentence(found_again)]
    if one_cloud_with:
        several = "clusters" if len(one_cloud_with) > 1 else "cluster"
        said.append(no_gap(f"to {several} {in_words(one_cloud_with)}", enough_samples))
    return ". ".join(said)
