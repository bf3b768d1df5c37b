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
from tests.fakes.stable_day import stable_day
from tests.fakes.table_test import first_at_once


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    here = CommonplaceHere(tmp_path)
    here.environment["COMMONPLACE_TIMEZONE"] = "UTC"
    return here


def said(commonplace: Commonplace, *lines: str) -> list[str]:
    return [commonplace.output_of("chat", "-m", line) for line in lines]


@pytest.mark.parametrize(
    ("line", "text"),
    first_at_once(
        [
            ("remind me to call Tom tomorrow at 10", "call Tom"),
            ("Erinnere mich morgen um 10 an den Zahnarzt", "Zahnarzt"),
            ("明天10点提醒我给汤姆打电话", "给汤姆打电话"),
        ]
    ),
)
def test_a_reminder_in_ones_own_words_is_set_like_one_by_command(
    commonplace: Commonplace, line: str, text: str
) -> None:
    stable_day()
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
    stable_day()
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
    assert NOTICE_MARK in commonplace.output_of("chat", "--session", "other", "-m", "hi")


def test_what_it_knows_is_shown_from_the_notes(commonplace: Commonplace) -> None:
    stable_day()
    said(commonplace, "Never forget that I am allergic to nuts", "We moved to Oslo.", "不对，是卑尔根")
    about_me, today = said(commonplace, "what do you know about me?", "what happened today?")
    assert "- I am allergic to nuts." in about_me
    assert "- We moved to Oslo." in today
    assert "- 不对，是卑尔根。" in today


@pytest.mark.parametrize(
    ("told", "corrected", "asked", "right", "wrong"),
    first_at_once(
        [
            (
                "Maya's birthday is May 3rd",
                "no, it is May 4th",
                "When is Maya's birthday?",
                "May 4th",
                "May 3rd",
            ),
            ("Tom wohnt in Bonn.", "ich meinte Köln", "Wo wohnt Tom?", "Köln", "Bonn"),
            ("玛雅的生日是五月三日", "不对，是五月四日", "玛雅的生日是什么时候？", "五月四日", "五月三日"),
        ]
    ),
)
def test_a_correction_replaces_what_was_noted_last(
    commonplace: Commonplace, told: str, corrected: str, asked: str, right: str, wrong: str
) -> None:
    _, answer, found = said(commonplace, told, corrected, asked)
    assert right in answer, "it says what stands there now"
    assert wrong in answer, "and what stood there"
    assert right in found
    assert wrong not in found
    (note,) = commonplace.memory.glob("*.md")
    assert wrong not in note.read_text("utf-8")


def test_a_correction_is_taken_back_and_that_is_the_line_just_spoken_of(commonplace: Commonplace) -> None:
    stable_day()
    said(commonplace, "We have a cat.", "Maya's birthday is May 3rd", "no, it is May 4th")
    place = r"`[\d-]+\.md:4"
    assert re.search(f"/correct {place[1:]} TEXT`", said(commonplace, "that is wrong")[0])
    (back,) = said(commonplace, "undo")
    assert "“Maya's birthday is May 3rd” instead of “Maya's birthday is May 4th”" in back
    (found,) = said(commonplace, "When is Maya's birthday?")
    assert re.search(f"May 3rd {place}`", found)
    assert "May 4th" in said(commonplace, "No, it's May 4th")[0], "what was found is corrected as well"


def test_what_was_noted_last_is_forgotten_by_a_word_and_comes_back_by_another(
    commonplace: Commonplace,
) -> None:
    _, gone, nothing, other = said(
        commonplace, "The plumber comes on Friday.", "forget that", "When does the plumber come?", "undo"
    )
    assert "Removed from" in gone
    assert "The plumber comes on Friday" in gone
    assert "I found nothing" in nothing
    assert re.match(r"Back in `[\d-]+\.md`, line 3: “The plumber comes on Friday”", other)
    assert "The plumber comes on Friday" in said(commonplace, "When does the plumber come?")[0]
    shown, asked = said(commonplace, "When does the plumber come?", "forget that")
    assert "The plumber comes on Friday" in shown
    assert "`/forget The plumber comes on Friday`" in asked, (
        "an older note goes by the command, which asks first"
    )


def test_a_correction_of_nothing_is_noted_as_it_was_said(commonplace: Commonplace) -> None:
    (answer,) = said(commonplace, "no, it is May 4th")
    assert "Noted in" in answer


@pytest.mark.parametrize(
    ("reminder", "text", "which", "tomorrow"),
    first_at_once(
        [
            (
                "remind me tomorrow at 10 to call Tom",
                "call Tom",
                "What are my reminders?",
                "What's on tomorrow?",
            ),
            (
                "Erinnere mich morgen um 10 an Tom",
                "Tom",
                "Welche Erinnerungen habe ich?",
                "Was steht morgen an?",
            ),
            ("明天10点提醒我给汤姆打电话", "给汤姆打电话", "我有哪些提醒？", "明天有什么安排？"),
        ]
    ),
)
def test_reminders_are_listed_and_what_is_on_a_day(
    commonplace: Commonplace, reminder: str, text: str, which: str, tomorrow: str
) -> None:
    stable_day()
    none, nothing = said(commonplace, which, tomorrow)
    assert text not in none + nothing
    said(commonplace, reminder, "Lunch with Eva tomorrow at noon", "We have a cat.")
    listed, day = said(commonplace, which, tomorrow)
    assert re.search(rf"^- \*\*1\*\*: .*10:00: {text}$", listed, re.MULTILINE)
    assert "/reminders cancel 1" in listed
    assert re.search(rf"^- 10:00: {text}$", day, re.MULTILINE)
    assert "- Lunch with Eva tomorrow at noon. `" in day
    assert "cat" not in day


@pytest.mark.parametrize(
    ("reminder", "later", "cancel", "undo", "gone"),
    first_at_once(
        [
            (
                "remind me tomorrow at 6pm to call Tom",
                "no, at 7pm",
                "cancel that",
                "undo",
                "Cancelled reminder",
            ),
            (
                "Erinnere mich morgen um 18 Uhr an Tom",
                "nein, um 19 Uhr",
                "lösch das",
                "rückgängig",
                "gestrichen",
            ),
            ("Rappelle-moi demain à 18h d'appeler Tom", "non, à 19h", "efface ça", "annule", "annulé"),
            (
                "Recuérdame mañana a las 18 llamar a Tom",
                "no, a las 19",
                "cancela eso",
                "deshacer",
                "cancelado",
            ),
            ("明天18点提醒我给汤姆打电话", "不对，19点", "取消这个", "撤销", "已取消提醒"),
        ]
    ),
)
def test_the_reminder_just_set_is_moved_cancelled_and_set_again(
    commonplace: Commonplace, reminder: str, later: str, cancel: str, undo: str, gone: str
) -> None:
    stable_day()
    _, moved, once = said(commonplace, reminder, later, "/reminders")
    assert "19:00" in moved
    assert len(re.findall("at 19:00", once)) == 1
    assert "18:00" not in once
    cancelled, none, again, back = said(commonplace, cancel, "/reminders", undo, "/reminders")
    assert gone in cancelled
    assert "19:00" not in none
    assert "19:00" in again
    assert len(re.findall("at 19:00", back)) == 1
    assert list(commonplace.memory.glob("*.md")) == [], "none of it is a note"


@pytest.mark.thorough
def test_undo_means_what_was_noted_in_the_last_turn_or_two(commonplace: Commonplace) -> None:
    stable_day()
    (nothing,) = said(commonplace, "undo")
    assert nothing.startswith(ENGLISH.say.nothing_to_undo)
    _, _, gone = said(commonplace, "We have a cat. Her name is Minka.", "thanks", "undo")
    assert re.match("Removed from .*“We have a cat; Her name is Minka”", gone)
    assert "Back in" in said(commonplace, "undo")[0]
    *_, late = said(commonplace, "danke", "hallo", "danke", "rückgängig")
    assert "`/undo`" in late
    (note,) = commonplace.memory.glob("*.md")
    assert note.read_text("utf-8").endswith("- We have a cat.\n- Her name is Minka.\n")


@pytest.mark.thorough
def test_of_two_lines_that_read_the_same_the_one_just_noted_is_changed(commonplace: Commonplace) -> None:
    stable_day()
    said(commonplace, "Tom likes tea.", "Eva likes tea.", "Tom likes tea.", "no, coffee")
    (note,) = commonplace.memory.glob("*.md")
    assert note.read_text("utf-8").endswith("- Tom likes tea.\n- Eva likes tea.\n- Tom likes coffee.\n")
    said(commonplace, "undo", "Tom likes tea.", "forget that")
    assert note.read_text("utf-8").endswith("- Tom likes tea.\n- Eva likes tea.\n- Tom likes tea.\n")


def test_where_it_is_not_plain_what_to_correct_the_sentence_is_asked_for(commonplace: Commonplace) -> None:
    _, asked, corrected = said(commonplace, "I like green tea.", "no, coffee", "I like black coffee")
    assert asked.startswith("Which words should I change? The line says “I like green tea”.")
    assert "now says “I like black coffee” instead of “I like green tea”" in corrected
    (note,) = commonplace.memory.glob("*.md")
    assert note.read_text("utf-8").endswith("\n- I like black coffee.\n")
    assert note.read_text("utf-8").count("\n- ") == 1


def test_what_happened_today_is_no_request_for_a_reminder(commonplace: Commonplace) -> None:
    stable_day()
    said(commonplace, "remind me to buy milk", "We have a cat.")
    (today,) = said(commonplace, "What happened today?")
    assert "- We have a cat." in today
    assert "milk" not in today


@pytest.mark.parametrize(
    ("question", "nothing"),
    first_at_once(
        [
            ("What is on today?", "I have no reminders or notes for today."),
            ("Was steht heute an?", "Für heute habe ich keine Erinnerungen und keine Notizen."),
        ]
    ),
)
def test_what_is_on_today_is_what_is_about_today(
    commonplace: Commonplace, question: str, nothing: str
) -> None:
    stable_day()
    _, asked, _, again = said(
        commonplace, "We have a cat.", question, "Dinner with Eva tonight at 11:59 pm", question
    )
    assert asked.strip() == nothing
    assert "- Dinner with Eva tonight at 11:59 pm" in again
    assert "cat" not in again


@pytest.mark.parametrize(
    ("told", "asked", "answer"),
    first_at_once(
        [
            ("I am called Sam", "What is my name?", "I am called Sam."),
            ("Call me Sam please", "What is my name?", "Call me Sam please."),
            ("My name is Sam", "What am I called?", "My name is Sam."),
            ("We moved to Oslo.", "Where do I live?", "We moved to Oslo."),
            ("I was born on May 3rd 1980", "When is my birthday?", "I was born on May 3rd 1980"),
            ("Ich heiße Sam", "Wie ist mein Name?", "Ich heiße Sam."),
            ("Je m'appelle Sam", "Quel est mon nom ?", "Je m'appelle Sam."),
            ("Me llamo Sam", "¿Cuál es mi nombre?", "Me llamo Sam."),
            ("Меня зовут Саша", "Как моё имя?", "Меня зовут Саша."),
            ("我叫山姆", "我的名字是什么？", "我叫山姆。"),
            ("اسمي سام", "ما اسمي؟", "اسمي سام."),
        ]
    ),
)
def test_a_question_about_oneself_finds_what_was_told_in_other_words(
    commonplace: Commonplace, told: str, asked: str, answer: str
) -> None:
    *_, found = said(commonplace, "The ship's name is Anna, and Tom calls it old.", told, asked)
    assert [line.rsplit(" `", 1)[0] for line in found.splitlines() if line.startswith("- ")] == [
        f"- {answer}"
    ]


def test_a_question_about_more_than_that_is_searched_as_it_is(commonplace: Commonplace) -> None:
    said(commonplace, "I was born on May 3rd 1980", "My birthday party is at Tom's place.")
    (found,) = said(commonplace, "Where is my birthday party?")
    assert found.splitlines()[2].startswith("- My birthday party is at Tom's place.")


def test_an_article_makes_no_answer_less_sure(commonplace: Commonplace) -> None:
    _, found = said(commonplace, "Merk dir: Schlüssel bei Tom", "such den Schlüssel")
    assert found.startswith("Aus deinen Notizen:\n\n- Schlüssel bei Tom")


def test_a_note_with_headings_stands_there_as_it_was_written(commonplace: Commonplace) -> None:
    said(commonplace, "# Party\n\nwhere is the cake?\n\n- 20 balloons")
    (note,) = commonplace.memory.glob("*.md")
    assert note.read_text("utf-8").endswith("# Party\n\nwhere is the cake?\n\n- 20 balloons\n")


@pytest.mark.thorough
@pytest.mark.parametrize("milliseconds", [0, 5, 10, 20, 40, 80, 160])
def test_a_reminder_is_set_once_however_the_process_is_killed(tmp_path: Path, milliseconds: int) -> None:
    commonplace, state = Commonplace(tmp_path), tmp_path / "workspace/.commonplace/state.db"
    commonplace.environment["COMMONPLACE_SERVER__ENABLED"] = "false"
    commonplace.output_of("chat", "-m", "hi")
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
    deadline = time.monotonic() + 60  # on a busy machine a turn may outlast the time that it has at the end
    while not (times := said(commonplace, "/reminders")[0].count("call Tom")):
        assert time.monotonic() < deadline
    assert times == 1


def _wait_until_accepted(state: Path) -> None:
    db = apsw.Connection(str(state), flags=apsw.SQLITE_OPEN_READONLY)
    db.set_busy_timeout(1000)
    deadline = time.monotonic() + 20
    while not db.execute("SELECT count(*) FROM inbox WHERE payload LIKE '%call Tom%'").get:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    db.close()
