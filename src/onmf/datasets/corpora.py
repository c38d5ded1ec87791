"""Term counts of documents with known topics: TDT2 and 20 Newsgroups."""

import os

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from onmf.datasets.files import DataFile, locate, read_mat_variables

TDT2 = DataFile(
    "tdt2/TDT2_all.mat",
    "Get TDT2_all.mat from the folder applications/document_clustering of "
    "https://github.com/hiroyuki-kasai/NMFLibrary and keep its name.",
)
NEWSGROUPS = DataFile(
    "20newsgroups/20newsgroups.mat",
    "Get 20newsgroups.mat from the folder data of "
    "https://github.com/sanghosuh/lens_nmf-matlab and keep its name.",
)


def load_tdt2(path: str | os.PathLike[str] | None = None, *, smallest: int = 1) -> Bunch:
    """Term counts of 10212 news documents in 96 categories (Deng Cai's TDT2).

    Parameters
    ----------
    path : path, optional
        The file TDT2_all.mat or its folder; None takes tdt2/TDT2_all.mat below ONMF_DATA.
    smallest : int, default=1
        Leave out categories with fewer documents. The paper uses the 56 with at least 10.

    Returns
    -------
    Bunch
        `data`, a csr_array of shape (n_documents, n_terms); `target`, the category of each
        document, 1 to 96; `DESCR`. The file has no words.

    Examples
    --------
    >>> from onmf.datasets import load_tdt2
    >>> load_tdt2("elsewhere/TDT2_all.mat")
    Traceback (most recent call last):
    FileNotFoundError: There is no file elsewhere/TDT2_all.mat. Get TDT2_all.mat from the folder ...
    """
    raw = read_mat_variables(locate(TDT2, path), ["fea", "gnd"])
    X, y = sp.csr_array(raw["fea"], dtype=float), raw["gnd"].ravel().astype(int)
    _, place, sizes = np.unique(y, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(sizes[place] >= smallest)
    return Bunch(data=X[kept], target=y[kept], DESCR=load_tdt2.__doc__)


def load_newsgroups(path: str | os.PathLike[str] | None = None) -> Bunch:
    """Term counts of 18221 messages in 20 newsgroups, with the words.

    Parameters
    ----------
    path : path, optional
        The file 20newsgroups.mat or its folder; None takes 20newsgroups/20newsgroups.mat below
        ONMF_DATA.

    Returns
    -------
    Bunch
        `data`, a csr_array of shape (n_messages, n_terms); `target`, the group of each message, 1
        to 20; `feature_names`, the words; `DESCR`.

    Examples
    --------
    >>> from onmf.datasets import load_newsgroups
    >>> load_newsgroups("elsewhere/20newsgroups.mat")
    Traceback (most recent call last):
    FileNotFoundError: There is no file elsewhere/20newsgroups.mat. Get 20newsgroups.mat from ...
    """
    raw = read_mat_variables(locate(NEWSGROUPS, path), ["A", "vocab", "gnd3"])
    return Bunch(
        data=sp.csr_array(raw["A"], dtype=float),
        target=raw["gnd3"].ravel().astype(int),
        feature_names=np.array([str(own[0]) if own.size else "" for own in raw["vocab"].ravel()]),
        DESCR=load_newsgroups.__doc__,
    )
