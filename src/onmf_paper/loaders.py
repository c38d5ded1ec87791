"""The paper's real data, from files of the user: at a path, or in their place below ONMF_DATA.

Nothing is downloaded. TDT2 and 20 Newsgroups are counts of words of documents with known topics;
the TCGA files are expression of tumours with known cancer types.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import Bunch

Array = NDArray[Any]

NORMAL_TISSUE = "11"  # the sample type of TCGA
NAMES_SHOWN = 3  # in an error


class DataFile(NamedTuple):
    """The place of a file below ONMF_DATA, and how to get it."""

    place: str
    advice: str


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
MIRNA = DataFile(
    "tcga_mirnaseq_pancancer/mirna_common_33cohorts.npz",
    "Make it from the read counts of https://github.com/bioc/RTCGA.miRNASeq (data/*.rda): "
    "numpy.savez_compressed('mirna_common_33cohorts.npz', counts=, cancer_type=, sample_type=, "
    "platform=, mirna=, barcode=), samples x miRNAs, text as arrays of str.",
)
RNASEQ = DataFile(
    "tcga_rnaseq_6types/tcga_rnaseq_rsem.npz",
    "Make it from https://github.com/RTCGA/RTCGA.rnaseq.20160128 (data/*.rda): "
    "numpy.savez_compressed('tcga_rnaseq_rsem.npz', rsem=, cancer_type=, sample_type=, gene=, "
    "barcode=), samples x genes, text as arrays of str.",
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
    >>> from onmf_paper.loaders import load_tdt2
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
    >>> from onmf_paper.loaders import load_newsgroups
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


def load_tcga_mirna(
    path: str | os.PathLike[str] | None = None, *, normal: bool = False, repeated: bool = False
) -> Bunch:
    """MicroRNA read counts of TCGA samples of 33 cancer types.

    Parameters
    ----------
    path : path, optional
        The file mirna_common_33cohorts.npz or its folder; None takes it from the folder
        tcga_mirnaseq_pancancer below ONMF_DATA.
    normal : bool, default=False
        Keep the samples of normal tissue as well.
    repeated : bool, default=False
        Keep the older (GA) measurement of a sample that was also measured on HiSeq.

    Returns
    -------
    Bunch
        `data` of shape (n_samples, n_mirnas), counts; `target`, the cancer types as str;
        `sample_names`, `feature_names`, `sample_type`, `platform` and `DESCR`.

    Examples
    --------
    >>> from onmf_paper.loaders import load_tcga_mirna
    >>> load_tcga_mirna("elsewhere")
    Traceback (most recent call last):
    FileNotFoundError: There is no file elsewhere. Make it from the read counts of ...
    """
    names = ["counts", "cancer_type", "barcode", "sample_type", "platform", "mirna"]
    raw = read_npz_variables(locate(MIRNA, path), names)
    _, place, times = np.unique(raw["barcode"], return_inverse=True, return_counts=True)
    kept = np.ones(len(place), dtype=bool) if normal else raw["sample_type"] != NORMAL_TISSUE
    if not repeated:
        kept &= (times[place] == 1) | (raw["platform"] != "GA")
    return Bunch(
        data=raw["counts"][kept].astype(float),
        target=raw["cancer_type"][kept],
        sample_names=raw["barcode"][kept],
        feature_names=raw["mirna"],
        sample_type=raw["sample_type"][kept],
        platform=raw["platform"][kept],
        DESCR=load_tcga_mirna.__doc__,
    )


def load_tcga_rnaseq(path: str | os.PathLike[str] | None = None, *, normal: bool = False) -> Bunch:
    """Gene expression (RSEM, linear scale) of TCGA samples of six cancer types.

    Parameters
    ----------
    path : path, optional
        The file tcga_rnaseq_rsem.npz or its folder; None takes it from the folder
        tcga_rnaseq_6types below ONMF_DATA.
    normal : bool, default=False
        Keep the samples of normal tissue as well.

    Returns
    -------
    Bunch
        `data` of shape (n_samples, n_genes); `target`, the cancer types as str; `sample_names`,
        `feature_names`, `sample_type` and `DESCR`.

    Examples
    --------
    >>> from onmf_paper.loaders import load_tcga_rnaseq
    >>> load_tcga_rnaseq("elsewhere")
    Traceback (most recent call last):
    FileNotFoundError: There is no file elsewhere. Make it from ...
    """
    names = ["rsem", "cancer_type", "barcode", "sample_type", "gene"]
    raw = read_npz_variables(locate(RNASEQ, path), names)
    kept = np.ones(len(raw["rsem"]), dtype=bool) if normal else raw["sample_type"] != NORMAL_TISSUE
    return Bunch(
        data=raw["rsem"][kept].astype(float),
        target=raw["cancer_type"][kept],
        sample_names=raw["barcode"][kept],
        feature_names=raw["gene"],
        sample_type=raw["sample_type"][kept],
        DESCR=load_tcga_rnaseq.__doc__,
    )


def load_expression(
    matrix: str | os.PathLike[str],
    types: str | os.PathLike[str] | Mapping[str, str],
    *,
    column: str | None = None,
    samples_in: str = "columns",
) -> Bunch:
    """Gene expression from files of the user, with the type of each sample.

    Parameters
    ----------
    matrix : path
        A .csv or .tsv file of genes x samples, with sample names in its first line and gene names
        in its first column.
    types : path or mapping
        A .csv or .tsv table with a header, sample names in the first column and types in the
        second; or a mapping. A name may be the first part of a sample name, as the barcode of a
        TCGA patient is.
    column : str, optional
        Heading of the column of types, if it is not the second.
    samples_in : {"columns", "rows"}, default="columns"
        "rows" if the file has one line per sample instead of one per gene.

    Returns
    -------
    Bunch
        `data` of shape (n_samples, n_genes), only samples with a type; `target`, the types as str;
        `sample_names`, `feature_names`, `untyped`, the names of the other samples, and `DESCR`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onmf_paper.loaders import load_expression
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "genes.csv").write_text("gene,s1,s2,s3\\nTP53,1,2,3\\nEGFR,0,0.5,4\\n")
    >>> _ = (folder / "types.csv").write_text("sample,type\\ns1,BRCA\\ns3,LUAD\\n")
    >>> tumours = load_expression(folder / "genes.csv", folder / "types.csv")
    >>> tumours.data, tumours.target
    (array([[1., 0.], [3., 4.]]), array(['BRCA', 'LUAD'], dtype='<U4'))
    """
    if samples_in not in ("columns", "rows"):
        raise ValueError(f"samples_in must be 'columns' or 'rows', got {samples_in!r}.")
    table = read_table(Path(matrix)).astype(float)
    table = table.T if samples_in == "columns" else table
    samples = [str(name) for name in table.index]
    known = types if isinstance(types, Mapping) else read_types(Path(types), column)
    kinds = match_types(samples, known)
    kept = np.flatnonzero([kind is not None for kind in kinds])
    if not len(kept):
        raise ValueError(
            f"No sample of {Path(matrix).name} ({', '.join(samples[:NAMES_SHOWN])}, ...) has a "
            f"type, as {', '.join(list(known)[:NAMES_SHOWN])}, ... have: use the same names in "
            "both files, and check samples_in."
        )
    return Bunch(
        data=np.ascontiguousarray(table.to_numpy()[kept]),
        target=np.array([kinds[i] for i in kept]),
        sample_names=np.array(samples)[kept],
        feature_names=np.array([str(name) for name in table.columns]),
        untyped=[name for name, kind in zip(samples, kinds, strict=True) if kind is None],
        DESCR=load_expression.__doc__,
    )


def read_table(path: Path) -> pd.DataFrame:
    """A text table whose first column has the names of its rows."""
    if path.suffix.lower() not in (".csv", ".tsv"):
        raise ValueError(f"{path.name} does not end in .csv or .tsv.")
    with path.open("rb") as stream:
        mark = "," if path.suffix.lower() == ".csv" else "\t"
        return pd.read_csv(stream, sep=mark, index_col=0)


def match_types(samples: Sequence[str], types: Mapping[str, str]) -> list[str | None]:
    """The type of each sample: by its name, or by the longest known first part of it."""
    lengths = sorted({len(name) for name in types}, reverse=True)

    def kind(sample: str) -> str | None:
        starts = (sample[:n] for n in lengths if n <= len(sample))
        return next((types[start] for start in starts if start in types), None)

    return [kind(sample) for sample in samples]


def read_types(path: Path, column: str | None) -> dict[str, str]:
    """The type of each sample, from a text table with a header."""
    table = read_table(path)
    names = [str(name) for name in table.columns]
    if not names or (column is not None and column not in names):
        wanted = "second column" if column is None else f"column {column!r}"
        header = ", ".join([str(table.index.name), *names])
        raise ValueError(f"{path.name} has no {wanted}; its header is {header}.")
    known = table[names[0] if column is None else column].dropna()
    return {str(name): str(kind) for name, kind in known.items()}


def locate(wanted: DataFile, path: str | os.PathLike[str] | None) -> Path:
    """The path of a file; the error for a missing file says where to get it.

    `path` is the file, or a folder that has it under its usual name. None looks below the folder in
    the environment variable ONMF_DATA.
    """
    name = Path(wanted.place).name
    if path is None and "ONMF_DATA" not in os.environ:
        raise FileNotFoundError(
            f"The path of {name} is unknown: pass it, or set ONMF_DATA to a folder that has "
            f"{wanted.place}. {wanted.advice}"
        )
    where = Path(os.environ["ONMF_DATA"], wanted.place) if path is None else Path(path)
    where = where / name if where.is_dir() else where
    if not where.is_file():
        raise FileNotFoundError(f"There is no file {where}. {wanted.advice}")
    return where


def read_mat_variables(path: Path, names: list[str]) -> dict[str, Any]:
    """Variables of a MATLAB file (version 4 to 7.2)."""
    try:
        with warnings.catch_warnings():
            # Callers take sparse arrays and matrices alike; old SciPy has no `spmatrix=False`.
            warnings.filterwarnings("ignore", ".*`spmatrix`", DeprecationWarning)
            raw = scipy.io.loadmat(path, variable_names=names)
    except (ValueError, TypeError, NotImplementedError, scipy.io.matlab.MatReadError) as error:
        raise ValueError(f"{path} is not a MATLAB file of version 7 or before: {error}") from error
    return require(raw, names, path)


def read_npz_variables(path: Path, names: list[str]) -> dict[str, Array]:
    """Arrays of a .npz file; pickled objects are refused."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as raw:
            return require({name: raw[name] for name in names if name in raw}, names, path)
    except (ValueError, EOFError, BadZipFile, AttributeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def require(raw: dict[str, Any], names: list[str], path: Path) -> dict[str, Any]:
    """The variables of these names; none may be missing."""
    missing = [name for name in names if name not in raw]
    if missing:
        raise ValueError(f"{path} has no variable {', '.join(missing)}.")
    return {name: raw[name] for name in names}
