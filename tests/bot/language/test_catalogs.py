"""The catalogues are whole, current, and say the same as the English texts do."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Message

from bot import english
from bot.language.catalogs import translate, translate_plural
from bot.language.codes import ENGLISH, LANGUAGES
from scripts.languages import list_texts, load_catalog, make_template, update_catalog

TRANSLATED = [language for language in LANGUAGES if language != ENGLISH]
ROOT = Path(__file__).parents[3]


def messages_of(language: str) -> Iterator[Message]:
    return (message for message in load_catalog(language) if message.id)


def id_of(message: Message) -> str | tuple[str, ...]:
    return message.id if isinstance(message.id, str) else tuple(message.id)


def forms(texts: object) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)  # type: ignore[call-overload]


def fields_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def lines_before(text: str) -> int:
    return len(text) - len(text.lstrip("\n"))


def code_in(text: str) -> Counter[str]:
    return Counter(re.findall(r"`[^`]+`", text))


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated(language: str) -> None:
    catalog = update_catalog(load_catalog(language), make_template())
    texts = {(each.context, each.id) for each in list_texts() if each.id}
    assert len(texts) > 1200
    told = {(message.context or "", id_of(message)): message for message in catalog}
    missing = [text for text in texts if not all(forms(told[text].string)) or told[text].fuzzy]
    assert missing == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_fields_and_code_are_those_of_the_english_text(language: str) -> None:
    wrong = []
    for message in messages_of(language):
        english_forms = forms(message.id)
        for form in forms(message.string):
            # A form for one may leave its count out, in either language.
            most, fewest = fields_in(english_forms[-1]), fields_in(english_forms[0])
            is_same = fewest <= fields_in(form) <= most and code_in(form) == code_in(english_forms[-1])
            if not is_same or lines_before(form) != lines_before(english_forms[0]):
                wrong.append((message.id, form))
    assert wrong == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_can_be_filled_in(language: str) -> None:
    for message in messages_of(language):
        for form in forms(message.string):
            spec = {name: each for _, name, each, _ in Formatter().parse(form) if name is not None}
            form.format(**{name: 1.5 if each and each != "," else 1 for name, each in spec.items()})


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_program_reads_what_translators_write(language: str) -> None:
    for message in messages_of(language):
        if isinstance(message.id, str):
            assert translate(message.id, language, context=message.context or "") == message.string
        else:
            one, other = message.id
            told = {translate_plural(one, other, count, language) for count in (1, 2)}
            assert told == set(forms(message.string))


def test_what_is_never_translated_is_in_no_catalogue() -> None:
    names = {name for name in vars(english) if name.isupper()}
    assert names >= english.UNTRANSLATED
    assert not english.UNTRANSLATED & {each.place for each in list_texts()}


def test_a_missing_text_stays_english() -> None:
    assert translate("Nobody has translated this.", "de") == "Nobody has translated this."
    assert translate("Nobody has translated this.", "tlh") == "Nobody has translated this."
    assert translate("", "de") == ""
    assert translate_plural("one cup", "{count} cups", 2, "de") == "{count} cups"
    assert translate_plural("one cup", "{count} cups", 1, "de") == "one cup"


def test_the_catalogues_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/languages.py", "--check"],
        cwd=ROOT,
        env={"PYTHONPATH": "."},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "")
