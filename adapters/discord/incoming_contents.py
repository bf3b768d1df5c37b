"""Attachments and other contents of a Discord message; no I/O."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

import discord

from adapters.incoming_contents import Contents, describe_poll, describe_sticker, is_picture
from bot.messages import Attachment, AttachmentKind
from memory.surrogates import replace_surrogates


@dataclass(frozen=True, slots=True)
class AttachmentHandle:
    """How to download an attachment: a URL that expires after a day, and the message that has a new one."""

    channel: int
    message: int
    """0 for a command's attachment, for which Discord keeps no message."""
    attachment: int
    address: str

    def __str__(self) -> str:
        return f"{self.channel}/{self.message}/{self.attachment} {self.address}"

    @classmethod
    def parse(cls, text: str) -> "AttachmentHandle":
        """Parse `channel/message/attachment address`. Raises ValueError."""
        numbers, _, address = text.partition(" ")
        channel, message, attachment = map(int, numbers.split("/"))
        return cls(channel, message, attachment, address)


def read_contents(message: discord.Message) -> Contents:
    """Return a message's contents, including those it forwards."""
    files = [*message.attachments, *(one for each in message.message_snapshots for one in each.attachments)]
    stickers = [*message.stickers, *(one for each in message.message_snapshots for one in each.stickers)]
    words = [describe_sticker(sticker.name) for sticker in stickers]
    if poll := message.poll:
        words.append(describe_poll(poll.question, [answer.text or "" for answer in poll.answers]))
    return Contents("\n".join(words), read_attachments(files, channel=message.channel.id, message=message.id))


def read_attachments(
    files: Iterable[discord.Attachment], *, channel: int, message: int
) -> tuple[Attachment, ...]:
    """Return the attachments with their handles; `message` is 0 for a command's."""
    return tuple(
        _read_attachment(file, AttachmentHandle(channel, message, file.id, file.url)) for file in files
    )


def read_embeds(message: discord.Message) -> str:
    """Return the embeds' text, for messages of programs without other text."""
    lines = [
        part for embed in message.embeds if embed.type == "rich" for part in (embed.title, embed.description)
    ]
    return "\n".join(replace_surrogates(line) for line in lines if line)


def _read_attachment(file: discord.Attachment, handle: AttachmentHandle) -> Attachment:
    media_type = replace_surrogates(file.content_type or "").partition(";")[0].strip().lower()
    return Attachment(
        _attachment_kind(file, media_type),
        handle=str(handle),
        name="" if file.is_voice_message() else _file_name(file),
        media_type=media_type,
        size=file.size or 0,
        seconds=float(file.duration or 0.0),
    )


def _file_name(file: discord.Attachment) -> str:
    """Return the sender's file name: Discord keeps only plain letters in `filename`, and the rest in `title`."""
    suffix = PurePosixPath(file.filename).suffix
    if not file.title:
        return replace_surrogates(file.filename)
    return replace_surrogates(file.title if file.title.endswith(suffix) else f"{file.title}{suffix}")


def _attachment_kind(file: discord.Attachment, media_type: str) -> AttachmentKind:
    if file.is_voice_message() or media_type.startswith("audio/"):
        return "voice"
    if is_picture(media_type):
        return "picture"
    return "other" if media_type.startswith("video/") else "document"
