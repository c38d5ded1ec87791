"""How often each method finds the three clusters from three centroids in one of them.

The claim of the supplement holds in a setting where K-means finds them in at most a tenth of the
draws, SNCP and NSNCP in at least nine tenths.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from onmf_paper.data_sets import load_data_set
from onmf_paper.ledger import Row
from onmf_paper.methods import FAITHFUL, NAMES
from onmf_paper.trials import changed_parameters
from onmf_paper.unlucky import DRAWS, SETTINGS, Setting, are_found
from onmf_paper.verdicts import UNFINISHED, Verdict

COMPARED = ("k-means", *FAITHFUL)
SELDOM, NEARLY_ALWAYS = 0.1, 0.9


class Tally(NamedTuple):
    """In how many draws each of `COMPARED` finds the clusters; in all `n` of them it was run."""

    setting: Setting
    n: int
    found: dict[str, int]

    def holds(self) -> bool:
        """Whether the supplement's claim does."""
        k_means, *penalties = (self.found[method] / self.n for method in COMPARED)
        return k_means <= SELDOM and min(penalties) >= NEARLY_ALWAYS


def tally_settings(rows: Iterable[Row]) -> list[Tally]:
    """The settings that all of `COMPARED` have been run in, in their order."""
    found = {
        trial_key(row.trial["data"], row.trial["method"], changed_parameters(row.trial)): are_found(
            load_data_set(row.trial["data"]).y, row.labels
        )
        for row in rows
        if row.labels is not None
    }
    tallies = []
    for setting in SETTINGS:
        changes = dict.fromkeys(FAITHFUL, setting.solver_changes)
        keys = {
            method: [trial_key(f"{setting.data} {d}", method, changes.get(method)) for d in DRAWS]
            for method in COMPARED
        }
        if all(key in found for some in keys.values() for key in some):
            counts = {method: sum(map(found.__getitem__, some)) for method, some in keys.items()}
            tallies.append(Tally(setting, len(DRAWS), counts))
    return tallies


def trial_key(data: str, method: str, changes: dict[str, Any] | None) -> Any:
    return data, method, frozenset((changes or {}).items())


def judge_settings(tallies: list[Tally]) -> Verdict | None:
    """In how many settings the claim holds, and what happens in the first, the paper's own."""
    if not tallies:
        return None
    n = len(tallies)
    holds = [tally for tally in tallies if tally.holds()]
    ahead = {m: sum(t.found[m] > t.found["k-means"] for t in tallies) for m in FAITHFUL}
    often = {m: sum(t.found[m] > t.n / 2 for t in tallies) for m in FAITHFUL}
    both = sum(min(t.found[m] for m in FAITHFUL) > t.n / 2 > t.found["k-means"] for t in tallies)
    why = f"With what the text gives ({describe_tally(tallies[0])}). In {n} settings: "
    why += "; ".join(
        f"{NAMES[m]} finds the clusters more often than K-means in {ahead[m]}, in most draws in "
        f"{often[m]}"
        for m in FAITHFUL
    )
    why += f"; both in most draws and K-means in few in {both}. The claim (K-means in at most "
    why += f"{SELDOM:.0%} of the draws, both others in at least {NEARLY_ALWAYS:.0%}) holds in "
    why += f"{len(holds)}" + "".join(f"; {describe_tally(tally)}" for tally in holds) + "."
    if n < len(SETTINGS):
        return Verdict(UNFINISHED, why)
    return Verdict(f"Holds in {len(holds)} of {n} settings", why)


def describe_tally(tally: Tally) -> str:
    counts = ", ".join(f"{NAMES[method]} {tally.found[method]}" for method in COMPARED)
    return f"{tally.setting}: {counts} of {tally.n} draws"
