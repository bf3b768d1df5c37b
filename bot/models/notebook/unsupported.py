"""Pure: detect requests beyond notes and answers, and statements and questions joined in one sentence."""

import re
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from bot.models.notebook.language import Language
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.phrases import (
    OPENERS,
    SEPARATORS,
    Match,
    body_end,
    fold,
    has_words,
    is_question,
    phrase_at,
    phrase_ending_at,
    skip,
)
from bot.models.notebook.reminder_parser import only_moment, strip_links
from bot.models.notebook.sentence import asks, begins_with_question, is_idiom, split_greeting

UnsupportedKind = Literal[
    "remind",
    "forget",
    "change",
    "do",
    "leave",
    "wrong",
    "forget_that",
    "undo",
    "clock",
    "day",
    "list_notes",
    "list_reminders",
    "cancel_reminder",
    "add_model",
]
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
"""Makes any time lie in the future: here it only matters whether words are one."""
_MAX_CANCEL_CHARS = 120
"""Maximum characters of a request to cancel a reminder: a longer sentence says something else."""
_KINDS: tuple[tuple[str, UnsupportedKind], ...] = (
    ("remind", "remind"),
    ("forget", "forget"),
    ("change", "change"),
    ("orders", "do"),
)


class UnsupportedRequest(NamedTuple):
    """A request other than to note or to find."""

    unsupported: UnsupportedKind
    rest: str
    """What to change or remove, a reminder's number, or the whole reminder request; blank if not given."""
    remind: str = ""
    """Of a reminder request: time and text in the person's words."""


def read_request(text: str, language: Language) -> UnsupportedRequest | None:
    """Read "Could you remind me to …", "Forget …", "Write a …"; None unless it is clearly such a request."""
    if _wants_to_leave(text, language):
        return UnsupportedRequest("leave", "")
    number = _reminder_to_cancel(text, language)
    if number is not None:
        return UnsupportedRequest("cancel_reminder", number)
    return _read_start(text, language) or _read_end(text, language) or _read_time_first(text, language)


def _reminder_to_cancel(text: str, language: Language) -> str | None:
    """Return the number in "cancel reminder 3", "" in "stop reminding me to call Tom"; None for anything else."""
    body = fold(text[: body_end(text)])
    if not language.cancel_reminder or len(body) > _MAX_CANCEL_CHARS:
        return None
    if language.verb_last:
        found = re.search(language.cancel_reminder, body)
    else:
        at = skip(body, 0, SEPARATORS + "¡¿" + OPENERS)
        while (found := re.compile(language.cancel_reminder).match(body, at)) is None:
            openings = (
                phrase_at(body, at, kind, prefer=language, only=True)
                for kind in ("could_you", "please", "before")
            )
            opening = max(filter(None, openings), key=lambda match: match.end, default=None)
            if opening is None or opening.phrase in language.intending:
                return None
            at = skip(body, opening.end, SEPARATORS)
    if found is None:
        return None
    # "stop reminding me to call Tom at 5" contains no reminder number.
    number = re.search(r"\d{1,9}", found[0]) or re.match(
        r"\W*(?:[^\W\d]+\W+)?(\d{1,9})\W*$", body[found.end() :]
    )
    return number[number.lastindex or 0] if number else ""


def _read_time_first(text: str, language: Language) -> UnsupportedRequest | None:
    """Read "Tomorrow at 9 remind me to …", "明天9点提醒我…": only a time stands before the verb."""
    head = fold(text[:80])
    for at in range(1, len(head)):
        if language.spacing == "words" and not head[at - 1].isspace():
            continue
        verb = phrase_at(head, at, "remind", prefer=language, only=True)
        if verb is None:
            continue
        before, behind = text[:at].strip(SEPARATORS), text[verb.end :].strip(SEPARATORS)
        if not only_moment(before, LONG_AGO, language):
            return None
        return UnsupportedRequest("remind", text, f"{before} {strip_links(behind, language)}")
    return None


def _wants_to_leave(text: str, language: Language) -> bool:
    bare = fold(text[: body_end(text)][:20]).lstrip(SEPARATORS + OPENERS)
    return bare in language.leave or bare in ENGLISH.leave


def _read_start(text: str, language: Language) -> UnsupportedRequest | None:
    head = fold(text[:200])
    at = skip(head, 0, SEPARATORS + "¡¿" + OPENERS)
    if is_idiom(head, language):
        return None
    asked = False
    for _ in range(4):
        if found := _match_verb(head, at, language):
            unsupported, verb = found
            rest = text[verb.end :].lstrip(SEPARATORS + "-–—")
            if unsupported == "remind":
                if begins_with_question(strip_links(rest, language), language):
                    return None
                whole = text[at:] if has_words(rest) else ""
                return UnsupportedRequest(unsupported, whole.rstrip(" ?？؟") if asked else whole, rest)
            return UnsupportedRequest(unsupported, rest)
        opening = max(
            (
                match
                for kind in ("could_you", "please", "before")
                if (match := phrase_at(head, at, kind, prefer=language, only=True))
            ),
            key=lambda match: match.end,
            default=None,
        )
        if opening is None or opening.phrase in language.intending:
            return None
        asked = asked or opening.phrase in language.could_you
        at = skip(head, opening.end, SEPARATORS)
        end = body_end(text)
        if asked and (last := phrase_ending_at(fold(text), end, "remind_end", prefer=language, only=True)):
            # "Kannst du mich an den Zahnarzt erinnern?"
            return UnsupportedRequest(
                "remind", text[at:end] if last.start > at else "", text[at : last.start].strip()
            )
    return None


def _match_verb(head: str, at: int, language: Language) -> tuple[UnsupportedKind, Match] | None:
    """Return the verb of a request that begins at `at`, unless a longer phrase there means something else."""
    found: tuple[UnsupportedKind, Match] | None = None
    for kind, unsupported in _KINDS:
        match = phrase_at(head, at, kind, prefer=language, only=True)
        if match and (found is None or match.end > found[1].end):
            found = unsupported, match
    found = found or _match_change(head, at, language)
    if found is None:
        return None
    others = (phrase_at(head, at, kind, prefer=language, only=True) for kind in ("search", "ask_first"))
    return None if any(other and other.end > found[1].end for other in others) else found


def _match_change(head: str, at: int, language: Language) -> tuple[UnsupportedKind, Match] | None:
    for phrase in language.change:
        verb, gap, word = phrase.partition(" … ")
        if gap and head.startswith(f"{verb} ", at) and f" {word} " in head[at + len(verb) :]:
            return "change", Match(at, at + len(verb), phrase, language)
    return None


def _read_end(text: str, language: Language) -> UnsupportedRequest | None:
    """Read requests in languages with the command at the end: 「…を書いてください」."""
    if not language.verb_last:
        return None
    end = body_end(text)
    cut = max(0, end - 80)
    tail = fold(text[cut:end])
    at = len(tail)
    while True:
        for kind, unsupported in _KINDS:
            match = phrase_ending_at(tail, at, f"{kind}_end", prefer=language, only=True)
            if match:
                rest = text[: cut + match.start].rstrip(SEPARATORS)
                return UnsupportedRequest(
                    unsupported, text if unsupported == "remind" and has_words(rest) else rest, rest
                )
        ending = phrase_ending_at(tail, at, "please_end", prefer=language, only=True)
        if ending is None:
            return None
        at = len(tail[: ending.start].rstrip(SEPARATORS))


def split_statement_and_question(text: str, language: Language) -> tuple[str, str] | None:
    """Split "My name is Sam, what's yours?" if the first part says something about the speaker."""
    if len(text) > 400 or not is_question(text):
        return None
    match = re.fullmatch(r"(.+?)[,，、]\s*([^,，、]+)", text)
    if match is None:
        return None
    told, asked = match[1], match[2]
    subject = phrase_at(fold(told), skip(fold(told), 0, OPENERS), "subjects", prefer=language, only=True)
    if not subject or (language.spacing == "words" and len(told.split()) < 3) or asks(told, language):
        return None
    only_chat = not split_greeting(asked, language)[0]
    if only_chat or (language.spacing == "words" and begins_with_question(asked, language)):
        return told, asked
    return None
