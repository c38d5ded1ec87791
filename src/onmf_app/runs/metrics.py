"""The figures of a stream in the text format that Prometheus reads."""

from collections.abc import Iterable
from typing import Any

from onmf_app.runs.streams import StreamRun

LABEL_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def metrics_text(run: StreamRun) -> str:
    """Gauges with HELP and TYPE; clusters and the folder are labels."""
    changes, totals = run.changes(), run.totals()
    folder = run.folder.resolve().name
    lines = [
        *gauge("onmf_batches", "Batches counted.", [({}, totals["batches"])], folder),
        *gauge("onmf_samples", "Samples counted.", [({}, totals["samples"])], folder),
        *gauge("onmf_clusters", "Clusters.", [({}, len(totals["clusters"]))], folder),
        *gauge("onmf_waiting_samples", "Samples that fit no cluster, and wait.",
               [({}, totals["waiting"])], folder),
        *gauge("onmf_batch_samples", "Samples of the last batch.", [({}, changes.samples)], folder),
        *gauge("onmf_batch_strangers", "Samples of the last batch that fit no cluster.",
               [({}, changes.strangers)], folder),
        *gauge("onmf_batch_born", "Clusters born in the last batch.",
               [({}, len(changes.born))], folder),
        *gauge("onmf_batch_closed", "Clusters closed in the last batch.",
               [({}, len(changes.closed))], folder),
        *gauge("onmf_cluster_samples", "Samples of each cluster.",
               [({"cluster": i}, n) for i, n in run.sizes().items()], folder),
        *gauge("onmf_cluster_turned_degrees", "Turn of each cluster by the last batch.",
               [({"cluster": i}, angle) for i, angle in changes.turned.items()], folder),
    ]  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


def gauge(
    name: str, about: str, values: list[tuple[dict[str, Any], float]], folder: str
) -> Iterable[str]:
    """The lines of a metric."""
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} gauge"
    for labels, value in values:
        pairs = {"run": folder} | labels
        inside = ",".join(f'{key}="{str(v).translate(LABEL_ESCAPES)}"' for key, v in pairs.items())
        yield f"{name}{{{inside}}} {value}"
