"""The catalogues are whole, current, and say the same as the English texts do."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from string import Formatter
from zoneinfo import ZoneInfo

import pytest
from babel.messages.catalog import Message

from bot import english
from bot.commands.command import WrongCommandUsage
from bot.commands.registry import COMMANDS
from bot.language.catalogs import translate, translate_plural
from bot.language.codes import ENGLISH, LANGUAGES
from bot.language.current import speaking
from bot.language.text import Text
from bot.timeparse import read_when
from bot.timeparse.moment import TimeParseError, When
from scripts.languages import list_texts, load_catalog, make_template, update_catalog

TRANSLATED = [language for language in LANGUAGES if language != ENGLISH]
ROOT = Path(__file__).parents[3]
COMMANDS_BY_NAME = {command.name: command for command in COMMANDS}


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


NOW = datetime(2026, 11, 28, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
TOLD = {
    ENGLISH: {"begin": "tomorrow", "day": "friday"},
    "de": {"begin": "morgen", "day": "Freitag"},
    "zh_Hans": {"begin": "明天", "day": "周五"},
}
"""What somebody has written who is answered with an example that repeats it."""
LISTED_TIMES = (
    "20m, tomorrow 9:00, every monday 8:00, 2026-12-03 14:00 …",
    "every monday 8:00, every day at 7:30, tomorrow 9:00 …",
    "For example: every monday 8:00",
    "For example: tomorrow 9:00, in 2 hours",
)
"""Texts that are examples of times alone, without backticks."""


def code_in(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def read_time(example: str, language: str) -> When | None:
    """Return what an example means to those who read a language, if it is a time, alone or of a command."""
    words = example.removeprefix("/remind ").removeprefix("/schedule ")
    try:
        told = Text(words, language).format(**TOLD[language], number=5, time="9:30")
        return None if told.startswith("/") else read_when(told, NOW, ZoneInfo("Europe/Berlin"))[0]
    except (TimeParseError, KeyError):
        return None


def meaning(example: str, language: str) -> str:
    """Return what an example must have in common with its translation: all of it, unless it is a time or prose."""
    command = example.partition(" ")[0] if example.startswith("/") else ""
    if when := read_time(example, language):
        return f"{command} {when}"
    return re.sub(r"^(/correct \S+:3) .*", r"\1", example)


def listed_times(text: str) -> list[str]:
    listed = re.sub(r"^(For example: |Zum Beispiel: |例如：)| …$", "", text)
    return re.split(r"[,、，] ?(?:或 )?", listed)


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
            said = Counter(meaning(code, language) for code in code_in(form))
            meant = Counter(meaning(code, ENGLISH) for code in code_in(english_forms[-1]))
            is_same = fewest <= fields_in(form) <= most and said == meant
            if not is_same or lines_before(form) != lines_before(english_forms[0]):
                wrong.append((message.id, form))
    assert wrong == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_examples_of_times_are_in_the_language(language: str) -> None:
    left, found = [], 0
    for message in messages_of(language):
        told, own = code_in(forms(message.id)[0]), code_in(forms(message.string)[0])
        for code in told:
            if read_time(code, ENGLISH) and re.search(r"[a-z]{3}", re.sub(r"\{\w+\}|/\w+", "", code)):
                found += 1
                left += [code] if code in own else []
    assert (left, found > 20) == ([], True)


@pytest.mark.parametrize("language", TRANSLATED)
def test_listed_times_are_in_the_language_and_mean_the_same(language: str) -> None:
    for text in LISTED_TIMES:
        english_times, own = listed_times(text), listed_times(translate(text, language))
        meant = [read_time(each, ENGLISH) for each in english_times]
        assert None not in meant
        assert [read_time(each, language) for each in own] == meant
        assert not {each for each in english_times if re.search(r"[a-z]{3}", each)}.intersection(own)


def test_an_example_of_a_command_is_in_the_language() -> None:
    with speaking("zh_Hans"):
        assert str(WrongCommandUsage(COMMANDS_BY_NAME["remind"])) == (
            "用法：`/remind WHEN TEXT`。例如：`/remind 明天9点 给妈妈打电话`"
        )
        assert str(WrongCommandUsage(COMMANDS_BY_NAME["stop"])) == "用法：`/stop`"
    assert str(WrongCommandUsage(COMMANDS_BY_NAME["remind"])) == (
        "Usage: `/remind WHEN TEXT`. For example: `/remind tomorrow 9:00 call mum`"
    )


HALF_WIDTH = re.compile(r"[,;:!?.](?=\s|$|[\u4e00-\u9fff])|[\u4e00-\u9fff}] ?[(),;!?]|[()] ?[\u4e00-\u9fff{]")
LITERAL = re.compile(r"`[^`]*`|[?]\w+=|<[^<>]*>|https?://[!-~]+|\{\w+:[^{}]*\}|VACUUM \(FULL\)|\bcore:")
"""What is typed or linked as it stands."""


def test_chinese_punctuation_is_full_width() -> None:
    texts = [form for message in messages_of("zh_Hans") for form in forms(message.string)]
    assert [text for text in texts if HALF_WIDTH.search(LITERAL.sub("{x}", text))] == []
    for wrong in ("{path}: {reason}", "请看 MEMORY.md.", "笔记(新)", "{path} (新)"):
        assert HALF_WIDTH.search(wrong)


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
