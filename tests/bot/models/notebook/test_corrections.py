"""What a correction makes of the statement before it."""

from bot.models.notebook.corrections import UNSURE, apply_correction, read_correction
from bot.models.notebook.languages import LANGUAGES
from tests.fakes.table_test import table_test

BY_CODE = {language.code: language for language in LANGUAGES}
BIRTHDAY = "Maya's birthday is May 3rd"


def told(code: str, old: str, said: str) -> str | None:
    correction = read_correction(said, BY_CODE[code])
    return apply_correction(old, correction, BY_CODE[code]) if correction else None


@table_test(
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


@table_test(
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
        ("fr", "Le rendez-vous est jeudi à 11h.", "non, vendredi", "Le rendez-vous est vendredi à 11h."),
        ("es", "La cita es el jueves a las 10.", "no, viernes", "La cita es el viernes a las 10."),
        ("zh", "会议是星期四10点", "不对，11点", "会议是星期四11点。"),
        ("zh", "会议是星期四10点", "不，星期五", "会议是星期五10点。"),
        ("ja", "マヤの誕生日は5月3日です。", "いいえ、5月4日です", "マヤの誕生日は5月4日です。"),
        ("ko", "마야의 생일은 5월 3일이야", "아니, 5월 4일이야", "마야의 생일은 5월 4일이야"),
        ("th", "วันเกิดมายาคือวันที่ 3 พฤษภาคม", "ไม่ใช่ วันที่ 4 พฤษภาคม", "วันเกิดมายาคือวันที่ 4 พฤษภาคม"),
        ("hi", "माया का जन्मदिन 3 मई को है।", "नहीं, 4 मई को है", "माया का जन्मदिन 4 मई को है।"),
        ("ar", "عيد ميلاد مايا هو 3 مايو.", "لا، هو 4 مايو", "عيد ميلاد مايا هو 4 مايو."),
    ],
)  # fmt: skip
def test_in_every_language(code: str, old: str, said: str, new: str) -> None:
    assert told(code, old, said) == new


@table_test(
    ("old", "said", "new"),
    [
        ("The dentist is on Friday at 3.", "no, at 4", "The dentist is on Friday at 4."),
        ("The dentist is on Friday at 3.", "no, on Thursday", "The dentist is on Thursday at 3."),
        ("The key is under the mat.", "sorry, I meant the stone", "The key is under the stone."),
        ("The key is in the kitchen.", "no, the bathroom", "The key is in the bathroom."),
        ("My sister lives in Oslo.", "no, my brother", "My brother lives in Oslo."),
        ("My number is 555 1234.", "oops, 555 1235", "My number is 555 1235."),
        ("Anna lives in London.", "no, she lives in Paris", "Anna lives in Paris."),
        ("We moved to Oslo.", "no, Bergen", "We moved to Bergen."),
        ("I have 2 cats.", "actually 3", "I have 3 cats."),
        ("I like fish.", "no, I like tea", "I like tea."),
        ("Maya is 7 and Leo is 4.", "no, Leo is 5", "Maya is 7 and Leo is 5."),
    ],
)
def test_what_stays_true_stays(old: str, said: str, new: str) -> None:
    assert told("en", old, said) == new


PEANUTS = "I'm allergic to peanuts."


@table_test(
    "said",
    [
        "no, it is walnuts",
        "no, walnuts",
        "no, to walnuts",
        "no, not peanuts, walnuts",
        "not peanuts, walnuts",
        "no, not peanuts but walnuts",
        "No, it's not peanuts, it's walnuts!",
        "it isn't peanuts, it's walnuts",
        "walnuts, not peanuts",
        "no, walnuts instead of peanuts",
        "I meant walnuts",
    ],
)
def test_one_noun_takes_the_place_of_another(said: str) -> None:
    assert told("en", PEANUTS, said) == "I'm allergic to walnuts."


@table_test(
    ("code", "old", "said", "new"),
    [
        ("de", "Ich bin allergisch gegen Erdnüsse.", "nein, Walnüsse", "Ich bin allergisch gegen Walnüsse."),
        ("de", "Ich bin allergisch gegen Erdnüsse.", "nein, nicht gegen Erdnüsse, sondern gegen Walnüsse",
         "Ich bin allergisch gegen Walnüsse."),
        ("fr", "Je suis allergique aux arachides.", "non, les noix", "Je suis allergique aux noix."),
        ("fr", "Je suis allergique aux arachides.", "non, pas aux arachides, aux noix", "Je suis allergique aux noix."),
        ("es", "Soy alérgico a los cacahuetes.", "no, no a los cacahuetes, sino a las nueces",
         "Soy alérgico a las nueces."),
        ("pt", "Sou alérgico a amendoim.", "não, não amendoim, nozes", "Sou alérgico a nozes."),
        ("it", "Sono allergico alle arachidi.", "no, non alle arachidi, alle noci", "Sono allergico alle noci."),
        ("ru", "У меня аллергия на арахис.", "нет, не на арахис, а на орехи", "У меня аллергия на орехи."),
        ("zh", "我对花生过敏。", "不对，不是花生，是核桃", "我对核桃过敏。"),
        ("ja", "私はピーナッツアレルギーです。", "ピーナッツではなくて、くるみです", "私はくるみアレルギーです。"),
        ("ko", "나는 땅콩 알레르기가 있어.", "아니, 땅콩이 아니라 호두야", "나는 호두 알레르기가 있어."),
        ("th", "ฉันแพ้ถั่วลิสง", "ไม่ใช่ถั่วลิสง แต่เป็นวอลนัท", "ฉันแพ้วอลนัท"),
        ("hi", "मुझे मूंगफली से एलर्जी है।", "मूंगफली नहीं, अखरोट", "मुझे अखरोट से एलर्जी है।"),
        ("ar", "عندي حساسية من الفول السوداني.", "لا، ليس الفول السوداني بل الجوز", "عندي حساسية من الجوز."),
    ],
)  # fmt: skip
def test_this_and_not_that_in_every_language(code: str, old: str, said: str, new: str) -> None:
    assert told(code, old, said) == new


@table_test(
    ("old", "said"),
    [
        ("Anna lives in London.", "no, she moved to Paris"),
        ("I like green tea.", "I meant coffee"),
        ("The meeting is on Friday at 3 in room 4.", "no, 5"),
        (PEANUTS, "no, not fish, walnuts"),
    ],
)
def test_where_it_is_not_plain_what_gives_way_nothing_is_guessed(old: str, said: str) -> None:
    assert told("en", old, said) == UNSURE


@table_test("said", ["I am not allergic to peanuts", "It's not far, take the bus"])
def test_what_denies_something_without_naming_another_is_no_correction(said: str) -> None:
    assert told("en", PEANUTS, said) is None


@table_test(
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
