"""Pure: detect a sentence beside a document that asks to keep it."""

import unicodedata

from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.phrases import (
    CLOSERS,
    OPENERS,
    SEPARATORS,
    body_end,
    fold,
    has_words,
    phrase_at,
    phrase_ending_at,
    skip,
)

_MOST_WORDS = 4
_MAX_CHARS = 16
"""Maximum characters, in scripts without spaces."""


def asks_to_keep(text: str, language: Language) -> Language | None:
    """Return the language of "Could you save this file?", "Keep it" and the like; None for other text."""
    languages = [language]
    if len(text.split()) > 1:  # so few words do not always reveal their language
        languages += LANGUAGES
    found = (each for each in languages if _begins_with_keep(text, each) or _ends_with_keep(text, each))
    return next(found, None)


def means_document(rest: str, language: Language) -> bool:
    """Return whether "this document" is to be remembered, and nothing else that is said."""
    bare = fold(rest[: body_end(rest)]).strip(SEPARATORS)
    if not has_words(bare) or bare in language.this:
        return True
    if language.spacing == "none":
        return len(bare) <= _MAX_CHARS and any(noun in bare for noun in language.document)
    words = [word.strip(OPENERS + CLOSERS) for word in bare.split()]
    return len(words) <= _MOST_WORDS and any(
        word == noun or (language.spacing == "particles" and word.startswith(noun))
        for word in words
        for noun in (unicodedata.normalize("NFC", each) for each in language.document)
    )


def _begins_with_keep(text: str, language: Language) -> bool:
    head = fold(text[:200])
    at = skip(head, 0, SEPARATORS + "¿¡" + OPENERS)
    for _ in range(4):
        if verb := phrase_at(head, at, "keep", prefer=language, only=True):
            rest = text[verb.end :]
            please = phrase_at(
                fold(rest), skip(fold(rest), 0, SEPARATORS), "please", prefer=language, only=True
            )
            return means_document(rest[please.end :] if please else rest, language)
        openings = (
            phrase_at(head, at, kind, prefer=language, only=True)
            for kind in ("could_you", "please", "before")
        )
        opening = max(filter(None, openings), key=lambda match: match.end, default=None)
        if opening is None:
            return False
        at = skip(head, opening.end, SEPARATORS)
    return False


def _ends_with_keep(text: str, language: Language) -> bool:
    tail = fold(text[:200][: body_end(text[:200])])
    at = len(tail)
    for _ in range(4):
        if verb := phrase_ending_at(tail, at, "keep", prefer=language, only=True):
            rest = text[: verb.start].rstrip()
            start = skip(fold(rest), 0, SEPARATORS + OPENERS)
            for kind in ("could_you", "please"):
                if opening := phrase_at(fold(rest), start, kind, prefer=language, only=True):
                    start = skip(fold(rest), opening.end, SEPARATORS)
            return means_document(rest[start:], language)
        ending = phrase_ending_at(tail, at, "please_end", prefer=language, only=True) or phrase_ending_at(
            tail, at, "please", prefer=language, only=True
        )
        if ending is None:
            return False
        at = len(tail[: ending.start].rstrip(SEPARATORS))
    return False
