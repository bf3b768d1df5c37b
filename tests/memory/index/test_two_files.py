"""Two index files in one folder do not disturb each other."""

import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory.errors import RebuildRunning
from memory.index.location import IndexFileLocation
from memory.index.protocol import Index
from memory.index.sqlite import SqliteIndex
from tests.fakes.index_checks import assert_sound
from tests.memory.test_sqlite_index import note
from tests.memory.test_sqlite_index import paths as found


@pytest.fixture
def locations(tmp_path: Path) -> tuple[IndexFileLocation, IndexFileLocation]:
    private = tmp_path / ".commonplace"
    return (
        IndexFileLocation(private, fingerprint="notes"),
        IndexFileLocation(private, fingerprint="others", name="others.db"),
    )


@pytest.fixture
def both(locations: tuple[IndexFileLocation, IndexFileLocation]) -> Iterator[list[SqliteIndex]]:
    indexes = [SqliteIndex(each.file, fingerprint="test") for each in locations]
    yield indexes
    for index in indexes:
        index.close()


def test_each_location_says_which_file_it_is(
    locations: tuple[IndexFileLocation, IndexFileLocation],
) -> None:
    assert [each.shown for each in locations] == [".commonplace/index.db", ".commonplace/others.db"]
    for each in locations:
        with closing(each.open()) as index:
            index.write_batch([note(f"{each.file.stem}.md", "- passport")])
    opened: list[Index] = [each.open_with_backend(lasting=False)[0] for each in locations]
    for each, index in zip(locations, opened, strict=True):
        with closing(index):
            assert [*index.known()] == [f"{each.file.stem}.md"]


def test_one_is_rebuilt_purged_and_started_over_while_the_other_is_rebuilt(both: list[SqliteIndex]) -> None:
    first, second = both
    first.write_batch([note("a.md", "- passport")])
    second.write_batch([note("b.md", "- passport")])
    with closing(first.shadow()) as shadow:
        shadow.write_batch([note("a.md", "- visa")])
        second.purge()
        with closing(second.shadow()) as other:
            with pytest.raises(RebuildRunning):
                second.shadow()
            other.write_batch([note("b.md", "- folder")])
            other.promote()
        assert found(second, "folder") == ["b.md"]
        second.reset()
        assert found(second, "folder") == []
        shadow.promote()
    assert found(first, "visa") == ["a.md"]


def test_a_dead_process_s_shadow_is_removed_while_the_other_file_is_rebuilt(
    both: list[SqliteIndex], locations: tuple[IndexFileLocation, IndexFileLocation]
) -> None:
    first, second = both
    dead = second.shadow()
    dead.write_batch([note("b.md", "- folder")])
    dead._lock.release()  # as the system does when a process dies
    dead._file.close()
    with closing(first.shadow()):
        second.purge()
        second.write_batch([note("b.md", "- passport")])
        second.close()
        assert_sound(locations[1].file)


def test_nobody_else_may_read_them(both: list[SqliteIndex]) -> None:
    for index in both:
        index.write_batch([note("a.md", "- passport")])
        found(index, "passport")
        for file in index._path.parent.glob(f"{index._path.name}*"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
