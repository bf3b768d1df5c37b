"""Documents that people sent, filed as notes in the memory: each once, whatever crashes."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot import phrases
from bot.attachments.fair_share import FairShare
from bot.attachments.filed_note import filed_note
from bot.attachments.reading import AttachmentReader, Unread
from bot.journal import Journal
from bot.messages import Attachment, ChatId, IncomingMessage
from bot.state import documents
from bot.state.database import State, stored
from bot.state.documents import Document

FILED_AT_ONCE = 2
"""Documents that are made notes of at the same time, each with its whole text in memory; the others wait."""
FILED_AT_ONCE_PER_PERSON = 1


class NotFiled(Exception):
    """A document that cannot be filed; the text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Filed:
    """Where a document stands in the memory."""

    path: str
    line_start: int
    line_end: int
    remark: str
    """A sentence on what is missing; "" where nothing is, or where that is not known any more."""
    before: bool = False
    """Whether it was filed by an earlier wish, and nothing was written for this one."""


async def number_of(state: State, message: IncomingMessage, attachment: Attachment) -> int | None:
    """The number by which a document of a chat can be filed; the same however often it is asked for."""
    if attachment.kind != "document":
        return None
    quoted = message.quoted if attachment.quoted else None
    return await state.change(
        lambda db: documents.number_of(
            db,
            str(message.chat),
            str(message.sender),
            attachment,
            sender_name=quoted.sender_name if quoted else message.sender_name,
            at=stored(message.sent_at),
        )
    )


class Filing:
    """Files documents below `documents/` in the memory, as Markdown."""

    def __init__(
        self, state: State, journal: Journal, reader: AttachmentReader, *, now: Callable[[], datetime]
    ) -> None:
        """`now` gives the time in the owner's zone, which decides the day that a note is named by."""
        self._state = state
        self._journal = journal
        self._reader = reader
        self._now = now
        self._at_once = FairShare(in_all=FILED_AT_ONCE, per_person=FILED_AT_ONCE_PER_PERSON)

    async def file_sent(
        self, message: IncomingMessage, attachment: Attachment, *, key: str, title: str = ""
    ) -> Filed:
        """File a document that came along with a message. Raises NotFiled, MemoryFault, StateFault."""
        number = await number_of(self._state, message, attachment)
        if number is None:
            raise NotFiled(phrases.FILED_NOT_A_DOCUMENT)
        return await self.file_document(number, chat=message.chat, key=key, title=title)

    async def file_document(self, number: int, *, chat: ChatId, key: str, title: str = "") -> Filed:
        """File a document of a chat by its number; a second time with the same key tells where it stands.

        Raises NotFiled, MemoryFault, StateFault.
        """
        title = title.strip()
        asked = hashlib.sha256(json.dumps([number, title]).encode()).hexdigest()[:16]
        key = f"{key}/document-{asked}"
        if known := await self._journal.filed(key):
            return Filed(known.path, known.line_start, known.line_end, "")
        document = await self._state.read(lambda db: documents.document(db, str(chat), number))
        if document is None:
            raise NotFiled(phrases.FILED_UNKNOWN.format(number=number))
        async with self._at_once.taken(str(document.sender)):
            return await self._file(document, key=key, title=title)

    async def words_of(self, message: IncomingMessage, attachment: Attachment) -> str:
        """What is said in a voice message. Raises NotFiled where nobody can tell."""
        try:
            return await self._reader.voice_text(message, attachment)
        except Unread as error:
            raise NotFiled(str(error)) from error

    async def _file(self, document: Document, *, key: str, title: str) -> Filed:
        attachment = document.attachment
        try:
            async with self._reader.fetched(document.chat, document.sender, attachment) as incoming:
                read = await self._reader.text_in(incoming, attachment, document.sender)
        except Unread as error:
            raise NotFiled(str(error)) from error
        if not read.text.strip():
            raise NotFiled(read.problem or phrases.FILED_NOTHING)
        day = document.at.astimezone(self._now().tzinfo).date()
        note = await asyncio.to_thread(
            filed_note, read, name=attachment.name, title=title, sender=document.sender_name, day=day
        )
        same = hashlib.sha256(read.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        same = f"{document.chat}/text-{same}"
        if known := await self._journal.still_filed(same, note.text):
            return Filed(known.path, known.line_start, known.line_end, "", before=True)
        written = await self._journal.file(note.path, note.block, key=key, title=note.title)
        await self._journal.note_filed(same, written)
        remark = ""
        if not note.is_whole:
            cut = phrases.FILED_CUT if read.characters else phrases.FILED_CUT_SOMEWHERE
            remark = cut.format(kept=note.kept, all=read.characters)
        return Filed(written.path, written.line_start, written.line_end, remark)
