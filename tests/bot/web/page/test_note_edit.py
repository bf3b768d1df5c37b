"""The form that edits a note."""

import asyncio
import re
from collections.abc import AsyncIterator
from functools import partial
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from bot import phrases
from bot.messages import ChatId, PersonId
from bot.state.changes import ChangeOrigin, read_changes
from bot.web.forms import FORM, FORM_FIELD, MAX_TEXT_FORM_BYTES
from bot.web.page.note_edit import MAX_TEXT_BYTES
from bot.web.page.opened_texts import OpenedTexts
from memory.note_folders import NoteFolder
from memory.notes import Notes
from tests.fakes.html_page import HtmlPage
from tests.fakes.note_pages import get, post, sign_in
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HOSTILE = "</textarea><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory/a.md").write_text("# A\n\none\n", "utf-8")
        yield site


def fields_of(text: str) -> dict[str, str]:
    """The fields of the form that edits a note, as a browser would send them."""
    shown = HtmlPage(text)
    (area,) = shown.all("textarea")
    hidden = {
        each.attributes["name"]: each.attributes["value"]
        for each in shown.all("input")
        if "name" in each.attributes
    }
    return {**hidden, "text": "".join(area.pieces).removeprefix("\n").replace("\n", "\r\n"), "do": "save"}


def note(site: WebClient, path: str = "a.md") -> str:
    return (site.folder / "memory" / path).read_bytes().decode()


async def opened(site: WebClient, path: str = "a.md") -> dict[str, str]:
    status, text = await get(site, f"/edit/{quote(path)}")
    assert status == 200, text
    return fields_of(text)


async def test_a_note_is_edited_and_the_change_is_recorded_and_undone(site: WebClient) -> None:
    fields = await opened(site)
    assert fields["text"] == "# A\r\n\r\none\r\n"
    status, where = await post(site, "/edit/a.md", {**fields, "text": "# A\r\n\r\none\r\ntwo\r\n"})
    assert (status, where) == (303, "/notes/a.md?done=saved")
    assert note(site) == "# A\n\none\ntwo\n"
    assert phrases.WEB_NOTE_DONE["saved"] in (await get(site, where))[1]
    (row,) = await site.services.state.read(partial(read_changes, limit=10))
    assert (row.origin, row.path, row.lines.new) == (ChangeOrigin("http"), "a.md", ("two",))
    assert (await post(site, "/undo", {"number": str(row.number)}))[0] == 303
    assert note(site) == "# A\n\none\n"


async def test_a_preview_keeps_the_text_and_writes_nothing(site: WebClient) -> None:
    fields = await opened(site)
    text = f"# New\r\n\r\n- [ ] **bold** {HOSTILE}\r\n"
    status, shown = await post(site, "/edit/a.md", {**fields, "text": text, "do": "preview"})
    assert status == 200
    assert "<strong>bold</strong>" in shown
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown
    again = fields_of(shown)
    assert {**again} == {**fields, "text": text}
    assert note(site) == "# A\n\none\n"
    assert (await post(site, "/edit/a.md", again))[0] == 303
    assert note(site) == text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "text", ["\n\nx\n", "\n", "x", "x\n\n\n", HOSTILE, "\"'&amp;&\n<!-- --> {{ 7*7 }}\n"]
)
async def test_a_text_is_in_the_form_as_it_is_in_the_note(site: WebClient, text: str) -> None:
    (site.folder / "memory/a.md").write_text(text, "utf-8")
    fields = await opened(site)
    assert fields["text"].replace("\r\n", "\n") == text
    assert await post(site, "/edit/a.md", fields) == (303, "/notes/a.md?done=saved")
    assert note(site) == text, "unchanged, so nothing is written"


async def test_line_ends_and_a_missing_last_newline_stay(site: WebClient) -> None:
    (site.folder / "memory/a.md").write_bytes(b"one\r\ntwo\r\nthree")
    fields = await opened(site)
    await post(site, "/edit/a.md", {**fields, "text": "one\r\n2\r\nthree"})
    assert note(site) == "one\r\n2\r\nthree\r\n"


async def test_what_somebody_else_saved_is_shown_and_not_overwritten_unasked(site: WebClient) -> None:
    fields = await opened(site)
    (site.folder / "memory/a.md").write_text("# A\n\none\nfrom the editor\n", "utf-8")
    mine = {**fields, "text": "# A\r\n\r\nmine\r\n"}
    status, shown = await post(site, "/edit/a.md", mine)
    assert status == 409
    assert phrases.WEB_NOTE_CHANGED in shown
    page = HtmlPage(shown)
    assert [each.text for each in page.all("ins")] == ["+from the editor"]
    again = fields_of(shown)
    assert again["text"] == mine["text"], "nothing of it is lost"
    assert again["digest"] != fields["digest"]
    assert note(site) == "# A\n\none\nfrom the editor\n"
    assert (await post(site, "/edit/a.md", again))[0] == 303
    assert note(site) == "# A\n\nmine\n"


async def test_of_two_who_save_at_once_one_is_asked(site: WebClient) -> None:
    fields = await opened(site)
    done = await asyncio.gather(
        *(post(site, "/edit/a.md", {**fields, "text": f"mine {number}\r\n"}) for number in range(5))
    )
    assert sorted(status for status, _ in done) == [303, 409, 409, 409, 409]
    (saved,) = (number for number, (status, _) in enumerate(done) if status == 303)
    assert note(site) == f"mine {saved}\n"


async def test_who_saves_twice_is_not_told_of_a_conflict(site: WebClient) -> None:
    fields = {**await opened(site), "text": "mine\r\n"}
    for _ in range(2):
        assert (await post(site, "/edit/a.md", fields))[0] == 303


async def test_the_text_of_a_note_that_is_gone_is_kept(site: WebClient) -> None:
    fields = await opened(site)
    (site.folder / "memory/a.md").unlink()
    status, shown = await post(site, "/edit/a.md", {**fields, "text": "mine"})
    assert status == 409
    assert phrases.WEB_NOTE_GONE in shown
    assert fields_of(shown)["text"] == "mine"
    assert not (site.folder / "memory/a.md").exists()


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"caf\xe9\n", "not valid UTF-8"), (b"a\0b\n", "NUL"), (b"x" * (MAX_TEXT_BYTES + 1), "browser")],
)
async def test_what_cannot_be_edited_well_says_why_and_offers_plain_text(
    site: WebClient, data: bytes, why: str
) -> None:
    (site.folder / "memory/a.md").write_bytes(data)
    status, shown = await get(site, "/edit/a.md")
    assert (status, why in shown) == (409, True)
    assert 'href="/notes/a.md?plain"' in shown
    assert "<textarea" not in shown


async def test_a_note_of_ten_megabytes_is_refused_both_ways(site: WebClient) -> None:
    fields = await opened(site)
    (site.folder / "memory/big.md").write_text("word " * 2_000_000, "utf-8")
    assert (await get(site, "/edit/big.md"))[0] == 409
    body = BytesIO(urlencode({**fields, "text": "x" * 10_000_000}).encode())
    headers = {**site.token, "Content-Type": FORM}
    async with site.client.post("/edit/a.md", data=body, headers=headers) as answer:
        assert answer.status == 413
    status, shown = await post(site, "/edit/a.md", {**fields, "text": "x" * (MAX_TEXT_BYTES + 1)})
    assert (status, "<textarea" in shown) == (400, True)
    assert note(site) == "# A\n\none\n"


async def test_a_folder_that_may_only_be_read_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/a.md").write_text("one\n")
    (tmp_path / "memory").mkdir()
    folders = [{"path": str(tmp_path / "vault"), "name": "vault"}]
    async with open_web_client(tmp_path, token=TOKEN, memory={"folders": folders}) as site:
        _, shown = await get(site, "/notes/vault/a.md")
        assert "/edit/" not in shown
        assert "/delete/" not in shown
        status, shown = await get(site, "/edit/vault/a.md")
        assert (status, "read-only" in shown) == (409, True)
        whole = await site.services.memory.read_whole("vault/a.md")
        status, shown = await post(
            site, "/edit/vault/a.md", {"text": "two", "digest": whole.digest, "do": "save"}
        )
        assert (status, "read-only" in shown) == (409, True)
    assert (tmp_path / "vault/a.md").read_text() == "one\n"


@pytest.mark.parametrize(
    "path",
    [
        "nothing.md",
        "../a.md",
        "..%2fconfig.md",
        "%2e%2e/%2e%2e/etc/passwd.md",
        "%2fetc/passwd.md",
        "a%00.md",
        "a%5c..%5cb.md",
        ".commonplace/state.db",
        ".hidden.md",
        "a.txt",
        "%ff.md",
        "x/",
    ],
)
async def test_no_other_file_is_read_or_written(site: WebClient, path: str) -> None:
    (site.folder / "config.md").write_text("secret")
    status, shown = await get(site, f"/edit/{path}")
    assert (status, "secret" in shown) == (404, False)
    before = {each: each.read_bytes() for each in site.folder.rglob("*.md")}
    status, _ = await post(site, f"/edit/{path}", {"text": "mine", "digest": "", "do": "save"})
    assert status in (400, 404, 409)
    assert {each: each.read_bytes() for each in site.folder.rglob("*.md")} == before


async def test_a_link_out_of_the_folder_is_not_written(site: WebClient) -> None:
    (site.folder / "outside.md").write_text("secret")
    (site.folder / "memory/link.md").symlink_to("../outside.md")
    assert (await get(site, "/edit/link.md"))[0] == 404
    await post(site, "/edit/link.md", {"text": "mine", "digest": ""})
    assert (site.folder / "outside.md").read_text() == "secret"


async def test_hostile_names_stay_names(site: WebClient) -> None:
    name = "<img src=x onerror=alert(1)>&\"'.md"
    (site.folder / "memory" / name).write_text("x\n", "utf-8")
    _, shown = await get(site, f"/edit/{quote(name)}")
    assert "<img" not in shown
    fields = fields_of(shown)
    status, shown = await post(site, f"/edit/{quote(name)}", {**fields, "text": "y", "digest": "another"})
    assert (status, "<img" in shown) == (409, False)
    assert (await post(site, f"/edit/{quote(name)}", {**fields, "text": "y"}))[0] == 303
    assert note(site, name) == "y\n"


async def test_another_site_cannot_send_the_form(site: WebClient) -> None:
    fields = await opened(site)
    text = {**fields, "text": "theirs"}
    cookie = await sign_in(site)
    for sent in (
        {**text, FORM_FIELD: "wrong"},
        {key: value for key, value in text.items() if key != FORM_FIELD},
    ):
        async with site.client.post("/edit/a.md", data=sent, headers={"Cookie": cookie}) as answer:
            assert answer.status == 403
    assert (await post(site, "/edit/a.md", text, Origin="https://other.example"))[0] == 403
    assert note(site) == "# A\n\none\n"
    async with site.client.get("/edit/a.md", headers={"Cookie": cookie}) as answer:
        mine = {**fields_of(await answer.text()), "text": "mine"}
    async with site.client.post(
        "/edit/a.md", data=mine, headers={"Cookie": cookie}, allow_redirects=False
    ) as answer:
        assert answer.status == 303
    assert note(site) == "mine\n"


async def test_without_a_token_nothing_is_edited(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as site:
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory/a.md").write_text("one\n")
        assert "/edit/" not in (await get(site, "/notes/a.md"))[1]
        assert (await get(site, "/edit/a.md"))[0] == 403
        digest = (await site.services.memory.read_whole("a.md")).digest
        fields = {"text": "two", "digest": digest, "do": "save"}
        assert (await post(site, "/edit/a.md", fields))[0] == 403
        assert note(site) == "one\n"


async def test_hidden_lines_are_not_in_the_form(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("one\nxylophagous beetle\n")
    (tmp_path / "memory").mkdir()
    folder = NoteFolder(vault, "vault", is_writable=False)
    Notes(tmp_path / "memory", private=tmp_path / ".commonplace", others=[folder]).hide(
        "vault/a.md", ["xylophagous beetle"]
    )
    folders = [{"path": str(vault), "name": "vault", "write": True}]
    async with open_web_client(tmp_path, token=TOKEN, memory={"folders": folders}) as site:
        whole = await site.services.memory.read_whole("vault/a.md")
        status, shown = await get(site, "/edit/vault/a.md")
        assert (status, "xylophagous" in shown, "/forget" in shown) == (409, False, True)
        fields = {"text": "one\ntwo", "digest": whole.digest, "do": "save"}
        status, shown = await post(site, "/edit/vault/a.md", fields)
        assert (status, "xylophagous" in shown) == (409, False)
    assert (vault / "a.md").read_text() == "one\nxylophagous beetle\n"


def test_the_bound_leaves_room_in_a_form() -> None:
    assert 3 * MAX_TEXT_BYTES < MAX_TEXT_FORM_BYTES, "the text, each byte as three"


async def test_the_form_weighs_little_more_than_the_text(site: WebClient) -> None:
    text = "One line of a long note\n" * 5_000
    (site.folder / "memory/a.md").write_text(text, "utf-8")
    _, shown = await get(site, "/edit/a.md")
    assert len(shown.encode()) < len(text) + 60_000
    fields = fields_of(shown)
    typed = fields["text"].replace("\r\n", "\n").splitlines()
    typed[3000] = "a **new** line"
    fields = {**fields, "text": "\r\n".join(typed)}
    _, preview = await post(site, "/edit/a.md", {**fields, "do": "preview"})
    assert len(preview.encode()) < len(text) + 60_000
    assert "<strong>new</strong>" in preview, "the part that was changed"
    assert re.search(r"These are lines [0-9,]+ to [0-9,]+ of 5,000\.", preview)
    (site.folder / "memory/a.md").write_text(f"{text}theirs\n", "utf-8")
    status, shown = await post(site, "/edit/a.md", {**fields, "text": f"mine\r\n{fields['text']}"})
    assert (status, len(shown.encode()) < len(text) + 60_000) == (409, True)


async def test_after_a_restart_a_conflict_shows_how_the_versions_differ(site: WebClient) -> None:
    fields = await opened(site)
    (site.folder / "memory/a.md").write_text("# A\n\none\ntheirs\n", "utf-8")
    mine = {**fields, "text": "# A\r\n\r\nmine\r\n", "digest": "0" * 64}
    status, shown = await post(site, "/edit/a.md", mine)
    assert (status, "How the note differs from your version" in shown) == (409, True)
    assert [each.text for each in HtmlPage(shown).all("ins")] == ["+one", "+theirs"]
    assert note(site) == "# A\n\none\ntheirs\n"


async def test_forget_empties_what_the_form_remembers_of_notes(site: WebClient) -> None:
    """The version that the form was opened with held the word; afterwards not even the memory has it."""
    here, owner = ChatId("telegram", "1"), PersonId("telegram", "1")
    (site.folder / "memory/a.md").write_text("# A\n\none\n\nxylophagous\n", "utf-8")
    fields = await opened(site)
    assert "xylophagous" in fields["text"]
    found = await site.services.forgetting.find("xylophagous", chat=here, person=owner)
    await site.services.forgetting.confirm(found.code, chat=here, person=owner, key="k")
    assert "xylophagous" not in note(site)
    status, text = await post(site, "/edit/a.md", {**fields, "text": "# A\r\n\r\nmine\r\n"})
    assert status == 409
    assert "How the note differs from your version" in text, "not: what has changed since it was opened"
    assert "xylophagous" not in text


def test_opened_texts_are_bounded() -> None:
    texts = OpenedTexts()
    for number in range(50):
        texts.keep(str(number), "x" * 200_000)
    texts.keep("49", "y" * 200_000)
    assert texts.find("29") is None
    assert texts.find("30") == "x" * 200_000
    assert texts.find("49") == "y" * 200_000
    texts.clear()
    assert texts.find("49") is None
    for number in range(20):
        texts.keep(str(number), "x" * 200_000)
    assert texts.find("0") == "x" * 200_000, "there is room for as many as before"
