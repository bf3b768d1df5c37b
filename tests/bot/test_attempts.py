"""How often a message is begun stands on disk before anything is done with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot import phrases
from bot.attempts import READING_ATTEMPTS, Attempts
from bot.messages import Attachment, ChatId, WriteChunk
from bot.state import inbox
from tests.fakes.harness import Harness, open_harness
from tests.fakes.recording_adapter import RecordingAdapter


@dataclass(slots=True)
class Files(RecordingAdapter):
    """A channel whose files come once they are let go."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        self.asked.put_nowait(attachment.handle)
        await self.gate.wait()
        await write(attachment.handle.encode())


@asynccontextmanager
async def with_files(folder: Path) -> AsyncIterator[tuple[Harness, Files]]:
    files = Files("telegram")
    async with open_harness(folder, channels=[files]) as house:
        yield house, files


async def send(house: Harness, name: str, *, chat: str = "telegram:3", text: str = "Read this") -> None:
    await house.accept(
        text,
        chat=chat,
        sender="telegram:3",
        alone=False,
        attachments=(Attachment("document", name, name, size=9),),
    )


async def attempts(house: Harness) -> list[int]:
    found = await house.state.read(inbox.read_undelivered)
    return [received.attempts for _, received in found]


async def dies_over(house: Harness, *numbers: int) -> None:
    """Have it look as if a process had died while it read these."""
    await house.inbox.count_attempt(*numbers)


async def first(files: Files) -> str:
    async with asyncio.timeout(10):
        return await files.asked.get()


async def test_it_is_counted_before_a_file_is_touched_and_a_stop_takes_it_off_again(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (house, files):
        await send(house, "a.txt")
        await first(files)
        assert await attempts(house) == [1]
    async with with_files(tmp_path) as (house, files):
        files.gate.set()
        await house.wait_until_idle()
        assert phrases.FILES_SET_ASIDE not in files.replies().values()
        assert "a.txt" in (await house.history("telegram:3"))[0]


async def test_a_message_without_files_costs_no_count(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (house, _):
        house.model.enqueue(hang=True)
        await house.accept("Hi", chat="telegram:3", sender="telegram:3", alone=False)
        await house.wait_until_asked(1)
        assert await attempts(house) == [0]


async def test_what_killed_the_process_again_and_again_is_set_aside_and_stays_on_record(
    tmp_path: Path,
) -> None:
    async with with_files(tmp_path) as (house, files):
        await send(house, "bomb.pdf", text="What is in it?")
        await first(files)
        await dies_over(house, *[1] * READING_ATTEMPTS)
    async with with_files(tmp_path) as (house, files):
        files.gate.set()
        house.model.enqueue("Read.")
        await house.wait_until_idle()
        await send(house, "fine.txt", text="And this one?")
        await house.wait_until_idle()
        assert list(files.replies().values()) == [phrases.FILES_SET_ASIDE, "Read."]
        assert files.asked.get_nowait() == "fine.txt"
        bomb, _, _ = await house.history("telegram:3")
        assert bomb.startswith("What is in it?")
        assert f"bomb.pdf (9 bytes). {phrases.NOT_READ_AGAIN}" in bomb
        assert await house.count_undelivered() == 0


async def test_what_was_being_read_beside_it_is_read_one_by_one(tmp_path: Path) -> None:
    chats = [f"telegram:{number}" for number in (3, 4, 5)]
    async with with_files(tmp_path) as (house, files):
        for chat in chats:
            await send(house, "a.txt", chat=chat)
        for _ in chats:
            await first(files)
        await dies_over(house, 1, 2, 3)
    async with with_files(tmp_path) as (house, files):
        await first(files)
        await send(house, "new.txt", chat="telegram:6")
        assert await first(files) == "new.txt", "what is new waits for none of them"
        assert sorted(await attempts(house)) == [1, 1, 1, 2], "only the one that is read is counted again"
        files.gate.set()
        await house.wait_until_idle()
        assert phrases.FILES_SET_ASIDE not in files.replies().values()
        assert len(files.replies()) == 4


@pytest.mark.thorough
async def test_what_joins_a_turn_is_counted_too(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (house, files), AsyncExitStack() as stack:
        stack.push_async_callback(house.assistant.stop, ChatId.parse("telegram:3"))
        house.model.enqueue("Let me see.", calls=[("nothing", {})], delay=0.2)
        await house.accept("Hi", chat="telegram:3", sender="telegram:3", alone=False)
        await house.wait_until_asked(1)
        await send(house, "bomb.pdf")
        assert await first(files) == "bomb.pdf"
        assert await attempts(house) == [0, 1]


@pytest.mark.parametrize("times", [1, READING_ATTEMPTS, 3])
async def test_a_command_for_files_is_set_aside_too(tmp_path: Path, times: int) -> None:
    async with with_files(tmp_path) as (house, files):
        await house.accept(
            "/remember",
            chat="telegram:2",
            sender="telegram:2",
            alone=False,
            attachments=(Attachment("document", "a.txt", "a.txt"),),
        )
        await first(files)
        await dies_over(house, *[1] * times)
        await house.inbox.uncount_attempt(1)  # as it was counted itself
    async with with_files(tmp_path) as (house, files):
        files.gate.set()
        await house.wait_until_idle()
        (reply,) = files.replies().values()
        assert (reply == phrases.FILES_SET_ASIDE) is (times >= READING_ATTEMPTS)


async def test_a_cancellation_while_the_count_is_written_leaves_no_count(tmp_path: Path) -> None:
    """It arrives at each step of the event loop in turn, until the whole of it has run."""
    async with with_files(tmp_path) as (house, files):
        await send(house, "a.txt")
        await first(files)
        counter = Attempts(house.inbox)
        ((_, waiting),) = await house.state.read(inbox.read_undelivered)
        before = await attempts(house)

        async def read() -> None:
            async with counter.count_while_reading([waiting]):
                await asyncio.Event().wait()

        for steps in range(12):
            reading = asyncio.create_task(read())
            for _ in range(steps):
                await asyncio.sleep(0)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            assert await attempts(house) == before, f"cancelled after {steps} steps"
        files.gate.set()
        await house.wait_until_idle()
