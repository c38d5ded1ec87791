"""Clusters of an AnnData object, stored where scanpy's users expect them."""

from onmf.cells.clustering import cluster_anndata
from onmf.cells.writing import CellFit, annotated

__all__ = ["CellFit", "annotated", "cluster_anndata"]
