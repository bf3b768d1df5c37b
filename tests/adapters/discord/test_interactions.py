"""Commands and buttons through the real library, on a server that behaves like Discord, to the real assistant."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from discord.gateway import DiscordWebSocket
from discord.http import Route

from adapters.discord.buttons import make_buttons
from adapters.discord.interaction_handle import parse_handle
from adapters.discord.interactions import TOO_LATE
from bot import phrases
from bot.commands.registry import COMMANDS
from bot.language.current import speaking
from bot.messages import Choice, IncomingMessage, NotAccepted
from bot.state import access
from tests.adapters.discord.commanding import Commanding, commanding, edit_original, open_client
from tests.fakes.discord_api import wire
from tests.fakes.discord_api.chats import EPHEMERAL, Channel, Guild, Interaction, Message
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.interactions import EDIT_LATER, MESSAGE, MESSAGE_LATER
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.requests import Upload
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.table_test import first_at_once
from tests.fakes.turns import NOW

OWNERS_COMMANDS = [command.name for command in COMMANDS if command.owner_only]
FILLED_IN: list[tuple[str, dict[str, Any], str]] = [
    ("help", {}, "/help"),
    ("help", {"command": "remind"}, "/help remind"),
    ("start", {}, "/start"),
    ("new", {}, "/new"),
    ("stop", {}, "/stop"),
    ("retry", {}, "/retry"),
    ("status", {}, "/status"),
    ("remember", {"text": "the key is <:key:42> under the mat"}, "/remember the key is :key: under the mat"),
    ("recall", {"query": " where is the key? "}, "/recall where is the key?"),
    ("changes", {"what": "today"}, "/changes today"),
    ("undo", {"number": "12"}, "/undo 12"),
    ("language", {"code": "de"}, "/language de"),
    ("redo", {}, "/redo"),
    ("why", {"place": "2026-11-21.md:3"}, "/why 2026-11-21.md:3"),
    ("model", {"name": "gpt"}, "/model gpt"),
    ("compact", {}, "/compact"),
    ("flush", {}, "/flush"),
    ("usage", {}, "/usage"),
    ("remind", {"text": "call mum", "when": "tomorrow 9:00"}, "/remind tomorrow 9:00 call mum"),
    ("reminders", {"number": "1 2", "action": "cancel"}, "/reminders cancel 1 2"),
    (
        "schedule",
        {"prompt": "what now?", "when": "every monday 8:00"},
        "/schedule every monday 8:00 what now?",
    ),
    ("memory", {"what": "2026-11-21.md:3-9", "action": "get"}, "/memory get 2026-11-21.md:3-9"),
    (
        "correct",
        {"text": "The roof leaks.", "place": "2026-11-21.md:3"},
        "/correct 2026-11-21.md:3 The roof leaks.",
    ),
    ("models", {"action": "reset"}, "/models reset"),
    ("allow", {"user": "telegram:7"}, "/allow telegram:7"),
    ("deny", {"user": "<@4711>"}, "/deny discord:4711"),
    ("deny", {"user": f"<@{'9' * 5000}>"}, f"/deny <@{'9' * 5000}>"),
    (
        "link",
        {"action": "off", "other": "telegram:7", "user": "<@4711>"},
        "/link discord:4711 telegram:7 off",
    ),
    ("pair", {"guest": "guest", "code": "CDFH JKMN"}, "/pair CDFH JKMN guest"),
    ("forget", {"query": "the key"}, "/forget the key"),
    ("reindex", {}, "/reindex"),
    ("backup", {}, "/backup"),
    ("config", {}, "/config"),
]


@pytest.fixture(autouse=True)
def routes_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Route, "BASE", Route.BASE)
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", DiscordWebSocket.DEFAULT_GATEWAY)


@pytest.fixture
def olga(api: DiscordApi) -> Person:
    return api.person("olga", display_name="Olga")


@pytest.fixture
def anna(api: DiscordApi) -> Person:
    return api.person("anna", display_name="Anna")


@pytest.fixture
def home(api: DiscordApi, olga: Person, anna: Person) -> Guild:
    return api.guild("Home", olga, anna)


@pytest.fixture
def general(home: Guild) -> Channel:
    return home.text("general")


@pytest.fixture
async def bot(api: DiscordApi, tmp_path: Path, olga: Person, home: Guild) -> AsyncIterator[Commanding]:
    """Olga's; nobody else may talk with it."""
    async with commanding(api, tmp_path, owners=[f"discord:{olga.id}"]) as bot:
        yield bot


def listen_only(bot: Commanding) -> list[IncomingMessage]:
    heard: list[IncomingMessage] = []

    async def accept(message: IncomingMessage) -> bool:
        heard.append(message)
        return False

    bot.accept = accept
    return heard


def use(person: Person, name: str, channel: Channel, options: dict[str, Any]) -> Interaction:
    """As `person.use`, also what their client does not offer them, and with options of any name."""
    data = person._command_data(name, channel, None, options, forged=True, focused="")
    return person.world.interact(person, channel, 2, data, name=name)


async def shown_by_bot(bot: Commanding, channel: Channel, *says: str, to: Person | None = None) -> Message:
    """A message with buttons; where it is for one person only, the answer to a command."""
    view = make_buttons([Choice(each, each) for each in says])
    assert view
    if to is None:
        place = bot.client.get_partial_messageable(channel.id)
        sent = await place.send("What is it to be?", view=view)
        return channel.by_id[sent.id]
    message = bot.api.post(channel, bot.api.bot, content="What is it to be?", flags=EPHEMERAL)
    message.components = view.to_components()
    return message


# -- what was filled in ----------------------------------------------------------------------------------------


async def test_each_command_is_heard_as_the_line_that_one_could_write(bot: Commanding, olga: Person) -> None:
    heard = listen_only(bot)
    for name, options, _ in FILLED_IN:
        await use(olga, name, olga.dm, options).acknowledgement()
    assert [message.text for message in heard] == [line for _, _, line in FILLED_IN]
    assert {name for name, _, _ in FILLED_IN} == {command.name for command in COMMANDS}
    assert not bot.api.refusals


async def test_all_is_known_of_who_asked_and_where(
    bot: Commanding, olga: Person, home: Guild, general: Channel
) -> None:
    heard = listen_only(bot)
    before = datetime.now(UTC)
    direct, public = await olga.use("new"), await olga.use("new", general)
    thread = await olga.start_thread(general, "plans")
    below = await olga.use("new", thread)
    for each in (direct, public, below):
        await each.acknowledgement()
    first, second, third = heard
    assert [message.id for message in heard] == [f"slash-{each.id}" for each in (direct, public, below)]
    places = [f"@{olga.id}", str(general.id), str(thread.id)]
    assert [message.chat.name for message in heard] == places
    assert {str(message.sender) for message in heard} == {f"discord:{olga.id}"}
    assert [message.in_room for message in heard] == [False, True, True]
    assert [message.title for message in heard] == ["Olga", "#general · Home", "#general › plans · Home"]
    assert all(message.addressed and not message.attachments for message in heard)
    assert abs((first.sent_at - before).total_seconds()) < 5
    answerable = parse_handle(second.handle)
    assert answerable
    assert (answerable.interaction, answerable.token) == (public.id, public.token)
    assert answerable.application == bot.api.bot.id
    assert third.sent_at.tzinfo


async def test_the_language_of_the_app_comes_along_and_is_spoken_at_once(bot: Commanding) -> None:
    languages = []

    async def accept(message: IncomingMessage) -> bool:
        languages.append(message.language)
        return False

    bot.accept = accept
    hanna = bot.api.person("hanna", locale="zh-CN")
    asked = await hanna.use("new")
    await asked.answer()
    assert languages == ["zh-CN"]
    with speaking("zh_Hans"):
        assert asked.texts == [phrases.NO_ANSWER_HERE]


async def test_a_file_comes_along_with_remember(bot: Commanding, olga: Person) -> None:
    heard = listen_only(bot)
    asked = await olga.use("remember", text="Lease", file=Upload("lease.pdf", "application/pdf", b"%PDF"))
    await asked.acknowledgement()
    (message,) = heard
    assert message.text == "/remember Lease"
    assert [(each.kind, each.name, each.size) for each in message.attachments] == [
        ("document", "lease.pdf", 4)
    ]


async def test_a_command_of_an_earlier_version_is_heard_too(bot: Commanding, olga: Person) -> None:
    heard = listen_only(bot)
    option = {"type": 3, "name": "amount", "description": "how many", "required": True}
    part = {"type": 1, "name": "make", "description": "makes it", "options": [option]}
    bot.api.bot.commands[0].append({"id": "1", "type": 1, "name": "coffee", "options": [part]})
    await (await olga.use("coffee make", amount="two")).acknowledgement()
    assert [message.text for message in heard] == ["/coffee two"]


# -- answers ---------------------------------------------------------------------------------------------------


async def test_a_command_is_answered_where_it_was_announced(
    bot: Commanding, olga: Person, tmp_path: Path
) -> None:
    asked = await olga.use("remember", text="the key is under the mat")
    answer = await asked.answer()
    assert asked.callback == MESSAGE_LATER
    assert asked.seconds < 1
    assert answer is asked.original
    assert not answer.ephemeral
    note = (tmp_path / "memory" / "2026-11-21.md").read_text()
    assert "the key is under the mat" in note
    assert not bot.api.refusals


@pytest.mark.parametrize("name", ["config", "pair", "help", "status", "usage"])
async def test_in_guilds_only_who_asked_sees_what_is_administration_or_only_tells(
    bot: Commanding, olga: Person, general: Channel, name: str
) -> None:
    asked = await olga.use(name, general)
    answer = await asked.answer()
    assert answer.ephemeral
    direct = await (await olga.use(name)).answer()
    assert not direct.ephemeral
    assert [parse_handle(message.handle).private for message in bot.answers.messages] == [True, False]  # type: ignore[union-attr]


async def test_in_guilds_all_see_what_concerns_all(bot: Commanding, olga: Person, general: Channel) -> None:
    answer = await (await olga.use("remind", general, when="2h", text="dinner")).answer()
    assert not answer.ephemeral


async def test_a_reply_waits_until_discord_knows_that_it_comes(bot: Commanding, olga: Person) -> None:
    bot.api.fail("callback", Fault.delay(0.3))
    answer = await (await olga.use("help")).answer()
    assert "/remember" in answer.content
    assert not bot.api.refusals


async def test_a_command_is_answered_by_the_next_process(
    bot: Commanding, olga: Person, general: Channel
) -> None:
    kept: list[str] = []

    async def accept(message: IncomingMessage) -> bool:
        kept.append(message.handle)
        return True

    bot.accept = accept
    asked = await olga.use("new", general)
    await asked.acknowledgement()
    await bot.interactions.close()
    await bot.client.close()
    async with open_client(bot.api, gateway=False) as client:
        answerable = parse_handle(kept[0])
        assert answerable
        await edit_original(client, answerable, "Here I am again.")
    assert asked.texts == ["Here I am again."]


# -- acknowledgement -------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_what_takes_nearly_as_long_as_discord_waits_is_acknowledged_and_answered(
    bot: Commanding, olga: Person
) -> None:
    """As after 2.9 of 3 seconds."""
    bot.api.acknowledge_seconds = 0.9
    take_slowly(bot, 0.87)
    asked = await olga.use("help")
    assert "/remember" in (await asked.answer()).content
    assert 0.1 <= asked.seconds < 0.9


@pytest.mark.thorough
async def test_what_takes_far_longer_than_discord_waits_is_acknowledged_and_answered(
    bot: Commanding, olga: Person
) -> None:
    """As after 20 seconds."""
    bot.api.acknowledge_seconds = 0.9
    take_slowly(bot, 1.2)
    asked = await olga.use("help")
    assert "/remember" in (await asked.answer()).content
    assert asked.seconds < 0.9
    assert not bot.api.refusals


def take_slowly(bot: Commanding, seconds: float) -> None:
    quickly = bot.accept

    async def accept(message: IncomingMessage) -> bool:
        await asyncio.sleep(seconds)
        return await quickly(message)

    bot.accept = accept


@pytest.mark.thorough
async def test_commands_in_a_chat_are_taken_in_one_after_another(
    bot: Commanding, olga: Person, general: Channel
) -> None:
    heard: list[str] = []
    all_heard = asyncio.Event()

    async def accept(message: IncomingMessage) -> bool:
        if message.text == "/remember one":
            await asyncio.sleep(0.3)
        heard.append(message.text)
        if len(heard) == 3:
            all_heard.set()
        return True

    bot.accept = accept
    asked = [
        await olga.use("remember", text="one"),
        await olga.use("remember", text="two"),
        await olga.use("remember", general, text="elsewhere"),
    ]
    for each in asked:
        await each.acknowledgement()
    async with asyncio.timeout(20):
        await all_heard.wait()
    assert heard == ["/remember elsewhere", "/remember one", "/remember two"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault.reset_before(),
        Fault.reset_after(),
        pytest.param(Fault.status(503), marks=pytest.mark.thorough),
        pytest.param(Fault.rate_limit(0.5), marks=pytest.mark.thorough),
    ],
    ids=lambda fault: f"{fault.kind}{fault.code}",
)
async def test_an_acknowledgement_that_fails_on_its_way_is_sent_again(
    bot: Commanding, olga: Person, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    bot.api.fail("callback", fault)
    asked = await olga.use("help")
    assert "/remember" in (await asked.answer()).content
    assert len(asked.messages) == 1
    assert not [
        record
        for record in caplog.records
        if record.levelno >= logging.WARNING and record.name.startswith("adapters.")
    ]


async def test_a_command_that_cannot_be_acknowledged_is_kept_and_that_is_logged_without_its_token(
    bot: Commanding, olga: Person, caplog: pytest.LogCaptureFixture
) -> None:
    bot.api.fail("callback", Fault.refuse(TOO_LATE), times=None)
    asked = await olga.use("remember", text="the key")
    await bot.api.wait_until(lambda: bot.api.calls_of("edit_original"))
    assert bot.answers.messages[0].text == "/remember the key"
    assert "too late" in caplog.text
    assert asked.token not in caplog.text
    assert len(bot.api.calls_of("callback")) == 1


async def test_an_answer_that_cannot_be_read_is_logged_without_the_token_in_its_address(
    bot: Commanding, olga: Person, caplog: pytest.LogCaptureFixture
) -> None:
    bot.api.fail("callback", Fault("answer", 200, headers={"X-Endless": "x" * 9000}), times=None)
    asked = await olga.use("help")
    await bot.api.wait_until(lambda: "could not acknowledge" in caplog.text)
    assert asked.token[:16] not in caplog.text


@pytest.mark.thorough
async def test_a_command_that_takes_long_is_taken_in_though_the_session_is_closed_meanwhile(
    bot: Commanding, olga: Person, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    async def accept(message: IncomingMessage) -> bool:
        await bot.client.http.close()
        await asyncio.sleep(0.5)
        heard.append(message.text)
        return True

    bot.accept = accept
    await olga.use("new")
    await bot.api.wait_until(lambda: heard, what="the command")
    assert heard == ["/new"]
    assert "could not acknowledge" in caplog.text


# -- what is not taken in --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", first_at_once([0.2, 0.0]))
@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (False, phrases.NO_ANSWER_HERE),
        (NotAccepted("the disk is full: make room"), phrases.NOT_SAVED),
        (ZeroDivisionError("a bug of ours"), phrases.OUR_FAULT),
    ],
)
async def test_who_gets_no_reply_is_told_so_quickly_or_late(
    api: DiscordApi,
    olga: Person,
    general: Channel,
    tmp_path: Path,
    outcome: bool | Exception,
    expected: str,
    seconds: float,
) -> None:
    async def accept(message: IncomingMessage) -> bool:
        await asyncio.sleep(seconds)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    patience = seconds / 2 or 20
    async with commanding(api, tmp_path, owners=[f"discord:{olga.id}"], timeout_seconds=patience) as bot:
        bot.accept = accept
        asked = await olga.use("new", general)
        answer = await asked.answer()
        assert asked.texts == [expected]
        assert answer.ephemeral == (not seconds)
        assert asked.callback == (MESSAGE_LATER if seconds else MESSAGE)
    assert not api.refusals


async def test_a_stranger_in_a_guild_is_told_the_same_whatever_it_is(
    api: DiscordApi, olga: Person, anna: Person, general: Channel, tmp_path: Path
) -> None:
    api.acknowledge_seconds = 60
    async with commanding(api, tmp_path, owners=[f"discord:{olga.id}"], timeout_seconds=20) as bot:
        asked = [use(anna, name, general, options) for name, options, _ in FILLED_IN]
        for each in asked:
            answer = await each.answer(within=20)
            assert answer.ephemeral
            assert each.texts == [phrases.NO_ANSWER_HERE]
        assert not bot.answers.messages
        assert await bot.house.count_undelivered() == 0
    assert not list(tmp_path.rglob("*.md"))
    assert not general.messages or all(message.ephemeral for message in general.messages)


async def test_a_stranger_alone_with_the_bot_hears_only_that(
    bot: Commanding, anna: Person, tmp_path: Path
) -> None:
    first = await (await anna.use("memory", action="status")).answer()
    again = [(await (await anna.use("config")).answer()).content for _ in range(3)]
    assert first.content == phrases.STRANGER
    assert again == [phrases.STRANGER, phrases.STRANGER, phrases.NO_ANSWER_HERE]
    assert not list(tmp_path.rglob("*.md"))


async def test_a_stranger_gets_a_code_and_an_owner_lets_them_in_by_a_command(
    api: DiscordApi, olga: Person, anna: Person, tmp_path: Path
) -> None:
    async with commanding(api, tmp_path, owners=[f"discord:{olga.id}"], pairing=True):
        told = await (await anna.use("start")).answer(containing="/pair ")
        code = told.content.partition("/pair ")[2].split()[0].strip("`")
        assert "Anna (" in (await (await olga.use("pair", code=code)).answer()).content
        assert "/remember" in (await (await anna.use("help")).answer(containing="/remember")).content


async def test_a_guest_is_not_told_of_what_only_others_may_use(
    api: DiscordApi, anna: Person, tmp_path: Path
) -> None:
    async with commanding(api, tmp_path, guests=[f"discord:{anna.id}"]):
        unknown = [await (await anna.use(name)).answer() for name in ("backup", "flush")]
    assert [answer.content for answer in unknown] == [
        phrases.UNKNOWN_COMMAND.format(name=name) for name in ("backup", "flush")
    ]


async def test_where_the_bot_is_not_it_does_nothing(bot: Commanding, olga: Person) -> None:
    """As in the direct messages of two others, by somebody who has it installed for themselves."""
    heard = listen_only(bot)
    asked = await sent_changed(bot, olga, context=2)
    await asked.answer()
    assert asked.texts == [phrases.NO_ANSWER_HERE]
    assert heard == []


async def test_what_cannot_be_read_is_told_and_logged(
    bot: Commanding, olga: Person, caplog: pytest.LogCaptureFixture
) -> None:
    heard = listen_only(bot)
    option = {"type": 11, "name": "file", "value": "7"}
    data = {"name": "remember", "options": [option], "resolved": {"attachments": {"7": {}}}}
    asked = await sent_changed(bot, olga, data=data)
    await asked.answer()
    assert asked.texts == [phrases.OUR_FAULT]
    assert heard == []
    assert "KeyError" in caplog.text
    assert asked.token not in caplog.text


async def sent_changed(bot: Commanding, person: Person, **changed: Any) -> Interaction:
    """A command that Discord tells otherwise than it does as a rule."""
    told_as_a_rule = wire.interaction_json
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "interaction_json", lambda *given: {**told_as_a_rule(*given), **changed})
        return await person.use("new")


# -- while somebody types --------------------------------------------------------------------------------------


async def offered(
    person: Person, name: str, option: str, typed: str, *place: Channel, **more: Any
) -> list[str]:
    channel = place[0] if place else person.dm
    options = {**more, option: typed}
    data = person._command_data(name, channel, None, options, forged=True, focused=option)
    asked = person.world.interact(person, channel, 4, data, name=name)
    await asked.acknowledgement()
    return [choice["value"] for choice in asked.choices]


async def add_reminders(bot: Commanding, person: Person) -> None:
    for text in ("dinner", "water the plants"):
        await (await person.use("remind", when="2h", text=text)).answer(containing="Reminder")


async def test_names_paths_and_reminders_can_be_picked(bot: Commanding, olga: Person) -> None:
    bot.notes += ["trips/oslo.md", "2026-11-20.md", "MEMORY.md", "2026-11-21.md", "x" * 98 + ".md"]
    assert await offered(olga, "model", "name", "GPT") == ["openai/gpt-4.1"]
    assert await offered(olga, "model", "name", "") == [
        "openai/gpt-4.1",
        "anthropic/claude-sonnet",
        "builtin/notebook",
        "auto",
    ]
    paths = ["MEMORY.md", "2026-11-21.md", "2026-11-20.md", "trips/oslo.md"]
    assert await offered(olga, "memory", "what", "", action="get") == paths
    assert await offered(olga, "memory", "what", "os", action="get") == ["trips/oslo.md"]
    assert await offered(olga, "memory", "what", "os", action="search") == []
    assert (await offered(olga, "help", "command", "rem"))[:3] == ["remember", "remind", "reminders"]
    await add_reminders(bot, olga)
    assert await offered(olga, "reminders", "number", "", action="cancel") == ["1", "2"]
    assert await offered(olga, "reminders", "number", "plants") == ["2"]
    assert await offered(olga, "reminders", "number", "1 wat") == ["1 2"]
    assert not bot.api.refusals


async def test_notes_folders_and_what_was_removed_can_be_picked(bot: Commanding, olga: Person) -> None:
    bot.notes += ["trips/north/oslo.md", "2026-11-20.md", "MEMORY.md"]
    assert await offered(olga, "correct", "place", "os", text="x") == ["trips/north/oslo.md:"]
    assert await offered(olga, "why", "place", "os") == ["trips/north/oslo.md:"]
    assert await offered(olga, "memory", "what", "", action="list") == ["trips", "trips/north"]
    assert await offered(olga, "memory", "what", "", action="trash") == []
    await bot.house.memory.write("The boiler is blue.")
    await bot.house.memory.write("The roof leaks.")
    for line in (3, 4):
        answer = await (await olga.use("correct", place=f"{NOW:%Y-%m-%d}.md:{line}", text="gone")).answer()
        assert answer.content.startswith(f"Corrected {NOW:%Y-%m-%d}.md:{line}.")
    roof, boiler = await offered(olga, "memory", "what", "", action="trash")
    assert roof.startswith("restore ")
    answer = await (await olga.use("memory", action="trash", what=roof)).answer()
    assert answer.content.startswith(f"Restored {NOW:%Y-%m-%d}.md:4. It said:")
    new, rest = await offered(olga, "memory", "what", "rest", action="trash")
    assert rest == boiler
    assert new != roof
    assert not bot.api.refusals


async def test_what_is_picked_does_what_it_says(bot: Commanding, olga: Person) -> None:
    await add_reminders(bot, olga)
    (number,) = await offered(olga, "reminders", "number", "plants", action="cancel")
    answer = await (await olga.use("reminders", action="cancel", number=number)).answer()
    assert "water the plants" in answer.content
    assert await offered(olga, "reminders", "number", "") == ["1"]


async def test_no_more_is_offered_than_discord_shows(bot: Commanding, olga: Person) -> None:
    bot.notes += [f"notes/{number} {'x' * 80}.md" for number in range(1000)]
    assert len(await offered(olga, "memory", "what", "x", action="get")) == 25
    assert not bot.api.refusals


async def test_a_stranger_is_offered_nothing(
    bot: Commanding, olga: Person, anna: Person, general: Channel
) -> None:
    bot.notes += ["MEMORY.md"]
    await add_reminders(bot, olga)
    for place in ((), (general,)):
        assert await offered(anna, "model", "name", "", *place) == []
        assert await offered(anna, "memory", "what", "", *place, action="get") == []
        assert await offered(anna, "reminders", "number", "", *place) == []
        assert await offered(anna, "help", "command", "", *place) == []


async def test_guests_and_others_are_offered_what_they_may_use(
    api: DiscordApi, anna: Person, olga: Person, tmp_path: Path, general: Channel
) -> None:
    async with commanding(api, tmp_path, guests=[f"discord:{anna.id}"], owners=[f"discord:{olga.id}"]) as bot:
        bot.notes += ["MEMORY.md"]
        await (await olga.use("schedule", general, when="2h", prompt="a secret")).answer()
        await (await anna.use("remind", general, when="3h", text="dinner")).answer(containing="Reminder")
        assert await offered(anna, "memory", "what", "", action="get") == []
        assert "auto" in await offered(anna, "model", "name", "")
        assert await offered(anna, "help", "command", "confi") == []
        assert await offered(anna, "reminders", "number", "", general) == ["2"]
        assert await offered(olga, "reminders", "number", "", general) == ["1", "2"]
        # In the guild the memory is closed, also to who owns it.
        assert await offered(olga, "memory", "what", "", general, action="get") == []
        assert await offered(olga, "memory", "what", "", action="get") == ["MEMORY.md"]


async def test_what_takes_too_long_to_find_is_not_waited_for(
    api: DiscordApi, olga: Person, tmp_path: Path
) -> None:
    async with commanding(api, tmp_path, owners=[f"discord:{olga.id}"], complete_seconds=0.1) as bot:
        bot.notes += ["MEMORY.md"]
        hanging = asyncio.Event()
        bot.until_notes = hanging.wait
        assert await offered(olga, "memory", "what", "", action="get") == []
        hanging.set()
        assert await offered(olga, "memory", "what", "", action="get") == ["MEMORY.md"]


# -- buttons ---------------------------------------------------------------------------------------------------


async def test_what_is_chosen_alone_with_the_bot_takes_the_place_of_the_buttons(
    bot: Commanding, olga: Person
) -> None:
    question = await shown_by_bot(bot, olga.dm, "/models reset", "/help")
    pressed = await olga.press(question, "/models reset")
    await bot.api.wait_until(lambda: question.edits)
    assert pressed.callback == EDIT_LATER
    assert question.content == phrases.MODELS_RESET
    assert not question.labels
    (message,) = bot.answers.messages
    assert (message.id, message.text) == (f"press-{pressed.id}", "/models reset")
    answerable = parse_handle(message.handle)
    assert answerable
    assert (answerable.buttons, answerable.replaces, answerable.private) == (question.id, True, False)


async def test_what_is_chosen_in_a_guild_is_answered_by_a_message_of_its_own(
    bot: Commanding, olga: Person, general: Channel
) -> None:
    question = await shown_by_bot(bot, general, "/models reset", "/new")
    to_one = await olga.press(question, "/models reset")
    assert (await to_one.answer()).ephemeral
    to_all = await olga.press(question, "/new")
    assert not (await to_all.answer()).ephemeral
    assert not question.edits
    assert [parse_handle(each.handle).buttons for each in bot.answers.messages] == [question.id] * 2  # type: ignore[union-attr]


async def test_buttons_below_an_answer_are_for_whom_it_answers(
    api: DiscordApi, olga: Person, anna: Person, general: Channel, tmp_path: Path
) -> None:
    async with commanding(api, tmp_path, owners=[f"discord:{olga.id}"], allow=[f"discord:{anna.id}"]) as bot:
        asked = await olga.use("remind", general, when="2h", text="dinner")
        await asked.answer(containing="Reminder")
        listed = await (await olga.use("reminders", general)).answer(containing="dinner")
        others = await anna.press(listed, "/reminders cancel 1")
        assert (await others.answer()).ephemeral
        assert others.texts == [phrases.NOT_YOUR_BUTTONS]
        assert await bot.house.reminders.list_active(bot.answers.messages[0].chat)
        pressed = await olga.press(listed, "/reminders cancel 1")
        await api.wait_until(lambda: len(listed.edits) == 2)
        assert pressed.callback == EDIT_LATER
        assert not listed.labels
        assert not await bot.house.reminders.list_active(bot.answers.messages[0].chat)


async def test_buttons_below_a_reply_are_for_whom_it_replies_to(
    bot: Commanding, olga: Person, anna: Person, general: Channel
) -> None:
    heard = listen_only(bot)
    question = await anna.ask("which model?", general)
    view = make_buttons([Choice("Usual order", "/model auto")])
    assert view
    place = bot.client.get_partial_messageable(general.id)
    reply = await place.send("One of these.", view=view, reference=place.get_partial_message(question.id))
    shown = general.by_id[reply.id]
    others = await olga.press(shown, "Usual order")
    await others.answer()
    assert others.texts == [phrases.NOT_YOUR_BUTTONS]
    await (await anna.press(shown, "Usual order")).answer()
    assert [message.text for message in heard] == ["/model auto"]


async def test_a_button_that_is_pressed_twice_counts_once(bot: Commanding, olga: Person) -> None:
    question = await shown_by_bot(bot, olga.dm, "/models reset", "/help")
    first, again = [await olga.press(question, "/models reset") for _ in range(2)]
    await bot.api.wait_until(lambda: question.edits)
    await again.acknowledgement()
    assert (first.callback, again.callback) == (EDIT_LATER, EDIT_LATER)
    assert [message.id for message in bot.answers.messages] == [f"press-{first.id}"]


async def test_a_button_can_be_pressed_again_after_it_could_not_be_taken_in(
    bot: Commanding, olga: Person
) -> None:
    takes, refusals = bot.accept, [NotAccepted("the disk is full: make room")]

    async def accept(message: IncomingMessage) -> bool:
        if refusals:
            raise refusals.pop()
        return await takes(message)

    bot.accept = accept
    question = await shown_by_bot(bot, olga.dm, "/models reset")
    await (await olga.press(question, "/models reset")).answer(containing=phrases.NOT_SAVED)
    await olga.press(question, "/models reset")
    await bot.api.wait_until(lambda: question.edits)
    assert question.content == phrases.MODELS_RESET


async def test_what_is_chosen_where_only_one_sees_it_stays_there(
    bot: Commanding, olga: Person, general: Channel
) -> None:
    question = await shown_by_bot(bot, general, "/models reset", to=olga)
    pressed = await olga.press(question, "/models reset")
    await bot.api.wait_until(lambda: question.edits)
    assert pressed.callback == EDIT_LATER
    assert question.content == phrases.MODELS_RESET
    assert [message for message in general.messages if not message.ephemeral] == []


async def test_a_button_is_a_command_of_whoever_presses_it(
    bot: Commanding, anna: Person, general: Channel
) -> None:
    question = await shown_by_bot(bot, general, "/models reset")
    pressed = await anna.press(question, "/models reset")
    assert (await pressed.answer()).ephemeral
    assert pressed.texts == [phrases.NO_ANSWER_HERE]
    assert not question.edits
    assert not bot.answers.messages


@pytest.mark.parametrize(
    "custom_id", ["hello", " /help", "/", "//help", "/etc/passwd", "\x00/help", "x" * 100]
)
async def test_a_custom_id_that_is_no_command_is_not_heard(
    bot: Commanding, olga: Person, custom_id: str
) -> None:
    heard = listen_only(bot)
    question = await shown_by_bot(bot, olga.dm, "/help")
    pressed = await olga.press(question, custom_id, forged=True)
    await pressed.answer()
    assert pressed.texts == [phrases.NO_ANSWER_HERE]
    assert heard == []


async def test_what_is_picked_from_a_menu_is_not_heard(bot: Commanding, olga: Person) -> None:
    heard = listen_only(bot)
    question = await shown_by_bot(bot, olga.dm, "/help")
    options = [{"label": "Help", "value": "/help"}]
    question.components = [{"type": 1, "components": [{"type": 3, "custom_id": "/help", "options": options}]}]
    picked = await olga.pick(question, "Help")
    await picked.answer()
    assert picked.texts == [phrases.NO_ANSWER_HERE]
    assert heard == []


async def test_a_forged_custom_id_can_do_no_more_than_the_same_words(
    api: DiscordApi, olga: Person, anna: Person, general: Channel, tmp_path: Path
) -> None:
    async with commanding(api, tmp_path, owners=[f"discord:{olga.id}"], guests=[f"discord:{anna.id}"]) as bot:
        question = await shown_by_bot(bot, general, "/help")
        for name in OWNERS_COMMANDS:
            pressed = await anna.press(question, f"/{name} discord:{anna.id}", forged=True)
            assert (await pressed.answer()).content == phrases.UNKNOWN_COMMAND.format(name=name) or (
                "Did you mean" in pressed.texts[0]
            )
        assert await bot.house.state.read(lambda db: access.read_decision(db, f"discord:{anna.id}")) is None


async def test_a_late_refusal_of_a_press_leaves_the_buttons_where_they_are(
    bot: Commanding, olga: Person
) -> None:
    async def accept(message: IncomingMessage) -> bool:
        await asyncio.sleep(0.2)
        raise NotAccepted("the disk is full: make room")

    bot.accept = accept
    question = await shown_by_bot(bot, olga.dm, "/help")
    pressed = await olga.press(question, "/help")
    answer = await pressed.answer(containing=phrases.NOT_SAVED)
    assert answer is not question
    assert answer.ephemeral
    assert question.labels == ["/help"]
