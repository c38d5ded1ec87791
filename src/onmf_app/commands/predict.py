"""`onmf predict`."""

import json
from pathlib import Path
from typing import Any

import click

from onmf_app.commands.options import CONFIG, INPUT, SET, Command, Settings

FILLS = {"refuse": None, "zero": 0.0, "nan": float("nan")}  # of features that the input lacks


@click.command("predict", cls=Command)
@click.argument("run", type=click.Path(exists=True, path_type=Path))
@click.argument("input", type=INPUT)
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path),
              help="File for the labels, like labels.csv; NEW-labels.csv for NEW.csv.")  # fmt: skip
@click.option("--labels", metavar="COLUMN|FILE[:COLUMN]", help="Known classes, to compare with.")
@click.option("--text-column", metavar="NAME", help="Column of a table with documents.")
@click.option("--missing", type=click.Choice(list(FILLS)), default="refuse", show_default=True,
              help="Features of the model that INPUT lacks; nan: as missing values.")  # fmt: skip
@click.option("--probabilities", is_flag=True, help="Add probability_0 and so on, by cluster id.")
@SET
@CONFIG
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def run_predict(
    run: Path, out: Path | None, missing: str, probabilities: bool, force: bool, as_json: bool,
    sets: tuple[str, ...], **asked: Any,
) -> None:  # fmt: skip
    """Assign new samples to the clusters of a run.

    RUN is the folder of `onmf cluster`, or a model.onmf file. INPUT goes through the same
    preparation as the input of the run. Features are matched by name.

    \b
    Example:
      onmf predict result new_tumours.csv
    """
    import onmf
    from onmf.files import place_for, replace_files
    from onmf_app import tables
    from onmf_app.console import note, notes, say
    from onmf_app.inputs import placed, read_new, received
    from onmf_app.run import Run

    path = received(asked.pop("input"))
    out = out or Path(f"{path.name.partition('.')[0]}-labels.csv")
    settings = Settings.of(sets)
    if any(settings[1:]):
        raise click.UsageError("predict takes --set read.NAME=VALUE only: the rest is the run's.")
    with place_for(out.parent, [out.name], force):
        if run.is_dir():
            whole = Run.read(run)
            found, options = whole.found, whole.options(run)
            options = {n: v for n, v in options.items() if n not in ("labels", "time", "batch")}
        else:
            found, options = onmf.load(run), {}
        options |= {n: v for n, v in asked.items() if v is not None} | settings.read
        data = read_new(path, options, found)
        terms = found.terms
        with notes(path.name, terms):
            table = placed(
                found, data, FILLS[missing], "; --missing zero or nan takes them as that"
            )
        if not isinstance(data.data, list):
            note(path.name, lacking(data.features, found.features, missing), terms)
        table.index = [*map(str, data.samples)]
        if not probabilities:
            table = table[["cluster", "probability", "distance", "unusual"]]
        texts = found.readable(data.data) if isinstance(data.data, list) else None
        sheet = tables.labels_table(table, found.names, texts)
        replace_files(out.parent, {out.name: tables.csv_text(sheet)})
    facts, sentence = told(table["cluster"].to_numpy(), found, data.classes)
    say(json.dumps(facts, indent=2) if as_json else sentence.replace(": .", f": {out}."))


def told(ids: Any, found: Any, classes: Any) -> tuple[dict[str, Any], str]:
    """How many samples are in each cluster, for programs and in words."""
    from onmf_app import tables

    sizes = [int((ids == own).sum()) for own in found.onmf.cluster_ids_.tolist()]
    nowhere, scores = int((ids < 0).sum()), tables.scores_of(classes, ids)
    terms, facts = found.terms, {"samples": len(ids), "cluster_sizes": sizes}
    placed = f"{terms.counted(len(ids), 'sample')} in {terms.clusters} of "
    placed += f"{', '.join(map(str, sizes))}{f', {nowhere} in none' if nowhere else ''}: ."
    placed += "" if scores is None else f"\n{tables.score_sentence(scores)}"
    return facts | {"samples_in_no_cluster": nowhere, "scores": scores}, placed


def lacking(have: list[str], wanted: list[str], missing: str) -> list[str]:
    """A note on features of the model that the input has not."""
    from onmf.rows import listing

    names = [name for name in wanted if name not in {*have}] if {*have} & {*wanted} else []
    if not names:
        return []
    said = f"the input lacks {len(names)} of the {len(wanted)} features of the model: "
    taken = "zero" if missing == "zero" else "missing"
    return [f"{said}{listing(map(repr, names), len(names))}; they are taken as {taken}."]
