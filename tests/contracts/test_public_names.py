"""Names that others rely on: of settings, commands, JSON, metrics, files and all that is stored. None goes unnoticed.

`names/` holds them, one a line. A name may be added: add its line. A name that is there stays, whatever the code calls
it: programs read it, and workspaces of earlier versions hold it.
"""

import argparse
import asyncio
import gzip
import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import apsw
import pytest
from aiohttp.web import Application
from prometheus_client.parser import text_string_to_metric_families

from bot.archives.archive import Manifest
from bot.cli.main import build_parser
from bot.cluster.membership import LEASED_JOBS
from bot.cluster.status import JOB_PREFIX, channel_lease_name, workspace_lease_name
from bot.commands.registry import COMMANDS
from bot.config.schema import known_keys
from bot.config.settings import Settings
from bot.forgetting import ForgetOutcome
from bot.log.context import log_context
from bot.log.records import JsonFormatter, make_record_factory
from bot.messages import Attachment, Quoted
from bot.models.protocol import AttachedText, RawStep
from memory.index.postgres.schema import MERGE_LOCK, SHADOW_LOCK, VECTORS_LOCK
from memory.note_edits import LineAnchor, LineCorrection
from memory.postgres.lock_keys import lock_key
from memory.redaction import Redaction
from memory.write_recovery import BeforeAppend, BeforeEdit
from memory.write_result import WriteResult
from tests.fakes.assistant_exports import chatgpt_conversation, talk
from tests.fakes.commonplace import CommonplaceHere
from tests.fakes.postgres_server import NEEDS, find_programs
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.turns import message
from tests.fakes.web_client import WebClient, open_web_client
from tests.stored.write_workspace import main as write_workspace

NAMES = Path(__file__).parent / "names"
KINDS = {"kind", "state", "stage", "cause", "standing", "part"}

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


def check(topic: str, found: set[str]) -> None:
    """Compare with `names/TOPIC.txt`."""
    file = NAMES / f"{topic}.txt"
    known = set(file.read_text("utf-8").splitlines())
    gone, new = sorted(known - found), sorted(found - known)
    assert not gone, f"others rely on these names, which are gone: {gone}"
    assert not new, f"new names; add them to {file}: {new}"


def shape(document: Any, path: str) -> Iterator[str]:
    """Return where there is what in a JSON document: `status.jobs[].name`."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield f"{path}.{key}"
            yield from shape(value, f"{path}.{key}")
    elif isinstance(document, list):
        for each in document:
            yield from shape(each, f"{path}[]")


# -- what people and programs call ---------------------------------------------------------------------------------


def test_settings_keep_their_names() -> None:
    check("settings", {".".join(map(str, keys)) for keys in known_keys(Settings)})


def test_slash_commands_keep_their_names() -> None:
    found = set()
    for command in COMMANDS:
        found.add(f"/{command.name}")
        found |= {f"/{command.name} {option.name}" for option in command.options}
        found |= {
            f"/{command.name} {option.name}={choice}"
            for option in command.options
            for choice in option.choices
        }
    check("slash_commands", found)


def options_of(parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield f"{name} {word}"
                yield from options_of(below, f"{name} {word}")
        else:
            yield from (f"{name} {option}" for option in action.option_strings or [f"<{action.dest}>"])


def test_the_command_line_keeps_its_names() -> None:
    check("command_line", set(options_of(build_parser(), "commonplace")))


# -- what programs read --------------------------------------------------------------------------------------------


def test_log_lines_keep_their_fields() -> None:
    make = make_record_factory(Redaction(), mark="attic")
    with log_context("turn", chat="terminal:main"):
        try:
            raise ValueError("why")
        except ValueError:
            record = make("bot", logging.ERROR, __file__, 1, "It broke.", (), sys.exc_info())
    line = JsonFormatter(Redaction()).format(record)
    check("log", set(shape(json.loads(line), "log")))


async def ask(website: WebClient, method: str, **params: Any) -> Any:
    document = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = await website.client.post("/rpc", json=document, headers=website.token)
    document = await answer.json()
    assert answer.status == 200, document
    return document


async def test_json_over_http_keeps_its_names(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token="correct horse battery staple") as website:
        website.assistant.attach(RecordingAdapter("terminal"))
        await website.assistant.accept(message("/remember The key is under the pot.", alone=False))
        await website.assistant.wait_until_idle()
        found = set(shape(await (await website.client.get("/healthz")).json(), "healthz"))
        written = await ask(website, "memory.write", content="The key is under the mat.", target="daily")
        found |= set(shape(written, "memory.write"))
        assert "result" in written, written
        path = written["result"]["path"]
        found |= set(shape(await ask(website, "memory.search", query="key"), "memory.search"))
        found |= set(shape(await ask(website, "memory.get", path=path), "memory.get"))
        found |= set(shape(await ask(website, "memory.changes", limit=1), "memory.changes"))
        found |= set(shape(await ask(website, "memory.undo", number=2), "memory.undo"))
        (tmp_path / "memory/twice.md").write_text("- Anna's bank is GLS.\n" * 2, "utf-8")
        for method in ("memory.status", "memory.health", "memory.rebuild", "models.status", "sessions.list"):
            found |= set(shape(await ask(website, method), method))
        wrong = await ask(website, "memory.get", path="../secret.md")
        found |= set(shape(wrong, "error"))
        described = (await ask(website, "rpc.discover"))["result"]["methods"]
        found |= {f"rpc {each['name']}" for each in described}
        found |= {f"rpc {each['name']} {one['name']}" for each in described for one in each["params"]}
        found |= paths_of(website.client.app)
    check("http", found)


def paths_of(app: Application) -> set[str]:
    return {
        f"{route.method} {route.resource.canonical}"
        for route in app.router.routes()
        if route.resource is not None
    }


async def test_metrics_keep_their_names_and_labels(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as website:
        website.assistant.attach(RecordingAdapter("terminal"))
        await website.assistant.accept(message("Hello.", alone=False))
        await website.assistant.wait_until_idle()
        text = await (await website.client.get("/metrics")).text()
    found = set()
    for family in text_string_to_metric_families(text):
        found.add(f"{family.name} {family.type}")
        for sample in family.samples:
            found |= {f"{sample.name} {label}" for label in sample.labels}
    check("metrics", found)


def test_json_of_the_command_line_keeps_its_names(tmp_path: Path) -> None:
    commonplace = CommonplaceHere(tmp_path)
    commonplace.output_of("chat", "-m", "/remember The key is under the mat.")
    written = json.loads(commonplace.output_of("memory", "write", "The key is under the pot.", "--json"))
    (commonplace.memory / "twice.md").write_text("- Anna's bank is GLS.\n" * 2, "utf-8")
    asked = {
        "status": ("memory", "status"),
        "health": ("memory", "health"),
        "search": ("memory", "search", "key"),
        "get": ("memory", "get", written["path"]),
        "index": ("memory", "index"),
        "doctor": ("doctor",),
        "changes": ("memory", "changes"),
        "undo": ("memory", "undo"),
        "redo": ("memory", "redo"),
    }
    found = set(shape(written, "write"))
    for name, words in asked.items():
        done = commonplace(*words, "--json")
        found |= set(shape(json.loads(done.stdout), name))
    chats = [chatgpt_conversation("c1", talk("key")), chatgpt_conversation("c2", [])]
    (tmp_path / "chats.json").write_text(json.dumps(chats), "utf-8")
    for name in ("chats.json", "vault"):
        (tmp_path / "vault").mkdir(exist_ok=True)
        (tmp_path / "vault" / written["path"]).write_text("- The key is lost.\n", "utf-8")
        (tmp_path / "vault" / "photo.png").write_bytes(b"")
        found |= set(shape(json.loads(commonplace.output_of("import", name, "--json")), "import"))
    found |= set(shape(json.loads(commonplace.output_of("import", "--list", "--json")), "import --list"))
    found |= set(shape(json.loads(commonplace.output_of("import", "--undo", "2", "--json")), "import --undo"))
    check("command_line_json", found)


# -- what is stored ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a row of every kind, as the code of today writes it, and the dump of an index on PostgreSQL."""
    if not find_programs():
        pytest.skip(NEEDS)
    folder = tmp_path_factory.mktemp("stored")
    asyncio.run(write_workspace(folder, folder / "postgres.sql.gz"))
    return folder


def columns_of(file: Path) -> Iterator[str]:
    with closing(apsw.Connection(str(file))) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            yield from (f"{table}.{column}" for column in columns)
            for column in columns:
                values = db.execute(f'SELECT DISTINCT "{column}" FROM "{table}" LIMIT 500')
                yield from words_in(f"{table}.{column}", [value for (value,) in values])


def words_in(column: str, values: list[Any]) -> Iterator[str]:
    """Return what the code reads in a column: the keys of JSON, the kinds of rows."""
    for value in values:
        if isinstance(value, str) and value[:1] in ("{", "["):
            with suppress(ValueError):
                yield from shape(json.loads(value), column)
        elif isinstance(value, str) and column.rpartition(".")[2] in KINDS:
            yield f"{column}={value}"


def without_numbers(names: Iterable[str]) -> set[str]:
    """Tables and files are numbered: `notes_2` and `notes_3` are the same name."""
    return {re.sub(r"(?<=_)[0-9]+\b|[0-9a-f]{12,}|[0-9]{8}T[0-9]{6}Z", "N", name) for name in names}


@pytest.mark.thorough
def test_tables_and_what_their_rows_hold_keep_their_names(stored: Path) -> None:
    private = stored / "workspace" / ".commonplace"
    for database in ("state", "index"):
        found = set(columns_of(private / f"{database}.db"))
        tables = {each for each in found if "." not in each.partition("=")[0]}
        check(database, without_numbers(found - tables))


@pytest.mark.thorough
def test_tables_on_postgresql_keep_their_names(stored: Path) -> None:
    dump = gzip.decompress((stored / "postgres.sql.gz").read_bytes()).decode()
    found = set()
    for table, columns in re.findall(r"CREATE (?:UNLOGGED )?TABLE (\S+) \((.*?)\n\)", dump, re.DOTALL):
        names = re.findall(r"^    (\w+) ", columns, re.MULTILINE)
        found |= {f"{table}.{name}" for name in names if name != "CONSTRAINT"}
    check("postgres", without_numbers(found))


DECODED = {
    "append": BeforeAppend,
    "attached text": AttachedText,
    "attachment": Attachment,
    "correction": LineCorrection,
    "edit": BeforeEdit,
    "line": LineAnchor,
    "manifest": Manifest,
    "raw step": RawStep,
    "quoted": Quoted,
    "removal": ForgetOutcome,
    "written": WriteResult,
}
"""What is made again out of rows and archives, by the names of its fields."""


def test_what_is_made_again_out_of_rows_keeps_its_fields() -> None:
    check("decoded", {f"{name}.{field.name}" for name, made in DECODED.items() for field in fields(made)})


def test_locks_and_leases_keep_their_names() -> None:
    """Versions run beside each other while they are exchanged: both must mean the same lock."""
    assert lock_key("note", "memory.md") == -7723496256389274565
    assert (VECTORS_LOCK, SHADOW_LOCK, MERGE_LOCK) == ("vectors", "shadow", "merge")
    assert channel_lease_name("telegram", "1:a") == "channel:telegram:4162fddd39a3e422"
    assert workspace_lease_name("3f2a") == "workspace:3f2a"
    assert {f"{JOB_PREFIX}{name}" for name in LEASED_JOBS.values()} == {"job:schedule", "job:backup"}


def test_files_of_a_running_workspace_keep_their_names(tmp_path: Path) -> None:
    commonplace = CommonplaceHere(tmp_path)
    commonplace.output_of("chat", "-m", "/remember The key is under the pot.")
    commonplace.output_of("backup")
    private = tmp_path / "workspace" / ".commonplace"
    found = {str(file.relative_to(private)) for file in private.rglob("*")}
    check("files", without_numbers(found))
