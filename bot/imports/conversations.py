"""Imports conversations: reads them as a stream and stores them in batches, each a short transaction."""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from bot.conversations.message_rows import encode_message
from bot.imports.conversation import (
    ConversationFormat,
    ImportedConversation,
    ImportedFile,
    ImportedMessage,
    fill_moments,
    make_key,
    message_keys,
)
from bot.imports.errors import ImportFault
from bot.imports.export_files import ExportFile
from bot.imports.formats import find_format, kept_parts, show_name
from bot.imports.json_bytes import JsonBytes
from bot.imports.json_items import read_items
from bot.messages import PersonId
from bot.models.protocol import AssistantMessage, AttachedText, UserMessage
from bot.models.token_estimate import estimate_text_tokens
from bot.sanitize import one_line
from bot.state import imports
from bot.state.database import State, format_timestamp
from bot.state.imports import Added, ImportRun, NewConversation, NewMessage
from memory import disk
from memory.quantities import format_size

if TYPE_CHECKING:
    from apsw import Connection

BATCH_MESSAGES = 1_000
BATCH_CHARS = 1_000_000
"""A transaction of this size takes some ten milliseconds."""
MAX_SKIPPED_NAMED = 100


@dataclass(slots=True)
class ConversationReport:
    """What an import of conversations has found and done, or would do."""

    formats: set[str] = field(default_factory=set)
    conversations: int = 0
    """Conversations with messages in the export."""
    messages: int = 0
    created: int = 0
    """Conversations that are new here."""
    continued: int = 0
    """Conversations that were here, and have new messages."""
    added: int = 0
    """Messages that are new here."""
    unchanged: int = 0
    """Conversations that were here already, complete."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """What was left out, and why; at most MAX_SKIPPED_NAMED."""
    skipped_count: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    tokens: int = 0
    """Estimated tokens of the messages that are new here."""
    broken: list[str] = field(default_factory=list)
    """Why files were not read to their ends."""

    def skip(self, what: str, why: str) -> None:
        """Count something that was left out."""
        self.skipped_count += 1
        if len(self.skipped) < MAX_SKIPPED_NAMED:
            self.skipped.append((what, why))

    def count_moments(self, moments: Sequence[datetime]) -> None:
        """Extend the range of dates."""
        self.first_at = min(filter(None, (self.first_at, *moments)))
        self.last_at = max(filter(None, (self.last_at, *moments)))


@dataclass(slots=True)
class ReadingProgress:
    """How much of the files has been read."""

    total: int = 0
    done: int = 0
    report: ConversationReport = field(default_factory=ConversationReport)

    def count(self, size: int) -> None:
        """Count bytes that were read."""
        self.done += size

    def describe(self) -> str:
        """Return one line for the terminal."""
        share = min(1.0, self.done / self.total) if self.total else 0.0
        bar = "#" * round(share * 20)
        return (
            f"[{bar:<20}] {share:4.0%} of {format_size(self.total)}, "
            f"{self.report.conversations:,} conversations, {self.report.added:,} new messages"
        )


async def import_conversations(
    files: Sequence[ExportFile],
    state: State | None,
    run: ImportRun,
    *,
    person: PersonId,
    now: datetime,
    only: str = "",
    dry: bool = False,
    progress: ReadingProgress,
) -> ConversationReport:
    """Store what is new; with `dry`, or without a state.db, only count it. `only`: the one format that is wanted.

    Each batch is stored as a whole, and what is there already is skipped: after an interruption, the same call goes on.
    Raises StateFault.
    """
    report = progress.report
    progress.total = sum(file.size for file in files)
    batches = _read_batches(files, person=person, now=now, only=only, progress=progress)
    whole = _Whole()
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        store = partial(_store, run=run, parts=batch, dry=dry)
        if state is None:
            done = [Added(each.is_first, len(each.new.messages)) for each in batch]
        else:
            done = await (state.read(store) if dry else state.change(store))
        for part, added in zip(batch, done, strict=True):
            if part.is_first:
                whole.count_in(report)
            whole.add(part, added)
            report.added += added.messages
            report.tokens += round(part.tokens * added.messages / len(part.new.messages))
    whole.count_in(report)
    return report


def _store(db: "Connection", run: ImportRun, parts: Sequence["_Part"], *, dry: bool) -> list[Added]:
    work = imports.count_new if dry else imports.add_conversation
    return [work(db, run, each.new) for each in parts]


@dataclass(frozen=True, slots=True)
class _Part:
    """A conversation, or a part of a long one."""

    new: NewConversation
    is_first: bool
    tokens: int


@dataclass(slots=True)
class _Whole:
    """What was new of one conversation, over all of its parts."""

    parts: int = 0
    created: bool = False
    added: int = 0

    def add(self, part: _Part, added: Added) -> None:
        self.parts += 1
        self.created |= part.is_first and added.created
        self.added += added.messages

    def count_in(self, report: ConversationReport) -> None:
        """Count it, and begin with the next one."""
        report.created += self.created
        report.continued += bool(self.added) and not self.created
        report.unchanged += bool(self.parts) and not self.added
        self.parts, self.created, self.added = 0, False, 0


# -- reading ----------------------------------------------------------------------------------------------------


def _read_batches(
    files: Sequence[ExportFile], *, person: PersonId, now: datetime, only: str, progress: ReadingProgress
) -> Iterator[list[_Part]]:
    batch, messages, chars = list[_Part](), 0, 0
    for part in _read_parts(files, person=person, now=now, only=only, progress=progress):
        batch.append(part)
        messages += len(part.new.messages)
        chars += sum(len(each.payload) for each in part.new.messages)
        if messages >= BATCH_MESSAGES or chars >= BATCH_CHARS:
            yield batch
            batch, messages, chars = [], 0, 0
    if batch:
        yield batch


def _read_parts(
    files: Sequence[ExportFile], *, person: PersonId, now: datetime, only: str, progress: ReadingProgress
) -> Iterator[_Part]:
    report = progress.report
    for file in files:
        before = progress.done
        try:
            for found, conversation, problem in _read_conversations(file, progress):
                if only and found.name != only:
                    report.skip(conversation.title or conversation.id, f"it is not from {show_name(only)}")
                    continue
                report.formats.add(found.name)
                if problem or not conversation.messages:
                    report.skip(conversation.title or conversation.id, problem or "it has no messages")
                else:
                    report.conversations += 1
                    report.messages += len(conversation.messages)
                    moments = fill_moments(conversation, now=now)
                    report.count_moments(moments)
                    yield from _split(found.name, conversation, moments, person)
        except ImportFault as fault:
            report.broken.append(str(fault))
        except OSError as error:
            report.broken.append(f"{file.name} can't be read to its end: {disk.reason(error)}")
        progress.done = before + file.size


def _read_conversations(
    file: ExportFile, progress: ReadingProgress
) -> Iterator[tuple[ConversationFormat, ImportedConversation, str]]:
    with file.open() as opened:
        stream = JsonBytes(opened, name=file.name, report=progress.count)
        for item in read_items(stream, name=file.name, large=kept_parts()):
            if found := find_format(item):
                yield found, found.read(item), item.problem
            else:
                progress.report.skip(file.name, "part of it is not a conversation")


def _split(
    name: str, conversation: ImportedConversation, moments: Sequence[datetime], person: PersonId
) -> Iterator[_Part]:
    """Yield a conversation in parts that can each be stored in one transaction."""
    keys = message_keys(conversation.messages)
    first = conversation.messages[0]
    external_id = conversation.id or f"{make_key(f'{conversation.title} {conversation.at} {first.text}'):x}"
    new, chars, tokens, is_first = list[NewMessage](), 0, 0, True
    seen = set[int]()
    for message, key, moment in zip(conversation.messages, keys, moments, strict=True):
        if key in seen:
            continue
        seen.add(key)
        kind, payload = _encode(message, person, name)
        new.append(NewMessage(key, kind, payload, format_timestamp(moment)))
        chars += len(payload)
        tokens += estimate_text_tokens(message.text)
        if len(new) >= BATCH_MESSAGES or chars >= BATCH_CHARS:
            yield _make_part(
                name, external_id, conversation.title, new, tokens, moments[0], is_first=is_first
            )
            new, chars, tokens, is_first = [], 0, 0, False
    if new:
        yield _make_part(name, external_id, conversation.title, new, tokens, moments[0], is_first=is_first)


def _make_part(
    name: str,
    external_id: str,
    title: str,
    messages: Sequence[NewMessage],
    tokens: int,
    began: datetime,
    *,
    is_first: bool,
) -> _Part:
    new = NewConversation(name, external_id, title, format_timestamp(began), messages)
    return _Part(new, is_first, tokens)


def _encode(message: ImportedMessage, person: PersonId, name: str) -> tuple[str, str]:
    if message.role == "assistant":
        files = "".join(f"\n\n[{each.name}]" for each in message.files)
        return encode_message(AssistantMessage(f"{message.text}{files}".strip(), (), name))
    return encode_message(
        UserMessage(message.text, documents=tuple(map(_attach, message.files))), by=str(person)
    )


def _attach(file: ImportedFile) -> AttachedText:
    # Not at random: the same file becomes the same row.
    mark = hashlib.sha256(file.text.encode("utf-8", "replace")).hexdigest()[:12] if file.text else ""
    return AttachedText(f"document: {one_line(file.name, limit=200)}", file.text, mark)
