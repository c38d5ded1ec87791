"""The rivals: other ways to the same clusters, all behind one signature.

    method(data, start, *, tol, max_iter, watch) -> Factorization

`start` is shared by all methods and read-only; each takes from it what it needs. The defaults of
`tol` and `max_iter` are those of the paper's comparison.
"""

from onmf.baselines.alternation import alternation
from onmf.baselines.dtpp import dtpp
from onmf.baselines.hals import hals
from onmf.baselines.iterate import Method, Start, shared_draws, single_codes
from onmf.baselines.k_means import Means, k_means
from onmf.baselines.k_means_plus_plus import k_means_plus_plus
from onmf.baselines.nmf import nmf
from onmf.baselines.onmf_s import onmf_s
from onmf.baselines.onp_mf import onp_mf

__all__ = ["METHODS", "Means", "Start", "shared_draws", "single_codes"]

METHODS: dict[str, Method] = {
    "dtpp": dtpp,
    "onmf-s": onmf_s,
    "hals": hals,
    "onp-mf": onp_mf,
    "k-means": k_means,
    "k-means++": k_means_plus_plus,
    "alternation": alternation,
    "nmf": nmf,
}
