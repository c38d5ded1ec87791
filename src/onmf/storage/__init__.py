"""Fitted models in files: arrays and JSON, never a pickle."""

from onmf.storage.container import FORMAT, FormatError
from onmf.storage.model import Saved, read_model, write_model

__all__ = ["FORMAT", "FormatError", "Saved", "read_model", "write_model"]
