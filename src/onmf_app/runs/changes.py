"""What a batch changed in a stream, and what of it somebody should look at."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from onmf.explain.trust import in_words

MAX_TURN = 5.0  # degrees: a cluster that turns further in one batch is reported
MAX_STRANGERS = 0.1  # share of a batch
DEVIATIONS = 3  # standard deviations above the usual number of strangers


class Changes(NamedTuple):
    """Of one batch: samples, ids of clusters, and the sentences to report.

    strangers : samples that fit no cluster, and wait.
    turned : degrees by which each cluster turned that was there before, by id.
    alerts : clusters that turned far, and many strangers.
    """

    samples: int
    born: tuple[int, ...]
    closed: tuple[int, ...]
    strangers: int
    zeros: int
    turned: dict[int, float]
    alerts: tuple[str, ...]

    @classmethod
    def of(cls, entry: Mapping[str, Any], before: Sequence[Mapping[str, Any]] = ()) -> Self:
        """From the entry of a batch, and those of the batches before it."""
        pairs = zip(entry.get("ids", ()), entry.get("drift", ()), strict=True)
        turned = {i: angle for i, angle in pairs if angle is not None}
        n, strangers = entry["samples"], entry.get("strangers", 0)
        known = sum(one["samples"] for one in before)
        usual = sum(one["strangers"] for one in before) / max(known, 1)
        many = usual * n + DEVIATIONS * math.sqrt(n * usual * (1 - usual))
        alerts = far_turns({i: angle for i, angle in turned.items() if angle > MAX_TURN})
        if strangers > max(many, MAX_STRANGERS * n):
            alerts.append(f"{strangers} of {n} samples fit no cluster, and wait.")
        return cls(
            samples=n,
            born=tuple(entry.get("born", ())),
            closed=tuple(entry.get("vanished", ())),
            strangers=strangers,
            zeros=entry.get("zeros", 0),
            turned=turned,
            alerts=tuple(alerts),
        )

    def sentence(self) -> str:
        """Which clusters came and went, and how far the others turned."""
        came = [f"{named(self.born)} born"] if self.born else []
        went = [f"{named(self.closed)} closed"] if self.closed else []
        most = max(self.turned.values(), default=0.0)
        turned = [f"clusters turned by at most {most:.1f} degrees"] if most else []
        return ", ".join([*(came + went or ["no cluster born or closed"]), *turned])

    def notes(self) -> list[str]:
        """What to print besides."""
        if not self.zeros:
            return [*self.alerts]
        return [f"{self.zeros} of {self.samples} samples are all zero: they are in no cluster "
                "and change nothing.", *self.alerts]  # fmt: skip


def named(ids: Sequence[int]) -> str:
    """Cluster 4; clusters 4 and 7."""
    return f"cluster{'s' if len(ids) > 1 else ''} {in_words(ids)}"


def far_turns(degrees: Mapping[int, float]) -> list[str]:
    """One sentence on the clusters that turned far, or none."""
    if len(degrees) < 2:
        return [f"{named([i])} turned by {angle:.1f} degrees." for i, angle in degrees.items()]
    low, high = min(degrees.values()), max(degrees.values())
    return [f"{named([*degrees])} turned by {low:.1f} to {high:.1f} degrees."]
