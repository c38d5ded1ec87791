"""One file of named arrays and a header.

    an uncompressed zip archive:  model.json, then <name>.npy for each array

    model.json = {"format": "onmf model", "version": 1, "arrays": {name: {"dtype": "<f8",
                  "shape": [20, 300], "sha256": "..."}}, ... whatever the writer adds}

`numpy.load(path)` reads the arrays, any zip program shows the rest. As nothing is compressed, a
file cannot hold more than its own size, and every size is compared with it before memory is spent;
nothing is ever extracted to disk, and nothing in it is executed.
"""

import hashlib
import io
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from onmf.io.npy import read_array

Array = NDArray[Any]

FORMAT = 1  # raised when an older program could misread what a newer one writes
KIND = "onmf model"
HEADER = "model.json"
DTYPES = {"<f8", "<f4", "<i8"}
MOST_MEMBERS = 1000
ENCRYPTED = 1
DAMAGE = (BadZipFile, NotImplementedError, EOFError, KeyError, OSError, OverflowError, RuntimeError,
          ValueError, struct.error)  # fmt: skip


class FormatError(ValueError):
    """A file that is no model, is damaged, or is of a version that this program cannot read."""


class Container(NamedTuple):
    """What a file holds."""

    header: dict[str, Any]
    arrays: dict[str, Array]


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of the file; the same for the same content."""
    files = {f"{name}.npy": array_bytes(array) for name, array in arrays.items()}
    facts = {
        name: {
            "dtype": plain(array).dtype.str,
            "shape": list(array.shape),
            "sha256": hashlib.sha256(files[f"{name}.npy"]).hexdigest(),
        }
        for name, array in arrays.items()
    }
    head = {"format": KIND, "version": FORMAT, **header, "arrays": facts}
    text = json.dumps(head, indent=1, allow_nan=False).encode("ascii")
    whole = io.BytesIO()
    with ZipFile(whole, "w", ZIP_STORED) as archive:
        for name, content in {HEADER: text, **files}.items():
            archive.writestr(ZipInfo(name), content)  # dated 1980, so that runs can be compared
    return whole.getvalue()


def plain(array: Array) -> Array:
    """In one of the few types that are stored, lowest byte first."""
    kind = "<i8" if array.dtype.kind in "iu" else "<f4" if array.dtype == np.float32 else "<f8"
    return np.ascontiguousarray(array, kind)


def array_bytes(array: Array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, plain(array), allow_pickle=False)
    return stream.getvalue()


def unpack(path: Path) -> Container:
    """What the file holds, once everything about it has been compared with everything else."""
    with path.open("rb") as file:
        try:
            with ZipFile(file) as archive:
                members = checked_members(archive, os.fstat(file.fileno()).st_size)
                header = checked_header(archive, members)
                arrays = {
                    name: checked_array(archive, members[f"{name}.npy"], fact)
                    for name, fact in header["arrays"].items()
                }
        except FormatError as error:
            raise FormatError(f"{path.name} {error}") from None
        except DAMAGE as error:
            raise FormatError(f"{path.name} is not a model, or is damaged: {error}") from error
    return Container(header, arrays)


def checked_members(archive: ZipFile, size: int) -> dict[str, ZipInfo]:
    """The members by name: plain, not compressed, and together no larger than the file."""
    listed = archive.infolist()
    members = {member.filename: member for member in listed}
    if len(listed) > MOST_MEMBERS or len(members) != len(listed) or HEADER not in members:
        raise FormatError("is not a model: it has no header, or members of the same name.")
    for name, member in members.items():
        plain_size = member.file_size if member.compress_type == ZIP_STORED else None
        if member.flag_bits & ENCRYPTED or member.compress_size != plain_size:
            raise FormatError(f"is not a model: its member {name!r} is compressed or encrypted.")
    if sum(member.file_size for member in listed) > size:
        raise FormatError(f"is damaged: its members are larger than its {size} bytes.")
    return members


def checked_header(archive: ZipFile, members: Mapping[str, ZipInfo]) -> dict[str, Any]:
    """The header: of this format, of a version that is known, about the members that are there."""
    try:
        header = json.loads(archive.read(members[HEADER]), parse_constant=refuse)
    except RecursionError:
        raise FormatError("has a header that is nested too deeply.") from None
    if not isinstance(header, dict) or header.get("format") != KIND:
        raise FormatError("is not a model of onmf.")
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise FormatError(f"has an unknown format version, {version!r}.")
    if version > FORMAT:
        raise FormatError(
            f"was written by a newer onmf (format {version}, this one reads up to {FORMAT}): "
            "upgrade onmf, or save the model with the older one."
        )
    facts = header.get("arrays")
    if not isinstance(facts, dict) or {HEADER, *(f"{name}.npy" for name in facts)} != set(members):
        raise FormatError("is damaged: its members are not those that its header lists.")
    return header


def refuse(constant: str) -> None:
    raise FormatError(f"has {constant} in its header.")


def checked_array(archive: ZipFile, member: ZipInfo, fact: Any) -> Array:
    """The array, of the type, shape and content that the header tells."""
    content = archive.read(member)
    if not isinstance(fact, dict) or hashlib.sha256(content).hexdigest() != fact.get("sha256"):
        raise FormatError(f"is damaged: {member.filename} does not match its checksum.")
    array = read_array(io.BytesIO(content), len(content))
    if array.dtype.str not in DTYPES or array.dtype.str != fact.get("dtype"):
        raise FormatError(f"has an array of the wrong type, {array.dtype}: {member.filename}.")
    if list(array.shape) != fact.get("shape"):
        raise FormatError(f"has an array of the wrong shape, {array.shape}: {member.filename}.")
    return array
