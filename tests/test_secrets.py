"""A secret in every place where one may stand, servers that say it back, and a look at all that the program shows."""

import asyncio
import json
import re
import secrets
import signal
import string
import tarfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args
from urllib.parse import unquote

import httpx
import pytest
from pydantic import BaseModel, SecretStr

from bot.config.reload import LiveSettings
from bot.config.settings import Settings
from bot.models.known_providers import KNOWN_PROVIDERS
from bot.supervisor import Supervisor
from bot.web.app import build_web_app
from bot.web.forms import FORM_FIELD
from bot.web.session import SESSION, new_form_token
from bot.web.webhooks import WebhookRoute
from memory.embeddings.provider_table import PROVIDERS
from memory.memory import Memory
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi
from tests.fakes.commonplace import Commonplace, CommonplaceHere
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.free_port import free_port
from tests.fakes.secret_echo_server import FORMS, SecretEchoServer
from tests.fakes.services import services

CORE_LETTERS = 24
WINDOW = 8
"""Letters in a row of a secret that are too many to be seen anywhere."""
OWNERS = (7, 8, 9, 10)
"""Several, since each chat is told one thing a second."""
SAID = ("Hello", "Are you there?", "What is the bicycle like?")
COMMANDS = (
    "/status",
    "/config",
    "/models",
    "/memory",
    "/memory search bicycle",
    "/usage",
    "/model",
    "/reindex",
    "/recall bicycle",
    "/backup",
    "/config reload",
)

pytestmark = pytest.mark.thorough


# -- secrets, and where they stand --------------------------------------------------------------------------


@dataclass(slots=True)
class Planted:
    """Every secret by where it stands."""

    by_place: dict[str, str] = field(default_factory=dict)

    def make(self, place: str, form: str = "{core}-'&+%/{core}") -> str:
        """One that nobody else has, remembered; the usual form is full of what is written differently elsewhere."""
        letters = string.ascii_letters + string.digits
        core = "".join(secrets.choice(letters) for _ in range(CORE_LETTERS))
        self.by_place[place] = made = form.replace("{core}", core)
        return made

    def password(self, place: str) -> str:
        """One as it stands in an address."""
        return self.make(place, "{core}%2F%22{core}")

    def pieces(self) -> dict[str, str]:
        """Where each piece belongs that is too long to be seen, as it is and in Base64, whatever stands before it."""
        pieces: dict[str, str] = {}
        for place, secret in self.by_place.items():
            for core in re.findall(rf"[A-Za-z0-9]{{{CORE_LETTERS},}}", secret):
                coded = [
                    b64encode(bytes(before) + core.encode()).decode().rstrip("=")[4:-2] for before in range(3)
                ]
                for text in (core, *coded):
                    pieces |= {text[at : at + WINDOW]: place for at in range(len(text) - WINDOW + 1)}
        return pieces


def secret_fields(
    model: type[BaseModel], keys: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Every setting that is a secret, by its keys, and whether it is a list; tables of any name have NAME."""
    for name, found in model.model_fields.items():
        kinds = [found.annotation, *get_args(found.annotation)]
        kinds += [each for kind in kinds for each in get_args(kind)]
        path = (*keys, name)
        inner = [each for each in kinds if isinstance(each, type) and issubclass(each, BaseModel)]
        if SecretStr in kinds:
            yield path, found.annotation is not SecretStr
        for each in inner:
            yield from secret_fields(each, (*path, "NAME") if dict in map(_origin, kinds) else path)


def _origin(kind: Any) -> Any:
    return getattr(kind, "__origin__", None)


def address_fields(model: type[BaseModel], keys: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every setting that is an address and may have a password in it."""
    for name, found in model.model_fields.items():
        kinds = [found.annotation, *get_args(found.annotation)]
        path = (*keys, name)
        if found.annotation is str and re.search(r"(^|_)(url|base|endpoint|address)$", name):
            yield path
        for each in kinds:
            if isinstance(each, type) and issubclass(each, BaseModel):
                yield from address_fields(each, (*path, "NAME") if dict in map(_origin, kinds) else path)


FORM_OF = {
    "telegram.token": "123456789:{core}-_{core}",
    "telegram.webhook_secret": "{core}-_{core}",
    "discord.token": "{core}.AAAAAA.{core}",
    "server.token": "{core}-'&+%/{core}",
}
NOT_SERVED = {"index.url": "a server that there is not; tried in tests/bot/test_index_server.py"}
TABLES = ("openai", "anthropic", "gemini", "mine")


def planted_settings(planted: Planted, parrot: str, **instead: str) -> dict[str, Any]:
    """Settings with a secret in every field that is one, and a password in every address; all lead to `parrot`.

    `instead`: another address for some, `{secret}` for its password.
    """
    tables: dict[str, Any] = {
        "providers": {name: {"kind": kind} for name, kind in zip(TABLES, _kinds(), strict=True)}
    }
    for keys, is_list in secret_fields(Settings):
        if ".".join(keys) not in NOT_SERVED:
            for path in _each_table(keys):
                place = ".".join(path)
                form = FORM_OF.get(place, "{core}-'&+%/{core}")
                made = (
                    [planted.make(f"{place}.{n}", form) for n in range(2)]
                    if is_list
                    else planted.make(place, form)
                )
                _put(tables, path, made)
    for keys in address_fields(Settings):
        for path in _each_table(keys):
            place = ".".join(path)
            address = instead.get(place.replace(".", "_"), f"http://me:{{secret}}@{parrot}/v1")
            _put(tables, path, address.replace("{secret}", planted.password(place)))
    return tables


def _kinds() -> tuple[str, ...]:
    return ("openai", "anthropic", "gemini", "openai")


def _each_table(keys: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [
        tuple(name if key == "NAME" else key for key in keys)
        for name in (TABLES if "NAME" in keys else ("",))
    ]


def _put(tables: dict[str, Any], keys: Sequence[str], value: object) -> None:
    for key in keys[:-1]:
        tables = tables.setdefault(key, {})
    tables[keys[-1]] = value


def as_toml(tables: Mapping[str, Any], keys: tuple[str, ...] = ()) -> str:
    """TOML of tables; JSON's strings and lists are TOML's."""
    values = {key: value for key, value in tables.items() if not isinstance(value, dict)}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    if keys:
        text = f"[{'.'.join(keys)}]\n{text}"
    inner = (as_toml(value, (*keys, key)) for key, value in tables.items() if isinstance(value, dict))
    return "\n".join([text, *inner])


def planted_environment(planted: Planted, parrot: str) -> dict[str, str]:
    """Every key of the environment that somebody may have, and a proxy and a hub with passwords."""
    named = {variable for row in PROVIDERS.values() for variable in row.key_variables}
    named |= {variable for row in KNOWN_PROVIDERS.values() for variable in row.key_variables}
    named |= {f"{name.upper()}_API_KEY" for name in KNOWN_PROVIDERS}
    named |= {"EXTRA_API_KEY", "SOMEBODYS_API_KEY", "HF_TOKEN", "MY_APP_SECRET"}
    found = {variable: planted.make(variable) for variable in sorted(named)}
    found["A_DATABASE_PASSWORD"] = planted.make("A_DATABASE_PASSWORD", "{core}")
    # In force where the settings have none of their own.
    for variable, place in {
        "TELEGRAM_BOT_TOKEN": "telegram.token",
        "DISCORD_BOT_TOKEN": "discord.token",
    }.items():
        found[variable] = planted.make(variable, FORM_OF[place])
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        found[variable] = f"http://me:{planted.password(variable)}@{parrot}"
    found["HF_ENDPOINT"] = f"http://me:{planted.password('HF_ENDPOINT')}@{parrot}"
    return found | {"NO_PROXY": "127.0.0.1,localhost"}


# -- all that is shown --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Shown:
    """What somebody could see, by where."""

    pieces: list[tuple[str, str]] = field(default_factory=list)

    def add(self, place: str, text: str) -> None:
        self.pieces.append((place, text))

    def holds(self, planted: Planted) -> list[str]:
        """Where a secret is seen, and which, with some of what stands around it."""
        pieces = planted.pieces()
        pattern = re.compile("|".join(map(re.escape, pieces)))
        found: dict[tuple[str, str], str] = {}
        for place, text in self.pieces:
            for match in pattern.finditer(text):
                around = text[max(0, match.start() - 60) : match.end() + 30]
                found.setdefault((pieces[match[0]], place), repr(around))
        return [f"{secret} in {place}: …{around}…" for (secret, place), around in found.items()]

    def add_files(self, folder: Path) -> None:
        """Every file below a folder, its name too; archives unpacked."""
        for file in sorted(folder.rglob("*")):
            self.add("name of a file", str(file))
            if file.name.endswith(".tar.gz"):
                with tarfile.open(file) as archive:
                    for member in archive:
                        content = archive.extractfile(member)
                        self.add(f"{file.name}: {member.name}", member.name)
                        self.add(f"{file.name}: {member.name}", _text(content.read() if content else b""))
            elif file.is_file():
                self.add(str(file.relative_to(folder)), _text(file.read_bytes()))


def _text(content: bytes) -> str:
    return content.decode("latin-1")


class Service:
    """`commonplace run` with all that."""

    def __init__(self, commonplace: Commonplace, shown: Shown, *, token: str, log_format: str) -> None:
        self._commonplace = commonplace
        self._shown = shown
        self._log_format = log_format
        self._port = free_port()
        self._token = token
        self.log = ""
        self._process: Process | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        process = await asyncio.create_subprocess_exec(
            *(*self._commonplace.command, "run"),
            cwd=self._commonplace.folder,
            env={
                **self._commonplace.environment,
                "COMMONPLACE_SERVER__PORT": str(self._port),
                "COMMONPLACE_LOG_LEVEL": "debug",
                "COMMONPLACE_LOG_FORMAT": self._log_format,
            },
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )
        self._process = process
        said = asyncio.create_task(process.communicate())
        try:
            await self._until_it_listens(process)
            yield
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            out, err = await asyncio.wait_for(said, 20)
            self.log = err.decode()
            self._shown.add("standard output", out.decode())
            self._shown.add(f"log, {self._log_format}", self.log)
        assert process.returncode == 0, self.log

    async def _until_it_listens(self, process: Process) -> None:
        async with asyncio.timeout(20):
            while process.returncode is None:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    return

    def read_settings_again(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGHUP)

    async def look_at_all_pages(self) -> None:
        """Every route, as somebody who has signed in sees it, and as a program with the token."""
        base = f"http://127.0.0.1:{self._port}"
        async with httpx.AsyncClient(base_url=base, trust_env=False, timeout=30) as browser:
            self._keep("GET / as a stranger", await browser.get("/", headers={"Accept": "text/html"}))
            for wrong in (f"{self._token}x", self._token[:-1]):
                answer = await browser.post("/sign-in", data={"token": wrong, "then": "/"})
                assert answer.status_code == 401
                self._keep("a wrong token", answer)
            answer = await browser.post("/sign-in", data={"token": self._token, "then": "/"})
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
            self._keep("signing in", answer)
            seen = {"/sign-in"}
            for path in (
                "/rebuild",
                "/",
                "/search?q=bicycle",
                "/search",
                "/progress",
                "/notes",
                "/notes/",
                "/metrics",
                "/memory-health",
                *("/backups", "/changes", "/conversations", "/days", "/days/2026", "/models", "/new-note"),
                *("/people", "/settings", "/system", "/trash"),
            ):
                seen.add(path.partition("?")[0])
                form = {FORM_FIELD: new_form_token(browser.cookies[SESSION], self._token)}
                answer = await (browser.post(path, data=form) if path == "/rebuild" else browser.get(path))
                assert answer.status_code < 400, (path, answer.text)
                self._keep(path, answer)
            for path in (
                *("/notes/MEMORY.md", "/notes/none.md", "/nothing/here", "/healthz", "/sign-in"),
                *("/files/none.png", "/backups/files/none", "/backups/contents/none", "/people/deny"),
                *("/conversations/1", "/conversations/1/forget", "/conversations/1/export.md"),
                "/conversations/1/search?q=bicycle",
                *("/edit/MEMORY.md", "/move/MEMORY.md", "/delete/MEMORY.md"),
            ):
                seen.add(path.partition("?")[0])
                self._keep(path, await browser.get(path))
            for path in (
                *("/log", "/waiting", "/reminders/cancel", "/reminders/move", "/reminders/restore"),
                *("/people/change", "/people/deny", "/people/link", "/people/unlink", "/models/reset"),
                *("/edit/none.md", "/move/none.md", "/delete/none.md", "/new-note", "/trash"),
                *("/conversations/99/forget", "/backups/make", "/tasks/MEMORY.md"),
            ):
                seen.add(path)
                nothing = {FORM_FIELD: new_form_token(browser.cookies[SESSION], self._token)}
                answer = await browser.post(path, data=nothing)
                assert answer.status_code < 500, (path, answer.text)
                self._keep(f"POST {path}", answer)
            await self._call_all_methods(browser)
            seen.add("/rpc")
            self._keep("/mcp", await browser.post("/mcp"))
            seen.add("/mcp")
            self._keep("/undo", await browser.post("/undo", data={"number": "1"}))
            seen.add("/undo")
            self._keep("/sign-out", await browser.post("/sign-out"))
            seen.add("/sign-out")
        assert {route for route in routes() if not any(_fits(route, each) for each in seen)} == set()

    async def _call_all_methods(self, browser: httpx.AsyncClient) -> None:
        bearer = {"Authorization": f"Bearer {self._token}"}

        async def call(method: str, **params: Any) -> Any:
            asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            answer = await browser.post("/rpc", json=asked, headers=bearer)
            self._keep(f"rpc {method}", answer)
            return answer.json()

        found = (await call("rpc.discover"))["result"]["methods"]
        names = {each["name"] for each in found}
        given: dict[str, dict[str, Any]] = {
            "memory.search": {"query": "bicycle"},
            "memory.get": {"path": "MEMORY.md"},
            "memory.write": {"content": "The bicycle is red.", "target": "core"},
            "memory.undo": {"number": 1},
        }
        assert given.keys() <= names
        for name in sorted(
            names, key=lambda name: (name == "memory.undo", name)
        ):  # there is a change to undo by then
            assert "result" in await call(name, **given.get(name, {})), name
            assert "error" in await call(name, nonsense=1), name
        await call("no.such.method")

    def _keep(self, place: str, answer: httpx.Response) -> None:
        self._shown.add(
            place, f"{answer.status_code} {answer.reason_phrase} {dict(answer.headers)}\n{answer.text}"
        )


def routes() -> set[str]:
    """Every path that the server knows; `{…}` for a part of any name. Nothing is asked of what lies behind."""

    async def hook(headers: Mapping[str, str], body: bytes) -> int:
        raise AssertionError

    app = build_web_app(
        channels=dict,
        memory=cast(Memory, None),
        hooks=[WebhookRoute("/hook", hook)],
        services=services(
            live_settings=LiveSettings(Settings.model_validate({"server": {"token": "t"}})),
            supervisor=Supervisor(now=lambda: datetime.now(UTC)),
        ),
    )
    return {resource.canonical for resource in app.router.resources()} - {"/hook"}


def _fits(route: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\\{.*?\\}", ".+", re.escape(route)), path) is not None


# -- a service, and all whom it asks --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class House:
    """A folder with settings in which secrets are planted, and who is asked."""

    commonplace: Commonplace
    planted: Planted
    parrot: SecretEchoServer
    telegram: BotApi
    discord: DiscordApi
    shown: Shown = field(default_factory=Shown)

    def service(self, log_format: str) -> Service:
        return Service(
            self.commonplace, self.shown, token=self.planted.by_place["server.token"], log_format=log_format
        )

    def heard(self) -> set[str]:
        """Where the secrets stand that the parrot was told."""
        by_secret = {unquote(secret): place for place, secret in self.planted.by_place.items()}
        return {by_secret.get(secret, "") for secret in self.parrot.heard}

    def assert_nothing_is_seen(self) -> None:
        assert "***" in self.log, "what was said back is in the log, without the secret"
        found = self.shown.holds(self.planted)
        assert found == [], "\n".join(found[:20])

    @property
    def log(self) -> str:
        return "".join(text for place, text in self.shown.pieces if place.startswith("log"))


@asynccontextmanager
async def house(folder: Path, *, telegram_is_well: bool) -> AsyncIterator[House]:
    """One channel is well, with a planted token, and the other is a parrot, as are all who are asked for anything."""
    planted = Planted()
    async with SecretEchoServer() as parrot, BotApi() as telegram, DiscordApi() as discord:
        # A password in an address takes the place of a key: some have none.
        well = telegram.url if telegram_is_well else f"http://{parrot.address}"
        instead = {
            "telegram_api_base": well.replace("://", "://me:{secret}@"),
            "discord_api_base": f"http://{parrot.address}/api/v10" if telegram_is_well else discord.api_base,
            "providers_gemini_base_url": f"http://me:{{secret}}@{parrot.address}",
            "providers_anthropic_base_url": f"http://me:{{secret}}@{parrot.address}",
            "providers_mine_base_url": f"http://{parrot.address}/v1",
            "memory_embedding_base_url": f"http://{parrot.address}/v1",
        }
        tables = planted_settings(planted, parrot.address, **instead)
        telegram.bots.clear()
        commonplace = Commonplace(folder)
        commonplace.environment |= planted_environment(planted, parrot.address)
        # A name that goes into the log, whatever it is.
        telegram.bot = telegram.add_bot(tables["telegram"]["token"], planted.by_place["A_DATABASE_PASSWORD"])
        discord.bots.clear()
        discord.bot = discord.add_bot("planted", tables["discord"]["token"])
        tables |= {
            "access": {"owners": [f"telegram:{each}" for each in OWNERS]},
            "models": {
                "chain": ["openai/a", "anthropic/b", "gemini/c", "mine/d", "extra/e", "deepseek/f"],
                "max_retries": 1,
                "retry_delay": 0,
            },
            "speech": {"provider": "mine"},
        }
        tables["providers"]["extra"] = {"kind": "openai", "base_url": f"http://{parrot.address}/v1"}
        tables["memory"]["embedding"] |= {"provider": "openai", "fallback": "voyage"}
        (folder / "config.toml").write_text(as_toml(tables), "utf-8")
        memory = folder / "workspace" / "memory"
        memory.mkdir(parents=True)
        (memory / "MEMORY.md").write_text("# Memory\n\n- The bicycle is blue.\n", "utf-8")
        yield House(commonplace, planted, parrot, telegram, discord)


async def ask(owner: Person, said: Iterable[str], shown: Shown) -> None:
    """Say all this, one after the other, and a voice message."""
    for text in said:
        await owner.say(text)
        shown.add(f"reply to {text}", (await owner.chat.answer(within=20)).text)
    await owner.voice()
    shown.add("reply to a voice message", (await owner.chat.answer(within=20)).text)
    shown.add("all of a chat", "\n".join(owner.chat.texts))


async def look_at_the_command_line(run: Any, shown: Shown) -> None:
    """What is told by commands beside the service, or after it."""
    lines: Iterable[Sequence[str]] = (
        ("doctor",),
        ("doctor", "--json"),
        ("memory", "status"),
        ("memory", "search", "bicycle", "--json"),
        ("chat", "-m", "/status"),
        ("chat", "-m", "/config"),
        ("chat", "-m", "Hello"),
        ("export", "--json"),
        ("backup",),
    )
    for line in lines:
        done = await run(*line, seconds=60)
        shown.add(f"commonplace {' '.join(line)}", f"{done.stdout}\n{done.stderr}")
        assert "Traceback" not in done.stderr


async def test_no_secret_is_seen_in_replies_pages_logs_files_or_on_the_command_line(tmp_path: Path) -> None:
    async with house(tmp_path, telegram_is_well=True) as here:
        shown = here.shown
        owners = [here.telegram.person(each, f"Owner {each}", started=True) for each in OWNERS]
        said = [SAID, *(COMMANDS[start::3] for start in range(3))]
        service = here.service("json")
        async with service.running():
            await here.telegram.wait_until_polling(within=20)
            await asyncio.gather(*(ask(*each, shown) for each in zip(owners, said, strict=True)))
            await service.look_at_all_pages()
        await look_at_the_command_line(partial(asyncio.to_thread, here.commonplace), shown)
        shown.add_files(tmp_path / "workspace")
        # Else it would be no wonder that nothing is seen.
        told = dict(shown.pieces)
        tried = {"mine.api_key", "mine.api_keys.1", "openai.base_url", "anthropic.api_key", "gemini.api_key"}
        assert {f"providers.{each}" for each in tried} <= here.heard()
        assert {"discord.token", "memory.embedding.api_key", "EXTRA_API_KEY", "HTTPS_PROXY"} <= here.heard()
        assert len(here.parrot.asked) > 3 * len(FORMS)
        assert "models.chain" in told["reply to /config"]
        assert "discord" in told["reply to /status"].lower()
        assert '"checks"' in told["commonplace doctor --json"]
        assert ".commonplace/chat.log" in told
        assert ".commonplace/index.db" in told
        assert any(place.endswith(": state.db") and text.startswith("SQLite") for place, text in shown.pieces)
        here.assert_nothing_is_seen()


async def test_no_secret_is_seen_where_a_channel_is_refused_and_settings_are_read_again(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, telegram_is_well=False) as here:
        service = here.service("text")
        config = tmp_path / "config.toml"
        async with service.running():
            await here.discord.wait_until_connected(within=20)
            await here.discord.wait_until(lambda: here.parrot.heard.total() > 4, within=20, what="refusals")
            before = here.planted.by_place["providers.mine.api_key"]
            config.write_text(
                config.read_text("utf-8").replace(before, here.planted.make("a new one")), "utf-8"
            )
            service.read_settings_again()
            await service.look_at_all_pages()
        here.shown.add_files(tmp_path / "workspace")
        assert {"telegram.token", "telegram.api_base"} & here.heard()
        assert "Settings reloaded" in here.log
        here.assert_nothing_is_seen()


# -- settings that cannot be used -----------------------------------------------------------------------------


def wrong_settings(secret: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """A settings file and an environment with a secret in it and a mistake."""
    for keys, is_list in secret_fields(Settings):
        table, key = ".".join("mine" if each == "NAME" else each for each in keys[:-1]), keys[-1]
        kind = 'kind = "openai"\n' if "NAME" in keys else ""
        for value in (
            f'{{ of = "{secret}" }}',
            f'["{secret}", 5]',
            f'"{secret}',
            f"'{secret}'x",
            f'[["{secret}"]]',
        ):
            yield f"[{table}]\n{kind}{key} = {value}\n", {}
        variable = f"COMMONPLACE_{'__'.join('MINE' if each == 'NAME' else each for each in keys)}".upper()
        if is_list:
            yield "", {variable: f'["{secret}"'}
        yield f"[{table}]\n{kind}{key} = '{secret} with a blank\t'\nno_such_key = 5\n", {}
    for keys in address_fields(Settings):
        table, key = ".".join("mine" if each == "NAME" else each for each in keys[:-1]), keys[-1]
        kind = 'kind = "openai"\n' if "NAME" in keys else ""
        for address in (
            f"ftp://me:{secret}@host",
            f"http://me:{secret}@host:999999",
            f"http://me:{secret}@[half",
        ):
            yield f'[{table}]\n{kind}{key} = "{address}"\n', {}
    yield f'[telegram]\ntoken = "{secret}"\n', {}
    yield f'[index]\nurl = "mysql://me:{secret}@host/notes"\n', {}
    yield "", {"COMMONPLACE_PROVIDERS": f'{{"openai": {{"api_key": "{secret}"'}
    yield "", {"COMMONPLACE_PROVIDERS": f'{{"openai": {{"api_key": ["{secret}"]}}}}'}
    yield "", {"COMMONPLACE_TELEGRAM__TOKEN": f"{secret}\n"}


def test_settings_that_cannot_be_used_are_told_without_their_secrets(tmp_path: Path) -> None:
    commonplace, planted, shown = CommonplaceHere(tmp_path), Planted(), Shown()
    count = 0
    for count, (text, environment) in enumerate(wrong_settings(planted.make("wrong", "{core}")), start=1):  # noqa: B007
        (tmp_path / "config.toml").write_text(text, "utf-8")
        for line in (("memory", "status"), ("doctor", "--json")):
            done = commonplace(*line, environment=environment)
            assert (done.returncode, done.stderr[:13]) == (2, "commonplace: "), (text, environment, done)
            shown.add(f"{line} with {text} {environment}", done.stdout + done.stderr)
    assert count > 50
    found = shown.holds(planted)
    assert found == [], "\n".join(found)
