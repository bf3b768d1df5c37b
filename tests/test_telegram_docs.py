"""What docs/telegram.md says is so: its settings load, its commands exist, its quotations are the program's own words.

The tutorial itself is walked through against a fake Bot API, as far as that goes.
"""

import ast
import asyncio
import json
import os
import re
import shlex
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from telegram.error import RetryAfter, TelegramError

from adapters.telegram import connection_health, webhook
from adapters.telegram.open_bot import open_bot
from adapters.telegram.webhook import Webhook
from bot import english
from bot.cli.main import build_parser
from bot.commands.registry import COMMANDS
from bot.config.settings import ConfigError, load_settings
from scripts.marked_texts import list_marked_texts
from tests.fakes.bot_api.chats import Chat
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi
from tests.fakes.commonplace import Commonplace
from tests.fakes.terminal_window import TerminalWindow
from tests.fakes.threaded_server import run_in_thread

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/telegram.md").read_text("utf-8")
OF_BOTFATHER = {"newbot", "revoke", "mybots", "setprivacy", "setjoingroups"}
SETTINGS_ERRORS = (
    '[telegram]\ntoken = "123"\n',
    '[telegram]\ntoken = "1:a"\nmode = "webhook"\n',
)
ANYTHING = "\0"
"""Stands where a phrase is filled in."""
OWNED = '\n[access]\nowners = ["telegram:7654321"]\n'
SHORTEST = 12
"""Letters that must be the program's own for a quotation to be one."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def plain(text: str) -> str:
    """Without what is Markdown or a line's end."""
    return " ".join(text.replace("`", "").replace("**", "").split())


def quotations() -> list[str]:
    """What the page says that the program says: in messages, in its log, on the command line."""
    said = re.findall(r"(?:^>.*\n)+", PAGE, flags=re.MULTILINE)
    found = [re.sub(r"^> ?", "", each, flags=re.MULTILINE) for each in said]
    found += [each.partition(": ")[2] for each in blocks("log")]
    found += [each.partition("\n")[2] for each in blocks("console") if "commonplace" in each]
    rows = PAGE.partition("| what you see |")[2].splitlines()[2:]
    found += [quoted for row in rows for quoted in re.findall(r"`([^`]+)`", row.split("|")[1])]
    return [plain(each) for each in found]


def own_words() -> Iterator[str]:
    """All that the program says where Telegram is concerned, ANYTHING where something is filled in."""
    for module in (english, connection_health, webhook):
        for value in vars(module).values():
            texts = value.values() if isinstance(value, dict) else [value]
            for text in texts:
                if isinstance(text, str):
                    yield re.sub(r"\{[^{}]*\}", ANYTHING, text)
    for _, text in list_marked_texts():
        yield re.sub(r"\{[^{}]*\}", ANYTHING, text)
    at_terminal = f"{english.PAIR_ASKING}\n\n{english.PAIR_BECOME_OWNER}"
    yield re.sub(r"\{[^{}]*\}", ANYTHING, at_terminal)
    yield connection_health.describe_error(TelegramError(ANYTHING))
    yield connection_health.describe_error(connection_health.AddressRefused(ANYTHING))
    yield connection_health.describe_error(TimeoutError())
    yield connection_health.describe_error(RetryAfter(30))
    for file in (ROOT / "bot/pairing.py", *sorted((ROOT / "adapters/telegram").glob("*.py"))):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("log."):
                words = call.args[0]
                if isinstance(words, ast.Constant) and isinstance(words.value, str):
                    yield words.value.replace("%s", ANYTHING)


def is_said_by(quotation: str, words: str) -> bool:
    if len(words.replace(ANYTHING, "")) < SHORTEST:
        return False
    pieces = plain(words).split(ANYTHING)
    whole = ".+".join(map(re.escape, pieces))
    return bool(re.fullmatch(whole, quotation)) or quotation in (each.strip(" :,") for each in pieces)


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in os.environ:
        if name.startswith(("COMMONPLACE_", "TELEGRAM_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config.toml"


# -- the page, word by word ---------------------------------------------------------------------------------


@pytest.mark.parametrize("block", blocks("toml"), ids=lambda block: " ".join(block.split()[:3]))
def test_every_example_of_settings_loads(block: str, no_settings: Path) -> None:
    no_settings.write_text(block, "utf-8")
    settings = load_settings(no_settings)
    assert settings.telegram.token or "[telegram]" not in block


def test_every_command_line_is_one() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    lines += re.findall(r"^\$ (.+)", "\n".join(blocks("console")), flags=re.MULTILINE)
    lines += re.findall(r"`(\.venv/bin/commonplace[^`]*)`", PAGE)
    ours = [shlex.split(line)[1:] for line in lines if line.startswith(".venv/bin/commonplace")]
    assert len(ours) > 1
    for arguments in ours:
        build_parser().parse_args(arguments)
    others = {line.split()[0] for line in lines} - {".venv/bin/commonplace"}
    assert others == {"make", "curl", "telegram-bot-api"}


def test_every_slash_command_exists() -> None:
    prose = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`/([a-z]+)(?=[ `@])", prose)) - {"healthz", "anna"}
    assert {"start", "pair", "allow", "status"} <= named
    assert named <= {command.name for command in COMMANDS} | OF_BOTFATHER


def test_what_is_quoted_is_what_the_program_says(no_settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "1")  # as connection.py has it
    words = list(own_words())
    for wrong in SETTINGS_ERRORS:
        no_settings.write_text(wrong, "utf-8")
        with pytest.raises(ConfigError) as error:
            load_settings(no_settings)
        words.append(str(error.value).partition(" (in ")[0])
    quoted = quotations()
    assert len(quoted) > 20
    assert [each for each in quoted if not any(is_said_by(each, one) for one in words)] == []


def test_every_heading_that_is_linked_to_exists() -> None:
    for file, anchor in re.findall(r"\]\(([^):]*)#([^)]+)\)", PAGE):
        text = (ROOT / "docs" / file).read_text("utf-8") if file else PAGE
        headings = re.findall(r"^#+ (.+)", text, flags=re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}
        assert anchor in anchors


async def test_the_proxies_forward_what_telegram_calls(no_settings: Path) -> None:
    no_settings.write_text(next(each for each in blocks("toml") if "webhook_url" in each), "utf-8")
    settings = load_settings(no_settings)
    token = settings.telegram.token.get_secret_value()
    async with open_bot(token, settings.telegram.api_base) as bot:
        url = Webhook(bot, settings.telegram, report=lambda health: None).url
    name = settings.telegram.webhook_url
    assert re.fullmatch(re.escape(f"{name}/telegram/") + ".{40}", url)
    for proxy in (*blocks("caddyfile"), *blocks("nginx")):
        assert name.removeprefix("https://") in proxy
        assert " /telegram/" in proxy
        assert f"127.0.0.1:{settings.server.port}" in proxy


async def test_a_server_of_ones_own_may_hand_out_paths_on_the_same_machine(tmp_path: Path) -> None:
    file = tmp_path / "report.pdf"
    file.write_bytes(b"a large file")
    told = {"file_id": "f", "file_unique_id": "u", "file_path": str(file)}
    async with BotApi() as api, open_bot(api.token, api.url) as bot:
        body = json.dumps({"ok": True, "result": told})
        api.fail("getFile", Fault.status(200, body, "application/json"))
        assert bytes(await (await bot.get_file("f")).download_as_bytearray()) == b"a large file"
        assert api.calls_of("file") == []


# -- the tutorial, step by step -----------------------------------------------------------------------------


class Walk:
    """The service as the page has it started, with a fake Telegram."""

    def __init__(self, commonplace: Commonplace, api: BotApi) -> None:
        self.commonplace = commonplace
        self.api = api
        self.log = ""

    def configure(self, text: str) -> None:
        """Write config.toml; the page's token is the fake bot's."""
        text = re.sub(r"123456789:AAF-[x0]+", self.api.token, text)
        (self.commonplace.folder / "config.toml").write_text(text, "utf-8")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        process = self.commonplace.start("run")
        try:
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


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi(webhook_pause=0.05) as api:
        yield api


@pytest.fixture
def walk(tmp_path: Path, api: BotApi) -> Walk:
    commonplace = Commonplace(tmp_path)
    commonplace.environment |= {
        "COMMONPLACE_SERVER__PORT": "0",  # the usual one may be in use here
        "COMMONPLACE_TELEGRAM__API_BASE": api.url,
    }
    return Walk(commonplace, api)


@pytest.fixture
def anna(api: BotApi) -> Person:
    return api.person(7654321, "Anna")


def settings_of(*headings: str) -> str:
    """The first example of each of these sections, as one file."""
    found = [next(each for each in blocks("toml") if each.startswith(heading)) for heading in headings]
    return "\n".join(found)


async def heard(chat: Chat) -> str:
    return plain((await chat.answer(within=20)).text)


@pytest.mark.thorough
async def test_from_a_token_to_the_first_answer_and_to_others(walk: Walk, api: BotApi, anna: Person) -> None:
    quoted = quotations()
    walk.configure(settings_of("[telegram]"))
    async with walk.running():
        await api.wait_until_polling(within=20)
        await anna.start()
        greeting = await heard(anna.chat)
        code = re.search(r"Your code is (\w+)\.", greeting)
        assert code
        assert greeting.replace(code[1], "P7WYRYKH") in quoted
        listed = await walk.types("chat", "-m", "/pair")
        assert plain(listed).replace(code[1], "P7WYRYKH").replace("60 min", "59 min") in quoted
        code_of_anna = code[1]
        answer = await walk.types("chat", "-m", f"/pair {code[1]} owner")
        assert plain(answer) in quoted
        welcome = english.LET_IN_AS_OWNER
        await api.wait_until(lambda: welcome in anna.chat.texts, within=20, what="word that she is the owner")
        assert welcome in quoted

        bo = api.person(8, "Bo")
        await anna.start()
        assert await heard(anna.chat) in quoted
        await anna.say("Remember that the spare key is at Tom's")
        assert "Noted in" in await heard(anna.chat)
        await anna.say("Where is the spare key?")
        assert "The spare key is at Tom's" in await heard(anna.chat)

        await bo.say("hello")
        code = re.search(r"Your code is (\w+)\.", await heard(bo.chat))
        assert code
        asks = await api.wait_until(
            lambda: next((each for each in anna.chat.replies if each.labels), None), within=20
        )
        assert plain(asks.text).replace(code[1], "Y974FTH9") in quoted
        assert set(asks.labels) <= set(re.findall(r"\*\*([^*]+)\*\*", PAGE))
        await anna.press(asks, "Let in")
        await api.wait_until(
            lambda: english.LET_IN in bo.chat.texts, within=20, what="word that he is let in"
        )
        assert english.LET_IN in quoted
        await bo.say("Where is the spare key?")
        assert "The spare key is at Tom's" in await heard(bo.chat)
    on_telegram = re.findall(r"INFO adapters\.telegram\.adapter: connected .*", walk.log)
    named = blocks("log")[0].strip()
    assert on_telegram == [named.replace("annas_commonplace_bot", api.bot.username)]
    assert blocks("log")[1].strip().replace("P7WYRYKH", code_of_anna) in walk.log
    assert api.refusals == []


@pytest.mark.thorough
async def test_a_document_with_remember_below_it_becomes_a_note(
    walk: Walk, api: BotApi, anna: Person
) -> None:
    walk.configure(settings_of("[telegram]") + OWNED)
    async with walk.running():
        await api.wait_until_polling(within=20)
        await anna.document(b"# Report\n\nAll is well, says Mr Fox.\n", "/remember", name="report.md")
        assert "Filed in documents/" in await heard(anna.chat)
        await anna.voice()
        assert await heard(anna.chat) in quotations()
    (note,) = (walk.commonplace.memory / "documents").glob("*.md")
    assert "says Mr Fox" in note.read_text("utf-8")


@pytest.mark.thorough
async def test_in_a_group_with_privacy_it_hears_what_is_meant_for_it_and_keeps_the_memory_closed(
    walk: Walk, api: BotApi, anna: Person
) -> None:
    walk.configure(settings_of("[telegram]") + OWNED)
    stranger = api.person(9, "Cy")
    group = api.supergroup("Family", anna, stranger)
    me = f"@{api.bot.username}"
    async with walk.running():
        await api.wait_until_polling(within=20)
        await anna.say("Remember that the spare key is at Tom's")
        await heard(anna.chat)
        await anna.say("lovely weather", group)
        await stranger.say(f"{me} hello", group)
        await anna.say(f"{me} where is the spare key?", group)
        refused = await group.answer(within=20)
        assert "Tom" not in refused.text
        await anna.say(f"/memory{me} on", group)
        opened = await group.answer(within=20)
        assert plain(opened.text) in quotations()
        await anna.say("where is the spare key?", group, reply_to=opened)
        assert "The spare key is at Tom's" in await heard(group)
        await api.wait_until_confirmed()
        assert len(group.replies) == 3


@pytest.mark.thorough
async def test_two_programs_with_one_token_say_so(
    walk: Walk, api: BotApi, anna: Person, tmp_path: Path
) -> None:
    walk.configure(settings_of("[telegram]") + OWNED)
    (tmp_path / "other").mkdir()
    other = Walk(Commonplace(tmp_path / "other"), api)
    other.commonplace.environment |= walk.commonplace.environment | {"HOME": str(tmp_path / "other")}
    other.configure(settings_of("[telegram]") + OWNED)
    async with walk.running(), other.running():
        await api.wait_until(
            lambda: sum(call.status == 409 for call in api.calls) > 3, within=30, what="conflicts enough"
        )
        await anna.say("/status")
        assert connection_health.OTHER_PROGRAM in await heard(anna.chat)
    assert connection_health.OTHER_PROGRAM in walk.log + other.log


@asynccontextmanager
async def proxy(port: int, prefix: str, *, strips: bool) -> AsyncIterator[str]:
    """Forward what is below `prefix`/telegram/, as the page's proxies do; give the address below which that is."""

    async def forward(request: web.Request) -> web.Response:
        path = request.path.removeprefix(prefix) if strips else request.path
        async with aiohttp.ClientSession() as session:
            url = f"http://127.0.0.1:{port}{path}"
            async with session.post(url, data=await request.read(), headers=request.headers) as answer:
                return web.Response(status=answer.status)

    app = web.Application()
    app.router.add_post(f"{prefix}/telegram/{{rest}}", forward)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, site).start()
    try:
        yield f"http://127.0.0.1:{site.getsockname()[1]}{prefix}"
    finally:
        await runner.cleanup()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("prefix", "strips"),
    [
        pytest.param("", False, id="a name of its own"),
        pytest.param("/anna", True, id="below a path, taken off"),
        pytest.param("/anna", False, id="below a path, left there"),
    ],
)
async def test_a_webhook_behind_a_proxy(
    prefix: str, strips: bool, walk: Walk, api: BotApi, anna: Person
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = next(each for each in blocks("toml") if "webhook_url" in each)
    walk.configure(settings + OWNED)
    walk.commonplace.environment["COMMONPLACE_SERVER__PORT"] = str(port)
    await anna.say("/status")  # before it runs: Telegram keeps it
    async with proxy(port, prefix, strips=strips) as public:
        walk.commonplace.environment["COMMONPLACE_TELEGRAM__WEBHOOK_URL"] = public
        async with walk.running():
            status = await heard(anna.chat)
            assert "Model:" in status
            assert "Telegram" not in status  # all is well
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{port}/healthz") as answer,
            ):
                health = await answer.json()
            shown = json.loads(next(each for each in blocks("console") if "healthz" in each).splitlines()[1])
            assert (health["status"], health["channels"]) == (shown["status"], shown["channels"])
            assert health.keys() == shown.keys()
            assert health["memory"].keys() == shown["memory"].keys()
    assert api.calls_of("getUpdates", "getUpdates_") == []

    walk.commonplace.environment["COMMONPLACE_TELEGRAM__MODE"] = "polling"
    await anna.say("/help")
    async with walk.running():
        assert "/help" in await heard(anna.chat)


@pytest.mark.thorough
def test_who_starts_it_in_a_terminal_reads_the_log_there(tmp_path: Path) -> None:
    with run_in_thread(BotApi()) as api:
        commonplace = Commonplace(tmp_path)
        environment = commonplace.environment | {
            "COMMONPLACE_SERVER__PORT": "0",
            "COMMONPLACE_TELEGRAM__API_BASE": api.url,
            "COMMONPLACE_TELEGRAM__TOKEN": api.token,
        }
        command = [*commonplace.command, "run"]
        with TerminalWindow(command, cwd=tmp_path, environment=environment, columns=120) as window:
            window.wait_for(f"connected to Telegram as @{api.bot.username}", seconds=15)
