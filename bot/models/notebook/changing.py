"""Pure: which line of a note a message changes, and into what."""

from collections.abc import Sequence
from typing import NamedTuple

from bot.models.notebook.corrections import Correction, corrected, read_correction
from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.last_lines import LastLines, NoteLine, last_lines
from bot.models.notebook.phrases import language_of
from bot.models.notebook.reading import Fact, Reading
from bot.models.protocol import Message

_FEW_WORDS = 4
"""So few do not always tell which language they are."""

_TURNS_AGO = 2
"""What is corrected was noted or found in the turn before, or there was a "that is wrong" in between."""


class Change(NamedTuple):
    """One line that is to be replaced or removed, or that is to be noted again."""

    language: Language
    """In which to answer."""
    path: str = ""
    """"" where nothing is replaced."""
    old: str = ""
    new: str = ""
    """"" to remove the line."""
    facts: tuple[Fact, ...] = ()
    """What is to be noted again."""


def plan_change(
    wish: Reading, earlier: Sequence[Message], *, said: Sequence[str], said_before: Sequence[str], before: str
) -> Change | None:
    """Return what "no, it is …", "forget that" and "undo" change of the lines that were noted or found last.

    None where the message is something else, or where it is not certain which line is meant. `said` is the message
    behind the `earlier` ones, `before` the last answer, to `said_before`.
    """
    if len(said) != 1:
        return None
    language = _language(said[0], wish.language, said_before)
    if wish.wanted == ("undo",):
        return _undo(last_lines(earlier, changes_only=True), language)
    last = last_lines(earlier)
    if not last.lines:
        return None
    if wish.wanted == ("forget_that",):
        alone = last.done in ("wrote", "changed") and len(last.lines) == 1
        return _replace(last.lines[0], "", language) if alone else None
    if last.done == "removed" or _asks(before):
        return None
    correction = read_correction(said[0], language)
    if correction is None or last.turns_ago > (_TURNS_AGO if correction.certain else 1):
        return None
    for line in _likely(correction, last):
        if language_of(line.text).script == language.script:
            new = corrected(line.text, correction, language)
            if new is not None and new != line.text:
                return _replace(line, new, language)
    return None


def _asks(before: str) -> bool:
    """Whether the last answer asks for something that this message may say."""
    questions = ((each.say.question_when, each.say.remind_what, each.say.what) for each in LANGUAGES)
    return any(each in before for asked in questions for each in asked)


def _language(said: str, read: Language, said_before: Sequence[str]) -> Language:
    if len(said.split()) > _FEW_WORDS or not said_before or (read.script and read.spacing != "words"):
        return read
    earlier = language_of(said_before[-1])
    return earlier if bool(earlier.script) == bool(read.script) else read


def _undo(last: LastLines, language: Language) -> Change | None:
    if len(last.lines) != 1 or last.done == "found":
        return None
    line = last.lines[0]
    if last.done == "removed":
        fact = Fact(last.before, "core" if line.path.upper() == "MEMORY.MD" else "daily")
        return Change(language, facts=(fact,))
    return _replace(line, last.before, language)


def _replace(line: NoteLine, new: str, language: Language) -> Change:
    return Change(language, line.path, line.text, new)


def _likely(correction: Correction, last: LastLines) -> Sequence[NoteLine]:
    """The lines, the one first that shares most with what is said, and with what was asked.

    Of equal ones the first that was found, or the last that was noted.
    """
    from memory.words import query_terms

    words = set(query_terms(f"{last.query} {correction.rest}"))
    lines = last.lines if last.done == "found" else last.lines[::-1]
    return sorted(lines, key=lambda each: -len(words & set(query_terms(each.text))))
