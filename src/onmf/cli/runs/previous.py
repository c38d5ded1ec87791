"""The run that `--like` continues: its model, its input and its lineage."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from onmf.cli.runs.inputs import Input
from onmf.cli.runs.records import (
    MODEL_FILE,
    check_model,
    read_record,
    read_source,
    stored_column,
)
from onmf.io import checksum, to_json_values
from onmf.io.cells import unguard_cell
from onmf.io.remote import AnyFile
from onmf.streams.lineage import Lineage

READING = ("labels", "layer", "decimal", "thousands", "drop", "duplicates", "transpose",
           "text_column", "id_column", "time")  # fmt: skip
KEPT_PARAMETERS = ("penalty", "solver", "center_bounds", "equal_votes", "outliers", "loss")


@dataclass(frozen=True)
class PreviousRun:
    """A finished run that another one continues."""

    folder: Path
    record: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Self:
        record = read_record(folder)
        check_model(folder, record)
        return cls(folder, record)

    @property
    def model(self) -> str:
        """Path of its model."""
        return str(self.folder / MODEL_FILE)

    def source(self, path: AnyFile, given: dict[str, Any], follow_links: bool) -> Input:
        """Another input, read and prepared as before except for what is `given`."""
        recorded = read_source(self.record, self.folder)
        own = {"labels": None} if Path(recorded.labels or ".").is_file() else {}
        return replace(recorded, path=path, follow_links=follow_links, **own | given)

    def settings(self) -> dict[str, Any]:
        """Parameters of its model that the next run keeps."""
        known = self.record.get("parameters", {})
        kept = {name: known[name] for name in KEPT_PARAMETERS if known.get(name) is not None}
        return {name: tuple(v) if isinstance(v, list) else v for name, v in kept.items()}

    def lineage(
        self,
        lineage: Lineage | None,
        digest: str,
        samples: Sequence[str],
        ids: Sequence[int],
    ) -> list[dict[str, Any]]:
        """The lineage up to the next run, of an input with this digest and samples in clusters.

        Each entry also has the sizes of the clusters before, and how many samples moved from which
        cluster to which, matched by the names of the samples.
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
