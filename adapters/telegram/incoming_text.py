"""Convert a message's text: mentions of the bot are removed, code and links become Markdown; no I/O."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from telegram import MessageEntity

from adapters.incoming_text import trim_mentions

_COMMAND = re.compile(r"/([A-Za-z0-9_]+)(?:@(\w+))?(?=\s|$)")
_NOT_IN_LANGUAGE = re.compile(r"[`\s]+")
_TICKS = re.compile(r"`+")


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot's id and user name."""

    id: int
    username: str
    """Without the @."""

    def is_named(self, name: str) -> bool:
        """Return whether a user name, with or without @, is the bot's; case is ignored, as Telegram does."""
        return bool(self.username) and name.removeprefix("@").casefold() == self.username.casefold()


def utf16_length(text: str) -> int:
    """Return a text's length in UTF-16 units, which Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class MessageText:
    """A text with its entities; offsets are in UTF-16 units."""

    def __init__(self, text: str, entities: Sequence[MessageEntity], me: BotIdentity) -> None:
        self._data = text.encode("utf-16-le", "surrogatepass")
        self._end = len(self._data) // 2
        fitting = [one for one in entities if one.offset >= 0 and one.offset + one.length <= self._end]
        self._entities = sorted(fitting, key=lambda one: (one.offset, -one.length))
        self._me = me

    @property
    def mentions_bot(self) -> bool:
        """Whether the bot is mentioned."""
        return bool(self._find_bot_mentions())

    @property
    def is_own_command(self) -> bool:
        """Whether it starts with a command that is not for another bot."""
        command = _COMMAND.match(self._join_marked().lstrip())
        return bool(command and (not command[2] or self._me.is_named(command[2])))

    def read(self) -> str:
        """Return the text without mentions of the bot at its start and end, with code and links marked."""
        text = self._join_marked().strip()
        command = _COMMAND.match(text)
        if command and command[2] and self._me.is_named(command[2]):
            return f"/{command[1]}{text[command.end() :]}"
        return text

    def _join_marked(self) -> str:
        start, end = self._trim_bot_mentions()
        is_command = self._slice(start, end).lstrip().startswith("/")
        pieces: list[_TextPiece] = []
        at = start
        for entity in self._entities:
            entity_end = entity.offset + entity.length
            if entity.offset < at or entity_end > end:
                continue
            inside = self._slice(entity.offset, entity_end)
            # A command copied from one of our messages may still be marked as code.
            if is_command and not self._slice(start, entity.offset).strip():
                continue
            marked = _mark_piece(entity, inside)
            if marked is None:
                continue
            pieces += [_TextPiece(self._slice(at, entity.offset)), marked]
            at = entity_end
        return _join_pieces([*pieces, _TextPiece(self._slice(at, end))])

    def _trim_bot_mentions(self) -> tuple[int, int]:
        """Return the bounds of the text without the bot's mentions at its ends; all of it if nothing else is left."""
        return trim_mentions(self._slice, self._end, self._find_bot_mentions())

    def _find_bot_mentions(self) -> list[tuple[int, int]]:
        return [(one.offset, one.offset + one.length) for one in self._entities if self._is_bot_mention(one)]

    def _is_bot_mention(self, entity: MessageEntity) -> bool:
        if entity.type == MessageEntity.TEXT_MENTION:
            return bool(entity.user and entity.user.id == self._me.id)
        name = self._slice(entity.offset, entity.offset + entity.length)
        return entity.type == MessageEntity.MENTION and self._me.is_named(name)

    def _slice(self, start: int, end: int) -> str:
        return self._data[2 * start : 2 * end].decode("utf-16-le", "replace") if start < end else ""


@dataclass(frozen=True, slots=True)
class _TextPiece:
    text: str
    is_block: bool = False
    """Whether it needs its own lines."""


def _join_pieces(pieces: Sequence[_TextPiece]) -> str:
    """Join pieces so that none merges with another: a fence must start a line."""
    read, last = "", _TextPiece("")
    for piece in pieces:
        if not piece.text:
            continue
        if last.is_block or piece.is_block:
            if read and not (read.endswith("\n") or (piece.text.startswith("\n") and not piece.is_block)):
                read += "\n"
        elif read.endswith("`") and piece.text.startswith("`"):
            read += " "
        read += piece.text
        last = piece
    return read


def _mark_piece(entity: MessageEntity, inside: str) -> _TextPiece | None:
    """Return the Markdown of an entity; None if its text needs none."""
    if not inside.strip():
        return None
    match entity.type:
        case MessageEntity.CODE if "\n" not in inside:
            ticks = _choose_ticks(inside, 1)
            blank = " " if inside[0] == "`" or inside[-1] == "`" else ""
            return _TextPiece(f"{ticks}{blank}{inside}{blank}{ticks}")
        case MessageEntity.PRE | MessageEntity.CODE:
            ticks = _choose_ticks(inside, 3)
            inside = inside.strip("\n")
            language = _NOT_IN_LANGUAGE.sub("", entity.language or "")
            return _TextPiece(f"{ticks}{language}\n{inside}\n{ticks}", is_block=True)
        case MessageEntity.TEXT_LINK if entity.url and entity.url.rstrip("/") != inside.rstrip("/"):
            return _TextPiece(f"{inside} ({entity.url})")
    return None


def _choose_ticks(text: str, minimum: int) -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    return "`" * max(minimum, longest + 1)
