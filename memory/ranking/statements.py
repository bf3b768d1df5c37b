"""Parse one-line passages that may tell a fact into the parts that supersession compares."""

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from memory.ranking.persistence import is_lasting, says_nothing
from memory.tokenizer import QUESTION_MARKS, tokenize

MAX_WORDS = 24
"""Maximum words of a statement; a longer line tells more than one fact."""

MAX_LETTERS = 72
"""The same in scripts without spaces."""

MAX_CHARS = 300
"""A longer line is not even split."""

MAX_OTHER_WORDS = 12
"""Maximum words of statements that tell one fact in different words."""

MIN_SHARED_WORDS = 2
"""Minimum words of the query that two statements of one fact have in common: who, and what about them."""

MAX_LABEL_CHARS = 40
"""Maximum length of a label such as "Phone:"."""

# A string: `re` compiles it on first use and caches it. Without letters beyond ASCII, whose sets take milliseconds.
_MARKERS = r"(?:\s|[-*+>]\s|\d{1,3}[.)]\s|\[[ xX]\]\s|(?:\d{4}-\d\d-\d\d|\d{1,2}:\d\d)[:,]?\s(?:-\s)?)*+"
_LABEL_ENDS = (": ", "：", " = ", " – ", " — ")
_AROUND_WORDS = '.,;:!?…।"“”„«»()[]*_`=–—'
_BY_LETTER = (
    ("\u0e00", "\u0eff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u17ff"),
    ("\u3040", "\u30ff"),
    ("\u3400", "\u9fff"),
    ("\uac00", "\ud7af"),
)
"""First and last letters of the scripts without spaces, and of Korean."""
_NO_STATEMENT = (*QUESTION_MARKS, "!", "！")


class Statement(NamedTuple):
    """A passage that may tell a fact."""

    text: str
    day: date
    """The day it was told."""
    context: str = ""
    """Words of the headings above and of the note's name, without dates: they may say what it is about."""
    log_folder: str | None = None
    """The folder of the daily log that it stands in; None for other notes."""
    is_spoken: bool = False
    """True if its label is a speaker's name rather than the name of a slot."""


class NamedValue(NamedTuple):
    """The only name or number that a lasting statement gives for what the query asks about."""

    value: str
    is_number: bool


class ParsedStatement(NamedTuple):
    """A statement as it is compared with others."""

    statement: Statement
    pieces: tuple[str, ...]
    """Its words in lower case; in scripts without spaces, its letters."""
    spelled: tuple[str, ...]
    """The same as written."""
    by_letter: bool
    label: int
    """Number of pieces of its label; 0 if it has none."""
    shared: frozenset[str]
    """The words that the query contains too, as tokens; none in scripts without spaces."""
    subjects: frozenset[str]
    """Those of them that are names."""
    named: NamedValue | None


def parse_statement(statement: Statement, asked: frozenset[str]) -> ParsedStatement | None:
    """Return the statement with its parts; None if it tells no fact, or several. `asked`: the query's tokens."""
    text = strip_markers(statement.text).rstrip(" .。।")
    if (
        statement.is_spoken
        or not text
        or len(text) > MAX_CHARS
        or "\n" in text
        or text.endswith(_NO_STATEMENT)
    ):
        return None
    by_letter = _is_by_letter(text)
    spelled = _split(text, by_letter)
    if not 1 < len(spelled) <= (MAX_LETTERS if by_letter else MAX_WORDS):
        return None
    label = len(_split(_read_label(text), by_letter))
    tokens = [] if by_letter else [next(iter(tokenize(word)), "") for word in spelled]
    subjects = frozenset(
        tokens[at] for at in _find_names(spelled) if at < len(tokens) and tokens[at] in asked
    )
    return ParsedStatement(
        statement,
        tuple(piece.lower() for piece in spelled),
        spelled,
        by_letter,
        label,
        asked.intersection(tokens),
        subjects,
        _find_named_value(spelled, tokens, label, asked) if subjects else None,
    )


def find_label(line: str) -> str:
    """Return the label that a line begins with, such as "Phone"; empty if there is none."""
    return _read_label(strip_markers(line[: 3 * MAX_LABEL_CHARS]))


def _read_label(text: str) -> str:
    ends = (text.find(mark, 1, MAX_LABEL_CHARS) for mark in _LABEL_ENDS)
    return text[: min((end for end in ends if end > 0), default=0)]


def strip_markers(line: str) -> str:
    """Return a line without the marks of a list, quote or task, the day and the time before it."""
    line = line.strip().removeprefix("•")
    match = re.match(_MARKERS, line)
    return line[match.end() :] if match else line


def _split(text: str, by_letter: bool) -> tuple[str, ...]:
    if by_letter:
        return tuple(text)
    return tuple(filter(None, (word.strip(_AROUND_WORDS) for word in text.split())))


def _is_by_letter(text: str) -> bool:
    """Return whether a text is in a script without spaces, or in Korean, whose particles are attached to words."""
    return not text.isascii() and any(
        first <= letter <= last for letter in text for first, last in _BY_LETTER
    )


def _find_names(spelled: Sequence[str]) -> list[int]:
    """Return the positions of names and numbers."""
    return [at for at, word in enumerate(spelled) if word[0].isupper() or word[0].isdigit()]


def _find_named_value(
    spelled: Sequence[str], tokens: Sequence[str], label: int, asked: frozenset[str]
) -> NamedValue | None:
    """Return the name or number beside those of the query; None if there are several, or if it may tell an event."""
    if len(spelled) > MAX_OTHER_WORDS:
        return None
    shared = [at for at, token in enumerate(tokens) if token in asked]
    if len({tokens[at] for at in shared}) < MIN_SHARED_WORDS:
        return None
    values = [at for at in _find_names(spelled) if at and tokens[at] not in asked]
    if not values or values[-1] - values[0] >= len(values):
        return None
    is_number = spelled[values[0]][0].isdigit()
    if not is_lasting(
        [word.lower() for word in spelled], label, max(shared) + 1, values[0], number=is_number
    ):
        return None
    rest = [word.lower() for at, word in enumerate(spelled) if at not in shared and at not in values]
    if not all(map(says_nothing, rest)):
        return None  # "Anna's work phone number" is another one than "Anna's phone number"
    return NamedValue(" ".join(spelled[at].lower() for at in values), is_number)
