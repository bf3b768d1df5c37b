"""What somebody says in the first hour, without any language model, through the whole program."""

import re
import subprocess
import time
from pathlib import Path

import apsw
import pytest

from bot.models.notebook.language import NOTICE_MARK
from bot.models.notebook.languages.english import ENGLISH
from tests.fakes.commonplace import Commonplace, CommonplaceHere
from tests.fakes.one_day import day_that_lasts


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    here = CommonplaceHere(tmp_path)
    here.environment["COMMONPLACE_TIMEZONE"] = "UTC"
    return here


def said(commonplace: Commonplace, *lines: str) -> list[str]:
    return [commonplace.says("chat", "-m", line) for line in lines]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("remind me to call Tom tomorrow at 10", "call Tom"),
        ("Erinnere mich morgen um 10 an den Zahnarzt", "Zahnarzt"),
        ("明天10点提醒我给汤姆打电话", "给汤姆打电话"),
    ],
)
def test_a_reminder_in_ones_own_words_is_set_like_one_by_command(
    commonplace: Commonplace, line: str, text: str
) -> None:
    day_that_lasts()
    (answer,) = said(commonplace, line)
    assert text in answer
    assert "10:00" in answer
    (listed,) = said(commonplace, "/reminders")
    assert re.search(rf"at 10:00: {text}$", listed, re.MULTILINE)
    assert list(commonplace.memory.glob("*.md")) == [], "it is no note"


def test_a_reminder_without_a_moment_is_completed_by_the_next_message_that_is_one(
    commonplace: Commonplace,
) -> None:
    asked, _, answer = said(
        commonplace, "remind me to call Tom", "what is Tom's number?", "tomorrow at 9:00 pm"
    )
    assert "When should I remind you?" in asked
    assert "call Tom" in answer
    assert "at 21:00: call Tom" in said(commonplace, "/reminders")[0]


def test_a_refused_reminder_is_no_note(commonplace: Commonplace) -> None:
    day_that_lasts()
    refused, today = said(
        commonplace, "remind me every 29th of February at 25:00 to call Tom", "what happened today?"
    )
    assert "25:00 isn't a valid time" in refused
    assert "Noted" not in refused
    assert today.strip() == ENGLISH.say.today_nothing
    assert list(commonplace.memory.glob("*.md")) == []


def test_that_no_model_answers_is_told_once_in_a_chat_for_ever(commonplace: Commonplace) -> None:
    answers = said(commonplace, "hi", "hola", "/new", "hi", "I live in Oslo now.")
    assert [NOTICE_MARK in answer for answer in answers] == [True, False, False, False, False]
    assert NOTICE_MARK in commonplace.says("chat", "--session", "other", "-m", "hi")


def test_what_it_knows_is_shown_from_the_notes(commonplace: Commonplace) -> None:
    day_that_lasts()
    said(commonplace, "Never forget that I am allergic to nuts", "We moved to Oslo.", "不对，是卑尔根")
    about_me, today = said(commonplace, "what do you know about me?", "what happened today?")
    assert "- I am allergic to nuts." in about_me
    assert "- We moved to Oslo." in today
    assert "- 不对，是卑尔根。" in today


def test_a_note_with_headings_stands_there_as_it_was_written(commonplace: Commonplace) -> None:
    said(commonplace, "# Party\n\nwhere is the cake?\n\n- 20 balloons")
    (note,) = commonplace.memory.glob("*.md")
    assert note.read_text("utf-8").endswith("# Party\n\nwhere is the cake?\n\n- 20 balloons\n")


@pytest.mark.thorough
@pytest.mark.parametrize("milliseconds", [0, 5, 10, 20, 40, 80, 160])
def test_a_reminder_is_set_once_however_the_process_is_killed(tmp_path: Path, milliseconds: int) -> None:
    commonplace, state = Commonplace(tmp_path), tmp_path / "workspace/.commonplace/state.db"
    commonplace.environment["COMMONPLACE_SERVER__ENABLED"] = "false"
    commonplace.says("chat", "-m", "hi")
    with commonplace.start("run", stdin=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("hello\n")
        process.stdin.flush()
        assert process.stdout.readline(), "it is up"
        process.stdin.write("remind me tomorrow at 9 to call Tom\n")
        process.stdin.flush()
        _wait_until_accepted(state)
        time.sleep(milliseconds / 1000)  # somewhere in the turn, or behind it
        process.kill()
    answered = commonplace("run", stdin="")
    assert answered.returncode == 0
    assert said(commonplace, "/reminders")[0].count("call Tom") == 1


def _wait_until_accepted(state: Path) -> None:
    db = apsw.Connection(str(state), flags=apsw.SQLITE_OPEN_READONLY)
    db.set_busy_timeout(1000)
    deadline = time.monotonic() + 20
    while not db.execute("SELECT count(*) FROM inbox WHERE payload LIKE '%call Tom%'").get:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    db.close()
