"""The panel of the choice of K: a table, and curves over the number of clusters."""

from typing import Any

from onmf.page.panels import round_digits
from onmf.rows.terms import Terms

K_MEASURES = {  # attribute -> head of the column, title of the curve
    "score": ("score", "Score: the largest decides"),
    "comes_back": ("comes back", "Share that comes back, S"),
    "found_again": ("found again", "Overlap of clusters, J"),
    "kept": ("kept", "Samples that keep their cluster, M"),
    "feature_agreement": ("same by features", "Same clusters by other features"),
    "valley": ("density at borders", "Density at borders, relative to inside, V"),
}
HOW = (
    "Half of the samples are clustered with K, and so is the other half; S is the share that both "
    "find. The score is log(K) times S to the power of 2.5, divided by 1 + V, where V is the "
    "density at borders, at most 0.4: the K with the largest is taken."
)


def choice_rows(choice: Any) -> list[dict[str, Any]]:
    """The table of a choice, each row by name; the results of earlier versions are dicts."""
    return [row if isinstance(row, dict) else row._asdict() for row in choice.table]


def choice_panel(choice: Any, terms: Terms) -> dict[str, Any]:
    """The answer, how it comes about, a table, and a curve for each measure."""
    rows = choice_rows(choice)
    ks, curves = [row["k"] for row in rows], []
    for name, (_, title) in K_MEASURES.items():
        values = [None if row.get(name) is None else round_digits(row[name]) for row in rows]
        if any(value is not None for value in values):
            curves.append({"title": terms.say(title), "x": ks, "y": values})
    return {
        "best": int(choice.best_k),
        "answer": terms.say(str(choice.reason)),
        "reason": terms.say(HOW),
        "heads": ["K", *(terms.say(head) for head, _ in K_MEASURES.values())],
        "rows": [[_figure(row, name) for name in ("k", *K_MEASURES)] for row in rows],
        "curves": curves,
    }


def _figure(row: dict[str, Any], name: str) -> str:
    """A cell of the table: a number to three digits."""
    value = row.get(name)
    return "" if value is None or value != value else f"{value:.3g}"
