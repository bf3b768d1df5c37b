"""What a platform's library does not promise is used in one module alone, if at all."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).parents[2] / "adapters"
LIBRARY = ADAPTERS / "discord/private_api.py"
FILES = sorted(
    file for name in ("discord", "telegram") for file in (ADAPTERS / name).rglob("*.py") if file != LIBRARY
)
PRIVATE_MODULES = re.compile(
    r"discord\.(http|gateway|client|shard|state|backoff|webhook\.async_|types|flags|enums)\b"
    r"|telegram\._"
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


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-2:]))
def test_no_other_module_reaches_for_what_the_library_keeps_to_itself(file: Path) -> None:
    assert list(private_uses(file.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    ["client._connection.parsers", "client.http.send_message(1)", "import discord.gateway", "x = message._state",
     "from discord.http import Route", "getattr(guild, '_state')", "discord.Message(state=1, channel=2, data=3)",
     "from telegram._utils.types import ODVInput", "bot._request[0].shutdown()"],
)  # fmt: skip
def test_such_a_use_would_be_found(source: str) -> None:
    assert list(private_uses(source))
