"""Conversations on the page: listed, read, downloaded and forgotten, by who has the token alone."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest
from yarl import URL

from bot import phrases
from bot.conversations.conversation import Conversation
from bot.conversations.message_rows import encode_message
from bot.messages import ChatId, PersonId, Quoted
from bot.models.protocol import AssistantMessage, AttachedText, Image, ToolCall, ToolResult, UserMessage
from bot.service.adapters import INPUT_HISTORY_FILE
from bot.state import forgetting
from bot.state.changes import ChangeOrigin
from bot.state.conversations import append
from bot.state.database import format_timestamp
from bot.state.flushes import close, save_chat
from bot.state.imports import NewConversation, NewMessage, add_conversation, begin_run
from bot.web.forms import FORM_FIELD
from bot.web.page.conversation import MAX_MESSAGE_CHARS, MAX_RENDERED_CHARS
from bot.web.page.conversations import LISTED
from bot.web.page.urls import ENTRIES_PER_PAGE
from bot.web.session import SESSION, new_form_token, new_session
from memory.forgetting import FORGOTTEN
from tests.fakes.forgetting_process import SAID, run_and_kill
from tests.fakes.html_page import HtmlPage
from tests.fakes.loop_lag import measure_loop_lag
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
BEN, ROOM = ChatId("telegram", "7"), ChatId("telegram", "-100")
PERSON = PersonId("telegram", "7")
SECRET = "xylophagous"
ADDRESSES = (
    "/conversations",
    "/conversations/1",
    "/conversations/1/export.md",
    "/conversations/1/export.jsonl",
    "/conversations/1/forget",
    "/conversations/1/search?q=boat",
)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        yield site


async def say(site: WebClient, chat: ChatId, *messages: UserMessage | AssistantMessage | ToolResult) -> int:
    """Add messages to a chat's open conversation; return its number."""
    entries = [
        encode_message(each, by=str(PERSON) if isinstance(each, UserMessage) else "") for each in messages
    ]
    rows = await site.services.state.append(None, str(chat), entries, after=0)
    return rows[-1].conversation


async def say_on(site: WebClient, chat: ChatId, day: str, *texts: str) -> None:
    """Add messages with a time of their own."""

    def write(db: apsw.Connection) -> None:
        entries = [("user", json.dumps({"text": each, "documents": []})) for each in texts]
        after = db.execute(
            "SELECT coalesce(max(seq), 0) FROM entries JOIN conversations ON id = conversation "
            "WHERE chat = ? AND ended_at IS NULL",
            (str(chat),),
        ).get
        append(db, None, str(chat), entries, after=after, at=f"{day}T12:00:00.000+00:00")

    await site.services.state.change(write)


async def import_one(site: WebClient, title: str, *texts: str) -> None:
    def write(db: apsw.Connection) -> None:
        at = "2024-05-01T10:00:00.000+00:00"
        run = begin_run(db, chat="imported:telegram:7", format="chatgpt", source="x.zip", at=at)
        said = [
            NewMessage(number, "user", json.dumps({"text": each, "documents": []}), at)
            for number, each in enumerate(texts)
        ]
        add_conversation(db, run, NewConversation("chatgpt", str(len(texts)), title, at, said))

    await site.services.state.change(write)


async def name_chat(site: WebClient, chat: ChatId, name: str) -> None:
    await site.services.state.change(lambda db: save_chat(db, str(chat), name=name, flush=True))


async def get(site: WebClient, address: str, status: int = 200) -> str:
    async with site.client.get(URL(address, encoded=True), headers=site.token) as answer:
        assert answer.status == status, address
        return await answer.text()


async def page(site: WebClient, address: str, status: int = 200) -> HtmlPage:
    return HtmlPage(await get(site, address, status))


async def post(site: WebClient, address: str, **fields: object) -> tuple[int, str, str]:
    """Send a form as a program with the token; return status, where it leads, and the text."""
    data = {name: str(value) for name, value in fields.items()}
    async with site.client.post(address, data=data, headers=site.token, allow_redirects=False) as answer:
        return answer.status, answer.headers.get("Location", ""), await answer.text()


def titles(shown: HtmlPage) -> list[str]:
    return [each.text for each in shown.all("h2")]


def is_in_a_file(site: WebClient, word: str) -> bool:
    """Whether a word is in any file of the workspace, also in free pages of a database."""
    files = [each for each in site.folder.rglob("*") if each.is_file()]
    return any(word.encode() in each.read_bytes() for each in files)


# -- who may -------------------------------------------------------------------------------------------------


async def test_without_a_token_nobody_sees_them(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as site:
        await say(site, BEN, UserMessage("the boat"))
        for address in ADDRESSES:
            async with site.client.get(address) as answer:
                assert answer.status == 403, address
                assert "boat" not in await answer.text()
        async with site.client.post("/conversations/1/forget", data={"upto": "1"}) as answer:
            assert answer.status == 403
        assert "boat" in str(await site.services.state.read(lambda db: forgetting.read_entries(db, 1, [1])))


async def test_whoever_has_not_signed_in_is_asked_to(site: WebClient) -> None:
    await say(site, BEN, UserMessage("the boat"))
    for address in ADDRESSES:
        async with site.client.get(address) as answer:
            assert answer.status == 401
            assert "boat" not in await answer.text()


async def test_a_form_without_its_hidden_field_forgets_nothing(site: WebClient) -> None:
    await say(site, BEN, UserMessage("the boat"))
    session = new_session(TOKEN, now=time.time())
    fields = {"day": "", "upto": "1"}
    for extra, status in (
        ({}, 403),
        ({FORM_FIELD: "guess"}, 403),
        ({FORM_FIELD: new_form_token(session, TOKEN)}, 303),
    ):
        async with site.client.post(
            "/conversations/1/forget",
            data={**fields, **extra},
            headers={"Cookie": f"{SESSION}={session}"},
            allow_redirects=False,
        ) as answer:
            assert answer.status == status
        assert ("boat" in await get(site, "/conversations/1")) == (status == 403)


# -- the list -------------------------------------------------------------------------------------------------


async def test_they_are_listed_by_kind_the_latest_first(site: WebClient) -> None:
    await import_one(site, "Holidays", "Where to?")
    await say_on(site, ROOM, "2026-02-01", "who brings the cake?")
    await say_on(site, BEN, "2026-03-01", "Hello there", "and more")
    await say_on(site, ChatId("terminal", "main"), "2026-01-01", "in the terminal")
    await name_chat(site, BEN, "Ben")
    await name_chat(site, ROOM, "Family")
    shown = await page(site, "/conversations")
    assert titles(shown) == ["Ben (Telegram)", "Family (Telegram)", "Terminal", "Holidays (ChatGPT)"]
    text = shown.by_id("main").text
    assert "4 conversations, the latest first" in text
    assert "2 messages · still open · telegram:7 Hello there" in text
    assert "1 message · imported:telegram:7 Where to?" in text
    for kind, expected in (
        ("person", ["Ben (Telegram)", "Terminal"]),
        ("room", ["Family (Telegram)"]),
        ("imported", ["Holidays (ChatGPT)"]),
        ("nonsense", titles(shown)),
    ):
        assert titles(await page(site, f"/conversations?kind={kind}")) == expected
    assert titles(await page(site, "/conversations?chat=telegram:-100")) == ["Family (Telegram)"]
    assert "no conversations here" in await get(site, "/conversations?chat=../../etc/passwd")


async def test_many_are_listed_a_page_at_a_time(site: WebClient) -> None:
    def write(db: apsw.Connection) -> None:
        for number in range(1, 2 * LISTED + 6):
            at = f"2025-01-01T00:{number % 7:02d}:00.000+00:00"
            append(db, None, "telegram:7", [("user", json.dumps({"text": f"n{number}."}))], after=0, at=at)
            if number < 2 * LISTED + 5:
                close(db, number, at=at)

    await site.services.state.change(write)
    found: list[str] = []
    address = "/conversations"
    for _ in range(3):
        shown = await page(site, address)
        found += [each.text for each in shown.all("p") if each.attributes.get("class") == "first-words"]
        links = [each for each in shown.all("a") if each.text == "Older →"]
        address = links[0].attributes["href"] if links else ""
    assert not address
    assert len(found) == len(set(found)) == 2 * LISTED + 5


async def test_an_address_that_is_none_is_the_first_page(site: WebClient) -> None:
    await say(site, BEN, UserMessage("the boat"))
    for before in ("x", "~", "1~", "2026-01-01~99999999999999999999", "';DROP+TABLE+entries--~1", "%00~1"):
        assert titles(await page(site, f"/conversations?before={before}")) == ["Telegram"]


# -- reading --------------------------------------------------------------------------------------------------


async def test_a_conversation_is_shown_with_all_that_belongs_to_it(site: WebClient) -> None:
    await name_chat(site, BEN, "Ben")
    spoken = AttachedText("voice message, 3 s", "and *bread*", spoken=True)
    bill = AttachedText("document 1: bill.pdf (PDF, 1.2 MB)", "148", mark="abcdefabcdef", number=1)
    await say(
        site,
        BEN,
        UserMessage(
            "Buy **milk**\n\n# now",
            (Image("image/png", b"1" * 40_000),),
            quoted=Quoted("what to buy?", mine=True),
            documents=(spoken, bill),
        ),
        AssistantMessage("", (ToolCall("abc", "memory_search", '{"query": "milk"}'),), "x/y"),
        ToolResult("abc", "memory_search", '{"results": []}'),
        AssistantMessage("I noted it.", says=("bill.pdf",)),
    )
    talk = Conversation(site.services.state, BEN)
    await talk.load()
    await talk.retract()
    await talk.append(AssistantMessage("Noted again."))
    await talk.compact(6, "Ben wants *milk*", "notes")
    shown = await page(site, "/conversations/1")
    text = shown.by_id("m1").text
    for piece in ("Ben", "Buy milk", "now", "what to buy?", "and bread", "bill.pdf", "Has pictures"):
        assert piece in text, piece
    assert [each.text for each in shown.all("strong") if "li" in each.inside] == [
        "Ben",
        "milk",
        "now",
        "Commonplace",
        "Commonplace",
    ]
    called = shown.by_id("m2").text
    assert 'memory_search {"query": "milk"}{"results": []}' in called
    assert not [each for each in shown.elements if each.attributes.get("id") == "m3"], "it is beside its call"
    assert "Repeats what bill.pdf says." in shown.by_id("m4").text
    assert "discarded, and a new one asked for" in shown.by_id("m5").text
    assert "Noted again." in shown.by_id("m6").text
    assert "The conversation so far was summarised" in shown.by_id("m7").text
    assert "Ben wants milk" in shown.by_id("m7").text
    assert "looked at the notes" in shown.by_id("m8").text
    inside = [each.inside for each in shown.all("pre")]
    assert inside
    assert all("details" in each for each in inside)


async def test_hostile_text_is_text(site: WebClient) -> None:
    await name_chat(site, BEN, HOSTILE)
    await name_chat(site, ROOM, HOSTILE)
    link = "[x](javascript:alert(1)) ![p](https://e.example/p.png) <b onclick=x>b</b> \x1b[31m\u202e"
    await say(
        site,
        BEN,
        UserMessage(f"{HOSTILE}\n\n{link}", speaker=HOSTILE, quoted=Quoted(HOSTILE)),
        UserMessage(HOSTILE, forwarded_from=HOSTILE, documents=(AttachedText(HOSTILE),)),
        AssistantMessage(f"{HOSTILE} {link}", (ToolCall("c", HOSTILE, HOSTILE),), says=(HOSTILE,)),
        ToolResult("c", HOSTILE, HOSTILE, failed=True),
        ToolResult("elsewhere", HOSTILE, HOSTILE),
    )
    await import_one(site, HOSTILE, HOSTILE)
    for address in ("/conversations", "/conversations/1", "/conversations/1/forget", "/conversations/2"):
        text = await get(site, address)
        shown = HtmlPage(text)
        assert all("nonce" in each.attributes for each in shown.all("script")), address
        assert "<script>alert" not in text
        assert not shown.all("img")
        assert "\x1b" not in text
        assert not [
            each for each in shown.elements if "onclick" in each.attributes or "onerror" in each.attributes
        ]
        hrefs = [each.attributes["href"] for each in shown.all("a")]
        assert not [each for each in hrefs if each.startswith("javascript")], address


async def test_damaged_entries_are_said_to_be_damaged(site: WebClient) -> None:
    def write(db: apsw.Connection) -> None:
        damaged = [
            ("user", "{"),
            ("user", '{"text": 5}'),
            ("assistant", '{"text": ["a"], "calls": 7}'),
            ("assistant", '{"text": "a", "calls": [{"id": [], "name": {}, "arguments": 3}], "model": 1}'),
            ("result", "[]"),
            ("summary", '{"upto": "x"}'),
            ("passages", '{"passages": 3}'),
            ("of the future", "{}"),
            ("user", "[" * 5000),
        ]
        append(db, None, "telegram:7", damaged, after=0, at="no time at all")

    await site.services.state.change(write)
    assert "damaged entry" in (await page(site, "/conversations/1")).by_id("main").text
    assert await get(site, "/conversations/1/export.md")
    assert await get(site, "/conversations/1/forget")
    assert (await post(site, "/conversations/1/forget", upto=9))[0] == 303


@pytest.mark.parametrize(
    "address",
    [
        "/conversations/999",
        "/conversations/999/export.md",
        "/conversations/999/export.jsonl",
        "/conversations/999/forget",
        "/conversations/0",
        "/conversations/999999999999999999",
        "/conversations/9999999999999999999999",
        "/conversations/..%2f..%2fetc%2fpasswd",
        "/conversations/%2e%2e/%2e%2e/etc/passwd",
        "/conversations/1%00",
        "/conversations/-1",
        "/conversations/١",
        "/conversations/1/export.exe",
        "/conversations/1/forget?day=2020-01-01",
        "/conversations/1/forget?day=../../x",
        "/conversations/1/forget?day=<script>",
    ],
)
async def test_what_is_not_there_is_not_found(site: WebClient, address: str) -> None:
    await say(site, BEN, UserMessage("the boat"))
    async with site.client.get(URL(address), headers=site.token) as answer:
        assert answer.status == 404
        assert "<script>" not in await answer.text()


async def test_twenty_thousand_messages_are_read_a_page_at_a_time(site: WebClient) -> None:
    count = 20_000

    def write(db: apsw.Connection) -> None:
        said = [("user", json.dumps({"text": f"said {n}", "documents": []})) for n in range(1, count + 1)]
        append(db, None, "telegram:7", said, after=0, at=format_timestamp(site.services.now()))

    await site.services.state.change(write)
    last = await page(site, "/conversations/1")
    assert "Page 200 of 200" in last.by_id("main").text
    assert last.by_id(f"m{count}")
    middle = await page(site, "/conversations/1?page=100")
    assert len([each for each in middle.all("li") if each.attributes.get("id")]) == ENTRIES_PER_PAGE
    assert middle.by_id("m9901")
    assert (await page(site, "/conversations/1?page=999999")).by_id(f"m{count}")
    assert "20,000 messages" in (await page(site, "/conversations/1/forget")).by_id("main").text
    assert (await post(site, "/conversations/1/forget", upto=count))[0] == 303
    assert "said" not in (await page(site, "/conversations/1?page=100")).by_id("m9901").text


async def test_long_messages_are_cut_and_hostile_ones_rendered_in_bounded_time(site: WebClient) -> None:
    await say(site, BEN, UserMessage("*x* " * MAX_MESSAGE_CHARS), UserMessage("|" * 5_000))
    for _ in range(MAX_RENDERED_CHARS // MAX_MESSAGE_CHARS + 2):
        await say(site, BEN, AssistantMessage("*x* " * MAX_MESSAGE_CHARS))
    began = time.monotonic()
    text = await get(site, "/conversations/1")
    assert time.monotonic() - began < 20
    assert len(text) < 3_000_000
    shown = HtmlPage(text)
    assert "the downloaded file has all of it" in shown.by_id("m1").text
    assert "plain" in text, "what is beyond the limit is plain text"
    assert len(await get(site, "/conversations/1/export.md")) > 10 * len("*x* ") * MAX_MESSAGE_CHARS


@pytest.mark.parametrize("marks", ["[", "![", "[[", "*a_", "~~a"])
async def test_marks_that_take_the_renderer_long_are_shown_as_plain_text(site: WebClient, marks: str) -> None:
    hostile = (marks * MAX_MESSAGE_CHARS)[:MAX_MESSAGE_CHARS]
    await say(site, BEN, *(UserMessage(hostile) for _ in range(MAX_RENDERED_CHARS // MAX_MESSAGE_CHARS)))
    began = time.process_time()
    text = await get(site, "/conversations/1")
    assert time.process_time() - began < 3
    assert 'class="text plain"' in text
    assert marks * 100 in text


async def test_a_page_of_long_messages_and_tool_calls_is_bounded_and_delays_nobody(site: WebClient) -> None:
    calls = tuple(ToolCall(str(number), "search", '"<&' * 10_000) for number in range(20))
    pair = (UserMessage("<&" * 50_000), AssistantMessage("<&" * 50_000, calls))
    await say(site, BEN, *(each for _ in range(50) for each in pair))
    async with (
        measure_loop_lag() as (_, busy),
        site.client.get("/conversations/1", headers=site.token) as answer,
    ):
        assert answer.status == 200
        size = len(await answer.read())
    assert size < 8_000_000
    assert max(busy) < 0.25


# -- searching ------------------------------------------------------------------------------------------------


async def test_a_search_leads_to_the_message_on_its_page(site: WebClient) -> None:
    def write(db: apsw.Connection) -> None:
        said = [
            ("user", json.dumps({"text": f"word{n} of the boat", "documents": []})) for n in range(1, 251)
        ]
        append(db, None, "telegram:7", said, after=0, at=format_timestamp(site.services.now()))

    await site.services.state.change(write)
    shown = await page(site, "/search?source=conversations&q=word137")
    (link,) = [each for each in shown.all("a") if "/conversations/" in each.attributes["href"]]
    assert link.attributes["href"] == "/conversations/1?page=2#m137"
    found = await page(site, link.attributes["href"].partition("#")[0])
    assert "word137" in found.by_id("m137").text
    (form,) = [
        each
        for each in (await page(site, "/conversations")).all("form")
        if each.attributes["action"] == "/search"
    ]
    assert form.attributes.get("method", "get") == "get"


# -- downloading ----------------------------------------------------------------------------------------------


async def test_a_conversation_is_downloaded_by_a_safe_name(site: WebClient) -> None:
    await import_one(site, '../../x"\r\nSet-Cookie: a=b; ünïcode.exe', HOSTILE)
    for kind, content_type in (("md", "text/markdown"), ("jsonl", "application/x-ndjson")):
        async with site.client.get(f"/conversations/1/export.{kind}", headers=site.token) as answer:
            assert answer.status == 200
            assert answer.content_type == content_type
            assert answer.headers["Content-Disposition"] == (
                f'attachment; filename="conversation-1-x-set-cookie-a-b-n-code-exe-2024-05-01.{kind}"'
            )
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "Set-Cookie" not in answer.headers
            text = await answer.text()
        assert HOSTILE in (text if kind == "md" else json.loads(text.splitlines()[1])["payload"]["text"])


# -- searching ------------------------------------------------------------------------------------------------


async def test_one_conversation_is_searched_and_each_result_leads_to_its_message(site: WebClient) -> None:
    await say(site, BEN, *(UserMessage(f"nothing {n}") for n in range(ENTRIES_PER_PAGE)))
    await say(site, BEN, UserMessage(f"the boat {HOSTILE} leaks"), AssistantMessage("Which boat?"))
    await say(site, ROOM, UserMessage("another boat"))
    shown = await page(site, "/conversations/1")
    (form,) = [each for each in shown.all("form") if each.attributes.get("action", "").endswith("/search")]
    assert form.attributes["action"] == "/conversations/1/search"
    shown = await page(site, "/conversations/1/search?q=boat+leaks")
    links = [each.attributes["href"] for each in shown.all("a") if "#m1" in each.attributes["href"]]
    assert links[0] == "/conversations/1?page=2#m101"
    assert all(each.startswith("/conversations/1?") for each in links), "only this conversation is searched"
    assert [each.text for each in shown.all("mark")][:2] == ["boat", "leaks"]
    assert HOSTILE in shown.by_id("main").text
    assert not [each for each in shown.all("script") if "alert" in each.text]
    assert "the boat" in (await page(site, links[0].partition("#")[0])).by_id("m101").text


async def test_what_is_not_found_in_a_conversation_leads_to_the_search_of_everything(site: WebClient) -> None:
    await say(site, BEN, UserMessage("the boat"))
    shown = await page(site, "/conversations/1/search?q=xylophone")
    assert "Nothing found for “xylophone” in this conversation" in shown.by_id("main").text
    assert "/search?source=all&q=xylophone" in [each.attributes["href"] for each in shown.all("a")]
    assert "found" not in (await page(site, "/conversations/1/search")).by_id("main").text
    await get(site, "/conversations/999/search?q=boat", 404)


# -- forgetting -----------------------------------------------------------------------------------------------


async def test_a_day_is_forgotten_with_all_that_covers_it_and_the_others_stay(site: WebClient) -> None:
    await say_on(site, BEN, "2026-03-01", "first day")
    await say_on(site, BEN, "2026-03-02", f"the {SECRET} beetle lives here", "and another")
    await say_on(site, BEN, "2026-03-03", "third day")
    talk = Conversation(site.services.state, BEN)
    await talk.load()
    await talk.compact(3, f"Of a {SECRET} beetle", "notes")
    written = await site.services.note_writer.write(
        "Quentin is the beetle",
        key="k",
        origin=ChangeOrigin("tool", person=str(PERSON), chat=str(BEN), conversation=1, asked_at=2),
    )
    await site.services.conversations.sync()  # type: ignore[union-attr]
    address = "/conversations/1/forget?day=2026-03-02"
    assert address in [each.attributes["href"] for each in (await page(site, "/conversations/1")).all("a")]
    asked = (await page(site, address)).by_id("main").text
    for piece in (
        "Forget 2 March 2026?",
        "2 messages",
        "1 summary that covers it",
        SECRET,
        written.path,
        "Quentin is the beetle",
    ):
        assert piece in asked, piece
    assert is_in_a_file(site, SECRET)
    status, leads, _ = await post(site, "/conversations/1/forget", day="2026-03-02", upto=3)
    assert (status, leads) == (303, "/conversations/1?day=2026-03-02&done=forgotten#done")
    shown = await page(site, leads.partition("#")[0])
    assert shown.by_id("done").text == phrases.WEB_FORGOTTEN
    assert FORGOTTEN not in shown.by_id("main").text
    (noted,) = [each for each in shown.all("a") if each.text == written.path]
    assert noted.attributes["href"] == f"/notes/{written.path}#L3"
    assert f"{written.path}: Quentin is the beetle" in shown.by_id("main").text
    for elsewhere in ("/conversations/1", "/conversations/1?done=forgotten&day=2026-03-01"):
        assert written.path not in (await page(site, elsewhere)).by_id("main").text
    await site.services.note_writer.edit(
        written.path, "Quentin is the beetle", "Nobody is", key="k2", origin=ChangeOrigin("http")
    )
    shown = await page(site, leads.partition("#")[0])
    assert written.path not in shown.by_id("main").text, "what is no longer in the note is not claimed to be"
    assert "first day" in shown.by_id("m1").text
    assert "third day" in shown.by_id("m4").text
    assert "Forgotten" in shown.by_id("m2").text
    assert shown.by_id("m5").text.strip().startswith("Forgotten"), "and is not shown as a summary any more"
    assert not is_in_a_file(site, SECRET)
    assert not await site.services.state.read(forgetting.is_unfinished)
    await talk.load()
    assert SECRET not in str(talk.messages())


async def test_a_whole_conversation_is_forgotten_with_its_title_and_does_not_come_back(
    site: WebClient,
) -> None:
    await import_one(site, f"About {SECRET} beetles", f"a {SECRET} beetle")
    assert (await post(site, "/conversations/1/forget", day="", upto=1))[0] == 303
    assert not is_in_a_file(site, SECRET)
    await import_one(site, f"About {SECRET} beetles", f"a {SECRET} beetle")
    assert SECRET not in await get(site, "/conversations/1") + await get(site, "/conversations")


async def test_only_what_was_shown_is_forgotten(site: WebClient) -> None:
    await say(site, BEN, UserMessage("shown"), UserMessage("came later"))
    assert (await post(site, "/conversations/1/forget", day="", upto=1))[0] == 303
    text = await get(site, "/conversations/1")
    assert ("shown" in HtmlPage(text).by_id("m1").text, "came later" in text) == (False, True)


async def test_a_document_cannot_be_filed_any_more(site: WebClient) -> None:
    def write(db: apsw.Connection) -> None:
        for number in (1, 2):
            db.execute(
                "INSERT INTO documents (chat, sender, document, at) VALUES ('telegram:7', 'telegram:7', ?, '2026')",
                (f"{SECRET} {number}",),
            )

    await site.services.state.change(write)
    await say(site, BEN, UserMessage("", documents=(AttachedText("document 1: a.pdf", number=1),)))
    assert (await post(site, "/conversations/1/forget", day="", upto=1))[0] == 303
    left = await site.services.state.read(lambda db: db.execute("SELECT number FROM documents").fetchall())
    assert left == [(2,)]


async def test_while_it_is_answered_nothing_is_forgotten(site: WebClient) -> None:
    await say(site, BEN, UserMessage("the boat"))
    await site.services.state.change(
        lambda db: db.execute(
            "INSERT INTO inbox (chat, message, payload, state, owner, conversation, heard, at) "
            "VALUES ('telegram:7', '1', '{}', 'running', '', 1, 1, '2026')"
        )
    )
    status, _, text = await post(site, "/conversations/1/forget", day="", upto=1)
    assert status == 409
    assert phrases.WEB_STILL_ANSWERING in HtmlPage(text).by_id("main").text
    assert "the boat" in await get(site, "/conversations/1")


async def test_a_removal_that_fails_leaves_everything(site: WebClient) -> None:
    await say(site, BEN, *(UserMessage(f"the {SECRET} boat {n}") for n in range(250)))
    await site.services.state.change(
        lambda db: db.execute(
            "CREATE TRIGGER broken BEFORE UPDATE ON entries WHEN OLD.seq = 240 "
            "BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END"
        )
    )
    async with site.client.post(
        "/conversations/1/forget", data={"day": "", "upto": "250"}, headers=site.token
    ) as answer:
        assert answer.status >= 500
    shown = await page(site, "/conversations/1?page=1")
    assert SECRET in shown.by_id("m1").text
    assert not await site.services.state.read(forgetting.is_unfinished)


@pytest.mark.thorough
async def test_a_trace_that_is_left_is_told_and_erased_later(site: WebClient) -> None:
    await say(site, BEN, UserMessage(f"the {SECRET} boat"))
    reader = apsw.Connection(str(site.settings.private_folder / "state.db"))
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM entries").get == 1
    status, _, text = await post(site, "/conversations/1/forget", day="", upto=1)
    assert status == 200
    assert "A trace may be left on the disk (state.db is in use" in HtmlPage(text).by_id("main").text
    assert SECRET not in await get(site, "/conversations/1")
    assert await site.services.state.read(forgetting.is_unfinished)
    reader.close()
    await say(site, ROOM, UserMessage("something else"))
    assert (await post(site, "/conversations/2/forget", day="", upto=1))[0] == 303
    assert not await site.services.state.read(forgetting.is_unfinished)
    assert not is_in_a_file(site, SECRET)


@pytest.mark.parametrize(
    ("commit", "moment", "is_gone"), [(0, "before", False), (0, "after", True), (1, "before", True)]
)
async def test_after_a_kill_in_between_nothing_is_half_forgotten(
    tmp_path: Path, commit: int, moment: str, is_gone: bool
) -> None:
    await asyncio.to_thread(run_and_kill, tmp_path, commit, moment)
    async with open_web_client(tmp_path, token=TOKEN) as site:
        history = (site.settings.private_folder / INPUT_HISTORY_FILE).read_text()
        assert (SECRET in history, "what I keep" in history) == (False, True)
        text = await get(site, "/conversations/1")
        assert [each in text for each in SAID] == [not is_gone] * 2
        assert await site.services.state.read(forgetting.is_unfinished) == is_gone
        if not is_gone:
            assert (await post(site, "/conversations/1/forget", day="", upto=2))[0] == 303
        await site.services.forgetting.complete_earlier()  # as in the next night
        assert not await site.services.state.read(forgetting.is_unfinished)
        assert not is_in_a_file(site, SECRET)


async def test_a_history_that_cannot_be_written_is_told_before_anything_is_gone(site: WebClient) -> None:
    await say(site, ChatId("terminal", "owner"), UserMessage("the boat"))
    (site.settings.private_folder / INPUT_HISTORY_FILE).mkdir()
    status, _, text = await post(site, "/conversations/1/forget", day="", upto=1)
    assert status == 503
    assert "typed in the terminal can't be removed" in HtmlPage(text).by_id("main").text
    assert "the boat" in await get(site, "/conversations/1")


async def test_what_is_damaged_is_forgotten_too(site: WebClient) -> None:
    """A byte that is no UTF-8, and half of an emoji, which JSON may hold."""
    await say(site, BEN, *(UserMessage("x"), AssistantMessage("x"), UserMessage("x")))

    def damage(db: apsw.Connection) -> None:
        raw = [b'{"text": "' + SECRET.encode() + b' \xff"}', b'{"text": "\xff ' + SECRET.encode()]
        raw.insert(1, b'{"text": "' + SECRET.encode() + rb'", "calls": [], "model": "\ud83d"}')
        for seq, payload in enumerate(raw, 1):
            db.execute("UPDATE entries SET payload = CAST(? AS TEXT) WHERE seq = ?", (payload, seq))

    await site.services.state.change(damage)
    assert (await post(site, "/conversations/1/forget", day="", upto=3))[0] == 303
    assert not is_in_a_file(site, SECRET)


async def test_a_form_with_nonsense_forgets_nothing(site: WebClient) -> None:
    await say(site, BEN, UserMessage("the boat"))
    for fields in (
        {},
        {"upto": "x"},
        {"upto": "-1"},
        {"day": "x", "upto": "1"},
        {"day": "2026-13-01", "upto": "1"},
    ):
        assert (await post(site, "/conversations/1/forget", **fields))[0] == 400, fields
    assert (await post(site, "/conversations/1/forget", day="2020-01-01", upto=1))[0] == 404
    assert (await post(site, "/conversations/2/forget", day="", upto=1))[0] == 404
    assert "the boat" in await get(site, "/conversations/1")
