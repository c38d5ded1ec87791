"""What differs between operating systems: every branch, those of other systems by stand-ins."""

import signal
from types import SimpleNamespace

import pytest

from onmf.files import system
from onmf.files.output import replace_files, sole_writer


class WindowsLocks:
    """As much of `msvcrt` as is used: a byte of a file belongs to who locked it first."""

    LK_NBLCK = 2

    def __init__(self):
        self.held, self.asked = False, []

    def locking(self, descriptor, mode, n_bytes):
        self.asked.append((mode, n_bytes))
        if self.held:
            raise PermissionError(13, "Permission denied")
        self.held = True


def open_lock(path):
    return path.open("wb")


def test_locks_of_posix_exclude_others(tmp_path):
    if system.fcntl is None:
        pytest.skip("this is another system")
    with open_lock(tmp_path / "lock") as one, open_lock(tmp_path / "lock") as two:
        system.lock_file(one)
        with pytest.raises(BlockingIOError):
            system.lock_file(two)


def test_locks_of_windows_exclude_others(tmp_path, monkeypatch):
    locks = WindowsLocks()
    monkeypatch.setattr(system, "fcntl", None)
    monkeypatch.setattr(system, "msvcrt", locks)
    with open_lock(tmp_path / "lock") as one, open_lock(tmp_path / "lock") as two:
        system.lock_file(one)
        with pytest.raises(BlockingIOError):
            system.lock_file(two)
    assert locks.asked == [(2, 1), (2, 1)]


def test_a_second_writer_is_refused_by_either_kind_of_lock(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    for windows in (False, True):
        if windows:
            monkeypatch.setattr(system, "fcntl", None)
            monkeypatch.setattr(system, "msvcrt", WindowsLocks())
        elif system.fcntl is None:
            continue
        with sole_writer(path), pytest.raises(FileExistsError, match="another onmf"):  # noqa: SIM117
            with sole_writer(path):
                raise AssertionError("not alone")
        assert not path.exists()


def test_without_locks_everybody_may_write(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "fcntl", None)
    monkeypatch.setattr(system, "msvcrt", None)
    with sole_writer(tmp_path / "lock"), sole_writer(tmp_path / "lock"):
        pass
    assert not (tmp_path / "lock").exists()


@pytest.mark.parametrize("windows", [False, True])
def test_an_open_file_that_cannot_be_removed_stays_on_windows_only(monkeypatch, windows):
    def unlink(missing_ok):
        raise PermissionError(13, "it is open")

    monkeypatch.setattr(system, "WINDOWS", windows)
    path = SimpleNamespace(unlink=unlink)
    if windows:
        system.remove_open_file(path)
    else:
        with pytest.raises(PermissionError):
            system.remove_open_file(path)


def held_for(monkeypatch, times):
    """Renames fail so many times; the waits between them."""
    waits, replace = [], system.os.replace
    left = iter([True] * times)

    def held(path, place):
        if next(left, False):
            raise PermissionError(13, "another program reads it")
        replace(path, place)

    monkeypatch.setattr(system.os, "replace", held)
    monkeypatch.setattr(system.time, "sleep", waits.append)
    return waits


def test_windows_tries_again_while_another_program_reads_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "WINDOWS", True)
    waits = held_for(monkeypatch, 3)
    replace_files(tmp_path, {"a.txt": "new"})
    assert (tmp_path / "a.txt").read_text() == "new"
    assert waits == [0.01, 0.05, 0.25]


def test_windows_gives_up_after_a_while_and_leaves_what_was_there(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "WINDOWS", True)
    (tmp_path / "a.txt").write_text("old")
    waits = held_for(monkeypatch, 99)
    with pytest.raises(PermissionError):
        replace_files(tmp_path, {"a.txt": "new"})
    assert waits == list(system.RENAME_WAITS)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_other_systems_do_not_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "WINDOWS", False)
    waits = held_for(monkeypatch, 1)
    with pytest.raises(PermissionError):
        replace_files(tmp_path, {"a.txt": "new"})
    assert waits == []


def test_signals_wait_for_the_end_of_the_block():
    came = []
    usual = signal.signal(signal.SIGTERM, lambda *_: came.append("ours"))
    try:
        with system.signals_deferred():
            signal.raise_signal(signal.SIGTERM)
            assert came == []
        assert came == ["ours"]
    finally:
        signal.signal(signal.SIGTERM, usual)


def test_signals_that_a_system_does_not_have_are_left_out(monkeypatch):
    monkeypatch.delattr(system.signal, "SIGHUP", raising=False)
    with system.signals_deferred():
        pass
