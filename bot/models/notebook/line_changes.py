"""Pure: decide which lines of the notes a message changes, and how."""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import NamedTuple

from bot.models.notebook.corrections import UNSURE, SpokenCorrection, apply_correction, read_correction
from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.line_edits import LineEdit
from bot.models.notebook.message_parser import Fact, ParsedMessage
from bot.models.notebook.phrases import fold, has_words, language_of
from bot.models.notebook.recent_lines import NoteLine, RecentLines, last_lines
from bot.models.protocol import Message

_FEW_WORDS = 4
"""Messages of up to this many words do not always reveal their language."""

_MAX_CORRECTION_AGE = 2
"""Maximum age in turns of what a correction may refer to, with a possible "that is wrong" in between."""

UNDO_TURNS = 2
"""Changes older than this many turns are not undone by a word: nobody has them in mind any more."""
_MAX_TURNS_BACK = 20
"""Turns in which the last change is looked up for the reply if nothing is undone."""


class LineChange(NamedTuple):
    """Lines to replace, remove or put back; or a question about that."""

    language: Language
    """Language of the answer."""
    edits: tuple[LineEdit, ...] = ()
    """At most one per note."""
    facts: tuple[Fact, ...] = ()
    """What to note instead if the lines to put back have lost their place."""
    unsure: NoteLine | None = None
    """The line in which it is unclear what to replace: nothing is changed."""


def plan_change(
    parsed: ParsedMessage,
    earlier: Sequence[Message],
    *,
    said: Sequence[str],
    said_before: Sequence[str],
    before: str,
    today: date,
) -> LineChange | None:
    """Return the changes that "no, it is …", "forget that" and "undo" make to the lines noted or found last.

    None if the message is something else, or if it is uncertain which line is meant. `said` is the message
    after the `earlier` ones, `before` the last answer, to `said_before`.
    """
    if len(said) != 1:
        return None
    language = answer_language(said[0], parsed, said_before)
    if parsed.unsupported == ("undo",):
        last = last_lines(earlier, changes_only=True)
        return None if is_long_ago(last, today) else _plan_undo(last, language)
    last = last_lines(earlier)
    if not last.lines:
        return None
    if parsed.unsupported == ("forget_that",):
        return LineChange(language, _plan_removal(last.lines)) if last.done in ("wrote", "changed") else None
    if last.done == "removed":
        return None
    if asked := _line_asked_about(last, before):
        return _apply_answer(asked, parsed, said[0], language)
    if asks_for_input(before):
        return None
    correction = read_correction(said[0], language)
    if correction is None or last.turns_ago > (_MAX_CORRECTION_AGE if correction.certain else 1):
        return None
    return _plan_correction(correction, last, language)


def _plan_correction(
    correction: SpokenCorrection, last: RecentLines, language: Language
) -> LineChange | None:
    unsure: NoteLine | None = None
    for line in _rank_lines(correction, last):
        if language_of(line.text).script == language.script:
            new = apply_correction(line.text, correction, language)
            if new == UNSURE:
                unsure = unsure or line
            elif new is not None and new != line.text:
                return LineChange(language, (_replace_line(line, new),))
    if unsure and (last.done != "found" or len(last.lines) == 1):
        return LineChange(language, unsure=unsure)
    return None


def last_change(earlier: Sequence[Message]) -> NoteLine | None:
    """Return the line that was noted or changed last, at any age, for the reply; None if there is none."""
    last = last_lines(earlier, changes_only=True, max_turns=_MAX_TURNS_BACK)
    return last.lines[0] if last.done in ("wrote", "changed") else None


def is_long_ago(last: RecentLines, today: date) -> bool:
    """Return whether a change is too old to have in mind: several turns ago, or before yesterday."""
    days = [_day_of(line.path) for line in last.lines]
    return last.turns_ago > UNDO_TURNS or (
        last.done == "wrote" and any(day and day < today - timedelta(1) for day in days)
    )


def _day_of(path: str) -> date | None:
    try:
        return date.fromisoformat(path.removesuffix(".md"))
    except ValueError:
        return None


def asks_for_input(before: str) -> bool:
    """Return whether the last answer asks for something that this message may answer."""
    questions = ((each.say.question_when, each.say.remind_what, each.say.what) for each in LANGUAGES)
    return any(each in before for asked in questions for each in asked)


def _line_asked_about(last: RecentLines, before: str) -> NoteLine | None:
    """Return the line whose new sentence the last answer asked for; None if it asked for none."""
    if not any(each.say.which_words.partition("{")[0] in before for each in LANGUAGES):
        return None
    return next(
        (line for line in last.lines if has_words(line.text) and line.text.rstrip(".。।") in before), None
    )


def _apply_answer(line: NoteLine, parsed: ParsedMessage, said: str, language: Language) -> LineChange | None:
    """Replace the line with the sentence that was asked for, or apply the words that are named."""
    if set(parsed.unsupported) - {"wrong"} or parsed.look or parsed.reminders:
        return None
    correction = read_correction(said, language) or SpokenCorrection(said, said, certain=False)
    new = apply_correction(line.text, correction, language)
    if not new and len(parsed.facts) == 1 and not parsed.queries and not parsed.facts[0].block:
        new = parsed.facts[0].text if _share_topic(line.text, parsed.facts[0].text, language) else None
    return LineChange(language, (_replace_line(line, new),)) if new else None


def _share_topic(one: str, other: str, language: Language) -> bool:
    from memory.tokenizer import parse_query

    begun = 2 if language.spacing == "none" else len(" ".join(one.split()[:2]))
    same_beginning = fold(one[:begun]) == fold(other[:begun])
    return same_beginning or bool(set(parse_query(one)) & set(parse_query(other)))


def answer_language(said: str, parsed: ParsedMessage, said_before: Sequence[str]) -> Language:
    """Return the language to answer in: a whole phrase in a language other than English decides."""
    if parsed.unsupported and parsed.language is not ENGLISH:
        return parsed.language
    return message_language(said, parsed.language, said_before)


def message_language(said: str, read: Language, said_before: Sequence[str]) -> Language:
    """Return the language of a message; if it is too short to tell, that of the previous one."""
    if len(said.split()) > _FEW_WORDS or not said_before or (read.script and read.spacing != "words"):
        return read
    earlier = language_of(said_before[-1])
    return earlier if bool(earlier.script) == bool(read.script) else read


def _plan_undo(last: RecentLines, language: Language) -> LineChange | None:
    if not last.lines or last.done == "found":
        return None
    if last.done == "wrote":
        return LineChange(language, _plan_removal(last.lines))
    first = last.lines[0]
    if last.done == "changed":
        old = tuple(line.text for line in last.lines)
        return LineChange(language, (LineEdit(first.path, first.line, old, last.before),))
    target = "core" if first.path.upper() == "MEMORY.MD" else "daily"
    facts = tuple(Fact(text.strip(" \t-*+"), "core" if target == "core" else "daily") for text in last.before)
    return LineChange(language, (LineEdit(first.path, first.line, (), last.before),), facts)


def _plan_removal(lines: Sequence[NoteLine]) -> tuple[LineEdit, ...]:
    """Return the edits that remove lines noted together, one per note."""
    return tuple(
        LineEdit(path, block[0].line, tuple(line.text for line in block), ())
        for path, group in groupby(lines, key=lambda line: line.path)
        if (block := list(group))
    )


def _replace_line(line: NoteLine, new: str) -> LineEdit:
    return LineEdit(line.path, line.line, (line.text,), (new,))


def _rank_lines(correction: SpokenCorrection, last: RecentLines) -> Sequence[NoteLine]:
    """Return the lines, the one first that shares most words with the correction and with the query.

    Among equals the first found, or the last noted, comes first.
    """
    from memory.tokenizer import parse_query

    words = set(parse_query(f"{last.query} {correction.rest} {correction.not_this}"))
    lines = [line for line in last.lines if has_words(line.text)]
    lines = lines if last.done == "found" else lines[::-1]
    return sorted(lines, key=lambda each: -len(words & set(parse_query(each.text))))
