"""Several instances on one index: settings, claims and permissions."""

import asyncio
import hashlib
import math
import random
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, aclosing, closing
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from memory.chunker import split_chunks, split_passages, split_segments
from memory.embeddings.protocol import ModelId, Vector
from memory.errors import IndexUnavailable
from memory.index.location import IndexServerLocation
from memory.index.postgres.binary_quantization import open_vector_searcher
from memory.index.postgres.index import PostgresIndex
from memory.index.postgres.initialization import ensure_pgvector
from memory.index.postgres.liveness_lock import LivenessLock
from memory.index.postgres.purge import rewrite_tables, transaction_id
from memory.index.postgres.schema import GENERATIONS, PART, STEPS
from memory.index.protocol import IndexedNote, Stamp, VectorQuery
from memory.index.sqlite import SqliteIndex
from memory.postgres.migrations import migrate
from memory.postgres.server import Server
from memory.tokenizer import Term, tokenize
from tests.fakes.postgres_index_checks import assert_sound_on_server, read_server_contents
from tests.fakes.postgres_server import PostgresServer

MODEL = ModelId("fake", "small", 8)
ONE = array("f", [1, *[0] * 7]).tobytes()
HERE, THERE = "2/3/1/400/80", "2/3/1/300/80"
Open = Callable[..., PostgresIndex]


@pytest.fixture
def open_index(database: str) -> Iterator[Open]:
    with ExitStack() as stack:

        def opened(user: str = "", fingerprint: str = HERE, url: str = database) -> PostgresIndex:
            server = stack.enter_context(closing(Server(url)))
            return stack.enter_context(closing(PostgresIndex(server, fingerprint=fingerprint, user=user)))

        yield opened


def note(path: str, text: str, stamp: int = 1) -> IndexedNote:
    passages = split_passages(text)
    words = [" ".join(tokenize(passage.text)) for passage in passages]
    return IndexedNote(
        path,
        Stamp(len(text), stamp, 1),
        text,
        passages,
        words,
        split_chunks(passages),
        split_segments(passages),
    )


def digests(index: PostgresIndex) -> dict[str, str]:
    return {path: known.digest for path, known in index.known().items()}


def test_an_instance_with_other_settings_than_active_ones_is_refused(open_index: Open) -> None:
    one = open_index("kitchen")
    one.write_batch([note("a.md", "- passport")])
    with pytest.raises(
        IndexUnavailable, match=r"in use by kitchen .*target_tokens is 300 here and 400 there"
    ):
        open_index("study", THERE).stamps()
    assert digests(one) == {"a.md": "- passport"}


@pytest.mark.thorough
def test_a_single_instance_replaces_an_index_with_other_settings(
    open_index: Open, database: str, postgres: PostgresServer
) -> None:
    open_index("kitchen").write_batch([note("a.md", "- passport")])
    name = database.rpartition("/")[2]
    postgres.execute("UPDATE commonplace.index_users SET seen = now() - interval '3 minutes'", database=name)
    study = open_index("study", THERE)
    assert digests(study) == {"a.md": "- passport"}
    with closing(study.shadow()) as shadow:
        shadow.write_batch([note("b.md", "- suitcase")])
        shadow.promote()
    # The other one comes back and does not take the index over again.
    with pytest.raises(IndexUnavailable, match="in use by study"):
        open_index("kitchen").stamps()
    assert digests(study) == {"b.md": "- suitcase"}
    # The same instance, restarted with new settings, does not block itself.
    assert digests(open_index("study", HERE)) == {"b.md": "- suitcase"}


@pytest.mark.thorough
def test_an_ended_process_blocks_nobody(open_index: Open) -> None:
    before = open_index()
    before.write_batch([note("a.md", "- passport")])
    before.close()
    assert digests(open_index("study", THERE)) == {"a.md": "- passport"}


def test_a_running_instance_notices_a_recreated_index(open_index: Open) -> None:
    one, other = open_index("kitchen"), open_index("study")
    one.write_batch([note("a.md", "- passport")])
    before = other.identity()
    one.reset()
    assert other.identity() != before
    assert digests(other) == {}


def test_a_claim_excludes_others_until_the_write_or_the_release(open_index: Open) -> None:
    one, other = open_index(), open_index()
    assert set(one.claim(["a.md", "b.md", "c.md"])) == {"a.md", "b.md", "c.md"}
    assert set(other.claim(["b.md", "c.md", "d.md"])) == {"d.md"}
    assert set(one.claim(["a.md"])) == {"a.md"}
    one.write_batch([note("a.md", "- passport")], restamped={"c.md": Stamp(1, 1, 1)})
    one.release(["b.md"])
    assert set(other.claim(["a.md", "b.md", "c.md"])) == {"a.md", "b.md", "c.md"}


@pytest.mark.thorough
def test_an_instance_that_lost_a_claim_overwrites_nothing(
    open_index: Open, database: str, postgres: PostgresServer
) -> None:
    slow, quick = open_index(), open_index()
    slow.claim(["a.md", "b.md"])
    run_out = "UPDATE commonplace.claims SET until = now() - interval '1 second'"
    postgres.execute(run_out, database=database.rpartition("/")[2])
    assert set(quick.claim(["a.md"])) == {"a.md"}
    quick.write_batch([note("a.md", "- new")])
    slow.write_batch([note("a.md", "- old"), note("b.md", "- old")])
    assert digests(slow) == {"a.md": "- new", "b.md": "- old"}


@pytest.mark.thorough
def test_claims_end_with_their_index(open_index: Open, database: str) -> None:
    with closing(Server(database)) as server:
        index = PostgresIndex(server, fingerprint=HERE)
        index.claim(["a.md"])
        index.close()
    assert set(open_index().claim(["a.md"])) == {"a.md"}


@pytest.mark.thorough
def test_a_dead_process_s_claims_are_free_at_once(
    open_index: Open, database: str, postgres: PostgresServer
) -> None:
    dead, other = open_index(), open_index()
    dead.write_batch([note("a.md", "- passport\n- suitcase")])
    assert set(dead.claim(["a.md", "b.md"])) == {"a.md", "b.md"}
    assert len(dead.list_unembedded(MODEL, limit=5)) == 2
    assert set(other.claim(["a.md", "c.md"])) == {"c.md"}
    assert other.list_unembedded(MODEL, limit=5) == []
    end_presence(postgres, database, but=other)
    assert set(other.claim(["a.md", "b.md"])) == {"a.md", "b.md"}
    assert len(other.list_unembedded(MODEL, limit=5)) == 2
    # It was not dead but cut off: what others have claimed meanwhile is theirs.
    dead.write_batch([note("a.md", "- umbrella"), note("b.md", "- umbrella")])
    assert digests(dead) == {"a.md": "- passport\n- suitcase"}
    assert set(dead.claim(["a.md", "d.md"])) == {"d.md"}


@pytest.mark.thorough
def test_a_session_that_only_seems_alive_to_the_server_blocks_nobody(open_index: Open, database: str) -> None:
    index, other = open_index(), open_index()
    with closing(Server(database)) as server:
        lost = LivenessLock(server)
        lost.name = index._holder
        lost.show()
        # As after a network failure that the server has not noticed.
        assert set(index.claim(["a.md"])) == {"a.md"}
        lost.end()
    assert set(other.claim(["a.md", "b.md"])) == {"b.md"}


def end_presence(postgres: PostgresServer, database: str, *, but: PostgresIndex) -> None:
    """End the liveness locks as if all processes but one were killed."""
    postgres.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        " AND classid::bigint << 32 | objid::bigint <> ('x' || left(%s, 16))::bit(64)::bigint",
        but._holder,
        database=database.rpartition("/")[2],
    )


@pytest.mark.thorough
async def test_an_idle_service_still_counts_as_active(
    database: str, postgres: PostgresServer, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index.postgres.active_instances.SEEN_EVERY", 0.1)
    idle = "UPDATE commonplace.index_users SET seen = now() - interval '3 minutes' WHERE name = 'kitchen'"
    with closing(Server(database)) as server:
        place = IndexServerLocation(server, fingerprint=HERE, user="kitchen", member="k")
        with closing(place.open()) as index:
            index.write_batch([note("a.md", "- passport")])
        async with aclosing(place.news().changes()) as changes:
            await anext(changes)
            postgres.execute(idle, database=database.rpartition("/")[2])
            for _ in range(500):
                await asyncio.sleep(0.01)
                if is_active(postgres, database):
                    break
            with pytest.raises(IndexUnavailable, match="in use by kitchen with other settings"):
                open_index("study", THERE).stamps()
    assert digests(open_index("garden")) == {"a.md": "- passport"}


@pytest.mark.thorough
async def test_a_refused_instance_is_not_recorded_as_active(
    database: str, postgres: PostgresServer, open_index: Open
) -> None:
    open_index("kitchen").write_batch([note("a.md", "- passport")])
    with closing(Server(database)) as server:
        news = IndexServerLocation(server, fingerprint=THERE, user="study", member="s").news()
        async with aclosing(news.changes()) as changes:
            await anext(changes)
    names = postgres.execute("SELECT name FROM commonplace.index_users", database=database.rpartition("/")[2])
    assert names == [("kitchen",)]


def is_active(postgres: PostgresServer, database: str) -> bool:
    sql = (
        "SELECT 1 FROM commonplace.index_users WHERE name = 'kitchen' AND seen > now() - interval '1 minute'"
    )
    return bool(postgres.execute(sql, database=database.rpartition("/")[2]))


def forget_a_line(index: PostgresIndex) -> None:
    index.write_batch([note("a.md", "- xylophagous beetles"), note("b.md", "- bravo")])
    texts = index.list_unembedded(MODEL, limit=5)
    index.store_vectors(MODEL, {text.digest: ONE for text in texts})
    index.write_batch([note("a.md", "- alpha")])


def holds(postgres: PostgresServer, text: bytes) -> bool:
    """Return whether the files of the server's tables contain the text."""
    postgres.execute("CHECKPOINT")
    return any(text in file.read_bytes() for file in (postgres.data / "base").glob("*/*") if file.is_file())


def test_purged_text_is_in_no_table_file(open_index: Open, postgres: PostgresServer) -> None:
    index = open_index()
    forget_a_line(index)
    assert holds(postgres, b"xylophag")
    index.purge()
    assert not holds(postgres, b"xylophag")


def test_text_that_a_reader_may_still_see_is_not_reported_as_purged(
    open_index: Open, database: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index.postgres.purge.READERS_SECONDS", 0.2)
    index = open_index()
    index.write_batch([note("a.md", "- xylophagous beetles")])
    with closing(Server(database)) as reader:
        with reader.transaction() as db:
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            db.execute("SELECT count(*) FROM commonplace.notes_a")
            index.write_batch([note("a.md", "- alpha")])
            with pytest.raises(IndexUnavailable, match="another program on that server has been reading"):
                index.purge()
        index.purge()
    assert not holds(postgres, b"xylophag")


@pytest.mark.thorough
@pytest.mark.parametrize("where", ["there", "in another database"])
def test_text_kept_by_a_running_writer_is_not_reported_as_purged(
    where: str, open_index: Open, database: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index.postgres.purge.READERS_SECONDS", 0.2)
    index = open_index()
    index.write_batch([note("a.md", "- xylophagous beetles")])
    with closing(Server(database if where == "there" else postgres.url())) as writer:
        with writer.transaction() as db:
            db.execute("SELECT pg_current_xact_id()")
            index.write_batch([note("a.md", "- alpha")])
            with pytest.raises(
                IndexUnavailable, match="another program on that server has been reading or writing"
            ):
                index.purge()
        index.purge()
    assert not holds(postgres, b"xylophag")


@pytest.mark.thorough
def test_a_reader_that_began_during_the_removal_may_still_see_the_text(
    database: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index.postgres.purge.READERS_SECONDS", 0.2)
    with closing(Server(database)) as server, closing(Server(database)) as others:
        with ExitStack() as reading:
            with server.transaction() as db:
                moment = transaction_id(db)
                reader = reading.enter_context(others.transaction())
                reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                reader.execute("SELECT 1")
            with pytest.raises(IndexUnavailable, match="another program on that server has been reading"):
                rewrite_tables(server, "a", forgotten_in=moment)
        PostgresIndex(server, fingerprint=HERE).stamps()
        rewrite_tables(server, "a", forgotten_in=moment)


@pytest.mark.thorough
def test_the_name_of_a_note_that_is_forgotten_is_in_no_file_of_a_table(
    open_index: Open, postgres: PostgresServer
) -> None:
    index = open_index()
    index.claim(["xylophagous.md"])
    index.write_batch([note("xylophagous.md", "- beetles")])
    index.write_batch([], deleted=["xylophagous.md"])
    index.purge()
    assert not holds(postgres, b"xylophag")


@pytest.mark.thorough
def test_the_server_keeps_no_samples_of_notes(
    open_index: Open, database: str, postgres: PostgresServer
) -> None:
    index = open_index()
    forget_a_line(index)
    postgres.execute("ANALYZE", database=database.rpartition("/")[2])
    index.write_batch([note("a.md", "- xylophagous beetles")])
    postgres.execute("ANALYZE", database=database.rpartition("/")[2])
    index.write_batch([note("a.md", "- alpha")])
    index.purge()
    assert not holds(postgres, b"xylophag")


@pytest.mark.thorough
def test_a_waiting_purge_does_not_block_others_for_long(
    open_index: Open, database: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index.postgres.purge.LOCK_SECONDS", 0.2)
    index = open_index()
    forget_a_line(index)
    with closing(Server(database)) as other:
        with other.transaction() as db:
            db.execute("LOCK TABLE commonplace.passages_a IN ACCESS SHARE MODE")
            with pytest.raises(
                IndexUnavailable, match=r"VACUUM \(FULL\) on commonplace\.passages_a, while nobody"
            ):
                index.purge()
        assert len(index.candidates([Term(("bravo",))], limit=1).runs) == 1
        index.purge()
    assert not holds(postgres, b"xylophag")


@pytest.mark.thorough
def test_a_note_indexed_after_the_read_is_not_restamped(open_index: Open) -> None:
    one, other = open_index(), open_index()
    one.write_batch([note("a.md", "- old")])
    one.stamps()
    other.write_batch([note("a.md", "- new", stamp=2)])
    one.write_batch([], restamped={"a.md": Stamp(9, 9, 9)})
    assert one.known()["a.md"].stamp == Stamp(5, 2, 1)


@pytest.mark.thorough
def test_tables_of_a_newer_version_are_left_alone(
    open_index: Open, database: str, postgres: PostgresServer
) -> None:
    open_index().stamps()
    newer = f"UPDATE commonplace.migrations SET done = {len(STEPS) + 1} WHERE part = 'index'"
    postgres.execute(newer, database=database.rpartition("/")[2])
    with pytest.raises(IndexUnavailable, match="newer version"):
        open_index("other").stamps()


@pytest.mark.thorough
def test_a_user_without_rights_is_told_which_are_missing(
    open_index: Open, database: str, postgres: PostgresServer
) -> None:
    name = database.rpartition("/")[2]
    postgres.execute("DROP ROLE IF EXISTS guest")
    postgres.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(IndexUnavailable, match=r"CREATE EXTENSION vector|grant"):
        open_index(url=postgres.url(name, user="guest")).stamps()
    postgres.execute("CREATE EXTENSION vector", database=name)
    with pytest.raises(IndexUnavailable, match="grant this user CREATE"):
        open_index(url=postgres.url(name, user="guest")).stamps()
    postgres.execute(f"GRANT CREATE ON DATABASE {name} TO guest")
    open_index(url=postgres.url(name, user="guest")).write_batch([note("a.md", "- passport")])
    postgres.execute("DROP OWNED BY guest CASCADE", database=name)
    postgres.execute("DROP ROLE guest")


def test_text_with_characters_that_postgresql_rejects_is_indexed(open_index: Open, database: str) -> None:
    odd = note("a.md", "- nul \0 here")
    index = open_index()
    index.write_batch([replace(odd, digest="odd", fault="half \ud800 of it")])
    assert index.known()["a.md"].fault == "half ? of it"
    [run] = index.candidates([Term(("nul",))], limit=1).runs
    assert run.passages[0].text == "- nul \ufffd here"
    assert read_server_contents(database).keys() == {"a.md"}


def test_too_long_or_too_many_words_are_accepted(open_index: Open) -> None:
    index = open_index()
    long, many = "x" * 5000, " ".join(f"w{n}" for n in range(150_000))
    passages = split_passages("- one", max_tokens=400)
    big = IndexedNote(
        "a.md", Stamp(1, 1, 1), "", passages, [f"{long} it's\\ {many}"], split_chunks(passages), ()
    )
    index.write_batch([big])
    assert len(index.candidates([Term((long,))], limit=1).runs) == 1
    assert len(index.candidates([Term(("w77",))], limit=1).runs) == 1


@pytest.mark.thorough
def test_vectors_too_long_for_pgvector_are_refused_with_the_fix(open_index: Open) -> None:
    index, model = open_index(), ModelId("fake", "long", 16_001)
    index.write_batch([note("a.md", "- passport")])
    [text] = index.list_unembedded(model, limit=1)
    with pytest.raises(IndexUnavailable, match=r"memory\.embedding\.dimensions"):
        index.store_vectors(model, {text.digest: bytes(4 * 16_001)})


@pytest.mark.thorough
def test_no_request_is_made_before_it_is_needed(tmp_path: Path) -> None:
    with closing(Server("postgresql://nobody@127.0.0.1:1/none")) as server:
        PostgresIndex(server, fingerprint=HERE).close()


def test_instances_share_the_embedding_of_texts(open_index: Open, database: str) -> None:
    one, other = open_index(), open_index()
    one.write_batch([note("a.md", "\n".join(f"- line {n} of many" for n in range(9)))])
    mine = one.list_unembedded(MODEL, limit=4)
    theirs = other.list_unembedded(MODEL, limit=4)
    assert len(mine) == len(theirs) == 4
    assert not {text.digest for text in mine} & {text.digest for text in theirs}
    assert one.list_unembedded(MODEL, limit=4) == mine
    other.store_vectors(MODEL, {text.digest: ONE for text in theirs[:3]}, {theirs[3].digest: "unsafe"})
    assert len(one.list_unembedded(MODEL, limit=20)) == 5
    assert other.list_unembedded(MODEL, limit=20) == []
    one.close()
    assert len(other.list_unembedded(MODEL, limit=20)) == 5


def unit(choose: random.Random, size: int) -> Vector:
    numbers = [choose.gauss(0, 1) for _ in range(size)]
    length = math.hypot(*numbers)
    return array("f", [each / length for each in numbers]).tobytes()


def test_binary_search_in_memory_finds_what_the_server_finds(open_index: Open, database: str) -> None:
    pytest.importorskip("numpy")
    choose = random.Random(9)
    index = open_index()
    with closing(Server(database)) as server:
        service = PostgresIndex(server, fingerprint=HERE, searcher=open_vector_searcher(lasting=True))
        for turn in range(4):
            index.write_batch(
                [
                    note(f"{turn} {n}.md", "\n".join(f"- line {turn} {n} {m}" for m in range(40)))
                    for n in range(20)
                ],
                deleted=[f"{turn - 1} {n}.md" for n in range(5)],
            )
            if turn == 3:
                index.evict_unused(limit=0, wanted_models=[MODEL])
            texts = index.list_unembedded(MODEL, limit=5000)
            index.store_vectors(MODEL, {text.digest: unit(choose, 8) for text in texts})
            for _ in range(5):
                asked = VectorQuery(MODEL, unit(choose, 8), limit=3, min_similarity=-1.0)
                expected = index.candidates([], limit=5, vector_query=asked)
                assert service.candidates([], limit=5, vector_query=asked) == expected


def test_words_propose_the_same_chunks_as_in_a_file(open_index: Open, tmp_path: Path) -> None:
    choose = random.Random(3)
    words = [f"w{n}" for n in range(200)]
    shares = [1 / (n + 1) for n in range(200)]
    notes = [
        note(f"{n:03}.md", "\n".join("- " + " ".join(choose.choices(words, shares, k=9)) for _ in range(30)))
        for n in range(60)
    ]
    index = open_index()
    index.write_batch(notes)
    with closing(SqliteIndex(tmp_path / "index.db", fingerprint=HERE)) as in_file:
        in_file.write_batch(notes)
        for _ in range(40):
            terms = [Term((word,)) for word in choose.sample(words, k=choose.randrange(1, 6))]
            assert index.candidates(terms, limit=4) == in_file.candidates(terms, limit=4)


@pytest.mark.thorough
def test_many_changes_of_word_counts_are_merged(
    open_index: Open, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index.postgres.notes.MAX_UNMERGED", 5)
    index = open_index()
    for turn in range(4):
        index.write_batch([note("a.md", f"- one two turn{turn}"), note(f"{turn}.md", "- one three")])
        assert_sound_on_server(database)
    found = index.candidates([Term(("one",)), Term(("turn0",)), Term(("turn3",))], limit=3).frequencies
    assert list(found.values()) == [5, 0, 1]


def test_a_shadow_that_lost_its_connection_changes_nothing_and_blocks_nobody(
    open_index: Open, database: str, postgres: PostgresServer
) -> None:
    index = open_index()
    index.write_batch([note("a.md", "- passport")])
    with closing(index.shadow()) as shadow:
        shadow.write_batch([note("b.md", "- suitcase")])
        postgres.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            database=database.rpartition("/")[2],
        )
        with pytest.raises(IndexUnavailable):
            shadow.write_batch([note("c.md", "- umbrella")])
        with pytest.raises(IndexUnavailable):
            shadow.promote()
        with closing(open_index().shadow()) as other:
            other.write_batch([note("d.md", "- raincoat")])
            other.promote()
    assert digests(index) == {"d.md": "- raincoat"}
    assert_sound_on_server(database)


@pytest.mark.thorough
def test_concurrent_writers_of_the_same_notes_leave_the_result_of_one(
    open_index: Open, database: str
) -> None:
    paths = [f"{n}.md" for n in range(12)]
    faults: list[BaseException] = []

    def work(index: PostgresIndex, choose: random.Random) -> None:
        try:
            for turn in range(40):
                some = choose.sample(paths, 4)
                index.stamps()
                lines = [f"- the line {choose.randrange(30)}" for _ in range(6)]
                notes = [note(path, "\n".join(lines), stamp=turn) for path in some[:3]]
                index.write_batch(notes, deleted=some[3:], restamped={some[3]: Stamp(1, turn, 1)})
                texts = index.list_unembedded(MODEL, limit=5)
                index.store_vectors(MODEL, {text.digest: ONE for text in texts})
                if turn % 10 == 9:
                    index.evict_unused(limit=5, wanted_models=[MODEL])
        except BaseException as error:  # noqa: BLE001 - told below
            faults.append(error)

    threads = [Thread(target=work, args=(open_index(), random.Random(seed))) for seed in range(4)]
    rebuilding = open_index()
    for thread in threads:
        thread.start()
    for _ in range(5):
        with closing(rebuilding.shadow()) as shadow:
            shadow.write_batch([note("0.md", "- the line 1")])
            shadow.promote()
    for thread in threads:
        thread.join()
    assert not faults, "".join(str(fault.__cause__ or fault) for fault in faults)
    last = open_index()
    last.write_batch([note(path, "- the line 1\n- at the end") for path in paths])
    assert read_server_contents(database).keys() == set(paths)
    for index in (last, rebuilding):
        index.close()
    assert_sound_on_server(database)


@pytest.mark.thorough
def test_tables_of_the_first_version_are_filled_again_and_keep_their_vectors(
    open_index: Open, database: str
) -> None:
    with closing(Server(database)) as server, server.transaction() as db:
        ensure_pgvector(db, "the server")
        migrate(db, PART, STEPS[:1])
        db.execute(
            "INSERT INTO commonplace.index_state (identity, fingerprint, generation)"
            " VALUES (gen_random_uuid(), %s, 'a')",
            [HERE],
        )
        for generation in GENERATIONS:
            db.execute("INSERT INTO commonplace.index_sums VALUES (%s, 0, 0, 0, 0)", [generation])
        db.execute("INSERT INTO commonplace.notes_a VALUES (1, 'old.md', 1, 1, 1, 'x', '', NULL)")
        digest = hashlib.sha256(b"- alpha").digest()
        db.execute("INSERT INTO commonplace.texts (digest, uses) VALUES (%s, 1)", [digest])
        db.execute(
            "INSERT INTO commonplace.models (provider, model, dimensions, seen, vectors)"
            " VALUES (%s, %s, %s, 1, 1)",
            (MODEL.provider, MODEL.model, MODEL.dimensions),
        )
        embedding = str([1.0] + [0.0] * (MODEL.dimensions - 1))
        db.execute(
            "INSERT INTO commonplace.embeddings (model, text, embedding) VALUES (1, 1, %s)", [embedding]
        )
        db.execute(
            "CREATE INDEX embeddings_halves_1 ON commonplace.embeddings"
            " USING hnsw ((embedding::halfvec(8)) halfvec_cosine_ops) WHERE model = 1"
        )
    index = open_index()
    assert index.known() == {}
    index.write_batch([note("2026-01-01.md", "- alpha"), note("2025-01-01.md", "- alpha")])
    assert index.list_unembedded(MODEL, limit=9) == []
    runs = index.candidates([Term(("alpha",))], limit=1).runs
    assert [(run.path, str(run.passages[0].day)) for run in runs] == [("2026-01-01.md", "2026-01-01")]
    alike = index.candidates(
        [], limit=1, vector_query=VectorQuery(MODEL, ONE, limit=1, min_similarity=0.5)
    ).runs
    assert [run.path for run in alike] == ["2026-01-01.md"]
    with closing(Server(database)) as server, server.transaction() as db:
        graphs = db.execute("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%hnsw%'").fetchall()
        assert graphs == []
    # An instance of that version stops and says why.
    with closing(Server(database)) as server, server.transaction() as db, pytest.raises(IndexUnavailable):
        migrate(db, PART, STEPS[:1])
