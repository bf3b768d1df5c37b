"""A text is looked up when it is used, in the language of whoever is spoken to."""

import asyncio
import subprocess
import sys
import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from bot import english, phrases
from bot.language.codes import closest_language, find_language
from bot.language.current import current_language, speaking
from bot.language.text import Text, join_sentences, localize
from bot.quantities import duration_in_words, size_in_words
from bot.timeparse import Recurrence, moment_in_full, rule_in_words
from memory.errors import NoteUnreadable
from memory.translatable import Translatable, TranslatableError
from tests.fakes.table_test import table_test


def test_a_text_is_in_the_language_spoken_now() -> None:
    assert phrases.STOPPED == "Stopped."
    with speaking("de"):
        assert phrases.STOPPED == "Abgebrochen."
        with speaking("zh_Hans"):
            assert phrases.STOPPED == "已停止。"
        assert phrases.CHANNEL_STATES["up"] == "verbunden"
        assert phrases.MONTHS[2] == "März"
        assert phrases.FOLDER_ACCESS[False] == "nur lesbar"
        assert phrases.MODEL_ERRORS[""] == "es ist ausgefallen"
        assert phrases.CHANGE_MADE_BY["tool"] == ""
    assert phrases.STOPPED == english.STOPPED


def test_a_plural_has_its_forms() -> None:
    told = {}
    for language in ("en", "de", "zh_Hans"):
        with speaking(language):
            told[language] = [phrases.NOTES.format(count=count) for count in (0, 1, 1234)]
    assert told == {
        "en": ["0 notes", "1 note", "1,234 notes"],
        "de": ["0 Notizen", "1 Notiz", "1.234 Notizen"],
        "zh_Hans": ["0 条笔记", "1 条笔记", "1,234 条笔记"],
    }


def test_times_and_repetitions_are_whole_phrases() -> None:
    day, berlin = datetime(2026, 12, 4, 17, 0, tzinfo=UTC), ZoneInfo("Europe/Berlin")
    rules = [
        Recurrence.parse(f"every {each}")
        for each in (
            "1 weeks from 2026-12-04 on mon,thu at 08:00",
            "2 days from 2026-12-04 at 08:00,18:00",
            "90 minutes from 2026-12-04T08:00+00:00",
        )
    ]
    told = {}
    for language in ("en", "de", "zh_Hans"):
        with speaking(language):
            told[language] = [moment_in_full(day, berlin), *map(rule_in_words, rules)]
    assert told == {
        "en": [
            "Friday, 4 December 2026 at 18:00 (Europe/Berlin)",
            "every week on Monday and Thursday at 08:00",
            "every 2 days at 08:00 and 18:00",
            "every 90 minutes",
        ],
        "de": [
            "Freitag, 4. Dezember 2026 um 18:00 (Europe/Berlin)",
            "jede Woche am Montag und Donnerstag um 08:00",
            "alle 2 Tage um 08:00 und 18:00",
            "alle 90 Minuten",
        ],
        "zh_Hans": [
            "2026年12月4日星期五 18:00（Europe/Berlin）",
            "每周星期一和星期四 08:00",
            "每 2 天 08:00 和 18:00",
            "每 90 分钟",
        ],
    }


def test_numbers_are_written_as_in_the_language() -> None:
    numbers = {"first": 0.25, "speed": 12.0}
    assert "after 0.2 s" in phrases.MODELS_SPEED.format(**numbers)
    assert size_in_words(1_234_000) == "1.2 MB"
    with speaking("de"):
        assert "nach 0,2 s" in phrases.MODELS_SPEED.format(**numbers)
        assert "12.345 Zeichen" in phrases.WHOLE_IN_FILE.format(characters=12_345)
        assert phrases.NOTE_ROW.format(path="a,b.md", size="1.2") == "- `a,b.md`, 1.2", "no number"
        assert size_in_words(1_234_000) == "1,2 MB"
        assert size_in_words(512) == "512 Byte"


def test_durations_are_told_to_the_second_or_the_minute() -> None:
    told = {0.2: "0 s", 59.4: "59 s", 59.6: "1 min 0 s", 725: "12 min 5 s", 12_000: "3 h 20 min"}
    assert {seconds: duration_in_words(seconds) for seconds in told} == told
    with speaking("zh_Hans"):
        assert duration_in_words(725) == "12 分 5 秒"


def test_what_the_memory_says_is_said_in_the_language_with_what_it_was_made_of() -> None:
    error = NoteUnreadable(
        "{path} could not be read: {reason}.", path="a.md", reason=Translatable("its path is too long")
    )
    reasons: tuple[str | TranslatableError, ...] = (
        error,
        error.text,
        Translatable("its path is too long"),
        Translatable("Nobody translated {n}", n=1.5),
    )
    told = {}
    for language in ("en", "de", "zh_Hans"):
        with speaking(language):
            told[language] = [*map(localize, reasons), phrases.NOT_REMEMBERED.format(error=error)]
    assert told == {
        "en": [
            "a.md could not be read: its path is too long.",
            "a.md could not be read: its path is too long.",
            "its path is too long",
            "Nobody translated 1.5",
            "I couldn't write that down: a.md could not be read: its path is too long.",
        ],
        "de": [
            "a.md konnte nicht gelesen werden: der Pfad ist zu lang.",
            "a.md konnte nicht gelesen werden: der Pfad ist zu lang.",
            "der Pfad ist zu lang",
            "Nobody translated 1,5",
            "Das konnte ich nicht aufschreiben: a.md konnte nicht gelesen werden: der Pfad ist zu lang.",
        ],
        "zh_Hans": [
            "无法读取 a.md：路径太长。",
            "无法读取 a.md：路径太长。",
            "路径太长",
            "Nobody translated 1.5",
            "没能记下来：无法读取 a.md：路径太长。",
        ],
    }
    with speaking("de"):
        assert localize("its path is too long") == "its path is too long", "a person may have written that"


@table_test(
    ("text", "value", "told"),
    [
        ("由 {x} 写下。", "Ann", "由 Ann 写下。"),
        ("由 {x} 写下。", "小明", "由小明写下。"),
        ("由 {x} 写下。", "导入（Telegram）", "由导入（Telegram）写下。"),
        ("由 {x} 写下。", "Ann（Telegram）", "由 Ann（Telegram）写下。"),
        ("共 {x} 行", 1234, "共 1234 行"),
        ("昨天 {x}", "09:41", "昨天 09:41"),
        ("没有回答。{x}", " `/retry` 可以重试。", "没有回答。`/retry` 可以重试。"),
        ("⏰ {x}", "喝水", "⏰ 喝水"),
        ("**{x}：** 好", "小明", "**小明：** 好"),
        ("- {x}", "《红楼梦》", "- 《红楼梦》"),
        ("> {x}", "", "> "),
        ("{x}", "小明  的 书", "小明  的 书"),
    ],
)
def test_chinese_has_spaces_only_beside_other_scripts(text: str, value: object, told: str) -> None:
    assert Text(text, "zh_Hans").format(x=value) == told
    assert Text(text, "de").format(x=value) == text.format(x=value)


@table_test(
    ("text", "value", "told"),
    [
        ("由 {x} 写下", "<b>小明</b>", "由<b>小明</b>写下"),
        ("由 {x} 写下", "<b>Ann</b>", "由 <b>Ann</b> 写下"),
        ('由 <a href="/a b">{x}</a> 写下', "小明", '由<a href="/a b">小明</a>写下'),
        ('由 <a href="/a b">{x}</a> 写下', "Ann", '由 <a href="/a b">Ann</a> 写下'),
        (
            "上次 {x}",
            '<time datetime="2026-11-28">昨天 09:00</time>',
            '上次<time datetime="2026-11-28">昨天 09:00</time>',
        ),
        ("{x} 写下", "<b></b>", "<b></b> 写下"),
        ("<p>{x}</p>", "小明  的 书", "<p>小明  的 书</p>"),
        ("共 {x} 行", "&lt;", "共 &lt; 行"),
        ("{x}", "", ""),
    ],
)
def test_chinese_has_spaces_only_beside_other_scripts_in_html_too(text: str, value: str, told: str) -> None:
    assert Text(text, "zh_Hans").format_html(x=value) == told
    assert Text(text, "de").format_html(x=value) == text.format(x=value)


def test_a_long_html_text_is_filled_in_quickly() -> None:
    begun = time.process_time()
    Text("由 {x} 和 {y} 写下", "zh_Hans").format_html(x=" " * 100_000 + "<b>" * 20_000, y=" " * 100_000)
    assert time.process_time() - begun < 1


def test_sentences_are_joined_as_the_language_does() -> None:
    told = {}
    for language in ("en", "de", "zh_Hans"):
        with speaking(language):
            told[language] = join_sentences(
                [phrases.CONFIG_RELOADED, "", phrases.CONFIG_SAME, "It failed.", "OK."]
            )
    assert told == {
        "en": "Settings reloaded. Nothing has changed. It failed. OK.",
        "de": "Einstellungen neu geladen. Es hat sich nichts geändert. It failed. OK.",
        "zh_Hans": "设置已重新加载。没有变化。It failed. OK.",
    }


def test_what_is_stored_or_for_models_is_english_for_everybody() -> None:
    with speaking("de"):
        for name in english.UNTRANSLATED:
            assert getattr(phrases, name) is getattr(english, name), name


def test_an_unknown_name_is_an_error() -> None:
    with speaking("de"), pytest.raises(AttributeError, match="NO_SUCH_TEXT"):
        _ = phrases.NO_SUCH_TEXT  # type: ignore[attr-defined]


async def test_tasks_and_threads_speak_the_language_of_who_started_them() -> None:
    async def say() -> tuple[str, str]:
        await asyncio.sleep(0)
        return phrases.STOPPED, await asyncio.to_thread(lambda: phrases.STOPPED)

    tasks = []
    for language in ("de", "en", "zh_Hans"):
        with speaking(language):
            tasks.append(asyncio.create_task(say()))
    assert await asyncio.gather(*tasks) == [("Abgebrochen.",) * 2, ("Stopped.",) * 2, ("已停止。",) * 2]
    assert current_language() == "en"


def test_english_loads_no_catalogue() -> None:
    code = (
        "import sys; from bot import phrases; from bot.language.catalogs import load_catalog;"
        "phrases.NOTES.format(count=2); phrases.STOPPED; print(load_catalog.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


@table_test(
    ("code", "language"),
    [
        ("de", "de"),
        ("de-AT", "de"),
        ("DE_de.UTF-8", "de"),
        ("de@euro", "de"),
        ("en-GB", "en"),
        ("zh", "zh_Hans"),
        ("zh-CN", "zh_Hans"),
        ("zh-SG", "zh_Hans"),
        ("zh-Hans-HK", "zh_Hans"),
        ("zh_Hans", "zh_Hans"),
        ("zh-TW", None),
        ("zh-Hant", None),
        ("zh-Hant-CN", None),
        ("fr", None),
        ("C", None),
        ("", None),
        ("deutsch", None),
        ("-", None),
    ],
)
def test_a_code_stands_for_the_closest_language(code: str, language: str | None) -> None:
    assert find_language(code) == language


def test_the_first_code_given_decides_and_an_unknown_one_means_english() -> None:
    assert closest_language("", "de-CH", "zh") == "de"
    assert closest_language("fr", "de") == "en"
    assert closest_language("", "") == "en"
