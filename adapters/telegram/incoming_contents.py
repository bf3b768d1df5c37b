"""Attachments and other contents of a Telegram message; no I/O."""

from collections.abc import Sequence
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
    Video,
    VideoNote,
    Voice,
)

from adapters.incoming_contents import Contents, describe_poll, describe_sticker, is_picture
from adapters.incoming_text import clean_line
from bot import english
from bot.messages import Attachment, AttachmentKind
from memory.surrogates import replace_surrogates

File = Animation | Audio | Document | LivePhoto | PhotoSize | Video | VideoNote | Voice

MAX_FETCH_BYTES = 20 * 1024 * 1024
"""Maximum file size in bytes that bots can get from Telegram's own server."""


def read_contents(message: Message | ExternalReplyInfo) -> Contents:
    """Return a message's contents; empty for plain text and for service messages."""
    attachment = _read_attachment(message)
    return Contents(attachments=(attachment,)) if attachment else Contents(_describe(message))


def _read_attachment(message: Message | ExternalReplyInfo) -> Attachment | None:
    # Telegram adds a document to each animation, for clients that do not support animations.
    if message.animation:
        return _file_attachment("other", message.animation)
    if message.photo:
        return _choose_picture(message.photo)
    if message.live_photo:
        return (
            _choose_picture(message.live_photo.photo)
            if message.live_photo.photo
            else _file_attachment("other", message.live_photo)
        )
    if document := message.document:
        return _file_attachment("picture" if is_picture(document.mime_type or "") else "document", document)
    if message.voice:
        return _file_attachment("voice", message.voice, media_type="audio/ogg")
    if message.audio:
        return _file_attachment("voice", message.audio)
    if message.video_note:  # a person speaking
        return _file_attachment("voice", message.video_note, media_type="video/mp4")
    return _file_attachment("other", message.video) if message.video else None


def _choose_picture(sizes: Sequence[PhotoSize]) -> Attachment:
    """Return the largest size that can be downloaded; all are JPEGs."""
    fitting = [size for size in sizes if (size.file_size or 0) <= MAX_FETCH_BYTES] or sizes
    return _file_attachment(
        "picture", max(fitting, key=lambda size: size.width * size.height), media_type="image/jpeg"
    )


def _file_attachment(kind: AttachmentKind, file: File, *, media_type: str = "") -> Attachment:
    seconds = getattr(file, "duration", 0)
    return Attachment(
        kind,
        handle=replace_surrogates(file.file_id),
        name=replace_surrogates(getattr(file, "file_name", None) or ""),
        media_type=replace_surrogates(getattr(file, "mime_type", None) or media_type),
        size=int(file.file_size or 0),
        seconds=seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds),
    )


def _describe(message: Message | ExternalReplyInfo) -> str:
    """Describe contents that cannot be downloaded, as people see them."""
    if message.sticker:
        return describe_sticker(message.sticker.emoji)
    if venue := message.venue:
        where = _format_location(venue.location)
        return english.SENT_VENUE.format(
            title=clean_line(venue.title), address=clean_line(venue.address), where=where
        )
    if message.location:
        return english.SENT_LOCATION.format(where=_format_location(message.location))
    if contact := message.contact:
        name = " ".join(filter(None, [contact.first_name, contact.last_name]))
        return english.SENT_CONTACT.format(name=clean_line(name), number=clean_line(contact.phone_number))
    if message.poll:
        return describe_poll(message.poll.question, [option.text for option in message.poll.options])
    if message.checklist:
        return _describe_checklist(message.checklist)
    if message.dice:
        return english.SENT_DICE.format(emoji=message.dice.emoji, value=message.dice.value)
    if message.game:
        return english.SENT_GAME.format(title=clean_line(message.game.title))
    if message.invoice:
        return english.SENT_INVOICE.format(title=clean_line(message.invoice.title))
    if message.story:
        return english.SENT_STORY
    if message.paid_media:
        return english.SENT_PAID_MEDIA
    return english.SENT_GIVEAWAY if message.giveaway or message.giveaway_winners else ""


def _describe_checklist(checklist: Checklist) -> str:
    tasks = "\n".join(
        f"- [{'x' if task.completion_date else ' '}] {clean_line(task.text)}" for task in checklist.tasks
    )
    return english.SENT_CHECKLIST.format(title=clean_line(checklist.title), tasks=tasks)


def _format_location(location: Location) -> str:
    return f"{location.latitude:.5f}, {location.longitude:.5f}"
