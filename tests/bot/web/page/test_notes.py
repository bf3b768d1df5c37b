import os
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.web.page.notes import ENTRIES_PER_PAGE, MAX_PROBLEMS, view_note
from memory.listing import NoteStat
from tests.fakes import note_pages
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, timezone="Europe/Berlin") as site:
        (tmp_path / "memory/trips").mkdir(parents=True)
        for name in ("MEMORY.md", "2026-11-20.md", "2026-11-21.md", "ideas.md", "trips/oslo.md"):
            (tmp_path / "memory" / name).write_text(f"# {name}\n\nOne line\n", "utf-8")
            os.utime(tmp_path / "memory" / name, (1_800_000_000, 1_800_000_000))
        yield site


async def get(site: WebClient, path: str) -> tuple[int, str]:
    async with site.client.get(path, allow_redirects=False) as answer:
        return answer.status, await answer.text()


async def test_the_folder_lists_folders_the_core_note_and_the_latest_days_first(site: WebClient) -> None:
    status, text = await get(site, "/notes/")
    assert status == 200
    places = [
        text.index(f'href="/notes/{name}"')
        for name in ("trips/", "MEMORY.md", "2026-11-21.md", "2026-11-20.md", "ideas.md")
    ]
    assert places == sorted(places)
    assert "2027-01-15 09:00" in text, "on the owner's clock"
    assert "oslo.md" not in text


async def test_a_folder_of_it_is_a_page_of_its_own(site: WebClient) -> None:
    status, text = await get(site, "/notes/trips/")
    assert status == 200
    assert 'href="/notes/trips/oslo.md"' in text
    assert 'href="/notes/"' in text
    assert "MEMORY.md" not in text


async def test_a_note_is_laid_out_and_can_be_had_as_it_is_written(site: WebClient) -> None:
    status, text = await get(site, "/notes/trips/oslo.md")
    assert status == 200
    assert "<h1>oslo.md</h1>" in text, "a note need not have a heading"
    assert 'id="L3" data-line="3"></span>One line' in text
    async with site.client.get("/notes/trips/oslo.md?plain") as answer:
        assert await answer.text() == "# trips/oslo.md\n\nOne line\n"
        assert answer.content_type == "text/plain"


@pytest.mark.parametrize(
    "path",
    [
        "nothing.md",
        "nothing/",
        "trips",
        "../config.toml",
        "%2e%2e/config.toml",
        "..%2f..%2fetc/passwd.md",
        "/etc/passwd.md",
        ".commonplace/state.db",
        "a%00b.md",
        "%ff.md",
        "trips/oslo.md/",
    ],
)
async def test_nothing_else_is_served(site: WebClient, path: str) -> None:
    (site.folder / "config.toml").write_text("secret", "utf-8")
    async with site.client.get(f"/notes/{path}", allow_redirects=False) as answer:
        assert answer.status == 404, await answer.text()
        assert "secret" not in await answer.text()


async def test_a_link_that_leads_out_of_the_folder_is_not_followed(site: WebClient) -> None:
    (site.folder / "outside.md").write_text("secret", "utf-8")
    (site.folder / "memory/link.md").symlink_to("../outside.md")
    status, text = await get(site, "/notes/link.md")
    assert (status, "secret" in text) == (404, False)
    assert "link.md" in (await get(site, "/notes/"))[1], "it is named as a problem"


async def parts_of(site: WebClient, path: str) -> list[tuple[list[int], int]]:
    """The lines on each page of a note, and how many bytes the page has."""
    found, address = list[tuple[list[int], int]](), f"/notes/{path}"
    while address:
        status, text = await note_pages.get(site, address)
        assert status == 200
        lines = [int(each[1:]) for each in re.findall(r'id="(L[0-9]+)"', text)]
        found.append((lines, len(text.encode())))
        later = re.search(r'rel="next" href="([^"#]+)', text)
        address = later[1] if later else ""
    return found


LONG = {
    "lines": "line {n}\n",
    "empty": "\n",
    "links": "- [place {n}](https://example.org/{n}) and [[京都の寺 {n}]] **b** #tag/{n}\n",
    "japanese": "- 京都の寺に行く、{n} 回目。 [[京都の寺]] ![寺](寺.png)\n",
    "tasks": "- [ ] task {n} of *many* & <more>\n",
    "prose": "{n} words of one paragraph, " + "as they are written in a note, " * 40 + "\n\n",
    "table": "| {n} | b | c | d |\n",
    "code": "    x < {n} && y > 'z'\n",
}


@pytest.mark.parametrize("kind", LONG)
async def test_a_long_note_is_shown_in_parts_that_are_light(tmp_path: Path, kind: str) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        (tmp_path / "memory").mkdir()
        text = ("| a | b | c | d |\n|---|---|---|---|\n" if kind == "table" else "") + "".join(
            LONG[kind].format(n=n) for n in range(1800 if kind == "lines" else 400)
        )
        (tmp_path / "memory/long.md").write_text(text, "utf-8")
        parts = await parts_of(site, "long.md")
        assert [line for lines, _ in parts for line in lines] == [*range(1, text.count("\n") + 1)]
        assert max(size for _, size in parts) <= 60_000, parts
        if len(parts) > 1:
            assert min(size for _, size in parts[:-1]) > 20_000
            middle = parts[1][0][3]
            _, shown = await note_pages.get(site, f"/notes/long.md?line={middle}")
            assert f'id="L{middle}"' in shown
            assert 'rel="prev" href="/notes/long.md#L1"' in shown


async def test_a_page_beyond_the_end_says_so(site: WebClient) -> None:
    status, beyond = await get(site, "/notes/trips/oslo.md?line=9999")
    assert (status, "there is no line 9999" in beyond) == (404, True)


async def test_many_lines_that_link_to_a_note_weigh_little(site: WebClient) -> None:
    line = "- [[oslo]] " + "and a long line " * 30
    (site.folder / "memory/list.md").write_text("\n".join([line] * 90), "utf-8")
    _, text = await get(site, "/notes/trips/oslo.md")
    assert len(text.encode()) < 30_000
    assert "more lines" in text


async def test_hostile_names_stay_names(site: WebClient) -> None:
    name = "<img src=x onerror=alert(1)>&\"'.md"
    (site.folder / "memory" / name).write_text("x\n", "utf-8")
    _, text = await get(site, "/notes/")
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;&amp;&#34;&#39;.md" in text


async def test_nothing_hides_in_a_name(site: WebClient, tmp_path: Path) -> None:
    (tmp_path / "memory/old\u200b").mkdir()
    (tmp_path / "memory/old\u200b/bill\u202efdp.md").write_text("5 euros\n")
    address = "/notes/old%E2%80%8B/bill%E2%80%AEfdp.md"
    _, top = await get(site, "/notes/")
    assert "old⟨U+200B⟩</a>" in top
    _, folder = await get(site, "/notes/old%E2%80%8B/")
    assert f'href="{address}">bill⟨U+202E⟩fdp.md</a>' in folder
    status, note = await get(site, address)
    assert status == 200
    assert "bill⟨U+202E⟩fdp.md" in note
    assert not {"\u202e", "\u200b"} & {*top, *folder, *note}


async def test_a_very_long_line_is_shown_as_it_is_written(site: WebClient) -> None:
    (site.folder / "memory/dump.md").write_text("*x* " * 60_000, "utf-8")
    status, text = await get(site, "/notes/dump.md")
    assert status == 200
    assert "<em>" not in text


async def test_the_notes_are_behind_the_token(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        for path in ("/notes", "/notes/", "/notes/MEMORY.md"):
            assert (await get(site, path))[0] == 401


async def test_a_large_folder_comes_in_pages(site: WebClient) -> None:
    for number in range(ENTRIES_PER_PAGE + 1):
        (site.folder / f"memory/trips/{number:03}.md").touch()
    _, first = await get(site, "/notes/trips/")
    assert f"{ENTRIES_PER_PAGE + 2} notes, page 1 of 2" in first
    assert 'href="/notes/trips/?page=2"' in first
    assert "oslo.md" not in first
    _, last = await get(site, "/notes/trips/?page=2")
    assert "100.md" in last
    assert "oslo.md" in last


async def test_many_folders_come_in_pages_too(site: WebClient) -> None:
    for number in range(ENTRIES_PER_PAGE + 3):
        (site.folder / f"memory/trips/f{number:03}").mkdir()
    _, first = await get(site, "/notes/trips/")
    assert "f099<" in first
    assert "f100<" not in first
    assert "oslo.md" not in first
    for page in (2, 99):
        _, last = await get(site, f"/notes/trips/?page={page}")
        assert "f102<" in last
        assert "oslo.md" in last
        assert "f099<" not in last


async def test_a_list_shows_titles_and_their_files(site: WebClient) -> None:
    for name, text in (
        ("front.md", "---\ntags: x\ntitle: The <b>house</b>\n---\n# Other\n"),
        ("heading.md", "Some text.\n\n```\n# no\n```\n\n## A **small** boat ##\n# Later\n"),
        ("same name.md", "# Same Name\n"),
        ("none.md", "text #tag\n"),
        ("late.md", "x" * 5000 + "\n# Too late\n"),
        ("2026-11-19.md", "# Thursday\n"),
    ):
        (site.folder / "memory/trips" / name).write_text(text, "utf-8")
    _, shown = await get(site, "/notes/trips/")
    assert '>The &lt;b&gt;house&lt;/b&gt;</a> <span class="count">front.md</span>' in shown
    assert '>A **small** boat</a> <span class="count">heading.md</span>' in shown
    for name in ("same name.md", "none.md", "late.md"):
        assert f">{name}</a></th>" in shown
    await site.services.memory.sync()
    _, days = await get(site, "/days/2026-11")
    assert '>Thursday</a> <span class="count">Thursday, trips/2026-11-19.md</span>' in days


async def test_a_page_of_a_large_folder_is_light(site: WebClient) -> None:
    for number in range(ENTRIES_PER_PAGE):
        name = f"京都と奈良の旅の計画、その{number:03}.md"
        (site.folder / "memory/trips" / name).write_text("# 春に行く京都と奈良の旅の計画\n", "utf-8")
    _, shown = await get(site, "/notes/trips/")
    assert len(shown.encode()) < 60_000


def test_a_time_that_no_calendar_has_is_not_told() -> None:
    times = (10**24, -(10**24), 0)
    listed = [view_note(NoteStat(f"{n}.md", 1, ns, 0, 0), "", zone=UTC) for n, ns in enumerate(times)]
    assert [each.changed for each in listed] == [None, None, datetime(1970, 1, 1, tzinfo=UTC)]


async def test_many_problems_are_told_by_their_number(site: WebClient) -> None:
    for number in range(MAX_PROBLEMS + 3):
        (site.folder / f"memory/link{number}.md").symlink_to("/etc/passwd")
    _, text = await get(site, "/notes/")
    assert text.count("leads out of the memory folder") == MAX_PROBLEMS
    assert "and 3 more" in text


async def test_a_table_as_wide_as_no_table_is_is_shown_as_it_is_written(site: WebClient) -> None:
    wide = f"{'|a' * 2000}\n{'|-' * 2000}\n" + "|\n" * 900
    (site.folder / "memory/wide.md").write_text(wide, "utf-8")
    status, text = await get(site, "/notes/wide.md")
    assert (status, "<table" in text, len(text) < 200_000) == (200, False, True)


async def test_links_of_a_note_lead_to_notes_and_come_back(site: WebClient, tmp_path: Path) -> None:
    notes = tmp_path / "memory"
    (notes / "ideas.md").write_text("See [[oslo|the <trip>]], [[nowhere]] and [x](trips/oslo.md).\n", "utf-8")
    _, text = await get(site, "/notes/ideas.md")
    assert '<a href="/notes/trips/oslo.md" rel="noopener noreferrer">the &lt;trip&gt;</a>' in text
    assert '<span class="broken" title="No note has this name">nowhere</span>' in text
    assert "Linked from" not in text
    _, text = await get(site, "/notes/trips/oslo.md")
    assert text.count('<a href="/notes/ideas.md#L1">ideas.md:1</a>') == 1
    assert "See [[oslo|the &lt;trip&gt;]], [[nowhere]]" in text.partition("Linked from")[2]
    _, text = await get(site, "/search?q=nowhere")
    assert '<a href="/notes/trips/oslo.md">trips/oslo.md</a>' in text.partition("See also")[2]


async def test_a_folder_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    folders = [{"path": str(tmp_path / "Obsidian"), "name": "vault"}]
    memory = {"folders": folders, "embedding": {"provider": "none"}}
    async with open_web_client(tmp_path / "workspace", memory=memory) as site:
        site.settings.memory_folder.mkdir(parents=True)
        (site.settings.memory_folder / "old.md").write_bytes("Das Café\n".encode("windows-1252"))
        status, text = await get(site, "/notes/vault/")
        away = f"The folder vault is away: {tmp_path / 'Obsidian'} does not exist"
        assert status == 503
        assert away in text
        _, text = await get(site, "/")
        assert away in text
        assert "old.md" in text
        assert "in full" not in text, "an old encoding needs no attention: all of it was read"


@pytest.mark.parametrize(
    ("heading", "leads"),
    [
        ("Fares", "?line=1202#L1202"),
        ("^room", "#L3"),
        ("Nothing", ""),
        ("//evil.example", ""),
        ("x" * 5_000, ""),
    ],
)
async def test_a_link_leads_to_the_line_of_its_heading(site: WebClient, heading: str, leads: str) -> None:
    text = "# Oslo\n\nA room. ^room\n" + "one line\n" * 1198 + "## Fares\n"
    (site.folder / "memory/trips/oslo.md").write_text(text, "utf-8")
    async with site.client.get(
        "/notes/trips/oslo.md", params={"heading": heading}, allow_redirects=False
    ) as answer:
        assert answer.status == 302
        assert answer.headers["Location"] == f"/notes/trips/oslo.md{leads}"
