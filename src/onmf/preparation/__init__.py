"""What is done to the data before they are clustered.

Steps that travel with a model (`steps`), and the transformers of the paper's data (`transformers`).
"""

from onmf.preparation.transformers import SpectralReduction, log_expression, select_genes, tfidf

__all__ = ["SpectralReduction", "log_expression", "select_genes", "tfidf"]
