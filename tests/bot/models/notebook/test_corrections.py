"""What a correction makes of the statement before it."""

import pytest

from bot.models.notebook.corrections import corrected, read_correction
from bot.models.notebook.languages import LANGUAGES

BY_CODE = {language.code: language for language in LANGUAGES}
BIRTHDAY = "Maya's birthday is May 3rd"


def told(code: str, old: str, said: str) -> str | None:
    correction = read_correction(said, BY_CODE[code])
    return corrected(old, correction, BY_CODE[code]) if correction else None


@pytest.mark.parametrize(
    "said",
    [
        "no, it is May 4th",
        "no it's May 4th",
        "No. It is May 4th.",
        "sorry, I meant May 4th",
        "actually it's May 4th",
        "it's May 4th, sorry",
        "oh no, May 4th",
        "that's wrong, it's May 4th",
        "That's wrong. It should be May 4th",
        "change that to May 4th",
        "no, Maya's birthday is May 4th",
        "no, remember that Maya's birthday is May 4th",
    ],
)
def test_a_correction_takes_the_place_of_what_it_corrects(said: str) -> None:
    new = told("en", BIRTHDAY, said)
    assert new
    assert new.rstrip(".") == "Maya's birthday is May 4th"


@pytest.mark.parametrize(
    ("code", "old", "said", "new"),
    [
        ("de", "Mayas Geburtstag ist am 3. Mai.", "nein, am 4. Mai", "Mayas Geburtstag ist am 4. Mai."),
        ("de", "Mayas Geburtstag ist am 3. Mai.", "ich meinte den 4. Mai", "Mayas Geburtstag ist am 4. Mai."),
        ("de", "Ich wohne in Köln.", "Entschuldigung, ich meinte Bonn", "Ich wohne in Bonn."),
        ("fr", "L'anniversaire de Maya est le 3 mai.", "non, c'est le 4 mai", "L'anniversaire de Maya est le 4 mai."),
        ("fr", "J'habite à Lyon.", "pardon, à Paris", "J'habite à Paris."),
        ("es", "El cumpleaños de Maya es el 3 de mayo.", "perdón, quise decir el 4 de mayo",
         "El cumpleaños de Maya es el 4 de mayo."),
        ("pt", "O aniversário da Maya é 3 de maio.", "não, é 4 de maio", "O aniversário da Maya é 4 de maio."),
        ("it", "Il compleanno di Maya è il 3 maggio.", "no, è il 4 maggio", "Il compleanno di Maya è il 4 maggio."),
        ("ru", "День рождения Маши 3 мая.", "извини, я имел в виду 4 мая", "День рождения Маши 4 мая."),
        ("zh", "玛雅的生日是五月三日。", "不对，是五月四日", "玛雅的生日是五月四日。"),
        ("zh", "我住在北京。", "不，在上海", "我住在上海。"),
        ("ja", "マヤの誕生日は5月3日です。", "いいえ、5月4日です", "マヤの誕生日は5月4日です。"),
        ("ko", "마야의 생일은 5월 3일이야", "아니, 5월 4일이야", "마야의 생일은 5월 4일이야"),
        ("th", "วันเกิดมายาคือวันที่ 3 พฤษภาคม", "ไม่ใช่ วันที่ 4 พฤษภาคม", "วันเกิดมายาคือวันที่ 4 พฤษภาคม"),
        ("hi", "माया का जन्मदिन 3 मई को है।", "नहीं, 4 मई को है", "माया का जन्मदिन 4 मई को है।"),
        ("ar", "عيد ميلاد مايا هو 3 مايو.", "لا، هو 4 مايو", "عيد ميلاد مايا هو 4 مايو."),
    ],
)  # fmt: skip
def test_in_every_language(code: str, old: str, said: str, new: str) -> None:
    assert told(code, old, said) == new


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("The dentist is on Friday at 3.", "no, at 4", "The dentist is on Friday at 4"),
        ("The dentist is on Friday at 3.", "no, on Thursday", "The dentist is on Thursday at 3"),
        ("The key is under the mat.", "sorry, I meant the stone", "The key is under the stone."),
        ("My number is 555 1234.", "oops, 555 1235", "My number is 555 1235"),
        ("Anna lives in London.", "no, she lives in Paris", "Anna lives in Paris."),
        ("We moved to Oslo.", "no, Bergen", "We moved to Bergen."),
        ("I have 2 cats.", "actually 3", "I have 3 cats."),
        ("I like fish.", "no, I like tea", "I like tea."),
        ("Maya is 7 and Leo is 4.", "no, Leo is 5", "Maya is 7 and Leo is 5"),
    ],
)
def test_what_stays_true_stays(old: str, said: str, new: str) -> None:
    assert told("en", old, said) == new


@pytest.mark.parametrize(
    ("old", "said"),
    [("Anna lives in London.", "no, she moved to Paris"), ("I like green tea.", "I meant coffee")],
)
def test_where_it_is_not_plain_what_gives_way_both_stand_in_the_line(old: str, said: str) -> None:
    new = told("en", old, said)
    assert new
    assert old in new
    assert said.casefold() in new.casefold()


@pytest.mark.parametrize(
    "said",
    [
        "no",
        "no thanks",
        "no, thank you",
        "no milk today",
        "No, what is Tom's?",
        "no, remind me tomorrow at 9",
        "no, that is wrong",
        "actually, Maya likes tea",
        "no, Maya doesn't like cake",
        "no, we live in Bergen",
        "Maya's birthday is May 4th",
        "it is May 4th",
        "No, it is May 4th. And Tom's is in June.",
        "no,\nit is May 4th",
    ],
)
def test_what_tells_something_else_corrects_nothing(said: str) -> None:
    assert told("en", BIRTHDAY, said) is None


def test_a_statement_about_a_part_of_it_does_not_replace_the_whole() -> None:
    assert told("en", "I have two kids, Maya and Leo.", "no, Leo is 5") is None


def test_spanish_no_es_denies_a_fact_and_is_no_correction() -> None:
    assert told("es", "La llave es azul.", "no es azul") is None
