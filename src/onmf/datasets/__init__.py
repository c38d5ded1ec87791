"""Data with known clusters: synthetic, or from files of the user."""

from onmf.datasets.corpora import load_newsgroups, load_tdt2
from onmf.datasets.expression import load_expression, load_tcga_mirna, load_tcga_rnaseq
from onmf.datasets.synthetic import make_paper_synthetic, make_rays, make_three_rays

__all__ = [
    "load_expression",
    "load_newsgroups",
    "load_tcga_mirna",
    "load_tcga_rnaseq",
    "load_tdt2",
    "make_paper_synthetic",
    "make_rays",
    "make_three_rays",
]
