"""Conversations and people for a browser to look at: those of a household, and some that mean no good."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw

from bot.conversations.message_rows import dump_json, encode_message
from bot.messages import Quoted
from bot.models.protocol import AssistantMessage, AttachedText, Message, ToolCall, ToolResult, UserMessage
from bot.state.access import Decision, save_decision
from bot.state.conversations import append
from bot.state.database import State, format_timestamp
from bot.state.flushes import close, save_chat
from bot.state.imports import NewConversation, NewMessage, add_conversation, begin_run
from bot.state.links import save_link
from tests.browser.notes import HOSTILE_NAME, HOSTILE_TEXT

TALK = 1
"""Number of the conversation with all that one may have."""
HOSTILE_TALK = 2

SAID: tuple[Message, ...] = (
    UserMessage("When is the boiler **serviced** next?", quoted=Quoted("The heating is cold.", "Jonas")),
    AssistantMessage("", (ToolCall("a", "memory_search", '{"query": "boiler service"}'),), "x/y"),
    ToolResult("a", "memory_search", '{"results": [{"path": "house/boiler.md", "line": 3}]}'),
    AssistantMessage(
        "In **May 2027**, says `house/boiler.md`.\n\n# Who comes\n\n- Herr Brandt, 0551 4823\n- or his son\n\n"
        "| code | what to do |\n|---|---|\n| E119 | fill up to 1.5 bar |\n\n```\npressure 1.5 bar\n```"
    ),
    UserMessage(
        "Please keep this bill.",
        documents=(AttachedText("document 1: bill.pdf (PDF, 1.2 MB)", "148", "a" * 12),),
    ),
    AssistantMessage("I have filed it under [papers](house/papers/2026.md).", says=("bill.pdf",)),
)
HOSTILE: tuple[Message, ...] = (
    UserMessage(HOSTILE_TEXT, speaker=HOSTILE_NAME, quoted=Quoted("unbroken" * 60)),
    AssistantMessage(HOSTILE_TEXT, (ToolCall("a", HOSTILE_NAME, "unbroken" * 90),), "x/y"),
    ToolResult("a", HOSTILE_NAME, HOSTILE_TEXT, failed=True),
    AssistantMessage(
        f"| {' | '.join(f'column {n}' for n in range(30))} |\n|{'---|' * 30}\n\n`{'code' * 90}`"
    ),
)


async def write_talks(private: Path) -> None:
    """Write them into a state.db that no service has open."""
    now = datetime.now(UTC)

    def at(days: float) -> str:
        return format_timestamp(now - timedelta(days=days))

    def write(db: apsw.Connection) -> None:
        for chat, said, days in (("telegram:21", SAID, 2.0), ("telegram:-5", HOSTILE, 9.0)):
            entries = [
                encode_message(each, by="telegram:21" if isinstance(each, UserMessage) else "")
                for each in said
            ]
            append(db, None, chat, entries[:4], after=0, at=at(days))
            append(db, None, chat, entries[4:], after=4, at=at(days - 1))
        summary = [
            ("summary", dump_json({"upto": 4, "text": "- Anna asked for the boiler"})),
            ("recalled", "{}"),
        ]
        append(db, TALK, "telegram:21", summary, after=6, at=at(1))
        close(db, HOSTILE_TALK, at=at(8))
        save_chat(db, "telegram:21", name="Zoë", flush=True)
        save_chat(db, "telegram:-5", name=HOSTILE_NAME, flush=True)
        run = begin_run(db, chat="imported:telegram:21", format="chatgpt", source="export.zip", at=at(0))
        for number in range(60):
            texts = [f"Question {number}: how do I keep dahlias over the winter?", "In sand, dry and dark."]
            messages = [
                NewMessage(
                    seq, kind, dump_json({"text": text, "documents": [], "calls": [], "model": "gpt"}), at(99)
                )
                for seq, (kind, text) in enumerate(zip(("user", "assistant"), texts, strict=True))
            ]
            new = NewConversation(
                "chatgpt", str(number), f"Dahlias in winter, part {number}", at(99), messages
            )
            add_conversation(db, run, new)
        people: tuple[tuple[str, Decision, str], ...] = (
            ("telegram:21", "allowed", "Zoë"),
            ("discord:22", "guest", "Jonas"),
            ("telegram:23", "owner", "Anna"),
            ("telegram:24", "denied", HOSTILE_NAME),
            ("discord:25", "allowed", "unbroken" * 5),
        )
        for days, (person, decision, name) in enumerate(people):
            save_decision(db, person, decision, name=name, by="terminal:owner", at=at(days))
        save_link(db, "telegram:21", "discord:25", by="terminal:owner", at=at(0))

    async with State(private / "state.db") as state:
        await state.change(write)
