"""Writing results: each file completely or not at all."""

import hashlib
import io
import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from onmf.files.system import NO_FOLLOW, lock_file, remove_open_file, rename, signals_deferred

NEXT = ".next"  # folder of files that are about to replace others
Content = str | bytes | Callable[[IO[bytes]], object]  # or a function that writes it


class FolderInUseError(FileExistsError):
    """Another process writes to the folder."""


def to_json_values(value: Any) -> Any:
    """The value in JSON's types: arrays as lists, None for numbers that are not finite."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): to_json_values(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json_values(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def seal_files(
    files: Mapping[str, Content], seal: str, record: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Content]]:
    """The record with the checksums of the files, and the files with the record as `seal`.

    The checksums are there when the files are written, of which the seal is the last.
    """
    sealed = {**record, "files": dict(record.get("files", {}))}

    def noted(name: str, content: Content) -> Content:
        def write(file: IO[bytes]) -> None:
            digest: Any = _Digest(file)
            _write(digest, content)
            sealed["files"][name] = digest.sha256.hexdigest()

        return write

    def write_seal(file: IO[bytes]) -> None:
        _write(file, json.dumps(sealed, indent=2) + "\n")

    return sealed, {**{name: noted(name, files[name]) for name in files}, seal: write_seal}


class _Digest(io.RawIOBase):
    """Writes to a file, and keeps the checksum of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sha256 = file, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.sha256.update(content)
        return self.file.write(content)

    def tell(self) -> int:
        return self.file.tell()


def replace_files(folder: Path, files: Mapping[str, Content], gone: Iterable[str] = ()) -> None:
    """Replace all files, or none: each is written completely under another name first.

    Of several files the last is the seal. It is removed before the others change, like those
    `gone`, and put in place after them: a process that is killed leaves no seal. Other signals
    wait.
    """
    staged = {folder / name: _beside(folder / name) for name in files}
    aside = _beside(seal := [*staged][-1])
    try:
        for content, (place, temporary) in zip(files.values(), staged.items(), strict=True):
            with _named(place), temporary.open("xb") as file:  # follows no link
                _write(file, content)
                file.flush()
                os.fsync(file.fileno())  # a full disk may raise only here
        with signals_deferred():
            if len(staged) > 1 and seal.exists():
                rename(seal, aside)
            for name in gone:
                (folder / name).unlink(missing_ok=True)
            for place, temporary in staged.items():
                rename(temporary, place)
    finally:
        for temporary in (*staged.values(), aside):
            temporary.unlink(missing_ok=True)


def replace_together(folder: Path, files: Mapping[str, Content]) -> None:
    """Replace all files, or none, even if the process is killed: for a run that must stay usable.

    They are written completely into a folder of their own. Its renaming to `.next` decides; then
    each file is put in place. What a killed process left to do, `finish_replacement` does.
    """
    finish_replacement(folder)
    stage = _beside(folder / NEXT)
    try:
        for name, content in files.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            with _named(folder / name), (stage / name).open("xb") as file:
                _write(file, content)
                file.flush()
                os.fsync(file.fileno())
        with signals_deferred():
            rename(stage, folder / NEXT)
            finish_replacement(folder)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def finish_replacement(folder: Path) -> None:
    """Put the files of a replacement in place that was decided, but not completed."""
    ready = folder / NEXT
    if ready.is_symlink() or not ready.is_dir():
        return
    for path in sorted(path for path in ready.rglob("*") if not path.is_dir()):
        with suppress(FileNotFoundError):  # another process does the same
            rename(path, folder / path.relative_to(ready))
    shutil.rmtree(ready, ignore_errors=True)


@contextmanager
def _named(place: Path) -> Iterator[None]:
    """System errors with the name of the file instead of its temporary name."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(place)) from error


def _beside(place: Path) -> Path:
    """A random name in the same folder."""
    return place.with_name(f".{place.name}.{secrets.token_hex(8)}")


@contextmanager
def place_for(folder: Path, names: Sequence[str], force: bool) -> Iterator[None]:
    """Check before the computation that the files can be written, and lock the folder.

    On an error, folders that were created here are removed.
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tempfile.TemporaryFile(dir=folder).close()
        with sole_writer(folder / f".{names[-1]}.lock"):
            finish_replacement(folder)
            for stage in folder.glob(f".{NEXT}.*"):  # of a process that was killed
                shutil.rmtree(stage, ignore_errors=True)
            there = [name for name in names if (folder / name).exists()]
            if there and not force:
                place = "this folder" if folder == Path() else folder
                raise FileExistsError(
                    f"{place} already has {', '.join(there)}: choose another folder, or replace "
                    "with --force."
                )
            yield
    except BaseException:
        with suppress(OSError):
            for place in made:
                place.rmdir()
        raise


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Hold a lock file: one process at a time."""
    with _locked(path):
        try:
            yield
        finally:
            remove_open_file(path)


def _locked(path: Path) -> IO[bytes]:
    """The lock file, open and locked."""
    flags = os.O_RDWR | os.O_CREAT | NO_FOLLOW
    file = open(path, "wb", opener=lambda name, _: os.open(name, flags, 0o666))  # noqa: SIM115
    try:
        lock_file(file)
    except BlockingIOError:
        file.close()
        raise FolderInUseError(
            f"another onmf command is writing to {path.parent}: wait, or choose another folder."
        ) from None
    except OSError:  # a file system without locks
        return file
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
    file.close()  # its owner has just removed it
    return _locked(path)


def _write(file: IO[bytes], content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
