"""Gene expression of tumours with known cancer types: TCGA files, or files of the user."""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from onmf.datasets.files import DataFile, locate, read_npz_variables
from onmf.io import read_table
from onmf.io.delimited import text_cells
from onmf.io.table import Options

NORMAL_TISSUE = "11"  # the sample type of TCGA
NAMES_SHOWN = 3  # in an error
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
        Keep the samples of normal tissue as well.

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
    """Gene expression from files of the user, with the type of each sample.

    Parameters
    ----------
    matrix : path
        A .csv or .tsv file of genes x samples, with sample names in its first line and gene names
        in its first column; or an .h5ad file.
    types : path or mapping
        A .csv or .tsv table with a header, sample names in the first column and types in the
        second; or a mapping. A name may be the first part of a sample name, as the barcode of a
        TCGA patient is. For an .h5ad file also the name of a column of `obs`.
    column : str, optional
        Heading of the column of types, if it is not the second.
    samples_in : {"columns", "rows"}, default="columns"
        "rows" if a text file has one line per sample instead of one per gene.

    Returns
    -------
    Bunch
        `data` of shape (n_samples, n_genes), only samples with a type; `target`, the types as str;
        `sample_names`, `feature_names`, `untyped`, the names of the other samples, and `DESCR`.

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
            f"No sample of {matrix.name} ({', '.join(samples[:NAMES_SHOWN])}, ...) has a type, as "
            f"{', '.join(list(known)[:NAMES_SHOWN])}, ... have: use the same names in both files, "
            "and check samples_in."
        )
    return Bunch(
        data=X[kept],
        target=np.array([kinds[i] for i in kept]),
        sample_names=np.array(samples)[kept],
        feature_names=np.array(genes),
        untyped=[name for name, kind in zip(samples, kinds, strict=True) if kind is None],
        DESCR=load_expression.__doc__,
    )


def _match_types(samples: Sequence[str], types: Mapping[str, str]) -> list[str | None]:
    """The type of each sample: by its name, or by the longest known first part of it."""
    lengths = sorted({len(name) for name in types}, reverse=True)

    def kind(sample: str) -> str | None:
        starts = (sample[:n] for n in lengths if n <= len(sample))
        return next((types[start] for start in starts if start in types), None)

    return [kind(sample) for sample in samples]


def _read_types(path: Path, column: str | None) -> dict[str, str]:
    """The type of each sample, from a text table with a header."""
    if path.suffix.lower() not in (".csv", ".tsv"):
        raise ValueError(f"{path.name} does not end in .csv or .tsv.")
    header, *rows = (cells for _, cells in text_cells(path, Options()))
    if len(header) < 2 or (column is not None and column not in header):
        wanted = "second column" if column is None else f"column {column!r}"
        raise ValueError(f"{path.name} has no {wanted}; its header is {', '.join(header)}.")
    place = 1 if column is None else header.index(column)
    return {row[0]: row[place] for row in rows if len(row) > place and row[place]}
