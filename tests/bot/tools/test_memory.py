import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.models.protocol import ToolCall
from bot.note_writes import OnceWriter
from bot.state.database import State
from bot.tools.memory import GET_CHARS, memory_tools
from bot.tools.toolbox import RESULT_CHARS, Toolbox
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.turns import SOMEWHERE

PASSPORT = "Anna's passport is in the blue folder on the second shelf"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory(
        MemorySettings(), workspace=tmp_path, now=lambda: datetime(2026, 11, 21, 9, tzinfo=UTC)
    ) as opened:
        yield opened


@pytest.fixture
async def toolbox(memory: Memory, tmp_path: Path) -> AsyncIterator[Toolbox]:
    async with State(copy_fresh_state(tmp_path / ".commonplace" / "state.db")) as state:
        yield Toolbox(memory_tools(memory, OnceWriter(memory, state)))


async def run(toolbox: Toolbox, name: str, **arguments: Any) -> dict[str, Any]:
    result = await toolbox.run(ToolCall("abcdefgh1", name, json.dumps(arguments)), SOMEWHERE)
    told: dict[str, Any] = json.loads(result.content)
    assert result.failed == ("error" in told)
    return told


def test_the_tools_are_those_of_the_contract(toolbox: Toolbox) -> None:
    told = {spec.name: spec.parameters for spec in toolbox.specs}
    assert {name: (list(each["properties"]), each["required"]) for name, each in told.items()} == {
        "memory_search": (["query", "limit", "source"], ["query"]),
        "memory_get": (["path", "line", "limit"], ["path"]),
        "memory_write": (["content", "target"], ["content", "target"]),
        "memory_edit": (["path", "old", "new"], ["path", "old", "new"]),
    }
    assert told["memory_write"]["properties"]["target"]["enum"] == ["core", "daily"]
    assert told["memory_search"]["properties"]["source"]["enum"] == ["notes", "conversations", "all"]
    text = json.dumps([(spec.name, spec.description, spec.parameters) for spec in toolbox.specs])
    assert "$ref" not in text
    assert "anyOf" not in text
    assert len(text) < 3_600


async def test_what_was_written_is_found_with_the_place_where_it_stands(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    written = await run(toolbox, "memory_write", content=PASSPORT, target="daily")
    assert written["path"] == "2026-11-21.md"
    found = await run(toolbox, "memory_search", query="Where is Anna's passport?")
    (hit,) = found["results"]
    assert {"path", "line_start", "line_end", "snippet", "score", "source"} <= set(hit)
    assert (hit["path"], PASSPORT in hit["snippet"], 0 <= hit["score"] <= 1) == ("2026-11-21.md", True, True)
    assert hit["line_start"] <= written["line_start"] <= written["line_end"] <= hit["line_end"]
    lines = (tmp_path / "memory" / "2026-11-21.md").read_text().splitlines()
    assert lines[written["line_start"] - 1] == f"- {PASSPORT}"
    assert "notice" not in found


async def test_a_search_that_finds_nothing_gives_an_empty_list(toolbox: Toolbox) -> None:
    assert await run(toolbox, "memory_search", query="submarine") == {"results": []}
    assert await run(toolbox, "memory_search", query="  ") == {"results": []}


@pytest.mark.parametrize("source", ["fts", "scan"])
async def test_what_is_told_anew_names_the_later_line(toolbox: Toolbox, tmp_path: Path, source: str) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2024-03-05.md").write_text("- My phone number is 555 1\n", "utf-8")
    (tmp_path / "memory/2026-01-02.md").write_text("- My phone number is 555 2\n", "utf-8")
    if source == "scan":
        (tmp_path / ".commonplace/index.db").mkdir(parents=True)
    new, old = (await run(toolbox, "memory_search", query="phone number"))["results"]
    assert (old["path"], old["source"], old["told"]) == ("2024-03-05.md", source, "2024-03-05")
    assert old["superseded_by"] == "2026-01-02.md:1"
    assert "superseded_by" not in new


async def test_a_degraded_search_says_why(toolbox: Toolbox, tmp_path: Path) -> None:
    await run(toolbox, "memory_write", content=PASSPORT, target="core")
    for path in (tmp_path / ".commonplace").glob("index.db*"):
        path.unlink()
    (tmp_path / ".commonplace" / "index.db").mkdir()
    found = await run(toolbox, "memory_search", query="passport")
    assert found["results"][0]["source"] == "scan"
    assert found["notice"]


async def test_core_facts_go_to_the_core_note(toolbox: Toolbox) -> None:
    written = await run(toolbox, "memory_write", content="Anna is my sister", target="core")
    assert written["path"] == "MEMORY.md"
    note = await run(toolbox, "memory_get", path="MEMORY.md", line=written["line_start"], limit=1)
    assert note["text"].strip() == "- Anna is my sister"
    assert (note["path"], note["line_start"], note["line_end"]) == (
        "MEMORY.md",
        written["line_start"],
        written["line_end"],
    )


async def test_a_correction_replaces_the_one_passage(toolbox: Toolbox) -> None:
    written = await run(toolbox, "memory_write", content=PASSPORT, target="daily")
    edited = await run(toolbox, "memory_edit", path=written["path"], old="blue folder", new="red box")
    assert edited["path"] == written["path"]
    note = await run(toolbox, "memory_get", path=written["path"])
    assert "red box on the second shelf" in note["text"]
    assert "note" not in note


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memory_get", {"path": "../secret.md"}),
        ("memory_get", {"path": "nowhere.md"}),
        ("memory_get", {"path": "half \ud83d.md"}),
        ("memory_get", {"path": "2026-11-21.md", "line": 0}),
        ("memory_edit", {"path": "2026-11-21.md", "old": "never written", "new": "x"}),
        ("memory_edit", {"path": "nowhere.md", "old": "a", "new": "b"}),
        ("memory_write", {"content": "  ", "target": "daily"}),
        ("memory_write", {"content": "x", "target": "weekly"}),
        ("memory_search", {"query": "x", "limit": 0}),
        ("memory_search", {}),
    ],
)
async def test_what_cannot_be_done_is_told(toolbox: Toolbox, name: str, arguments: dict[str, Any]) -> None:
    await run(toolbox, "memory_write", content=PASSPORT, target="daily")
    told = await run(toolbox, name, **arguments)
    assert told["error"]
    assert "broke" not in told["error"]


async def test_a_long_note_can_be_read_to_its_end_piece_by_piece(toolbox: Toolbox, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir(exist_ok=True)
    text = "".join(f'line {n}: {"x" * (n % 120)} "quoted"\n' for n in range(1, 1_201))
    (tmp_path / "memory" / "long.md").write_text(text)
    line, pieces = 1, []
    while True:
        note = await run(toolbox, "memory_get", path="long.md", line=line)
        assert note["line_start"] == line
        assert len(json.dumps(note)) <= RESULT_CHARS
        pieces.append(note["text"].removesuffix("\n"))
        assert pieces[-1].count("\n") + 1 == note["line_end"] - note["line_start"] + 1
        if "note" not in note:
            break
        line = note["line_end"] + 1
        assert f"line={line}" in note["note"]
    assert "\n".join(pieces) + "\n" == text
    assert len(pieces) > 3
    assert note["line_end"] == note["total_lines"]


async def test_a_single_line_too_long_to_show_is_cut_and_the_next_line_can_be_asked_for(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir(exist_ok=True)
    (tmp_path / "memory" / "wide.md").write_text("y" * (2 * GET_CHARS) + "\nnext\n")
    note = await run(toolbox, "memory_get", path="wide.md")
    assert note["text"] == "y" * GET_CHARS
    assert (note["line_end"], "line=2" in note["note"]) == (1, True)
    assert (await run(toolbox, "memory_get", path="wide.md", line=2))["text"].strip() == "next"


async def test_a_call_that_is_run_again_writes_once(toolbox: Toolbox, tmp_path: Path) -> None:
    first = await run(toolbox, "memory_write", content=PASSPORT, target="daily")
    assert await run(toolbox, "memory_write", content=PASSPORT, target="daily") == first
    edited = await run(toolbox, "memory_edit", path=first["path"], old="second", new="second or third")
    assert (
        await run(toolbox, "memory_edit", path=first["path"], old="second", new="second or third") == edited
    )
    text = (tmp_path / "memory" / first["path"]).read_text()
    assert text == f"# 2026-11-21\n\n- {PASSPORT.replace('second', 'second or third')}\n"


async def test_two_calls_to_which_a_model_gave_one_id_are_both_carried_out(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    await run(toolbox, "memory_write", content="Anna likes tea", target="daily")
    await run(toolbox, "memory_write", content="Ben likes coffee", target="daily")
    text = (tmp_path / "memory" / "2026-11-21.md").read_text()
    assert text.endswith("- Anna likes tea\n- Ben likes coffee\n")


async def test_an_edit_or_a_note_of_a_megabyte_is_refused_and_says_how_much_fits(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    await run(toolbox, "memory_write", content=PASSPORT, target="daily")
    before = (tmp_path / "memory/2026-11-21.md").read_bytes()
    letters = "a" * 1_000_000
    for name, most, arguments in (
        ("memory_edit", "65,536", {"path": "2026-11-21.md", "old": letters, "new": "b"}),
        ("memory_edit", "65,536", {"path": "2026-11-21.md", "old": PASSPORT, "new": letters}),
        ("memory_write", "200,000", {"content": letters, "target": "daily"}),
    ):
        told = await run(toolbox, name, **arguments)
        assert "1,000,000 characters" in told["error"]
        assert f"at most {most}" in told["error"]
    assert (tmp_path / "memory/2026-11-21.md").read_bytes() == before


@pytest.mark.thorough
async def test_the_longest_passages_of_one_letter_are_edited_at_once(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    most = 65_536
    note = tmp_path / "memory/letters.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("a" * 1_000_000 + "\n")
    began = time.process_time()
    told = await run(toolbox, "memory_edit", path="letters.md", old="a" * most, new="b")
    assert "more than once" in told["error"]
    note.write_text("a" * most + "\n" + "b\n" * 500_000)
    await run(toolbox, "memory_edit", path="letters.md", old="a" * most, new="b\n" * (most // 2))
    assert time.process_time() - began < 2
    assert note.read_text() == "b\n" * (most // 2) + "\n" + "b\n" * 500_000


async def test_notes_that_links_tie_to_the_results_are_named(toolbox: Toolbox, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/a.md").write_text("# A\n\nThe boiler was made by [[lang]].\n")
    (tmp_path / "memory/lang.md").write_text("A company in Bonn.\n")
    (tmp_path / "memory/list.md").write_text("- [[a]]\n")
    found = await run(toolbox, "memory_search", query="boiler")
    assert [hit["path"] for hit in found["results"]] == ["a.md"]
    assert found["neighbours"] == [
        {"path": "lang.md", "linked_from": "a.md:3"},
        {"path": "list.md", "links_to": "a.md"},
    ]
    assert "neighbours" not in await run(toolbox, "memory_search", query="nothing of this")
