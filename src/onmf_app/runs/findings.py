"""What is computed from a fit, once for all files: features, certainties, names, bounds."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

from onmf import ONMF
from onmf.bounds.certificate import certificate_of_fit
from onmf.estimators.naming import as_pairs
from onmf.explain import Explanation, Marker, Markers, groups
from onmf.explain.checks import has_groups
from onmf.explain.comparison import Ranking
from onmf.explain.explanation import clusters_or_none
from onmf.explain.markers import FEATURES_PER_NAME, short_names
from onmf.explain.pairs import names_by_pairs
from onmf.io import Table
from onmf.metrics import topic_coherence, topic_diversity
from onmf.prepare import Words
from onmf.prepare.steps import Log, Step, units_after
from onmf.result import known_names
from onmf.rows.sweep import Array
from onmf_app.console import waiting
from onmf_app.runs import tables
from onmf_app.runs.description import Description

WORDS_PER_TOPIC = 10  # of which coherence and diversity are usually computed; the page shows them


class Findings(NamedTuple):
    """What is computed from a fit, once for all files.

    ids : of the clusters.
    top : the features of each cluster with the largest weights.
    explanation : what distinguishes the clusters; None for a single cluster.
    markers : the rows of markers.csv.
    curve : from margins to certainties.
    proof : the bound on the error of all clusterings, as JSON, if the fit has one.
    topics : how good the words of the clusters are, if the samples are texts.
    texts : of the samples, as a person reads them, if they are texts or described by them.
    """

    ids: Array
    top: list[list[tuple[str, float]]]
    explanation: Explanation | None
    markers: list[Marker]
    curve: Array | None
    proof: dict[str, Any] | None
    topics: dict[str, float] | None = None
    texts: Sequence[str] | None = None

    @classmethod
    def of(
        cls, model: tables.Model, raw: Table, table: Table, words: Description | None = None
    ) -> Self:
        """From a model, the table it was fitted to, before and after the steps, and the words that
        describe its samples, if any. The model gets the names that are found."""
        steps = getattr(model, "preprocessing_", ())
        texts = raw.X if isinstance(raw.X, list) else None if words is None else words.texts
        log_base = 2 if steps and isinstance(steps[-1], Log) else None
        ids, top = tables.ids_of_clusters(model), model.top_features(tables.TOP_FEATURES)
        with waiting("Comparing the clusters"):
            by = None if words is None else words.X
            features = table.features if words is None else list(words.words.vocabulary)
            options: dict[str, Any] = {"by": by, "feature_names": features, "log_base": log_base}
            asked = {"rank": ranking(steps), "strangers": tables.knows_strangers(model)}
            found = clusters_or_none(model, table, **options, **asked)
        proof = certificate_of_fit(model)
        record = None if proof is None else proof.record()
        if found is None:
            return cls(ids, top, None, [], None, record, texts=texts)
        counting = next((step for step in steps if isinstance(step, Words)), None)
        counting = counting if words is None else words.words
        if words is None:
            found = in_units(found, units_after(steps))
        found = with_names(model, found, counting, texts)
        markers = list(found.markers.rows(tables.MOST_MARKERS))
        topics = topic_quality(found.markers, table.X) if isinstance(raw.X, list) else None
        return cls(ids, top, found, markers, found.calibration.array(), record, topics, texts)


def in_units(found: Explanation, units: Any) -> Explanation:
    """The explanation with means in these units, a factor for each feature."""
    facts = found.markers.facts
    means = {"mean_inside": facts.mean_inside * units, "mean_outside": facts.mean_outside * units}
    return replace(found, markers=replace(found.markers, facts=facts._replace(**means)))


def with_names(
    model: tables.Model, found: Explanation, words: Words | None, texts: Sequence[str] | None
) -> Explanation:
    """The explanation with names by words and pairs of words; the model gets the names, too."""
    markers = found.markers
    if words is not None and texts is not None:
        names = names_by_pairs(markers, found.labels, words.in_order(texts))
    else:
        names = short_names(markers.top(FEATURES_PER_NAME + 1))
    if not are_named(markers.features):
        names = [""] * len(names)
    pairs = zip(markers.clusters, names, strict=True)
    model.names_found_ = as_pairs({i: name for i, name in pairs if name})
    known = dict.fromkeys(markers.clusters, "") | known_names(model)
    return replace(found, markers=markers.renamed(known))


def are_named(features: Sequence[str]) -> bool:
    """Whether the names of features are more than their numbers."""
    return not all(map(str.isdecimal, features))


def name_new_clusters(model: ONMF, X: Any, labels: Array, features: Sequence[str]) -> None:
    """Name clusters without a name by the features that distinguish their samples of a batch."""
    known, ids = dict(getattr(model, "names_found_", ())), tables.ids_of_clusters(model)
    new = {*ids.tolist()} - {*known}
    if not new or not has_groups(labels) or not are_named(features):
        return
    rank = ranking(getattr(model, "preprocessing_", ()))
    markers = groups(tables.ids_of_labels(ids, labels), X, feature_names=features, rank=rank)
    found = dict(zip(markers.clusters, markers.names, strict=True))
    model.names_found_ = as_pairs(known | {i: found[i] for i in sorted(new) if found.get(i)})


def ranking(steps: Iterable[Step]) -> Ranking:
    """How features are ranked: words by their presence."""
    return "presence" if any(step.of_texts for step in steps) else "mean"


def topic_quality(markers: Markers, X: Any) -> dict[str, float] | None:
    """Coherence and diversity of the words that are shown for each cluster with samples."""
    topics = [words for words in markers.numbers(WORDS_PER_TOPIC) if words]
    if not topics:
        return None
    return {"coherence": topic_coherence(topics, X), "diversity": topic_diversity(topics)}
