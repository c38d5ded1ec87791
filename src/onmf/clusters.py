"""`cluster`: from data to clusters in one call, and `Clusters`, what it found.

    data  ->  prepare  ->  number of clusters  ->  fit  ->  explain, name

The preparation is kept with the model: new samples go through the same steps.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.cells.matrix import batches_of, choose_matrix, embedding
from onmf.estimators import ONMF, class_means
from onmf.estimators.naming import as_pairs
from onmf.estimators.solvers import OtherParameters
from onmf.explain import Explanation, Markers
from onmf.explain.explanation import clusters_or_none
from onmf.explain.markers import FEATURES_PER_NAME, short_names
from onmf.explain.pairs import names_by_pairs
from onmf.losses import LOSSES
from onmf.number import KChoice, choose_k
from onmf.page import html
from onmf.prepare.batches import batch_sentence
from onmf.prepare.cleaning import Strip
from onmf.prepare.expression import are_counts_of_events, default_steps
from onmf.prepare.seeds import labels_by_seeds
from onmf.prepare.steps import STEPS, WEIGHTS_OF_WORDS, Log, apply, units_after
from onmf.prepare.texts import Words, as_texts
from onmf.prepare.units import default_scaling
from onmf.result import html_table
from onmf.rows import matrix_of, open_rows
from onmf.rows.placement import is_anndata
from onmf.rows.source import Source
from onmf.rows.table import Table, listing, numbered
from onmf.rows.terms import CELLS, DOCUMENTS, SAMPLES, Terms

Array = NDArray[Any]
Number = int | Iterable[int] | Literal["auto"]


def cluster(
    data: Any,
    k: Number = "auto",
    *,
    prepare: Literal["auto"] | Sequence[str] | None = "auto",
    loss: Any = "auto",
    known: Any = None,
    batch: Any = None,
    describe: Any = None,
    like: "Clusters | None" = None,
    samples: Sequence[Any] | None = None,
    features: Sequence[Any] | None = None,
    layer: str | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **onmf: Unpack[OtherParameters],
) -> "Clusters":
    """Prepare data, choose the number of clusters, find them, and say what makes them.

    Parameters
    ----------
    data : array, CSR matrix, DataFrame, AnnData, list of texts, path or Dask collection
        Samples are rows. A str is the path of a .npy, .npz, .h5ad or .parquet file; texts are a
        list, Series or array of str.
    k : int, iterable of int or "auto", default="auto"
        Number of clusters, numbers to choose from, or "auto" for `choose_k`.
    prepare : "auto", sequence of str or None, default="auto"
        Names of preparation steps, such as ``["depth", "log"]``; None leaves the numbers as they
        are. "auto": words of texts are counted; genes are scaled to the same depth and logged if
        they are counts; features in different units get the same weight.
    loss : str, default="auto"
        As of `ONMF`; "auto" takes "kl" for counts of words and reads.
    known : array of shape (n_samples,) or dict, optional
        Known classes, -1, None or NaN where unknown; or words that you expect in some clusters, by
        the name of the cluster. They give starting centroids and names, nothing more.
    batch : array of shape (n_samples,) or str, optional
        Batch of each sample, or a column of ``obs``: a note says if clusters are batches.
    describe : list of texts, DataFrame or matrix, optional
        Other features of the same samples, which describe and name the clusters of embeddings.
    like : Clusters, optional
        An earlier result: its preparation, its clusters as a start, and its ids.
    samples, features : sequence, optional
        Names, for data that bring none.
    layer : str, optional
        What of an AnnData object: the name of a layer, "raw", or "obsm/X_pca".
    random_state : int, RandomState instance or None, default=0
    n_jobs : int, optional
        Threads.
    progress : callable, optional
        Called with (parts done, parts in all) while the number of clusters is chosen.
    **onmf
        Further parameters of `ONMF`, such as `outliers`, `n_init` or `solver`.

    Returns
    -------
    Clusters

    Examples
    --------
    >>> import onmf
    >>> texts = ["moons and stars", "stars, moons", "genes in cells", "genes; <b>cells</b>"]
    >>> found = onmf.cluster(texts, 2)
    >>> found.labels, found.predict(["the stars"])
    (array([0, 0, 1, 1]), array([0]))
    >>> found.names
    {0: 'moons, stars', 1: 'cells, genes'}
    """
    source = Input(data, samples, features, layer)
    if like is None:
        steps, X, names, loss, notes = prepared(source, prepare, loss)
    else:
        steps, X, loss, notes = like.steps, like.prepared(data), like.model.loss, []
        names = like._features
    model = ONMF(loss=loss, random_state=random_state, n_jobs=n_jobs, **onmf)
    choice = None
    if like is not None:
        model.set_params(init=like.model, n_clusters=None if k == "auto" else k)
    elif isinstance(k, int | np.integer):
        model.set_params(n_clusters=int(k))
    else:
        if isinstance(k, str) and k != "auto":
            raise ValueError(f"k must be a number, numbers to choose from, or 'auto', not {k!r}.")
        among = None if isinstance(k, str) else k
        choice = choose_k(model, X, among, n_jobs=n_jobs, progress=progress)
        model.set_params(n_clusters=choice.best_k)
    if known is not None:
        start = class_means(labels_by_seeds(X, names, known) if isinstance(known, dict) else known)
        model.set_params(init=start, n_clusters=max(int(model.n_clusters or 0), len(start.names)))
    model.fit(named(X, names))
    if known is not None:
        model.set_params(init="random")  # the names are kept; a file has no function
    model.preprocessing_ = steps
    if batch is not None:
        own = batches_of(data, batch) if isinstance(batch, str) else [str(one) for one in batch]
        said = batch_sentence(model.labels_, own)
        notes += [] if said is None else [f"{said}."]
    found = explained(model, X, names, steps, describe, source.texts)
    return Clusters(model, source, X, names, found, choice, notes)


def named(X: Any, names: list[str]) -> Any:
    """X with the names of its features, if they are more than their numbers."""
    return X if names == numbered(len(names)) else Table(X, [], names)


class Input:
    """The samples of any kind of data, and what they are called."""

    def __init__(
        self,
        data: Any,
        samples: Sequence[Any] | None,
        features: Sequence[Any] | None,
        layer: str | None,
    ) -> None:
        self.index, self.texts, self.terms = samples, as_texts(data), SAMPLES
        names: Sequence[Any] | None = features
        if self.texts is not None:
            self.X: Any = self.texts
            self.terms = DOCUMENTS
            if samples is None and hasattr(data, "to_numpy"):
                self.index = data.index  # of a Series; a list has a method of this name
        elif is_anndata(data):
            self.X, names = cells_of(data, layer)
            self.terms = CELLS
            self.index = data.obs_names if samples is None else samples
        else:
            if layer is not None:
                raise ValueError("layer is for AnnData objects.")
            opened = open_rows(data) if isinstance(data, str | Path) else None
            self.X = data if opened is None else opened
            if hasattr(data, "columns"):
                names = [str(name) for name in data.columns] if features is None else features
                self.index = data.index if samples is None else samples
                self.X = data.to_numpy()
            elif not hasattr(self.X, "shape"):
                self.X = np.asarray(data)
            elif opened is not None:
                names = opened.names if features is None else features
        n = len(self.X) if self.texts is not None else self.X.shape[0]
        width = 0 if self.texts is not None else self.X.shape[1]
        self.features = numbered(width) if names is None else [str(name) for name in names]
        self.samples = [str(name) for name in (range(n) if self.index is None else self.index)]


def cells_of(data: Any, layer: str | None) -> tuple[Any, list[str]]:
    """X, a layer, ``.raw`` or an embedding of an AnnData object, and the names of its columns."""
    if layer is not None and layer.startswith("obsm/"):
        X = embedding(data, layer.removeprefix("obsm/"))
        return X, numbered(X.shape[1])
    raw = layer == "raw"
    chosen = choose_matrix(data, None if raw else layer, raw, None, prepare=False)
    return chosen.table.X, chosen.table.features


def prepared(
    source: Input, prepare: Literal["auto"] | Sequence[str] | None, loss: Any
) -> tuple[tuple[Any, ...], Any, list[str], Any, list[str]]:
    """Steps, the data after them, the names of their features, the loss, and what was done."""
    if isinstance(prepare, str) and prepare != "auto":
        raise ValueError(f"prepare must be 'auto', a list of steps or None, not {prepare!r}.")
    names, X, chain = source.features, source.X, []
    takes_counts = loss == "auto" or LOSSES[loss].takes_counts
    if source.texts is not None:
        clean = Strip.fit(source.texts)
        words = Words.fit(clean(source.texts), 2, 0.5, "english")
        chain, names, X = [clean, words], list(words.vocabulary), words(clean(source.texts))
        chosen: dict[str, Any] = (
            {} if takes_counts else {kind.name: {} for kind in WEIGHTS_OF_WORDS}
        )
        loss = "kl" if loss == "auto" else loss
    elif prepare == "auto":
        amounts = loss == "auto" or not takes_counts
        chosen = (default_steps(X, names) or default_scaling(X)) if amounts else {}
    else:
        unknown = [name for name in prepare or () if name not in STEPS]
        if unknown:
            raise ValueError(f"there is no step {unknown[0]!r}, only {', '.join(STEPS)}.")
        chosen = {name: {} for name in prepare or ()}
    for name, settings in chosen.items():
        chain.append(STEPS[name].fit(X, **settings))
        X = X.changed(chain[-1]) if isinstance(X, Source) else chain[-1](X)
    notes = [f"{step.sentence()}." for step in chain]
    if loss == "auto":
        loss = "kl" if prepare == "auto" and not chain and are_counts(X) else "frobenius"
        notes += ["these are counts: they are clustered by loss='kl'."] if loss == "kl" else []
    return tuple(chain), X, names, loss, notes


def are_counts(X: Any) -> bool:
    """Whether these are counts of words or reads, without missing values."""
    if not (isinstance(X, np.ndarray) or sp.issparse(X)):
        return False
    return are_counts_of_events(X) and not np.isnan(X.sum())


def explained(
    model: ONMF,
    X: Any,
    names: list[str],
    steps: tuple[Any, ...],
    describe: Any,
    texts: list[str] | None,
) -> Explanation | None:
    """What makes each cluster; the model gets names and the curve of probabilities."""
    words, by, log_base = None, None, None
    rank: Literal["mean", "presence"] = "presence" if texts is not None else "mean"
    if steps and isinstance(steps[-1], Log):
        log_base = 2.0
    if describe is not None:
        texts = as_texts(describe)
        if texts is not None:
            words, rank = Words.fit(texts, 2, 0.5, "english"), "presence"
            by, names = words(texts), list(words.vocabulary)
        else:
            names = [str(name) for name in getattr(describe, "columns", range(describe.shape[1]))]
            by = describe.to_numpy() if hasattr(describe, "columns") else describe
    elif texts is not None:
        words = next(step for step in steps if isinstance(step, Words))
    options = {"by": by, "feature_names": names, "log_base": log_base, "rank": rank}
    found = clusters_or_none(model, X, **options)
    if found is None:
        return None
    markers = found.markers
    if words is not None and texts is not None:
        named = names_by_pairs(markers, found.labels, words.in_order(texts))
    else:
        named = short_names(markers.top(FEATURES_PER_NAME + 1))
    if not all(map(str.isdecimal, names)):
        pairs = zip(markers.clusters, named, strict=True)
        model.names_found_ = as_pairs({own: name for own, name in pairs if name})
    model.certainty_curve_ = found.calibration.array()
    return found


class Clusters:
    """What `onmf.cluster` found.

    Attributes
    ----------
    labels : Series or ndarray of shape (n_samples,)
        The id of the cluster of each sample, -1 for none; a Series if the data have an index.
    names : dict of int to str
        The name of each cluster, by id.
    choice : KChoice or None
        The scores over the number of clusters, if it was chosen.
    notes : list of str
        What was done to the data, and why.
    model : ONMF
        Fitted to the data after `steps`.
    steps : tuple
        The preparation; `predict` takes new data as they are.
    terms : Terms
        What samples, features and clusters are called.

    Examples
    --------
    >>> import onmf
    >>> from onmf.datasets import make_rays
    >>> X, _ = make_rays(200, 30, 3, random_state=0)
    >>> found = onmf.cluster(X)
    >>> found
    Clusters(200 samples in 3 clusters)
    >>> [row.samples for row in found.rows]
    [67, 67, 66]
    """

    def __init__(
        self,
        model: ONMF,
        source: Input,
        X: Any,
        features: list[str],
        explanation: Explanation | None,
        choice: KChoice | None,
        notes: list[str],
    ) -> None:
        self.model, self.choice, self.notes = model, choice, notes
        self.explanation, self.terms, self.steps = explanation, source.terms, model.preprocessing_
        self._source, self._X, self._features = source, X, features

    @property
    def labels(self) -> Any:
        ids = np.append(self.model.cluster_ids_, -1)[self.model.labels_]
        return self._with_index(ids, "cluster")

    def _with_index(self, values: Any, name: str) -> Any:
        """As a Series, where the data have an index."""
        if not hasattr(self._source.index, "get_indexer"):
            return values
        import pandas as pd

        return pd.Series(values, self._source.index, name=name)

    @property
    def names(self) -> dict[int, str]:
        return self.model.cluster_names_

    @property
    def rows(self) -> list[Any]:
        """What each cluster with samples is worth (`onmf.explain.ClusterRow`)."""
        return [] if self.explanation is None else self.explanation.clusters()

    @property
    def clusters(self) -> Any:
        """A table: size, name, distinctive features, how much is found again, a note."""
        import pandas as pd

        if self.explanation is None:
            return pd.DataFrame({"name": self.names}).rename_axis("cluster")
        tops = self.explanation.markers.top(5)
        table = pd.DataFrame(self.rows).set_index("cluster")
        table.insert(2, "features", [", ".join(own) for own in tops if own][: len(table)])
        return table

    @cached_property
    def samples(self) -> Any:
        """A table: cluster, probability, distance, and how unusual each sample is."""
        import pandas as pd

        found, X = self.explanation, named(self._X, self._features)
        sure = (self.model.labels_ >= 0) * 1.0 if found is None else found.certainty
        far = self.model.distance(X) if found is None else found.distance
        columns = {
            "cluster": np.asarray(self.labels),
            "probability": sure,
            "distance": far,
            "unusual": self.model.unusual(X),
        }
        index = self._source.samples if self._source.index is None else self._source.index
        return pd.DataFrame(columns, pd.Index(index, name="sample"))

    @property
    def markers(self) -> Markers | None:
        """The table of features."""
        return None if self.explanation is None else self.explanation.markers

    @property
    def centers(self) -> Array:
        """The centroids (n_clusters, n_features), in the units of the data where steps have one."""
        return np.asarray(self.model.cluster_centers_ * units_after(self.steps))

    def predict(self, new: Any) -> Array:
        """The ids of the clusters of new samples, as they are: the preparation is done here.

        Parameters
        ----------
        new : as `data` of `cluster`
            Columns of a DataFrame or AnnData object are matched by name.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> import onmf
        >>> found = onmf.cluster([[3.0, 0.0], [2.0, 0.1], [0.0, 1.0]], 2)
        >>> found.predict([[0.0, 5.0]])
        array([1])
        """
        ids = np.append(self.model.cluster_ids_, -1)
        return np.asarray(ids[self.model.predict(named(self.prepared(new), self._features))])

    def prepared(self, new: Any) -> Any:
        """New samples after the steps, which have the features of the fit in their order."""
        if as_texts(new) is not None:
            return apply(self.steps, as_texts(new))
        have = getattr(new, "var_names", getattr(new, "columns", None))
        wanted = self._source.features
        if have is None:
            return apply(self.steps, new if hasattr(new, "shape") else np.asarray(new))
        place = {str(name): number for number, name in enumerate(have)}
        missing = [name for name in wanted if name not in place]
        if missing:
            raise ValueError(f"the new samples lack {listing(map(repr, missing), len(missing))}.")
        X = matrix_of(new) if is_anndata(new) else new.to_numpy()
        X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        return apply(self.steps, X[:, [place[name] for name in wanted]])

    def page(self, path: str | Path, classes: Any = None, **panels: Any) -> None:
        """Write the page: one HTML file that needs no network, to look at in a browser.

        Parameters
        ----------
        path : str or Path
        classes : array of shape (n_samples,), optional
            Known classes: adds the confusion table and the scores.
        **panels
            `images`, `times` and `periods`, as of `onmf.page.html`.

        Examples
        --------
        >>> import onmf, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "page.html")
        >>> onmf.cluster([[3.0, 0.0], [2.0, 0.1], [0.0, 1.0]], 2).page(path)
        >>> path.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        from onmf.files.output import replace_files

        source, path = self._source, Path(path)
        told = html(
            self.model, self._X, samples=source.samples, features=self._features,
            truth=classes, texts=source.texts, explanation=self.explanation, choice=self.choice,
            terms=self.terms, **panels,
        )  # fmt: skip
        replace_files(path.parent, {path.name: told})

    def save(self, path: str | Path) -> None:
        """Write the model with its preparation into one file, which `onmf.load` reads."""
        self.model.save(path)

    def __repr__(self) -> str:
        n, k = len(self.model.labels_), len(self.model.cluster_centers_)
        terms: Terms = self.terms
        return f"Clusters({n} {terms.samples} in {k} {terms.clusters})"

    def _repr_html_(self) -> str:
        """A table in a notebook: size, name and distinctive features of each cluster."""
        if self.explanation is None:
            return html_table(("cluster",), [(repr(self),)])
        return self.explanation._repr_html_()
