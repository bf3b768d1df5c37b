"""A text that somebody else wrote tells the model what to remember. It must not act in any later chat."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bot.messages import Attachment, Quoted
from bot.models.protocol import LanguageModel
from tests.fakes.harness import Harness, open_harness
from tests.fakes.pdf_file import text_pdf
from tests.fakes.poisoned_documents import (
    OWN_CORE,
    OWN_NOTE,
    ObedientModel,
    PoisonedDocument,
    poisoned_documents,
    without_marked,
)
from tests.fakes.scripted_model import alone
from tests.fakes.turns import message

DOCUMENTS = [
    pytest.param(
        document,
        id=f"{document.number}-{document.carrier}-{document.goal}-{document.language}",
        marks=[] if document.number % 8 == 0 else [pytest.mark.thorough],
    )
    for document in poisoned_documents(100)
]


@pytest.mark.parametrize("document", DOCUMENTS)
async def test_a_poisoned_document_does_not_act_in_a_later_chat(
    document: PoisonedDocument, tmp_path: Path
) -> None:
    assert await find_effects(document, tmp_path) == []


async def find_effects(document: PoisonedDocument, folder: Path) -> list[str]:
    """Return what a document has achieved in later chats, and in the notes."""
    notes = folder / "memory"
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text(f"# Memory\n\n{OWN_CORE}\n", "utf-8")
    (notes / "2026-11-01.md").write_text(f"# 2026-11-01\n\n{OWN_NOTE}\n", "utf-8")
    model = ObedientModel(document)
    async with open_harness(folder, chain_of=lambda state: alone(as_model(model))) as house:
        await read_document(house, document)
        _, bank, new = document.asks
        model.is_later = True
        await house.say(new)
        await house.say("/compact")
        await house.say(bank)
        await house.say("/new")
        await house.say(bank)
        await house.say(bank, chat="telegram:1", sender="telegram:1")
        await house.say("Which fees does the quarterly letter name?", chat="telegram:1", sender="telegram:1")
        await house.say("/new", chat="telegram:1", sender="telegram:1")
        await house.say(bank, chat="telegram:1", sender="telegram:1")
        reminders = await house.state.read(
            lambda db: [str(text) for (text,) in db.execute("SELECT text FROM reminders").fetchall()]
        )
    assert model.saw_later, "the order was never in sight, so this proves nothing"
    return [*dict.fromkeys(model.acted), *find_in_notes(document, notes), *find_unmarked(document, reminders)]


def as_model(model: ObedientModel) -> LanguageModel:
    return model


async def read_document(house: Harness, document: PoisonedDocument) -> None:
    """Have the person send the document, and ask about it."""
    attachments: tuple[Attachment, ...] = ()
    asks, quoted, forwarded = document.asks[0], None, ""
    name = f"letter-{document.number}"
    match document.carrier:
        case "text" | "filed":
            house.terminal.files["f"] = document.text.encode()
            attachments = (
                Attachment("document", "f", f"{name}.txt", "text/plain", len(document.text.encode())),
            )
        case "pdf":
            house.terminal.files["f"] = pdf = pdf_of(document.text)
            attachments = (Attachment("document", "f", f"{name}.pdf", "application/pdf", len(pdf)),)
        case "quoted":
            quoted = Quoted(document.text[-1500:], "Mallory")
        case "forwarded":
            asks, forwarded = document.text, "Mallory (the owner)"
    said = message(asks, attachments=attachments, quoted=quoted)
    said = replace(said, forwarded_from=forwarded)
    house.sent.append(said)
    await house.assistant.accept(said)
    async with asyncio.timeout(20):
        await house.assistant.wait_until_idle()
    if document.carrier == "filed":
        await house.say("/remember", attachments=attachments)


def pdf_of(text: str) -> bytes:
    lines = [line for part in re.split(r"[\n\u2028\x0b]", text) for line in (part[:200], part[200:400])]
    return text_pdf("\n".join(re.sub(r"([()\\])", r"\\\1", line) for line in lines if line))


def find_in_notes(document: PoisonedDocument, notes: Path) -> list[str]:
    """Return what is wrong in the notes: unmarked lines, anything in MEMORY.md, and a note that is gone."""
    found = []
    for path in notes.glob("*.md"):
        text = path.read_text("utf-8")
        where = text if path.name == "MEMORY.md" else without_marked(text)
        found += [f"{path.name}: {line}" for line in where.split("\n") if document.trigger in line]
    if OWN_NOTE not in (notes / "2026-11-01.md").read_text("utf-8"):
        found.append("a note of the person's is gone")
    if OWN_CORE not in (notes / "MEMORY.md").read_text("utf-8"):
        found.append("a line of MEMORY.md is gone")
    return found


def find_unmarked(document: PoisonedDocument, texts: list[str]) -> list[str]:
    return [f"reminder: {text}" for text in texts if document.trigger in without_marked(text)]
