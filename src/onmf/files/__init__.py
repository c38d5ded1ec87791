"""Files: the container of models, replacement of all files or none, locks, checksums."""

from onmf.files.checksums import checksum, visible_files
from onmf.files.output import (
    Content,
    FolderInUseError,
    finish_replacement,
    place_for,
    replace_files,
    replace_together,
    seal_files,
    to_json_values,
)

__all__ = [
    "Content",
    "FolderInUseError",
    "checksum",
    "finish_replacement",
    "place_for",
    "replace_files",
    "replace_together",
    "seal_files",
    "to_json_values",
    "visible_files",
]
