"""Texts in a language: with its forms for counts, and its way of writing numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from bot.language.catalogs import translate_plural
from bot.language.current import current_language

_SEPARATORS: Mapping[str, dict[int, int]] = {"de": str.maketrans(",.", ".,")}
"""By language: how it writes the English separators of thousands and decimals; a language not here does as English."""


class Text(str):
    """A text of a language whose `format` writes numbers as that language does: 1.234,5 in German."""

    __slots__ = ("language",)

    language: str

    def __new__(cls, text: str, language: str) -> "Text":
        """Make it of `text`, which is in `language`."""
        made = super().__new__(cls, text)
        made.language = language
        return made

    def format(self, *args: object, **kwargs: object) -> str:
        """Fill in the fields, as `str.format` does."""
        return _NumberFormatter(self.language).vformat(self, args, kwargs)


class _NumberFormatter(Formatter):
    def __init__(self, language: str) -> None:
        self._language = language

    def format_field(self, value: Any, format_spec: str) -> str:
        shown = str(super().format_field(value, format_spec))
        return write_number(shown, self._language) if isinstance(value, int | float) else shown


def write_number(number: str, language: str) -> str:
    """Return a number that is written as in English as a language writes it."""
    return number.translate(_SEPARATORS.get(language, {}))


@dataclass(frozen=True, slots=True)
class Plural:
    """A text that depends on a count, in English; `format` chooses the form, in the current language."""

    one: str
    other: str

    def format(self, *, count: int, **fields: object) -> str:
        """Return the form for `count` with its fields filled in."""
        language = current_language()
        text = Text(translate_plural(self.one, self.other, count, language), language)
        return text.format(count=count, **fields)
