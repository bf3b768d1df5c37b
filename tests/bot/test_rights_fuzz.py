"""A secret in every chat, and everybody asks for it everywhere: who finds it is who may, and nobody else."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from bot.access import Access
from bot.commands.registry import COMMANDS
from bot.config.reload import LiveSettings
from bot.config.settings import Settings
from bot.conversations.open_search import open_conversation_search
from bot.conversations.search import ConversationSearch
from bot.messages import ChatId, PersonId
from bot.pairing import Pairing
from bot.searchable_chats import searchable_chats
from bot.services import Services
from bot.state.database import State
from tests.fakes.rights_world import NOW, Find, RightsWorld
from tests.fakes.services import services

ROUNDS, CHANGES = 5, 5
"""In each world; the changes come before the questions of each round."""
Opened = tuple[Services, Callable[[RightsWorld], Find]]
"""Open services, and how secrets are looked for in a world made of them."""


def find_by_chats(world: RightsWorld) -> Find:
    """Find a secret if its chat is among those that may be searched."""

    async def find(person: PersonId, chat: ChatId, secret: str) -> bool:
        groups = world.groups(person, chat)
        return world.secrets[secret] in await searchable_chats(world.services, person, chat, groups=groups)

    return find


def find_by_search(search: ConversationSearch, world: RightsWorld) -> Find:
    """Find a secret if a search finds it."""

    async def find(person: PersonId, chat: ChatId, secret: str) -> bool:
        chats = await searchable_chats(world.services, person, chat, groups=world.groups(person, chat))
        search.note_said()
        found = await search.search(secret, chats=chats)
        return any(secret in hit.snippet and hit.chat == world.secrets[secret] for hit in found.hits)

    return find


@asynccontextmanager
async def open_search(folder: Path) -> AsyncIterator[Opened]:
    """Search what was said, by its index."""
    async with open_chats(folder) as (given, _):
        search = open_conversation_search(given.live_settings, now=lambda: NOW)
        assert search
        try:
            yield given, partial(find_by_search, search)
        finally:
            await search.aclose()


@asynccontextmanager
async def open_chats(folder: Path) -> AsyncIterator[Opened]:
    """Ask for the chats that may be searched, without a search."""
    settings = Settings(workspace=folder)
    async with State(settings.private_folder / "state.db") as state:
        given = services(
            state=state,
            access=Access(settings.access, state),
            pairing=Pairing(settings.access, state, now=lambda: NOW),
            commands=COMMANDS,
            live_settings=LiveSettings(settings),
            now=lambda: NOW,
        )
        yield given, find_by_chats


async def ask_in_worlds(
    folder: Path,
    seeds: Iterable[int],
    *,
    questions: int,
    opened: Callable[[Path], AbstractAsyncContextManager[Opened]] = open_chats,
) -> tuple[int, int]:
    """Ask so many questions a round in each world; return how many it were, and how many secrets were found."""
    asked = found = 0
    for seed in seeds:
        (here := folder / str(seed)).mkdir()
        async with opened(here) as (given, find_in):
            world = RightsWorld(given, seed)
            find = find_in(world)
            await world.begin()
            for number in range(ROUNDS):
                for _ in range(CHANGES):
                    await world.change()
                for each in world.questions(questions):
                    answer = await find(each.person, each.chat, each.secret)
                    verdict = "leaks" if answer else "is not found"
                    said_in = world.secrets[each.secret]
                    assert answer == each.expected, (
                        f"seed {seed}, round {number}: what was said in {said_in} {verdict} where "
                        f"{each.person} asks in {each.chat}"
                    )
                    asked, found = asked + 1, found + answer
    return asked, found


async def test_everybody_finds_what_they_may_and_nothing_else(tmp_path: Path) -> None:
    asked, found = await ask_in_worlds(tmp_path, range(8), questions=20)
    assert asked == 800
    assert found > 100


async def test_a_search_finds_what_they_may_find_and_nothing_else(tmp_path: Path) -> None:
    asked, found = await ask_in_worlds(tmp_path, range(2), questions=20, opened=open_search)
    assert asked == 200
    assert found > 20


@pytest.mark.thorough
async def test_ten_thousand_questions_leak_nothing(tmp_path: Path) -> None:
    asked, found = await ask_in_worlds(tmp_path, range(100, 140), questions=50, opened=open_search)
    assert asked == 10_000
    assert found > 1_000
