"""The tables of a run: what is found, as text that a spreadsheet opens."""

import csv
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onmf_app.read.cells import FORMULA_STARTS, guard_cell

if TYPE_CHECKING:
    from onmf import Clusters

LONGEST_CELL = 32_767  # characters in Excel, which puts the rest into other rows
MOST_MARKERS = 100  # per cluster
MARK = "\ufeff"  # byte order mark, by which Excel knows UTF-8
DIGITS = "%.9g"  # of certainties that nearly agree
LINE_ENDS = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # that pandas does not quote


def csv_text(frame: Any, digits: str | None = DIGITS) -> str:
    """A frame without its index as comma-separated text; formulas are guarded."""
    import pandas as pd

    columns = {}
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if column.dtype.kind not in "biuf":
            column = column.map(guarded)
        columns[j] = column
    plain = pd.DataFrame(columns)
    heads = [guarded(str(name)) for name in frame.columns]
    odd = any(map(LINE_ENDS.search, heads)) or any(
        isinstance(cell, str) and LINE_ENDS.search(cell)
        for column in columns.values() if column.dtype.kind not in "biuf" for cell in column
    )  # fmt: skip
    quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    how = {"index": False, "float_format": digits, "lineterminator": "\n", "quoting": quoting}
    text = str(plain.to_csv(header=heads, **how))
    return text if text.isascii() else f"{MARK}{text}"


def guarded(cell: Any) -> Any:
    """A name as it stands in a file."""
    return guard_cell(cell) if isinstance(cell, str) and cell[:1] in FORMULA_STARTS else cell


def labels_table(samples: Any, names: Mapping[int, str], texts: Sequence[str] | None) -> Any:
    """labels.csv: the table of the samples, the names of their clusters, and their texts."""
    table = samples.rename_axis("sample").reset_index()
    table["sample"] = table["sample"].map(str)
    table.insert(2, "name", [names.get(own, "") for own in table["cluster"].tolist()])
    if texts is not None:
        table["text"] = [" ".join(text.split())[:LONGEST_CELL] for text in texts]
    return table


def clusters_table(found: "Clusters") -> Any:
    """clusters.csv: what each cluster is worth, with notes in the words of the reader."""
    import pandas as pd

    from onmf.explain import ClusterRow

    rows = [row._replace(note=found.terms.say(row.note)) for row in found.rows]
    return pd.DataFrame(rows, columns=ClusterRow._fields)


def markers_table(found: "Clusters") -> Any:
    """markers.csv: the most distinctive features of each cluster, best first."""
    import pandas as pd

    from onmf.explain import Marker

    rows = () if found.markers is None else found.markers.rows(MOST_MARKERS)
    return pd.DataFrame([*rows], columns=Marker._fields)


def centers_table(found: "Clusters") -> Any:
    """centers.csv, in the units of the input."""
    import pandas as pd

    table = pd.DataFrame(found.centers, columns=found.feature_names)
    table.insert(0, "cluster", found.onmf.cluster_ids_, allow_duplicates=True)
    return table


def scales_table(samples: Any, scales: Sequence[Any]) -> Any:
    """scales.csv: the cluster of each sample at every scale, coarse to fine."""
    import numpy as np
    import pandas as pd

    columns = {f"K={scale.k}": np.array([*scale.names, "-1"])[scale.labels] for scale in scales}
    return pd.DataFrame({"sample": [*map(str, samples)]} | columns)


def scores_of(classes: Sequence[str] | None, labels: Any) -> dict[str, float] | None:
    """Agreement with known classes, if there are any."""
    from onmf import metrics

    if classes is None:
        return None
    return {
        "accuracy": float(metrics.clustering_accuracy(classes, labels)),
        "adjusted_rand_index": float(metrics.adjusted_rand_score(classes, labels)),
        "normalized_mutual_information": float(
            metrics.normalized_mutual_info_score(classes, labels)
        ),
    }


def score_sentence(scores: Mapping[str, float]) -> str:
    """The same in words."""
    return ", ".join(f"{name.replace('_', ' ')} {v:.3f}" for name, v in scores.items()) + "."
