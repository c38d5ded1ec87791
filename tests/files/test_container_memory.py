"""The memory that a container still allows."""

import pytest

from onmf.rows import room as memory
from onmf.rows.room import container_memory


def group(folder, names, limit, used, cached):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\nactive_file 7\n")


V1, V2 = ("memory.limit_in_bytes", "memory.usage_in_bytes"), ("memory.max", "memory.current")


def test_every_group_around_a_process_counts(tmp_path):
    own = tmp_path / "own"
    own.write_text("0::/slice/job\n")
    group(tmp_path, V2, "max", 900, 0)
    group(tmp_path / "slice", V2, 1000, 400, 100)
    group(tmp_path / "slice" / "job", V2, 500, 450, 20)
    assert list(container_memory(tmp_path, own)) == [70, 700]


def test_the_first_version_and_paths_of_another_namespace(tmp_path):
    own = tmp_path / "own"
    own.write_text("5:cpu,cpuacct:/x\n4:memory:/docker/abc\nnonsense\n")
    group(tmp_path / "memory", V1, 1000, 300, 50)  # only the root is seen from inside
    assert list(container_memory(tmp_path, own)) == [750]


@pytest.mark.parametrize("text", ["", "0::/\n"])
def test_without_limits_nothing_is_said(tmp_path, text):
    own = tmp_path / "own"
    assert list(container_memory(tmp_path, own)) == []
    own.write_text(text)
    assert list(container_memory(tmp_path, own)) == []


def test_free_memory_is_the_least_of_all(monkeypatch):
    monkeypatch.setattr(memory, "container_memory", lambda: iter([10**15, 12345]))
    assert memory.free_memory() == 12345
    monkeypatch.setattr(memory, "container_memory", lambda: iter([]))
    assert memory.free_memory() > 10**6
