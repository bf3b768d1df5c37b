"""What was said on Telegram or Discord and noted nowhere is found there again, and by nobody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.assistant import Assistant
from bot.config.settings import Settings
from bot.conversations.index_file import INDEX_NAME
from bot.service.channels import open_channels
from bot.service.open_assistant import open_assistant
from bot.service.run_channels import run_channels
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.model_server import KEY, ModelAnswer
from tests.fakes.openai_server import MODEL, OpenAIServer

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

KEY_LINE = "By the way, the spare key is under the grey stone."
NOTHING = "I found nothing about that in my notes or in our chats."


@dataclass
class Service:
    """A running service with both channels, and a model that only says "I see."."""

    folder: Path
    assistant: Assistant
    telegram: BotApi
    discord: DiscordApi
    model: OpenAIServer

    async def ask(self, who: Person, line: str) -> str:
        """Say a line in a private chat on Telegram; return the answer."""
        return (await who.chat.answer(await who.say(line))).text

    def files_with(self, word: str) -> set[str]:
        return {
            path.name
            for path in self.folder.rglob("*")
            if path.is_file() and word.encode() in path.read_bytes()
        }


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Service]:
    async with BotApi() as telegram, DiscordApi() as discord, OpenAIServer() as model:
        model.always(ModelAnswer("I see."))
        olga = discord.person("olga")
        settings = Settings.model_validate(
            {
                "workspace": folder,
                "access": {
                    "owners": ["telegram:1", f"discord:{olga.id}"],
                    "allow": ["telegram:2"],
                    "guests": ["telegram:3"],
                },
                "telegram": {"token": telegram.token, "api_base": telegram.url},
                "discord": {"token": discord.token, "api_base": discord.api_base},
                "models": {"chain": (f"openai/{MODEL}",)},
                "providers": {"openai": {"base_url": model.base_url, "api_key": KEY}},
                "memory": {"embedding": {"provider": "none"}, "flush": {"enabled": False}},
            }
        )
        leaving = asyncio.Event()
        async with (
            open_assistant(settings, alone=True) as assistant,
            open_channels(assistant, at_terminal=False) as channels,
            assistant.services.background,
        ):
            running = asyncio.create_task(
                run_channels(channels.adapters, assistant, leaving, timeout_seconds=lambda: 0)
            )
            try:
                yield Service(folder, assistant, telegram, discord, model)
            finally:
                leaving.set()
                await running


@pytest.mark.thorough
async def test_what_was_never_noted_is_found_by_who_said_it_alone(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        olga, ben, ida = (
            service.telegram.person(number, name, started=True)
            for number, name in enumerate(("Olga", "Ben", "Ida"), 1)
        )
        assert await service.ask(olga, KEY_LINE) == "I see."
        assert not list((tmp_path / "memory").rglob("*.md")), "nobody noted it"
        found = await service.ask(olga, "/recall spare key")
        assert found.startswith("From our chat on ")
        assert "Olga: By the way, the spare key is under the grey stone." in found

        assert await service.ask(ben, "/recall spare key") == NOTHING
        assert "There is no /recall" in await service.ask(ida, "/recall spare key")
        room = service.telegram.supergroup("Family", olga, ben)
        await room.answer(await olga.say("/memory on", room))
        for person in (olga, ben):
            assert (await room.answer(await person.say("/recall spare key", room))).text == NOTHING
        other = service.discord.person("olga")
        assert (await other.dm.answer(await other.say("/recall spare key"))).content == NOTHING


@pytest.mark.thorough
async def test_it_is_found_on_discord_as_well(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        olga = service.discord.person("olga")
        await service.discord.wait_until_connected(within=20)
        assert (await olga.dm.answer(await olga.say(KEY_LINE))).content == "I see."
        found = (await olga.dm.answer(await olga.say("/recall spare key"))).content
        assert found.startswith("From our chat on ")
        assert "the spare key is under the grey stone" in found
        elsewhere = service.telegram.person(1, "Olga", started=True)
        assert await service.ask(elsewhere, "/recall spare key") == NOTHING


async def test_it_is_found_on_the_other_channel_once_an_owner_has_linked_both(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        olga = service.telegram.person(1, "Olga", started=True)
        assert await service.ask(olga, KEY_LINE) == "I see."
        there = service.discord.person("olga")
        await service.discord.wait_until_connected(within=20)
        assert (await there.dm.answer(await there.say("/recall spare key"))).content == NOTHING
        assert "They are one person now" in await service.ask(olga, f"/link telegram:1 discord:{there.id}")
        found = (await there.dm.answer(await there.say("/recall spare key"))).content
        assert found.startswith("From Olga (Telegram) on ")
        assert "the spare key is under the grey stone" in found
        await service.ask(olga, f"/link telegram:1 discord:{there.id} off")
        assert (await there.dm.answer(await there.say("/recall spare key"))).content == NOTHING


async def test_what_was_edited_is_found_in_its_last_wording_alone(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        olga = service.telegram.person(1, "Olga", started=True)
        said = await olga.say(KEY_LINE)
        await olga.chat.answer(said)
        for place, answer in (("red", "Red, then."), ("blue", "Blue, then.")):
            service.model.enqueue(ModelAnswer(answer))
            await olga.edit(said, f"By the way, the spare key is under the {place} pot.")
            await olga.chat.answer(said, containing=answer)
        recall = await olga.say("/recall spare key")
        found = (await olga.chat.answer(recall, containing="From our chat")).text
        assert "under the blue pot" in found
        assert "stone" not in found
        assert "red" not in found


@pytest.mark.thorough
async def test_a_model_gets_what_was_said_before_and_not_the_question(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        olga = service.telegram.person(1, "Olga", started=True)
        await service.ask(olga, KEY_LINE)
        await service.ask(olga, "/new")
        search = ModelAnswer(calls=[("memory_search", {"query": "Where is the spare key?"})])
        service.model.enqueue(search, ModelAnswer("Under the grey stone."))
        assert await service.ask(olga, "Where is the spare key?") == "Under the grey stone."
        result = service.model.requests[-1].body["messages"][-1]["content"]
        assert '"source": "conversation"' in result
        assert "under the grey stone" in result
        assert "Where is" not in result


@pytest.mark.thorough
async def test_it_is_indexed_by_itself_and_forgotten_everywhere(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        olga = service.telegram.person(1, "Olga", started=True)
        await service.ask(olga, "The xylophagous beetle is called Quentin.")
        async with asyncio.timeout(10):
            while not any(name.startswith(INDEX_NAME) for name in service.files_with("xylophagous")):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        shown = await service.ask(olga, "/forget xylophagous")
        (code,) = [word for word in shown.replace("`", " ").split() if len(word) == 4 and word.isupper()]
        assert "messages: 1" in await service.ask(olga, f"/forget yes {code}")
        assert await service.ask(olga, "/recall beetle Quentin") == NOTHING
        assert service.files_with("xylophag") == set()
