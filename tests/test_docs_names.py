"""What the pages name is there: settings, variables, metrics, methods, addresses, commands; and examples load."""

import ast
import asyncio
import json
import logging
import os
import re
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from bot.attachments.transcription_providers import TRANSCRIPTION_MODELS
from bot.cannot_start import CannotStart
from bot.commands.registry import COMMANDS
from bot.config.schema import known_keys
from bot.config.settings import ConfigError, Settings, load_settings
from bot.log.context import log_context
from bot.log.records import JsonFormatter
from bot.models.known_providers import KNOWN_PROVIDERS
from bot.web.rpc.methods import rpc_methods
from bot.web.sockets import open_sockets
from memory.embeddings.provider_table import PROVIDERS
from memory.redaction import Redaction
from tests.fakes.web_client import WebClient, open_web_client

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
PAGES.remove(ROOT / "docs/architecture.md")
PAGES.remove(ROOT / "docs/files.md")
README, MEMORY, MODELS, OPERATIONS = (
    (ROOT / name).read_text("utf-8")
    for name in ("README.md", "docs/memory.md", "docs/models.md", "docs/operations.md")
)
KEYS = {".".join(map(str, keys)) for keys in known_keys(Settings)}
SECTIONS = {key.rpartition(".")[0] for key in KEYS} | {"models.params", "providers", "mcp.tokens"}
LAST_PARTS = {key.rpartition(".")[2] for key in KEYS}
OF_OTHERS = {"newbot", "revoke", "mybots", "setprivacy", "setjoingroups", "anna"}
"""BotFather's commands, and a path of an example."""
NO_KEYS = {"host_uid", "host_gid", "llama_cpp", "memory_limit", "cap_drop", "read_only", "security_opt"}
NO_KEYS |= {"mem_limit", "pids_limit", "stop_grace_period", "commonplace_state", "commonplace_models"}
NO_KEYS |= {
    "annas_commonplace_bot",
    "api_id",
    "api_hash",
    "memory_search",
    "memory_get",
    "memory_write",
    "memory_edit",
    "memory_changes",
    "memory_undo",
    "conversation_get",
    "paused_until",
    "rests_until",
    "superseded_by",
}
"""Words with an underscore that are not settings: variables and lines of Compose, Telegram's own, tools, JSON."""
CHOSEN = {"mine", "whisper", "notes"}
"""Names of providers in examples."""
ANYTHING = "\0"


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def quoted(page: str) -> Iterator[str]:
    """What stands between backticks outside of blocks."""
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL))


def blocks(language: str, page: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)


def generic(key: str) -> str:
    """With NAME for what the owner names."""
    return re.sub(r"^(providers|mcp\.tokens|models\.params)\.(?:\"[^\"]*\"|[^.]+)", r"\1.NAME", key)


def slugs(page: str) -> set[str]:
    """Where links can lead to within a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for variable in os.environ:
        if variable.startswith(("COMMONPLACE_", "TELEGRAM_", "DISCORD_")):
            monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config.toml"


@pytest.fixture
async def website(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path) as website:
        yield website


# -- settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_section_and_setting_that_is_named_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    named = set(quoted(text))
    for each in named:
        if section := re.fullmatch(r"\[([a-z_]+(?:\.[^\]]+)?)\]", each):
            assert generic(section[1]) in SECTIONS, each
        dotted = re.fullmatch(r"[a-z]+(?:\.[a-z_]+)+", each)
        if dotted and each.partition(".")[0] in SECTIONS and not each.endswith((".md", ".db", ".toml")):
            known = generic(each) in KEYS | SECTIONS or f"`{each}`" in OPERATIONS.partition("## JSON-RPC")[2]
            assert known, each
        if re.fullmatch(r"[a-z]+(?:_[a-z]+)+", each):
            assert each in LAST_PARTS | NO_KEYS, each
    for key, section in re.findall(r"`(\w+)`(?:[^`\n]|\n(?!\n)){0,30}? under\s`\[([\w.]+)\]`", text):
        assert generic(f"{section}.{key}") in KEYS, (key, section)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_variable_that_is_named_counts(page: Path) -> None:
    text = page.read_text("utf-8")
    for variable in set(re.findall(r"\bCOMMONPLACE_([A-Z0-9_]*[A-Z0-9])\b", text)) - {
        "CONFIG",
        "SECRETS_DIR",
    }:
        key = variable.lower().replace("__", ".")
        assert generic(key) in KEYS, variable
    keys = {f"{provider.upper()}_API_KEY" for provider in (*KNOWN_PROVIDERS, *CHOSEN)}
    keys |= {variable for known in KNOWN_PROVIDERS.values() for variable in known.key_variables}
    keys |= {variable for row in PROVIDERS.values() for variable in row.key_variables}
    assert set(re.findall(r"\b[A-Z]+_API_KEY\b", text)) <= keys
    tokens = {"TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN"}
    assert set(re.findall(r"\b[A-Z_]+_BOT_TOKEN\b", text)) <= tokens


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_example_of_settings_loads(page: Path, no_settings: Path) -> None:
    for block in blocks("toml", page.read_text("utf-8")):
        # As the page says: example tokens are replaced by one's own, and refused otherwise.
        no_settings.write_text(block.replace("secret-here", "secret-as-told"), "utf-8")
        load_settings(no_settings)


def test_the_numbers_beside_settings_are_their_defaults(no_settings: Path) -> None:
    settings = load_settings(None)
    told = re.findall(r"`([a-z_]+)` \((\d+) s\)", MODELS)
    assert len(told) > 3
    for key, number in told:
        assert getattr(settings.models, key) == float(number), key
    for key, number in re.findall(r"^\| `([a-z_]+)` \|.*?\((0\.\d+|\d+)", MEMORY, flags=re.MULTILINE):
        assert getattr(settings.memory.search, key) == float(number), key
    assert (settings.memory.search.vector_weight, settings.memory.search.text_weight) == (0.7, 0.3)
    assert settings.memory.search.min_similarity == 0.3
    flush = settings.memory.flush
    assert (flush.token_threshold, flush.idle_minutes) == (6000, 6 * 60)


# -- links --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_heading_that_is_linked_to_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    for file, anchor in re.findall(r"\]\(([^):#]*)#([^)\s]+)\)", text):
        there = (page.parent / file).read_text("utf-8") if file else text
        assert anchor in slugs(there), (file, anchor)


def test_readme_leads_to_every_page() -> None:
    for page in ROOT.glob("docs/*.md"):
        assert f"({name(page)})" in README


# -- models -------------------------------------------------------------------------------------------------


def test_every_provider_that_is_known_is_told() -> None:
    for provider in KNOWN_PROVIDERS.keys() - {"builtin"}:
        assert f"`{provider}`" in MODELS
        assert f"`{provider}`" in README
    for provider, model in TRANSCRIPTION_MODELS.items():
        assert re.search(rf"{provider} \({re.escape(model)}\)", MODELS, flags=re.IGNORECASE)


def test_every_provider_of_vectors_is_told_with_its_usual_model() -> None:
    for provider, row in PROVIDERS.items():
        told = [line for line in MEMORY.splitlines() if line.startswith("|") and provider in line.lower()]
        assert any(row.model in line for line in told), provider
        if row.dimensions:
            assert any(str(row.dimensions) in line for line in told), provider


# -- commands, addresses, methods, metrics ------------------------------------------------------------------


async def test_every_slash_command_and_address_exists(website: WebClient) -> None:
    app = website.client.app
    assert app
    served = {(route.method, resource.canonical) for resource in app.router.resources() for route in resource}
    commands = {command.name for command in COMMANDS} | OF_OTHERS
    assert ("GET", "/healthz") in served
    for page in PAGES:
        if page.name == "docker.md":  # where such a word is a folder of the container
            continue
        for each in quoted(page.read_text("utf-8")):
            if asked := re.fullmatch(r"(GET|POST) (/[a-z/-]*)", each):
                assert asked.groups() in served, (each, page)
            elif named := re.match(r"/([a-z-]+)(?=[ @]|$)", each):
                assert named[1] in commands or ("GET", f"/{named[1]}") in served, (each, page)


async def test_the_methods_that_are_told_are_those_that_there_are(website: WebClient) -> None:
    methods = rpc_methods(website.services)
    rows = re.findall(r"^\| `([a-z.]+\.[a-z]+)` \| ([^|]*)\|", OPERATIONS, flags=re.MULTILINE)
    assert dict(rows).keys() == methods.keys()
    for method, parameters in rows:
        named = set(re.findall(r"`([a-z]+)`", parameters))
        assert named == set(methods[method].spec.parameters["properties"]), method


async def test_what_is_told_to_be_in_force_at_once_is(website: WebClient) -> None:
    sentence = OPERATIONS.partition("These apply at once:")[2].partition(". ")[0]
    told = {each.strip("[]") for each in re.findall(r"`([^`]+)`", sentence)}
    current = website.services.live_settings
    followed = {key for key in KEYS if current.is_live(tuple(key.split(".")))}
    in_log = {"log_level", "log_format"}  # followed where there is a log
    assert {
        key for key in KEYS if any(f"{key}.".startswith(f"{each}.") for each in told)
    } == followed | in_log


@pytest.fixture
async def numbers(tmp_path: Path) -> dict[str, Metric]:
    """Every family that a running service tells, by the names of its samples."""
    backups = tmp_path / ".commonplace" / "backups"
    backups.mkdir(parents=True)
    (backups / "commonplace-nightly-20261121T033000Z.tar.gz").touch()
    text = ""
    async with open_web_client(tmp_path) as website, website.services.background, asyncio.timeout(20):
        while "commonplace_watcher_up" not in text:  # it is begun a little later
            text = await (await website.client.get("/metrics")).text()
            await asyncio.sleep(0.05)
    families = list(text_string_to_metric_families(text))
    known = {sample.name: family for family in families for sample in family.samples}
    return (
        known
        | {family.name: family for family in families}
        | {f"{each.name}_total": each for each in families}
    )


async def test_the_metrics_in_the_alerts_exist_with_these_labels(numbers: dict[str, Metric]) -> None:
    scrape, alerts = (yaml.safe_load(each) for each in blocks("yaml", OPERATIONS))
    assert scrape["scrape_configs"][0]["static_configs"][0]["targets"] == ["127.0.0.1:8321"]
    rules = alerts["groups"][0]["rules"]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 8
    for rule in rules:
        named = re.findall(r"\b((?:commonplace|process)_\w+)(?:\{([^}]*)\})?", rule["expr"])
        assert named or rule["expr"].startswith("up{")
        for metric, selectors in named:
            assert metric in numbers, metric
            for label, pattern in re.findall(r'(\w+)=~?"([^"]*)"', selectors):
                values = {sample.labels.get(label) for sample in numbers[metric].samples}
                for value in pattern.split("|"):
                    # A channel's are there where there is one.
                    assert value in values or not values or label == "state", (metric, label, value)


def test_a_line_of_the_log_looks_like_that() -> None:
    (told,) = (json.loads(each) for each in blocks("json", OPERATIONS))
    record = logging.LogRecord("bot.models.fallback", logging.WARNING, "", 0, "…", None, None)
    with log_context("a turn", chat="telegram:7654321"):
        record = _made(record)
    written = json.loads(JsonFormatter(Redaction()).format(record))
    assert list(written) == list(told)
    assert (written["level"], written["chat"]) == (told["level"], told["chat"])


def _made(record: logging.LogRecord) -> logging.LogRecord:
    from bot.log.records import make_record_factory

    make = make_record_factory(Redaction())
    return make(record.name, record.levelno, "", 0, record.msg, (), None)


# -- what it says when something is wrong -------------------------------------------------------------------


def test_what_is_quoted_for_when_something_is_wrong_is_what_the_program_says(no_settings: Path) -> None:
    rows = [line for line in OPERATIONS.partition("| you see |")[2].splitlines() if line.startswith("|")]
    told = [quotation for row in rows for quotation in re.findall(r"`([^`]{20,})`", row.split("|")[1])]
    assert len(told) > 6
    words = "\n".join(_texts())
    for settings in ('[server]\nhost = "0.0.0.0"\n', "[sever]\nport = 1\n"):
        no_settings.write_text(settings, "utf-8")
        with pytest.raises(ConfigError) as error:
            load_settings(no_settings)
        no_settings.unlink()
        words += f"\n{error.value}"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotStart) as cannot:
            open_sockets(load_settings(None).server.model_copy(update={"port": port}))
    words += "\n" + str(cannot.value).replace(str(port), "8321")
    assert [quotation for quotation in told if quotation not in words] == []


def _texts() -> Iterator[str]:
    """All texts of the modules that say such things, ANYTHING where something is filled in."""
    for file in (
        "bot/service/startup.py",
        "bot/web/sockets.py",
        "bot/state/database.py",
        "bot/state/migrations.py",
        "bot/archives/restore.py",
    ):
        for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (each.value if isinstance(each, ast.Constant) else ANYTHING for each in node.values)
                yield "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
