"""What is forgotten is in no file any more, and nothing else is gone."""

import asyncio
import json
import os
import re
from array import array
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from pydantic import SecretStr

from bot import phrases
from bot.access import Standing
from bot.attachments.markup import frame_content
from bot.commands.command import CommandReply, run_command
from bot.commands.registry import COMMANDS
from bot.config.settings import ConversationSearchSettings
from bot.conversations.conversation import Conversation
from bot.conversations.search import ConversationSearch
from bot.forgetting import MAX_LINES, ForgetService
from bot.messages import ChatId, Choice, IncomingMessage, PersonId, Quoted
from bot.models.protocol import (
    AssistantMessage,
    AttachedText,
    Image,
    RawStep,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.note_writes import OnceWriter
from bot.state import inbox, note_effects
from bot.state.database import State
from bot.state.forgetting import ENTRIES, STORED_TEXTS, is_unfinished, read_texts
from memory.embeddings.factory import open_embedding
from memory.errors import NoteUnwritable
from memory.forgetting import FORGOTTEN, WordsToForget
from memory.memory import Memory
from memory.settings import EmbeddingSettings, MemorySettings
from tests.fakes.clock import FakeClock
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.services import services
from tests.fakes.turns import HERE, NOW, OWNER, message
from tests.origins import TOOL_CALL

SECRET = "xylophagous"
"""A word that stands nowhere by chance."""
LINE = f"Anna's {SECRET} beetle is called Quentin"
ELSEWHERE = ChatId("telegram", "7")


@dataclass
class House:
    base: Path
    memory: Memory
    state: State
    clock: FakeClock
    forgetting: ForgetService
    conversations: ConversationSearch
    said: int = 0
    offered: tuple[Choice, ...] = ()
    """With the latest answer."""

    async def say(
        self,
        line: str,
        *,
        chat: ChatId = HERE,
        person: PersonId = OWNER,
        standing: Standing = Standing.OWNER,
        key: str = "",
    ) -> str:
        self.said += 1
        given = services(commands=COMMANDS, memory=self.memory, state=self.state, forgetting=self.forgetting)
        said = IncomingMessage("1", chat, person, line, NOW)
        reply = await run_command(
            "forget",
            line.removeprefix("/forget "),
            message=said,
            standing=standing,
            key=key or f"message-{self.said}",
            services=given,
        )
        told = CommandReply(reply) if isinstance(reply, str) else reply
        assert isinstance(told, CommandReply)
        self.offered = told.choices
        return told.text

    async def forget(self, query: str) -> str:
        return await self.say(f"/forget yes {code(await self.say(f'/forget {query}'))}")

    def files_with(self, word: str) -> list[str]:
        """Every file below the workspace in whose bytes a word stands, in any encoding that we write."""
        words = [word.encode(), word.encode("utf-16-le"), word.lower().encode(), word.capitalize().encode()]
        return sorted(
            str(path.relative_to(self.base))
            for path in self.base.rglob("*")
            if path.is_file() and any(each in path.read_bytes() for each in words)
        )

    def note(self, path: str) -> Path:
        found = self.base / "memory" / path
        found.parent.mkdir(parents=True, exist_ok=True)
        return found


def code(shown: str) -> str:
    found = re.search(r"`/forget yes (\w{4})`", shown)
    assert found, shown
    return found[1]


@asynccontextmanager
async def opened(base: Path, server: EmbeddingServer | None = None) -> AsyncIterator[House]:
    clock = FakeClock()
    embedding = EmbeddingSettings()
    if server:
        embedding = EmbeddingSettings(
            provider="openai", dimensions=64, api_key=SecretStr(KEY), base_url=server.base_url("openai")
        )
    made = open_embedding(embedding, sections={}, environment={}, chat=None) if server else None
    async with (
        State(base / ".commonplace" / "state.db", now=clock.now) as state,
        Memory(MemorySettings(embedding=embedding), workspace=base, now=clock.now, embedding=made) as memory,
        aclosing(search_of(base, clock)) as conversations,
    ):
        forgetting = ForgetService(memory, state, conversations=conversations, now=clock.now)
        yield House(base, memory, state, clock, forgetting, conversations)


def search_of(base: Path, clock: FakeClock) -> ConversationSearch:
    return ConversationSearch(
        base / ".commonplace",
        memory=MemorySettings(),
        settings=ConversationSearchSettings(),
        now=clock.now,
        agent_name=lambda: "Commonplace",
    )


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with opened(tmp_path) as house:
        yield house


async def fill_state(state: State) -> None:
    """The secret in every place of state.db where a text can be."""
    talk = Conversation(state, HERE)
    raw = RawStep("openai", {"content": "Ben", "reasoning_content": LINE})
    call = ToolCall("abcdefgh1", "memory_write", json.dumps({"content": LINE, "target": "daily"}))
    await talk.load()
    await talk.append(
        UserMessage(f"Please note: {LINE}"),
        AssistantMessage("I note it.", (call,), "openai/x", RawStep("openai", {"tool_calls": LINE})),
        ToolResult("abcdefgh1", "memory_write", json.dumps({"path": "a.md", "snippet": LINE})),
        AssistantMessage("Noted, about Ben.", (), "openai/x", raw),
        UserMessage("Ben likes tea."),
        AssistantMessage("I know.", (), "openai/x", RawStep("openai", {"content": "I know."})),
    )
    await talk.save_recalled(f"# Memory\n\n- {LINE}\n- Ben likes tea")
    await talk.compact(4, f"They spoke. {LINE}. Ben came.", f"- {LINE}\n- Ben likes tea")
    other = Conversation(state, ELSEWHERE)
    await other.load()
    await other.append(UserMessage("Ben likes coffee too."))
    at = state.at()

    def write(db: apsw.Connection) -> None:
        waits = message(f"What about the {SECRET} beetle of Anna, called Quentin?", chat="telegram:7")
        inbox.add(db, waits, owner="", at=at)
        inbox.add_notice(db, "telegram:7", f"Reminder: {LINE}", key="r", owner="", at=at)
        inbox.add_notice(db, "telegram:7", "Reminder: tea", key="s", owner="", at=at)
        block = {
            "append": {"block": f"- {LINE}", "title": "T"},
            "before": {"count": 0, "size": 0, "whole": True},
        }
        note_effects.save_intent(db, "call-9", "b.md", block, at=at)
        db.execute(
            "INSERT INTO flushes (conversation, chat, after, upto, cause, key, stage, began_at, note, heading,"
            " section, core) VALUES (1, 'c', 0, 4, 'asked', '', 'done', ?, 'n', 'h', ?, ?)"
            if "chat" in {row[1] for row in db.execute("PRAGMA table_info(flushes)")}
            else "INSERT INTO flushes (conversation, after, upto, cause, key, stage, began_at, note, heading,"
            " section, core) VALUES (1, 0, 4, 'asked', '', 'done', ?, 'n', 'h', ?, ?)",
            (at, f"## 14:05 x\n\n- {LINE}\n- Ben likes tea", f"- {LINE}"),
        )
        for key, text in (("a", f"feed Anna's {SECRET} beetle Quentin"), ("b", "tea")):
            db.execute(
                "INSERT INTO reminders (key, chat, person, sender_name, chat_name, in_room, text, prompt, due_at,"
                " rule, zone, state, at) VALUES (?, 'c', 'p', '', '', 0, ?, 0, ?, '', 'UTC', 'active', ?)",
                (key, text, at, at),
            )

    await state.change(write)
    # What was deleted long ago still lies in the file's free pages.
    await state.change(
        lambda db: db.execute(
            "INSERT INTO outbox (key, chat, text, owner, at) VALUES ('x','c',?,'','')", (LINE * 2000,)
        )
    )
    await state.change(lambda db: db.execute("DELETE FROM outbox WHERE key = 'x'"))


async def test_no_file_holds_what_was_forgotten_and_all_else_stays(tmp_path: Path) -> None:
    async with EmbeddingServer() as server, opened(tmp_path, server) as house:
        house.note("MEMORY.md").write_text(f"# Memory\n\n- {LINE}\n  since spring\n- Ben likes tea\n")
        house.note("trips/oslo.md").write_bytes(f"# Oslo\r\n\r\n{LINE}.\r\nBen came.\r\n".encode("utf-16"))
        house.note("old.md").write_text(f"- one\n- {LINE} (old)\n- three\n")
        house.note("other.md").write_text("- Anna's beetle is not this one\n")
        await house.memory.edit("old.md", f"- {LINE} (old)\n", "")
        await house.memory.edit("old.md", "- one", f"- one\n- {LINE} again")
        await house.memory.edit("old.md", f"- one\n- {LINE} again", "- two")
        await house.memory.fill_vectors()
        assert (await house.memory.search(SECRET)).hits
        await fill_state(house.state)
        assert (await house.conversations.search(SECRET, chats=None)).hits
        written = {f".commonplace/{name}.db-wal" for name in ("state", "index", "conversations")}
        assert written < set(house.files_with("xylophag"))

        shown = await house.say(f"/forget Anna {SECRET} beetle Quentin")
        assert "**MEMORY.md:3-4**\n\n> - Anna's" in shown
        assert "**trips/oslo.md:3**" in shown
        assert "or one of these lines: 4." in shown
        assert "old.md" not in shown
        told = await house.say(f"/forget yes {code(shown)}")

        assert "removed from the notes: 2" in told
        assert "earlier backups" in told
        assert "trace" not in told
        assert house.files_with("xylophag") == []  # nor its stem, by which it is indexed
        assert house.note("MEMORY.md").read_text() == "# Memory\n\n- Ben likes tea\n"
        assert house.note("trips/oslo.md").read_bytes().decode("utf-16") == "# Oslo\r\n\r\nBen came.\r\n"
        assert house.note("old.md").read_text() == "- two\n- three\n"
        assert house.note("other.md").read_text() == "- Anna's beetle is not this one\n"
        kept = sorted(path.read_text() for path in (tmp_path / ".commonplace" / "trash").iterdir())
        assert kept == ["- one\n"] * len(kept)
        assert len(kept) == 2
        assert not (await house.memory.search(SECRET)).hits
        assert not (await house.conversations.search(SECRET, chats=None)).hits
        assert (await house.conversations.search("Ben tea", chats=None)).hits
        assert (await house.memory.search("Ben tea")).hits
        await house.memory.fill_vectors()
        db = apsw.Connection(str(tmp_path / ".commonplace" / "index.db"))
        texts = db.execute("SELECT count(*) FROM texts").get
        used = db.execute("SELECT count(*) FROM texts WHERE uses > 0").get
        vectors = [array("f", row[0]) for row in db.execute("SELECT embedding FROM vectors")]
        db.close()
        assert texts == used == len(vectors)


async def test_a_crash_before_the_file_is_written_anew_leaves_no_trace_in_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        talk = Conversation(house.state, HERE)
        await talk.load()
        await talk.append(UserMessage(f"{LINE}. " * 2000))
        found = await house.forgetting.find(SECRET, chat=HERE, person=OWNER)
        # What `confirm` does first.
        await house.forgetting._remove_from_state(WordsToForget(found.query))
    assert house.files_with(SECRET) == []


async def test_conversations_can_still_be_read_and_say_nothing_of_it(house: House) -> None:
    house.note("a.md").write_text(f"- {LINE}\n")
    await fill_state(house.state)
    assert "messages: 4" in await house.forget(f"Anna {SECRET} beetle Quentin")
    query = "SELECT id FROM conversations WHERE rewritten > 0"
    assert await house.state.read(lambda db: {number for (number,) in db.execute(query)}) == {1}
    rows = await house.state.read(
        lambda db: list(db.execute("SELECT kind, payload FROM entries WHERE conversation = 1 ORDER BY seq"))
    )
    payloads = [json.loads(payload) for _, payload in rows]
    assert payloads[0] == {"text": FORGOTTEN}
    assert payloads[1]["text"] == "I note it."
    assert payloads[1]["calls"] == [{"id": "abcdefgh1", "name": "memory_write", "arguments": "{}"}]
    assert "raw" not in payloads[1]
    assert FORGOTTEN in payloads[2]["content"]
    assert "raw" in payloads[5]
    assert payloads[6]["text"] == f"# Memory\n\n{FORGOTTEN}\n- Ben likes tea"
    assert payloads[7]["text"] == f"They spoke. {FORGOTTEN} Ben came."
    talk = Conversation(house.state, HERE)
    await talk.load()
    assert [type(each).__name__ for each in talk.messages()] == ["UserMessage"] * 2 + ["AssistantMessage"]
    assert talk.recalled == f"{FORGOTTEN}\n- Ben likes tea"
    other = Conversation(house.state, ELSEWHERE)
    await other.load()
    assert [each.text for each in other.messages() if isinstance(each, UserMessage)] == [
        "Ben likes coffee too."
    ]
    texts = await house.state.read(
        lambda db: (
            list(db.execute("SELECT text FROM outbox ORDER BY number")),
            list(db.execute("SELECT text, state FROM reminders ORDER BY number")),
            list(db.execute("SELECT section, core FROM flushes")),
            list(db.execute("SELECT key FROM effects")),
            inbox.read_undelivered(db)[0][1].message.text,
        )
    )
    assert texts == (
        [(FORGOTTEN,), ("Reminder: tea",)],
        [(FORGOTTEN, "cancelled"), ("tea", "active")],
        [("## 14:05 x\n\n- Ben likes tea", "")],
        [],
        FORGOTTEN,
    )


async def test_a_picture_goes_with_its_caption_and_for_no_words_of_its_own(house: House) -> None:
    cat = Image("image/jpeg", b64decode("+Rex/" * 4 + "AAAA"))
    talk = Conversation(house.state, HERE)
    await talk.load()
    await talk.add_user_messages([(UserMessage("my cat Ottokar", (cat,)), OWNER)])
    for words in ("jpeg", "rex"):
        assert "nothing" in await house.say(f"/forget {words}")
    await house.forget("Ottokar")
    await talk.load()
    assert talk.messages() == (UserMessage(FORGOTTEN),)


async def test_long_texts_are_looked_at_a_few_at_a_time(house: House) -> None:
    talk = Conversation(house.state, HERE)
    await talk.load()
    await talk.append(*[UserMessage(f"{LINE} {number}") for number in range(5)])
    seen = list[int]()
    while found := await house.state.read(
        lambda db: read_texts(db, ENTRIES, after=sum(seen), limit=500, max_length=100)
    ):
        seen.append(len(found))
    assert seen == [2, 2, 1]


async def test_a_step_whose_thoughts_alone_hold_it_loses_them_and_keeps_its_words(house: House) -> None:
    await fill_state(house.state)
    await house.forget(f"{SECRET} beetle")
    payload = await house.state.read(
        lambda db: db.execute("SELECT payload FROM entries WHERE conversation = 1 AND seq = 4").get
    )
    assert json.loads(payload) == {"text": "Noted, about Ben.", "calls": [], "model": "openai/x"}


async def test_nothing_is_removed_before_it_is_confirmed_by_the_same_person_in_the_same_chat(
    house: House,
) -> None:
    note = house.note("a.md")
    note.write_text(f"- {LINE}\n")
    shown = await house.say(f"/forget {SECRET}")
    line = f"/forget yes {code(shown)}"
    not_valid = "That code isn't valid"
    assert note.exists()
    assert not_valid in await house.say(line, chat=ELSEWHERE)
    assert not_valid in await house.say(line, person=PersonId("telegram", "9"))
    assert not_valid in await house.say("/forget yes 0000")
    assert "no /forget here" in await house.say(line, standing=Standing.ALLOWED)
    house.clock.seconds += timedelta(minutes=11).total_seconds()
    assert not_valid in await house.say(line)
    assert note.read_text() == f"- {LINE}\n"
    line = f"/forget yes {code(await house.say(f'/forget {SECRET}'))}"
    assert "Forgotten" in await house.say(line.lower())
    assert await house.say(line) == "That has already been removed."
    assert note.read_text() == ""


async def test_what_was_shown_can_be_removed_or_left_by_a_button(house: House) -> None:
    note = house.note("a.md")
    note.write_text(f"- {LINE}\n")
    await house.say(f"/forget {SECRET}")
    remove, leave = house.offered
    assert await house.say(leave.says, person=PersonId("telegram", "9")) == (
        "There is nothing to cancel here; I've kept everything."
    )
    assert await house.say(leave.says) == "I've kept everything."
    assert not house.offered
    assert "That code isn't valid" in await house.say(remove.says)
    assert note.read_text() == f"- {LINE}\n"
    assert not await house.state.read(
        lambda db: db.execute("SELECT query FROM forgetting WHERE query != ''").get
    ), "the question is not kept"
    await house.say(f"/forget {SECRET}")
    remove, leave = house.offered
    assert "Forgotten" in await house.say(remove.says)
    assert await house.say(leave.says) == "That has already been removed."
    assert note.read_text() == ""


async def test_words_that_are_in_no_note_are_told_so_first(house: House) -> None:
    house.note("a.md").write_text("- Der Schlüssel liegt bei Tom\n")
    said = json.dumps({"text": "Wo habe ich den Schlüssel?"})
    await house.state.append(None, str(HERE), [("user", said)], after=0)
    assert (await house.say("/forget den Schlüssel")).startswith(phrases.FORGET_NO_LINES)
    assert phrases.FORGET_NO_LINES not in await house.say("/forget Schlüssel")


async def test_no_and_a_word_is_something_to_forget_like_any_other(house: House) -> None:
    house.note("a.md").write_text("- Ben takes no milk\n")
    assert "Ben takes no milk" in await house.say("/forget no milk")
    assert [each.says[:11] for each in house.offered] == ["/forget yes", "/forget no "]


async def test_what_is_not_known_is_said_so(house: House) -> None:
    house.note("a.md").write_text("- something else\n")
    for query in (SECRET, "?!", f"something {SECRET}"):
        assert "I found nothing" in await house.say(f"/forget {query}")


async def test_more_than_can_be_looked_over_is_not_forgotten(house: House) -> None:
    text = "".join(f"- tea {number}\n" for number in range(MAX_LINES + 1))
    house.note("a.md").write_text(text)
    shown = await house.say("/forget tea")
    assert "More than 50" in shown
    assert "yes" not in shown
    assert "a.md:51" in (await house.say("/forget tea 50"))


async def test_a_line_that_was_changed_meanwhile_stays_and_is_told(house: House) -> None:
    note = house.note("a.md")
    note.write_text(f"- {LINE}\n- other {SECRET}\n")
    shown = await house.say(f"/forget {SECRET}")
    note.write_text(f"- new first line\n- {LINE}, which was sold\n- other {SECRET}\n")
    told = await house.say(f"/forget yes {code(shown)}")
    assert "still there: a.md:2." in told
    assert note.read_text() == f"- new first line\n- {LINE}, which was sold\n"
    gone = await house.say(f"/forget {SECRET}")
    note.unlink()
    assert "from the notes: 0" in await house.say(f"/forget yes {code(gone)}")


async def test_lines_of_a_removed_bullet_are_forgotten_elsewhere_too(house: House) -> None:
    house.note("a.md").write_text("- Anna's diagnosis:\n  - diabetes of type two\n  - yes\n- yes\n")
    talk = Conversation(house.state, HERE)
    await talk.load()
    await talk.append(UserMessage("It is diabetes of type two."), UserMessage("yes"))
    shown = await house.say("/forget Anna diagnosis")
    assert "> - Anna's diagnosis:\n>   - diabetes of type two\n>   - yes\n" in f"{shown}\n"
    assert "one of these lines: 1." in shown
    await house.say(f"/forget yes {code(shown)}")
    assert house.note("a.md").read_text() == "- yes\n"
    read_texts = await house.state.read(
        lambda db: list(db.execute("SELECT payload FROM entries ORDER BY seq"))
    )
    assert [json.loads(text)["text"] for (text,) in read_texts] == [FORGOTTEN, "yes"]


async def test_a_note_that_cannot_be_read_is_told(house: House) -> None:
    house.note("a.md").write_text(f"- {LINE}\n")
    os.truncate(house.note("a.md"), 0)
    with house.note("huge.md").open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    house.note("a.md").write_text(f"- {LINE}\n")
    assert "I couldn't look into huge.md" in await house.say(f"/forget {SECRET}")


@pytest.mark.thorough
async def test_an_index_in_use_is_told_and_the_notes_are_clean(house: House) -> None:
    house.note("a.md").write_text(f"- {LINE}\n")
    await house.memory.sync()
    reader = apsw.Connection(str(house.base / ".commonplace" / "index.db"))
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM notes_a").get == 1
    try:
        told = await asyncio.wait_for(house.forget(SECRET), 30)
    finally:
        reader.close()
    assert "A trace may be left" in told
    assert house.note("a.md").read_text() == ""


async def test_a_journal_goes_on_after_its_open_write_was_forgotten(house: House) -> None:
    await fill_state(house.state)
    await house.forget(SECRET)
    written = await OnceWriter(house.memory, house.state).append(
        "b.md", "- tea", key="k", title="T", origin=TOOL_CALL
    )
    assert house.note(written.path).read_text() == "# T\n\n- tea\n"


async def test_another_process_can_confirm_what_was_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        house.note("a.md").write_text(f"- {LINE}\n")
        shown = await house.say(f"/forget {SECRET}")
        house.note("a.md").write_text(f"- before\n- {LINE}\n- a later {SECRET}\n")
    async with opened(tmp_path) as house:
        told = await house.say(f"/forget yes {code(shown)}")
        assert "removed from the notes: 1" in told
        assert "still there: a.md:3." in told
        assert house.note("a.md").read_text() == f"- before\n- a later {SECRET}\n"
        await house.forget(SECRET)
    assert house.files_with(SECRET) == []


async def test_a_question_that_nobody_confirmed_is_not_kept(house: House) -> None:
    house.note("a.md").write_text(f"- {LINE}\n- tea\n")
    await house.say(f"/forget {SECRET}", chat=ELSEWHERE)
    assert await asked_for(house) == [SECRET]
    house.clock.seconds += timedelta(minutes=11).total_seconds()
    await house.say("/forget tea")
    assert await asked_for(house) == ["tea"]


async def asked_for(house: House) -> list[str]:
    rows = await house.state.read(lambda db: list(db.execute("SELECT query FROM forgetting")))
    return [query for (query,) in rows]


async def test_a_question_in_another_chat_is_forgotten_with_it(house: House) -> None:
    house.note("a.md").write_text(f"- {LINE}\n")
    await house.say(f"/forget {SECRET}", chat=ELSEWHERE)
    await house.forget(SECRET)
    assert house.files_with(SECRET) == []


async def test_a_confirmation_that_is_carried_out_again_after_a_crash_tells_the_same(house: House) -> None:
    house.note("a.md").write_text(f"- {LINE}\n")
    line = f"/forget yes {code(await house.say(f'/forget {SECRET}'))}"
    told = await house.say(line, key="message-77")
    assert "removed from the notes: 1" in told
    assert await house.say(line, key="message-77") == told
    assert "already been removed" in await house.say(line, key="message-78"), "the button was pressed twice"


class Killed(BaseException):
    pass


@pytest.mark.parametrize("again", ["/forget yes {code}", "/forget {secret}"])
async def test_what_a_crash_before_the_index_is_cleaned_has_left_goes_with_the_next_forget(
    tmp_path: Path, again: str
) -> None:
    async with opened(tmp_path) as house:
        house.note("a.md").write_text(f"- {LINE}. {'Very long. ' * 400}\n")
        await house.memory.sync()
        shown = await house.say(f"/forget {SECRET}")

        def killed(words: WordsToForget) -> int:
            raise Killed

        house.memory._notes.trash.delete_matching = killed  # type: ignore[method-assign]
        with pytest.raises(Killed):
            await house.say(f"/forget yes {code(shown)}", key="message-77")
        assert house.note("a.md").read_text() == ""
    async with opened(tmp_path) as house:
        await house.memory.sync()
        house.clock.seconds += timedelta(hours=1).total_seconds()
        told = await house.say(again.format(code=code(shown), secret=SECRET), key="message-77")
        assert told.startswith(("Forgotten.", "I found nothing"))
        assert not await house.state.read(is_unfinished)
        await house.say("/forget something else")  # by now what was asked for is too old
        assert house.files_with("xylophag") == []


@pytest.mark.thorough
async def test_what_is_left_on_the_disk_is_not_lost_sight_of_by_asking_for_something_else(
    house: House,
) -> None:
    house.note("a.md").write_text(f"- {LINE}\n- The boat is red.\n")
    reader = apsw.Connection(str(house.base / ".commonplace" / "state.db"))
    cursor = reader.cursor().execute("SELECT name FROM sqlite_schema")
    next(cursor)  # whoever reads keeps the journal from being emptied
    assert "state.db is" in await house.forget(SECRET)
    await house.say("/forget boat")
    assert await house.state.read(is_unfinished)
    cursor.close()
    reader.close()
    await house.say("/forget boat")
    assert not await house.state.read(is_unfinished)


async def test_notes_that_cannot_be_written_are_told_with_what_is_gone(house: House) -> None:
    for name in ("a.md", "b.md"):
        house.note(name).write_text(f"- {LINE}, in {name}\n")
    talk = Conversation(house.state, HERE)
    await talk.load()
    await talk.append(UserMessage(LINE))
    shown = await house.say(f"/forget {SECRET}")
    free = house.memory._notes.held

    def held(path: str, *, existing: bool = False) -> Any:
        if path == "b.md":
            raise NoteUnwritable("b.md could not be written: Permission denied.")
        return free(path, existing=existing)

    house.memory._notes.held = held  # type: ignore[method-assign]
    told = await house.say(f"/forget yes {code(shown)}")
    assert "b.md could not be written" in told
    assert "notes so far: 1, messages: 1, elsewhere: 0." in told
    assert "Still there: b.md:1." in told
    house.memory._notes.held = free  # type: ignore[method-assign]
    assert "removed from the notes: 1" in await house.say(f"/forget yes {code(told)}")
    assert house.files_with(SECRET) == []


async def test_examples_are_what_somebody_said_each_once_cut_around_what_is_looked_for(house: House) -> None:
    talk = Conversation(house.state, HERE)
    await talk.load()
    long = f"{'tea and cake, ' * 60}then Ottokar the wombat came {'and tea again ' * 60}"
    call = ToolCall(
        "abcdefgh1", "memory_write", json.dumps({"content": "a wombat: Ottokar", "target": "core"})
    )
    raw = RawStep("openai", {"reasoning_content": "Ottokar the wombat"})
    await talk.append(
        UserMessage("the wombat is called Ottokar"),
        AssistantMessage("", (call,), "mine/small"),
        ToolResult("abcdefgh1", "memory_write", json.dumps({"path": "a.md", "snippet": long})),
        AssistantMessage("I see.", (), "mine/small", raw),
        UserMessage("the wombat is  called Ottokar"),
        AssistantMessage(long, (), "mine/small"),
        UserMessage("Who is it?", documents=(frame_content("document", "Ottokar, a wombat of paper"),)),
    )
    await talk.save_recalled("Ottokar is a wombat")
    shown = await house.say("/forget wombat ottokar")
    assert "these words or one of these lines: 7. For example:\n- the wombat is called Ottokar\n" in shown
    excerpts = [line for line in shown.split("\n") if line.startswith("- ")]
    assert re.fullmatch(r"- ….*cake, then Ottokar the wombat came and tea.*…", excerpts[1])
    assert len(excerpts) == 2
    assert "mine/small" not in shown
    assert "other places: 1" in shown


@pytest.mark.parametrize(
    "message",
    [
        UserMessage("Remember this", quoted=Quoted(f"Look: {LINE}", "Bo")),
        UserMessage("Remember this", quoted=Quoted(f"{'word ' * 500}{LINE}", "Bo")),
        UserMessage("And this?", quoted=Quoted("Whose", "Beetle [Quentin]")),
        UserMessage(LINE, forwarded_from="Bo"),
        UserMessage("", forwarded_from="Quentin Beetle"),
        UserMessage("Beetle", documents=(AttachedText("document 3: quentin.txt", number=3),)),
        UserMessage("", documents=(frame_content("document", json.dumps({LINE: True})),)),
        UserMessage("", documents=(AttachedText("voice message", LINE, spoken=True),)),
        UserMessage("Is she?", speaker="Quentin Beetle"),
    ],
    ids=lambda message: repr(message)[:30],
)
async def test_what_is_quoted_forwarded_or_sent_along_is_forgotten_with_its_message(
    house: House, message: UserMessage
) -> None:
    talk = Conversation(house.state, HERE)
    await talk.load()
    other = UserMessage(
        "Is it blue?", quoted=Quoted("The sky", mine=True), documents=(frame_content("a", "b"),)
    )
    await talk.append(message, AssistantMessage("Yes."), other)
    told = await house.say("/forget beetle quentin")
    assert "these words" in told
    assert "nothing" not in (await house.say(f"/forget yes {code(told)}")).lower()
    await talk.load()
    first, answer, last = talk.messages()[:3]
    assert (first, last) == (UserMessage(FORGOTTEN), other)
    assert isinstance(answer, AssistantMessage)
    assert answer.text == "Yes."
    assert "quentin" not in str(answer).lower()
    assert await house.say("/forget true") == phrases.FORGET_NOTHING


async def test_an_example_shows_what_was_quoted(house: House) -> None:
    talk = Conversation(house.state, HERE)
    await talk.load()
    quoted = Quoted("The wombat is called Ottokar", "Bo")
    await talk.append(UserMessage("Remember this", speaker="Ann", quoted=quoted))
    shown = await house.say("/forget wombat ottokar")
    assert "\n- The wombat is called Ottokar Remember this\n" in shown


async def test_an_example_shows_the_names_of_those_who_said_it(house: House) -> None:
    talk = Conversation(house.state, HERE)
    await talk.load()
    await talk.append(UserMessage("It is late", forwarded_from="Ottokar Wombat"))
    await talk.append(UserMessage("Go home", speaker="Ottokar Wombat"))
    shown = await house.say("/forget ottokar wombat")
    assert "- [Forwarded from Ottokar Wombat:] It is late" in shown
    assert "- Ottokar Wombat: Go home" in shown


async def test_a_yes_without_its_code_is_told_kindly(house: House) -> None:
    for line in ("/forget yes", "/forget YES!"):
        assert (await house.say(line)).startswith("Which code?")


KNOWN_COLUMNS = {
    "model_health": {"model", "key", "last_error_kind"},
    "chosen_models": {"model"},
    "model_usage": {"day", "model"},
    "model_hours": {"model"},
    "inbox": {"message", "state", "owner", "shown"},
    "languages": {"person", "chosen", "told"},
    "outbox": {"key", "owner", "shown", "choices"},
    "effects": {"key", "result"},
    "changes": {"effect", "above", "made_by", "person", "model", "client"},
    "documents": {"sender"},
    "imports": {"format", "state"},
    "imported_conversations": {"format", "external_id"},
    "imported_notes": {"digest", "kind", "lines", "undo"},
    "channel_facts": {"channel", "key", "value"},
    "unread": {"channel", "id", "reason"},
    "flushes": {"cause", "key", "stage", "note", "heading", "digest", "places"},
    "endings": {"key"},
    "known_chats": {"name"},
    "links": {"person", "other", "decided_by"},
    "moves": {"old", "new"},
    "upgrades": {"version", "backup"},
    "people": {"person", "standing", "name", "decided_by"},
    "pairing": {"person", "code", "name"},
    "decisions": {"key", "owner", "answer"},
    "entries": {"kind"},
    "forgetting": {"person", "code", "lines", "key", "outcome"},
    "reminders": {"key", "person", "sender_name", "chat_name", "rule", "zone", "state", "ended_by"},
}
"""Names, numbers and states: nothing of what was said."""


async def test_no_column_for_texts_is_overlooked(house: House) -> None:
    def columns(db: apsw.Connection) -> set[tuple[str, str]]:
        tables = [str(row[0]) for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            (table, str(name))
            for table in tables
            for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})")
            if kind == "TEXT" and name not in {"chat", "at"} and not str(name).endswith("_at")
        }

    known = {(table, name) for table, names in KNOWN_COLUMNS.items() for name in names}
    searched = {(place.table, place.column) for place in STORED_TEXTS}
    found = await house.state.read(columns)
    assert found - known - searched == set(), "does /forget have to look there (PLACES), or not (here)?"
    assert searched <= found


async def test_a_picture_goes_with_what_was_said_to_it_and_holds_no_words_itself(house: House) -> None:
    picture = Image("image/jpeg", b"\x00" * 300)
    talk = Conversation(house.state, HERE)
    await talk.append(UserMessage("Look", (picture,)), UserMessage(f"my {SECRET} beetle", (picture,)))
    assert await house.say("/forget jpeg") == phrases.FORGET_NOTHING
    await house.forget(SECRET)
    await talk.load()
    assert talk.messages() == (UserMessage("Look", (picture,)), UserMessage(FORGOTTEN))
