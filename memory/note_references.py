"""Read what is indexed with a note's passages: their words, and the note's names, tags and links; pure."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from memory.chunker import Passage
from memory.front_matter import NO_FRONT_MATTER, FrontMatter, read_front_matter, strip_keys
from memory.link_targets import fold, link_key, may_be_note
from memory.note_links import find_links
from memory.note_tags import clean_tag, find_tags, tag_words
from memory.tokenizer import tokenize

VERSION = 2
"""Part of the index's fingerprint: increase it when the same note would yield other words, names, tags or links."""

MAX_LINKS = 5_000
"""Links that are indexed of one note; a longer list of links says little about each."""

MAX_TAGS = 50
"""Tags that describe a whole note; one with more is about everything."""


@dataclass(frozen=True, slots=True)
class NoteName:
    """What a note is called, besides its path, or a tag that describes it."""

    name: str
    key: str
    """Its `link_key`, if links may call the note so; "" otherwise."""
    words: str
    """Its tokens, separated by single spaces."""


@dataclass(frozen=True, slots=True)
class NoteReference:
    """A link to another note, as it is indexed."""

    line: int
    """1-based."""
    key: str
    """The target's `link_key`."""
    target: str
    """The target, folded and without `.md`; "" if it is the key."""
    is_wiki: bool
    shown: str
    """The tokens of the text that readers see, separated by single spaces; "" if it says no more than the target."""


@dataclass(frozen=True, slots=True)
class NoteReferences:
    """The words of a note's passages, and its names, tags and links."""

    words: Sequence[str]
    """The tokens of each passage, separated by single spaces."""
    names: Sequence[NoteName] = ()
    links: Sequence[NoteReference] = ()

    @property
    def own_words(self) -> str:
        """The words of its names and tags, separated by single spaces."""
        return " ".join(name.words for name in self.names)


def read_references(text: str, passages: Sequence[Passage]) -> NoteReferences:
    """Return the references of a note that was split into these passages.

    In front matter, values are words and keys are not. A passage with a tag has the words of the tag, too.
    """
    front = read_front_matter(text) if text.startswith("---") else NO_FRONT_MATTER
    tags = list(_find_tags(text, front)) if "#" in text or front.tags else []
    words = [" ".join(tokenize(_without_keys(each, front.last_line))) for each in passages]
    starts = [each.line_start for each in passages] if tags else []
    for line, tag in dict.fromkeys(tags):
        place = max(0, bisect_right(starts, line) - 1)
        if place < len(words):
            words[place] = " ".join(filter(None, (words[place], *tag_words(tag))))
    return NoteReferences(
        words,
        (*_names(front), *_tags(tags)) if front.properties or tags else (),
        tuple(islice(_links(text), MAX_LINKS)),
    )


def _find_tags(text: str, front: FrontMatter) -> Iterator[tuple[int, str]]:
    """Yield all tags, each with a line that contains it."""
    for each in front.properties:
        if each.key.lower() in ("tags", "tag"):
            yield from ((each.line, tag) for tag in map(clean_tag, front.tags) if tag)
            break
    yield from find_tags(text, first_line=front.last_line + 1)


def _without_keys(passage: Passage, last_line: int) -> str:
    if passage.line_end > last_line:
        return passage.text
    return "\n".join(map(strip_keys, passage.text.split("\n")))


def _names(front: FrontMatter) -> Iterator[NoteName]:
    aliases = front.aliases
    for alias in aliases:
        yield NoteName(alias, link_key(alias), " ".join(tokenize(alias)))
    if front.title and front.title not in aliases:
        yield NoteName(front.title, "", " ".join(tokenize(front.title)))


def _tags(tags: Sequence[tuple[int, str]]) -> Iterator[NoteName]:
    for tag in islice(dict.fromkeys(tag for _, tag in tags), MAX_TAGS):
        yield NoteName(f"#{tag}", "", " ".join([*tokenize(tag), *tag_words(tag)]))


def _links(text: str) -> Iterator[NoteReference]:
    for link in find_links(text):
        if not may_be_note(link.target):
            continue
        key, target = link_key(link.target), fold(link.target).removesuffix(".md")
        shown = "" if link.label == link.target else " ".join(tokenize(link.label))
        yield NoteReference(
            link.line,
            key,
            "" if target == key else target,
            link.is_wiki,
            "" if shown and shown == " ".join(tokenize(key)) else shown,
        )
