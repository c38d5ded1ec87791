"""Clusters for every K, the largest first: each K from one more, by the merger that loses least.

A line begins with many small clusters, at least 1.5 times the largest K it is for, and shrinks by a
quarter at a time down to 20, then one by one. A K in between is on a branch of its own. So all K
together cost little more than a fit with the largest, and what is found for K does not depend on
which other K are asked for. Where K is small, mergers find better clusters than splits: halves of
the digits agree to .99 at K = 2, and to .45 if two clusters are found by splitting one.
"""

from typing import Any

BEGIN, LAST = 60, 40  # clusters at the beginning of a line, and the largest K it is for; or doubles
ONE_BY_ONE = 20  # K from which on no K is left out
SHRINK = 0.75


def beginning(last: int, n_rows: int) -> int:
    """How many clusters a line for K up to `last` begins with."""
    return min(BEGIN * max(1, -(-last // LAST)), n_rows)


def line(now: Any, first: int, last: int) -> dict[int, Any]:
    """The clusterings for the K from first to last whose clusters are distinct.

    A clustering has `k`, tells whether its clusters are `distinct`, and is `merged(count)`.
    """
    found = {}
    while now.k >= first:
        below = now.k - 1 if now.k <= ONE_BY_ONE else max(ONE_BY_ONE, int(SHRINK * now.k))
        branch = now
        for k in range(now.k if below < last else 0, max(below, first - 1), -1):
            branch = branch if k == now.k else branch.merged(1)
            if k <= last and branch.distinct:
                found[k] = branch
        if below < first:
            break
        now = now.merged(now.k - below)
    return found
