"""How Telegram counts, cleans and marks up text: UTF-16 units, entities, automatic entities.

Follows tdlib's fix_formatted_text: out-of-bounds entities are rejected, overlapping ones corrected or
dropped.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.bot_api.refusals import bad_request

Entity = dict[str, Any]
"""A MessageEntity as JSON."""

MAX_UNITS = 4096
MAX_CAPTION_UNITS = 1024
MAX_ENTITIES = 100
"""Telegram ignores further entities; known from practice, not documented."""

SPLITTABLE = ("bold", "italic", "underline", "strikethrough", "spoiler")
QUOTES = ("blockquote", "expandable_blockquote")
CONTINUOUS = ("code", "pre", "text_link", "text_mention", "custom_emoji", "date_time")
FOUND = ("mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number")
"""Types that Telegram finds by itself and ignores in requests."""
PRIORITY = (*QUOTES, "text_link", "text_mention", "custom_emoji", "pre", "code", "date_time", *SPLITTABLE)
NEEDS = {
    "text_link": "url",
    "text_mention": "user",
    "custom_emoji": "custom_emoji_id",
    "date_time": "unix_time",
}

_TOP_LEVEL = "com|org|net|io|dev|app|md|py|rs|sh|me|de|co|ai|info|eu|fr|uk|ru|cn|jp|zip|mov"
_PATTERNS = (
    ("url", re.compile(r"https?://[^\s<>]*[^\s<>.,:;!?)\]'\"]")),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    (
        "url",
        re.compile(
            rf"(?<![\w@./-])(?:[a-z0-9-]+\.)+(?:{_TOP_LEVEL})(?![\w-])(?:/[^\s<>]*[^\s<>.,:;!?)])?",
            re.IGNORECASE,
        ),
    ),
    ("bot_command", re.compile(r"(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])")),
    ("mention", re.compile(r"(?<![\w@])@[A-Za-z0-9_]{3,32}(?!\w)")),
    ("hashtag", re.compile(r"(?<![\w#])#(?=\w*[^\W\d])\w{1,256}")),
)


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text as shown."""

    text: str
    entities: list[Entity] = field(default_factory=list)
    """The bot's entities that are shown."""
    found: list[Entity] = field(default_factory=list)
    """Entities that Telegram found by itself, such as a file name that looks like a link."""
    dropped: list[Entity] = field(default_factory=list)
    """The bot's entities that are dropped."""

    @property
    def all(self) -> list[Entity]:
        """Return all shown entities in Telegram's order."""
        return _sort_entities([*self.entities, *self.found])


def utf16_length(text: str) -> int:
    """Return a text's length as Telegram counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def entity_text(text: str, entity: Mapping[str, Any]) -> str:
    """Return the text of an entity."""
    start, length = entity["offset"], entity["length"]
    return text.encode("utf-16-le")[2 * start : 2 * (start + length)].decode("utf-16-le")


def find_entities(text: str) -> list[Entity]:
    """Return the commands, mentions, links, addresses and tags in a text."""
    taken: list[tuple[int, int]] = []
    entities: list[Entity] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(start < other_end and begin < end for begin, other_end in taken):
                taken.append((start, end))
                entities.append(
                    {
                        "type": kind,
                        "offset": utf16_length(text[:start]),
                        "length": utf16_length(match.group()),
                    }
                )
    return _sort_entities(entities)


def parse_entities(text: str, given: Sequence[Mapping[str, Any]] | None = None) -> MarkedText:
    """Parse a bot's text and entities. Raises Refusal if the server would. The text may end up empty."""
    if len(text.encode("utf-8", "surrogatepass")) > 1 << 15:
        raise bad_request("text is too long")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise bad_request("strings must be encoded in UTF-8") from None
    dropped: list[Entity] = []
    entities: list[Entity] = []
    for entity in given or ():
        read = _read(entity)
        (entities if read["type"] not in FOUND and read["length"] else dropped).append(read)
    _check_bounds(text, entities)
    text, entities = _clean(text, entities)
    text, entities = _trim(text, entities)
    entities, lost = _nest(entities)
    dropped += lost
    dropped += entities[MAX_ENTITIES:]
    entities = entities[:MAX_ENTITIES]
    closed = [one for one in entities if one["type"] in CONTINUOUS]
    found = [one for one in find_entities(text) if not any(_overlap(one, other) for other in closed)]
    return MarkedText(text, entities, found, dropped)


def _read(entity: Mapping[str, Any]) -> Entity:
    if not isinstance(entity, Mapping):
        raise bad_request("can't parse MessageEntity: expected an Object")
    for name in ("offset", "length"):
        if not isinstance(entity.get(name), int):
            raise bad_request(f"can't parse MessageEntity: Can't find field \"{name}\"")
        if not 0 <= entity[name] <= 1_000_000:
            raise bad_request(f"receive an entity with incorrect {name} {entity[name]}")
    kind = entity.get("type")
    if kind not in SPLITTABLE + QUOTES + CONTINUOUS + FOUND:
        raise bad_request("can't parse MessageEntity: Unsupported type specified")
    if (needed := NEEDS.get(kind)) and needed not in entity:
        raise bad_request(f"can't parse MessageEntity: Can't find field \"{needed}\"")
    read = {name: value for name, value in entity.items() if value is not None}
    if kind == "text_link" and not str(read["url"]).lower().startswith("tg:"):
        check_link(str(read["url"]), "entity URL")
    return read


def check_link(url: str, what: str) -> None:
    """Reject a link that is not http or whose host has no dot."""
    scheme, colon, rest = url.partition("://")
    if not colon:
        scheme, rest = "http", url
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    if scheme.lower() not in ("http", "https"):
        raise bad_request(f"{what} '{url}' is invalid: Unsupported URL protocol")
    if ("." not in host and not host.startswith("[")) or re.search(r"\s", host):
        raise bad_request(f"{what} '{url}' is invalid: Wrong HTTP URL")


def _check_bounds(text: str, entities: Iterable[Entity]) -> None:
    """Reject entities that begin or end inside a character or beyond the text."""
    borders = {0}
    at = 0
    for character in text:
        at += 1 + (ord(character) > 0xFFFF)
        borders.add(at)
    for entity in _sort_entities(entities):
        start, end = entity["offset"], entity["offset"] + entity["length"]
        if start > at:
            raise bad_request(f"entity begins after the end of the text at UTF-16 offset {start}")
        if start not in borders:
            where = len(text.encode("utf-16-le")[: 2 * start + 2].decode("utf-16-le").encode())
            raise bad_request(f"entity begins in a middle of a UTF-16 symbol at byte offset {where}")
        if end > at:
            raise bad_request(
                f"entity beginning at UTF-16 offset {start} ends after the end of the text at UTF-16 offset {end}"
            )
        if end not in borders:
            where = len(text.encode("utf-16-le")[: 2 * end + 2].decode("utf-16-le").encode())
            raise bad_request(
                f"entity beginning at UTF-16 offset {start} ends in a middle of a UTF-16 symbol at byte offset {where}"
            )


def _clean(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    """Replace control characters with spaces; drop carriage returns, direction marks and some bars."""
    kept: list[str] = []
    before = [0]
    """New offset for each UTF-16 offset of the old text."""
    for character in text:
        size = 1 + (ord(character) > 0xFFFF)
        gone = character == "\r" or "\u2028" <= character <= "\u202e" or character in "\u0333\u033f\u030a"
        if not gone:
            kept.append(" " if character < " " and character != "\n" else character)
        new = before[-1] + (0 if gone else size)
        before += [new] * size
    moved = [
        one
        | {
            "offset": before[one["offset"]],
            "length": before[one["offset"] + one["length"]] - before[one["offset"]],
        }
        for one in entities
    ]
    return "".join(kept), [one for one in moved if one["length"]]


def _trim(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    """Strip trailing whitespace, and leading whitespace outside entities."""
    text = text.rstrip(" \n")
    end = utf16_length(text)
    shorter = [
        one | {"length": min(one["length"], end - one["offset"])} for one in entities if one["offset"] < end
    ]
    blanks = len(text) - len(text.lstrip(" \n"))
    blanks = min([blanks, *(one["offset"] for one in shorter)])
    return text[blanks:], [one | {"offset": one["offset"] - blanks} for one in shorter]


def _nest(entities: list[Entity]) -> tuple[list[Entity], list[Entity]]:
    """Return nested or disjoint entities, and those dropped to achieve that."""
    kept: list[Entity] = []
    dropped: list[Entity] = []
    ordered = _sort_entities(entities)
    for one in (one for one in ordered if one["type"] in QUOTES):
        _place(one, kept, dropped, allowed=lambda _one, _other: False)
    for one in (one for one in ordered if one["type"] in CONTINUOUS):
        _place(
            one, kept, dropped, allowed=lambda one, other: other["type"] in QUOTES and _contains(one, other)
        )
    frames = list(kept)
    for one in (one for one in ordered if one["type"] in SPLITTABLE):
        for piece in _pieces(one, frames):
            inside = [other for other in frames if _overlap(piece, other)]
            if any(other["type"] in ("pre", "code") for other in inside):
                dropped.append(piece)
            else:
                _merge(piece, kept)
    return _sort_entities(_untangle(kept)), dropped


def _place(one: Entity, kept: list[Entity], dropped: list[Entity], *, allowed: Any) -> None:
    clash = any(_overlap(one, other) and not allowed(one, other) for other in kept)
    (dropped if clash else kept).append(one)


def _merge(piece: Entity, kept: list[Entity]) -> None:
    """Merge overlapping entities of one type."""
    for other in kept:
        if other["type"] == piece["type"] and _overlap(piece, other):
            start = min(piece["offset"], other["offset"])
            end = max(_end(piece), _end(other))
            other.update(offset=start, length=end - start)
            return
    kept.append(dict(piece))


def _untangle(entities: list[Entity]) -> list[Entity]:
    """Of two overlapping styles, cut the first where the second begins."""
    done: list[Entity] = []
    for one in reversed(_sort_entities(entities)):
        cuts = {
            other["offset"]
            for other in entities
            if one["type"] in SPLITTABLE
            and other["type"] in SPLITTABLE
            and one["offset"] < other["offset"] < _end(one) < _end(other)
        }
        done += _cut(one, cuts)
    return done


def _cut(one: Entity, cuts: set[int]) -> list[Entity]:
    borders = [one["offset"], *sorted(cut for cut in cuts if one["offset"] < cut < _end(one)), _end(one)]
    return [one | {"offset": start, "length": end - start} for start, end in itertools.pairwise(borders)]


def _pieces(one: Entity, frames: Sequence[Entity]) -> list[Entity]:
    """Cut an entity where others begin or end within it, unless it contains them."""
    cuts: set[int] = set()
    for frame in frames:
        if (
            _overlap(one, frame)
            and not _contains(one, frame)
            and (not _contains(frame, one) or _close_entity(frame))
        ):
            cuts |= {frame["offset"], _end(frame)}
    return _cut(one, cuts)


def _close_entity(entity: Entity) -> bool:
    return entity["type"] in ("pre", "code")


def _end(entity: Entity) -> int:
    end: int = entity["offset"] + entity["length"]
    return end


def _overlap(one: Entity, other: Entity) -> bool:
    return bool(one["offset"] < _end(other) and other["offset"] < _end(one))


def _contains(one: Entity, other: Entity) -> bool:
    return bool(other["offset"] <= one["offset"] and _end(one) <= _end(other))


def _sort_entities(entities: Iterable[Entity]) -> list[Entity]:
    return sorted(
        entities,
        key=lambda one: (
            one["offset"],
            -one["length"],
            PRIORITY.index(one["type"]) if one["type"] in PRIORITY else len(PRIORITY),
        ),
    )
