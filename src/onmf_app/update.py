"""`onmf update`."""

import json
from pathlib import Path
from typing import Any

import click

from onmf.io import checksum, place_for, replace_files
from onmf_app import ALREADY_COUNTED, CHANGED, OTHER_CONTENT
from onmf_app.console import note, notes, say, waiting
from onmf_app.options import FOLLOW_LINKS, INPUT, PARQUET, RAW_NAMES, reading_options
from onmf_app.predict import FILLS, read_for
from onmf_app.runs.align import align_features
from onmf_app.runs.inputs import STANDARD_INPUT, Input, cleaned
from onmf_app.runs.metrics import metrics_text
from onmf_app.runs.records import RUN
from onmf_app.runs.streams import StreamRun
from onmf_app.sections import SectionedCommand


class OtherContentError(click.ClickException):
    """A batch of this name was counted with other content."""

    exit_code = OTHER_CONTENT


@click.command("update", cls=SectionedCommand)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("input", type=INPUT, required=False)
@click.option("--batch", metavar="NAME", help="Name of the batch, instead of that of the file.")
@click.option("--replace", is_flag=True, help="Put INPUT in the place of the batch of its name.")
@click.option("--undo", is_flag=True, help="Take out the last batch.")
@click.option("--max-clusters", type=click.IntRange(1), default=1000, help="At any time.")
@click.option(
    "--missing",
    type=click.Choice(list(FILLS)),
    default="refuse",
    help="What to do if the input lacks features of the model; nan: treat them as missing.",
)
@FOLLOW_LINKS
@RAW_NAMES
@PARQUET
@click.option("--strict", is_flag=True, help="Exit with 9 if a cluster turned, or many wait.")
@click.option(
    "--metrics",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the figures of the stream to this file, as Prometheus reads them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what this call did, as JSON.")
@reading_options
def run_update(
    folder: Path,
    undo: bool,
    strict: bool,
    metrics: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Add a batch of samples to the clusters of a finished run.

    FOLDER is the output folder of `onmf cluster`, INPUT the batch, read and prepared as by `onmf
    predict`. Samples are assigned to their nearest clusters, which move towards them and keep their
    ids. Samples far from all clusters wait, and enough similar ones become a new cluster. A cluster
    without new samples for long is closed; its id is not used again.

    A batch is counted once, whatever it is called: it is recognised by its content. Another content
    under the name of a batch, that of its file or --batch, is an error, unless --replace takes the
    old batch out. That, and --undo, works for the last batch; five in a row can be taken out. If
    the command is killed, run it again. Without INPUT it only completes what a killed command left.

    Writes batches/00001.csv and so on (the cluster of each sample), stream.html (sizes and words of
    the clusters over the batches), centers.csv, top_features.csv, model.onmf, run.json and
    stream.onmf, the state.

    \b
    Examples:
      onmf update result week-32.csv
      onmf update result corrected.csv --batch week-32.csv --replace
      onmf update result --undo
      onmf update topics tuesday.csv
    """
    path = options.pop("input")
    if undo and path is not None:
        raise click.UsageError("--undo takes out the last batch: leave out INPUT.")
    with place_for(folder, [RUN], force=True):
        run, action = StreamRun.of(folder), "none"
        batch = run.batches[-1]["name"]
        if undo:
            run, action = run.undo(), "undone"
        elif path is not None:
            run, action, batch = take_batch(run, path, **options)
        with waiting("Writing the files"):
            if len(run.batches) > 1:
                run.write()
            if len(run.batches) > 1 or undo:
                run.remove_old_files()
        if metrics is not None:
            replace_files(metrics.parent, {metrics.name: metrics_text(run)})
    changes, added = run.changes(), action in ("added", "replaced")
    if added:
        note(batch, changes.notes(), run.terms)
    said = {
        "undone": f"{batch} was taken out. ",
        "already counted": f"{batch} was counted before; nothing has changed. ",
    }
    say(json.dumps(call_record(run, action, batch), indent=2) if as_json
        else said.get(action, "") + run.sentence())  # fmt: skip
    if action == "already counted":
        return ALREADY_COUNTED
    return CHANGED if strict and added and changes.alerts else 0


def take_batch(
    run: StreamRun,
    path: Any,
    batch: str | None,
    replace: bool,
    max_clusters: int,
    missing: str,
    raw_names: bool,
    parquet: bool,
    **options: Any,
) -> tuple[StreamRun, str, str]:
    """The run with the batch, what was done, and the name of the batch."""
    source = Input.for_model(run.model, path, **options | columns_of_run(run, path, options))
    key = checksum(source.path, source.follow_links)
    usual = f"stdin-{key[:8]}" if path == STANDARD_INPUT else source.path.resolve().name
    name = batch or usual
    if run.counted(key) is not None:
        return run, "already counted", name
    if run.is_named(name) and not replace:
        raise OtherContentError(
            f"a batch named {name} was counted with other content: add --replace to put this one "
            "in its place, or give it a name of its own with --batch."
        )
    if replace and not run.is_named(name):
        raise ValueError(f"no batch is named {name}: leave out --replace, or name it with --batch.")
    run = run.before(name) if replace else run
    raw = read_for(run.model, source, run.terms)
    with notes(name, run.terms):
        table, said = align_features(raw, run.model, FILLS[missing])
    shown = cleaned(raw, getattr(run.model, "preprocessing_", ())).X
    texts = shown if isinstance(shown, list) else None
    known = source.record(run.folder)
    with notes(name, run.terms), waiting(f"Adding {name}"):
        run.add(table, key, name, max_clusters, raw_names, known, parquet, texts)
    note(name, said, run.terms)
    return run, "replaced" if replace else "added", name


def columns_of_run(run: StreamRun, path: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The columns of texts and names that the run was made with, for a file of the same kind."""
    known = run.record.get("source") or {}
    kinds = {Path(str(one).removesuffix(".gz")).suffix for one in (path, known.get("path"))}
    if options["text_column"] is not None or len(kinds) > 1:
        return {}
    return {name: options[name] or known.get(name) for name in ("text_column", "id_column")}


def call_record(run: StreamRun, action: str, batch: str) -> dict[str, Any]:
    """What a call did, and the stream after it, for --json."""
    changes, added = run.changes(), action in ("added", "replaced")
    return {
        "action": action,
        "batch": batch,
        "counted": changes.samples if added else 0,
        "born": list(changes.born) if added else [],
        "closed": list(changes.closed) if added else [],
        "strangers": changes.strangers if added else 0,
        "marked_strangers": run.batches[-1].get("marked_strangers") if added else None,
        "turned": max(changes.turned.values(), default=0.0) if added else 0.0,
        "alerts": list(changes.alerts) if added else [],
        "stream": run.totals(),
    }
