"""The notebook reads messages: what is noted and how, what is searched, and that no word of a fact is lost."""

import re
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.models.notebook.language import NOTICE_MARK
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.german import GERMAN
from bot.models.notebook.message_parser import Fact, ParsedMessage, format_fact, parse_message
from tests.fakes.table_test import table_test

CASES = Path(__file__).parent / "cases.txt"


def cases() -> Iterator[tuple[str, str, list[str]]]:
    """Language of the answer, message, and what becomes of it, one line each."""
    language, message, wanted = "", "", list[str]()
    for line in [*CASES.read_text("utf-8").splitlines(), ""]:
        if line.startswith("  "):
            wanted.append(line.strip())
            continue
        if message and wanted:
            yield language, message.replace("\\n", "\n"), wanted
            message, wanted = "", []
        if match := re.fullmatch(r"\[(\w\w)\]", line):
            language = match[1]
        elif not line.startswith("#"):
            message = line


def told(reading: ParsedMessage) -> list[str]:
    lines = [
        f"{'++' if fact.target == 'core' else '+'} "
        + "\\n".join(filter(None, [fact.text, *fact.block.splitlines()]))
        for fact in reading.facts
    ]
    lines += [f"? {query}" for query in reading.queries]
    lines += [f"@ {reminder.request}" for reminder in reading.reminders]
    lines += [f"= {note}" for note in reading.look]
    lines += [f"! {wanted}" for wanted in reading.unsupported]
    return lines or ["…" if reading.unfinished else "-" if reading.chat == "hello" else f"- {reading.chat}"]


@table_test(("language", "message", "wanted"), list(cases()))
def test_message(language: str, message: str, wanted: list[str]) -> None:
    reading = parse_message(message)
    assert told(reading) == wanted
    assert reading.language.code == language


def test_there_are_cases_for_every_language() -> None:
    assert {language for language, _, _ in cases()} == {language.code for language in LANGUAGES}
    assert sum(1 for _ in cases()) > 300


@table_test(
    "message",
    [
        "",
        " ",
        "\n\n",
        "\x00",
        "?!",
        "🎉",
        "👨‍👩‍👧 ❤️",
        "…",
        "```",
        "```\n```",
        "- ",
        "> ",
        "¿?",
        "“”",
        "\u200b",
        "\ud83d",
    ],
)
def test_what_holds_no_word_is_neither_noted_nor_searched(message: str) -> None:
    reading = parse_message(message)
    assert (reading.facts, reading.queries, reading.unfinished) == ((), (), False)


def test_what_answers_the_question_what_to_remember_is_noted() -> None:
    assert parse_message("blue folder", expecting_note=True).facts == (Fact("Blue folder."),)
    assert parse_message("never mind", expecting_note=True).facts == ()
    assert parse_message("Where is it?", expecting_note=True).queries == ("Where is it?",)


def test_a_fact_said_twice_is_noted_once() -> None:
    assert parse_message("Remember that I like tea. I like tea.").facts == (Fact("I like tea."),)


def test_a_decomposed_message_is_read_like_a_composed_one() -> None:
    message = "Merk dir, dass Müllers Tür grün ist"
    assert parse_message(unicodedata.normalize("NFD", message)) == parse_message(message)


def test_a_code_block_stays_with_what_it_belongs_to() -> None:
    message = "Remember how to build:\n```sh\nmake run\n  echo `date`\n```\nIt takes a minute."
    assert parse_message(message).facts == (
        Fact("How to build:", block="```sh\nmake run\n  echo `date`\n```"),
        Fact("It takes a minute."),
    )


def test_a_code_block_in_a_question_is_searched_with_it() -> None:
    assert parse_message("Where did I write this?\n```\nmake run\n```").queries == (
        "Where did I write this? ``` make run ```",
    )


def test_a_list_is_kept_as_it_was_written() -> None:
    message = (
        "Remember about Tom:\n  - he lives in Oslo\n    1. on the third floor\n\n  - he drives a red car"
    )
    assert parse_message(message).facts == (
        Fact("Tom:", block="- he lives in Oslo\n  1. on the third floor\n\n- he drives a red car"),
    )
    assert parse_message("Ideas\n- tea\n- milk\nBye").facts == (
        Fact("Ideas."),
        Fact("", block="- tea\n- milk"),
    )


def test_questions_in_a_list_are_asked() -> None:
    assert parse_message("- Where is Tom?\n- Where is Eva?").queries == ("Where is Tom?", "Where is Eva?")


def test_an_order_in_a_note_of_several_lines_is_noted() -> None:
    message = "Today\nwrite a letter to Eva\ndelete the photos\n"
    assert [fact.text for fact in parse_message(message).facts] == [
        "Today.",
        "Write a letter to Eva.",
        "Delete the photos.",
    ]
    assert parse_message("write a letter", expecting_note=True).facts == (Fact("Write a letter."),)


@table_test(
    "text",
    [
        *("Hej, hur mår du?", "Jeg bor i Oslo og har to katter", "Hvor er passet til Anna?", "Det er fint"),
        *("Waar is mijn paspoort?", "De sleutel ligt in de la", "Hallo, hoe gaat het?", "Ik heet Tom"),
        *("Dzień dobry", "Gdzie jest mój paszport?", "Kde je můj pas?", "Bydlím v Praze na Žižkově"),
        *("Annemin doğum günü 3 Mayıs", "Merhaba, nasılsın?", "Unde este pașaportul meu?"),
        *("Minun passini on laatikossa", "Az útlevelem a fiókban van", "Dia tinggal di Jakarta"),
    ],
)
def test_a_language_without_an_entry_is_answered_in_english(text: str) -> None:
    assert parse_message(text).language.code == "en"


@table_test(
    ("text", "wanted"),
    [
        ("tea", "Tea."),
        ("éclairs are good", "Éclairs are good."),
        ("iPhone broke", "iPhone broke."),
        ("x2 is wide", "x2 is wide."),
        ("µm is a unit", "µm is a unit."),
        ("ßa", "ßa."),
        ("საქართველო", "საქართველო."),
        ("he said “yes.”", "He said “yes.”"),
        ("he said “yes”", "He said “yes”"),
        ("see https://example.org", "See https://example.org"),
        ("mail a@example.org", "Mail a@example.org"),
        ("wifi: hunter2", "Wifi: hunter2"),
        ("the key is hunter2", "The key is hunter2"),
        ("costs 5 €", "Costs 5 €"),
        ("Tom is 7", "Tom is 7"),
        ("tulip-42-harbour", "tulip-42-harbour"),
        ("she is my co-pilot", "She is my co-pilot."),
        ("a mother-in-law", "A mother-in-law"),
        ("the password is tulip", "The password is tulip"),
        ("run: git push", "Run: git push"),
        ("git push --force now", "git push --force now"),
        ("use `make run`", "use `make run`"),
        ("it is in ~/notes", "it is in ~/notes"),
        ("it isn't", "It isn't."),
        ("我用 Python 3", "我用 Python 3"),
        ("密码是abc", "密码是abc"),
        ("it's fun 🎉", "It's fun 🎉"),
        ("so…", "So…"),
        ("我用 Python", "我用 Python。"),
        ("Anna's Chinese name is 安娜", "Anna's Chinese name is 安娜."),
        ("ພາສາລາວ", "ພາສາລາວ"),
        ("a  b\t c", "A b c."),
    ],
)
def test_a_fact_is_written_as_a_person_would(text: str, wanted: str) -> None:
    assert format_fact(text) == wanted


# -- no word is lost -------------------------------------------------------------------------------------


def phrases_of_the_table() -> list[str]:
    fields = [
        name
        for name in GERMAN.__slots__
        if name not in ("code", "say", "script", "foreign", "letters", "spacing", "instead", "weekday_names")
    ]
    listed = [getattr(language, name) for language in LANGUAGES for name in fields]
    phrases = [phrase for each in listed if isinstance(each, tuple) for phrase in each]
    groups = [phrase for group in phrases if isinstance(group, tuple) for phrase in group]
    return sorted({*groups, *(phrase for phrase in phrases if isinstance(phrase, str))})


PHRASES = phrases_of_the_table()
WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """In capitals, since the first letter of a fact may have become one."""
    return WORD.findall(unicodedata.normalize("NFC", text).replace("’", "'").upper())


KNOWN = {word for phrase in PHRASES for word in words_of(phrase)}
KNOWN_LETTERS = {letter for word in KNOWN for letter in word if letter > "\u0e00"}

LIKELY = st.one_of(
    st.sampled_from(PHRASES),
    st.sampled_from(
        [
            "Anna",
            "passport",
            "blau",
            "Köln",
            "护照",
            "アンナ",
            "4711",
            "iPhone",
            "Dr.",
            "über",
            "https://a.b/?q=1",
        ]
    ),
    st.sampled_from(
        [
            ",",
            ".",
            "?",
            ":",
            "!",
            "\n",
            "\n- ",
            "“",
            "”",
            "(",
            ")",
            "'",
            '"',
            "—",
            "🎉",
            "。",
            "，",
            "؟",
            " ",
            "`",
        ]
    ),
    st.text(max_size=12),
)


def assert_no_word_is_lost(message: str) -> None:
    reading = parse_message(message)
    if not reading.facts:
        return
    kept = " ".join([*(f"{fact.text} {fact.block}" for fact in reading.facts), *reading.queries])
    words = set(words_of(kept))
    letters = set(kept.upper())
    for word in words_of(message):
        if word in words or word in KNOWN:
            continue
        # Where no spaces stand between words, a command's letters go and the rest of the run stays.
        lost = [letter for letter in word if letter not in letters and letter not in KNOWN_LETTERS]
        assert not lost, f"{word!r} of {message!r} is not in {kept!r}"
        assert any(letter > "\u0e00" for letter in word), f"{word!r} of {message!r} is not in {kept!r}"


@given(st.lists(LIKELY, max_size=14), st.sampled_from(["", " "]))
@example(["remember", "that", "Anna"], " ")
@example(["remember", "ıs"], " ")
def test_no_word_outside_a_recognised_phrase_is_lost(parts: list[str], glue: str) -> None:
    message = glue.join(parts)
    if not re.search(
        r"(?m)^\s*(\d+[.)]|`{3}|~{3})", message
    ):  # the number of a list's item is a mark, not a word
        assert_no_word_is_lost(message)


@given(st.text(max_size=200))
def test_any_text_can_be_read(message: str) -> None:
    reading = parse_message(message)
    assert all(fact.text == " ".join(fact.text.split()) for fact in reading.facts)
    assert all((fact.text + fact.block).strip() for fact in reading.facts)
    assert all(query.strip() for query in reading.queries)


@given(st.sampled_from(PHRASES), st.sampled_from(PHRASES), st.sampled_from(["", "?", ".", ":"]))
def test_commands_alone_can_be_read(one: str, other: str, mark: str) -> None:
    parse_message(f"{one} {other}{mark}")
    parse_message(f"{other}{one}{mark}")


UNITS = [
    *(
        "word ",
        "a",
        ".",
        "!?",
        "I live in Oslo. ",
        "Where is it? ",
        "a line\n",
        "- item\n",
        "1. item\n",
        "(",
        '"',
        "“",
    ),
    *(
        "`",
        "```\n",
        " ",
        "\n",
        "🎉",
        "我住在奥斯陆。",
        "的",
        "と覚えておいて",
        "จำไว้",
        "please ",
        "remember ",
        "hi,",
        ",",
        ":",
    ),
    *("&amp;", "'", "e\u0301", "\u200d", "기억해 ", "*", "> ", ";α", "https://a.b/?q=1 ", "没什么", "\u0e34"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("unit", UNITS)
def test_a_very_long_message_is_read_in_no_time(unit: str) -> None:
    message = unit * (100_000 // len(unit))
    start = time.thread_time()
    parse_message(message)
    assert time.thread_time() - start < 3  # measured: 0.25 s at most


def test_nothing_of_a_very_long_text_is_left_out() -> None:
    lines = [f"Fact {number} is that box {number} holds {number} stones." for number in range(1000)]
    for glue in ("\n", " "):
        facts = [fact.text for fact in parse_message("Remember: " + glue.join(lines)).facts]
        assert facts == lines


# -- the table -------------------------------------------------------------------------------------------


@table_test("language", LANGUAGES)
def test_an_entry_of_the_table_is_whole(language: object) -> None:
    entry = next(each for each in LANGUAGES if each is language)
    say = entry.say
    assert say.noted.format(places=say.place.format(path="a.md", line=3)).count("a.md") == 1
    assert "3-5" in say.lines.format(path="a.md", lines="3-5")
    assert "broken" in say.not_noted.format(error="broken")
    assert "broken" in say.not_found.format(error="broken")
    assert NOTICE_MARK in say.notice
    assert all(getattr(say, name).strip() for name in say._fields if name != "refused")
    assert entry.script or entry.hints
    for name in set(entry.__slots__) - {"say", "instead", "weekday_names"}:
        listed = getattr(entry, name)
        if isinstance(listed, tuple):
            groups = listed if name == "paraphrases" else (listed,)
            assert all(
                phrase == phrase.strip().lower() and "’" not in phrase for group in groups for phrase in group
            ), name
    corrected = say.corrected.format(place="PLACE", old="OLD", new="NEW")
    assert all(each in corrected for each in ("PLACE", "OLD", "NEW"))
    assert any(each in corrected for each in entry.undo), "it says how to take that back"
    assert any(each in say.removed.format(place="", old="") for each in entry.undo)
    assert all(each.count("…") == 1 for each in entry.on_day)
    assert set(entry.recall) <= set(entry.remember)
    assert set(entry.conjunctions) <= set(entry.ask_first)


@table_test("language", LANGUAGES)
def test_every_command_of_the_table_is_understood(language: object) -> None:
    entry = next(each for each in LANGUAGES if each is language)
    fact = {
        "zh": "护照放蓝色文件夹",
        "ja": "鍵は青い箱",
        "th": "กุญแจอยู่ที่บ้าน",
        "ko": "열쇠는 민수 집",
        "hi": "चाबी मेज़ पर",
        "ar": "المفتاح عند توم",
    }
    text = fact.get(entry.code, "xylo Zephyr")
    for command in (*entry.remember, *entry.never_forget):
        facts = parse_message(f"{command.rstrip(':：、')}: {text}").facts
        assert [each.text[1:].rstrip(".。।") for each in facts] == [text[1:]], command


@table_test(("text", "code"), [("deshacer", "es"), ("annule", "fr"), ("annulla", "it")])
def test_undo_alone_is_read_in_its_own_language(text: str, code: str) -> None:
    reading = parse_message(text)
    assert reading.unsupported == ("undo",)
    assert reading.language.code == code
