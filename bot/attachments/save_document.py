"""Saves documents that people sent as notes in the memory, each exactly once."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from bot import phrases
from bot.attachments.document_note import document_note
from bot.attachments.fair_share import FairShare
from bot.attachments.reader import AttachmentReader, UnreadableAttachment
from bot.messages import Attachment, ChatId, IncomingMessage
from bot.note_writes import OnceWriter
from bot.state import documents
from bot.state.changes import ChangeOrigin
from bot.state.database import State, format_timestamp
from bot.state.documents import Document

MAX_SAVES_AT_ONCE = 2
"""Documents that become notes at a time, each with its whole text in memory; others wait."""
MAX_SAVES_AT_ONCE_PER_PERSON = 1


class DocumentNotSaved(Exception):
    """A document cannot be saved; the text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class SavedDocument:
    """Where a document is in the memory."""

    path: str
    line_start: int
    line_end: int
    remark: str
    """A sentence about what is missing; "" if nothing is, or if that is no longer known."""
    before: bool = False
    """Whether an earlier request saved it, so that nothing was written now."""


async def number_of(state: State, message: IncomingMessage, attachment: Attachment) -> int | None:
    """Return the number by which a document of a chat can be saved, always the same; None for other kinds."""
    if attachment.kind != "document":
        return None
    quoted = message.quoted if attachment.quoted else None
    return await state.change(
        lambda db: documents.assign_number(
            db,
            str(message.chat),
            str(message.sender),
            attachment,
            sender_name=quoted.sender_name if quoted else message.sender_name,
            at=format_timestamp(message.sent_at),
        )
    )


class DocumentSaver:
    """Saves documents as Markdown below `documents/` in the memory."""

    def __init__(
        self, state: State, note_writer: OnceWriter, reader: AttachmentReader, *, now: Callable[[], datetime]
    ) -> None:
        """`now` is in the owner's time zone, which decides the day in a note's name."""
        self._state = state
        self._note_writer = note_writer
        self._reader = reader
        self._now = now
        self._at_once = FairShare(in_all=MAX_SAVES_AT_ONCE, per_person=MAX_SAVES_AT_ONCE_PER_PERSON)

    async def save_sent(
        self,
        message: IncomingMessage,
        attachment: Attachment,
        *,
        key: str,
        origin: ChangeOrigin,
        title: str = "",
    ) -> SavedDocument:
        """Save a document of a message. Raises DocumentNotSaved, MemoryFault, StateFault."""
        number = await number_of(self._state, message, attachment)
        if number is None:
            raise DocumentNotSaved(phrases.FILED_NOT_A_DOCUMENT)
        return await self.save_document(number, chat=message.chat, key=key, origin=origin, title=title)

    async def save_document(
        self, number: int, *, chat: ChatId, key: str, origin: ChangeOrigin, title: str = ""
    ) -> SavedDocument:
        """Save a document of a chat by its number; a retry with the same key returns where it is.

        Raises DocumentNotSaved, MemoryFault, StateFault.
        """
        title = title.strip()
        asked = hashlib.sha256(json.dumps([number, title]).encode()).hexdigest()[:16]
        key = f"{key}/document-{asked}"
        if known := await self._note_writer.find_document(key):
            return SavedDocument(known.path, known.line_start, known.line_end, "")
        document = await self._state.read(lambda db: documents.find_document(db, str(chat), number))
        if document is None:
            raise DocumentNotSaved(phrases.FILED_UNKNOWN.format(number=number))
        async with self._at_once.acquire(str(document.sender)):
            return await self._save(document, key=key, origin=origin, title=title)

    async def transcribe(self, message: IncomingMessage, attachment: Attachment) -> str:
        """Return the text of a voice message. Raises DocumentNotSaved if it cannot be transcribed."""
        try:
            return await self._reader.voice_text(message, attachment)
        except UnreadableAttachment as error:
            raise DocumentNotSaved(str(error)) from error

    async def _save(self, document: Document, *, key: str, origin: ChangeOrigin, title: str) -> SavedDocument:
        attachment = document.attachment
        try:
            async with self._reader.open_attachment(document.chat, document.sender, attachment) as incoming:
                read = await self._reader.extract_text(incoming, attachment, document.sender)
        except UnreadableAttachment as error:
            raise DocumentNotSaved(str(error)) from error
        if not read.text.strip():
            raise DocumentNotSaved(read.problem or phrases.FILED_NOTHING)
        day = document.at.astimezone(self._now().tzinfo).date()
        note = await asyncio.to_thread(
            document_note, read, name=attachment.name, title=title, sender=document.sender_name, day=day
        )
        same = hashlib.sha256(read.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        same = f"{document.chat}/text-{same}"
        if known := await self._note_writer.find_unchanged_document(same, note.text):
            return SavedDocument(known.path, known.line_start, known.line_end, "", before=True)
        written = await self._note_writer.write_document(
            note.path,
            note.block,
            key=key,
            title=note.title,
            origin=replace(origin, made_by="document", says=(attachment.name or document.sender_name,)),
        )
        await self._note_writer.record_document(same, written)
        remark = ""
        if not note.is_whole:
            cut = phrases.FILED_CUT if read.characters else phrases.FILED_CUT_SOMEWHERE
            remark = cut.format(kept=note.kept, all=read.characters)
        return SavedDocument(written.path, written.line_start, written.line_end, remark)
