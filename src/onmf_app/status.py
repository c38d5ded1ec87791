"""`onmf status`."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from onmf.io import replace_files
from onmf.io.table import listing
from onmf.io.terms import Terms, batches_counted
from onmf.losses import LOSSES
from onmf_app.console import say
from onmf_app.runs.changes import named
from onmf_app.runs.metrics import metrics_text
from onmf_app.runs.records import RUN, STREAM_FILE
from onmf_app.runs.stream_batches import heavy_words
from onmf_app.runs.streams import StreamRun

LAST_BATCHES = 10  # in the text; --json has all


@click.command("status")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the status as JSON.")
@click.option(
    "--metrics",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the figures to this file, as Prometheus reads them.",
)
def run_status(folder: Path, as_json: bool, metrics: Path | None) -> None:
    """Show the batches, clusters and model of a run.

    FOLDER is the output folder of `onmf cluster`, whether `onmf update` continued it or not.

    \b
    Examples:
      onmf status result
      onmf status result --json
    """
    run = StreamRun.of(folder)
    facts = status(run)
    if metrics is not None:
        replace_files(metrics.parent, {metrics.name: metrics_text(run)})
    say(json.dumps(facts, indent=2) if as_json else sentences(facts, run.terms))


def status(run: StreamRun) -> dict[str, Any]:
    """The stream, its batches, clusters and model, as JSON."""
    place = run.folder / STREAM_FILE
    changed = (place if place.exists() else run.folder / RUN).stat().st_mtime
    words, sizes, names = heavy_words(run.model), run.sizes(), run.model.cluster_names_
    batches = [
        {
            "name": entry["name"],
            "samples": changes.samples,
            "born": list(changes.born),
            "closed": list(changes.closed),
            "strangers": changes.strangers,
            "turned": max(changes.turned.values(), default=0.0),
            "alerts": list(changes.alerts),
        }
        for entry, changes in zip(run.batches, run.every_change(), strict=True)
    ]
    model = run.model
    return {
        "folder": str(run.folder),
        "last_update": datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds"),
        "model": {
            "class": type(model).__name__,
            "loss": model.loss,
            "features": int(model.n_features_in_),
            "steps": [step.name for step in getattr(model, "preprocessing_", ())],
            "versions": run.record.get("versions", {}),
        },
        **run.totals(),
        "clusters": [
            {"id": i, "name": names[i], "samples": sizes[i], "features": words.get(i, [])}
            for i in sizes
        ],
        "batches": batches,
        "can_undo": sum(run.state_file(number).exists() for number in range(len(batches))),
    }


def sentences(facts: dict[str, Any], terms: Terms) -> str:
    """The status for people."""
    model, batches = facts["model"], facts["batches"]
    steps = f", prepared by {listing(model['steps'])}" if model["steps"] else ""
    lines = [
        f"{terms.counted(facts['samples'], 'sample')} in {batches_counted(len(batches))}, "
        f"{terms.counted(len(facts['clusters']), 'cluster')}; {facts['waiting']} {terms.samples} "
        f"wait. Last update: {facts['last_update']}.",
        f"Model: {model['class']}, {terms.counted(model['features'], 'feature')}, "
        f"{LOSSES[model['loss']].words.loss}{steps}.",
        f"{terms.clusters.capitalize()}:",
        *(
            f"  {one['id']} {one['name']}: {terms.counted(one['samples'], 'sample')}"
            for one in facts["clusters"]
        ),
        "Batches:" if len(batches) <= LAST_BATCHES else f"The last {LAST_BATCHES} batches:",
    ]
    for one in batches[-LAST_BATCHES:]:
        changed = [f"{named(one[word])} {word}" for word in ("born", "closed") if one[word]]
        if one["turned"]:
            changed.append(f"clusters turned by at most {one['turned']:.1f} degrees")
        changed += [f"{one['strangers']} fit no cluster"] if one["strangers"] else []
        own = f"{one['name']}: {terms.counted(one['samples'], 'sample')}"
        lines.append(f"  {', '.join([own, *map(terms.say, changed)])}")
        lines += [f"    {terms.say(alert)}" for alert in one["alerts"]]
    return "\n".join(lines)
