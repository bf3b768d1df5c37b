"""Pure: find in a reply what the assistant claims to have done to the notes and reminders."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from bot.claim_words import FILE, WORDS, ClaimWords

ClaimKind = Literal["noted", "changed", "reminder"]
KINDS: tuple[ClaimKind, ...] = get_args(ClaimKind)

MAX_SENTENCES_AT_EACH_END = 4
"""Sentences at the beginning and at the end of a reply that are looked at: in between is what it is about."""
MAX_SENTENCE_CHARS = 400
MAX_CHARS_AT_EACH_END = 10_000
"""Characters at the beginning and at the end of a reply that are looked at."""

_CODE = r"(?s)```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)"
_INLINE_CODE = r"`(?![^`\n]*\.md`)[^`\n]*`"
_QUOTATION = (
    r"“[^”]{0,2000}”|„[^“”]{0,2000}[“”]|«[^»]{0,2000}»|「[^」]{0,2000}」|『[^』]{0,2000}』|‘[^’\n]{0,2000}’(?!\w)"
    r"|\"[^\"\n]{0,2000}\"|(?<!\w)'[^'\n]{0,2000}'(?!\w)"
)
_QUOTED_LINE = r"(?m)^[ \t]*(?:>|\|).*$"
_DRAFT = (
    r"(?ims)^[^\w\n]{0,10}(?:subject|betreff|objet|asunto|oggetto|assunto|тема|件名|主题|主題|제목|विषय|الموضوع|เรื่อง)\W*[:：].*"
    r"|^[^\w\n]{0,10}(?:dear|sehr geehrte\w*|estimad\w+|gentile|prezad\w+|уважаем\w+)\b.*"
    r"|^[^\n.]{2,40}(?:[,:،，：!！]|へ|에게|께)\s*\n\s*\n.*?\n\s*\n[^\n.!?。]{2,30}(?:\n[^\n!?。]{2,30})?\s*(?:\Z|\n\s*\n)"
    r"|^(?!hi\b|hello|hey|hallo|hola|bonjour|salut|ciao|olá|oi\b|привет)[^\n.!?]{2,25}(?:[,，،]|へ|에게|께|(?<=[\u3400-\u9fff])[：:])"
    r"\s*\n\s*\n.*"
)
"""A letter that the reply drafts, by its salutation or by a short first and last line: somebody else will say it."""
_SENTENCE_END = r"(?<=[.!…])[*_)]*\s+|(?<=[?？])[*_)]*\s*|(?<=[。！।؟])|\n+|\s[–—]\s"
_QUESTION = "?？؟"
_COLONS = ":："
_CLAUSE_MARKS = ",;:،؛，；：、"
_NOTE_FILE = r"`?(?:(?![\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])[\w./-])+\.md\b`?"
"""In scripts without spaces, a name would reach back to the beginning of the sentence."""
_ARABIC_YOU = r"ت[َِ](?!\w)"
_ARABIC_VOWEL_SIGNS = r"[\u064b-\u0652]"


def find_claims(reply: str) -> frozenset[ClaimKind]:
    """Return what a reply claims to have been done just now: noted or saved, changed in the notes, or reminded of.

    Only statements of the assistant about itself count, in the past or perfect tense and about notes, the memory or
    reminders; not questions, offers, plans, conditions, quotations, code, drafts of letters, or what was done earlier.
    """
    sentences = _split_sentences(reply)
    at_the_ends = dict.fromkeys(
        sentences[:MAX_SENTENCES_AT_EACH_END] + sentences[-MAX_SENTENCES_AT_EACH_END:]
    )
    alone = len(sentences) == 1
    return frozenset(claim for sentence in at_the_ends for claim in _claims_of(sentence, alone=alone))


def is_acknowledgement(reply: str) -> bool:
    """Return whether a reply begins with a bare "Noted!".

    It claims nothing by itself, but does if it answers something that could be noted.
    """
    sentences = _split_sentences(reply)
    first = sentences[0].strip(" .!¡。！।…,，、*_") if sentences else ""
    return any(_acknowledgement(code).match(first) for code in WORDS)


def _claims_of(sentence: str, *, alone: bool) -> Iterator[ClaimKind]:
    if sentence[-1] in _QUESTION:
        return
    for code in WORDS:
        if _verbs_and_notes(code).search(sentence):
            language = _compile(code)
            if FILE in sentence or not language.other_texts.search(sentence):
                yield from _claims_in(sentence, language, alone=alone)


def _claims_in(sentence: str, language: "_Compiled", *, alone: bool) -> Iterator[ClaimKind]:
    for voice, pattern in language.voices:
        for match in pattern.finditer(sentence):
            begin, end = _clause_around(match, sentence, language)
            if not (
                language.not_done.search(sentence, begin, match.end())
                or language.earlier.search(sentence, begin, end)
                or language.hypothetical.search(sentence, 0, match.start())
            ):
                kind = _kind_of(match, voice, sentence[begin:end], sentence, language)
                if not kind and voice == "bare" and match.end() == len(sentence):
                    kind = _kind_of_one_word(match, alone=alone)
                if kind:
                    yield kind


def _clause_around(match: re.Match[str], sentence: str, language: "_Compiled") -> tuple[int, int]:
    """Return where the clause of a verb begins, and where it ends or what was noted begins."""
    begin = 1 + max(sentence.rfind(mark, 0, match.start() + 1) for mark in _CLAUSE_MARKS)
    content = language.content.search(sentence, match.end())
    return begin, content.start() if content else len(sentence)


def _kind_of(
    match: re.Match[str], voice: str, clause: str, sentence: str, language: "_Compiled"
) -> ClaimKind | None:
    """Return what a verb claims: by itself, with "that" as its object, or with the notes or a reminder beside it."""
    verb = match.lastgroup
    into_notes = language.into.search(sentence)
    may_be_reminder = verb == "set" or (verb in {"added", "changed"} and not into_notes)
    if may_be_reminder and language.reminders.search(clause):
        return "reminder"
    shows_below = sentence[-1] in _COLONS and (verb == "changed" or not into_notes)
    if verb == "set" or shows_below or (voice == "state" and not language.now.search(sentence)):
        return None
    if verb == "changed" or verb is None:
        return ("changed" if verb else "noted") if language.notes.search(sentence) else None
    with_that = verb == "saved" and language.that.search(clause)
    by_itself = verb == "noted" and voice in {"active", "state"}
    return "noted" if into_notes or with_that or by_itself else None


def _kind_of_one_word(match: re.Match[str], *, alone: bool) -> ClaimKind | None:
    """Return what "Saved!" claims, or "Deleted!" if it is the whole reply; else it may be about a text in the chat."""
    if match.lastgroup in {"saved", "added"}:
        return "noted"
    return "changed" if match.lastgroup == "changed" and alone else None


def _split_sentences(reply: str) -> list[str]:
    """Return the sentences in lower case, without code, quotations, tables and drafted letters."""
    if len(reply) > 2 * MAX_CHARS_AT_EACH_END:
        reply = f"{reply[:MAX_CHARS_AT_EACH_END]}\n{reply[-MAX_CHARS_AT_EACH_END:]}"
    text = re.sub(_CODE, "\n", reply)
    text = re.sub(_QUOTED_LINE, "", text)
    text = re.sub(_DRAFT, "", text)
    text = text.replace("’", "'") if "‘" not in text else text
    text = re.sub(_QUOTATION, " x ", text)
    text = re.sub(_INLINE_CODE, " x ", text)
    text = re.sub(_NOTE_FILE, FILE, text)
    text = re.sub(_ARABIC_VOWEL_SIGNS, "", re.sub(_ARABIC_YOU, "", text))
    text = re.sub(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", text)
    plain = (
        re.sub(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+", "", each).strip()
        for each in re.split(_SENTENCE_END, text)
    )
    lowered = (
        re.sub(r"\s+", " ", each[:MAX_SENTENCE_CHARS].lower()).rstrip(".!。！।… ") for each in plain if each
    )
    return [each for each in lowered if each]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The words of a language as regular expressions; see `ClaimWords`."""

    voices: tuple[tuple[str, re.Pattern[str]], ...]
    notes: re.Pattern[str]
    into: re.Pattern[str]
    reminders: re.Pattern[str]
    that: re.Pattern[str]
    now: re.Pattern[str]
    not_done: re.Pattern[str]
    hypothetical: re.Pattern[str]
    earlier: re.Pattern[str]
    content: re.Pattern[str]
    other_texts: re.Pattern[str]


_VERBS = ("noted", "saved", "added", "changed", "set")


@cache
def _verbs_and_notes(code: str) -> re.Pattern[str]:
    """Return what every claim of a language contains: to compile the rest takes 10 ms, and most need only this."""
    words = WORDS[code]
    return re.compile("|".join(_any_of(each, words) for each in (*_verbs_of(words), words.notes)))


@cache
def _acknowledgement(code: str) -> re.Pattern[str]:
    words = WORDS[code]
    return re.compile(rf"{_well(words)}{_any_of(words.acknowledges, words)}\s*(?:$|[,:;!.،，：。！])")


@cache
def _compile(code: str) -> _Compiled:
    words = WORDS[code]
    verbs = zip(_VERBS, _verbs_of(words), strict=True)
    done = "|".join(f"(?P<{verb}>{_any_of(listed, words)})" for verb, listed in verbs)
    into = _any_of(words.into.replace("{notes}", words.notes), words)
    bare = rf"^{_well(words)}(?:{_any_of(words.reminders, words)} )?{{done}}"
    voices = {
        "active": words.active,
        "passive": words.passive,
        "state": words.state,
        "bare": (bare,) * words.is_spaced,
    }
    begins = r"(?<!\w)" if words.is_spaced else ""

    def compile_list(listed: str) -> re.Pattern[str]:
        return re.compile(_any_of(listed, words))

    return _Compiled(
        voices=tuple(
            (
                voice,
                re.compile(
                    f"{begins}(?:{_expand(each)})".replace("{done}", f"(?:{done})").replace("{place}", into)
                ),
            )
            for voice, templates in voices.items()
            for each in templates
        ),
        notes=compile_list(words.notes),
        into=re.compile(into),
        reminders=compile_list(words.reminders),
        that=compile_list(words.that),
        now=compile_list(words.now),
        not_done=compile_list(words.not_done),
        hypothetical=compile_list(words.hypothetical),
        earlier=compile_list(words.earlier),
        content=re.compile(words.content),
        other_texts=compile_list(words.other_texts),
    )


def _verbs_of(words: ClaimWords) -> tuple[str, ...]:
    return (words.noted, words.saved, words.added, words.changed, words.set)


def _well(words: ClaimWords) -> str:
    return rf"(?:{_any_of(words.well, words)}[ ,،，:!.–—-]*)*"


def _any_of(listed: str, words: ClaimWords) -> str:
    joined = f"(?:{_expand(listed) or '(?!)'})"
    return rf"(?<!\w){joined}(?!\w)" if words.is_spaced else joined


def _expand(listed: str) -> str:
    return listed.replace("…", ".{0,60}?").replace("FILE", re.escape(FILE))
