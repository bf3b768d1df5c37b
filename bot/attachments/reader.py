"""Reads a message with its attachments into the form that the model gets."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot import phrases
from bot.attachments.audio_format import MAX_BYTES, detect_format
from bot.attachments.document_text import (
    BEGINNING_BYTES,
    MAX_CHARACTERS,
    READING_SECONDS,
    DocumentText,
    is_picture,
    read_document,
)
from bot.attachments.fair_share import FairShare
from bot.attachments.incoming_file import IncomingFile
from bot.attachments.markup import (
    IS_CONTENT,
    describe_unreadable,
    format_playing_time,
    frame_content,
    heading,
    spoken_words,
)
from bot.attachments.pictures import PictureUnreadable, prepare_in_child
from bot.hot_swap import HotSwap
from bot.messages import (
    Attachment,
    AttachmentLost,
    ChannelFault,
    ChatId,
    IncomingMessage,
    PersonId,
    WriteChunk,
)
from bot.metrics import Metrics
from bot.model_error_text import reason_text
from bot.models.errors import ContextTooLong, ModelError
from bot.models.protocol import AttachedText, Image, UserMessage
from bot.sanitize import one_line
from bot.time_budget import TimeBudget
from bot.user_message import user_message
from memory.quantities import format_size

if TYPE_CHECKING:
    from bot.attachments.transcription import Transcriber
    from bot.config.settings import AttachmentSettings

log = logging.getLogger(__name__)

Fetch = Callable[[ChatId, Attachment, WriteChunk], Awaitable[None]]
"""Fetch an attachment of a chat. Raises AttachmentLost, ChannelFault, OSError."""
NumberOf = Callable[[IncomingMessage, Attachment], Awaitable[int | None]]
"""Return the number by which a document can be saved; None if it cannot."""

MAX_PICTURES = 10
"""For one message; an album has no more."""
MAX_ATTACHMENTS = 20
RETRY_DELAYS = (0.5, 1.5, 4.0)
"""Seconds between attempts to fetch."""
MAX_WAIT = sum(RETRY_DELAYS)
"""Maximum total wait, even if the channel asks for more: somebody waits for the answer."""
FETCH_SECONDS = 120.0
"""For one attempt."""
MAX_FETCHED_BYTES = 100 << 20
"""Disk space for all files that are fetched or read at a time; further ones wait."""
MAX_FETCHED_BYTES_PER_PERSON = 40 << 20
MIN_FILE_BYTES = 1 << 20
"""Minimum bytes for which a file counts, which limits the number of open files."""
MAX_PROCESSES = 2
"""Processes that read PDF files and pictures at a time; further ones wait."""
MAX_PROCESSES_PER_PERSON = 1
TEXT_SECONDS = 1.0
"""Time to count the characters of a long text when the message's time is used up; its beginning is always read."""
MIN_SHARE_BYTES = 200
"""Minimum bytes of a document that is cut."""


class AttachmentReader:
    """Reads messages. What cannot be fetched or read becomes a sentence, and never ends a turn."""

    def __init__(
        self,
        fetch: Fetch,
        settings: "AttachmentSettings",
        speech: "Transcriber | None" = None,
        *,
        number_of: NumberOf | None = None,
        metrics: Metrics | None = None,
        waits: Sequence[float] = RETRY_DELAYS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        folder: Path | None = None,
    ) -> None:
        """`folder`: holds unnamed files while they are read; it has to exist by then."""
        self.speech = HotSwap(speech)
        """Transcribes voice messages; None without a provider."""
        self._fetch = fetch
        self.set_settings(settings)
        self._number_of = number_of
        self._metrics = metrics or Metrics()
        self._waits = waits
        self._sleep = sleep
        self._folder = folder
        self._bytes = FairShare(in_all=MAX_FETCHED_BYTES, per_person=MAX_FETCHED_BYTES_PER_PERSON)
        self._processes = FairShare(in_all=MAX_PROCESSES, per_person=MAX_PROCESSES_PER_PERSON)

    def set_settings(self, settings: "AttachmentSettings") -> None:
        """Use these settings from now on."""
        self._max_bytes = settings.max_megabytes << 20
        self._room = settings.document_characters

    def direct_reply(self, message: IncomingMessage) -> str:
        """Return the answer to a message with nothing readable; "" if it is worth a turn.

        A model could only guess here. Nothing is fetched.
        """
        if message.text.strip() or not message.attachments:
            return ""
        kinds = {each.kind for each in message.attachments}
        speech = self.speech.now
        if kinds == {"voice"} and speech is None:
            return phrases.CANNOT_LISTEN
        if kinds == {"voice"} and speech and speech.provider.lacks_key:
            return _format_for_provider(phrases.CANNOT_LISTEN_WITHOUT_KEY, speech)
        return phrases.CANNOT_READ_KIND if kinds == {"other"} else ""

    async def read(self, message: IncomingMessage, allowance: TimeBudget | None = None) -> UserMessage:
        """Return a message for the model. May take long; raises only CancelledError.

        `allowance`: the time left, shared by messages that are answered together.
        """
        found = _MessageContent(message, self._room, allowance or TimeBudget(READING_SECONDS))
        began = self._metrics.clock()
        for attachment in message.attachments[:MAX_ATTACHMENTS]:
            await self._read(attachment, found)
        if (left := len(message.attachments) - MAX_ATTACHMENTS) > 0:
            told = heading("things", facts=[f"{left} more"], remark=phrases.TOO_MANY_ATTACHED)
            found.texts.append(AttachedText(told))
        if message.attachments:
            self._metrics.record_stage("attachments", since=began)
        return user_message(message, images=found.images, documents=found.all_texts())

    async def voice_text(self, message: IncomingMessage, attachment: Attachment) -> str:
        """Return the text of a voice message. Raises UnreadableAttachment with a sentence for people."""
        with self.speech.use() as speech:
            return await self._voice_text(message, attachment, speech)

    async def _voice_text(
        self, message: IncomingMessage, attachment: Attachment, speech: "Transcriber | None"
    ) -> str:
        if speech is None:
            raise UnreadableAttachment(phrases.NO_SPEECH_PROVIDER)
        if speech.provider.lacks_key:
            raise UnreadableAttachment(_format_for_provider(phrases.NO_SPEECH_KEY, speech))
        try:
            async with self.open_attachment(
                message.chat, message.sender, attachment, max_bytes=MAX_BYTES
            ) as incoming:
                if not detect_format(incoming.read_beginning(BEGINNING_BYTES)):
                    raise UnreadableAttachment(phrases.AUDIO_UNKNOWN)
                words = await speech.transcribe(incoming.file)
        except ContextTooLong as error:
            raise UnreadableAttachment(phrases.AUDIO_TOO_LONG.format(provider=speech.name)) from error
        except ModelError as error:
            log.warning("%s could not transcribe a voice message: %s", speech.name, error.detail)
            why = phrases.NOT_TRANSCRIBED.format(provider=speech.name, reason=reason_text(error.kind))
            raise UnreadableAttachment(why) from error
        if not words:
            raise UnreadableAttachment(phrases.NO_SPEECH)
        return words

    @asynccontextmanager
    async def open_attachment(
        self, chat: ChatId, person: PersonId, attachment: Attachment, *, max_bytes: int = 0
    ) -> AsyncIterator[IncomingFile]:
        """Fetch an attachment with retries; waits while too much is being read already. A context manager.

        Raises UnreadableAttachment with a sentence for people.
        """
        most = min(self._max_bytes, max_bytes or self._max_bytes)
        if attachment.size > most:
            raise UnreadableAttachment(phrases.ATTACHMENT_TOO_LARGE.format(most=most >> 20))
        expected = max(attachment.size or most, MIN_FILE_BYTES)
        async with self._bytes.acquire(str(person), expected) as share:

            def grown(size: int) -> None:
                self._bytes.grow(share, max(0, size - share.amount))

            try:
                incoming = IncomingFile(self._folder, max_bytes=most, grown=grown)
            except OSError as error:
                log.error("could not create a temporary file for an attachment: %s", one_line(str(error)))
                raise UnreadableAttachment(phrases.NOT_FETCHED) from error
            with incoming:
                await self._fetch_into(incoming, chat, attachment)
                yield incoming

    async def _fetch_into(self, incoming: IncomingFile, chat: ChatId, attachment: Attachment) -> None:
        left = MAX_WAIT
        for wait in (*self._waits, None):
            incoming.clear()
            try:
                async with asyncio.timeout(FETCH_SECONDS):
                    return await self._fetch(chat, attachment, incoming.write)
            except AttachmentLost as lost:
                raise UnreadableAttachment(str(lost)) from lost
            except (ChannelFault, OSError) as fault:  # includes TimeoutError
                asked = fault.retry_after if isinstance(fault, ChannelFault) else 0.0
                pause = max(asked, wait or 0.0)
                if wait is None or pause > left or isinstance(fault, TimeoutError):
                    log.warning("could not fetch an attachment in %s: %s", chat, one_line(str(fault)))
                    raise UnreadableAttachment(phrases.NOT_FETCHED) from fault
                left -= pause
                await self._sleep(pause)
        raise AssertionError("the last try raises or returns")

    async def extract_text(
        self,
        incoming: IncomingFile,
        attachment: Attachment,
        person: PersonId,
        *,
        max_characters: int = MAX_CHARACTERS,
        allowance: TimeBudget | None = None,
    ) -> DocumentText:
        """Read a fetched document. Raises OSError; UnreadableAttachment if there is no time left for it."""
        allowance = allowance or TimeBudget(READING_SECONDS)
        return await read_document(
            incoming.file,
            name=attachment.name,
            max_characters=max_characters,
            seconds=max(allowance.left, TEXT_SECONDS),
            process=self._process(person, allowance),
        )

    @asynccontextmanager
    async def _process(self, person: PersonId, allowance: TimeBudget) -> AsyncIterator[float]:
        """Wait until this person may start another process; yields the seconds that it has."""
        if not allowance.left:
            raise UnreadableAttachment(phrases.NO_TIME_LEFT)
        async with self._processes.acquire(str(person)):
            with allowance.spend() as seconds:
                yield seconds

    # -- each kind ----------------------------------------------------------------------------------------

    async def _read(self, attachment: Attachment, found: "_MessageContent") -> None:
        try:
            match attachment.kind:
                case "voice":
                    await self._read_voice(attachment, found)
                case "picture":
                    await self._read_picture(attachment, found)
                case "document":
                    await self._read_document(attachment, found)
                case "other":
                    raise UnreadableAttachment(phrases.CANNOT_READ_KIND)
        except UnreadableAttachment as problem:
            found.texts.append(describe_unreadable(attachment, str(problem)))
        except Exception:
            log.exception("could not read an attachment in %s", found.message.chat)
            found.texts.append(describe_unreadable(attachment, phrases.OUR_FAULT))

    async def _read_voice(self, attachment: Attachment, found: "_MessageContent") -> None:
        words = await self.voice_text(found.message, attachment)
        shown = _truncate_bytes(words, self._room)
        cut = f"only the first {len(shown):,} of {len(words):,} characters" if len(shown) < len(words) else ""
        facts = [format_playing_time(attachment.seconds), cut]
        if attachment.quoted or found.message.forwarded_from:  # somebody else may be speaking
            found.texts.append(frame_content(heading("voice message", facts=facts, remark=IS_CONTENT), shown))
        else:
            found.texts.append(spoken_words(shown, facts=facts))

    async def _read_picture(self, attachment: Attachment, found: "_MessageContent") -> None:
        _check_image_count(found)
        async with self.open_attachment(found.message.chat, found.message.sender, attachment) as incoming:
            await self._prepare_picture(incoming, found)

    async def _prepare_picture(self, incoming: IncomingFile, found: "_MessageContent") -> None:
        _check_image_count(found)
        try:
            async with self._process(found.message.sender, found.allowance) as seconds:
                found.images.append(await prepare_in_child(incoming.file, seconds=seconds))
        except PictureUnreadable as error:
            raise UnreadableAttachment(str(error)) from error

    async def _read_document(self, attachment: Attachment, found: "_MessageContent") -> None:
        person = found.message.sender
        async with self.open_attachment(found.message.chat, person, attachment) as incoming:
            if is_picture(incoming.read_beginning(BEGINNING_BYTES)):
                return await self._prepare_picture(incoming, found)
            document = await self.extract_text(
                incoming, attachment, person, max_characters=self._room + 1, allowance=found.allowance
            )
            size = incoming.size
        number = (
            await self._number_of(found.message, attachment) if self._number_of and document.text else None
        )
        found.documents.append(_ReadDocument(attachment, document, size, number, len(found.texts)))
        found.texts.append(AttachedText(""))  # all_texts fills it
        return None


class UnreadableAttachment(Exception):
    """An attachment cannot be fetched or read; the text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class _ReadDocument:
    attachment: Attachment
    document: DocumentText
    size: int
    number: int | None
    place: int
    """Index in the texts."""


@dataclass(slots=True)
class _MessageContent:
    """The content of a message, as far as it has been read."""

    message: IncomingMessage
    room: int
    """UTF-8 bytes for the texts of all its documents."""
    allowance: TimeBudget
    texts: list[AttachedText] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    documents: list[_ReadDocument] = field(default_factory=list)

    def all_texts(self) -> list[AttachedText]:
        """Return the texts, with documents cut so that all of them fit; short ones leave their share to long ones."""
        room = self.room
        by_length = sorted(self.documents, key=lambda each: _count_bytes(each.document.text))
        for at, each in enumerate(by_length):
            share = max(MIN_SHARE_BYTES, room // (len(by_length) - at))
            shown = _truncate_bytes(each.document.text, share)
            room -= _count_bytes(shown)
            self.texts[each.place] = _describe_document(each, shown)
        return self.texts


def _check_image_count(found: _MessageContent) -> None:
    if len(found.images) >= MAX_PICTURES:
        raise UnreadableAttachment(phrases.TOO_MANY_PICTURES.format(most=MAX_PICTURES))


def _format_for_provider(phrase: str, speech: "Transcriber") -> str:
    return phrase.format(provider=speech.provider.name, variable=speech.provider.key_variable)


def _describe_document(found: _ReadDocument, shown: str) -> AttachedText:
    document, name = found.document, found.attachment.name
    kind = "" if document.kind == "other" else document.kind
    facts = [kind, format_size(found.size), _format_pages(document.pages)]
    if document.problem:
        return AttachedText(heading("document", name=name, facts=facts, remark=document.problem))
    whole = document.is_whole and len(shown) == len(document.text)
    remark = IS_CONTENT if whole else f"{_cut_notice(document, shown, found.number)} {IS_CONTENT}"
    head = heading("document", name=name, number=found.number, facts=facts, remark=remark)
    return frame_content(head, shown.strip("\n"), number=found.number)


def _cut_notice(document: DocumentText, shown: str, number: int | None) -> str:
    of = f" of {document.characters:,}" if document.characters is not None else ""
    pages = f", from the first {document.pages_read} of its pages" if of == "" and document.pages else ""
    rest = " Once it is saved to the notes, all of it can be searched." if number is not None else ""
    return f"Cut: only the first {len(shown):,}{of} characters{pages} are shown here.{rest}"


def _format_pages(count: int) -> str:
    return f"{count:,} page{'s'[: count != 1]}" if count else ""


def _count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _truncate_bytes(text: str, max_bytes: int) -> str:
    """Return the beginning of a text in at most `max_bytes` of UTF-8, since tokens grow with bytes."""
    if _count_bytes(text) <= max_bytes:
        return text
    return text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")
