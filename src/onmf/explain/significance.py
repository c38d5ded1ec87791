"""Which features are significant, for groups that are known and for clusters that were found.

Clusters that were found from features differ in them, real or not. A feature of a cluster is called
only if there is a gap between the cluster and its nearest neighbour, which parts of one cloud do
not have (`separation`); then it is tested on clusters that were found without it (`halves`):

    p = max( p of the gap,  p of the feature ),

the feature being that of all clusters of its group, between which there is no gap. Where there are
gaps, it is clear which samples are in which cluster, and correlations of the features within
clusters make p-values depend on each other, but not smaller.
"""

from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
from scipy.stats import false_discovery_control

from onmf.explain.comparison import p_of_groups
from onmf.explain.separation import Separation
from onmf.explain.sums import GroupSums
from onmf.rows.sweep import Array


class Significance(NamedTuple):
    """p-values of features, and of clusters if they were found from the features.

    p_value, p_adjusted : (k, m); the second after Benjamini and Hochberg, for each cluster.
    p_neighbour : the same as the second, against the nearest cluster (k, m); or None.
    separation : whether neighbours are parts of one cloud; or None.
    """

    p_value: Array
    p_adjusted: Array
    p_neighbour: Array | None = None
    separation: Separation | None = None

    @classmethod
    def of_known_groups(cls, sums: GroupSums) -> Self:
        """For groups that are known without the features."""
        p = p_of_groups(sums, sums.others())
        return cls(p, adjust(p))

    @classmethod
    def of_clusters(cls, parts: Iterable[tuple[Array, GroupSums]], found: Separation) -> Self:
        """For clusters: parts of the features by number, each with the sums that test it.

        A cluster that is no cloud of its own is tested with all clusters of its group, and no
        feature has a smaller p-value than the gap next to it.
        """
        parts = list(parts)
        m = sum(len(features) for features, _ in parts)
        p, beside = (np.ones((len(found.group), m)) for _ in range(2))
        neighbour = np.where(found.neighbour < 0, np.arange(len(p)), found.neighbour)
        for features, sums in parts:
            group = sums.joined(found.group)
            p[:, features] = p_of_groups(group, sums.others(group))
            beside[:, features] = p_of_groups(sums, sums.of_clusters(neighbour))
        apart, gap = found.p_group[:, None], found.p_one_cloud[:, None]
        return cls(
            np.maximum(p, apart),
            np.maximum(adjust(p), apart),
            np.maximum(adjust(beside), gap),
            found,
        )


def adjust(p: Array) -> Array:
    """Adjusted after Benjamini and Hochberg, for the features of each cluster."""
    return np.asarray(false_discovery_control(p, axis=1))
