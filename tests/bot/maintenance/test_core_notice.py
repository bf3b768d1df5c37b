"""Once a week an owner is told that MEMORY.md is longer than what is always at hand."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.access import Access
from bot.channels import Channels
from bot.config.settings import AccessSettings, Settings
from bot.language.people import PeopleLanguages
from bot.maintenance.core_notice import CoreNotice
from bot.service.open_assistant import open_assistant
from bot.state.database import State
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.recording_adapter import RecordingAdapter

LONG = "- A fact that everybody should know.\n" * 300
RULES = AccessSettings(owners=("discord:7", "telegram:2"), allow=("telegram:1",))


@dataclass
class Told:
    folder: Path
    state: State
    memory: Memory
    time: datetime = datetime(2026, 11, 21, 3, tzinfo=UTC)
    woken: int = 0
    channels: Channels = field(default_factory=Channels)

    def write(self, text: str) -> None:
        (self.folder / "memory").mkdir(exist_ok=True)
        (self.folder / "memory" / "MEMORY.md").write_text(text)

    def wake(self) -> None:
        self.woken += 1

    async def send(self) -> list[tuple[str, str]]:
        access = Access(RULES, self.state)
        notice = CoreNotice(
            self.memory,
            self.state,
            access,
            self.channels,
            now=lambda: self.time,
            wake=self.wake,
            languages=PeopleLanguages(self.state),
        )
        await notice.send()
        query = "SELECT chat, text FROM outbox ORDER BY number"
        return [
            (str(chat), str(text))
            for chat, text in await self.state.read(lambda db: db.execute(query).fetchall())
        ]


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with (
        State(copy_fresh_state(tmp_path / ".commonplace" / "state.db")) as state,
        Memory(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC)) as memory,
    ):
        told = Told(tmp_path, state, memory)
        told.channels.attach(RecordingAdapter("telegram"))
        yield told


async def test_the_first_owner_who_can_be_reached_is_told_what_to_do(told: Told) -> None:
    told.write(LONG)
    [(chat, text)] = await told.send()
    assert chat == "telegram:2"
    assert "MEMORY.md is 11,099 characters long" in text
    assert "shorten it, or move" in text
    assert told.woken == 1


async def test_it_is_told_again_after_a_week_while_it_is_so(told: Told) -> None:
    told.write(LONG)
    for _ in range(16):
        await told.send()
        told.time += timedelta(days=1)
    assert len(await told.send()) == 3
    told.write("- short\n")
    told.time += timedelta(days=30)
    assert len(await told.send()) == 3


async def test_nothing_is_told_of_a_short_note_a_missing_one_or_to_nobody(told: Told) -> None:
    assert await told.send() == []
    told.write("- short\n")
    assert await told.send() == []
    told.write(LONG)
    told.channels = Channels()
    assert await told.send() == []
    assert told.woken == 0


TELLER = """
import asyncio, os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from bot.access import Access
from bot.channels import Channels
from bot.config.settings import AccessSettings
from bot.state.database import State
from bot.language.people import PeopleLanguages
from bot.maintenance.core_notice import CoreNotice
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.recording_adapter import RecordingAdapter

folder = Path(sys.argv[1])

async def main():
    now = lambda: datetime(2026, 11, 21, 3, tzinfo=UTC)
    async with (
        State(folder / ".commonplace" / "state.db") as state,
        Memory(MemorySettings(), workspace=folder, now=now) as memory,
    ):
        die = lambda: os.kill(os.getpid(), signal.SIGKILL)
        access = Access(AccessSettings(owners=("telegram:2",)), state)
        channels = Channels()
        channels.attach(RecordingAdapter("telegram"))
        await CoreNotice(memory, state, access, channels, now=now, wake=die, languages=PeopleLanguages(state)).send()

asyncio.run(main())
"""


@pytest.mark.thorough
async def test_a_process_that_dies_right_after_it_is_noted_tells_it_once(told: Told) -> None:
    told.write(LONG)
    died = await asyncio.create_subprocess_exec(sys.executable, "-c", TELLER, str(told.folder))
    assert await died.wait() == -signal.SIGKILL
    assert len(await told.send()) == 1


async def test_it_is_sent_by_the_service_at_night(tmp_path: Path) -> None:
    settings = Settings(workspace=tmp_path, access=RULES)
    copy_fresh_state(settings.private_folder / "state.db")
    settings.memory_folder.mkdir()
    (settings.memory_folder / "MEMORY.md").write_text(LONG)
    async with open_assistant(settings, alone=True) as assistant:
        services = assistant.services
        assistant.attach(telegram := RecordingAdapter("telegram"))
        assert services.background._nights
        for work in services.background._nights.tidy:
            await work()
        assert services.wake_event.is_set()
        await assistant.resume()
        await assistant.wait_until_idle()
    [text] = telegram.replies().values()
    assert "MEMORY.md is 11,099 characters long" in text
