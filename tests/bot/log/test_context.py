import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.log import log_context
from bot.log.context import current_context, short_key
from bot.log.records import make_record_factory, record_context
from bot.maintenance.scheduler import Schedule
from bot.models.breakers import Breakers
from bot.models.health import CallOutcome, RouteName
from bot.state.database import State
from bot.tools.toolbox import tool
from memory.redaction import Redaction
from tests.fakes.harness import open_harness
from tests.fakes.scripted_model import ScriptedModel, alone


def test_an_id_is_short_and_always_the_same_for_a_key() -> None:
    assert short_key("message-7") == short_key("message-7")
    assert len({short_key(f"message-{number}") for number in range(2000)}) == 2000
    assert all(len(short_key(key)) == 6 and short_key(key).isalnum() for key in ("", "ü" * 1000, "\ud800"))


async def test_tasks_and_threads_carry_it_on_and_others_do_not() -> None:
    async def look() -> str:
        return await asyncio.to_thread(lambda: current_context().id)

    with log_context("a") as a:
        task = asyncio.create_task(look())
        with log_context("b", chat="telegram:5") as b:
            assert (await asyncio.create_task(look()), await look()) == (b, b)
            assert current_context().chat == "telegram:5"
        assert await look() == a
    assert await task == a
    assert current_context().id == ""


class Seen(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.works: list[tuple[str, str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.works.append((record.getMessage(), record_context(record).id, record_context(record).chat))


@pytest.fixture
def seen() -> Seen:
    logging.setLogRecordFactory(make_record_factory(Redaction()))
    seen, root = Seen(), logging.getLogger()
    root.addHandler(seen)
    root.setLevel(logging.INFO)
    return seen


@tool
async def look_up() -> Mapping[str, Any]:
    """Look something up."""
    logging.getLogger("test").info("a tool")
    await asyncio.to_thread(logging.getLogger("test").info, "a thread")
    return {"found": 1}


async def test_all_that_comes_of_a_message_bears_the_id_of_its_turn(tmp_path: Path, seen: Seen) -> None:
    chain = alone(model := ScriptedModel())
    async with open_harness(tmp_path, tools=[look_up], chain_of=lambda _: chain) as house:
        for chat in ("terminal:main", "telegram:1"):
            model.enqueue(calls=[("look_up", {})])
            model.enqueue("Well.")
            await house.say("Look!", chat=chat, sender=chat.replace("main", "owner"))
        chain.breaks = True
        await house.say("And now?")
    told = [
        (what, work, chat)
        for what, work, chat in seen.works
        if what in ("a tool", "a thread") or "failed" in what
    ]
    main, telegram, broken = (short_key(f"message-{number}") for number in (1, 2, 3))
    assert told == [
        ("a tool", main, "terminal:main"),
        ("a thread", main, "terminal:main"),
        ("a tool", telegram, "telegram:1"),
        ("a thread", telegram, "telegram:1"),
        ("a turn in terminal:main failed", broken, "terminal:main"),
    ]


async def test_what_is_written_for_several_turns_bears_the_id_of_none(tmp_path: Path, seen: Seen) -> None:
    async with State(tmp_path / "state.db") as state:
        await state.change(lambda db: db.execute("DROP TABLE model_hours"))
        book = Breakers(state)
        with log_context("a", chat="telegram:5"):
            book.record([CallOutcome(RouteName("openai/x", ""), 1.0)])
        await book.write()
    assert [(work, chat) for what, work, chat in seen.works if "models' statistics" in what] == [("", "")]


async def test_each_run_of_a_job_has_an_id(seen: Seen) -> None:
    ran = asyncio.Event()

    async def job() -> None:
        logging.getLogger("test").info("a job")
        ran.set()

    async with Schedule() as schedule:
        schedule.add_interval(0.0001, job, name="re-index")
        async with asyncio.timeout(5):
            await ran.wait()
    assert all(work for what, work, _ in seen.works if what == "a job")
