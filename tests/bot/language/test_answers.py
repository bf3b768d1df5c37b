"""What is said to a German is German, whatever they ask for and whatever goes wrong."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bot.commands.memory import describe_folder, describe_search
from bot.commands.registry import COMMANDS
from bot.language.current import speaking
from bot.language.text import localize
from memory.embeddings.factory import open_embedding
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.harness import Harness, open_harness
from tests.fakes.turns import NOW

ENGLISH = re.compile(
    r"\b(the|is|are|was not|were|and|or|of|to|not|no|it|this|that|there|has|have|cannot|can't|be|been|with|from|for|"
    r"by|you|your|than|which|only|other|another|does|failed|missing|empty|too|long|read|write|written|again|try|since)\b"
)
"""Words that English cannot do without, and German does not have."""
QUOTED = re.compile(r"`[^`]*`|“[^”]*”|„[^“]*“|https?://\S+|^>.*$|\S*/\S*", re.MULTILINE)
"""What people typed or copy, commands and paths."""
FOREIGN = (
    "unable to open database file",
    "All connection attempts failed",
    'model "fehlt" not found, try pulling it first',
)
"""What other programs said, which is quoted in their words."""

LINES = (
    "/help",
    "/help remind",
    "/help nonsense",
    "/nonsense",
    "/start",
    "/new",
    "/stop",
    "/status",
    "/remember Der Kessel ist blau.",
    "/remember",
    "/remember core: Anna mag Tee.",
    "/remember core:",
    "/remember " + "x" * 300_000,
    "/recall Kessel",
    "/recall Quantenphysik",
    "/recall",
    "/changes",
    "/changes today",
    "/changes #1",
    "/changes #99",
    "/changes 2026-11-21.md",
    "/changes fehlt.md",
    "/changes ../weg.md",
    "/undo",
    "/undo",
    "/undo 1",
    "/undo 99",
    "/undo x",
    "/redo",
    "/redo",
    "/why 2026-11-21.md:3",
    "/why 2026-11-21.md:99",
    "/why fehlt.md:3",
    "/why nonsense",
    "/model",
    "/model auto",
    "/model scripted",
    "/model nonsense",
    "/language",
    "/language xx",
    "/compact",
    "/flush",
    "/usage",
    "/remind tomorrow 9:00 Tee",
    "/remind every monday 8:00 Tee",
    "/remind yesterday Tee",
    "/remind gibberish Tee",
    "/remind 25:00 Tee",
    "/remind tomorrow 9:00",
    "/reminders",
    "/reminders cancel 1",
    "/reminders cancel 99",
    "/reminders cancel",
    "/schedule every monday 8:00 Was steht an?",
    "/schedule tomorrow 9:00",
    "/memory",
    "/memory status",
    "/memory search Kessel",
    "/memory search",
    "/memory get 2026-11-21.md",
    "/memory get 2026-11-21.md:99",
    "/memory get fehlt.md",
    "/memory get 2026",
    "/memory get /etc/passwd",
    "/memory get ../weg.md",
    "/memory get .weg.md",
    "/memory get " + "x" * 2000,
    "/memory get",
    "/memory list",
    "/memory list fehlt",
    "/memory trash",
    "/memory trash restore 99",
    "/memory trash nonsense",
    "/memory health",
    "/memory rebuild",
    "/memory cache clear",
    "/memory cache",
    "/memory on",
    "/memory nonsense",
    "/correct 2026-11-21.md:3 Der Kessel ist rot.",
    "/correct 2026-11-21.md:3 Der Kessel ist rot.",
    "/correct 2026-11-21.md:2 Der Kessel ist rot.",
    "/correct 2026-11-21.md:99 Der Kessel ist rot.",
    "/correct fehlt.md:3 Der Kessel ist rot.",
    "/correct 2026-11-21.md:3-4 Der Kessel ist rot.",
    "/correct nonsense",
    "/memory trash",
    "/memory trash restore 1",
    "/models",
    "/models reset",
    "/allow telegram:7",
    "/allow nonsense",
    "/allow telegram:1",
    "/deny telegram:7",
    "/deny telegram:1",
    "/deny nonsense",
    "/link",
    "/link telegram:1 terminal:owner",
    "/link telegram:1",
    "/link telegram:1 telegram:1",
    "/link telegram:3 terminal:owner",
    "/link nonsense telegram:1",
    "/pair",
    "/pair ABCDEFGH",
    "/pair clear",
    "/forget Kessel",
    "/forget Quantenphysik",
    "/forget yes ABCDEF",
    "/forget no ABCDEF",
    "/forget yes",
    "/reindex",
    "/backup",
    "/config",
    "/config reload",
    "/retry",
)


def english_in(told: str) -> list[str]:
    for each in FOREIGN:
        told = told.replace(each, "")
    return ENGLISH.findall(QUOTED.sub("", told))


async def ask(house: Harness, lines: Iterable[str]) -> dict[str, str]:
    """Return the answers that still have English words in them, by what was said."""
    found = {}
    for line in lines:
        told = await house.say(line, language="de")

        if words := english_in(told):
            found[line[:80]] = f"{words} in {told}"
    return found


async def test_every_command_answers_in_german(tmp_path: Path) -> None:
    assert {line.split()[0] for line in LINES} >= {f"/{command.name}" for command in COMMANDS}
    async with open_harness(tmp_path) as house:
        assert await ask(house, LINES) == {}


async def test_what_goes_wrong_is_told_in_german(tmp_path: Path) -> None:
    notes = tmp_path / "memory"
    notes.mkdir()
    with (notes / "riesig.md").open("wb") as file:
        file.truncate(17 << 20)
    (notes / "leer.md").write_text("")
    (notes / "link.md").symlink_to("/etc/hostname")
    (notes / "doppelt.md").write_text("Der Kessel ist blau.\n\n[weg](fehlt.md)\n")
    (notes / "bild.md").write_bytes(bytes(range(256)) * 8)
    lines = (
        "/status",
        "/memory",
        "/memory health",
        "/memory get link.md",
        "/correct riesig.md:1 Neu",
        "/memory rebuild",
        "/reindex",
        "/recall Kessel",
        "/forget Kessel",
    )
    async with open_harness(tmp_path) as house:
        assert await ask(house, lines) == {}
        index = tmp_path / ".commonplace" / "index.db"
        index.unlink()
        index.mkdir()
        assert await ask(house, ("/status", "/memory", "/memory rebuild", "/reindex", "/recall Kessel")) == {}
        trash = tmp_path / ".commonplace" / "trash"
        trash.write_text("im Weg")
        assert await ask(house, ("/correct doppelt.md:1 Rot.", "/memory trash", "/undo")) == {}
        backups = tmp_path / ".commonplace" / "backups"
        backups.write_text("im Weg")
        assert await ask(house, ("/backup",)) == {}
        notes.rename(tmp_path / "weg")
        notes.write_text("im Weg")
        assert await ask(house, ("/status", "/memory", "/remember Tee", "/memory list", "/recall Tee")) == {}


async def test_why_there_is_no_search_by_meaning_is_told_in_german(tmp_path: Path) -> None:
    (tmp_path / "kein.gguf").write_bytes(b"kein Modell")
    async with EmbeddingServer() as server:
        openai = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": KEY}
        tables = (
            {"provider": "none"},
            {"provider": "auto"},
            {"provider": "llm"},
            {"provider": "auto", "local": {"model_path": str(tmp_path / "fehlt.gguf")}},
            {"provider": "local", "local": {"model_path": str(tmp_path / "kein.gguf")}},
            {"provider": "openai", "api_key": ""},
            {"provider": "openai", "api_key": "mit Leerzeichen"},
            {**openai, "api_key": "falsch"},
            {**openai, "base_url": "http://127.0.0.1:1/v1"},
            {**openai, "base_url": f"{openai['base_url']}/nirgends"},
            {**openai, "dimensions": 7},
            {**openai, "fallback": "voyage"},
            {"provider": "ollama", "base_url": server.base_url("ollama"), "model": "fehlt"},
        )
        told = {str(table): await describe_broken_search(table, tmp_path) for table in tables}
    assert {table: words for table, text in told.items() if (words := english_in(text))} == {}


async def describe_broken_search(table: Mapping[str, Any], folder: Path) -> str:
    """Return what a chat shows of a memory with these settings and a folder that is away."""
    away = {"path": str(folder / "weg"), "name": "weg"}
    settings = MemorySettings.model_validate({"embedding": table, "folders": [away]})
    embedding = open_embedding(settings.embedding, sections={}, environment={})
    async with Memory(settings, workspace=folder, now=lambda: NOW, embedding=embedding) as memory:
        notice = (await memory.search("Kessel")).notice
        status = await memory.status()
    with speaking("de"):
        return "\n".join(
            [describe_search(status, why=True), *map(describe_folder, status.folders), localize(notice)]
        )
