"""What docs/discord.md says is so: its settings load, its permissions suffice, its quotations are the program's own.

The tutorial itself is walked through against a fake Discord, as far as that goes.
"""

import ast
import asyncio
import os
import re
import shlex
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import discord
import pytest
from discord import ConnectionClosed, RateLimited

from adapters.discord import command_registration, connection_health, history, private_api, receiving
from adapters.discord.setup import INVITE
from bot import english
from bot.cli.main import build_parser
from bot.commands.registry import COMMANDS
from bot.config.settings import ConfigError, load_settings
from scripts.marked_texts import list_marked_texts
from tests.fakes.commonplace import Commonplace
from tests.fakes.discord_api import wire
from tests.fakes.discord_api.chats import Channel, Guild, Message
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.permissions import USUAL, Permission, channel_permissions
from tests.fakes.discord_api.requests import Upload
from tests.fakes.discord_api.server import DiscordApi

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/discord.md").read_text("utf-8")
LEAST = ("view_channel", "send_messages", "send_messages_in_threads", "attach_files", "read_message_history")
SETTINGS_ERRORS = (
    '[discord]\ntoken = "two words"\n',
    '[access]\nowners = ["discord:anna"]\n',
)
ANYTHING = "\0"
"""Stands where a phrase is filled in."""
SHORTEST = 12
"""Letters that must be the program's own for a quotation to be one."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def plain(text: str) -> str:
    """Without what is Markdown or a line's end."""
    return " ".join(re.sub(r"\\(?=[^\w\s])", "", text).replace("`", "").replace("**", "").split())


def quotations() -> list[str]:
    """What the page says that the program says: in messages, in its log, on the command line."""
    said = re.findall(r"(?:^>.*\n)+", PAGE, flags=re.MULTILINE)
    found = [re.sub(r"^> ?", "", each, flags=re.MULTILINE) for each in said]
    found += [each.partition(": ")[2] for each in blocks("log")]
    found += [each.partition("\n")[2] for each in blocks("console")]
    rows = PAGE.partition("| what you see |")[2].splitlines()[2:]
    found += [quoted for row in rows for quoted in re.findall(r"`([^`]+)`", row.split("|")[1])]
    return [plain(each) for each in found]


def own_words() -> Iterator[str]:
    """All that the program says where Discord is concerned, ANYTHING where something is filled in."""
    for module in (english, connection_health, private_api, receiving, command_registration):
        for value in vars(module).values():
            texts = value.values() if isinstance(value, dict) else [value]
            for text in texts:
                if isinstance(text, str):
                    yield re.sub(r"\{[^{}]*\}", ANYTHING, text)
    for _, text in list_marked_texts():
        yield re.sub(r"\{[^{}]*\}", ANYTHING, text)
    at_terminal = f"{english.PAIR_ASKING}\n\n{english.PAIR_BECOME_OWNER}"
    yield re.sub(r"\{[^{}]*\}", ANYTHING, at_terminal)
    closed: Any = SimpleNamespace(close_code=4000)
    errors = (
        RateLimited(30),
        TimeoutError(),
        connection_health.ConnectionLost(),
        connection_health.TooManySessions(),
    )
    for error in (*errors, ConnectionClosed(closed, shard_id=None)):
        yield connection_health.describe_error(error)
    for file in (ROOT / "bot/pairing.py", *sorted((ROOT / "adapters/discord").glob("*.py"))):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("log."):
                words = call.args[0]
                if isinstance(words, ast.Constant) and isinstance(words.value, str):
                    yield words.value.replace("%s", ANYTHING)


def is_said_by(quotation: str, words: str) -> bool:
    if len(words.replace(ANYTHING, "")) < SHORTEST:
        return False
    pieces = plain(words).split(ANYTHING)
    return bool(re.fullmatch(".+".join(map(re.escape, pieces)), quotation))


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in os.environ:
        if name.startswith(("COMMONPLACE_", "DISCORD_", "TELEGRAM_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config.toml"


# -- the page, word by word ---------------------------------------------------------------------------------


@pytest.mark.parametrize("block", blocks("toml"), ids=lambda block: " ".join(block.split()[-3:]))
def test_every_example_of_settings_loads(block: str, no_settings: Path) -> None:
    no_settings.write_text(block, "utf-8")
    settings = load_settings(no_settings)
    assert settings.discord.token or "[discord]" not in block
    assert settings.access.owners or "[access]" not in block


@pytest.mark.parametrize("name", ["DISCORD_BOT_TOKEN", "COMMONPLACE_DISCORD__TOKEN"])
def test_the_token_is_taken_from_the_environment(
    name: str, no_settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f"`{name}`" in PAGE
    monkeypatch.setenv(name, "the-token")
    no_settings.write_text("", "utf-8")
    assert load_settings(no_settings).discord.token.get_secret_value() == "the-token"


def test_every_command_line_is_one() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    lines += re.findall(r"^\$ (.+)", "\n".join(blocks("console")), flags=re.MULTILINE)
    lines += re.findall(r"`(\.venv/bin/commonplace[^`]*)`", PAGE)
    ours = [shlex.split(line)[1:] for line in lines if line.startswith(".venv/bin/commonplace")]
    assert len(ours) > 1
    for arguments in ours:
        build_parser().parse_args(arguments)
    assert {line.split()[0] for line in lines} == {".venv/bin/commonplace", "make"}


def test_every_slash_command_exists() -> None:
    prose = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`(?:@Commonplace )?/([a-z]+)(?=[ `])", prose))
    assert {"start", "pair", "allow", "status", "memory", "remember"} <= named
    assert named <= {command.name for command in COMMANDS}


def test_commands_are_private_as_the_page_has_it() -> None:
    (told,) = re.findall(r"In servers, only you see the answers to (.+?) and all commands for owners", PAGE)
    names = {command.name for command in COMMANDS if command.only_tells}
    assert set(re.findall(r"/([a-z]+)", told)) == names


def test_what_is_quoted_is_what_the_program_says(no_settings: Path) -> None:
    words = list(own_words())
    for wrong in SETTINGS_ERRORS:
        no_settings.write_text(wrong, "utf-8")
        with pytest.raises(ConfigError) as error:
            load_settings(no_settings)
        words.append(str(error.value).partition(" (in ")[0])
    quoted = quotations()
    assert len(quoted) > 25
    assert [each for each in quoted if not any(is_said_by(each, one) for one in words)] == []


def test_every_heading_that_is_linked_to_exists() -> None:
    for file, anchor in re.findall(r"\]\(([^):]*)#([^)]+)\)", PAGE):
        text = (ROOT / "docs" / file).read_text("utf-8") if file else PAGE
        headings = re.findall(r"^#+ (.+)", text, flags=re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}
        assert anchor in anchors


def test_the_numbers_of_permissions_are_those_of_the_table() -> None:
    (table,) = re.findall(r"^\| permission \|.*\n\|.*\n((?:\|.*\n)+)", PAGE, flags=re.MULTILINE)
    names = [row.split("|")[1].strip().lower().replace(" ", "_") for row in table.splitlines()]
    aliases = {"view_channels": "view_channel"}
    assert {aliases.get(name, name) for name in names} == set(LEAST)
    least = discord.Permissions(**dict.fromkeys(LEAST, True))
    assert f"permissions={least.value}\n" in PAGE
    assert INVITE.endswith(f"&permissions={least.value}")
    with_threads = least | discord.Permissions(create_public_threads=True)
    assert f"`{with_threads.value}`" in PAGE
    assert not with_threads.administrator


def test_the_address_that_adds_the_bot_has_the_scopes_that_the_program_asks_for_too() -> None:
    address = INVITE.format(id="APPLICATION_ID")
    (scopes,) = set(re.findall(r"authorize\?client_id=APPLICATION_ID&scope=([\w.+]+)", PAGE + address))
    assert f"&scope={scopes} " in command_registration.lacks_scope("Home", 1)


def test_what_was_missed_is_answered_for_as_long_as_the_page_says() -> None:
    text = plain(PAGE)
    assert f"no older than {history.DIRECT_SINCE.days} days in direct messages" in text
    assert f"and {history.ROOMS_SINCE.days} days in servers" in text


# -- the tutorial, step by step -----------------------------------------------------------------------------


class Walk:
    """The service as the page has it started, with a fake Discord."""

    def __init__(self, commonplace: Commonplace, api: DiscordApi) -> None:
        self.commonplace = commonplace
        self.api = api
        self.log = ""

    def configure(self, *texts: str, people: dict[str, int]) -> None:
        """Write config.toml; the page's token is the fake bot's, and its numbers are those of people and roles."""
        text = "\n".join(texts).replace("the-token-of-your-bot", self.api.token)
        for told, number in people.items():
            text = text.replace(told, str(number))
        (self.commonplace.folder / "config.toml").write_text(text, "utf-8")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        process = self.commonplace.start("run")
        try:
            await self.api.wait_until_connected(within=20)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            with process:
                _, log = await asyncio.to_thread(process.communicate, timeout=20)
            self.log += log
        assert process.returncode == 0, log

    async def types(self, *arguments: str) -> str:
        """On the command line, beside the service."""
        return await asyncio.to_thread(self.commonplace.output_of, *arguments)


ANNA, BO, ROLE, SERVER, CHANNEL = (
    "812345678901234567",
    "823456789012345678",
    "934567890123456789",
    "712345678901234567",
    "945678901234567890",
)
"""As the page has them."""


@pytest.fixture
async def api() -> AsyncIterator[DiscordApi]:
    async with DiscordApi() as api:
        yield api


@pytest.fixture
def walk(tmp_path: Path, api: DiscordApi) -> Walk:
    commonplace = Commonplace(tmp_path)
    commonplace.environment |= {
        "COMMONPLACE_SERVER__PORT": "0",  # the usual one may be in use here
        "COMMONPLACE_DISCORD__API_BASE": api.api_base,
    }
    return Walk(commonplace, api)


@pytest.fixture
def anna(api: DiscordApi) -> Person:
    return api.person("anna", display_name="Anna")


@pytest.fixture
def bo(api: DiscordApi) -> Person:
    return api.person("bo", display_name="Bo")


OWNED = f'[access]\nowners = ["discord:{ANNA}"]\n'


def add_to_server(api: DiscordApi, *people: Person, permissions: int) -> Guild:
    """A server in which the bot may do what it was added with, and nothing else."""
    owner = api.person("somebody")
    guild = api.guild("Home", owner, *people, permissions=0)
    guild.give(api.bot, api.add_role(guild, "of the bot", permissions))
    for person in people:
        guild.give(person, api.add_role(guild, "usual", int(USUAL)))
    return guild


def permissions_of(heading: str) -> int:
    """The number in a section of the page."""
    section = PAGE.partition(f"### {heading}\n")[2]
    found = re.search(r"permissions=(\d+)", section)
    assert found
    return int(found[1])


def example(beginning: str) -> str:
    return next(each for each in blocks("toml") if each.startswith(beginning))


async def heard(channel: Channel, count: int) -> str:
    """The bot's reply with this number in a channel, whole."""
    return plain((await reply(channel, count)).content)


async def reply(channel: Channel, count: int) -> Message:
    await channel.watch(lambda: len(replies(channel)) >= count, within=20, what=f"reply {count} in {channel}")
    await asyncio.sleep(0.1)
    return replies(channel)[count - 1]


def replies(channel: Channel) -> list[Message]:
    """What the bot says, without what Discord writes in its name where a thread begins."""
    return [each for each in channel.replies if each.content]


@pytest.mark.thorough
async def test_from_a_token_to_the_first_answer_and_to_others(
    walk: Walk, api: DiscordApi, anna: Person, bo: Person
) -> None:
    quoted = quotations()
    api.bot.granted = 0
    add_to_server(api, anna, bo, permissions=permissions_of("3. Add it to a server"))
    walk.configure(example("[discord]"), people={})
    async with walk.running():
        await anna.say("hello")
        greeting = await heard(anna.dm, 1)
        code = re.search(r"Your code is (\w+)\.", greeting)
        assert code
        assert greeting.replace(code[1], "P7WYRYKH") in quoted
        code_of_anna = code[1]
        listed = plain(await walk.types("chat", "-m", "/pair")).replace(code[1], "P7WYRYKH")
        assert listed.replace("60 min", "59 min").replace(str(anna.id), ANNA) in quoted
        answer = await walk.types("chat", "-m", f"/pair {code[1]} owner")
        assert plain(answer).replace(str(anna.id), ANNA) in quoted
        assert await heard(anna.dm, 2) == plain(english.LET_IN_AS_OWNER)
        assert plain(english.LET_IN_AS_OWNER) in quoted

        await anna.say("/start")
        assert await heard(anna.dm, 3) in quoted
        await anna.say("Remember that the spare key is at Tom's")
        assert "Noted in" in await heard(anna.dm, 4)
        await anna.say("Where is the spare key?")
        assert "The spare key is at Tom's" in await heard(anna.dm, 5)

        await bo.say("hello")
        code = re.search(r"Your code is (\w+)\.", await heard(bo.dm, 1))
        assert code
        asks = await reply(anna.dm, 6)
        announced = plain(asks.content).replace(code[1], "Y974FTH9").replace(str(bo.id), BO)
        assert announced in quoted
        assert set(asks.labels) <= set(re.findall(r"\*\*([^*]+)\*\*", PAGE))
        await anna.press(asks, "Let in")
        assert await heard(bo.dm, 2) == plain(english.LET_IN)
        assert plain(english.LET_IN) in quoted
        await bo.say("Where is the spare key?")
        assert "The spare key is at Tom's" in await heard(bo.dm, 3)
    on_discord = re.findall(r"INFO adapters\.discord\.adapter: (.*)", walk.log)
    assert on_discord == [
        f"connected to Discord as {api.bot.name}#{wire.user_json(api.bot)['discriminator']}"
    ]
    assert (
        blocks("log")[0].strip() == "INFO adapters.discord.adapter: connected to Discord as Commonplace#4821"
    )
    asked = blocks("log")[1].strip().replace(ANNA, str(anna.id)).replace("P7WYRYKH", code_of_anna)
    assert asked in walk.log
    assert api.refusals == []


@pytest.mark.thorough
async def test_with_the_least_permissions_and_intents_it_serves_a_server_and_keeps_the_memory_closed_there(
    walk: Walk, api: DiscordApi, anna: Person, bo: Person
) -> None:
    api.bot.granted = 0
    home = add_to_server(api, anna, bo, permissions=permissions_of("3. Add it to a server"))
    general, forum = home.text("general"), home.forum("help")
    assert not channel_permissions(general, api.bot) & Permission.create_public_threads
    walk.configure(example("[discord]"), OWNED, people={ANNA: anna.id})
    async with walk.running():
        await anna.say("Remember that the spare key is at Tom's")
        await heard(anna.dm, 1)
        await anna.say("lovely weather", general)
        await bo.ask("hello", general)
        await anna.ask("where is the spare key?", general)
        assert "Tom" not in await heard(general, 1)

        await api.wait_until(lambda: api.bot.command("memory"), within=10, what="slash commands")
        assert "memory" not in anna.menu(general)  # she does not administer the server
        assert "memory" in home.owner.menu(general)
        await anna.ask("/memory on", general)
        opened = await reply(general, 2)
        assert plain(opened.content) in quotations()
        await anna.say("where is the spare key?", general, reply_to=opened)
        assert "The spare key is at Tom's" in await heard(general, 3)

        status = await anna.use("status", general)
        assert "Model:" in (await status.answer(within=10)).content
        assert status.ephemeral
        refused = await bo.use("status", general)
        assert plain((await refused.answer(within=10)).content) in quotations()
        assert refused.ephemeral

        post = await anna.post(forum, "Tea", f"{api.bot.mention} hello")
        await reply(post.channel, 1)
        assert len(replies(general)) == 3
    assert api.refusals == []


@pytest.mark.thorough
async def test_a_thread_for_each_question_and_roles_from_the_settings(
    walk: Walk, api: DiscordApi, anna: Person, bo: Person
) -> None:
    found = re.search(r"also needs Create Public Threads, and the number is\s+`(\d+)`", PAGE)
    assert found
    api.bot.granted = 0
    home = add_to_server(api, anna, bo, permissions=int(found[1]))
    friends = home.role("friends", int(USUAL))
    home.give(bo, friends)
    general = home.text("general")
    access = next(each for each in blocks("toml") if "guests" in each)
    people = {ANNA: anna.id, BO: 1, ROLE: friends.id, SERVER: home.id, CHANNEL: 2}
    walk.configure(next(each for each in blocks("toml") if "threads" in each), access, people=people)
    async with walk.running():
        question = await bo.ask("hello there", general)
        await api.wait_until(lambda: question.thread, within=20, what="a thread")
        thread = question.thread
        assert thread
        await reply(thread, 1)
        assert replies(general) == []
        await anna.say("and without a mention?", thread)
        await bo.say("hello")  # a role opens no direct messages
        assert await heard(bo.dm, 1) == plain(english.STRANGER)
        assert plain(english.STRANGER) in quotations()
        await anna.say("/status")
        assert connection_health.INTENT_OFF in await heard(anna.dm, 1)
        assert len(replies(thread)) == 1
    assert connection_health.INTENT_OFF in walk.log
    assert plain(connection_health.INTENT_OFF) in quotations()

    api.bot.granted = wire.CONTENT
    async with walk.running():
        await anna.say("and with the intent?", thread)
        await reply(thread, 2)


@pytest.mark.thorough
async def test_what_was_said_while_it_was_off_is_answered_and_a_document_becomes_a_note(
    walk: Walk, api: DiscordApi, anna: Person
) -> None:
    home = add_to_server(api, anna, permissions=permissions_of("3. Add it to a server"))
    general = home.text("general")
    walk.configure(example("[discord]"), OWNED, people={ANNA: anna.id})
    async with walk.running():
        await anna.ask("hello", general)
        await reply(general, 1)
        report = Upload("report.md", "text/markdown", b"# Report\n\nAll is well, says Mr Fox.\n")
        await anna.say("/remember", files=[report])
        assert "Filed in documents/" in await heard(anna.dm, 1)
        await anna.voice()
        assert await heard(anna.dm, 2) in quotations()
        await asyncio.sleep(
            3
        )  # until all servers are taken to be known, from which on it knows what it misses
    (note,) = (walk.commonplace.memory / "documents").glob("*.md")
    assert "says Mr Fox" in note.read_text("utf-8")
    await anna.ask("are you there?", general)
    await anna.say("hello?")
    async with walk.running():
        await reply(general, 2)
        await reply(anna.dm, 3)


@pytest.mark.thorough
async def test_a_wrong_token_is_told_with_the_place_where_the_right_one_is(
    walk: Walk, api: DiscordApi, anna: Person
) -> None:
    walk.configure(example("[discord]").replace("the-token-of-your-bot", "another"), people={})
    process = walk.commonplace.start("run")
    try:
        await api.wait_until(lambda: [call for call in api.calls if call.status == 401], within=20)
        await asyncio.sleep(0.5)
    finally:
        process.send_signal(signal.SIGTERM)
        with process:
            _, log = await asyncio.to_thread(process.communicate, timeout=20)
    assert connection_health.UNKNOWN_BOT in log
    assert plain(connection_health.UNKNOWN_BOT) in quotations()
