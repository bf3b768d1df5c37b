"""Pure: what comes along with a message of Telegram: what can be fetched, and what is told in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from telegram import (
    Animation,
    Audio,
    Checklist,
    Document,
    ExternalReplyInfo,
    LivePhoto,
    Location,
    Message,
    PhotoSize,
    Poll,
    Video,
    VideoNote,
    Voice,
)

from adapters.telegram.incoming_text import whole
from bot import phrases
from bot.messages import Attachment, AttachmentKind
from bot.plain_text import one_line

File = Animation | Audio | Document | LivePhoto | PhotoSize | Video | VideoNote | Voice

MOST_TO_FETCH = 20 * 1024 * 1024
"""Bytes: no bot can get a larger file from Telegram's own server."""
UNSEEN_PICTURES = ("image/svg+xml", "image/vnd.djvu")
"""Called images, but text or pages."""


@dataclass(frozen=True, slots=True)
class Contents:
    """All but the text of a message."""

    words: str = ""
    attachments: tuple[Attachment, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.attachments)


def contents_of(message: Message | ExternalReplyInfo) -> Contents:
    """Tell what comes along; nothing with a text alone, and with what Telegram itself says."""
    attachment = _attachment(message)
    return Contents(attachments=(attachment,)) if attachment else Contents(_words(message))


def _attachment(message: Message | ExternalReplyInfo) -> Attachment | None:
    # Telegram adds a document to each animation, for programs that do not know of animations.
    if message.animation:
        return _file("other", message.animation)
    if message.photo:
        return _picture(message.photo)
    if message.live_photo:
        return (
            _picture(message.live_photo.photo)
            if message.live_photo.photo
            else _file("other", message.live_photo)
        )
    if document := message.document:
        kind = document.mime_type or ""
        is_picture = kind.startswith("image/") and kind not in UNSEEN_PICTURES
        return _file("picture" if is_picture else "document", document)
    if message.voice:
        return _file("voice", message.voice, media_type="audio/ogg")
    if message.audio:
        return _file("voice", message.audio)
    if message.video_note:  # somebody who speaks
        return _file("voice", message.video_note, media_type="video/mp4")
    return _file("other", message.video) if message.video else None


def _picture(sizes: Sequence[PhotoSize]) -> Attachment:
    """The largest size that can be fetched; Telegram makes all of them JPEGs."""
    fitting = [size for size in sizes if (size.file_size or 0) <= MOST_TO_FETCH] or sizes
    return _file("picture", max(fitting, key=lambda size: size.width * size.height), media_type="image/jpeg")


def _file(kind: AttachmentKind, file: File, *, media_type: str = "") -> Attachment:
    seconds = getattr(file, "duration", 0)
    return Attachment(
        kind,
        handle=whole(file.file_id),
        name=whole(getattr(file, "file_name", None) or ""),
        media_type=whole(getattr(file, "mime_type", None) or media_type),
        size=int(file.file_size or 0),
        seconds=seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds),
    )


def _words(message: Message | ExternalReplyInfo) -> str:
    """What people see of it, where nothing can be fetched."""
    if message.sticker:
        return phrases.SENT_STICKER.format(emoji=message.sticker.emoji or "").replace(" ]", "]")
    if venue := message.venue:
        where = _where(venue.location)
        return phrases.SENT_VENUE.format(title=_line(venue.title), address=_line(venue.address), where=where)
    if message.location:
        return phrases.SENT_LOCATION.format(where=_where(message.location))
    if contact := message.contact:
        name = " ".join(filter(None, [contact.first_name, contact.last_name]))
        return phrases.SENT_CONTACT.format(name=_line(name), number=_line(contact.phone_number))
    if message.poll:
        return _poll(message.poll)
    if message.checklist:
        return _checklist(message.checklist)
    if message.dice:
        return phrases.SENT_DICE.format(emoji=message.dice.emoji, value=message.dice.value)
    if message.game:
        return phrases.SENT_GAME.format(title=_line(message.game.title))
    if message.invoice:
        return phrases.SENT_INVOICE.format(title=_line(message.invoice.title))
    if message.story:
        return phrases.SENT_STORY
    if message.paid_media:
        return phrases.SENT_PAID_MEDIA
    return phrases.SENT_GIVEAWAY if message.giveaway or message.giveaway_winners else ""


def _poll(poll: Poll) -> str:
    options = "\n".join(f"- {_line(option.text)}" for option in poll.options)
    return phrases.SENT_POLL.format(question=_line(poll.question), options=options)


def _checklist(checklist: Checklist) -> str:
    tasks = "\n".join(
        f"- [{'x' if task.completion_date else ' '}] {_line(task.text)}" for task in checklist.tasks
    )
    return phrases.SENT_CHECKLIST.format(title=_line(checklist.title), tasks=tasks)


def _where(location: Location) -> str:
    return f"{location.latitude:.5f}, {location.longitude:.5f}"


def _line(text: str | None) -> str:
    return one_line(whole(text or ""))
