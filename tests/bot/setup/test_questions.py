"""Questions at a terminal, and their answers by flags."""

from contextlib import closing

import pytest

from bot.language.current import speaking
from bot.setup.errors import InvalidFlag
from bot.setup.questions import AnswerOption, InvalidAnswer, Questions
from tests.fakes.typing_person import TypingPerson

FRUIT = (AnswerOption("apple", "an apple", "a tree"), AnswerOption("plum", "a plum"))


def even(typed: str) -> str:
    if not typed.isdecimal() or int(typed) % 2:
        raise InvalidAnswer("an even number")
    return typed


def test_a_question_is_asked_until_the_answer_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(TypingPerson(("How many", "three"), ("How many", " 4 "))) as person:
        assert Questions({}, person).ask("count", "How many", parse=even) == "4"
    assert capsys.readouterr().out == "  an even number\n"
    with closing(TypingPerson(("How many", ""))) as person:
        assert Questions({}, person).ask("count", "How many", default="2", parse=even) == "2"


def test_an_option_is_its_number_or_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    for typed, name in {"2": "plum", "Plum": "plum", "": "apple"}.items():
        with closing(TypingPerson(("Number", "3"), ("Number", "pear"), ("Number", typed))) as person:
            assert Questions({}, person).choose("", "Which?", FRUIT, default="apple") == name
    assert "  1  an apple  a tree\n   2  a plum\n" in capsys.readouterr().out


def test_yes_and_no_are_asked_for_until_it_is_one_of_them() -> None:
    for typed, answer in {"y": True, "YES": True, "no": False, "": True}.items():
        with closing(TypingPerson(("Sure? [Y/n]", "perhaps"), ("Sure? [Y/n]", typed))) as person:
            assert Questions({}, person).confirm("", "Sure?", default=True) is answer


def test_yes_and_no_are_those_of_the_language_and_english_ones() -> None:
    for language, typed, answer in (
        ("de", "j", True),
        ("de", "Ja", True),
        ("de", "y", True),
        ("de", "nein", False),
        ("zh_Hans", "是", True),
        ("zh_Hans", "n", False),
    ):
        shown = {"de": "Sicher? [J/n]", "zh_Hans": "Sicher? [Y/n]"}[language]
        with speaking(language), closing(TypingPerson((shown, typed))) as person:
            assert Questions({}, person).confirm("", "Sicher?", default=True) is answer
    with closing(TypingPerson(("Sure? [Y/n]", "j"), ("Sure? [Y/n]", "n"))) as person:
        assert not Questions({}, person).confirm("", "Sure?", default=True), "in English, j is no answer"


def test_what_an_option_needs_is_below_each_other_in_chinese_too(capsys: pytest.CaptureFixture[str]) -> None:
    fruit = (AnswerOption("apple", "苹果", "树"), AnswerOption("plum", "plum", "树"))
    with closing(TypingPerson(("Number", "1"))) as person:
        Questions({}, person).choose("", "Which?", fruit, default="apple")
    assert "  1  苹果  树\n   2  plum  树\n" in capsys.readouterr().out


def test_a_flag_answers_once_and_is_not_asked_about() -> None:
    with closing(TypingPerson(("How many", "6"))) as person:
        questions = Questions({"count": "4", "sure": "yes", "fruit": "plum"}, person)
        assert questions.ask("count", "How many", parse=even) == "4"
        assert questions.ask("count", "How many", parse=even) == "6"
        assert questions.confirm("sure", "Sure?", default=False)
        assert questions.choose("fruit", "Which?", FRUIT, default="apple") == "plum"
        assert not questions.has("count", "sure", "fruit")


def test_a_wrong_flag_at_a_terminal_is_told_by_the_names_that_flags_have() -> None:
    with closing(TypingPerson()) as person, pytest.raises(InvalidFlag, match="choose one of apple, plum"):
        Questions({"fruit": "pear"}, person).choose("fruit", "Which?", FRUIT, default="apple")


def test_without_a_terminal_the_defaults_answer_and_wrong_flags_are_told() -> None:
    questions = Questions({"count": "3", "fruit": "pear"})
    with pytest.raises(InvalidFlag, match="--count: an even number"):
        questions.ask("count", "How many", parse=even)
    with pytest.raises(InvalidFlag, match="--fruit: choose one of apple, plum"):
        questions.choose("fruit", "Which?", FRUIT, default="apple")
    assert questions.ask("count", "How many", default="2", parse=even) == "2"
    assert questions.choose("fruit", "Which?", FRUIT, default="plum") == "plum"
    assert not questions.confirm("", "Sure?", default=False)


def test_lines_are_broken_between_words_and_links_never(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    with closing(TypingPerson()) as person:
        questions = Questions({}, person)
        questions.say("  one two three four five\n\nhttps://example.org/a-long-link")
        questions.say("one two three four five", verbatim=True)
    assert capsys.readouterr().out == (
        "  one two three\n  four five\n\nhttps://example.org/a-long-link\none two three four five\n"
    )


def test_what_an_option_needs_goes_on_below_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (AnswerOption("plum", "a plum", "a tree, much sun and some years"),)
    for columns, expected in (
        (32, "   1  a plum  a tree, much sun\n              and some years\n"),
        (20, "   1  a plum  a\n   tree, much sun\n   and some years\n"),
    ):
        monkeypatch.setenv("COLUMNS", str(columns))
        with closing(TypingPerson(("Number", ""))) as person:
            Questions({}, person).choose("", "Which?", options, default="plum")
        assert capsys.readouterr().out == f"Which?\n{expected}"


def test_a_terminal_may_be_narrower_than_any_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for columns in ("1", "2", "0", "nonsense"):
        monkeypatch.setenv("COLUMNS", columns)
        with closing(TypingPerson()) as person:
            Questions({}, person).say("    one two")
        assert capsys.readouterr().out.split() == ["one", "two"]
