"""Standard input as a file: what begins as which format, and where it is put."""

import shutil
import sys
from pathlib import Path

from onmf.io.flat import TemporaryFolder
from onmf.io.remote import AnyFile

STDIN = Path("-")
BEGINNINGS = {  # of files that are no text
    b"PAR1": ".parquet",
    b"\x93NUMPY": ".npy",
    b"\x89HDF": ".h5",
    b"%%MatrixMarket": ".mtx",
    b"PK\x03\x04": ".npz",
    b"{": ".jsonl",
}
_KEPT: list[TemporaryFolder] = []  # until the process ends


def receive(path: AnyFile, text: bool = False) -> AnyFile:
    """The path itself; for `-` that of a temporary file with what standard input has."""
    if path != STDIN:
        return path
    stream = sys.stdin.buffer
    start = stream.read(max(map(len, BEGINNINGS)))
    packed = ".gz" if start.startswith(b"\x1f\x8b") else ""
    plain = ".txt" if text else ".csv"
    ending = next((end for first, end in BEGINNINGS.items() if start.startswith(first)), plain)
    _KEPT.append(TemporaryFolder())
    place = _KEPT[-1].path / f"stdin{ending}{packed}"
    with place.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(stream, file)
    return place
