"""Whatever a note holds: it is indexed, found by its words at its lines, read as it is, and shown in a browser."""

import asyncio
import json
import tempfile
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.services import Services
from memory.errors import MemoryFault
from memory.memory import Memory
from tests.fakes.error_log import ErrorLog
from tests.fakes.http_service import HttpService, serve_http

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

quick = settings(
    max_examples=10, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
WORD = "zyxquail"
"""Stands in every note, at a place of its own; no language knows it."""
Result = TypeVar("Result")


class Notes:
    """A memory, and the pages that show it."""

    def __init__(self, runner: asyncio.Runner, served: HttpService, services: Services, folder: Path) -> None:
        self._runner = runner
        self._served = served
        self.memory: Memory = services.memory
        self.folder = folder / "memory"
        self.folder.mkdir(exist_ok=True)
        self._complaints = ErrorLog()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        with self._complaints:
            result = self._runner.run(work)
        self._complaints.assert_none()
        return result

    def shown(self, target: str) -> int:
        """The status of a page."""
        head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answer = self.run(self._served.say(head.encode(), ends=False))
        assert b"Traceback" not in answer
        return int(answer[9:12])

    def alone(self, content: bytes) -> None:
        """Have one note, called note.md; a search looks itself, but not at once again."""
        for each in self.folder.iterdir():
            each.unlink()
        (self.folder / "note.md").write_bytes(content)
        self.run(self.memory.sync())


@pytest.fixture(scope="module")
def notes() -> Iterator[Notes]:
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        stack = AsyncExitStack()
        served, parts = runner.run(stack.enter_async_context(serve_http(Path(folder))))
        yield Notes(runner, served, parts, Path(folder))
        runner.run(stack.aclose())


pieces = st.text(max_size=12) | st.sampled_from(
    [
        *(
            "# ",
            "#" * 7,
            "- ",
            "  - ",
            "1. ",
            "> ",
            "> > ",
            "```",
            "~~~~",
            "    ",
            "\t",
            "|a|b|\n|-|-|\n",
            "---",
            "***",
        ),
        *(
            "<!--",
            "-->",
            "<script>",
            "</div>",
            "<details>",
            "[x](javascript:a)",
            "![](//a)",
            "[[note]]",
            "[^1]: ",
            "[a]: b",
        ),
        *(
            "$$",
            "\\",
            "`",
            "**",
            "__",
            "~~",
            "&#0;",
            "&lt;",
            "\r\n",
            "\r",
            "\n",
            "\n\n",
            "\u2028",
            "\x0c",
            "\x85",
            "\ufeff",
        ),
        *(
            "日本語の文。",
            "ไทย",
            "हिन्दी",
            "שלום",
            "👨‍👩‍👧",
            "e\u0301",
            "\u200d",
            "\u202e",
            "x" * 2000,
            "- 14:05 ",
            "---\na: b\n---\n",
        ),
        *(
            "last week",
            "2024-02-30",
            "12:99",
            "{{ name }}",
            "{% raw %}",
            "%s",
            "a.md:3-9",
            "https://a.org/(b)_(c)?d=[e]",
        ),
    ]
)
texts = st.lists(pieces, max_size=12).map("".join)


def assert_found_read_and_shown(notes: Notes, before: str, after: str) -> None:
    content = f"{before} {WORD} {after}".replace("\0", "")
    notes.alone(content.encode())
    found = notes.run(notes.memory.search(WORD))
    assert ({hit.path for hit in found.hits}, found.notice) == ({"note.md"}, "")
    note = notes.run(notes.memory.get("note.md"))
    lines = note.text.split("\n")
    # What stands below a heading is found by the heading's words, too.
    assert any(WORD in "\n".join(lines[hit.line_start - 1 : hit.line_end]) for hit in found.hits)
    assert len(note.text.splitlines(keepends=True)) >= note.total_lines
    json.dumps([[hit.snippet for hit in found.hits], note.text], ensure_ascii=False).encode()
    assert notes.shown("/notes/note.md") == 200
    assert notes.shown(f"/search?q={WORD}") == 200


@quick
@given(texts, texts)
def test_a_word_is_found_whatever_stands_around_it(notes: Notes, before: str, after: str) -> None:
    assert_found_read_and_shown(notes, before, after)


@pytest.mark.thorough
@settings(quick, max_examples=200)
@given(texts, texts)
def test_a_word_is_found_whatever_of_many_things_stands_around_it(
    notes: Notes, before: str, after: str
) -> None:
    assert_found_read_and_shown(notes, before, after)


@quick
@given(texts)
def test_whatever_is_written_is_read_again(notes: Notes, text: str) -> None:
    notes.alone(b"")
    try:
        written = notes.run(notes.memory.write(f"{text} {WORD}", target="core"))
    except MemoryFault as fault:
        pytest.fail(str(fault))
    limit = written.line_end - written.line_start + 1
    note = notes.run(notes.memory.get("MEMORY.md", line=written.line_start, limit=limit))
    assert WORD in note.text
    assert notes.run(notes.memory.search(WORD)).hits[0].path == "MEMORY.md"
    assert notes.shown("/notes/MEMORY.md") == 200


@quick
@given(st.binary(max_size=200) | texts.map(lambda text: text.encode("utf-16")))
def test_files_that_are_no_text_harm_no_other(notes: Notes, content: bytes) -> None:
    notes.alone(content)
    (notes.folder / "other.md").write_text(f"{WORD}\n", "utf-8")
    notes.run(notes.memory.sync())
    assert [hit.path for hit in notes.run(notes.memory.search(WORD)).hits][:1] == ["other.md"]
    assert notes.shown("/notes/note.md") in (200, 404, 503)
    assert notes.shown("/notes/") == 200
    assert notes.shown("/") == 200


@quick
@given(texts)
def test_every_question_is_answered(notes: Notes, question: str) -> None:
    notes.alone(f"# Note\n\n- last week {WORD}\n".encode())
    hits = notes.run(notes.memory.search(f"{question} {WORD}")).hits
    assert {hit.path for hit in hits} == {"note.md"}


def assert_in_time(notes: Notes, content: str) -> None:
    async def all_of_it() -> None:
        async with asyncio.timeout(20):
            assert (await notes.memory.search(WORD)).hits

    notes.alone(f"{content}\n\n{WORD}\n".encode())
    notes.run(all_of_it())


@pytest.mark.thorough
@pytest.mark.parametrize(
    "unit",
    [
        *(
            "> ",
            "- ",
            "[",
            "](",
            "*",
            "_",
            "`",
            "~",
            "|",
            "#",
            "<",
            "<!--",
            "&",
            "\\",
            "$",
            "!",
            "(",
            '"',
            "'",
            ":",
        ),
        *(
            "  - ",
            "1. ",
            "* *",
            "_a",
            "**a*",
            "`a",
            "[a](",
            "![",
            "a_",
            "<a ",
            "|a",
            "\t",
            " ",
            "\u200d",
            "e\u0301\u0301",
            "日",
        ),
        *(
            "- [ ] ",
            "\n> ",
            "\n- ",
            "\n\t",
            "\n#",
            "\n|",
            "\n```\n",
            "\n---\n",
            "\n\n\n",
            "\r",
            "last week ",
            "1:",
            "12-",
        ),
    ],
)
def test_the_same_again_and_again_takes_no_endless_time(notes: Notes, unit: str) -> None:
    assert_in_time(notes, unit * (100_000 // len(unit)))
    assert notes.shown("/notes/note.md") == 200
