"""Read a note into the passages that can be compared with those of other notes; pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from memory.attribution import find_says, remove_marks
from memory.chunker import Passage, split_passages
from memory.dates import CORE_NOTE, note_date, passage_dates
from memory.document_paths import FOLDER
from memory.ranking.statements import find_label, strip_markers
from memory.ranking.supersession import read_context
from memory.tokenizer import QUESTION_MARKS

MAX_TOKENS = 400
"""Longer lines are split, and their parts are not compared."""

MAX_PARENT_CHARS = 200
"""Characters of a list item that say what the items below it are about."""

_FENCE = re.compile(r"[ \t]*(?:[-*+]\s+)?(?:`{3}|~{3})", re.MULTILINE)
_TASK = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+\[[ xX]\]")
_TIME = re.compile(r"(?<![\d:])\d{1,2}[:.]\d\d(?![\d.:])")
_TITLE_LINE = re.compile(r"(?:\*\*|__)[^*_]+(?:\*\*|__):?|.*[:：]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ComparedPassage:
    """A list item or paragraph of a note."""

    path: str
    line_start: int
    line_end: int
    text: str
    context: str
    """Words that say what it is about: of headings, of the items above and of the note's name; without days."""
    day: date | None
    """The day that it was written about."""
    is_log: bool
    """Whether it stands in a daily log."""
    time: str
    """The time of day that it or its heading begins with; "" for none."""
    is_spoken: bool
    """Whether it is a speaker's line of a conversation."""
    is_record: bool
    """Whether it is no fact of its own: a speaker's line, a task, a question, a table's row, a document's text."""
    bare_text: str
    """The text without the marks of a list, the day and the time before it, and without whose words it is."""
    is_foreign: bool
    """Whether it is marked as somebody else's words."""


def read_passages(path: str, text: str) -> list[ComparedPassage]:
    """Return the passages of a note, without headings, code, front matter and parts of long lines."""
    split = split_passages(text, max_tokens=MAX_TOKENS)
    days = passage_dates(path, split)
    labels = [find_label(each.text) for each in split]
    told = Counter((each.heading, label) for each, label in zip(split, labels, strict=True) if label)
    log, is_document = note_date(path) is not None, path.startswith(f"{FOLDER}/")
    context_of = _ContextReader(path)
    found = []
    for at in _find_prose(split):
        passage = split[at]
        context = context_of.read(passage)
        is_spoken = bool(labels[at]) and told[passage.heading, labels[at]] > 1
        time = _TIME.search(passage.text, 0, 16) or _TIME.search(passage.heading.rpartition(" > ")[2], 0, 16)
        found.append(
            ComparedPassage(
                path,
                passage.line_start,
                passage.line_end,
                passage.text,
                context,
                days[at],
                log,
                time[0] if time else "",
                is_spoken,
                is_document
                or is_spoken
                or passage.text.lstrip().startswith(("|", "<", "["))
                or _TASK.match(passage.text) is not None
                or passage.text.rstrip(" *_\"')”»").endswith(QUESTION_MARKS),
                strip_markers(remove_marks(passage.text)),
                "(says " in passage.text and bool(find_says(passage.text)),
            )
        )
    return found


def _find_prose(split: Sequence[Passage]) -> Iterator[int]:
    """Yield the indices of what is no heading, code or front matter and not a part of a line."""
    in_code = False
    for at, passage in enumerate(split):
        fences = len(_FENCE.findall(passage.text)) if "```" in passage.text or "~~~" in passage.text else 0
        is_code = in_code or fences
        in_code ^= fences % 2 == 1
        is_part = (at > 0 and split[at - 1].line_end == passage.line_start) or (
            at + 1 < len(split) and split[at + 1].line_start == passage.line_end
        )
        if not (
            is_code
            or is_part
            or passage.is_heading
            or (passage.line_start == 1 and passage.text.startswith("---"))
        ):
            yield at


class _ContextReader:
    """Follows headings, title lines and indentation down a note."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._heading = ""
        self._own = ""
        self._title = ""
        self._parents: list[tuple[int, str]] = []

    def read(self, passage: Passage) -> str:
        """Return the context of the next passage."""
        if passage.heading != self._heading or not self._own:
            self._heading, self._title = passage.heading, ""
            self._own = _read_own_context(self._path, passage.heading) or " "
            self._parents.clear()
        bare = passage.text.lstrip()
        indentation = len(passage.text.expandtabs(4)) - len(bare.expandtabs(4)) if bare != passage.text else 0
        while self._parents and self._parents[-1][0] >= indentation:
            self._parents.pop()
        above = " ".join(parent for _, parent in self._parents)
        context = " ".join(filter(None, (self._own.strip(), self._title if not above else "", above)))
        first = bare[:MAX_PARENT_CHARS].lower()
        self._parents.append((indentation, first))
        if not indentation and bare[:1] not in "-*+" and len(bare) <= MAX_PARENT_CHARS:
            self._title = first if _TITLE_LINE.fullmatch(bare.strip()) else self._title
        elif not indentation and bare.startswith("**") and _TITLE_LINE.fullmatch(bare.strip()):
            self._title = first
        return context


def _read_own_context(path: str, heading: str) -> str:
    if path == CORE_NOTE:  # what it says of anything is about everything
        path, heading = "", heading.partition(" > ")[2] if heading.lower().startswith("memory") else heading
    return read_context(path, heading).strip()
