"""Tasks that are checked on a note's page."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from bot import phrases
from bot.state.changes import ChangeOrigin, read_changes
from bot.web.forms import FORM_FIELD
from tests.fakes.html_page import HtmlPage
from tests.fakes.note_pages import get, post, sign_in
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

TEXT = b"---\r\ntitle: Shop\r\n---\r\n- [ ] milk\r\n  - [x] <b>oats</b> [[a]]\n\n1. [ ] tea"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory/a.md").write_bytes(TEXT)
        yield site


async def buttons(site: WebClient) -> list[tuple[str, str, str]]:
    """The tasks as the page shows them: name, whether it is checked, and what its button sends."""
    _, text = await get(site, "/notes/a.md")
    found = [
        each.attributes for each in HtmlPage(text).all("button") if each.attributes.get("name") == "task"
    ]
    return [(each["aria-label"], each["aria-checked"], each["value"]) for each in found]


def note(site: WebClient) -> bytes:
    return (site.folder / "memory/a.md").read_bytes()


async def test_a_task_is_checked_and_nothing_else_changes(site: WebClient) -> None:
    shown = await buttons(site)
    assert [(name, checked) for name, checked, _ in shown] == [
        ("milk", "false"),
        ("<b>oats</b> [[a]]", "true"),
        ("tea", "false"),
    ]
    for _, _, value in shown:
        status, where = await post(site, "/tasks/a.md", {"task": value})
        assert (status, where.partition("#")[0]) == (303, "/notes/a.md?done=task")
    checked = TEXT.replace(b"[ ]", b"[?]").replace(b"[x]", b"[ ]").replace(b"[?]", b"[x]")
    assert note(site) == checked
    assert [checked for _, checked, _ in await buttons(site)] == ["true", "false", "true"]
    assert phrases.WEB_NOTE_DONE["task"] in (await get(site, "/notes/a.md?done=task"))[1]
    rows = await site.services.state.read(partial(read_changes, limit=10))
    assert [(each.origin, each.lines.old, each.lines.new) for each in rows][::-1] == [
        (ChangeOrigin("http"), ("- [ ] milk",), ("- [x] milk",)),
        (ChangeOrigin("http"), ("  - [x] <b>oats</b> [[a]]",), ("  - [ ] <b>oats</b> [[a]]",)),
        (ChangeOrigin("http"), ("1. [ ] tea",), ("1. [x] tea",)),
    ]
    assert await site.services.memory.removed() == [], "nothing was removed"
    told = (await get(site, "/changes"))[1]
    for words in ("checked off “milk”", "unchecked “&lt;b&gt;oats&lt;/b&gt; [[a]]”", "checked off “tea”"):
        assert words in told, words
    assert (await post(site, "/undo", {"number": str(rows[-1].number)}))[0] == 303
    assert note(site).startswith(TEXT[:36])


async def test_a_task_that_has_changed_is_not_checked(site: WebClient) -> None:
    ((_, _, value), *_) = await buttons(site)
    for now in (TEXT.replace(b"milk", b"oat milk"), b"a line above\n" + TEXT, b"", b"# A\n"):
        (site.folder / "memory/a.md").write_bytes(now)
        status, shown = await post(site, "/tasks/a.md", {"task": value})
        assert (status, phrases.WEB_TASK_CHANGED in shown) == (409, True), now
        assert note(site) == now
    (site.folder / "memory/a.md").unlink()
    assert (await post(site, "/tasks/a.md", {"task": value}))[0] == 404


async def test_who_presses_twice_is_not_told_of_a_conflict(site: WebClient) -> None:
    ((_, _, value), *_) = await buttons(site)
    line, mark, _ = value.split()
    assert (await post(site, "/tasks/a.md", {"task": f"{line} {mark} open"}))[0] == 303
    assert note(site) == TEXT


async def test_a_task_in_damaged_text_is_not_called_checked(site: WebClient) -> None:
    damaged = b"\xff\xfe" + "- [ ] milk\n".encode("utf-16-le") + b"\x00\xd8" + "x\n".encode("utf-16-le")
    (site.folder / "memory/a.md").write_bytes(damaged)
    ((_, _, value),) = await buttons(site)
    status, shown = await post(site, "/tasks/a.md", {"task": value})
    assert (status, "is damaged UTF-16-LE text" in shown) == (409, True)
    assert note(site) == damaged


@pytest.mark.parametrize(
    "value", ["", "4", "4 00000000 done", "0 00000000 done", "x y z", "999999999 00000000 open"]
)
async def test_a_wrong_value_changes_nothing(site: WebClient, value: str) -> None:
    assert (await post(site, "/tasks/a.md", {"task": value}))[0] in (400, 409)
    assert note(site) == TEXT


async def test_another_site_cannot_check_a_task(site: WebClient) -> None:
    ((_, _, value), *_) = await buttons(site)
    cookie = await sign_in(site)
    for fields in ({"task": value}, {"task": value, FORM_FIELD: "wrong"}):
        async with site.client.post("/tasks/a.md", data=fields, headers={"Cookie": cookie}) as answer:
            assert answer.status == 403
    assert note(site) == TEXT


async def test_what_may_not_be_changed_has_check_boxes_only(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as site:
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory/a.md").write_bytes(TEXT)
        assert await buttons(site) == []
        assert len(HtmlPage((await get(site, "/notes/a.md"))[1]).all("input")) >= 3
        assert (await post(site, "/tasks/a.md", {"task": "4 00000000 done"}))[0] == 403
