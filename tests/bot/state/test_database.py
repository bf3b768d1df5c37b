import asyncio
import multiprocessing
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import apsw
import pytest

from bot.state import database as state_module
from bot.state.database import State, StateBroken, StateFault, StateUnusable, run_to_completion
from tests.fakes.stored_conversation import end_conversation, entries, open_conversation

SAID = [("user", '{"text": "hello"}')]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".commonplace" / "state.db"


@pytest.fixture
async def state(path: Path) -> AsyncIterator[State]:
    async with State(path) as opened:
        yield opened


async def test_a_conversation_begins_with_its_first_entry_and_survives_a_restart(path: Path) -> None:
    async with State(path) as state:
        assert await open_conversation(state, "terminal:main") is None
        (row,) = await state.append(None, "terminal:main", SAID, after=0)
        assert (row.seq, row.kind, row.payload) == (1, *SAID[0])
    async with State(path) as state:
        number = await open_conversation(state, "terminal:main")
        assert number == row.conversation
        assert await entries(state, number) == (row,)


async def test_chats_do_not_see_each_other(state: State) -> None:
    (one,) = await state.append(None, "terminal:one", SAID, after=0)
    (other,) = await state.append(None, "terminal:other", SAID, after=0)
    assert one.conversation != other.conversation
    assert await entries(state, one.conversation) == (one,)


async def test_an_ended_conversation_keeps_its_entries_and_the_next_entry_begins_another(
    state: State,
) -> None:
    (old,) = await state.append(None, "terminal:main", SAID, after=0)
    await end_conversation(state, "terminal:main")
    assert await open_conversation(state, "terminal:main") is None
    (new,) = await state.append(None, "terminal:main", SAID, after=0)
    assert new.conversation != old.conversation
    assert await entries(state, old.conversation) == (old,)


async def test_appending_hands_back_what_somebody_else_added_before(state: State, path: Path) -> None:
    (first,) = await state.append(None, "c:1", SAID, after=0)
    async with State(path) as other:
        (theirs,) = await other.append(first.conversation, "c:1", [("user", '{"text": "theirs"}')], after=1)
    rows = await state.append(first.conversation, "c:1", SAID, after=1)
    assert [row.seq for row in rows] == [2, 3]
    assert rows[0] == theirs


async def test_a_cancelled_append_is_carried_out_before_the_cancellation_goes_on(state: State) -> None:
    task = asyncio.create_task(state.append(None, "c:1", SAID, after=0))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    number = await open_conversation(state, "c:1")
    assert number is not None
    assert len(await entries(state, number)) == 1


async def test_to_the_end_survives_many_cancellations() -> None:
    done = []

    async def work() -> None:
        await asyncio.sleep(0.02)
        done.append(1)

    task = asyncio.create_task(run_to_completion(work()))
    for _ in range(5):
        await asyncio.sleep(0.002)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [1]


async def test_a_fault_met_while_being_cancelled_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        await asyncio.sleep(0.01)
        raise StateUnusable("the disk is full")

    task = asyncio.create_task(run_to_completion(work()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "the disk is full" in caplog.text


@pytest.mark.usefixtures("state")
def test_conversations_are_for_their_owner_alone(path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_commits_are_durable_and_readers_do_not_wait(state: State) -> None:
    db = state._connection
    assert db.pragma("journal_mode") == "wal"
    assert db.pragma("synchronous") == 2  # FULL
    assert db.pragma("foreign_keys") == 1


# -- damage ---------------------------------------------------------------------------------------------------


def opening(path: Path) -> StateFault:
    async def main() -> None:
        async with State(path):
            pass

    with pytest.raises(StateFault) as caught:
        asyncio.run(main())
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    return caught.value


def test_garbage_is_refused_with_the_mend_and_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database " * 1000)
    fault = opening(path)
    assert isinstance(fault, StateBroken)
    assert "backup" in str(fault)
    assert path.read_bytes() == b"no database " * 1000


def test_a_foreign_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    foreign = apsw.Connection(str(path))
    foreign.execute("CREATE TABLE conversations (x)")
    foreign.close()
    assert isinstance(opening(path), StateBroken)


def spoil_all_but_the_first_pages(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))


async def read_all(path: Path) -> None:
    async with State(path) as state:
        for number in range(1, 41):
            await entries(state, number)


async def test_a_page_of_garbage_is_a_fault_when_it_is_read(path: Path) -> None:
    async with State(path) as state:
        for number in range(40):
            await state.append(None, f"c:{number}", [("user", '{"text": "%s"}' % ("x" * 3000))], after=0)
    spoil_all_but_the_first_pages(path)
    with pytest.raises(StateBroken, match="damaged"):
        await read_all(path)


def test_a_folder_in_its_place_is_a_clear_line(path: Path) -> None:
    path.mkdir(parents=True)
    assert isinstance(opening(path), StateUnusable)


def test_a_file_where_the_folder_should_be_is_a_clear_line(path: Path) -> None:
    path.parent.write_text("")
    assert isinstance(opening(path), StateUnusable)


async def test_a_full_disk_is_a_clear_line_and_nothing_is_half_written(state: State, path: Path) -> None:
    (first,) = await state.append(None, "c:1", SAID, after=0)
    pages = state._connection.pragma("page_count")
    state._connection.pragma("max_page_count", pages)
    big = ("user", '{"text": "%s"}' % ("x" * 100_000))
    with pytest.raises(StateUnusable, match="disk is full"):
        await state.append(first.conversation, "c:1", [SAID[0], big], after=1)
    assert await entries(state, first.conversation) == (first,)
    state._connection.pragma("max_page_count", 1_000_000)
    await state.append(first.conversation, "c:1", [big], after=1)


async def test_looking_for_room_takes_none_away_from_what_has_room(state: State) -> None:
    (first,) = await state.append(None, "c:1", SAID, after=0)
    assert await state.has_disk_space()
    await state.read(lambda db: db.execute("VACUUM"))
    pages = state._connection.pragma("page_count")
    state._connection.pragma("max_page_count", pages + 20)
    small = [state.append(first.conversation, "c:1", SAID, after=1) for _ in range(3)]
    told, *_ = await asyncio.gather(state.has_disk_space(), *small)
    assert told is False
    assert len(await entries(state, first.conversation)) == 4


async def test_there_is_room_also_while_a_row_is_still_read(state: State) -> None:
    await state.append(None, "c:1", SAID, after=0)
    read = state._connection.execute("SELECT type FROM sqlite_schema")
    next(read)  # as a cursor in the traceback of an error that somebody keeps
    assert await state.has_disk_space()
    read.close()
    assert not await state.read(lambda db: db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'room'").get)


async def test_another_program_that_holds_the_lock_is_a_clear_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "BUSY_TIMEOUT_MS", 50)
    async with State(path) as state:
        holder = apsw.Connection(str(path))
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateUnusable, match="locked"):
            await state.append(None, "c:1", SAID, after=0)
        holder.execute("ROLLBACK")
        holder.close()
        await state.append(None, "c:1", SAID, after=0)


async def test_a_slow_disk_or_a_lock_does_not_hold_up_the_event_loop(state: State, path: Path) -> None:
    holder = apsw.Connection(str(path))
    holder.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(state.append(None, "c:1", SAID, after=0))
    for _ in range(20):
        await asyncio.sleep(0.002)
    assert not waiting.done()
    holder.execute("ROLLBACK")
    holder.close()
    await waiting


async def test_closing_waits_for_what_was_asked_and_ends_the_thread(path: Path) -> None:
    async with State(path) as state:
        asking = asyncio.gather(*(state.append(None, "c:1", SAID, after=0) for _ in range(20)))
        await asyncio.sleep(0)
    assert len(await asking) == 20
    for thread in threading.enumerate():
        if thread.name.startswith("state"):
            thread.join(timeout=5)
            assert not thread.is_alive()


def test_what_comes_too_late_is_refused_and_keeps_nobody_waiting(path: Path) -> None:
    ended: list[BaseException | int | None] = []

    async def main() -> None:
        state = State(path)
        await state.__aenter__()
        late = (state.change(lambda db: 1), state.change(lambda db: 2))
        ended.extend(await asyncio.gather(state.__aexit__(None, None, None), *late, return_exceptions=True))

    # In a thread: what must not be kept waiting is the event loop itself.
    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    thread.join(5)
    assert [str(each) for each in ended] == ["None", *["state.db is not open"] * 2]


# -- other processes ------------------------------------------------------------------------------------------


def write_many(path: Path, start: object, mark: str, count: int) -> None:
    async def main() -> None:
        start.wait()  # type: ignore[attr-defined]
        for number in range(count):
            async with State(path) as state:
                await state.append(None, "c:1", [("user", f"{mark}{number}")] * 2, after=0)

    asyncio.run(main())


@pytest.mark.thorough
async def test_processes_that_open_and_write_at_once_lose_nothing(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    writers = [context.Process(target=write_many, args=(path, barrier, mark, 40)) for mark in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        await asyncio.to_thread(writer.join, 30)
        assert writer.exitcode == 0
    async with State(path) as state:
        number = await open_conversation(state, "c:1")
        assert number is not None
        rows = await entries(state, number)
    assert [row.seq for row in rows] == list(range(1, 241))
    for mark in "abc":
        own = [row for row in rows if row.payload.startswith(mark)]
        assert [row.payload for row in own] == [f"{mark}{n}" for n in range(40) for _ in range(2)]
        assert all(one.seq + 1 == other.seq for one, other in zip(own[::2], own[1::2], strict=True))


@pytest.mark.thorough
def test_a_search_from_the_command_line_does_not_open_it() -> None:
    script = "import sys, memory.memory; print('bot.state.database' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# -- changes that share a commit ------------------------------------------------------------------------------


async def test_many_changes_at_once_share_a_few_commits(path: Path) -> None:
    async with State(path) as state:
        await state.change(lambda db: db.execute("CREATE TABLE told (n)"))
        commits: list[int] = []

        def count() -> bool:
            commits.append(1)
            return False

        await state.read(lambda db: db.set_commit_hook(count))
        await asyncio.gather(
            *(
                state.change(partial(lambda n, db: db.execute("INSERT INTO told VALUES (?)", (n,)), n))
                for n in range(200)
            )
        )
        found = await state.read(lambda db: [n for (n,) in db.execute("SELECT n FROM told")])
        await state.read(lambda db: db.set_commit_hook(None))
    assert found == list(range(200)), "in the order in which they were asked for"
    assert len(commits) < 50


async def test_a_change_that_fails_takes_no_other_with_it(path: Path) -> None:
    async with State(path) as state:
        await state.change(lambda db: db.execute("CREATE TABLE told (n UNIQUE)"))

        def tell(n: int, db: apsw.Connection) -> None:
            db.execute("INSERT INTO told VALUES (?)", (n,))
            if n == 3:
                raise LookupError("there is no three")

        done = await asyncio.gather(
            *(state.change(partial(tell, n)) for n in range(6)), return_exceptions=True
        )
        assert [type(each) for each in done] == [type(None)] * 3 + [LookupError] + [type(None)] * 2
        assert await state.read(lambda db: [n for (n,) in db.execute("SELECT n FROM told")]) == [
            0,
            1,
            2,
            4,
            5,
        ]
        await state.change(partial(tell, 7))


async def test_changes_that_wait_are_carried_out_though_nobody_waits_for_them(path: Path) -> None:
    async with State(path) as state:
        await state.change(lambda db: db.execute("CREATE TABLE told (n)"))
        tasks = [
            asyncio.create_task(state.change(lambda db: db.execute("INSERT INTO told VALUES (1)")))
            for _ in range(5)
        ]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert await state.read(lambda db: db.execute("SELECT count(*) FROM told").get) == 5


async def test_nothing_is_committed_once_another_instance_has_it(path: Path) -> None:
    ours = True
    async with State(path, is_ours=lambda: ours) as state:
        await state.append(None, "terminal:main", SAID, after=0)
        ours = False
        with pytest.raises(StateUnusable, match="is another instance's now: nothing was changed"):
            await state.append(None, "terminal:main", SAID, after=0)
        ours = True
        number = await open_conversation(state, "terminal:main")
        assert number
        assert len(await entries(state, number)) == 1
