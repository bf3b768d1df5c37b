"""Finds the message that led to a line of a note, from the recorded changes and stored conversations."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.conversations.pages import spoken_messages
from bot.state.changes import Change, is_standing
from bot.state.line_origins import (
    ImportedFrom,
    LineCount,
    find_adding_changes,
    find_adding_changes_anywhere,
    find_import,
    read_line_counts,
    read_messages,
)
from memory.tokenizer import tokenize

if TYPE_CHECKING:
    from apsw import Connection

_MARKERS = re.compile(r"(?:(?:[-*+•>]|\d{1,9}[.)]|#{1,6}|\[[ xX]\])\s+)+")
"""Marks that a line may gain or lose when somebody moves it."""
MAX_REPLACED_LINES = 20
"""Maximum lines of one change whose authors are looked up."""


@dataclass(frozen=True, slots=True)
class OriginMessage:
    """What somebody said before a line was written."""

    by: str
    """`channel:id`; "" if unknown."""
    at: str
    """ISO 8601 in UTC."""
    text: str


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """How a line came into a note, as far as it is known."""

    change: Change
    """The change that wrote it."""
    message: OriginMessage | None = None
    """None if there was none, or if it has since been edited or forgotten."""
    imported: ImportedFrom | None = None
    put_back_by: int = 0
    """Number of the undo that put it back after it had been removed; 0 for none."""


def find_line_origin(db: "Connection", path: str, line: int, text: str) -> LineOrigin | None:
    """Return the origin of a line (1-based) of a note as it is now; None if no recorded change wrote it.

    The line is looked up by its words, first among the changes to this note, then among those to others.
    """
    words = bare_words(text)
    ending = words + text[len(text.rstrip()) :]
    found = [each for each in find_adding_changes(db, ending, path=path) if _adds_line(each, words)]
    found = found or [each for each in find_adding_changes_anywhere(db, ending) if _adds_line(each, words)]
    if not found:
        return None
    written = [each for each in found if not each.undoes]
    if len(written) > 1 and (number := _trace_line(read_line_counts(db, path), line)):
        written.sort(key=lambda each: each.number != number)
    change = (written or found)[0]
    # An undo of an equal line that was undone itself has put nothing back.
    put_back = max((each.number for each in found if each.undoes and is_standing(db, each.number)), default=0)
    message = _find_message(db, change, words)
    imported = find_import(db, change.path, at=change.at) if change.origin.made_by == "import" else None
    return LineOrigin(change, message, imported, put_back if put_back >= change.number else 0)


def find_replaced(db: "Connection", change: Change) -> tuple[Change, ...]:
    """Return the earlier changes whose lines a change replaced or removed, each once."""
    found = dict[int, Change]()
    for line in [each for each in change.lines.old if each.strip()][:MAX_REPLACED_LINES]:
        words = bare_words(line)
        before = find_adding_changes(db, words, path=change.path, before=change.number)
        if earlier := next((each for each in before if not each.undoes and _adds_line(each, words)), None):
            found[earlier.number] = earlier
    return tuple(found.values())


def bare_words(text: str) -> str:
    """Return a line without indentation, list markers and the like; unchanged if nothing else is in it."""
    stripped = text.strip()
    return _MARKERS.sub("", stripped, count=1) if _MARKERS.match(stripped) else stripped


def _adds_line(change: Change, words: str) -> bool:
    """Return whether a change wrote the line more often than it removed it."""
    new, old = (
        sum(bare_words(each) == words for each in part) for part in (change.lines.new, change.lines.old)
    )
    return new > old


def _trace_line(counts: Sequence[LineCount], line: int) -> int:
    """Return the number of the change that wrote a line, by the line numbers of all changes; 0 if none of them did.

    `counts`: the latest change first. Edits by others shift line numbers, so check the result.
    """
    for each in counts:
        if each.line <= line < each.line + each.added:
            return each.number
        if line >= each.line + each.added:
            line += each.removed - each.added
    return 0


def _find_message(db: "Connection", change: Change, words: str) -> OriginMessage | None:
    """Return the message of a change's turn, or of a flush's conversation, that shares most words with a line.

    In a turn, it is the latest message if none shares any.
    """
    origin = change.origin
    if not (origin.conversation and origin.asked_at):
        return None
    wanted, best, most = frozenset(tokenize(words)), None, 0 if origin.upto else -1
    rows = read_messages(db, origin.conversation, first=origin.asked_at, upto=origin.upto)
    for entry, speaker in rows:
        for said in spoken_messages([entry]):
            shared = len(wanted.intersection(tokenize(said.text)))
            if shared > most or (best and shared == most and not origin.upto):
                best, most = OriginMessage(speaker, said.at, said.text.strip()), shared
    return best
