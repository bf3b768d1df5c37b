"""Which chats somebody may search."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from bot.access import Access
from bot.config.reload import LiveSettings
from bot.config.settings import AccessSettings, Settings
from bot.conversations.conversation import Conversation
from bot.messages import ChatId, PersonId
from bot.models.protocol import AssistantMessage, UserMessage
from bot.searchable_chats import searchable_chats
from bot.services import Services
from bot.state import chat_migration, conversations
from bot.state.access import Decision, open_memory, save_decision
from bot.state.database import State
from bot.state.links import delete_link, save_link
from bot.state.migrations import MIGRATIONS
from tests.fakes.services import services

ANNA, ANNA_ON_DISCORD, BEN, GUEST, STRANGER = (
    "telegram:1",
    "discord:2",
    "telegram:3",
    "telegram:4",
    "telegram:5",
)
TERMINAL = "terminal:owner"
ROOM, TOPIC, SERVER = "telegram:-100", "telegram:-100/7", "discord:77"
AT = "2026-11-23T22:00:00.000+00:00"
RULES = AccessSettings(owners=(ANNA,), allow=(ANNA_ON_DISCORD, BEN, "discord:9/@8"), guests=(GUEST,))


def own(*chats: str) -> frozenset[str]:
    """Private chats with the imported conversations of the same people."""
    return frozenset((*chats, *(f"imported:{each.replace('@', '').partition('/')[0]}" for each in chats)))


@dataclass(slots=True)
class House:
    services: Services
    state: State

    async def say(self, person: str, chat: str, text: str = "The boiler is blue.") -> None:
        conversation = Conversation(self.state, ChatId.parse(chat))
        await conversation.load()
        await conversation.add_user_messages([(UserMessage(text), PersonId.parse(person))])
        await conversation.append(AssistantMessage("Noted."))

    async def memory(self, chat: str, *, on: bool = True) -> None:
        await self.state.change(lambda db: open_memory(db, chat, memory=on))

    async def link(self, person: str, other: str) -> None:
        await self.state.change(lambda db: save_link(db, person, other, by=ANNA, at=AT))

    async def decide(self, person: str, decision: Decision) -> None:
        await self.state.change(lambda db: save_decision(db, person, decision, name="", by=ANNA, at=AT))

    async def found(self, person: str, chat: str, *groups: str) -> frozenset[str]:
        return await searchable_chats(
            self.services, PersonId.parse(person), ChatId.parse(chat), groups=groups
        )


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    settings = Settings(workspace=tmp_path, access=RULES)
    async with State(tmp_path / "state.db") as state:
        given = services(
            state=state, access=Access(settings.access, state), live_settings=LiveSettings(settings)
        )
        yield House(given, state)


async def test_owners_too_search_only_their_own_private_chats(house: House) -> None:
    for person, chat in (
        (ANNA, ANNA),
        (BEN, BEN),
        (ANNA_ON_DISCORD, "discord:@2"),
        (TERMINAL, "terminal:main"),
    ):
        await house.say(person, chat)
    assert await house.found(ANNA, ANNA) == own(ANNA)
    assert await house.found(BEN, BEN) == own(BEN)
    assert await house.found(ANNA_ON_DISCORD, "discord:@2") == own("discord:@2")
    assert await house.found(TERMINAL, "terminal:main") == {"terminal:main", "imported:terminal:owner"}


async def test_guests_and_strangers_and_the_denied_search_nothing(house: House) -> None:
    await house.memory(ROOM)
    for person in (GUEST, STRANGER):
        await house.say(person, ROOM)
        assert await house.found(person, person) == set()
        assert await house.found(person, ROOM) == set()
    await house.say(BEN, ROOM)
    await house.decide(BEN, "denied")
    assert await house.found(BEN, BEN) == set()
    assert await house.found(BEN, ROOM) == set()
    await house.decide(BEN, "allowed")
    assert await house.found(BEN, BEN) == own(BEN) | {ROOM}


async def test_a_room_is_searched_by_those_who_wrote_there_while_its_memory_is_on(house: House) -> None:
    await house.say(BEN, ROOM)
    assert await house.found(BEN, BEN) == own(BEN)
    await house.memory(ROOM)
    assert await house.found(BEN, BEN) == own(BEN) | {ROOM}
    assert await house.found(ANNA, ANNA) == own(ANNA)
    await house.memory(ROOM, on=False)
    assert await house.found(BEN, BEN) == own(BEN)


async def test_a_room_searches_only_itself(house: House) -> None:
    await house.say(BEN, ROOM)
    await house.say(BEN, SERVER)
    await house.memory(SERVER)
    assert await house.found(BEN, ROOM) == set()
    await house.memory(ROOM)
    assert await house.found(BEN, ROOM) == {ROOM}
    assert await house.found(ANNA, ROOM) == {ROOM}  # who has not written there yet reads it as well


async def test_who_is_let_in_by_a_role_searches_the_room_where_the_role_counts(house: House) -> None:
    await house.memory(SERVER)
    assert await house.found("discord:6", SERVER) == set()
    assert await house.found("discord:6", SERVER, "9/@8") == {SERVER}


async def test_a_topic_is_a_room_of_its_own_and_a_private_one_a_part_of_the_private_chat(
    house: House,
) -> None:
    await house.say(BEN, TOPIC)
    await house.memory(ROOM)
    assert await house.found(BEN, BEN) == own(BEN)
    assert await house.found(BEN, TOPIC) == set()
    await house.memory(TOPIC)
    await house.say(BEN, f"{BEN}/12")
    await house.say("telegram:31", "telegram:31")
    await house.say("telegram:31", "telegram:31/3")
    assert await house.found(BEN, f"{BEN}/12") == own(BEN) | {f"{BEN}/12", TOPIC}


async def test_nobody_searches_from_the_private_chat_of_somebody_else(house: House) -> None:
    for chat in (BEN, f"{BEN}/12", "discord:@2", "discord:2", "terminal:main", "imported:telegram:1"):
        assert await house.found(ANNA, chat) == set(), chat
    assert await house.found(TERMINAL, ANNA) == set()
    assert await house.found("telegram:-100", ROOM) == set()


async def test_who_writes_as_a_group_has_no_private_chat(house: House) -> None:
    await house.decide(ROOM, "allowed")
    await house.say(ROOM, SERVER)
    await house.memory(SERVER)
    assert await house.found(ROOM, ROOM) == set()
    await house.memory(ROOM)
    assert await house.found(ROOM, ROOM) == {ROOM}


async def test_linked_ids_are_one_person_until_one_is_denied(house: House) -> None:
    await house.say(ANNA_ON_DISCORD, SERVER)
    await house.memory(SERVER)
    await house.say(TERMINAL, "terminal:main")
    await house.link(ANNA, ANNA_ON_DISCORD)
    await house.link(ANNA_ON_DISCORD, TERMINAL)
    everything = own(ANNA, "discord:@2") | {SERVER, "terminal:main", "imported:terminal:owner"}
    for person, chat in ((ANNA, ANNA), (ANNA_ON_DISCORD, "discord:@2"), (TERMINAL, "terminal:other")):
        assert await house.found(person, chat) == everything
    assert await house.found(ANNA_ON_DISCORD, SERVER) == {SERVER}
    await house.decide(ANNA_ON_DISCORD, "guest")
    assert await house.found(ANNA_ON_DISCORD, "discord:@2") == set()
    assert await house.found(ANNA, ANNA) == own(ANNA)
    await house.decide(ANNA_ON_DISCORD, "allowed")
    await house.state.change(lambda db: delete_link(db, ANNA_ON_DISCORD, ANNA))
    assert await house.found(ANNA, ANNA) == own(ANNA)


async def test_a_person_named_in_the_settings_is_that_one_and_no_other(house: House) -> None:
    await house.link(ANNA, BEN)
    house.services.access.set_rules(RULES.model_copy(update={"people": {"anna": (ANNA, ANNA_ON_DISCORD)}}))
    assert await house.found(ANNA, ANNA) == own(ANNA, "discord:@2")
    assert await house.found(BEN, BEN) == own(BEN)


async def test_a_group_that_got_a_new_id_stays_searchable_under_it(house: House) -> None:
    await house.say(BEN, ROOM)
    await house.memory(ROOM)
    new = ChatId("telegram", "-1009")
    await house.state.change(lambda db: chat_migration.move_rows(db, ChatId.parse(ROOM), new))
    assert await house.found(BEN, BEN) == own(BEN) | {str(new)}
    assert await house.found(BEN, ROOM) == set()


async def test_who_wrote_nothing_that_is_left_does_not_search_the_room(house: House) -> None:
    await house.memory(ROOM)
    await house.say(BEN, ROOM)
    gone = json.dumps({"text": "[forgotten]"})
    await house.state.change(
        lambda db: db.execute("UPDATE entries SET payload = ? WHERE kind = 'user'", (gone,))
    )
    assert await house.found(BEN, BEN) == own(BEN)


async def test_what_earlier_versions_stored_is_known_and_damaged_messages_are_nobodys(tmp_path: Path) -> None:
    old = tmp_path / "state.db"
    db = apsw.Connection(str(old))
    for number, migrate in enumerate(MIGRATIONS[:21], 1):
        migrate(db)
        db.execute(f"PRAGMA user_version = {number}")
    said = [
        ("user", json.dumps({"text": "Hello.", "by": BEN})),
        ("user", json.dumps({"text": "Hello."})),  # of a version that did not store who spoke
        ("user", '{"by": "telegram:1"'),
        ("user", '"telegram:1"'),
        ("user", json.dumps({"text": "Hello.", "by": ["telegram:1"]})),
        ("result", json.dumps({"by": ANNA})),
    ]
    conversations.append(db, None, ROOM, said, after=0, at=AT)
    open_memory(db, ROOM, memory=True)
    db.close()
    settings = Settings(workspace=tmp_path, access=RULES)
    async with State(old) as state:
        house = House(
            services(
                state=state, access=Access(settings.access, state), live_settings=LiveSettings(settings)
            ),
            state,
        )
        assert await house.found(BEN, BEN) == own(BEN) | {ROOM}
        assert await house.found(ANNA, ANNA) == own(ANNA)


async def test_a_hundred_thousand_messages_are_not_read_to_find_who_wrote(house: House) -> None:
    """By what SQLite says it does, not by the clock."""
    said = [("user", json.dumps({"text": "Hello.", "by": BEN})), ("assistant", "{}")] * 20

    def fill(db: apsw.Connection) -> list[str]:
        for number in range(50):
            conversations.append(db, None, f"telegram:-{number}", said, after=0, at=AT)
            open_memory(db, f"telegram:-{number}", memory=True)
        told = list[str]()
        db.exec_trace = lambda cursor, query, values: told.append(query) or True  # type: ignore[func-returns-value]
        return told

    queries = await house.state.change(fill)
    assert len(await house.found(BEN, BEN)) == 52

    def plans(db: apsw.Connection) -> list[str]:
        db.exec_trace = None
        asked = [each for each in dict.fromkeys(queries) if "entries" in each or "conversations" in each]
        assert asked
        return [
            str(row[3])
            for each in asked
            for row in db.execute(
                f"EXPLAIN QUERY PLAN {each}", ("[]",) if "json_each" in each else ("a", "b")
            )
        ]

    of_tables = [
        each for each in await house.state.read(plans) if "entries" in each or "conversations" in each
    ]
    assert [each for each in of_tables if not each.startswith("SEARCH")] == []
    assert [
        each for each in of_tables if "entries" in each and "(<expr>=? AND conversation=?)" not in each
    ] == []
    assert any("entries" in each for each in of_tables)
