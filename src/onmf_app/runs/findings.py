"""What is computed from a fit, once for all files: features, certainties, names."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

from onmf import ONMF
from onmf.estimators.naming import as_pairs
from onmf.explain import Explanation, Marker, Markers
from onmf.explain.comparison import Ranking
from onmf.explain.explanation import clusters_or_none
from onmf.explain.markers import FEATURES_PER_NAME, short_names
from onmf.explain.pairs import names_by_pairs
from onmf.metrics import topic_coherence, topic_diversity
from onmf.prepare import Log, Words
from onmf.prepare.steps import Step, units_after
from onmf.result import known_names
from onmf.rows import Array, Table
from onmf_app.console import waiting
from onmf_app.runs import tables
from onmf_app.runs.description import Description

WORDS_PER_TOPIC = 10  # of which coherence and diversity are usually computed; the page shows them


class Findings(NamedTuple):
    """What is computed from a fit, once for all files.

    ids : of the clusters.
    explanation : what distinguishes the clusters; None for a single cluster.
    markers : the rows of markers.csv.
    topics : how good the words of the clusters are, if the samples are texts.
    texts : of the samples, as a person reads them, if they are texts or described by them.
    """

    ids: Array
    explanation: Explanation | None
    markers: list[Marker]
    topics: dict[str, float] | None = None
    texts: Sequence[str] | None = None

    @classmethod
    def of(cls, model: ONMF, raw: Table, table: Table, words: Description | None = None) -> Self:
        """From a model, the table it was fitted to, before and after the steps, and the words that
        describe its samples, if any. The model gets the names and the curve of
        probabilities that are found."""
        steps = getattr(model, "preprocessing_", ())
        texts = raw.X if isinstance(raw.X, list) else None if words is None else words.texts
        log_base = 2 if steps and isinstance(steps[-1], Log) else None
        with waiting("Comparing the clusters"):
            by = None if words is None else words.X
            features = table.features if words is None else list(words.words.vocabulary)
            options: dict[str, Any] = {"by": by, "feature_names": features, "log_base": log_base}
            found = clusters_or_none(model, table, rank=ranking(steps), **options)
        if found is None:
            return cls(model.cluster_ids_, None, [], texts=texts)
        counting = next((step for step in steps if isinstance(step, Words)), None)
        counting = counting if words is None else words.words
        if words is None:
            found = in_units(found, units_after(steps))
        found = with_names(model, found, counting, texts)
        markers = list(found.markers.rows(tables.MOST_MARKERS))
        topics = topic_quality(found.markers, table.X) if isinstance(raw.X, list) else None
        model.certainty_curve_ = found.calibration.array()
        return cls(model.cluster_ids_, found, markers, topics, texts)


def in_units(found: Explanation, units: Any) -> Explanation:
    """The explanation with means in these units, a factor for each feature."""
    facts = found.markers.facts
    means = {"mean_inside": facts.mean_inside * units, "mean_outside": facts.mean_outside * units}
    return replace(found, markers=replace(found.markers, facts=facts._replace(**means)))


def with_names(
    model: ONMF, found: Explanation, words: Words | None, texts: Sequence[str] | None
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


def ranking(steps: Iterable[Step]) -> Ranking:
    """How features are ranked: words by their presence."""
    return "presence" if any(step.of_texts for step in steps) else "mean"


def topic_quality(markers: Markers, X: Any) -> dict[str, float] | None:
    """Coherence and diversity of the words that are shown for each cluster with samples."""
    topics = [words for words in markers.numbers(WORDS_PER_TOPIC) if words]
    if not topics:
        return None
    return {"coherence": topic_coherence(topics, X), "diversity": topic_diversity(topics)}
