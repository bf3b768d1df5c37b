"""New notes, moves, deletions, the trash and the history, on the page."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from bot import phrases
from bot.state.changes import ChangeOrigin
from tests.fakes.html_page import HtmlPage
from tests.fakes.note_pages import get, post, sign_in
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HOSTILE = "<img src=x onerror=alert(1)>&\"'"
BAD_PATHS = [
    "../a",
    "a/../../b",
    "/etc/passwd",
    "..\\b",
    "a\0b",
    ".hidden/b",
    "c:b",
    "a//b",
    "nul",
    "",
    "x" * 300,
]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        (tmp_path / "memory/trips").mkdir(parents=True)
        (tmp_path / "memory/trips/oslo.md").write_text("# Oslo\n\nFerry\n", "utf-8")
        yield site


def notes_of(site: WebClient) -> dict[str, str]:
    memory = site.folder / "memory"
    return {str(each.relative_to(memory)): each.read_text("utf-8") for each in memory.rglob("*.md")}


def hidden(text: str, name: str) -> str:
    (found,) = (
        each.attributes["value"]
        for each in HtmlPage(text).all("input")
        if each.attributes.get("name") == name
    )
    return found


async def test_a_note_is_created_in_a_folder(site: WebClient) -> None:
    _, folder = await get(site, "/notes/trips/")
    assert 'href="/new-note?folder=trips"' in folder
    _, form = await get(site, "/new-note?folder=trips")
    assert hidden(form, "path") == "trips/"
    fields = {"path": "trips/京都 2026", "text": "# 京都\r\n\r\n寺\r\n"}
    status, where = await post(site, "/new-note", fields)
    assert (status, where) == (303, f"/notes/{quote('trips/京都 2026.md')}?done=created")
    assert notes_of(site)["trips/京都 2026.md"] == "# 京都\n\n寺\n"
    status, where = await post(site, "/new-note", {"path": "new/folder/Tea", "text": ""})
    assert status == 303
    assert notes_of(site)["new/folder/Tea.md"] == "# Tea\n"


async def test_a_new_note_replaces_none_and_its_text_is_kept(site: WebClient) -> None:
    before = notes_of(site)
    status, shown = await post(site, "/new-note", {"path": "trips/oslo", "text": f"mine {HOSTILE}"})
    assert (status, "<img" in shown) == (409, False)
    (area,) = HtmlPage(shown).all("textarea")
    assert area.text == f"mine {HOSTILE}"
    for path in BAD_PATHS:
        status, shown = await post(site, "/new-note", {"path": path, "text": "mine"})
        assert status == 400, path
        assert HtmlPage(shown).all("textarea")[0].text == "mine"
    assert notes_of(site) == before
    assert sorted(each.name for each in site.folder.iterdir()) == [".commonplace", "memory"]


async def test_of_two_who_create_a_note_at_once_one_is_refused(site: WebClient) -> None:
    done = await asyncio.gather(
        *(post(site, "/new-note", {"path": "same", "text": f"{number}"}) for number in range(4))
    )
    assert sorted(status for status, _ in done) == [303, 409, 409, 409]


async def test_a_note_is_moved_and_its_links_are_told(site: WebClient) -> None:
    (site.folder / "memory/a.md").write_text("[[oslo]]\n\n[ferry](trips/oslo.md)\n")
    _, form = await get(site, "/move/trips/oslo.md")
    assert "2 lines in other notes link here" in form
    assert hidden(form, "to") == "trips/oslo.md"
    status, where = await post(site, "/move/trips/oslo.md", {"to": "north/Oslo"})
    assert (status, where) == (303, "/notes/north/Oslo.md?done=moved")
    assert notes_of(site) == {
        "a.md": "[[oslo]]\n\n[ferry](trips/oslo.md)\n",
        "north/Oslo.md": "# Oslo\n\nFerry\n",
    }
    _, history = await get(site, "/changes?note=trips/oslo.md")
    assert "moved the note from trips/oslo.md to north/Oslo.md" in history, "by its old name, too"
    number = hidden(history, "number")
    (site.folder / "memory/trips").mkdir(exist_ok=True)
    (site.folder / "memory/trips/oslo.md").write_text("another\n")
    status, shown = await post(site, "/undo", {"number": number, "page": "/changes"})
    assert (status, "another note trips/oslo.md" in shown) == (409, True)
    (site.folder / "memory/trips/oslo.md").unlink()
    assert (await post(site, "/undo", {"number": number, "page": "/changes"}))[0] == 303
    assert notes_of(site)["trips/oslo.md"] == "# Oslo\n\nFerry\n"


async def test_a_note_is_moved_onto_no_other_and_out_of_no_folder(site: WebClient) -> None:
    (site.folder / "memory/a.md").write_text("a\n")
    before = notes_of(site)
    for to in ("trips/oslo.md", "a.md"):
        assert (await post(site, "/move/a.md", {"to": to}))[0] == 409
    for to in BAD_PATHS:
        status, shown = await post(site, "/move/a.md", {"to": to})
        assert (status, "Move" in shown) == (400, True), to
    for path in ("../a.md", "%2e%2e/a.md", "a%00.md", "a%5cb.md", ".commonplace/state.db"):
        assert (await get(site, f"/move/{path}"))[0] == 404
        assert (await post(site, f"/move/{path}", {"to": "b.md"}))[0] in (400, 404)
    assert (await post(site, "/move/gone.md", {"to": "b.md"}))[0] == 409
    assert notes_of(site) == before


async def test_a_deleted_note_is_in_the_trash_and_comes_back(site: WebClient) -> None:
    _, form = await get(site, "/delete/trips/oslo.md")
    assert notes_of(site), "asking deletes nothing"
    status, where = await post(site, "/delete/trips/oslo.md", {"digest": hidden(form, "digest")})
    assert (status, where) == (303, "/trash?done=deleted")
    assert notes_of(site) == {}
    _, trash = await get(site, where)
    assert phrases.WEB_NOTE_DONE["deleted"] in trash
    for page in ("notes", "edit", "move", "delete"):  # as by Back, a bookmark or a link
        status, gone = await get(site, f"/{page}/trips/oslo.md")
        leads = {each.attributes["href"] for each in HtmlPage(gone).all("a")}
        assert (status, leads >= {"/changes?note=trips%2Foslo.md", "/trash"}) == (404, True), page
    assert "trips/oslo.md" in trash
    number = hidden(trash, "number")
    status, where = await post(site, "/trash", {"number": number})
    assert (status, where) == (303, "/notes/trips/oslo.md?done=restored#L1")
    assert notes_of(site) == {"trips/oslo.md": "# Oslo\n\nFerry\n"}
    status, again = await post(site, "/trash", {"number": number})
    assert (status, phrases.WEB_TRASH_GONE.replace("'", "&#39;") in again) == (409, True)
    for wrong in ("", "x", "../../memory/a.md", "9" * 400):
        assert (await post(site, "/trash", {"number": wrong}))[0] == 409


async def test_what_changed_since_the_question_is_not_deleted(site: WebClient) -> None:
    _, form = await get(site, "/delete/trips/oslo.md")
    file = site.folder / "memory/trips/oslo.md"
    file.write_text("# Oslo\n\nFerry\nTrain\n")
    status, shown = await post(site, "/delete/trips/oslo.md", {"digest": hidden(form, "digest")})
    assert (status, phrases.WEB_NOTE_NOT_DELETED in shown) == (409, True)
    assert file.exists()
    assert (await post(site, "/delete/trips/oslo.md", {"digest": hidden(shown, "digest")}))[0] == 303
    assert not file.exists()


async def test_a_note_that_others_delete_at_the_same_moment_is_gone(site: WebClient) -> None:
    file, statuses = site.folder / "memory/trips/oslo.md", set[int]()
    is_over = threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            file.write_text("# Oslo\n")
            file.unlink()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(100):
            statuses.add((await post(site, "/delete/trips/oslo.md", {"digest": "old"}))[0])
    finally:
        is_over.set()
        thread.join()
    assert statuses <= {404, 409}


async def test_who_moves_or_deletes_the_core_note_is_told_what_it_is_for(site: WebClient) -> None:
    (site.folder / "memory/MEMORY.md").write_text("# Memory\n\n- tea\n", "utf-8")
    for form in ("move", "delete"):
        assert "at the start of every conversation" in (await get(site, f"/{form}/MEMORY.md"))[1]
        assert "at the start of every conversation" not in (await get(site, f"/{form}/trips/oslo.md"))[1]
    assert (await post(site, "/move/MEMORY.md", {"to": "old"}))[0] == 303
    assert (await get(site, "/"))[0] == 200


async def test_a_line_from_the_trash_is_hostile_text_and_goes_back_to_its_place(site: WebClient) -> None:
    text = f"# Oslo\n\n{HOSTILE}\x1b[2J\nTrain\n"
    (site.folder / "memory/trips/oslo.md").write_text(text, "utf-8")
    await site.services.note_writer.edit(
        "trips/oslo.md", f"{HOSTILE}\x1b[2J", "gone", key="k", origin=ChangeOrigin("tool")
    )
    _, trash = await get(site, "/trash")
    assert "<img" not in trash
    assert "\x1b" not in trash
    assert (await post(site, "/trash", {"number": hidden(trash, "number")}))[0] == 303
    assert notes_of(site)["trips/oslo.md"].startswith(f"# Oslo\n\n{HOSTILE}")
    _, history = await get(site, "/changes?note=trips/oslo.md")
    assert "<img" not in history
    assert "\x1b" not in history
    assert [each.text for each in HtmlPage(history).all("ins")][1] == "+gone"


def numbers(page: HtmlPage) -> list[str]:
    return [each.text for each in page.all("span") if each.attributes.get("class") == "number"]


async def test_the_history_of_a_note_has_its_own_changes_and_undoes_them(site: WebClient) -> None:
    for number in range(25):
        await site.services.note_writer.append(
            "a.md", f"- line {number}", key=f"{number}", title="A", origin=ChangeOrigin("tool")
        )
    await site.services.note_writer.append("b.md", "- other", key="b", title="B", origin=ChangeOrigin("tool"))
    _, first = await get(site, "/changes?note=a.md")
    page = HtmlPage(first)
    assert numbers(page) == [str(number) for number in range(25, 5, -1)]
    _, older = await get(site, "/changes?note=a.md&before=6")
    assert numbers(HtmlPage(older)) == [str(number) for number in range(5, 0, -1)]
    status, where = await post(site, "/undo", {"number": "25", "note": "a.md", "page": "/changes"})
    assert (status, where) == (303, "/changes?note=a.md&done=undone#done")
    assert "line 24" not in notes_of(site)["a.md"]
    assert 'aria-label="Redo change 25"' in (await get(site, where))[1]
    status, shown = await post(site, "/undo", {"number": "25", "note": f"{HOSTILE}/../a.md"})
    assert (status, "<img" in shown) == (409, False)


async def test_a_note_of_ten_megabytes_is_deleted_and_restored(site: WebClient) -> None:
    text = "".join(f"line {number} {'word ' * 18}\n" for number in range(100_000))
    file = site.folder / "memory/big.md"
    file.write_text(text)
    _, form = await get(site, "/delete/big.md")
    assert (await post(site, "/delete/big.md", {"digest": hidden(form, "digest")}))[0] == 303
    assert not file.exists()
    _, trash = await get(site, "/trash")
    assert len(trash) < 60_000
    assert (await post(site, "/trash", {"number": hidden(trash, "number")}))[0] == 303
    assert file.read_text() == text


async def test_a_note_that_gets_another_name_says_so(site: WebClient) -> None:
    _, form = await get(site, "/delete/trips/oslo.md")
    await post(site, "/delete/trips/oslo.md", {"digest": hidden(form, "digest")})
    (site.folder / "memory/trips").mkdir(exist_ok=True)
    (site.folder / "memory/trips/oslo.md").write_text("another\n")
    _, trash = await get(site, "/trash")
    status, where = await post(site, "/trash", {"number": hidden(trash, "number")})
    assert (status, where.partition("#")[0]) == (303, "/notes/trips/oslo-2.md?done=restored-as")
    assert phrases.WEB_NOTE_DONE["restored-as"] in (await get(site, where))[1]
    assert notes_of(site)["trips/oslo-2.md"] == "# Oslo\n\nFerry\n"


async def test_a_full_trash_comes_in_light_pages(site: WebClient) -> None:
    folder = site.folder / ".commonplace/trash"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(45):
        name = f"2026-11-21T14-30-{number:02}.123456Z .note trips%2F京都 {number}.md"
        (folder / name).write_text("京都の寺に行く。<b>&\n" * 500, "utf-8")
    for page, first in ((1, 44), (2, 24), (3, 4), (99, 4)):
        _, shown = await get(site, f"/trash?page={page}")
        assert f"trips/京都 {first}.md" in shown
        assert len(shown.encode()) < 60_000


async def test_hostile_names_stay_names(site: WebClient) -> None:
    path = f"{HOSTILE}\u202e.md"
    (site.folder / "memory" / path).write_text("x\n", "utf-8")
    for page in ("move", "delete"):
        status, shown = await get(site, f"/{page}/{quote(path)}")
        assert (status, "<img" in shown, "\u202e" in HtmlPage(shown).all("h1")[0].text) == (200, False, False)
    status, shown = await get(site, f"/changes?note={quote(path)}")
    assert (status, "<img" in shown, "\u202e" in shown) == (200, False, False)
    _, form = await get(site, f"/delete/{quote(path)}")
    await post(site, f"/delete/{quote(path)}", {"digest": hidden(form, "digest")})
    _, trash = await get(site, "/trash")
    assert "<img" not in trash


async def test_a_folder_that_may_only_be_read_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/a.md").write_text("one\n")
    (tmp_path / "memory").mkdir()
    folders = [{"path": str(tmp_path / "vault"), "name": "vault"}]
    async with open_web_client(tmp_path, token=TOKEN, memory={"folders": folders}) as site:
        assert "/new-note" not in (await get(site, "/notes/vault/"))[1]
        digest = (await site.services.memory.read_whole("vault/a.md")).digest
        for path, fields in (
            ("/new-note", {"path": "vault/b", "text": "x"}),
            ("/move/vault/a.md", {"to": "a.md"}),
            ("/delete/vault/a.md", {"digest": digest}),
        ):
            status, shown = await post(site, path, fields)
            assert (status, "read-only" in shown) == (409, True), path
    assert [(each.name, each.read_text()) for each in (tmp_path / "vault").iterdir()] == [("a.md", "one\n")]


FORMS = {
    "/new-note": {"path": "b", "text": "x"},
    "/move/trips/oslo.md": {"to": "b"},
    "/delete/trips/oslo.md": {"digest": ""},
    "/trash": {"number": "1234"},
}


@pytest.mark.parametrize("path", FORMS)
async def test_another_site_cannot_send_a_form(site: WebClient, path: str) -> None:
    before, cookie = notes_of(site), await sign_in(site)
    digest = (await site.services.memory.read_whole("trips/oslo.md")).digest
    fields = {**FORMS[path], **({"digest": digest} if "digest" in FORMS[path] else {})}
    async with site.client.post(path, data=fields, headers={"Cookie": cookie}) as answer:
        assert answer.status == 403
    assert (await post(site, path, fields, Origin="https://other.example"))[0] == 403
    async with site.client.post(path, data=fields) as answer:
        assert answer.status == 401
    assert notes_of(site) == before


@pytest.mark.parametrize("path", [*FORMS, "/changes", "/edit/trips/oslo.md"])
async def test_without_a_token_there_is_none_of_it(tmp_path: Path, path: str) -> None:
    async with open_web_client(tmp_path) as site:
        (tmp_path / "memory/trips").mkdir(parents=True)
        (tmp_path / "memory/trips/oslo.md").write_text("one\n")
        before = notes_of(site)
        assert (await get(site, path))[0] == 403
        assert (await post(site, path, FORMS.get(path, {})))[0] in (403, 405)
        _, shown = await get(site, "/notes/trips/oslo.md")
        _, folder = await get(site, "/notes/trips/")
        _, gone = await get(site, "/notes/trips/gone.md")
        assert not any(
            form in shown + folder + gone for form in ("/new-note", "/move/", "/delete/", "/trash", "/edit/")
        )
        assert notes_of(site) == before
