"""The result of `onmf cluster` in a few lines."""

from operator import itemgetter
from pathlib import Path
from typing import Any

from onmf.explain.trust import TRUSTED, again_sentence, in_words, no_gap
from onmf.losses import LOSSES
from onmf.rows import Terms, listing, one_line
from onmf_app.runs.records import OPTIONAL, RESULTS
from onmf_app.runs.tables import outlier_sentence, score_sentence

MOST_NAMED = 12  # clusters whose names are printed


def summarise_run(record: dict[str, Any], out: Path, terms: Terms) -> str:
    """The result in a few lines, in the words of the reader."""
    results, choice = record["results"], record["choice"]
    sizes = ", ".join(map(str, results["cluster_sizes"]))
    measure = LOSSES[record["parameters"]["loss"]].words.error
    called = zip(results["cluster_ids"], results["cluster_names"], strict=True)
    names = {i: name for i, name in called if name != f"cluster {i}"}
    lines = [
        terms.say(f"Clusters of {sizes} samples, {measure} {results['relative_error']:.4g}, ")
        + f"{results['sweeps']} passes, {results['seconds']:.1f} s.",
        *(f"  {i} {one_line(name)}" for i, name in names.items() if len(names) <= MOST_NAMED),
    ]
    lines += [terms.say(said) for said in doubts(results["clusters"])]
    if results["outliers"] is not None:
        lines.append(terms.say(outlier_sentence(**results["outliers"])))
    if record["lineage"]:
        lines.append(terms.say(lineage_sentence(record["lineage"][-1])))
    if choice is not None:
        lines.insert(0, terms.say(choice["reason"]))
    if results["topics"] is not None:
        lines.append(
            f"Topic coherence {results['topics']['coherence']:.2f} (NPMI of ten words), diversity "
            f"{results['topics']['diversity']:.2f}."
        )
    if results["scores"] is not None:
        lines.append(score_sentence(results["scores"]))
    written = [name for name in (*RESULTS, *OPTIONAL) if (out / name).exists()]
    return "\n".join([*lines, f"Wrote {', '.join(written)} to {out}."])


def doubts(clusters: list[dict[str, Any]]) -> list[str]:
    """What speaks against some of the clusters, every cloud once; of many only how many."""
    doubted = [own for own in clusters if own["note"]]
    if len(doubted) > MOST_NAMED:
        return [f"{len(doubted)} of {len(clusters)} clusters are doubtful: clusters.csv says why."]
    weak = [own for own in doubted if own["found_again"] < TRUSTED]
    clouds = {
        (*sorted([own["cluster"], *map(int, own["one_cloud_with"].split())]),): own
        for own in doubted
        if own["one_cloud_with"]
    }
    return [
        *(f"Cluster {own['cluster']}: {again_sentence(own['found_again'])}." for own in weak),
        *(
            no_gap(f"between clusters {in_words(ids)}", own.get("enough_samples", True)) + "."
            for ids, own in sorted(clouds.items(), key=itemgetter(0))
        ),
    ]


def lost_ids(chain: list[dict[str, Any]]) -> list[str]:
    """What to say where most clusters of the run before are gone: the input was another one."""
    if not chain or len(chain[-1]["kept"]) >= len(chain[-1]["vanished"]):
        return []
    kept, before = len(chain[-1]["kept"]), len(chain[-1]["kept"]) + len(chain[-1]["vanished"])
    return [
        f"only {kept} of {before} clusters kept their ids: --like is for old and new samples "
        "together. For new samples alone use onmf predict."
    ]


def lineage_sentence(entry: dict[str, Any]) -> str:
    """What happened to the clusters of the run before."""
    turned = max((angle for angle in entry["drift"] if angle is not None), default=0)
    said = f"{len(entry['kept'])} clusters kept their ids (turned by at most {turned:.1f} degrees)"
    for word in ("born", "vanished"):
        said += f", {word}: {listing(entry[word]) or 'none'}"
    if entry["new_features"] or entry["lost_features"]:
        said += f"; {entry['new_features']} features are new, {entry['lost_features']} lost"
    return f"{said}."
