"""The recipes of docs/architecture.md work, and every file that they name exists."""

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from bot.access import Standing
from bot.cli.main import build_parser
from bot.commands.command import Command, CommandCall, Option
from bot.commands.registry import COMMANDS
from bot.config.settings import load_settings
from bot.conversations import extraction, flush, log_section
from bot.conversations.log_section import heading
from bot.imports import formats as imports
from bot.imports.conversation import (
    ConversationFormat,
    ImportedConversation,
    ImportedMessage,
    shorten,
    text_of,
)
from bot.imports.json_items import JsonItem
from bot.models.candidate import ModelCandidate
from bot.models.factory import open_model
from bot.models.known_providers import KNOWN_PROVIDERS, KnownProvider
from bot.models.protocol import Answer, ModelRequest, ToolResult, UserMessage
from bot.services import Services
from bot.tools.toolbox import Tool, tool
from memory.embeddings.factory import open_embedding
from memory.embeddings.http import HttpProvider
from memory.embeddings.options import ProviderOptions
from memory.embeddings.protocol import digest_version
from memory.embeddings.provider_table import PROVIDERS, ProviderDefinition
from memory.embeddings.voyage import VoyageEmbeddingDialect
from memory.memory import Memory
from memory.ranking import word_scores
from memory.settings import EmbeddingSettings, MemorySettings
from scripts import print_docs
from tests.fakes.commonplace import CommonplaceHere
from tests.fakes.conversation_harness import open_conversation_harness
from tests.fakes.embedding_server import KEY as EMBEDDING_KEY
from tests.fakes.embedding_server import EmbeddingServer
from tests.fakes.harness import Harness, open_harness
from tests.fakes.model_server import KEY, ModelAnswer
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.scripted_model import ScriptedModel, alone
from tests.fakes.turns import NOW

ROOT = Path(__file__).parent.parent
RECIPES = (ROOT / "docs/architecture.md").read_text("utf-8").partition("\n## I want to add")[2]
WALKED = {
    "A slash command": "test_a_slash_command_is_a_function_and_a_row",
    "A channel": "test_a_third_channel_is_opened_and_answers",
    "A model provider": "test_a_model_provider_is_a_row",
    "An embedding provider": "test_an_embedding_provider_is_a_function_a_row_and_a_name",
    "A model tool": "test_a_model_tool_is_a_function_with_a_docstring",
    "An import format": "test_an_import_format_is_a_class_and_a_row",
    "Change how hits are ranked": "test_a_change_of_the_ranking_counts_with_an_index_and_without",
    "Change what a flush writes": "test_a_change_of_the_flush_reaches_the_model_and_the_log",
}
"""By recipe: the test that follows it. That of the channel is in tests/bot/service/test_channel_registry.py."""


def recipes() -> dict[str, str]:
    """Return the recipes by title, with their tables."""
    parts = re.split(r"^### (.+)\n", RECIPES, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def files_of(recipe: str) -> list[str]:
    """Return the paths that the first column of a recipe's tables names."""
    rows = re.findall(r"^\| ([^|]+) \|", recipe, flags=re.MULTILINE)
    return [path for row in rows for path in re.findall(r"`([^`\s]+)`", row)]


# -- the page -----------------------------------------------------------------------------------------------


def test_every_recipe_is_walked_by_a_test() -> None:
    assert recipes().keys() - {"Something else"} == WALKED.keys()
    tests = "\n".join(
        (ROOT / path).read_text("utf-8")
        for path in ("tests/test_recipes.py", "tests/bot/service/test_channel_registry.py")
    )
    assert [name for name in WALKED.values() if f"def {name}(" not in tests] == []


@pytest.mark.parametrize("title", [*WALKED, "Something else"])
def test_every_file_that_a_recipe_names_exists(title: str) -> None:
    text = recipes()[title]
    named = {path for path in re.findall(r"`([^`\s]+)`", text) if "/" in path and not path.startswith("/")}
    assert named >= {path for path in files_of(text) if path.endswith((".py", ".txt"))}
    new = {path for path in named if "NAME" in path}
    assert [path for path in sorted(named - new) if not (ROOT / path).exists()] == []
    # The folder of a new file exists, but for that of a new channel, which stands beside the others.
    folders = {path: path.partition("NAME")[0] for path in new}
    assert [path for path, folder in folders.items() if not (ROOT / folder).is_dir()] == []


@pytest.mark.parametrize(
    ("title", "example", "folders"),
    [
        ("A slash command", "correct_line", ("bot/commands/registry.py", "bot/commands/notes.py")),
        ("An embedding provider", "voyage", ("bot", "memory")),
        ("A model tool", "document_tools", ("bot", "memory")),
        ("A model provider", '"xai"', ("bot", "memory")),
        ("A channel", "DiscordSettings", ("bot",)),
        ("An import format", '"claude"', ("bot/imports", "bot/cli")),
    ],
)
def test_a_recipe_names_every_file_that_knows_of_an_example(
    title: str, example: str, folders: tuple[str, ...]
) -> None:
    """What is there already was added in the same places."""
    known = files_of(recipes()[title])
    own = {re.escape(path).replace("NAME", r"\w+") for path in known}
    missing = []
    for file in sorted(
        each for folder in folders for each in (*(ROOT / folder).rglob("*.py"), ROOT / folder)
    ):
        path = str(file.relative_to(ROOT))
        if not file.is_file() or not re.search(rf"(?<!\w){example}(?!\w)", file.read_text("utf-8")):
            continue
        if not any(re.fullmatch(pattern, path) for pattern in own):
            missing.append(path)
    assert missing == []


# -- an import format ---------------------------------------------------------------------------------------


class ParrotFormat:
    """What somebody would write."""

    name = "parrot"
    shown = "Parrot"
    large = "lines"
    part_fields = frozenset({"squawk"})

    def keep_part(self, key: str, part: Any) -> tuple[Any, int] | None:
        said = text_of(part.get("squawk")) if isinstance(part, dict) else ""
        return (ImportedMessage(key, "assistant", shorten(said), None), len(said)) if said else None

    def read(self, item: JsonItem) -> ImportedConversation:
        messages = list(item.parts.get(self.large, {}).values())
        return ImportedConversation(text_of(item.fields.get("id")), "", None, messages)


def test_an_import_format_is_a_class_and_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formats: tuple[ConversationFormat, ...] = (*imports.CONVERSATION_FORMATS, ParrotFormat())
    monkeypatch.setattr(imports, "CONVERSATION_FORMATS", formats)
    export = tmp_path / "export.json"
    export.write_text('[{"id": "p1", "lines": [{"squawk": "Pieces of eight!"}]}]', "utf-8")
    commonplace = CommonplaceHere(tmp_path)
    assert "Parrot: 1 conversation with 1 message" in commonplace.output_of("import", str(export))
    assert "**Parrot**" in commonplace.output_of("export")


def test_the_choices_of_the_command_are_the_formats() -> None:
    assert build_parser().parse_args(["import", ".", "--from", "auto"]).format == "auto"
    for name in imports.FORMATS:
        assert build_parser().parse_args(["import", ".", "--from", name]).format == name


# -- a slash command ----------------------------------------------------------------------------------------


async def count_words(call: CommandCall, services: Services) -> str:
    """Count the words of a text, and the notes."""
    notes = (await services.memory.status()).files
    return f"{len(call.options['text'].split())} words, {notes} notes"


COUNT = Command("count", "counts words", count_words, (Option("text", "What to count."),), owner_only=True)


@pytest.fixture
async def with_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Harness]:
    for module in ("bot.service.assembly", "bot.commands.registry"):
        monkeypatch.setattr(f"{module}.COMMANDS", (*COMMANDS, COUNT))
    async with open_harness(tmp_path) as harness:
        yield harness


async def test_a_slash_command_is_a_function_and_a_row(
    with_command: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await with_command.say("/count one two three") == "3 words, 0 notes"
    assert "/count TEXT" in await with_command.say("/help count")
    assert "/count TEXT" in await with_command.say("/count")
    guest = await with_command.say("/count one", chat="telegram:3", sender="telegram:3")
    assert "words" not in guest
    assert COUNT.needs is Standing.OWNER
    monkeypatch.setattr(print_docs, "COMMANDS", (*COMMANDS, COUNT))
    assert "`/count TEXT`" in print_docs.commands_page()


# -- a model provider ---------------------------------------------------------------------------------------


async def test_a_model_provider_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with OpenAIServer() as server:
        row = KnownProvider("openai", server.base_url)
        monkeypatch.setitem(cast("dict[str, KnownProvider]", KNOWN_PROVIDERS), "parrot", row)
        Path("config.toml").write_text(f'[models]\nchain = ["parrot/{MODEL}"]\n')
        server.enqueue(ModelAnswer("Polly wants a note."))
        async with open_model(load_settings(), None, {"PARROT_API_KEY": KEY}) as model:
            (candidate,) = model.plan.chain
            assert isinstance(candidate, ModelCandidate)
            request = ModelRequest("", (UserMessage("Hello"),))
            async with aclosing(model.stream(request)) as events:
                answers = [event async for event in events if isinstance(event, Answer)]
        assert [answer.message.text for answer in answers] == ["Polly wants a note."]
        assert len(server.requests) == 1


# -- an embedding provider ----------------------------------------------------------------------------------


class SettingsWithParrot(EmbeddingSettings):
    """The settings with one name more."""

    provider: Literal["auto", "parrot"] = "auto"  # type: ignore[assignment]


def open_parrot(options: ProviderOptions) -> HttpProvider:
    """Open a provider that speaks Voyage's language."""
    dialect = VoyageEmbeddingDialect(
        "parrot", options.base_url, options.model, options.api_key, options.dimensions, options.fixes
    )
    version = digest_version(options.base_url)
    return HttpProvider(dialect, dimensions=1024, key=options.api_key, version=version, needs_key=True)


async def test_an_embedding_provider_is_a_function_a_row_and_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async with EmbeddingServer() as server:
        row = ProviderDefinition(
            open_parrot,
            model="voyage-4",
            dimensions=1024,
            base_url=server.base_url("voyage"),
            key_variables=("PARROT_API_KEY",),
        )
        monkeypatch.setitem(cast("dict[str, ProviderDefinition]", PROVIDERS), "parrot", row)
        settings = SettingsWithParrot(provider="parrot")
        environment = {"PARROT_API_KEY": EMBEDDING_KEY}
        embedding = open_embedding(settings, sections={}, environment=environment)
        assert (embedding.choice.provider, embedding.error) == ("parrot", "")
        assert embedding.embedder
        try:
            texts = ["The boiler was serviced.", "Polly likes nuts."]
            vectors = await embedding.embedder.embed_sample(texts, by="primary")
        finally:
            await embedding.embedder.close()
        (asked,) = server.requests
        assert asked.texts == tuple(texts)
        assert [len(vector) for vector in vectors] == [1024 * 4] * 2


# -- a model tool -------------------------------------------------------------------------------------------


def coin_tools() -> tuple[Tool, ...]:
    """Return the tool that tosses a coin."""

    @tool
    async def toss_coin(times: int = 1) -> dict[str, Any]:
        """Toss a coin, when the person asks for that."""
        return {"sides": ["heads"] * times}

    return (toss_coin,)


async def test_a_model_tool_is_a_function_with_a_docstring(tmp_path: Path) -> None:
    async with open_harness(tmp_path, tools=coin_tools()) as harness:
        harness.model.enqueue(calls=[("toss_coin", {"times": 2})])
        harness.model.enqueue("Heads, twice.")
        assert await harness.say("Toss a coin twice.") == "Heads, twice."
        first, second = harness.model.history
        (told,) = (spec for spec in first.tools if spec.name == "toss_coin")
        assert told.description == "Toss a coin, when the person asks for that."
        assert told.parameters["properties"]["times"]["type"] == "integer"
        (result,) = (message for message in second.messages if isinstance(message, ToolResult))
        assert (result.content, result.failed) == ('{"sides": ["heads", "heads"]}', False)


# -- ranking ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_index", [True, False])
async def test_a_change_of_the_ranking_counts_with_an_index_and_without(
    has_index: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "memory"
    notes.mkdir()
    (notes / "label.md").write_text("- Anna: the boiler was serviced by Mr Lang in the cellar\n")
    (notes / "words.md").write_text("- Anna serviced the boiler\n")
    if not has_index:
        (tmp_path / ".commonplace" / "index.db").mkdir(parents=True)

    async def found() -> list[str]:
        async with Memory(MemorySettings(), workspace=tmp_path, now=lambda: NOW) as memory:
            results = await memory.search("what did Anna say of the boiler?")
            assert {hit.source for hit in results.hits} == {"fts" if has_index else "scan"}
            return [hit.path for hit in results.hits]

    assert await found() == ["label.md", "words.md"]
    monkeypatch.setattr(word_scores, "LABEL_FACTOR", 0.1)
    assert await found() == ["words.md", "label.md"]


# -- the flush ----------------------------------------------------------------------------------------------


async def test_a_change_of_the_flush_reaches_the_model_and_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "INSTRUCTION", "List what Polly would repeat.\n\n{core}")
    monkeypatch.setattr(flush, "heading", lambda now, name: f"{heading(now, name)}, by the parrot")
    monkeypatch.setattr(log_section, "CORE_FACTS", 0)
    model = ScriptedModel()
    model.enqueue("- Nuts are in the cellar.\n# MEMORY.md\n- Polly likes nuts.")
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        await talk.take_turn("Nuts are in the cellar.")
        flushed = await talk.compactor.flush(talk.conversation)
        assert flushed.result == "noted"
        section = "## 12:00 Anna, by the parrot\n\n- Nuts are in the cellar.\n- Polly likes nuts.\n"
        assert talk.note() == f"# 2026-11-21\n\n{section}"
    (request,) = model.history
    (*_, last) = (message.text for message in request.messages if isinstance(message, UserMessage))
    assert last.startswith("List what Polly would repeat.")
