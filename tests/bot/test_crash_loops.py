"""What kills the process while it is shown is counted first, given up at last, and takes nothing else with it."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from bot import phrases
from bot.attempts import MAX_TURN_ATTEMPTS
from bot.messages import ChannelFault, ChatId, Reply
from tests.fakes.harness import open_harness
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.turns import message

POISON = "poison"
MORTAL = f"""
import asyncio, os, signal, sys
from pathlib import Path
import tests.fakes.harness
from tests.fakes.harness import open_harness
from tests.fakes.recording_adapter import RecordingAdapter

class Mortal(RecordingAdapter):
    async def render(self, reply):
        async for part in reply.parts:
            if part.final:
                if {POISON!r} in part.text:
                    os.kill(os.getpid(), signal.SIGKILL)
                print(part.text, flush=True)

async def run():
    tests.fakes.harness.RecordingAdapter = Mortal
    async with open_harness(Path(sys.argv[1])) as house:
        await house.wait_until_idle()

asyncio.run(run())
"""


async def live(folder: Path) -> tuple[int, list[str]]:
    """Have a process show what is left; return how it ended, and what it has shown."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MORTAL, str(folder)), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode().splitlines()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["reply", "notice"])
async def test_what_kills_each_process_that_shows_it_is_given_up_and_the_rest_is_shown(
    kind: str, tmp_path: Path
) -> None:
    async with open_harness(tmp_path) as house:
        for number, text in enumerate(["one", POISON, "three"]):
            chat = ChatId("terminal", f"chat{number}")
            if kind == "notice":
                notice = await house.queue_notice(chat, text, key=f"notice {number}")
                if text == POISON:
                    for _ in range(MAX_TURN_ATTEMPTS - 3):  # as often as it has been the death of one before
                        await house.inbox.count_notice_attempt(notice.number)
            else:
                received = await house.inbox.accept(message(text, chat=str(chat)))
                assert received
                await house.inbox.record_answer(received.number, text)
                if text == POISON:
                    await house.inbox.count_attempt(*[received.number] * (MAX_TURN_ATTEMPTS - 3))
    shown: list[str] = []
    deaths = 0
    for _ in range(6):
        ended, told = await live(tmp_path)
        shown += told
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
        deaths += 1
    assert deaths == 3
    assert set(shown) == {"one", "three", phrases.GIVEN_UP if kind == "reply" else phrases.NOTICE_GIVEN_UP}


async def test_what_a_silent_platform_keeps_waiting_is_not_counted_when_the_program_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_harness(tmp_path) as house:
        received = await house.inbox.accept(message("hello", chat="terminal:1"))
        assert received
        await house.inbox.record_answer(received.number, "the answer")
        await house.queue_notice(ChatId("terminal", "2"), "the notice", key="a notice")
    tried = asyncio.Event()

    class Silent(RecordingAdapter):
        async def render(self, reply: Reply) -> None:
            tried.set()
            raise ChannelFault("the platform is gone")

    with monkeypatch.context() as patched:
        patched.setattr("tests.fakes.harness.RecordingAdapter", Silent)
        for _ in range(2):
            async with open_harness(tmp_path, pauses=(0.01,)) as house:
                async with asyncio.timeout(20):
                    await tried.wait()
                tried.clear()
    async with open_harness(tmp_path) as house:
        await house.wait_until_idle()
        assert sorted(parts[-1].text for _, parts in house.terminal.shown) == ["the answer", "the notice"]
        counted = (
            "SELECT sum(attempts) FROM (SELECT attempts FROM inbox UNION ALL SELECT attempts FROM outbox)"
        )
        left: int = await house.state.read(lambda db: db.execute(counted).get)
        assert left <= 2, "one of this process for each"


@pytest.mark.thorough
async def test_what_a_fault_of_ours_keeps_from_being_shown_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_harness(tmp_path) as house:
        await house.queue_notice(ChatId("terminal", "2"), "the notice", key="a notice")

    class Faulty(RecordingAdapter):
        async def render(self, reply: Reply) -> None:
            raise ZeroDivisionError("a bug of ours")

    with monkeypatch.context() as patched:
        patched.setattr("tests.fakes.harness.RecordingAdapter", Faulty)
        for _ in range(MAX_TURN_ATTEMPTS):
            async with open_harness(tmp_path, pauses=()) as house:
                await house.wait_until_idle()
    async with open_harness(tmp_path) as house:
        await house.wait_until_idle()
        assert [parts[-1].text for _, parts in house.terminal.shown] == ["the notice"]
