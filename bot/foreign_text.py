"""Finds the foreign text that a turn has read, and which lines of a new text come from it; pure.

A person's own words are what they write and say aloud; in a room, those of everybody who may speak to the assistant.
Documents, forwarded messages, quotations of somebody else, and notes and messages that are marked as somebody's words
(memory/attribution.py) are foreign.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

from bot.conversations.turns import split_turns
from bot.models.protocol import AssistantMessage, AttachedText, Message, ToolResult, UserMessage
from bot.models.user_text import own_words
from memory.attribution import (
    MARK_BEGIN,
    MAX_NAMES,
    attribute,
    clean_name,
    find_says,
    marked_lines,
    remove_marks,
)
from memory.formatting import clean_text
from memory.stop_words import load_all_stop_words
from memory.tokenizer import parse_query, tokenize

DOCUMENT = "a document"
SOMEBODY = "somebody"

OWN_SHARE = 0.5
"""Minimum share of a text's meaningful words that are the person's own, for the text to be theirs …"""
OWN_FOR_EACH_FOREIGN = 4
"""… and how many own words there must be for each word that only foreign text has."""
NOTED_SHARE = 1 / 3
"""Minimum share of the other words that must be in a marked note for the text to come from it."""
SURE_DIGITS = 5
"""Numbers with this many digits are compared however they are grouped; models don't make them up."""

LONG_CHARS = 4_000
"""The words of texts from this length on are kept: 70,000 characters take a tenth of a second to split."""

_REPORTING_WORDS = (
    "user users person owner called named name prefers likes wants says said told asked mentioned noted"
)
"""Words that models add when they write down what somebody said."""
_SAYS = "says"
"""In every tool result with foreign text, as a field or in a mark."""
_NO_CONTENT = frozenset(
    {
        "path",
        "note",
        "ref",
        "chat",
        "who",
        "date",
        "source",
        "told",
        "superseded_by",
        "linked_from",
        "links_to",
    }
)
"""Fields of a tool's result that only describe the text."""
_OF_NOTES = frozenset({"memory_search", "memory_get", "conversation_get"})
"""Tools whose results are the person's own words unless marked; other tools with foreign text return `says`."""
_HEADING = re.compile(r"[^:]*?: (?P<name>.+?) \([^()]*\)(?:\. |$)")
_NUMBER = re.compile(r"[^\W_]*\d(?:[\w.,:/-]*\w)?")
_DATE_OR_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:t[\d:]+)?|\d{1,2}[:.]\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_MAX_LETTERS = 4
"""Maximum code points of one letter with its marks, in scripts without spaces."""
_QUOTE_SPACE = re.compile(r"\s+")


IsSaid = Callable[[str], bool]
"""Return whether somebody who may speak here has said a text."""


@dataclass(frozen=True, slots=True)
class ForeignText:
    """A text that is not the person's own words."""

    says: str
    """Its source: a document, or a person's name."""
    text: str
    is_noted: bool = False
    """Whether it was written down and marked earlier; then only text that shares words with it comes from it."""


@dataclass(frozen=True, slots=True)
class TurnReading:
    """What a model has read when it writes something."""

    messages: tuple[Message, ...] = ()
    """The conversation, without what its summary replaces."""
    summary: str = ""
    recalled: str = ""
    """Notes shown beside the conversation."""
    asked: tuple[UserMessage, ...] | None = None
    """The last messages of the person who is answered; None if nobody knows who said what."""

    @property
    def last_turn(self) -> tuple[UserMessage, ...]:
        """The messages that the model answers; in a room, nobody else's, even if those before were not answered."""
        if self.asked is not None:
            return self.asked
        turns = split_turns(self.messages)
        return tuple(each for each in turns[-1] if isinstance(each, UserMessage)) if turns else ()


def may_be_foreign(reading: TurnReading) -> bool:
    """Return whether a model may have read foreign text; far cheaper than `find_foreign`, and never wrongly False."""
    return (
        MARK_BEGIN in reading.recalled
        or MARK_BEGIN in reading.summary
        or any(map(_may_say, reading.messages))
    )


def _may_say(message: Message) -> bool:
    match message:
        case UserMessage():
            return bool(message.quoted or message.forwarded_from or message.documents)
        case AssistantMessage(says=says):
            return bool(says)
        case ToolResult(content=content):
            return _SAYS in content


def find_foreign(reading: TurnReading) -> tuple[ForeignText, ...]:
    """Return the foreign texts that a model has read, the latest last."""
    if not may_be_foreign(reading):
        return ()
    is_said = said_before(reading.messages)
    found = [*_marked(reading.recalled), *_marked(reading.summary)]
    for message in reading.messages:
        found += _foreign_in(message, is_said)
    return tuple(each for each in found if each.text.strip())


def person_words(message: UserMessage) -> str:
    """Return what the person wrote or said aloud; nothing of a forwarded message or of a summary."""
    return "" if message.forwarded_from or message.earlier else own_words(message)


class AuthorFinder:
    """Finds whose words a text is, given everything that was read before it was written."""

    def __init__(
        self,
        reading: TurnReading,
        foreign: Sequence[ForeignText] | None = None,
        *,
        own: str = "",
        together: bool = False,
    ) -> None:
        """`own`: further text that is not foreign. `together`: the text may be about the whole conversation at once.

        Otherwise, the person's words must come from one or two adjacent turns, or from the last one: a long
        conversation has enough words to say nearly anything.
        """
        texts = find_foreign(reading) if foreign is None else foreign
        self.says = tuple(dict.fromkeys(clean_name(each.says) for each in texts))
        """Whose words have been read; () if there is no foreign text."""
        self._texts = texts
        self._foreign: list[tuple[ForeignText, _Words]] = []
        self._own: list[_Words] = []
        self._make_own = partial(_own_candidates, reading, own, together=together)

    def attribute(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return a text with its foreign lines marked, and their sources; lines are judged one by one."""
        if not self._texts:
            return text, ()
        lines = clean_text(text).split("\n")
        authors = [self._find_authors(line) for line in lines]
        if any(each is None for each in authors):
            whole = self.find_authors(text)
            authors = [whole if each is None else each for each in authors]
        marked = "\n".join(attribute(line, each or ()) for line, each in zip(lines, authors, strict=True))
        says = tuple(dict.fromkeys(name for each in authors for name in each or ()))
        return (marked, says) if says else (text, ())

    def find_authors(self, text: str) -> tuple[str, ...]:
        """Return whose words a text is; () if it is the person's own, or says nothing."""
        return (self._texts and self._find_authors(text)) or ()

    @property
    def _just_read(self) -> tuple[str, ...]:
        """Return whose words may be anywhere in what is written now."""
        names = dict.fromkeys(clean_name(each.says) for each in self._texts if not each.is_noted)
        return tuple(names)[-MAX_NAMES:]

    def _load(self) -> None:
        """Split what was read into words, which takes a while for a long document."""
        if not self._foreign:
            self._own = self._make_own()
            self._foreign = [(each, _Words.of(each.text)) for each in self._texts]

    def _find_authors(self, text: str) -> tuple[str, ...] | None:
        """Return whose words a text is; None if it has too few words to decide."""
        if not any(map(str.isalnum, text)):
            return ()
        # What only looks like a mark is text like any other.
        plain = remove_marks(text) if set(find_says(text)) <= set(self.says) else text
        words, numbers = _content(plain)
        if not words and not numbers:
            return None
        self._load()
        if any(self._is_own(words, numbers, own) for own in self._own):
            return ()
        unsaid = words - self._own[-1].terms
        best: dict[str, int] = {}
        for each, foreign in self._foreign:
            found = len(unsaid & foreign.terms) + sum(map(foreign.has_number, numbers))
            if found and (not each.is_noted or found >= NOTED_SHARE * len(unsaid)):
                best[clean_name(each.says)] = max(found, best.get(clean_name(each.says), 0))
        if not best:
            return self._just_read
        ranked = sorted(best, key=lambda name: -best[name])
        return tuple(name for name in ranked if 2 * best[name] >= best[ranked[0]])[:MAX_NAMES]

    def _is_own(self, words: frozenset[tuple[str, ...]], numbers: Sequence[str], own: "_Words") -> bool:
        for number in numbers:
            if not own.has_number(number) and (
                any(foreign.has_number(number) for _, foreign in self._foreign) or _is_telling(number)
            ):
                return False
        if not words:
            return any(map(own.has_number, numbers))
        theirs = words & own.terms
        others = words - theirs
        foreign = sum(any(word in each.terms for _, each in self._foreign) for word in others)
        return len(theirs) >= OWN_SHARE * len(words) and len(theirs) >= OWN_FOR_EACH_FOREIGN * foreign


# -- what is foreign --------------------------------------------------------------------------------------


def said_before(messages: Iterable[Message]) -> IsSaid:
    """Return a function that returns whether somebody who may speak here has said a text, which is then quoted."""
    texts = [_QUOTE_SPACE.sub(" ", person_words(each)) for each in messages if isinstance(each, UserMessage)]

    def is_said(text: str) -> bool:
        wanted = _QUOTE_SPACE.sub(" ", text).strip().removesuffix("…").strip()
        return any(wanted in each for each in texts)

    return is_said


def _foreign_in(message: Message, is_said: IsSaid) -> Iterator[ForeignText]:
    match message:
        case UserMessage():
            yield from foreign_parts(message, is_said)
        case AssistantMessage(text=text, says=says):
            for name in says:
                yield ForeignText(name, text, is_noted=True)
        case ToolResult(content=content, failed=False):
            yield from _foreign_in_result(content)


def foreign_parts(message: UserMessage, is_said: IsSaid) -> Iterator[ForeignText]:
    """Yield the parts of a message that are not the person's own words."""
    quoted, forwarded = message.quoted, message.forwarded_from
    if quoted and not quoted.mine and not is_said(quoted.text):
        yield ForeignText(quoted.sender_name or SOMEBODY, quoted.text)
    if forwarded:
        yield ForeignText(forwarded, message.text)
    for document in message.documents:
        if document.spoken and forwarded:
            yield ForeignText(forwarded, document.content)
        elif document.content and not document.spoken:
            yield ForeignText(document_name(document), f"{document.heading}\n{document.content}")


def attribute_message(message: UserMessage, is_said: IsSaid) -> UserMessage:
    """Return a message in which every line that is not the person's own words is marked."""
    quoted, forwarded = message.quoted, message.forwarded_from
    if quoted and not quoted.mine and not is_said(quoted.text):
        quoted = replace(quoted, text=attribute(quoted.text, (quoted.sender_name or SOMEBODY,)))
    documents = []
    for each in message.documents:
        says = () if each.spoken else (document_name(each),)
        documents.append(replace(each, content=attribute(each.content, (forwarded,) if forwarded else says)))
    text = attribute(message.text, (forwarded,)) if forwarded else message.text
    return replace(message, text=text, quoted=quoted, documents=tuple(documents))


def document_name(document: AttachedText) -> str:
    """Return a document's file name; "a document" if it has none."""
    named = _HEADING.match(document.heading)
    return named["name"] if named else DOCUMENT


def _foreign_in_result(content: str) -> Iterator[ForeignText]:
    if _SAYS not in content:
        return
    try:
        yield from _find_says(json.loads(content))
    except (ValueError, RecursionError):
        return


def _find_says(value: object) -> Iterator[ForeignText]:
    """Yield the parts of a tool's result that have a field `says`, or lines with marks."""
    if isinstance(value, Mapping):
        says = value.get("says")
        if isinstance(says, list) and says:
            parts = (each for key, each in value.items() if key not in _NO_CONTENT and isinstance(each, str))
            text = "\n".join(parts)
            # In a note, only the lines with a mark are somebody else's; a document has no marks.
            marked = marked_lines(text)
            yield from (ForeignText(str(name), marked or text, is_noted=bool(marked)) for name in says)
        for each in value.values():
            if not (says and isinstance(each, str)):
                yield from _find_says(each)
    elif isinstance(value, str):
        yield from _marked(value)
    elif isinstance(value, list):
        for each in value:
            yield from _find_says(each)


def _marked(notes: str) -> Iterator[ForeignText]:
    for line in marked_lines(notes).split("\n"):
        yield from (ForeignText(name, line, is_noted=True) for name in find_says(line))


# -- words ------------------------------------------------------------------------------------------------


class _Words(NamedTuple):
    """The words and numbers of a text."""

    terms: frozenset[tuple[str, ...]]
    """Words, and pairs of adjacent ones, which stand for words in scripts without spaces."""
    numbers: frozenset[str]
    digits: str
    """All digits, joined: numbers may be grouped in another way."""

    @classmethod
    def of(cls, text: str) -> "_Words":
        return _split_long(text) if len(text) >= LONG_CHARS else cls._split(text)

    @classmethod
    def _split(cls, text: str) -> "_Words":
        text = remove_marks(text)
        words = tokenize(text)
        numbers = [found.lower() for found in _NUMBER.findall(text)]
        return cls(
            frozenset([*((word,) for word in words), *_unspaced_pairs(words)]),
            frozenset(numbers),
            "".join(letter for letter in text if letter.isdigit()),
        )

    def __or__(self, other: "_Words") -> "_Words":
        return _Words(self.terms | other.terms, self.numbers | other.numbers, f"{self.digits} {other.digits}")

    def has_number(self, number: str) -> bool:
        digits = _digits(number)
        return number in self.numbers or (len(digits) >= SURE_DIGITS and digits in self.digits)


@lru_cache(maxsize=8)
def _split_long(text: str) -> _Words:
    """Split a long text, such as a document, once: each later answer in its conversation is compared with it."""
    return _Words._split(text)


def _own_candidates(reading: TurnReading, own: str, *, together: bool) -> list[_Words]:
    """Return vocabularies of the person's own words; a text may be made of any one of them."""
    turns = [_Words.of(text) for text in _own_turns(reading)]
    notes = [_Words.of(text) for text in _own_notes(reading)]
    now = (turns[-1] if turns else _Words.of("")) | _Words.of(own)
    if together:
        everything = now
        for each in [*turns, *notes]:
            everything = everything | each
        return [everything]
    return [
        *(first | second | now for first, second in pairwise(turns)),
        *(each | now for each in notes),
        now,
    ]


def _own_turns(reading: TurnReading) -> list[str]:
    texts = []
    for turn in split_turns(reading.messages):
        people = [each for each in turn if isinstance(each, UserMessage)]
        texts.append("\n".join(f"{each.speaker}\n{person_words(each)}" for each in people))
    return texts


def _own_notes(reading: TurnReading) -> Iterator[str]:
    """Yield the notes read that are nobody else's words."""
    for text in (reading.recalled, reading.summary):
        yield from (line for line in text.split("\n") if line.strip() and not find_says(line))
    for message in reading.messages:
        if isinstance(message, ToolResult) and message.name in _OF_NOTES and not message.failed:
            try:
                yield from _unmarked(json.loads(message.content))
            except (ValueError, RecursionError):
                continue


def _unmarked(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        is_marked = bool(value.get("says"))
        for key, each in value.items():
            if isinstance(each, str) and key in ("snippet", "text") and not is_marked:
                yield each
            else:
                yield from _unmarked(each)
    elif isinstance(value, list):
        for each in value:
            yield from _unmarked(each)


def _unspaced_pairs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    if any(not word.isascii() for word in words):
        yield from (pair for pair in pairwise(words) if len(pair[0]) <= _MAX_LETTERS >= len(pair[1]))


def _content(text: str) -> tuple[frozenset[tuple[str, ...]], tuple[str, ...]]:
    """Return the meaningful words of a text without its numbers, and its numbers."""
    ignored = _ignored_words()
    terms = (term.tokens for term in parse_query(text))
    words = frozenset(
        tokens
        for tokens in terms
        if not any(map(str.isdigit, "".join(tokens))) and not (len(tokens) == 1 and tokens[0] in ignored)
    )
    return words, tuple(dict.fromkeys(found.lower() for found in _NUMBER.findall(text)))


@cache
def _ignored_words() -> frozenset[str]:
    return frozenset(tokenize(" ".join([*load_all_stop_words(), _REPORTING_WORDS])))


def _is_telling(number: str) -> bool:
    """Return whether a number cannot be a model's own, as the date of "tomorrow" is."""
    return len(_digits(number)) >= SURE_DIGITS and not _DATE_OR_TIME.fullmatch(number)


def _digits(number: str) -> str:
    return "".join(letter for letter in number if letter.isdigit())
