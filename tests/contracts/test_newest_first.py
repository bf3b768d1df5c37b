"""Of statements that answer about equally well the newest comes first: in every index, and without one."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.embeddings.factory import open_embedding
from memory.memory import Memory
from memory.postgres.server import Server
from memory.search import SearchHit
from memory.settings import EmbeddingSettings, MemorySettings, WatchSettings
from tests.fakes.embedding_server import KEY, EmbeddingServer

NOW = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)
LONG_AGO = NOW - timedelta(5000)


class Search:
    """Writes notes, old ones unless their age in days is told, and searches them; twice, with a rebuild between."""

    def __init__(self, memory: Memory, folder: Path, *, scans: bool, by_vectors: bool) -> None:
        self._memory, self._folder, self._scans = memory, folder, scans
        self.by_vectors = by_vectors

    async def __call__(
        self, notes: Mapping[str, str], query: str, *, ages: Mapping[str, float] | None = None, limit: int = 5
    ) -> tuple[SearchHit, ...]:
        for path, text in notes.items():
            file = self._folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            modified = (NOW - timedelta(ages[path]) if ages else LONG_AGO).timestamp()
            os.utime(file, (modified, modified))
        if not self._scans:
            await self._memory.sync()
            await self._memory.fill_vectors()
        found = (await self._memory.search(query, limit=limit)).hits
        assert all((hit.source == "scan") == self._scans for hit in found)
        if not self._scans:
            await self._memory.sync(rebuild=True)
            assert (await self._memory.search(query, limit=limit)).hits == found
        return found


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.thorough),
        "scan",
        "one search by vectors",
        "service by vectors",
    ]
)
async def search(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Search]:
    by_vectors, scans = "vectors" in request.param, request.param == "scan"
    (tmp_path / "memory").mkdir()
    embedding: dict[str, object] = {"provider": "none"}
    async with AsyncExitStack() as stack:
        if by_vectors:
            embeddings = await stack.enter_async_context(EmbeddingServer())
            url = embeddings.base_url("openai")
            embedding = {"provider": "openai", "dimensions": 64, "api_key": KEY, "base_url": url}
        settings = MemorySettings(
            embedding=EmbeddingSettings.model_validate(embedding), watch=WatchSettings(enabled=False)
        )
        server = None
        if request.param == "postgres":
            server = Server(request.getfixturevalue("database"))
            stack.callback(server.close)
        if scans:
            (tmp_path / ".commonplace").write_text("a file in the way")
        memory = await stack.enter_async_context(
            Memory(
                settings,
                workspace=tmp_path,
                now=lambda: NOW,
                embedding=open_embedding(settings.embedding, sections={}, environment={}),
                lasting="service" in request.param,
                server=server,
            )
        )
        yield Search(memory, tmp_path / "memory", scans=scans, by_vectors=by_vectors)


def logs(*days: str, text: str = "- My phone number is {}\n") -> dict[str, str]:
    return {f"{day}.md": text.format(number) for number, day in enumerate(days, 1)}


DAYS = ["2023-01-05", "2023-09-01", "2024-02-11", "2024-12-24", "2025-05-05", "2025-11-30", "2026-03-02"]


async def test_of_seven_logs_that_say_the_same_the_five_newest_are_found(search: Search) -> None:
    # These vectors know nothing of meaning: another number makes another one.
    text = "- My phone number is known\n" if search.by_vectors else "- My phone number is {}\n"
    found = await search(logs(*DAYS, text=text), "What is my phone number?")
    assert [hit.path for hit in found] == [f"{day}.md" for day in reversed(DAYS[2:])]
    assert [str(hit.told) for hit in found] == DAYS[:1:-1]


async def test_of_more_than_are_proposed_the_newest_are(search: Search) -> None:
    days = [f"2025-{month:02}-{day:02}" for month in range(1, 9) for day in range(1, 9)]
    found = await search(logs(*days, text="- My phone number is known\n"), "phone number", limit=3)
    assert [hit.path for hit in found] == ["2025-08-08.md", "2025-08-07.md", "2025-08-06.md"]


async def test_undated_notes_do_not_age_and_among_them_the_last_modified_comes_first(search: Search) -> None:
    ages = {
        "old.md": 900.0,
        "new.md": 800.0,
        "MEMORY.md": 4000.0,
        "2026-11-23.md": 0.0,
        "2026-11-20.md": 0.0,
    }
    found = await search(dict.fromkeys(ages, "- the boiler code\n"), "boiler code", ages=ages)
    assert [hit.path for hit in found] == ["2026-11-23.md", "new.md", "old.md", "MEMORY.md", "2026-11-20.md"]
    assert [hit.told is None for hit in found] == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("a.md", "- 2024-01-01: the boiler code\n"), ("b.md", "- 2026-01-01: the boiler code\n")),
        (("a.md", "## 2024-01-01\n\n- the boiler code\n"), ("b.md", "## 2026-01-01\n\n- the boiler code\n")),
        (("a.md", "- **3.4.2024** the boiler code\n"), ("b.md", "- **3.4.2026** the boiler code\n")),
        (("a 20240101.md", "- the boiler code\n"), ("b 20260101.md", "- the boiler code\n")),
        (("2024/01/01.md", "- the boiler code\n"), ("2026/01/01.md", "- the boiler code\n")),
        (
            ("a.md", "---\ndate: 2024-01-01\n---\n\n- the boiler code\n"),
            ("b.md", "---\ndate: 2026-01-01\n---\n\n- the boiler code\n"),
        ),
    ],
)
async def test_a_day_in_a_note_or_in_its_name_counts(
    search: Search, older: tuple[str, str], newer: tuple[str, str]
) -> None:
    found = await search(dict([older, newer]), "boiler code")
    hits = [hit for hit in found if "boiler" in hit.snippet]
    assert [hit.path for hit in hits] == [newer[0], older[0]]
    assert [hit.told and hit.told.year for hit in hits] == [2026, 2024]


async def test_a_day_to_come_counts_as_today_and_one_that_is_not_in_the_calendar_is_none(
    search: Search,
) -> None:
    notes = dict.fromkeys(
        ["2031-01-01.md", "2026-11-23.md", "2025-02-30.md", "2026-11-22.md"], "- the code\n"
    )
    found = await search(notes, "code")
    assert [hit.path for hit in found] == [
        "2026-11-23.md",
        "2031-01-01.md",
        "2025-02-30.md",
        "2026-11-22.md",
    ]


async def test_no_age_hides_an_exact_hit(search: Search) -> None:
    newer = logs(*DAYS[1:], text="- My phone number is not known\n")
    found = await search({"2019-01-05.md": "- My phone number is 5551234\n", **newer}, "phone number 5551234")
    assert found[0].path == "2019-01-05.md"


async def test_the_best_hit_is_found_however_many_newer_ones_are_near_it(search: Search) -> None:
    newer = logs(*DAYS[1:], text="- Checked the boiler as every week, and the code was the same\n")
    found = await search({"2019-01-05.md": "- The boiler code\n", **newer}, "boiler code", limit=3)
    assert "2019-01-05.md" in [hit.path for hit in found[:2]]


async def test_a_question_about_a_time_is_answered_as_of_then(search: Search) -> None:
    found = await search(
        logs(*DAYS, text="- My phone number is known\n"), "What was my phone number in May 2024?"
    )
    assert found[0].path == "2024-02-11.md"
