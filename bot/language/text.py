"""Texts in a language: with its forms for counts, and its way of writing numbers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from string import Formatter
from typing import Any
from unicodedata import category, east_asian_width

from bot.language.catalogs import translate, translate_plural
from bot.language.codes import ENGLISH
from bot.language.current import current_language
from memory.translatable import Translatable, TranslatableError

_SEPARATORS: Mapping[str, dict[int, int]] = {"de": str.maketrans(",.", ".,")}
"""By language: how it writes the English separators of thousands and decimals; a language not here does as English."""


_WITHOUT_SPACES = frozenset({"zh_Hans"})
"""Languages that put no space between words and sentences of their own, only beside those of other scripts."""


class Text(str):
    """A text of a language whose `format` writes numbers and spaces as that language does: 1.234,5 in German.

    A field that can be translated is said in that language, too.

    Chinese has a space in the text beside a field, for a name such as `Ann`; one like `小明` is filled in without it.
    """

    __slots__ = ("language",)

    language: str

    def __new__(cls, text: str, language: str) -> "Text":
        """Make it of `text`, which is in `language`."""
        made = super().__new__(cls, text)
        made.language = language
        return made

    def format(self, *args: object, **kwargs: object) -> str:
        """Fill in the fields, as `str.format` does."""
        formatter = _LanguageFormatter(self.language)
        if self.language not in _WITHOUT_SPACES:
            return formatter.vformat(self, args, kwargs)
        return reduce(_join_closely, formatter.fill_in(self, args, kwargs), "")

    def format_html(self, **fields: str) -> str:
        """Fill in the fields of a text that is HTML, as `format` does; each value is HTML too."""
        formatter = _LanguageFormatter(self.language)
        if self.language not in _WITHOUT_SPACES:
            return formatter.vformat(self, (), fields)
        return reduce(_join_html_closely, formatter.fill_in(self, (), fields), "")


class _LanguageFormatter(Formatter):
    def __init__(self, language: str) -> None:
        self._language = language

    def fill_in(self, text: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Iterator[str]:
        """Yield what stands between the fields, and what is put into them; no specification has fields of its own."""
        for literal, name, spec, conversion in self.parse(text):
            yield literal
            if name is not None:
                value, _ = self.get_field(name, args, kwargs)
                yield self.format_field(self.convert_field(value, conversion), spec or "")

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if conversion is None and isinstance(value, Translatable | TranslatableError):
            return _translate_template(value, self._language)
        return super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        shown = str(super().format_field(value, format_spec))
        return write_number(shown, self._language) if isinstance(value, int | float) else shown


def localize(said: str | TranslatableError) -> str:
    """Return a text or an error's text in the current language; a str that is no `Translatable` as it is."""
    return _translate_template(said, current_language())


def _translate_template(said: str | TranslatableError, language: str) -> str:
    text = said.text if isinstance(said, TranslatableError) else said
    if language == ENGLISH or not isinstance(text, Translatable):
        return str(text)
    template = Text(translate(text.template, language), language)
    return template.format(**text.fields) if text.fields else template


def join_sentences(sentences: Iterable[str]) -> str:
    """Return sentences as one paragraph in the current language; a blank one is left out."""
    shown = filter(None, sentences)
    if current_language() not in _WITHOUT_SPACES:
        return " ".join(shown)
    return reduce(lambda told, each: _join_closely(f"{told} " if told else "", each), shown, "")


def _join_closely(before: str, after: str) -> str:
    """Return two parts of a text without the spaces between them that Chinese does not write."""
    last, first = before.rstrip(" ")[-1:], after.lstrip(" ")[:1]
    if _is_wide(last) and (_is_wide(first) or category(last).startswith("P")):
        return before.rstrip(" ") + after.lstrip(" ")
    return before + after


_TAG_OR_SPACE = re.compile(r"(<[^<>]*>)| ")
_TAGS_AND_SPACES = re.compile(r"(?: |<[^<>]*>)*")


def _join_html_closely(before: str, after: str) -> str:
    """Return two parts of a text as `_join_closely` does; a tag between them shows nothing."""
    end = len(before)
    while before[end - 1 : end] in (" ", ">") and end:
        end = before.rfind("<", 0, end) if before[end - 1] == ">" else end - 1
    edge = _TAGS_AND_SPACES.match(after)
    begin = edge.end() if edge else 0
    last, first = before[max(end - 1, 0) : max(end, 0)], after[begin : begin + 1]
    if not _is_wide(last) or not (_is_wide(first) or category(last).startswith("P")):
        return before + after
    return before[:end] + _TAG_OR_SPACE.sub(r"\1", before[end:] + after[:begin]) + after[begin:]


def _is_wide(letter: str) -> bool:
    """Return whether this is a letter or mark of Chinese; an emoji is none."""
    return bool(letter) and category(letter)[0] in "LP" and east_asian_width(letter) in "WF"


def count_columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: a Chinese letter takes two."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in text)


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
