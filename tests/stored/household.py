"""A household that talks with the assistant for a day, and everything that the program says of it afterwards."""

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.archives.export import format_json_lines, list_conversations
from bot.messages import Attachment
from bot.web.app import build_web_app
from tests.fakes.assistant_exports import chatgpt_conversation, write_chatgpt_zip
from tests.fakes.commonplace import Commonplace
from tests.fakes.harness import Harness, open_harness
from tests.fakes.html_page import HtmlPage
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.turns import message

TOKEN = "correct horse battery staple"
TERMINAL, OWNER, FRIEND = "terminal:owner", "telegram:1", "telegram:2"
BEN, CLEO, MALLORY, DORA = "telegram:77", "telegram:78", "telegram:79", "telegram:80"
ROOM = "telegram:-500"
MANUAL = Attachment("document", "manual-1", "boiler.txt", "text/plain", 58)
MANUAL_TEXT = b"Boiler manual. Press the red button for three seconds to reset."
NOTES = {
    "MEMORY.md": "# Memory\n\n- Anna lives in Bergen.\n",
    "2026-11-19.md": "# 2026-11-19\n\n- The boiler was serviced by Mr Lang.\n- 备用钥匙在门口的花盆下面。\n",
    "trips/oslo.md": "# Oslo\n\nWe stay at the Grand Hotel, room 402.\n\n- Take the tram 12 to Majorstuen.\n",
    "old/ideas.md": "# Ideas\n\nA boat with a blue sail.\n",
    "old/list.md": "# List\n\nFlour and yeast.\n",
}
FORGOTTEN = "4711"
STORED_IDS = 300
"""More messages than the household sends."""

COMMANDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    (OWNER, "/reminders"): ("tea", "4 May 2099", "bins", "every week on Monday", "What is on today?"),
    (FRIEND, "/reminders"): ("the ferry", "5 May 2099"),
    (OWNER, "/language"): ("English",),
    (BEN, "/language"): ("Deutsch",),
    (OWNER, "/model"): ("scripted/model",),
    (OWNER, "/usage"): ("scripted/model",),
    (OWNER, "/models"): ("scripted/model",),
    (OWNER, "/changes 30"): ("MEMORY.md", "trips/oslo.md", "2026-11-21.md", "old/ideas.md"),
    (OWNER, "/link"): (FRIEND, BEN),
    (OWNER, "/pair"): (DORA, "WAITING2"),
    (OWNER, "/memory trash"): ("trips/oslo.md", "old/ideas.md"),
    (OWNER, "/memory get MEMORY.md"): ("Anna is allergic to peanuts.",),
    (OWNER, "/recall violin"): ("The violin is at the luthier's.",),
    (OWNER, "/recall 钥匙"): ("备用钥匙在门口的花盆下面。",),
    (TERMINAL, "/recall kayak"): ("The kayak is in the attic.",),
    (OWNER, "/why MEMORY.md:4"): ("Please remember that I am allergic to peanuts.",),
    (OWNER, "/recall knead"): ("Knead for ten minutes.",),
    (OWNER, "/recall boiler manual"): ("Press the red button",),
}
"""What people ask, and what the answer tells them."""

PAGES: Mapping[str, tuple[str, ...]] = {
    "/": ("The violin is at the luthier's.", "tea", "bins", "the ferry", DORA),
    "/people": (BEN, CLEO, MALLORY, FRIEND, "Accounts of one person"),
    "/changes": ("Anna is allergic to peanuts.", "room 405", "A slip of the pen."),
    "/conversations": ("The kayak", OWNER, ROOM, "Has anybody seen the cat?"),
    "/trash": ("old/ideas.md", "trips/oslo.md"),
    "/notes/trips/oslo.md": ("room 405",),
    "/notes/old/list.md": ("Flour and yeast.",),
    "/models": ("scripted/model",),
    "/search?q=violin": ("The violin is at the luthier's.",),
    "/search?q=cat&source=conversations": ("Has anybody seen the cat?",),
}
"""Pages for the owner, and what each tells."""

CALLS: Mapping[str, dict[str, Any]] = {
    "memory.search": {"query": "Who serviced the boiler?", "source": "all"},
    "memory.changes": {"limit": 50},
    "memory.status": {},
    "sessions.list": {"limit": 50},
}
"""Calls by JSON-RPC, whose answers are kept whole."""
NOT_KEPT = {
    "last_indexed_at",
    "latest_note_at",
    "score",
    "cache",
    "modified",
    "modified_at",
    "memory_mb",
    "who",
}
"""Fields that say when something was read or how well it fits, or that are words for people ('who')."""


@dataclass(frozen=True, slots=True)
class Household:
    """The assistant with its page, as the owner sees it."""

    house: Harness
    model: ScriptedModel
    page: TestClient[web.Request, web.Application]

    async def say(self, who: str, text: str, **more: Any) -> str:
        """Say something in one's own chat, or another; return the reply."""
        return await self.house.say(text, chat=who.replace("owner", "main"), sender=who, **more)

    async def say_in_room(self, text: str) -> str:
        """Say something in the room, as the owner."""
        await self.house.accept(text, chat=ROOM, sender=OWNER, alone=False, in_room=True)
        await self.house.wait_until_idle()
        return self.house.reply(-1)

    async def get(self, path: str) -> str:
        """Return the visible text of a page."""
        async with self.page.get(path, headers=_bearer()) as answer:
            assert answer.status == 200, (path, answer.status)
            return " ".join(" ".join(HtmlPage(await answer.text()).by_id("main").text.split()).split())

    async def post(self, path: str, **fields: str) -> None:
        """Send a form of the page."""
        async with self.page.post(path, data=fields, headers=_bearer(), allow_redirects=False) as answer:
            assert answer.status == 303, (path, answer.status, await answer.text())

    async def hidden(self, path: str, name: str) -> str:
        """Return the value of a hidden field."""
        async with self.page.get(path, headers=_bearer()) as answer:
            page = HtmlPage(await answer.text())
        return next(
            each.attributes["value"] for each in page.all("input") if each.attributes.get("name") == name
        )

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a call by JSON-RPC."""
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with self.page.post("/rpc", json=asked, headers=_bearer()) as answer:
            return (await answer.json())["result"]


def _bearer() -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def open_household(workspace: Path) -> AsyncIterator[Household]:
    """Open the assistant and its page on a workspace."""
    model = ScriptedModel()
    async with open_harness(workspace, model=model, token=TOKEN) as house:
        house.terminal.files["manual-1"] = house.telegram.files["manual-1"] = MANUAL_TEXT
        services = house.assistant.services
        app = build_web_app(channels=services.channels.health, memory=services.memory, services=services)
        async with TestClient(TestServer(app)) as page:
            yield Household(house, model, page)
        await house.chain.health.write()


async def live(workspace: Path) -> None:
    """Let the household talk for a day, in a new workspace; nothing is left unanswered."""
    for path, text in NOTES.items():
        (note := workspace / "memory" / path).parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, "utf-8")
    async with open_household(workspace) as home:
        await _talk(home)
        await _set_reminders(home)
        await _let_people_in(home)
        await _change_notes(home)
        await _forget(home)
    await asyncio.to_thread(_import, workspace)


async def _talk(home: Household) -> None:
    said, model = home.say, home.model
    write = ("memory_write", {"content": "Anna is allergic to peanuts.", "target": "core"})
    model.enqueue("", calls=[write])
    model.enqueue("I have noted it.")
    await said(OWNER, "Please remember that I am allergic to peanuts.")
    await said(OWNER, "/model scripted/model")
    await said(OWNER, "/remember The violin is at the luthier's.")
    await said(OWNER, "/remember", attachments=(MANUAL,))
    model.enqueue("In the garden, perhaps.")
    await home.say_in_room("/memory on")
    await home.say_in_room("Has anybody seen the cat?")
    model.enqueue("- Anna lives in Bergen.")
    await said(OWNER, "/flush")
    model.enqueue("We spoke of peanuts.")
    await said(OWNER, "/compact")
    model.enqueue("- Nothing new was said.")
    await said(OWNER, "/new")
    model.enqueue("Good evening!")
    await said(OWNER, "Good evening.")
    model.enqueue("Hello from here.")
    await said(TERMINAL, "Hello from the terminal.")


async def _set_reminders(home: Household) -> None:
    await home.say(OWNER, "/remind 2099-05-04 09:00 tea")
    await home.say(OWNER, "/remind every monday 8:00 bins")
    await home.say(OWNER, "/remind 2099-05-06 10:00 nothing")
    await home.say(OWNER, "/reminders cancel 3")
    await home.say(OWNER, "/schedule every day 7:30 What is on today?")
    await home.say(FRIEND, "/remind 2099-05-05 10:00 the ferry")


async def _let_people_in(home: Household) -> None:
    for who, standing in ((BEN, ""), (CLEO, " guest")):
        code = re.search(r"/pair (\w{8})", await home.say(who, "Let me in!"))
        assert code
        await home.say(OWNER, f"/pair {code[1]}{standing}")
    await home.say(OWNER, f"/deny {MALLORY}")
    await home.say(DORA, "May I talk with you?")
    await home.house.state.change(lambda db: db.execute("UPDATE pairing SET code = 'WAITING2'"))
    await home.say(BEN, "/language de")
    await home.say(OWNER, "/link telegram:2 telegram:77")


async def _change_notes(home: Household) -> None:
    await home.say(OWNER, "/correct trips/oslo.md:3 We stay at the Grand Hotel, room 405.")
    await home.say(OWNER, "/remember A slip of the pen.")
    await home.say(OWNER, "/undo")
    await home.say(OWNER, "/redo")
    await home.say(OWNER, "/undo")
    for path in ("old/list.md", "old/ideas.md"):
        await home.post(f"/delete/{path}", digest=await home.hidden(f"/delete/{path}", "digest"))
        if path == "old/list.md":
            await home.post("/trash", number=await home.hidden("/trash", "number"))


async def _forget(home: Household) -> None:
    home.model.enqueue("I see.")
    await home.say(OWNER, f"The locker code is {FORGOTTEN}.")
    await home.say(OWNER, f"/remember The locker code is {FORGOTTEN}.")
    code = re.search(r"/forget yes (\w+)", await home.say(OWNER, f"/forget {FORGOTTEN}"))
    assert code
    await home.say(OWNER, f"/forget yes {code[1]}")


def _import(workspace: Path) -> None:
    """Import a conversation, then a folder of notes."""
    said = [("user", "Where is the kayak?"), ("assistant", "The kayak is in the attic.")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        talk = chatgpt_conversation("c1", said, title="The kayak")
        export = write_chatgpt_zip(folder / "export.zip", [talk])
        (vault := folder / "vault").mkdir()
        (vault / "Bread.md").write_text("# Bread\n\nKnead for ten minutes.\n")
        for source in (export, vault):
            Commonplace(folder).output_of("import", str(source), "--workspace", str(workspace))


# -- what the program says of it --------------------------------------------------------------------------------


async def read(workspace: Path) -> dict[str, Any]:
    """Return what the program tells of the household, by its export and JSON-RPC; it keeps what COMMANDS and PAGES say.

    Raises AssertionError if a command or a page does not tell what it should.
    """
    pass_stored_ids()
    async with open_household(workspace) as home:
        state = home.house.state
        exported = [
            json.loads(line)
            for each in await list_conversations(state)
            async for line in format_json_lines(state, each)
        ]
        documents = {method: keep(await home.call(method, params)) for method, params in CALLS.items()}
        for path, facts in PAGES.items():
            _check(path, await home.get(path), facts)
        for (who, text), facts in COMMANDS.items():
            _check(f"{who}: {text}", await home.say(who, text), facts)
        assert home.model.left == 0
    return {"export": exported, **documents}


def pass_stored_ids() -> None:
    """Let the next message have an id that no stored household has used: another one would be no new message."""
    while int(message("").id) < STORED_IDS:
        pass


def _check(asked: str, told: str, facts: tuple[str, ...]) -> None:
    missing = [fact for fact in facts if fact not in told]
    assert not missing, f"{asked} does not tell {missing}, but:\n{told}"
    assert FORGOTTEN not in told, asked


def keep(document: Any) -> Any:
    """Return a document without the fields NOT_KEPT."""
    if isinstance(document, dict):
        return {key: keep(value) for key, value in document.items() if key not in NOT_KEPT}
    return [keep(each) for each in document] if isinstance(document, list) else document
