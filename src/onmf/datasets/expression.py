"""Gene expression of tumours with the cancer type of each: TCGA files, or a user's own."""

import csv
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from onmf.datasets.files import DataFile, locate, read_npz_variables
from onmf.io import read_table

NORMAL_TISSUE = "11"
SHOWN = 3  # names that an error lists
DELIMITERS = {".csv": ",", ".tsv": "\t"}
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
        Keep the samples of normal tissue, too.
    repeated : bool, default=False
        Keep the older (GA) measurement of a sample that was also measured on HiSeq.

    Returns
    -------
    Bunch
        `data` of shape (n_samples, n_mirnas), counts; `target`, the cancer types as str;
        `sample_names`, `feature_names`, `sample_type`, `platform` and `DESCR`.

    Examples
    --------
    >>> from onmf.datasets import load_tcga_mirna
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
        Keep the samples of normal tissue, too.

    Returns
    -------
    Bunch
        `data` of shape (n_samples, n_genes); `target`, the cancer types as str; `sample_names`,
        `feature_names`, `sample_type` and `DESCR`.

    Examples
    --------
    >>> from onmf.datasets import load_tcga_rnaseq
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
    """Expression of one's own samples, with the type of each.

    Parameters
    ----------
    matrix : path
        A .csv or .tsv file of genes x samples with the names of the samples in its first line and
        those of the genes in its first column, or an .h5ad file.
    types : path or mapping
        A .csv or .tsv table with a header: the name of a sample in the first column, its type in
        the second. A name may be the beginning of a sample's name, as a TCGA patient's barcode is
        of that of the sample. A mapping gives the same. For an .h5ad file it may be the name of a
        column of `obs` instead.
    column : str, optional
        Heading of the types, if they are not in the second column.
    samples_in : {"columns", "rows"}, default="columns"
        "rows" if a text file has a line for each sample instead of one for each gene.

    Returns
    -------
    Bunch
        `data` of shape (n_samples, n_genes), the samples that have a type; `target`, the types as
        str; `sample_names`, `feature_names`, `untyped`, the names left out, and `DESCR`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onmf.datasets import load_expression
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "genes.csv").write_text("gene,s1,s2,s3\\nTP53,1,2,3\\nEGFR,0,0.5,4\\n")
    >>> _ = (folder / "types.csv").write_text("sample,type\\ns1,BRCA\\ns3,LUAD\\n")
    >>> tumours = load_expression(folder / "genes.csv", folder / "types.csv")
    >>> tumours.data, tumours.target
    (array([[1., 0.], [3., 4.]]), array(['BRCA', 'LUAD'], dtype='<U4'))
    """
    if samples_in not in ("columns", "rows"):
        raise ValueError(f"samples_in must be 'columns' or 'rows', got {samples_in!r}.")
    matrix = Path(matrix)
    annotated = matrix.suffix.lower() == ".h5ad"
    X, samples, genes, _ = read_table(matrix, transpose=samples_in == "columns" and not annotated)
    X = X if sp.issparse(X) else np.ascontiguousarray(X)
    if isinstance(types, Mapping):
        known = types
    elif annotated and not Path(types).is_file():
        values = import_module("onmf.io.hdf5").read_observations(matrix, str(types))
        known = {name: kind for name, kind in zip(samples, values, strict=True) if kind is not None}
    else:
        known = _read_types(Path(types), column)
    kinds = _match_types(samples, known)
    kept = np.flatnonzero([name is not None for name in kinds])
    if not len(kept):
        raise ValueError(
            f"No sample of {matrix.name} ({', '.join(samples[:SHOWN])}, ...) has a type among "
            f"{', '.join(list(known)[:SHOWN])}, ...: name the samples alike in both, and check "
            "samples_in."
        )
    return Bunch(
        data=X[kept],
        target=np.array([kinds[i] for i in kept]),
        sample_names=np.array(samples)[kept],
        feature_names=np.array(genes),
        untyped=[name for name, kind in zip(samples, kinds, strict=True) if kind is None],
        DESCR=load_expression.__doc__,
    )


def _match_types(samples: list[str], types: Mapping[str, str]) -> list[str | None]:
    """The type of each sample: under its own name, or the longest known beginning of it."""
    lengths = sorted({len(name) for name in types}, reverse=True)

    def kind(sample: str) -> str | None:
        starts = (sample[:n] for n in lengths if n <= len(sample))
        return next((types[start] for start in starts if start in types), None)

    return [kind(sample) for sample in samples]


def _read_types(path: Path, column: str | None) -> dict[str, str]:
    """Name and type of each sample in a text table with a header."""
    if path.suffix.lower() not in DELIMITERS:
        raise ValueError(f"{path.name} does not end in .csv or .tsv.")
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()])
    if len(header) < 2 or (column is not None and column not in header):
        wanted = "second column" if column is None else f"column {column!r}"
        raise ValueError(f"{path.name} has no {wanted}; its header is {', '.join(header)}.")
    place = 1 if column is None else header.index(column)
    return {row[0]: row[place] for row in rows if len(row) > place and row[place]}
