"""Three instances on one memory, killed, cut off and paused while they write, edit and search."""

from pathlib import Path

import pytest

from memory.index.postgres.index import PostgresIndex
from memory.notes import Notes
from memory.postgres.server import Server
from memory.settings import ChunkSettings
from memory.sync import sync_index
from tests.fakes.lease_history import Disturbance, Span, find_faults, group_epochs, longest_free, take_overs
from tests.fakes.many_writers import Writers
from tests.fakes.postgres_index_checks import assert_sound_on_server, read_server_contents
from tests.fakes.postgres_server import PostgresServer


def index_all(folder: Path, private: Path, url: str) -> dict[str, object]:
    """Return what an up-to-date index of the notes holds."""
    from memory.index.fingerprint import compute_fingerprint

    server = Server(url)
    index = PostgresIndex(server, fingerprint=compute_fingerprint(ChunkSettings()))
    sync_index(Notes(folder, private=private), index, ChunkSettings())
    index.close()
    server.close()
    assert_sound_on_server(url)
    return read_server_contents(url)


@pytest.mark.thorough
def test_nothing_is_lost_or_duplicated_and_the_index_equals_a_rebuilt_one(
    tmp_path: Path, postgres: PostgresServer, database: str
) -> None:
    writers = Writers(tmp_path, database, seed=3)
    outcome = writers.run(20)
    print(outcome.told())
    assert outcome.problems == []
    assert outcome.kills > 1
    assert outcome.lines > 30
    assert outcome.holders > 1
    assert outcome.take_overs
    with postgres.database() as fresh:
        assert index_all(writers.folder, tmp_path / "one", database) == index_all(
            writers.folder, tmp_path / "two", fresh
        )


def test_a_lease_held_twice_is_detected() -> None:
    first, again = Span("a", 1, "p", 0.0, 2.0), Span("a", 1, "p", 8.0, 9.0)
    assert find_faults(group_epochs([first, again, Span("a", 2, "q", 9.5, 12.0)])) == []
    # They never overlap, but an earlier holder that returns no longer holds the lease.
    (fault,) = find_faults(group_epochs([first, Span("a", 2, "q", 4.0, 5.0), again]))
    assert fault == "a held twice: p with token 1 until 9.000, q with 2 from 4.000"
    assert find_faults(group_epochs([first, Span("a", 1, "q", 4.0, 5.0)])) == ["a: token 1 after 1"]


def test_a_take_over_is_timed_where_the_holder_was_troubled() -> None:
    spans = [Span("a", 1, "p", 0.0, 2.0), Span("a", 2, "q", 16.0, 20.0), Span("a", 3, "p", 21.0, 22.0)]
    assert take_overs(group_epochs(spans), [Disturbance("p", 2.01), Disturbance("q", 5.0)]) == [14.0]
    assert longest_free([*spans, Span("a", 3, "p", 40.0, 41.0)]) == 18.0
