"""Names of clusters: those that a person gave, else those that were found.

    name of cluster i = given[i], else found[i], else "cluster i"

Both are kept by id, as pairs, so that a name stays with its cluster whatever becomes of the others.
`names_given_` is set by `rename`, `names_found_` by whoever compared the clusters.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from onmf.estimators.predictor import PredictMixin
from onmf.result import cluster_ids, known_names
from onmf.rows.table import listing, one_line

Names = tuple[tuple[int, str], ...]
MOST_CHARACTERS = 200  # of a name: it stands in a column of a table and on a map
ATTRIBUTES = ("names_given_", "names_found_")


class NamingMixin(PredictMixin):
    """Clusters with names."""

    names_given_: Names
    names_found_: Names

    @property
    def cluster_names_(self) -> dict[int, str]:
        """The name of each cluster, by its id: see `rename`."""
        ids = cluster_ids(self)  # an AttributeError before the fit, as of any attribute
        return {i: f"cluster {i}" for i in ids} | known_names(self)

    def rename(self, names: Mapping[int, str]) -> Self:
        """Give clusters names of your own.

        A name belongs to the id of its cluster. It stays through `partial_fit`, `save` and `load`,
        and in a fit that starts from this model (`init=model`).

        Parameters
        ----------
        names : dict of int to str
            By ids of clusters, as in `cluster_ids_`. An empty name removes the one given before.

        Returns
        -------
        self

        Examples
        --------
        >>> from onmf import ONMF
        >>> model = ONMF(n_clusters=2, random_state=0).fit([[3, 0], [2, 0], [0, 1]])
        >>> model.rename({1: "Motor sport"}).cluster_names_
        {0: 'cluster 0', 1: 'Motor sport'}
        """
        self._check_fitted()
        known = cluster_ids(self)
        if unknown := [i for i in names if i not in known]:
            raise ValueError(
                f"there is no cluster {listing(unknown)}: the ids are {', '.join(map(str, known))}."
            )
        given = dict(getattr(self, "names_given_", ()))
        given |= {int(i): checked_name(name) for i, name in names.items()}
        self.names_given_ = tuple(sorted((i, name) for i, name in given.items() if name))
        return self


def checked_name(name: Any) -> str:
    """A name in one line, without what a terminal would obey."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a cluster must be text, not {name!r}.")
    plain = one_line(name).strip()
    if len(plain) > MOST_CHARACTERS:
        raise ValueError(
            f"a name has at most {MOST_CHARACTERS} characters, this one {len(plain)}: shorten it."
        )
    return plain


def as_pairs(names: Mapping[int, str]) -> Names:
    """Names as a model keeps them."""
    return tuple((int(i), str(name)) for i, name in names.items())


def check_names(attributes: Mapping[str, Any]) -> None:
    """Names from a file are pairs of an id and a text."""
    for attribute in ATTRIBUTES:
        pairs: Iterable[Any] = attributes.get(attribute, ())
        if not isinstance(pairs, tuple) or not all(
            isinstance(pair, tuple) and [type(part) for part in pair] == [int, str]
            for pair in pairs
        ):
            raise ValueError("its names of clusters are not text by id.")
