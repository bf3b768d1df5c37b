"""Pure: find in a reply what the assistant claims to have done to the notes and reminders."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, get_args

from bot.claim_patterns import PATTERNS

ClaimKind = Literal["noted", "changed", "reminder"]
KINDS: tuple[ClaimKind, ...] = get_args(ClaimKind)

MAX_SENTENCES_AT_EACH_END = 4
"""Sentences at the beginning and at the end of a reply that are looked at: in between is what it is about."""
OPENING_SENTENCES = 2
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
)
"""A letter that the reply drafts: somebody else will say it."""
_SENTENCE_END = r"(?<=[.!…])[*_)]*\s+|(?<=[?？])[*_)]*\s*|(?<=[。！।؟])|\n+|\s[–—]\s"
_QUESTION = "?？؟"
_FAULTS = (
    r"\b(?:errors?|mistakes?|typos?|problems?|issues?|contradictions?|gaps?|fehler\w*|probleme?|erreurs?|fautes?|problèmes?"
    r"|errore[si]?|errori|problem[ai]s?|erros?|ошиб\w+|проблем\w+)\b|错误|錯誤|問題|问题|誤り|오류|गलती|أخطاء"
)
"""What somebody notes in the sense of "notices"."""


def find_claims(reply: str) -> frozenset[ClaimKind]:
    """Return what a reply claims to have been done just now: noted or saved, changed in the notes, or reminded of.

    Only statements of the assistant about itself count, in the past or perfect tense and about notes, the memory or
    reminders; not questions, offers, plans, conditions, quotations, code, drafts of letters, or what was done earlier.
    """
    sentences = _split_sentences(reply)
    found = set[ClaimKind]()
    last = len(sentences) - MAX_SENTENCES_AT_EACH_END
    for index, sentence in enumerate(sentences):
        if index < MAX_SENTENCES_AT_EACH_END or index >= last:
            found |= set(_claims_of(sentence, opening=index < OPENING_SENTENCES))
    return frozenset(found)


def is_acknowledgement(reply: str) -> bool:
    """Return whether a reply begins with a bare "Noted!".

    It claims nothing by itself, but does if it answers a request to note something.
    """
    sentences = _split_sentences(reply)
    first = sentences[0].strip(" .!¡。！।…,，、*_") if sentences else ""
    return any(pattern.fullmatch(first) for pattern in _acknowledgements())


def _claims_of(sentence: str, *, opening: bool) -> Iterator[ClaimKind]:
    if sentence[-1:] in _QUESTION:
        return
    for unless_before, unless_anywhere, kinds in _compiled():
        for kind, patterns in kinds:
            if kind == "opening" and not opening:
                continue
            for pattern in patterns:
                match = pattern.search(sentence)
                if (
                    match
                    and not (kind == "changed" and sentence[-1] in ":：")  # what was changed is shown below
                    and not re.search(_FAULTS, match[0])
                    and not unless_before.search(sentence, 0, match.start())
                    and not unless_anywhere.search(sentence)
                ):
                    yield "noted" if kind == "opening" else kind
                    break


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
    text = re.sub(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", text)
    plain = (
        re.sub(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+", "", each).strip()
        for each in re.split(_SENTENCE_END, text)
    )
    return [
        re.sub(r"\s+", " ", each[:MAX_SENTENCE_CHARS].lower()).rstrip(".!。！।…") for each in plain if each
    ]


_Patterns = tuple[re.Pattern[str], ...]
_Kind = Literal["noted", "changed", "reminder", "opening"]


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], re.Pattern[str], tuple[tuple[_Kind, _Patterns], ...]], ...]:
    """Return for each language what takes a claim back, and the patterns of each kind."""

    def compiled(listed: tuple[str, ...]) -> _Patterns:
        return tuple(re.compile(each) for each in listed)

    return tuple(
        (
            re.compile(each.unless_before),
            re.compile(each.unless_anywhere),
            (
                ("noted", compiled(each.noted)),
                ("opening", compiled(each.noted_about_you)),
                ("changed", compiled(each.changed)),
                ("reminder", compiled(each.reminder)),
            ),
        )
        for each in PATTERNS.values()
    )


@cache
def _acknowledgements() -> _Patterns:
    return tuple(re.compile(each.acknowledges) for each in PATTERNS.values())
