"""`cluster`: from data to clusters in one call, and `Clusters`, what it found.

    data  ->  prepare  ->  number of clusters  ->  fit  ->  explain, name

The preparation and the model are one scikit-learn pipeline, which takes data as they are.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from onmf.estimators import ONMF, class_means
from onmf.estimators.naming import as_pairs
from onmf.estimators.solvers import OtherParameters
from onmf.estimators.storage import load_model, model_bytes
from onmf.exceptions import FormatError
from onmf.explain import ClusterRow, Explanation, Markers, groups
from onmf.explain.explanation import clusters_or_none
from onmf.explain.markers import FEATURES_PER_NAME, short_names
from onmf.explain.pairs import names_by_pairs
from onmf.files import replace_files
from onmf.given import Given, stacked
from onmf.number import KChoice, choose_k
from onmf.prepare import Log, Words, default_preparation, known_from_words
from onmf.prepare.batches import CenterBatches, batch_sentence
from onmf.prepare.cleaning import cleaned
from onmf.prepare.default import STEPS
from onmf.prepare.texts import as_texts
from onmf.result import html_table
from onmf.rows.source import Source
from onmf.rows.table import Table, numbered
from onmf.rows.terms import CELLS, DOCUMENTS, EMBEDDED, PICTURES, SAMPLES, Terms

Array = NDArray[Any]
Number = int | Iterable[int] | Literal["auto"] | None

FEATURES_SHOWN = 5  # of each cluster in a table
MOST_TO_CHOOSE = 20_000  # rows on disk from which the number of clusters is chosen


def cluster(
    data: Any,
    k: Number = "auto",
    *,
    prepare: Literal["auto"] | Sequence[Any] | None = "auto",
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
    prepare : "auto", sequence of str or transformers, or None, default="auto"
        Steps, such as ``["depth", "log"]``; None leaves the numbers as they are. "auto" is
        `onmf.prepare.default_preparation`.
    loss : str, default="auto"
        As of `ONMF`; "auto" takes "kl" for counts of words and reads.
    known : array of shape (n_samples,) or dict, optional
        Known classes, -1, None or NaN where unknown; or words that you expect in some clusters, by
        the name of the cluster. They give starting centroids and names, nothing more.
    batch : array of shape (n_samples,) or str, optional
        Batch of each sample, or a column of ``obs``: a note says if clusters are batches, and the
        step "batches" of `prepare` gives features the same mean in all of them.
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
    given = Given.of(data, samples, features, layer)
    batch = given.batches(batch)
    if like is None:
        steps, loss, notes = chosen_steps(given, prepare, loss)
        X: Any = given.X
        for step in steps:
            with_batch = {"batch": batch} if isinstance(step, CenterBatches) else {}
            X = step.fit(X, **with_batch).changed(X, **with_batch)
        if steps and not steps[0].of_texts and given.has_names:
            steps[0].feature_names_in_ = np.array(given.features, object)
    else:
        steps, loss, notes = like.steps, like.onmf.loss, []
        given = given.aligned(like.features, None)
        X = like.prepared(given.X, batch)
    names = feature_names(steps, given.features)
    model = ONMF(loss=loss, random_state=random_state, n_jobs=n_jobs, **onmf)
    choice = None
    if isinstance(k, int | np.integer) or (like is not None and isinstance(k, str | None)):
        model.set_params(n_clusters=k if isinstance(k, int | np.integer) else None)
    elif isinstance(k, str) and k != "auto":
        raise ValueError(f"k must be a number, numbers to choose from, or 'auto', not {k!r}.")
    else:
        among = None if isinstance(k, str) else k
        choice = choose_k(model, some_rows(X), among, n_jobs=n_jobs, progress=progress)
        model.set_params(n_clusters=choice.best_k)
    if like is not None:
        model.set_params(init=like.onmf)
    if known is not None:
        known = known_from_words(X, names, known) if isinstance(known, Mapping) else known
        start = class_means(known)
        model.set_params(init=start, n_clusters=max(int(model.n_clusters or 0), len(start.names)))
    model.fit(X if steps else named(X, names, given.names_of_samples()))
    model.set_params(init="random")  # a pipeline is stored, and fitted again, without what it was
    said = None if batch is None else batch_sentence(model.labels_, batch)
    notes += [] if said is None else [f"{said}."]
    found = Clusters(pipeline_of(steps, model), given, notes, choice)
    return found._explained(X, describe)


def some_rows(X: Any) -> Any:
    """X, or 20,000 of its rows if they are on disk, where the number of clusters is chosen."""
    if not isinstance(X, Source) or X.shape[0] <= MOST_TO_CHOOSE:
        return X
    return X[np.sort(np.random.default_rng(0).permutation(X.shape[0])[:MOST_TO_CHOOSE])]


def chosen_steps(given: Given, prepare: Any, loss: Any) -> tuple[list[Any], Any, list[str]]:
    """Steps that are not fitted yet, the loss, and what was decided."""
    if isinstance(prepare, str) and prepare != "auto":
        raise ValueError(f"prepare must be 'auto', a list of steps or None, not {prepare!r}.")
    default = default_preparation(given.X, given.features, loss=loss)
    if isinstance(prepare, str) and prepare == "auto":
        return default.steps, default.loss, default.notes
    kinds = STEPS | {CenterBatches.name: CenterBatches}
    unknown = [own for own in prepare or () if isinstance(own, str) and own not in kinds]
    if unknown:
        raise ValueError(f"there is no step {unknown[0]!r}, only {', '.join(kinds)}.")
    steps = [kinds[own]() if isinstance(own, str) else clone(own) for own in prepare or ()]
    if given.texts is not None and not any(isinstance(step, Words) for step in steps):
        steps = [*default.steps[:1], *steps]
    counts = given.texts is not None and len(steps) == 1
    return steps, ("kl" if counts else "frobenius") if loss == "auto" else loss, []


def pipeline_of(steps: Sequence[Any], model: ONMF) -> Pipeline:
    """The fitted steps and the fitted model."""
    return Pipeline([*((step.name, step) for step in steps), ("onmf", model)])


def feature_names(steps: Sequence[Any], names: list[str]) -> list[str]:
    """The names of the features after the steps: words, where texts come in."""
    words = next((step for step in steps if isinstance(step, Words)), None)
    return names if words is None else list(words.vocabulary_)


def named(X: Any, names: list[str], samples: Any = None) -> Any:
    """X with the names of its features, if they are more than their numbers."""
    if names == numbered(len(names)):
        return X
    rows = numbered(X.shape[0]) if samples is None else [str(name) for name in samples]
    return Table(X, rows, names)


class Clusters:
    """What `onmf.cluster` found.

    Attributes
    ----------
    model : Pipeline or None
        Preparation steps, then `ONMF`: takes data as they were given. None for labels of others.
    features : list of str
        Names of the features of the data.
    choice : KChoice or None
        The scores over the number of clusters, if it was chosen.
    notes : list of str
        What was decided about the data, and why.
    rows : list of ClusterRow
        What each cluster with samples is worth.
    markers : Markers or None
        The table of distinctive features; None for a single cluster, and after loading.

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
        model: Pipeline | None,
        given: Given,
        notes: Sequence[str] = (),
        choice: KChoice | None = None,
    ) -> None:
        self.model, self.choice, self.notes = model, choice, list(notes)
        self.features, self.terms = given.features, given.terms
        self._given, self._X = given, None
        self._labels: Any = None  # of others
        self.rows: list[ClusterRow] = []
        self.tops: list[list[str]] = []
        self.explanation: Explanation | None = None
        self._rank: Any = "mean"
        self._describe: Any = None
        self.markers: Markers | None = None

    @classmethod
    def of(cls, found: Any, X: Any, *, describe: Any = None, features: Any = None) -> Self:
        """For a fitted `ONMF`, or for labels of others: what makes these clusters.

        Parameters
        ----------
        found : ONMF or array of shape (n_samples,)
            A model, or labels; -1 is no cluster.
        X : as `data` of `cluster`, prepared already
        describe, features : as of `cluster`

        Returns
        -------
        Clusters

        Examples
        --------
        >>> from onmf import Clusters
        >>> X = [[3.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 2.0]]
        >>> Clusters.of(["a", "a", "b", "b"], X).markers.top(1)
        [['0'], ['1']]
        """
        given = Given.of(X, None, features, None)
        if isinstance(found, ONMF):
            own = cls(pipeline_of((), found), given)
            return own._explained(given.X, describe)
        own = cls(None, given)
        own._labels, own._X = np.asarray(found), given.X
        by, names, _ = described(describe, own)
        own.markers = groups(found, given.X if by is None else by, feature_names=names)
        own.tops = own.markers.top(FEATURES_SHOWN)
        return own

    @property
    def onmf(self) -> ONMF:
        """The estimator at the end of the pipeline."""
        if self.model is None:
            raise ValueError("these are labels of others: there is no model.")
        return self.model[-1]

    @property
    def steps(self) -> list[Any]:
        """The fitted preparation steps."""
        return [] if self.model is None else [step for _, step in self.model.steps[:-1]]

    @property
    def labels(self) -> Any:
        """The id of the cluster of each sample, -1 for none; a Series if the data have an index."""
        if self.model is None:
            return self._given.with_index(self._labels, "cluster")
        ids = np.append(self.onmf.cluster_ids_, -1)[self.onmf.labels_]
        return self._given.with_index(ids, "cluster")

    @property
    def names(self) -> dict[int, str]:
        """The name of each cluster, by id."""
        if self.model is None:
            assert self.markers is not None
            return dict(zip(self.markers.clusters, self.markers.names, strict=True))
        return self.onmf.cluster_names_

    @property
    def clusters(self) -> Any:
        """A table: size, name, distinctive features, how much is found again, a note."""
        import pandas as pd

        if not self.rows:
            return pd.DataFrame({"name": self.names}).rename_axis("cluster")
        table = pd.DataFrame(self.rows).set_index("cluster")
        table.insert(2, "features", [", ".join(own) for own in self.tops])
        return table

    @property
    def samples(self) -> Any:
        """A table: cluster, probability, distance, and how unusual each sample is."""
        import pandas as pd

        model, found = self.onmf, self.explanation
        X = self.prepared_samples
        sure = (model.labels_ >= 0) * 1.0 if found is None else found.certainty
        columns = {
            "cluster": np.asarray(self.labels),
            "probability": sure,
            "distance": model.distance(X) if found is None else found.distance,
            "unusual": model.unusual(X),
        }
        return pd.DataFrame(columns, self._given.names_of_samples())

    @property
    def centers(self) -> Array:
        """The centroids (n_clusters, n_features), in the units of the data where steps have one."""
        units = self.steps[-1].units if self.steps else 1.0
        return np.asarray(self.onmf.cluster_centers_ * units)

    def predict(self, new: Any, *, batch: Any = None, missing: Any = None) -> Array:
        """The ids of the clusters of new samples, as they are: the preparation is done here.

        Parameters
        ----------
        new : as `data` of `cluster`
            Columns of a DataFrame or AnnData object are matched by name; others are not used.
        batch : array of shape (n_samples,) or str, optional
            As of `cluster`; without it, means of batches are not corrected.
        missing : float, optional
            What features have that the new samples lack, 0 or NaN; by default they are an error.

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
        ids = np.append(self.onmf.cluster_ids_, -1)
        return np.asarray(ids[self.onmf.predict(self._new(new, batch, missing)[1])])

    def place(self, new: Any, *, batch: Any = None, missing: Any = None) -> Any:
        """The table of `samples` for new samples, with the probability of each cluster.

        Parameters
        ----------
        new, batch, missing : as for `predict`

        Returns
        -------
        DataFrame
            The columns of `samples`, then ``probability_0`` and so on, by the id of the cluster.

        Examples
        --------
        >>> import onmf
        >>> found = onmf.cluster([[3.0, 0.0], [2.0, 0.1], [0.0, 1.0]], 2)
        >>> [*found.place([[0.0, 5.0]])["cluster"]]
        [1]
        """
        import pandas as pd

        given, X = self._new(new, batch, missing)
        model = self.onmf
        P = np.asarray(model.predict_proba(X))
        columns = {
            "cluster": np.append(model.cluster_ids_, -1)[model.predict(X)],
            "probability": P.max(axis=1),
            "distance": model.distance(X),
            "unusual": model.unusual(X),
        }
        more = zip(model.cluster_ids_.tolist(), P.T, strict=True)
        columns |= {f"probability_{number}": own for number, own in more}
        return pd.DataFrame(columns, given.names_of_samples())

    def _new(self, new: Any, batch: Any, missing: Any) -> tuple[Given, Any]:
        """New samples, and what the estimator takes of them."""
        given = Given.of(new, None, None, self._given.layer).aligned(self.features, missing)
        return given, self._fitted_form(self.prepared(given.X, given.batches(batch)))

    def with_samples(
        self,
        data: Any,
        *,
        samples: Sequence[Any] | None = None,
        batch: Any = None,
        describe: Any = None,
    ) -> Self:
        """A loaded result with the samples it was found in, as `page`, `split` and `tree` need.

        Parameters
        ----------
        data, samples, batch, describe : as of `cluster`

        Returns
        -------
        self

        Examples
        --------
        >>> import onmf, pathlib, tempfile
        >>> X = [[3.0, 0.0], [2.0, 0.1], [0.0, 1.0]]
        >>> path = pathlib.Path(tempfile.mkdtemp(), "found.onmf")
        >>> onmf.cluster(X, 2).save(path)
        >>> onmf.load(path).with_samples(X).merge([0, 1])
        Clusters(3 samples in 1 clusters)
        """
        labels = getattr(self.onmf, "labels_", None)
        if labels is None:
            raise ValueError("this result was saved without its labels.")
        given = Given.of(data, samples, None, self.layer).aligned(self.features, None)
        n = len(given.X) if given.texts is not None else given.X.shape[0]
        if n != len(labels):
            raise ValueError(f"there are {n} samples, and {len(labels)} were clustered.")
        self._given = replace(given, terms=self.terms)
        return self._explained(self.prepared(given.X, given.batches(batch)), describe)

    @property
    def layer(self) -> str | None:
        """What of an AnnData object was clustered."""
        return self._given.layer

    @property
    def prepared_samples(self) -> Any:
        """The samples after the steps, with the names of their features."""
        if self._X is None:
            raise ValueError("this result was loaded, without its samples: cluster them again.")
        return self._fitted_form(self._X)

    def _fitted_form(self, X: Any) -> Any:
        """Prepared samples as the estimator was given them: with names, if nothing came before."""
        return X if self.steps else named(X, self.features)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features after the steps: words, for texts."""
        return feature_names(self.steps, self.features)

    def prepared(self, X: Any, batch: Any = None) -> Any:
        """Samples with the features of the data, after the steps."""
        for step in self.steps:
            X = step.changed(X, batch) if isinstance(step, CenterBatches) else step.changed(X)
        return X

    def update(self, new: Any, k: Number = None, **options: Any) -> "Clusters":
        """Old and new samples clustered together, from these clusters, which keep their ids.

        Parameters
        ----------
        new : as `data` of `cluster`
        k : int, iterable of int or "auto", optional
            As of `cluster`, never fewer than there are; None keeps the number.
        **options
            Further parameters of `cluster`.

        Returns
        -------
        Clusters
            Of all samples; of the new ones alone, if the old ones are not in memory.

        Examples
        --------
        >>> import onmf
        >>> from onmf.datasets import make_rays
        >>> X, _ = make_rays(200, 30, 3, random_state=0)
        >>> onmf.cluster(X[:150], 3).update(X[150:])
        Clusters(200 samples in 3 clusters)
        """
        given = Given.of(new, None, None, self._given.layer).aligned(self.features, None)
        if self._given.X is None:  # what was loaded knows its clusters, not its samples
            model = clone_fitted(self.onmf)
            X = self.prepared(given.X)
            model.partial_fit(self._fitted_form(X))
            found = Clusters(pipeline_of(self.steps, model), given, self.notes)
            return found._explained(X, None)
        both = stacked(self._given, given)
        n = len(self.onmf.cluster_centers_)
        if k == "auto":
            choice = choose_k(self.onmf, self.prepared(both.X), range(max(n, 2), 2 * n + 3))
            k = choice.best_k
        return cluster(both, n if k is None else k, like=self, **options)

    def rename(self, names: Mapping[int, str]) -> Self:
        """Give clusters names, by id."""
        self.onmf.rename(names)
        return self._explained(self._X, self._describe) if self._X is not None else self

    def merge(self, clusters: Iterable[int]) -> Self:
        """Make one cluster of several; no other sample moves."""
        self.onmf.merge(clusters)
        return self._explained(self._X, self._describe) if self._X is not None else self

    def split(self, cluster: int, n_clusters: int | Literal["auto"] = 2) -> Self:
        """Cut a cluster into parts by a fit to its samples, which must be in memory."""
        if self._X is None:
            raise ValueError("a cluster is split by its samples, and a loaded result has none.")
        self.onmf.split(cluster, self.prepared_samples, n_clusters=n_clusters)
        return self._explained(self._X, self._describe)

    def tree(self, max_depth: int = 3) -> Any:
        """Clusters of clusters, where there is evidence for them (`onmf.tree.Tree`)."""
        from onmf.tree import build_tree

        return build_tree(
            self.onmf,
            self._X,
            feature_names=self.feature_names,
            max_depth=max_depth,
            rank=self._rank,
        )

    def annotate(self, adata: Any, key_added: str = "onmf") -> None:
        """Write the clusters into an AnnData object, where scanpy's users expect them.

        Parameters
        ----------
        adata : AnnData
            That was clustered, or one with the same observations.
        key_added : str, default="onmf"
            Name of the columns of ``obs``, and of the entries of ``obsm``, ``varm`` and ``uns``.
        """
        from onmf.annotated import write_clusters

        write_clusters(self, adata, key_added)

    def page(
        self, path: str | Path, *, time: Any = None, images: Any = None, classes: Any = None
    ) -> None:
        """Write the page: one HTML file that needs no network, to look at in a browser.

        Parameters
        ----------
        path : str or Path
        time : array of shape (n_samples,), optional
            When each sample was: adds sizes and words of the clusters over time.
        images : pair of int, or three, optional
            Height and width, and 3 for colours, of samples that are images.
        classes : array of shape (n_samples,), optional
            Known classes: adds the confusion table and the scores.

        Examples
        --------
        >>> import onmf, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "page.html")
        >>> onmf.cluster([[3.0, 0.0], [2.0, 0.1], [0.0, 1.0]], 2).page(path)
        >>> path.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        path = Path(path)
        told = self.html(time=time, images=images, classes=classes)
        replace_files(path.parent, {path.name: told})

    def html(
        self, *, time: Any = None, images: Any = None, classes: Any = None, run: Any = None
    ) -> str:
        """The text of the page.

        Parameters
        ----------
        time, images, classes : as for `page`
        run : dict, optional
            What is shown at its end; by default parameters and versions.

        Returns
        -------
        str
        """
        from onmf.page import html
        from onmf.times import periods_of

        model, given, texts = self.onmf, self._given, self.readable(self._given.texts)
        known = None if time is None else periods_of(time, model, self._X, self.feature_names)
        periods, times = known or ((), None)
        texts = as_texts(self._describe) if texts is None else texts
        return html(
            model, self._X, samples=given.names_of_samples(), features=self.feature_names,
            texts=texts, explanation=self.explanation, choice=self.choice, run=run,
            terms=self.terms, truth=classes, images=images, periods=periods, times=times,
        )  # fmt: skip

    def readable(self, texts: Sequence[str] | None) -> Sequence[str] | None:
        """Texts without what the preparation removes, such as headers of mails."""
        first = self.steps[0] if self.steps else None
        return cleaned(texts, first.strip)[0] if texts and isinstance(first, Words) else texts

    def save(self, path: str | Path, *, samples: bool = True) -> None:
        """Write the preparation, the model and what was found into one file, without pickle.

        Parameters
        ----------
        path : str or Path
        samples : bool, default=True
            Whether the labels are kept; a model that saw a stream then keeps its rows, too.
        """
        path = Path(path)
        replace_files(path.parent, {path.name: self.content(samples)})

    def content(self, samples: bool = True) -> bytes:
        """The bytes of the file of `save`."""
        found = {
            "features": self.features,
            "terms": f"{self.terms.sample} {self.terms.feature}",
            "notes": self.notes,
            "rows": [row._asdict() for row in self.rows],
            "tops": self.tops,
            "layer": self._given.layer,
        }
        return model_bytes(self.onmf, samples, self.steps, found)

    def summary(self) -> str:
        """A few lines for a terminal: the clusters, their sizes, names and features."""
        terms: Terms = self.terms
        lines = [repr(self)]
        for row, top in zip(self.rows, self.tops, strict=True):
            note = f" ({row.note})" if row.note else ""
            lines.append(f"{row.cluster:4} {row.samples:8,}  {', '.join(top)}{note}")
        return "\n".join([*lines, *map(terms.say, self.notes)])

    def _explained(self, X: Any, describe: Any) -> Self:
        """With what makes each cluster; the model gets names and the curve of probabilities."""
        self._X, self._describe, model = X, describe, self.onmf
        by, names, words = described(describe, self)
        log_base = 2.0 if self.steps and isinstance(self.steps[-1], Log) else None
        self._rank = "mean" if words is None else "presence"
        options = {"by": by, "feature_names": names, "log_base": log_base, "rank": self._rank}
        found = clusters_or_none(model, self.prepared_samples, **options)
        if found is None:
            return self
        texts = self._given.texts if describe is None else as_texts(describe)
        if words is not None and texts is not None:
            pairs = names_by_pairs(found.markers, found.labels, words.in_order(texts))
        else:
            pairs = short_names(found.markers.top(FEATURES_PER_NAME + 1))
        if not all(map(str.isdecimal, names)):
            own = zip(found.markers.clusters, pairs, strict=True)
            model.names_found_ = as_pairs({number: name for number, name in own if name})
        model.certainty_curve_ = found.calibration.array()
        self.markers = found.markers.renamed(model.cluster_names_)
        self.explanation = found = replace(found, markers=self.markers)
        self.rows = found.clusters()
        place = {own: number for number, own in enumerate(self.markers.clusters)}
        tops = self.markers.top(FEATURES_SHOWN)
        self.tops = [tops[place[row.cluster]] for row in self.rows]
        return self

    def __repr__(self) -> str:
        n, k = len(np.asarray(self.labels)), len(self.names)
        return f"Clusters({n} {self.terms.samples} in {k} {self.terms.clusters})"

    def _repr_html_(self) -> str:
        """A table in a notebook: size, name and distinctive features of each cluster."""
        rows = (
            (row.cluster, row.name, row.samples, f"{row.found_again:.0%}", ", ".join(top), row.note)
            for row, top in zip(self.rows, self.tops, strict=True)
        )
        header = ("cluster", "name", self.terms.samples, "found again", "features", "note")
        return html_table(header, list(rows), repr(self))


def load(path: str | Path) -> Clusters:
    """Read what `Clusters.save` or ``onmf cluster`` wrote; a file of `ONMF.save`, too.

    No pickle is inside: nothing in the file is executed, and a damaged or forged file is refused.
    The samples are not in the file: what needs them, as the page does, needs them again.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Clusters

    Raises
    ------
    FormatError
        A ValueError: the file is no model, is damaged, or was written before version 1.0.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import onmf
    >>> path = pathlib.Path(tempfile.mkdtemp(), "found.onmf")
    >>> onmf.cluster([[3.0, 0.0], [2.0, 0.1], [0.0, 1.0]], 2).save(path)
    >>> onmf.load(path).predict([[0.0, 5.0]])
    array([1])
    """
    stored, path = load_model(path), Path(path)
    model, facts = stored.model, stored.found
    try:
        steps = [restored(step) for step in stored.steps]
        count = steps[0].n_features_in_ if steps and not steps[0].of_texts else model.n_features_in_
        names = getattr(model, "feature_names_in_", numbered(count))
        features = texts_of(facts.get("features", [str(name) for name in names]))
        if not (steps and steps[0].of_texts) and len(features) != count:
            raise ValueError("it has names of other features")
        known = (SAMPLES, DOCUMENTS, EMBEDDED, PICTURES, CELLS)
        words = facts.get("terms", "sample feature")
        terms = {f"{own.sample} {own.feature}": own for own in known}[words]
        given = Given(None, features, None, terms, facts.get("layer"))
        found = Clusters(pipeline_of(steps, model), given, texts_of(facts.get("notes", [])))
        found.rows = [row_of(row) for row in facts.get("rows", [])]
        found.tops = [texts_of(own) for own in facts.get("tops", [])]
        if len(found.rows) != len(found.tops):
            raise ValueError("it has features of other clusters")
    except (ValueError, TypeError, KeyError, AttributeError, re.error) as error:
        raise FormatError(f"{path.name} does not hold a sound result: {error}.") from error
    return found


def restored(stored: dict[str, Any]) -> Any:
    """A fitted step, of the closed list of ours."""
    kinds = STEPS | {CenterBatches.name: CenterBatches}
    if stored["step"] not in kinds:
        raise ValueError(f"there is no step {stored['step']!r}")
    step = kinds[stored["step"]](**stored["params"])
    for name, value in stored["learnt"].items():
        if not (name.isidentifier() and name.endswith("_") and not hasattr(type(step), name)):
            raise ValueError(f"{name!r} is nothing that a step learns")
        setattr(step, name, value)
    step.check()
    return step


def row_of(stored: Any) -> ClusterRow:
    """What a cluster is worth, of the kinds it must be."""
    row = ClusterRow(**stored)
    for value, kind in zip(row, ClusterRow.__annotations__.values(), strict=True):
        if kind is str and not isinstance(value, str):
            raise ValueError("it has a name that is no text")
    return row


def texts_of(stored: Any) -> list[str]:
    if not isinstance(stored, list) or not all(isinstance(one, str) for one in stored):
        raise ValueError("it has names that are no texts")
    return stored


def described(describe: Any, found: Clusters) -> tuple[Any, list[str], Words | None]:
    """Other features that describe the samples, their names, and the words they are."""
    if describe is None:
        words = next((step for step in found.steps if isinstance(step, Words)), None)
        return None, feature_names(found.steps, found.features), words
    texts = as_texts(describe)
    if texts is not None:
        words = Words().fit(texts)
        return words.transform(texts), list(words.vocabulary_), words
    if hasattr(describe, "columns"):
        return describe.to_numpy(), [str(name) for name in describe.columns], None
    X = sp.csr_array(describe) if sp.issparse(describe) else np.asarray(describe)
    return X, numbered(X.shape[1]), None


def clone_fitted(model: ONMF) -> ONMF:
    """A copy that can go on by itself."""
    again = clone(model)
    again.__dict__.update(vars(model))
    return again
