"""What discord.py does not promise is used in one module alone, and looked for at each start."""

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import discord
import pytest
from discord.gateway import DiscordWebSocket, KeepAliveHandler
from discord.http import HTTPClient

from adapters.discord.private_api import NAMES, TESTED, LibraryChanged, check_library
from tests.adapters.discord.listening import Ear, listening
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.table_test import table_test

FOLDER = Path(__file__).parents[3] / "adapters" / "discord"
LIBRARY = FOLDER / "private_api.py"
FILES = sorted(FOLDER.rglob("*.py"))
PRIVATE_MODULES = re.compile(
    r"discord\.(http|gateway|client|shard|state|backoff|webhook\.async_|types|flags|enums)\b"
)
OUR_OWN = {"self", "cls"}
OF_NAMED_TUPLES = {"_replace", "_asdict", "_fields"}


def is_under_type_checking(tree: ast.Module, node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.If) and "TYPE_CHECKING" in ast.dump(each.test) and node in ast.walk(each)
        for each in tree.body
    )


def private_uses(source: str) -> Iterator[str]:
    """What a module takes that is not its own and has a name with an underscore, or that is not promised."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value, attr=attr):
                is_ours = isinstance(value, ast.Name) and value.id in OUR_OWN
                is_private = (
                    attr.startswith("_") and not attr.startswith("__") and attr not in OF_NAMED_TUPLES
                )
                if (is_private and not is_ours) or (attr in ("http", "ws") and not is_ours):
                    yield f"{ast.unparse(node)}"
            case ast.Import(names=names):
                yield from (each.name for each in names if PRIVATE_MODULES.match(each.name))
            case ast.ImportFrom(module=str(module)):
                if PRIVATE_MODULES.match(module) and not is_under_type_checking(tree, node):
                    yield module
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr"),
                args=[_, ast.Constant(value=str(name)), *_],
            ):
                if name.startswith("_"):
                    yield name
            case ast.keyword(arg="state"):
                yield "state="


@table_test("file", [file for file in FILES if file != LIBRARY])
def test_no_other_module_reaches_for_what_the_library_keeps_to_itself(file: Path) -> None:
    assert list(private_uses(file.read_text("utf-8"))) == []


@table_test(
    "source",
    ["client._connection.parsers", "client.http.send_message(1)", "import discord.gateway", "x = message._state",
     "from discord.http import Route", "getattr(guild, '_state')", "discord.Message(state=1, channel=2, data=3)"],
)  # fmt: skip
def test_such_a_use_would_be_found(source: str) -> None:
    assert list(private_uses(source))


def test_every_call_that_is_made_is_looked_for() -> None:
    called = set[str]()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Attribute(value=ast.Call(func=ast.Name(id="http_client")), attr=attr):
                    called.add(f"discord.http:HTTPClient.{attr}")
                case ast.Attribute(value=ast.Name(id="http"), attr=attr) if (
                    file.stem == "command_registration"
                ):
                    called.add(f"discord.http:HTTPClient.{attr}")
                case ast.Attribute(value=ast.Call(func=ast.Name(id="webhooks")), attr=attr):
                    called.add(f"discord.webhook.async_:AsyncWebhookAdapter.{attr}")
    assert len(called) > 10
    assert called <= NAMES.keys()


def test_the_mend_names_the_version_that_is_locked() -> None:
    lock = (FOLDER.parents[1] / "requirements" / "runtime.txt").read_text("utf-8")
    assert f"discord-py=={TESTED} " in lock


async def test_the_library_that_is_installed_has_all_of_it() -> None:
    check_library()


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [
        (HTTPClient, "logs_from", "discord.http.HTTPClient.logs_from"),
        (DiscordWebSocket, "DEFAULT_GATEWAY", "discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY"),
        (KeepAliveHandler, "stop", "discord.gateway.KeepAliveHandler.stop"),
    ],
)
async def test_what_is_missing_is_named_with_the_version(
    owner: type, name: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(owner, name)
    with pytest.raises(LibraryChanged) as error:
        check_library()
    assert f"discord.py {discord.__version__} has no {told}" in str(error.value)
    assert "pip install discord.py==" in str(error.value)
    assert "\n" not in str(error.value)


async def test_a_parameter_that_has_another_name_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def logs_from(self: Any, channel: int, count: int) -> None: ...

    monkeypatch.setattr(HTTPClient, "logs_from", logs_from)
    with pytest.raises(LibraryChanged, match=r"parameter channel_id of discord\.http\.HTTPClient\.logs_from"):
        check_library()


async def test_with_another_library_the_channel_is_down_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(HTTPClient, "logs_from")
    ear = Ear()
    async with DiscordApi() as api, listening(api, tmp_path, ear, is_up=False):
        await ear.until(lambda: ear.state == "down")
        await asyncio.sleep(0)
        assert api.calls == []
    assert f"discord.py {discord.__version__}" in ear.health[-1].detail
    assert [record.exc_info for record in caplog.records if record.name.startswith("adapters")] == [None]
