"""Changes to the notes over HTTP: JSON-RPC and the status page."""

import re
from pathlib import Path
from typing import Any

import pytest

from bot import phrases
from bot.state.changes import ChangeOrigin
from bot.state.links import save_link
from bot.web.changes import OVER_HTTP
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


async def page(site: WebClient, path: str = "/") -> HtmlPage:
    async with site.client.get(path, headers=site.token) as answer:
        assert answer.status == 200
        return HtmlPage(await answer.text())


def rows_of(shown: HtmlPage) -> list[str]:
    """What is told of each change."""
    return [each.text for each in shown.all("li") if re.match(r"Change \d+ ", each.text)]


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
        assert (last["made_by"], last["undoes"], last["who"]) == ("http", 2, "a program over HTTP")
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
            shown = HtmlPage(await answer.text())
            assert not [each for each in shown.elements if each.attributes.get("id") == "changes"]
            assert "commonplace init page" in shown.all("main")[0].text
        async with site.client.get("/changes") as answer:
            assert answer.status == 403
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
        assert len(rows) == 6
        assert rows[0].startswith(f"Change 12 {path} added “{HOSTILE}” ")
        assert rows[0].endswith(f"telegram:2 What changed +- {HOSTILE} Undo")
        assert not any(HOSTILE in each.text for each in shown.all("script"))
        assert (await press_undo(site, "12"))[0] == 303
        assert HOSTILE not in await text_of(site, path)
        rows = rows_of(await page(site))
        assert rows[0].startswith(f"Change 13 {path} undid #12: removed “{HOSTILE}” ")
        assert ", you, on the page What changed -- " in rows[0]
        assert rows[0].endswith(" Redo")
        assert f"added “{HOSTILE}” (undone)" in rows[1]


async def test_who_uses_the_page_is_you_only_if_nobody_else_is_an_owner(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN, access={"owners": ["telegram:1", "discord:1"]}) as site:
        await site.services.note_writer.write("tea", key="page/1", origin=OVER_HTTP)
        assert "an owner, on the page" in rows_of(await page(site))[0]
        await site.services.state.change(
            lambda db: save_link(db, "discord:1", "telegram:1", by="terminal:owner", at="")
        )
        assert "you, on the page" in rows_of(await page(site))[0]


async def test_a_deleted_note_is_told_as_deleted(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        for number, text in enumerate(("# The garden\n\nRoses.\n", "Only a line.\n"), start=1):
            path = f"{number}.md"
            (tmp_path / "memory").mkdir(exist_ok=True)
            (tmp_path / "memory" / path).write_text(text)
            digest = (await site.services.memory.read_whole(path)).digest
            await site.services.note_writer.delete(
                path, digest=digest, key=f"page/{number}", origin=OVER_HTTP
            )
        plain, titled = rows_of(await page(site))
        assert titled.startswith("Change 1 1.md deleted the note “The garden”")
        assert plain.startswith("Change 2 2.md deleted the note “2.md”")
        assert (await press_undo(site, "1"))[0] == 303
        undone, *_, original = rows_of(await page(site))
        assert undone.startswith("Change 3 1.md undid #1: restored the note “The garden”")
        assert original.startswith("Change 1 1.md deleted the note “The garden” (undone)")


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
        assert all("nonce" in each.attributes for each in shown.all("script"))
        for number, status in (("9", 409), ("x", 400), ("", 400)):
            assert (await press_undo(site, number))[0] == status


async def test_all_changes_are_paged_and_those_of_one_note_shown_alone(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        path = await note(site, *(f"fact {number}" for number in range(23)))
        await site.services.note_writer.write("tea", key="core", origin=BEN, target="core")
        shown = await page(site, "/changes")
        assert [row.split()[1] for row in rows_of(shown)] == [str(number) for number in range(24, 4, -1)]
        (earlier,) = (each for each in shown.all("a") if each.attributes.get("rel") == "next")
        shown = await page(site, earlier.attributes["href"])
        assert [row.split()[1] for row in rows_of(shown)] == ["4", "3", "2", "1"]
        assert [each.attributes["rel"] for each in shown.all("a") if "rel" in each.attributes] == ["prev"]
        shown = await page(site, "/changes?note=MEMORY")
        assert [row.split()[1] for row in rows_of(shown)] == ["24"]
        assert shown.by_id("note").attributes["value"] == "MEMORY.md"
        assert len(rows_of(await page(site, f"/changes?note={path}&before=x"))) == 20
        shown = await page(site, f"/changes?note={HOSTILE}")
        assert "No changes to this note are recorded." in shown.by_id("changes").text
        assert all("nonce" in each.attributes for each in shown.all("script"))


async def test_a_change_is_undone_once_and_one_comes_back_to_where_one_was(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        path = await note(site, "bread", "milk", "tea")
        shown = await page(site, f"/changes?note={path}&before=3")
        fields = {
            each.attributes["name"]: each.attributes["value"]
            for each in reversed(shown.all("input"))
            if each.attributes["type"] == "hidden"
        }
        assert (fields["number"], fields["page"], fields["note"]) == ("2", "/changes", path)
        for _ in range(2):
            async with site.client.post(
                "/undo", data=fields, headers=site.token, allow_redirects=False
            ) as answer:
                assert answer.headers["Location"] == f"/changes?note={path}&done=undone#done"
        assert "milk" not in await text_of(site, path)
        shown = await page(site, f"/changes?note={path}&done=undone")
        assert [each.text for each in shown.all("p") if each.attributes.get("role") == "status"] == [
            "Change undone."
        ]
        assert len(rows_of(shown)) == 4
        fields["number"] = "1"  # another one, from the same page
        async with site.client.post(
            "/undo", data=fields, headers=site.token, allow_redirects=False
        ) as answer:
            assert answer.status == 303
        assert "bread" not in await text_of(site, path)


async def test_a_diff_of_a_long_change_is_cut(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        for number in range(20):
            await note(site, f"{number} {'word ' * 200}\n\n" * 30)
        async with site.client.get("/changes", headers=site.token) as answer:
            text = await answer.text()
        assert len(text.encode()) < 60_000
        assert "more lines" in HtmlPage(text).all("pre")[0].text


async def test_a_browser_needs_the_field_of_its_session_to_undo(tmp_path: Path) -> None:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        path = await note(site, "bread")
        async with site.client.post("/undo", data={"number": "1"}, headers=site.cookie) as answer:
            assert answer.status == 403
        assert "bread" in await text_of(site, path)
