"""Read a note's front matter: its properties, above all title, aliases and tags; pure, and never raises.

It understands the YAML that people and editors write there: a value, a quoted value, a list in brackets or with
hyphens, a block of text. What it does not understand, such as nested maps, stays text of the property above.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

MAX_PROPERTIES = 200
"""Properties that are read of one note."""

MAX_NAMES = 50
"""Aliases, or tags, that are read of one note."""

MAX_NAME_CHARS = 200
"""Longer aliases and titles are ignored."""

MAX_CHARS = 50_000
"""A longer block is not front matter."""

_FENCE = "---"
_KEY = re.compile(
    r"(?:\"([^\"\n]{1,100})\"|'([^'\n]{1,100})'|([^\s\"'#:\[\]{}>|@`&*!%,?-][^:\n]{0,100}?))[ \t]*:(?=\s|$)"
)
_ITEM = re.compile(r"[ \t]*-(?=\s|$)")
_BLOCK = re.compile(r"[|>][-+0-9]{0,3}[ \t]*(?:#.*)?$")
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")
_ESCAPE = re.compile(r"\\([\"\\/])")
_PARTS = re.compile(r"\s*+(\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+'|[^,]+)")
_LINK = re.compile(
    r"\[\[[^\[\],]*\]\](?:\s|$)"
)  # many write `up: [[Note]]` without the quotes that YAML wants
_TAG_SEPARATOR = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class Property:
    """One property with its values; a plain value is one, a list has one for each item."""

    key: str
    values: tuple[str, ...]
    line: int
    """1-based, of the key."""
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The properties at the beginning of a note."""

    properties: tuple[Property, ...] = ()
    last_line: int = 0
    """1-based, the line that closes it; 0 if the note has none."""

    @property
    def title(self) -> str:
        """Its `title`; "" if it has none."""
        return next(_short(_values(self, "title")), "")

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the note."""
        found = _short(
            name
            for each in _named(self, "aliases", "alias")
            for value in each.values
            for name in ([value] if each.is_list else _split_names(value))
        )
        return tuple(islice(dict.fromkeys(found), MAX_NAMES))

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags as written, without `#`; see `memory.note_tags` for those in the text."""
        found = _short(
            tag.lstrip("#")
            for value in _values(self, "tags", "tag")
            for tag in _TAG_SEPARATOR.split(_unquote(value))
        )
        return tuple(islice(dict.fromkeys(found), MAX_NAMES))


NO_FRONT_MATTER = FrontMatter()


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a note with LF line ends: what is between two lines of `---` at its beginning."""
    if not text.startswith(_FENCE) or not (lines := _lines_inside(text)):
        return NO_FRONT_MATTER
    return FrontMatter(tuple(islice(_read_properties(lines), MAX_PROPERTIES)), len(lines) + 2)


def strip_keys(line: str) -> str:
    """Return a line of front matter without its key, which says nothing about the note."""
    found = _KEY.match(line)
    return line[found.end() :] if found else line


def _lines_inside(text: str) -> list[str]:
    """Return the lines between the fences; none if these are two rules with other text between."""
    first = text.find("\n")
    if first < 0 or text[:first].rstrip() != _FENCE:
        return []
    end = first
    while (end := text.find("\n---", end)) >= 0:
        after = text.find("\n", end + 1)
        if not text[end + 4 : after if after >= 0 else len(text)].strip():
            break
        end += 4
    if not first < end <= MAX_CHARS:
        return []
    lines = text[first + 1 : end].split("\n")
    top = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return lines if _KEY.match(top) else []


def _read_properties(lines: Sequence[str]) -> Iterator[Property]:
    key, line, held = "", 0, list[str]()
    for number, text in enumerate(lines, 2):
        found = _KEY.match(text)
        if found is None:
            held.append(text)
            continue
        if key:
            yield _make_property(key, line, held)
        key, line, held = next(filter(None, found.groups())).strip(), number, [text[found.end() :].strip()]
    if key:
        yield _make_property(key, line, held)


def _make_property(key: str, line: int, held: Sequence[str]) -> Property:
    first, below = held[0], [text for text in held[1:] if text.strip()]
    if _BLOCK.match(first):
        return Property(key, (" ".join(text.strip() for text in below),) if below else (), line)
    if first.startswith("[") and not _LINK.match(first):
        inside = " ".join([first, *map(str.strip, below)]).removeprefix("[")
        whole = inside.rstrip()
        items = _PARTS.findall(
            whole.removesuffix("]") if whole.endswith("]") else _COMMENT.sub("", whole).rstrip(" ]")
        )
        return Property(key, tuple(filter(None, map(_unquote, items))), line, is_list=True)
    value = _plain(first)
    items = [_plain(text[found.end() :]) for text in below if (found := _ITEM.match(text))]
    rest = [text.strip() for text in below if not _ITEM.match(text) and not text.lstrip().startswith("#")]
    if items and not value:
        return Property(key, tuple(filter(None, [*items, *rest])), line, is_list=True)
    whole = " ".join(filter(None, [value, *rest, *items]))
    return Property(key, (whole,) if whole else (), line)


def _plain(value: str) -> str:
    """Return a value without quotes, or without the comment after it. `#work` alone is a tag that somebody meant."""
    value = value.strip()
    if value[:1] in ("'", '"') or value.startswith("#"):
        return _unquote(value)
    return _COMMENT.sub("", value).rstrip() if " #" in value else value


def _unquote(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'").strip()
    if len(value) > 1 and value[0] == value[-1] == '"':
        return _ESCAPE.sub(r"\1", value[1:-1]).strip()
    return value


def _split_names(value: str) -> list[str]:
    return [_unquote(part) for part in value.split(",")]


def _named(front: FrontMatter, *keys: str) -> Iterator[Property]:
    return (each for each in front.properties if each.key.lower() in keys)


def _values(front: FrontMatter, *keys: str) -> Iterator[str]:
    return (value for each in _named(front, *keys) for value in each.values)


def _short(names: Iterable[str]) -> Iterator[str]:
    return (name for each in names if (name := " ".join(each.split())) and len(name) <= MAX_NAME_CHARS)
