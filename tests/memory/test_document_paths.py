from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.document_paths import document_path, parse_title, untitled_path
from memory.forgetting import WordsToForget
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.table_test import table_test
from tests.fakes.turns import NOW


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory(MemorySettings(), workspace=tmp_path, now=lambda: NOW) as memory:
        yield memory


@table_test(
    ("path", "title"),
    [
        ("documents/2026-11-21-oslo-trip.md", "oslo-trip"),
        ("documents/2026-11-21-合同.md", "合同"),
        ("documents/2026-11-21-document.md", ""),
        ("documents/2026-11-21-document-12.md", ""),
        ("documents/oslo.md", ""),
        ("trips/2026-11-21-oslo.md", ""),
        ("documents/more/2026-11-21-oslo.md", ""),
        ("2026-11-21.md", ""),
    ],
)
def test_only_filed_documents_have_a_title_in_their_path(path: str, title: str) -> None:
    assert parse_title(path) == title


def test_a_document_without_a_title_keeps_its_day() -> None:
    path = document_path("2026-11-21-oslo")
    assert untitled_path(path, 1) == "documents/2026-11-21-document.md"
    assert untitled_path(path, 3) == "documents/2026-11-21-document-3.md"


async def test_documents_with_forgotten_words_in_their_name_are_renamed(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "memory"
    names = ("documents/2026-11-21-oslo.md", "documents/2026-11-21-trip-to-oslo.md", "trips/2026-oslo.md")
    for number, name in enumerate(("documents/2026-11-21-document.md", *names)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"fish {number}\n")
    wanted = WordsToForget("oslo")
    assert (await memory.find_lines(wanted, limit=5)).in_names == 2
    assert (await memory.forget_lines((), wanted)).in_names == 2
    assert (await memory.find_lines(wanted, limit=5)).in_names == 0
    assert {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")} == {
        "documents/2026-11-21-document.md": "fish 0\n",
        "documents/2026-11-21-document-2.md": "fish 1\n",
        "documents/2026-11-21-document-3.md": "fish 2\n",
        "trips/2026-oslo.md": "fish 3\n",
    }
    assert {hit.path for hit in (await memory.search("fish", limit=9)).hits} == {
        "documents/2026-11-21-document.md",
        "documents/2026-11-21-document-2.md",
        "documents/2026-11-21-document-3.md",
        "trips/2026-oslo.md",
    }
