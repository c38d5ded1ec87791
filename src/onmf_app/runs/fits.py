"""From an input to a finished fit: read, choose K, fit, check, explain."""

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from onmf import ONMF, Fast, build_tree, choose_k, class_means
from onmf.exceptions import UnassignedSampleWarning
from onmf.page import package_versions
from onmf.prepare import labels_by_seeds
from onmf.rows import Source, Table, Terms
from onmf_app.console import note, notes, show_sweeps, waiting, within_memory
from onmf_app.runs.batches import batches_of
from onmf_app.runs.description import describe
from onmf_app.runs.findings import Findings
from onmf_app.runs.hints import after_fit, batch_notes
from onmf_app.runs.inputs import Input, cleaned, one_of_each, sample_in_memory
from onmf_app.runs.reading import note_before_fit, reading
from onmf_app.runs.records import TREE, Origin, PreviousRun
from onmf_app.runs.results import FinishedFit, choice_with_copies, with_copies


def fit_input(
    settings: dict[str, Any],
    k: int | range | str | None,
    source: Input,
    previous: PreviousRun | None,
    tree: bool = False,
) -> FinishedFit:
    """Read, prepare, cluster and explain an input, with notes on what looks wrong."""
    name, seeds, few = source.path.name, settings.get("seeds"), settings.get("passes") is not None
    settings = solver_settings({n: v for n, v in settings.items() if n != "seeds"})
    with reading(source) as progress:
        raw = source.read(progress, few)
        origin = Origin(source.digest(), package_versions())
    check_in_memory(raw, name, tree)
    if previous is None:
        source, raw, loss = note_before_fit(source, raw, settings.get("loss"))
        settings = settings | {"loss": loss}
    distinct, copies = one_of_each(raw, source.duplicates)
    table, steps = source.learn(distinct)
    choice = None
    if k is not None and not isinstance(k, int):
        choice = choose_count(ONMF(**settings), table, k, source.terms)
        k = max(int(choice.best_k), len(seeds or ()))
    init: Any = "random" if previous is None else previous.model
    names: list[str] = []
    if seeds:
        names, init = start_of_seeds(table, seeds)
    model, seconds = fit_model(ONMF(k, init=init, **settings), table, source)
    model.rename(dict(enumerate(names)))
    if seeds:
        model.set_params(init="random")  # the record has the seeds; a file has no function
    if copies is not None:
        table = with_copies(model, table, raw, copies)
        choice = choice_with_copies(choice, copies)
    with waiting(f"Checking {name}"):
        said = after_fit(source, raw, table, model.labels_, model.cluster_centers_)
    if (batches := batches_of(source, table.samples)) is not None:
        said += batch_notes(model.labels_, batches, source.center_batches)
    note(name, said, source.terms)
    if steps:
        model.preprocessing_ = steps
    shown = cleaned(raw, steps)
    findings = Findings.of(model, shown, table, describe(source, table.samples))
    if tree:
        grow_tree(model, table, source.terms)
    return FinishedFit(model, source, origin, shown, table, findings, seconds, choice, previous)


def solver_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Parameters of `ONMF`, with `passes` where they belong."""
    passes = settings.get("passes")
    others = {name: value for name, value in settings.items() if name != "passes"}
    if passes is None:
        return others
    return others | {"solver": Fast(passes=passes)}


def start_of_seeds(table: Table, seeds: Mapping[str, Sequence[str]]) -> tuple[list[str], Any]:
    """Names of the clusters that seed words describe, and the start: means of their samples."""
    known = labels_by_seeds(table.X, table.features, seeds)
    names = [name for name in seeds if name in known]
    place = {name: number for number, name in enumerate(names)}
    return names, class_means([place.get(name, -1) for name in known])


def check_in_memory(raw: Table, name: str, tree: bool) -> None:
    """Refuse --tree for rows on disk before the long part."""
    if tree and isinstance(raw.X, Source):
        raise ValueError(f"--tree needs rows in memory, and {name} is read in blocks: omit it.")


def fit_model(model: ONMF, table: Table, source: Input) -> tuple[ONMF, float]:
    """The model, fitted to a table, and the seconds it took."""
    name, terms = source.path.name, source.terms
    with within_memory(name), show_sweeps(name, terms) as callback, warnings.catch_warnings():
        if source.text:  # `after_fit` names them as the file does
            warnings.simplefilter("ignore", UnassignedSampleWarning)
        begin = time.perf_counter()
        model.set_params(callback=callback).fit(table)
        seconds = time.perf_counter() - begin
    if source.path.suffix != ".h5ad":  # no other file has them, and they may be as large as X
        del model.membership_
    return model.set_params(callback=None), seconds


def grow_tree(model: ONMF, table: Table, terms: Terms) -> None:
    """`onmf.build_tree`, which the model then has."""
    with notes(TREE, terms), waiting(terms.say("Looking for groups and parts of clusters")):
        build_tree(model, table, feature_names=table.features)


def choose_count(model: ONMF, table: Table, among: range | str, terms: Terms) -> Any:
    """The number of clusters by `onmf.choose_k`; no more than there are samples."""
    some = sample_in_memory(table, model.random_state)
    n, possible, label = len(some.samples), None, "Choosing the number of clusters"
    if isinstance(among, range):
        possible = range(among.start, max(min(among.stop, n), among.start + 1))
        label = f"Choosing among {possible[0]} to {possible[-1]} clusters"
    with notes("choosing K", terms), waiting(terms.say(label)) as progress:
        choice: Any = choose_k(model, some.X, possible, n_jobs=model.n_jobs, progress=progress)
    if some is not table:
        note("choosing K", [f"K was chosen by {n} of the {len(table.samples)} samples."], terms)
    return choice
