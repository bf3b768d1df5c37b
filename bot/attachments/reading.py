"""A message with all that came along, as the model reads it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot import phrases
from bot.attachments.allowance import Allowance
from bot.attachments.documents import BEGINNING_BYTES, MOST_CHARACTERS, DocumentText, is_picture, text_of
from bot.attachments.fair_share import FairShare
from bot.attachments.incoming_file import IncomingFile
from bot.attachments.pictures import PictureUnreadable, prepare_in_child
from bot.attachments.sound import MOST_BYTES, format_of
from bot.attachments.wording import IS_CONTENT, heading, heard, in_bytes, in_minutes, unread, with_content
from bot.heard import said, speaker
from bot.measures import Measures
from bot.messages import Attachment, AttachmentLost, ChannelFault, ChatId, IncomingMessage, PersonId, Write
from bot.model_trouble import reason
from bot.models.errors import ContextTooLong, ModelError
from bot.models.protocol import Image, UserMessage
from bot.plain_text import one_line
from bot.renewable import Renewable

if TYPE_CHECKING:
    from bot.attachments.speech import Speech
    from bot.config.settings import AttachmentSettings

log = logging.getLogger(__name__)

Fetch = Callable[[ChatId, Attachment, Write, int], Awaitable[None]]
"""Get an attachment of a chat, of so many bytes at most; raises AttachmentLost, ChannelFault, OSError."""
NumberOf = Callable[[IncomingMessage, Attachment], Awaitable[int | None]]
"""Under which number a document can be filed; None where it cannot."""

MOST_PICTURES = 10
"""In a message; as many as an album has."""
MOST_ATTACHMENTS = 20
WAITS = (0.5, 1.5, 4.0)
"""Seconds between tries to fetch."""
LONGEST_WAIT = sum(WAITS)
"""Of all tries together, also where the channel asks for more: somebody waits for the answer."""
FETCH_SECONDS = 120.0
"""For one try."""
FETCHED_BYTES = 100 << 20
"""Of files that are being fetched or read at the same time, on disk; whoever wants more waits."""
FETCHED_BYTES_PER_PERSON = 40 << 20
SMALLEST_FILE = 1 << 20
"""Bytes: no file counts for less, so that there are not too many open ones."""
PROCESSES = 2
"""That read PDF files and pictures at the same time; whoever wants another waits."""
PROCESSES_PER_PERSON = 1
TEXT_SECONDS = 1.0
"""For counting the letters of a long text where no more time is left for the message; its beginning is always read."""
SMALLEST_SHARE = 200
"""Bytes: a document is not cut to less."""


class AttachmentReader:
    """Reads messages. What cannot be fetched or read is told in words, and ends no turn."""

    def __init__(
        self,
        fetch: Fetch,
        settings: "AttachmentSettings",
        speech: "Speech | None" = None,
        *,
        number_of: NumberOf | None = None,
        measures: Measures | None = None,
        waits: Sequence[float] = WAITS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        folder: Path | None = None,
    ) -> None:
        """`folder`: where files are while they are read, without a name; it has to be there by then."""
        self.speech = Renewable(speech)
        """Who writes down what is said aloud."""
        self._fetch = fetch
        self.renew(settings)
        self._number_of = number_of
        self._measures = measures or Measures()
        self._waits = waits
        self._sleep = sleep
        self._folder = folder
        self._bytes = FairShare(in_all=FETCHED_BYTES, per_person=FETCHED_BYTES_PER_PERSON)
        self._processes = FairShare(in_all=PROCESSES, per_person=PROCESSES_PER_PERSON)

    def renew(self, settings: "AttachmentSettings") -> None:
        """Have these settings count from now on."""
        self._most_bytes = settings.max_megabytes << 20
        self._room = settings.document_characters

    def instead(self, message: IncomingMessage) -> str:
        """What to answer a message in which nothing can be read, with no turn; "" where it may be worth one.

        A model would only guess there. Nothing is fetched for this.
        """
        if message.text.strip() or not message.attachments:
            return ""
        kinds = {each.kind for each in message.attachments}
        speech = self.speech.now
        if kinds == {"voice"} and speech is None:
            return phrases.CANNOT_LISTEN
        if kinds == {"voice"} and speech and speech.provider.lacks_key:
            return _of_provider(phrases.CANNOT_LISTEN_WITHOUT_KEY, speech)
        return phrases.CANNOT_READ_KIND if kinds == {"other"} else ""

    async def read(self, message: IncomingMessage, allowance: Allowance | None = None) -> UserMessage:
        """Give a message as the model is to have it. May take long; raises nothing but when it is cancelled.

        `allowance`: the time that is left where several messages are answered together.
        """
        found = _Found(message, self._room, allowance or Allowance())
        began = self._measures.clock()
        for attachment in message.attachments[:MOST_ATTACHMENTS]:
            await self._read(attachment, found)
        if (left := len(message.attachments) - MOST_ATTACHMENTS) > 0:
            found.texts.append(heading("things", facts=[f"{left} more"], told=phrases.TOO_MANY_ATTACHED))
        if message.attachments:
            self._measures.took("attachments", since=began)
        return UserMessage(said(message, *found.all_texts()), tuple(found.images), speaker(message))

    async def voice_text(self, message: IncomingMessage, attachment: Attachment) -> str:
        """Give what is said in a voice message. Raises Unread with a sentence for people."""
        with self.speech.in_use() as speech:
            return await self._voice_text(message, attachment, speech)

    async def _voice_text(
        self, message: IncomingMessage, attachment: Attachment, speech: "Speech | None"
    ) -> str:
        if speech is None:
            raise Unread(phrases.NO_SPEECH_PROVIDER)
        if speech.provider.lacks_key:
            raise Unread(_of_provider(phrases.NO_SPEECH_KEY, speech))
        try:
            async with self.fetched(
                message.chat, message.sender, attachment, most_bytes=MOST_BYTES
            ) as incoming:
                if not format_of(incoming.beginning(BEGINNING_BYTES)):
                    raise Unread(phrases.SOUND_UNKNOWN)
                words = await speech.transcribe(incoming.file)
        except ContextTooLong as error:
            raise Unread(phrases.SOUND_TOO_LONG.format(provider=speech.name)) from error
        except ModelError as error:
            log.warning("%s has not written down a voice message: %s", speech.name, error.detail)
            why = phrases.NOT_WRITTEN_DOWN.format(provider=speech.name, reason=reason(error.kind))
            raise Unread(why) from error
        if not words:
            raise Unread(phrases.NOTHING_IS_HEARD)
        return words

    @asynccontextmanager
    async def fetched(
        self, chat: ChatId, person: PersonId, attachment: Attachment, *, most_bytes: int = 0
    ) -> AsyncIterator[IncomingFile]:
        """Fetch for a person, again where it may help; waits while too much is being read already.

        Raises Unread with a sentence for people.
        """
        most = min(self._most_bytes, most_bytes or self._most_bytes)
        if attachment.size > most:
            raise Unread(phrases.ATTACHMENT_TOO_LARGE.format(most=most >> 20))
        expected = max(attachment.size or most, SMALLEST_FILE)
        async with self._bytes.taken(str(person), expected) as share:

            def grown(size: int) -> None:
                self._bytes.grow(share, max(0, size - share.amount))

            try:
                incoming = IncomingFile(self._folder, most=most, grown=grown)
            except OSError as error:
                log.error("no file can be kept while it is read: %s", one_line(str(error)))
                raise Unread(phrases.NOT_FETCHED) from error
            with incoming:
                await self._fetch_into(incoming, chat, attachment, most)
                yield incoming

    async def _fetch_into(
        self, incoming: IncomingFile, chat: ChatId, attachment: Attachment, most: int
    ) -> None:
        left = LONGEST_WAIT
        for wait in (*self._waits, None):
            incoming.empty()
            try:
                async with asyncio.timeout(FETCH_SECONDS):
                    return await self._fetch(chat, attachment, incoming.write, most)
            except AttachmentLost as lost:
                raise Unread(str(lost)) from lost
            except (ChannelFault, OSError) as fault:  # a TimeoutError is one
                asked = fault.retry_after if isinstance(fault, ChannelFault) else 0.0
                pause = max(asked, wait or 0.0)
                if wait is None or pause > left or isinstance(fault, TimeoutError):
                    log.warning("an attachment in %s cannot be fetched: %s", chat, one_line(str(fault)))
                    raise Unread(phrases.NOT_FETCHED) from fault
                left -= pause
                await self._sleep(pause)
        raise AssertionError("the last try raises or returns")

    async def text_in(
        self,
        incoming: IncomingFile,
        attachment: Attachment,
        person: PersonId,
        *,
        most_characters: int = MOST_CHARACTERS,
        allowance: Allowance | None = None,
    ) -> DocumentText:
        """Read a document that was fetched. Raises OSError, and Unread where there is no time left for it."""
        allowance = allowance or Allowance()
        return await text_of(
            incoming.file,
            name=attachment.name,
            most_characters=most_characters,
            seconds=max(allowance.left, TEXT_SECONDS),
            process=self._process(person, allowance),
        )

    @asynccontextmanager
    async def _process(self, person: PersonId, allowance: Allowance) -> AsyncIterator[float]:
        """Wait until another process may be started for a person; gives how many seconds it has."""
        if not allowance.left:
            raise Unread(phrases.NO_TIME_LEFT)
        async with self._processes.taken(str(person)):
            with allowance.used() as seconds:
                yield seconds

    # -- one by one ---------------------------------------------------------------------------------------

    async def _read(self, attachment: Attachment, found: "_Found") -> None:
        try:
            match attachment.kind:
                case "voice":
                    await self._read_voice(attachment, found)
                case "picture":
                    await self._read_picture(attachment, found)
                case "document":
                    await self._read_document(attachment, found)
                case "other":
                    raise Unread(phrases.CANNOT_READ_KIND)
        except Unread as problem:
            found.texts.append(unread(attachment, str(problem)))
        except Exception:
            log.exception("an attachment in %s could not be read", found.message.chat)
            found.texts.append(unread(attachment, phrases.OUR_FAULT))

    async def _read_voice(self, attachment: Attachment, found: "_Found") -> None:
        words = await self.voice_text(found.message, attachment)
        shown = _beginning(words, self._room)
        cut = f"only the first {len(shown):,} of {len(words):,} characters" if len(shown) < len(words) else ""
        facts = [in_minutes(attachment.seconds), cut]
        if attachment.quoted or found.message.forwarded_from:  # somebody else may speak in it
            found.texts.append(with_content(heading("voice message", facts=facts, told=IS_CONTENT), shown))
        else:
            found.texts.append(heard(shown, facts=facts))

    async def _read_picture(self, attachment: Attachment, found: "_Found") -> None:
        _see_that_there_is_room(found)
        async with self.fetched(found.message.chat, found.message.sender, attachment) as incoming:
            await self._look_at(incoming, found)

    async def _look_at(self, incoming: IncomingFile, found: "_Found") -> None:
        _see_that_there_is_room(found)
        try:
            async with self._process(found.message.sender, found.allowance) as seconds:
                found.images.append(await prepare_in_child(incoming.file, seconds=seconds))
        except PictureUnreadable as error:
            raise Unread(str(error)) from error

    async def _read_document(self, attachment: Attachment, found: "_Found") -> None:
        person = found.message.sender
        async with self.fetched(found.message.chat, person, attachment) as incoming:
            if is_picture(incoming.beginning(BEGINNING_BYTES)):
                return await self._look_at(incoming, found)
            document = await self.text_in(
                incoming, attachment, person, most_characters=self._room + 1, allowance=found.allowance
            )
            size = incoming.size
        number = (
            await self._number_of(found.message, attachment) if self._number_of and document.text else None
        )
        found.documents.append(_Document(attachment, document, size, number, len(found.texts)))
        found.texts.append("")
        return None


class Unread(Exception):
    """An attachment that cannot be fetched or read; the text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class _Document:
    attachment: Attachment
    document: DocumentText
    size: int
    number: int | None
    place: int
    """In the texts."""


@dataclass(slots=True)
class _Found:
    """What has been read of a message so far."""

    message: IncomingMessage
    room: int
    """For the texts of all its documents, in bytes of UTF-8."""
    allowance: Allowance
    texts: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    documents: list[_Document] = field(default_factory=list)

    def all_texts(self) -> list[str]:
        """Give the texts, those of documents cut so that all of them find room: short ones leave it to long ones."""
        room = self.room
        by_length = sorted(self.documents, key=lambda each: _bytes_of(each.document.text))
        for at, each in enumerate(by_length):
            share = max(SMALLEST_SHARE, room // (len(by_length) - at))
            shown = _beginning(each.document.text, share)
            room -= _bytes_of(shown)
            self.texts[each.place] = _told(each, shown)
        return self.texts


def _see_that_there_is_room(found: _Found) -> None:
    if len(found.images) >= MOST_PICTURES:
        raise Unread(phrases.TOO_MANY_PICTURES.format(most=MOST_PICTURES))


def _of_provider(phrase: str, speech: "Speech") -> str:
    return phrase.format(provider=speech.provider.name, variable=speech.provider.key_variable)


def _told(found: _Document, shown: str) -> str:
    document, name = found.document, found.attachment.name
    kind = "" if document.kind == "other" else document.kind
    facts = [kind, in_bytes(found.size), _pages(document.pages)]
    if document.problem:
        return heading("document", name=name, facts=facts, told=document.problem)
    whole = document.is_whole and len(shown) == len(document.text)
    told = IS_CONTENT if whole else f"{_cut(document, shown, found.number)} {IS_CONTENT}"
    head = heading("document", name=name, number=found.number, facts=facts, told=told)
    return with_content(head, shown.strip("\n"))


def _cut(document: DocumentText, shown: str, number: int | None) -> str:
    of = f" of {document.characters:,}" if document.characters is not None else ""
    pages = f", from the first {document.pages_read} of its pages" if of == "" and document.pages else ""
    rest = " Once it is filed in the memory, all of it can be searched." if number is not None else ""
    return f"Cut: only the first {len(shown):,}{of} characters{pages} stand here.{rest}"


def _pages(count: int) -> str:
    return f"{count:,} page{'s'[: count != 1]}" if count else ""


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _beginning(text: str, most_bytes: int) -> str:
    """As much of it as finds room: letters of most scripts take two or three bytes, and tokens go by bytes."""
    if _bytes_of(text) <= most_bytes:
        return text
    return text.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")
