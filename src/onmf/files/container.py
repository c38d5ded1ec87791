"""One file of named arrays and a header: a saved model.

    an uncompressed zip archive:  model.json, then <name>.npy for each array

    model.json = {"format": "onmf model", "version": 1, "arrays": {name: {"dtype": "<f8",
                  "shape": [20, 300], "sha256": "..."}}, ... more by the writer}

`numpy.load(path)` reads the arrays, any zip program the header. Nothing is compressed, so every
declared size is compared with that of the file before memory is allocated. Nothing is extracted to
disk, and nothing is executed.
"""

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from onmf.exceptions import FormatError
from onmf.rows.npy import COPY_BUFFER, read_array
from onmf.rows.table import DAMAGE, Array

CONTAINER_VERSION = 1  # raised when an older program could misread a newer file
MODEL = "onmf model"
HEADER_FILE = "model.json"
STORED_DTYPES = {"<f8", "<f4", "<i8", "<i4", "<u8", "|b1"}
MOST_MEMBERS = 1000  # arrays in a file; a model has about 20
ENCRYPTED_BIT = 1  # of the flags of a zip member


class Container(NamedTuple):
    """What a file holds."""

    header: dict[str, Any]
    arrays: dict[str, Array]


class _Digest:
    """A file-like object that only computes the SHA-256 and the length."""

    def __init__(self) -> None:
        self.sha256, self.size = hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        self.size += len(data)
        return len(data)


def write_container(
    file: IO[bytes], kind: str, header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write a file; the same content gives the same bytes.

    Arrays are written piece by piece, so memory maps are not copied into memory.
    """
    stored = {name: _lowest_byte_first(array) for name, array in arrays.items()}
    digests = {name: _Digest() for name in stored}
    for name, array in stored.items():
        npy.write_array(digests[name], array, allow_pickle=False)
    facts = {
        name: {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "sha256": digests[name].sha256.hexdigest(),
        }
        for name, array in stored.items()
    }
    head = {"format": kind, "version": CONTAINER_VERSION, **header, "arrays": facts}
    with ZipFile(file, "w", ZIP_STORED) as archive:  # dated 1980, so that runs can be compared
        text = json.dumps(head, indent=1, allow_nan=False)
        archive.writestr(ZipInfo(HEADER_FILE), text.encode("ascii"))
        for name, array in stored.items():
            info = ZipInfo(f"{name}.npy")
            info.file_size = digests[name].size
            with archive.open(info, "w") as member:
                npy.write_array(member, array, allow_pickle=False)


def container_bytes(kind: str, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of such a file."""
    file = io.BytesIO()
    write_container(file, kind, header, arrays)
    return file.getvalue()


def _lowest_byte_first(array: Array) -> Array:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def read_container(path: Path, kind: str) -> Container:
    """The content of a file, after all checks."""
    if path.exists() and not (path.is_file() or path.is_dir()):  # it could be read for ever
        raise FormatError(f"{path.name} is not a model: it is a pipe or a device.")
    with path.open("rb") as file:
        try:
            with ZipFile(file) as archive:
                members = _checked_members(archive, os.fstat(file.fileno()).st_size)
                header = _checked_header(archive, members, kind)
                arrays = {
                    name: _checked_array(archive, members[f"{name}.npy"], fact)
                    for name, fact in header["arrays"].items()
                }
        except FormatError as error:
            raise FormatError(f"{path.name} {error}") from None
        except DAMAGE as error:
            raise FormatError(f"{path.name} is not a model, or is damaged: {error}") from error
    return Container(header, arrays)


def _checked_members(archive: ZipFile, size: int) -> dict[str, ZipInfo]:
    """The members by name; none compressed, together no larger than the file."""
    listed = archive.infolist()
    members = {member.filename: member for member in listed}
    if len(listed) > MOST_MEMBERS or len(members) != len(listed) or HEADER_FILE not in members:
        raise FormatError("is not a model: it has no header, or members of the same name.")
    for name, member in members.items():
        stored = member.compress_type == ZIP_STORED and member.compress_size == member.file_size
        if member.flag_bits & ENCRYPTED_BIT or not stored:
            raise FormatError(f"is not a model: its member {name!r} is compressed or encrypted.")
    if sum(member.file_size for member in listed) > size:
        raise FormatError(f"is damaged: its members are larger than its {size} bytes.")
    return members


def _checked_header(archive: ZipFile, members: Mapping[str, ZipInfo], kind: str) -> dict[str, Any]:
    """The header, of a known format and version, which lists exactly the members."""
    try:
        header = json.loads(archive.read(members[HEADER_FILE]), parse_constant=_refuse)
    except RecursionError:
        raise FormatError("has a header that is nested too deeply.") from None
    if not isinstance(header, dict) or header.get("format") != kind:
        raise FormatError("is not a model of onmf.")
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise FormatError(f"has an unknown format version, {version!r}.")
    if version > CONTAINER_VERSION:
        raise FormatError(
            f"was written by a newer onmf (format {version}; this one reads up to "
            f"{CONTAINER_VERSION}): upgrade onmf, or save the model with the older one."
        )
    facts = header.get("arrays")
    if not isinstance(facts, dict) or {HEADER_FILE, *(f"{name}.npy" for name in facts)} != set(
        members
    ):
        raise FormatError("is damaged: its header does not list its members.")
    return header


def _refuse(constant: str) -> None:
    raise FormatError(f"has {constant} in its header.")


def _checked_array(archive: ZipFile, member: ZipInfo, fact: Any) -> Array:
    """The array; type, shape and checksum must be those of the header."""
    digest = hashlib.sha256()
    with archive.open(member) as file:
        while part := file.read(COPY_BUFFER):
            digest.update(part)
    if not isinstance(fact, dict) or digest.hexdigest() != fact.get("sha256"):
        raise FormatError(f"is damaged: {member.filename} does not match its checksum.")
    with archive.open(member) as file:
        array = read_array(file, member.file_size)
    dtype = _lowest_byte_first(array).dtype.str
    if dtype not in STORED_DTYPES or dtype != fact.get("dtype"):
        raise FormatError(f"has an array of the wrong type, {array.dtype}: {member.filename}.")
    if list(array.shape) != fact.get("shape"):
        raise FormatError(f"has an array of the wrong shape, {array.shape}: {member.filename}.")
    return array
