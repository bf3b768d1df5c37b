"""Changes to the notes over HTTP: JSON-RPC and the status page."""

from pathlib import Path
from typing import Any

import pytest

from bot import phrases
from bot.state.changes import ChangeOrigin
from bot.web.rpc.protocol import INVALID_PARAMS, NOT_FOUND, SERVER_ERROR
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HOSTILE = "<script>alert(1)</script>"
BEN = ChangeOrigin("command", person="telegram:2", chat="telegram:2")


async def rpc(site: WebClient, method: str, **params: Any) -> dict[str, Any]:
    """Call a method, and return the whole response."""
    body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    async with site.client.post("/rpc", json=body, headers=site.token) as answer:
        document: dict[str, Any] = await answer.json()
        return document


async def note(site: WebClient, *texts: str) -> str:
    """Note some texts, and return the note's path."""
    for number, text in enumerate(texts):
        written = await site.services.note_writer.write(text, key=f"{number} {text}", origin=BEN)
    return written.path


async def text_of(site: WebClient, path: str) -> str:
    return (await site.services.memory.get(path)).text


async def page(site: WebClient) -> HtmlPage:
    async with site.client.get("/", headers=site.token) as answer:
        assert answer.status == 200
        return HtmlPage(await answer.text())


def rows_of(shown: HtmlPage) -> list[str]:
    """The rows of the changes, without their heading."""
    rows = [each.text for each in shown.all("tr") if each.text.startswith("Change ")]
    return [row for row in rows if row.split()[1].isdigit()]


async def press_undo(site: WebClient, number: str, **headers: str) -> tuple[int, str]:
    """Send the form of a button; return status and text of the response."""
    posted = site.client.post(
        "/undo", data={"number": number}, headers={**site.token, **headers}, allow_redirects=False
    )
    async with posted as answer:
        return answer.status, await answer.text()


async def test_a_program_lists_changes_and_takes_them_back(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        path = await note(site, "bread", "milk", "tea")
        listed = (await rpc(site, "memory.changes", limit=2))["result"]["changes"]
        assert [(each["number"], each["new"], each["person"]) for each in listed] == [
            (3, ["- tea"], "telegram:2"),
            (2, ["- milk"], "telegram:2"),
        ]
        (first,) = (await rpc(site, "memory.changes", before=2, path=path))["result"]["changes"]
        for name in (f"memory/{path}", path.removesuffix(".md")):
            assert (await rpc(site, "memory.changes", before=2, path=name))["result"]["changes"] == [first]
        assert (first["number"], first["who"], first["stands"]) == (1, "telegram:2", True)
        undone = (await rpc(site, "memory.undo", number=2))["result"]
        assert (undone["number"], undone["change"], undone["removed"]) == (2, 4, ["- milk"])
        assert "milk" not in await text_of(site, path)
        (last,) = (await rpc(site, "memory.changes", limit=1))["result"]["changes"]
        assert (last["made_by"], last["undoes"], last["who"]) == ("http", 2, "HTTP")
        assert (await rpc(site, "memory.undo", number=4))["result"]["redone"] is True


async def test_why_a_change_is_not_taken_back_is_told(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        path = await note(site, "The key is under the mat.")
        unknown = (await rpc(site, "memory.undo", number=9))["error"]
        assert (unknown["code"], unknown["message"]) == (NOT_FOUND, "There is no change 9.")
        assert (await rpc(site, "memory.undo", number=0))["error"]["code"] == INVALID_PARAMS
        assert (await rpc(site, "memory.undo"))["error"]["code"] == INVALID_PARAMS
        file = tmp_path / "memory" / path
        file.write_text(file.read_text().replace("mat", "doormat"))
        refused = (await rpc(site, "memory.undo", number=1))["error"]
        assert refused["code"] == SERVER_ERROR
        assert refused["message"].endswith(
            "\n- - The key is under the mat.\n+ - The key is under the doormat."
        )


async def test_without_a_token_nobody_sees_or_undoes_them(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as site:
        path = await note(site, "The key is under the mat.")
        for method, params in (("memory.changes", {}), ("memory.undo", {"number": 1})):
            body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
            async with site.client.post("/rpc", json=body) as answer:
                assert (await answer.json())["error"] == {
                    "code": SERVER_ERROR,
                    "message": phrases.CHANGES_OVER_HTTP,
                }
        async with site.client.get("/") as answer:
            assert HtmlPage(await answer.text()).by_id("changes-list").text == phrases.CHANGES_OVER_HTTP
        async with site.client.post("/undo", data={"number": "1"}) as answer:
            assert (answer.status, await answer.text()) == (403, f"{phrases.WEB_LOCKED}\n")
        assert "key" in await text_of(site, path)


async def test_with_a_token_nobody_undoes_without_it(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        path = await note(site, "The key is under the mat.")
        async with site.client.post("/undo", data={"number": "1"}) as answer:
            assert answer.status == 401
        assert (await press_undo(site, "1", Origin="https://other.example"))[0] == 403
        assert "key" in await text_of(site, path)


async def test_the_page_shows_the_latest_changes_with_a_button_each(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        assert (await page(site)).by_id("changes-list").text == "No changes to the notes are recorded."
        path = await note(site, *(f"fact {number}" for number in range(11)), HOSTILE)
        shown = await page(site)
        rows = rows_of(shown)
        assert len(rows) == 10
        assert rows[0].startswith("Change 12 ")
        assert rows[0].endswith(f"telegram:2 {path} added “{HOSTILE}” Undo")
        assert not any(HOSTILE in each.text for each in shown.all("script"))
        assert (await press_undo(site, "12"))[0] == 303
        assert HOSTILE not in await text_of(site, path)
        rows = rows_of(await page(site))
        assert rows[0].endswith(f"HTTP {path} undid #12: removed “{HOSTILE}” Redo")
        assert rows[1].endswith(f"added “{HOSTILE}” (undone)")


async def test_the_page_says_why_a_change_is_not_taken_back(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        path = await note(site, "The key is under the mat.")
        file = tmp_path / "memory" / path
        file.write_text(file.read_text().replace("mat.", f"mat. {HOSTILE}"))
        status, text = await press_undo(site, "1")
        shown = HtmlPage(text)
        assert status == 409
        assert "edited since" in text
        (diff,) = shown.all("pre")
        assert HOSTILE in diff.text
        assert not shown.all("script")
        for number, status in (("9", 409), ("x", 400), ("", 400)):
            assert (await press_undo(site, number))[0] == status
