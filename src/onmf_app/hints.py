"""Notes on what looks wrong in the samples or in their clusters; nothing if all is well."""

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.rows import listing

COPIES_TOLD = 0.01  # share of texts that are copies of one; fewer are no cluster
COPY_SHOWN = 50  # characters of a text in a note
POSITIVE = ("depth", "log", "tfidf")  # steps that refuse negative entries


def before_fit(data: Any, how: dict[str, Any]) -> list[str]:
    """Notes on samples as they were read; on negative entries only if they are taken."""
    if isinstance(data.data, list):
        return [*empty_texts(data.data), *copied_texts(data.data)]
    X = data.data.to_numpy() if hasattr(data.data, "columns") else data.data
    if not (isinstance(X, np.ndarray) or sp.issparse(X)):
        return []
    steps = how.get("prepare")
    refused = how.get("loss") == "kl" or (
        isinstance(steps, list) and any(getattr(s, "name", s) in POSITIVE for s in steps)
    )
    with np.errstate(invalid="ignore", over="ignore"):  # the entries are not checked yet
        return [*entries(X, refused), *genes(data), *classes(X, data.features),
                *single_feature(data.features)]  # fmt: skip


def entries(X: Any, refused: bool) -> Iterator[str]:
    """Entries without a value, and below zero, which a cluster's direction may then have, too."""
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind != "f":
        values = values[:0]
    total = np.prod(X.shape, dtype=float)
    if n := int(np.isnan(values).sum()):
        yield (
            f"{100 * n / total:.2g} % of the entries ({n}) have no value: they are treated as "
            "missing, and the error does not count them."
        )
    if not refused and (n := int((values < 0).sum())):
        yield (
            f"{100 * n / total:.2g} % of the entries are negative: a cluster is a direction of any "
            "sign, as is right for embeddings and log ratios; of centred or standardised values, "
            "take the original ones."
        )


def classes(X: Any, features: Sequence[str]) -> Iterator[str]:
    """The answer among the features: 0, 1, ... or 1, 2, ... in the last column of measurements."""
    if sp.issparse(X) or X.shape[1] < 2 or (X[:, :-1] == np.floor(X[:, :-1])).all():
        return
    found = np.unique(X[:, -1])
    numbered = found[0] in (0, 1) and found[-1] - found[0] == len(found) - 1
    if numbered and 1 < len(found) <= np.sqrt(len(X)) and (found == np.floor(found)).all():
        name = features[-1]
        yield (
            f"feature {name!r} looks like known classes, not amounts: compare the clusters with it "
            f"by --labels {name}, or leave it out with --drop {name!r}."
        )


def genes(data: Any) -> Iterator[str]:
    """Names such as 1-Mar, which a spreadsheet made of MARCH1; genes as samples."""
    from onmf.prepare.genes import dates, rows_are_genes, share_of_genes

    samples = [*map(str, data.samples[:100_000])]
    if rows_are_genes(samples, data.features):
        yield (
            f"the {len(samples)} samples have names of genes ({', '.join(map(repr, samples[:3]))}, "
            f"...), but there are only {len(data.features)} features: if the genes are the "
            "features, use --transpose."
        )
    for names, what in ((data.features, "features"), (samples, "samples")):
        if share_of_genes(names) > 0.5 and (found := dates(names)):
            yield (
                f"{what} {listing(map(repr, found))} may be genes that a spreadsheet turned into "
                "dates (MARCH1 into 1-Mar): read the original file to name them."
            )


def single_feature(features: Sequence[str]) -> Iterator[str]:
    """One number per sample, as in a table with a line for each sample and feature."""
    if len(features) == 1:
        yield (
            f"there is only one feature, {features[0]!r}, so all samples have the same direction: "
            "a table with one value per line needs a row for each sample and a column for each "
            "feature."
        )


def empty_texts(texts: Sequence[str]) -> Iterator[str]:
    """Texts without a word, which belong to no cluster."""
    if empty := sum(not text.strip() for text in texts):
        yield f"{empty:,} of the {len(texts):,} texts are empty; they get label -1."


def copied_texts(texts: Sequence[str]) -> Iterator[str]:
    """Copies of one text, which may be a cluster of their own."""
    counted = Counter(plain for text in texts if (plain := " ".join(text.split())))
    (most, times), *_ = counted.most_common(1) or [("", 0)]
    if times > max(COPIES_TOLD * counted.total(), 2):
        yield (
            f"{counted.total() - len(counted):,} of the texts are copies; "
            f"{shorten(most, COPY_SHOWN, placeholder=' ...')!r} occurs {times:,} times and may "
            "become a cluster."
        )


def after_fit(found: Any, data: Any) -> list[str]:
    """Texts that are not empty, but have no word that is counted."""
    if not isinstance(data.data, list):
        return []
    totals = np.asarray(found.prepared_samples.sum(axis=1)).ravel()
    without = np.flatnonzero(totals == 0)
    names = [str(data.samples[i]) for i in without.tolist() if data.data[i].strip()]
    if not names:
        return []
    has = "has no word that is counted and gets" if len(names) == 1 else (
        "have no word that is counted and get")  # fmt: skip
    return [
        f"{len(names):,} of the texts {has} label -1: {listing(names)}. --set prepare.min_df=1 "
        "counts rare words, too."
    ]
