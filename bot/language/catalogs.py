"""The texts of `bot/english.py` in other languages: gettext's catalogues, each read when it is first needed."""

import gettext
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bot.language.codes import ENGLISH

DOMAIN = "commonplace"
LOCALES = Path(__file__).parent.parent / "locales"


@cache
def load_catalog(language: str) -> gettext.NullTranslations:
    """Return the catalogue of a language; an empty one, which leaves each text as it is, if there is none."""
    return gettext.translation(DOMAIN, LOCALES, [language], fallback=True)


def translate(text: str, language: str, *, context: str = "") -> str:
    """Return a text in a language; the text itself if its catalogue does not have it.

    `context` says what is meant where one English text has several meanings; "" for most texts, which have one.
    """
    # "" is where a catalogue keeps what it says about itself.
    if not text or language == ENGLISH:
        return text
    catalog = load_catalog(language)
    return catalog.pgettext(context, text) if context else catalog.gettext(text)


def translate_plural(one: str, other: str, count: int, language: str) -> str:
    """Return the form for a count in a language; the English one if its catalogue does not have it."""
    if language == ENGLISH:
        return one if count == 1 else other
    return load_catalog(language).ngettext(one, other, count)


def translate_all(value: object, of: Callable[[str], object]) -> object:
    """Return a value with `of` applied to each text in it: a text, or a mapping or a tuple of them."""
    match value:
        case str():
            return of(value)
        case dict():
            return {key: translate_all(each, of) for key, each in value.items()}
        case tuple():
            return tuple(translate_all(each, of) for each in value)
    return value
