"""Replies that are too long to read in a chat, and the sending of long ones, on both channels."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import tests.adapters.discord.life as on_discord
import tests.adapters.telegram.life as on_telegram
from adapters.long_reply import MAX_CHARS_IN_CHAT
from adapters.telegram.rate_limiter import RateLimiter
from bot import phrases
from tests.adapters.markdown.story import story as told
from tests.fakes.bot_api.chats import Chat
from tests.fakes.bot_api.server import BotApi
from tests.fakes.discord_api.chats import Channel
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.harness import Harness

UNHURRIED = replace(on_telegram.QUICK, chat_seconds=0.7)


@dataclass(frozen=True, slots=True)
class Talk:
    """Somebody's private chat with the assistant, whatever the channel."""

    house: Harness
    say: Callable[[str], Awaitable[object]]
    chat: Chat | Channel
    name: str
    """The chat's id for the assistant."""
    is_taken_in: Callable[[], Awaitable[object]]
    """Wait until the assistant has everything that was said."""
    files: Callable[[], Sequence[tuple[str, str]]]
    """Name and text of each file that the assistant has sent."""

    async def tell(self, *story: str, delay: float = 0.0) -> None:
        """Ask for a story that the model tells in these pieces."""
        self.house.model.enqueue(list(story), delay=delay)
        await self.say("Tell me")

    async def quiet(self) -> None:
        await self.is_taken_in()
        await self.house.wait_until_idle()

    async def history(self) -> list[str]:
        return await self.house.history(self.name)


Open = Callable[..., AbstractAsyncContextManager[Talk]]
"""Opens a chat in a folder; `slow`: the platform takes its time with each message."""


@asynccontextmanager
async def telegram(folder: Path, *, slow: bool = False) -> AsyncIterator[Talk]:
    pace = RateLimiter(UNHURRIED) if slow else None
    async with BotApi() as api, on_telegram.life(api, folder, rate_limiter=pace) as here:
        anna = api.person(2, "Anna")
        yield Talk(
            here.house,
            anna.say,
            anna.chat,
            f"telegram:{anna.id}",
            api.wait_until_confirmed,
            lambda: [
                (one.document.name, one.document.data.decode()) for one in anna.chat.replies if one.document
            ],
        )


@asynccontextmanager
async def discord(folder: Path, *, slow: bool = False) -> AsyncIterator[Talk]:
    async with DiscordApi() as api:
        anna = api.person("anna")
        api.guild("Home", anna, api.bot)
        async with on_discord.life(api, folder, allow=[anna]) as here:
            if slow:
                api.fail("create_message", Fault.delay(0.3), times=None, channel=anna.dm.id)
            yield Talk(
                here.house,
                anna.say,
                anna.dm,
                f"discord:@{anna.id}",
                here.house.wait_until_idle,
                lambda: [(file.name, file.text) for one in anna.dm.replies for file in one.attachments],
            )


@pytest.fixture(params=[telegram, discord])
def opened(request: pytest.FixtureRequest) -> Open:
    opened: Open = request.param
    return opened


@pytest.fixture
async def talk(opened: Open, tmp_path: Path) -> AsyncIterator[Talk]:
    async with opened(tmp_path) as talk:
        yield talk


@pytest.fixture
async def slow_talk(opened: Open, tmp_path: Path) -> AsyncIterator[Talk]:
    async with opened(tmp_path, slow=True) as talk:
        yield talk


async def test_a_reply_that_can_be_read_in_a_chat_comes_as_messages(talk: Talk) -> None:
    story = told(MAX_CHARS_IN_CHAT - 500)
    await talk.tell(story)
    await talk.chat.answer()
    await talk.quiet()
    assert "".join(talk.chat.texts).replace("\n", "") == story.replace("\n", "")
    assert talk.files() == []


async def test_a_longer_one_is_its_beginning_a_note_and_a_file(talk: Talk) -> None:
    story = told(MAX_CHARS_IN_CHAT * 3)
    await talk.tell(story)
    await talk.chat.answer(containing="All of it is in the file")
    await talk.quiet()
    beginning, note, _ = talk.chat.texts
    assert story.startswith(beginning)
    assert f"{len(story):,} characters" in note
    assert talk.files() == [("reply.md", f"{story}\n")]
    assert await talk.history() == ["Tell me", story]


@pytest.mark.thorough
async def test_what_had_grown_of_it_by_then_stays(talk: Talk) -> None:
    story = told(MAX_CHARS_IN_CHAT * 3)
    await talk.tell(story[:10_000], story[10_000:], delay=1.0)
    await talk.chat.answer(containing="All of it is in the file")
    await talk.quiet()
    *grown, _, _ = talk.chat.texts
    assert len(grown) >= 2
    assert story.replace("\n", "").startswith("".join(grown).replace("\n", ""))
    assert talk.files() == [("reply.md", f"{story}\n")]
    assert not any(each.deleted for each in talk.chat.messages)


async def test_stop_ends_the_sending_of_a_long_reply_and_nothing_of_it_is_lost(slow_talk: Talk) -> None:
    story = told(MAX_CHARS_IN_CHAT - 500)
    await slow_talk.tell(story)
    await slow_talk.chat.answer()
    await slow_talk.say("/stop")
    await slow_talk.chat.answer(containing=phrases.STOPPED)
    await slow_talk.quiet()
    shown = [text for text in slow_talk.chat.texts if text.startswith("This is line")]
    assert sum(map(len, shown)) < len(story) * 0.8
    assert [text for text in slow_talk.chat.texts if "stopped;" in text] in (
        [phrases.SENDING_STOPPED],
        [phrases.SENDING_STOPPED.strip("*")],  # Telegram has marks beside the text
    )
    assert slow_talk.files() == [("reply.md", f"{story}\n")]
    assert await slow_talk.history() == ["Tell me", story]


@pytest.mark.thorough
async def test_stop_says_that_nothing_runs_where_no_more_of_a_reply_is_to_be_sent(slow_talk: Talk) -> None:
    story = told(MAX_CHARS_IN_CHAT // 2)
    await slow_talk.tell(story)
    await slow_talk.chat.answer(containing=story[-20:])  # and its sender has not heard yet that it is there
    await slow_talk.say("/stop")
    await slow_talk.chat.answer(containing=phrases.NOTHING_RUNS)
    await slow_talk.quiet()
    shown = [text for text in slow_talk.chat.texts if text.startswith("This is line")]
    assert "".join(shown).replace("\n", "") == story.replace("\n", "")


@pytest.mark.thorough
async def test_a_sending_that_was_stopped_is_not_stopped_again(slow_talk: Talk) -> None:
    await slow_talk.tell(told(MAX_CHARS_IN_CHAT - 500))
    await slow_talk.chat.answer()
    await slow_talk.say("/stop")
    await slow_talk.say("/stop")
    await slow_talk.chat.answer(containing=phrases.NOTHING_RUNS)
    await slow_talk.quiet()
    assert phrases.STOPPED in slow_talk.chat.texts


@pytest.mark.thorough
async def test_after_a_stop_the_chat_goes_on(slow_talk: Talk) -> None:
    await slow_talk.tell(told(MAX_CHARS_IN_CHAT - 500))
    slow_talk.house.model.enqueue("Good night.")
    await slow_talk.chat.answer()
    await slow_talk.say("/stop")
    await slow_talk.say("Thank you")
    await slow_talk.chat.answer(containing="Good night.", within=30)
    await slow_talk.quiet()
    assert slow_talk.chat.texts[-1] == "Good night."
