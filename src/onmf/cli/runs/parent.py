"""The run that another goes on from: its model, how it was read, and where its samples were."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from onmf.cli.runs.inputs import Input
from onmf.cli.runs.records import MODEL, RUN, is_of_run, not_a_record, read_record, stored_column
from onmf.io import checksum, to_json_values
from onmf.io.cells import unguard_cell
from onmf.io.remote import AnyFile
from onmf.streams.lineage import Lineage

READING = ("labels", "layer", "decimal", "thousands", "drop", "duplicates", "transpose",
           "text_column", "id_column", "time")  # fmt: skip
SETTINGS = (
    "penalty",
    "solver",
    "center_bounds",
    "equal_votes",
    "outliers",
    "loss",
)  # that a run takes over


@dataclass(frozen=True)
class Parent:
    """A finished run, as one that goes on from it needs it."""

    folder: Path
    record: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Self:
        record = read_record(folder)
        if not is_of_run(folder, MODEL, record):
            raise ValueError(
                f"{folder / MODEL} is not the model of {RUN} beside it: run onmf cluster again."
            )
        return cls(folder, record)

    @property
    def model(self) -> str:
        """Where its model is."""
        return str(self.folder / MODEL)

    def source(self, path: AnyFile, given: dict[str, Any], follow_links: bool) -> Input:
        """Another input, read and prepared as the parent's was but for what is `given`."""
        try:
            recorded = Input.recall(self.record["source"], self.folder)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise not_a_record(self.folder / RUN, error) from error
        own = {"labels": None} if Path(recorded.labels or ".").is_file() else {}
        return replace(recorded, path=path, follow_links=follow_links, **own | given)

    def settings(self) -> dict[str, Any]:
        """Parameters of the model that are to be the same."""
        known = self.record.get("parameters", {})
        kept = {name: known[name] for name in SETTINGS if known.get(name) is not None}
        return {name: tuple(v) if isinstance(v, list) else v for name, v in kept.items()}

    def chain(
        self,
        lineage: Lineage | None,
        digest: str,
        samples: Sequence[str],
        ids: Sequence[int],
    ) -> list[dict[str, Any]]:
        """The lineage of all runs up to this one: its input has the digest, its samples the ids.

        Told are also the sizes of the clusters before, and how many samples went from which of them
        to which, by the names of the samples.
        """
        names = stored_column(self.folder, "sample", unguard_cell)
        before = dict(zip(names, stored_column(self.folder, "cluster", int), strict=True))
        pairs = zip(samples, ids, strict=True)
        moves = Counter((before[name], now) for name, now in pairs if name in before)
        entry = {
            "input": digest,
            "model": checksum(Path(self.model)),
            **(lineage._asdict() if lineage else {}),
            "before": Counter(cluster for cluster in before.values() if cluster >= 0),
            "moves": sorted([old, new, n] for (old, new), n in moves.items()),
        }
        return [*self.record.get("lineage", []), to_json_values(entry)]
