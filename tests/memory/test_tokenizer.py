import threading
import tracemalloc
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.tokenizer import MAX_TERMS, Term, find_beginnings, parse_query, tokenize, tokenize_with_offsets
from tests.fakes.table_test import table_test


def tokens_of(query: str) -> list[tuple[str, ...]]:
    return [term.tokens for term in parse_query(query)]


@table_test(
    ("one", "other"),
    [
        ("Passports", "passport"),
        ("Anna's", "anna"),
        ("Anna’s", "Anna"),
        ("ÜBER", "über"),
        ("naïve", "naive"),
        ("Straße", "STRASSE"),
        ("ｉＰｈｏｎｅ", "iphone"),
        ("Ёлка", "елка"),
        ("ﾊﾟｽﾎﾟｰﾄ", "パスポート"),
        ("Isparta", "ısparta"),
        ("Łódź", "lodz"),
        ("Đà Nẵng", "da nang"),
        ("Œuvre", "oeuvre"),
        ("كِتَابٌ", "كتاب"),
        ("كتـــاب", "كتاب"),
        ("أحمد", "احمد"),
        ("שָׁלוֹם", "שלום"),
        ("می\u200cخواهم", "میخواهم"),
        ("Reise\u00adpass", "Reisepass"),
        ("п'ять", "пʼять"),
        ("паспорта паспортов", "паспорт паспорт"),
        ("الكتاب", "كتاب"),
        ("σπίτια", "σπίτι"),
        ("किताबें", "किताब"),
        ("๑๒ ١٢ १२", "12 12 12"),
        (unicodedata.normalize("NFD", "Müller Ångström パスポート 안나"), "Müller Ångström パスポート 안나"),
    ],
)
def test_forms_of_one_word_give_the_same_token(one: str, other: str) -> None:
    assert tokenize(one) == tokenize(other)


@table_test(
    ("text", "expected"),
    [
        ("l'école", ["l", "ecol"]),
        ("don't", ["don"]),
        ("snake_case a@b.de C++", ["snake", "case", "a", "b", "de", "c"]),
        ("护照在iPhone里", ["护", "照", "在", "iphon", "里"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("여권은 파란", ["여", "권", "은", "파", "란"]),
        ("मेरा पासपोर्ट", ["मेर", "पासपोर्ट"]),
        ("חֶסֶד كِتاب", ["חסד", "كتاب"]),
        ("", []),
        ("—!? ...", []),
        ("—!? 🎉 ...", ["🎉"]),
    ],
)
def test_text_is_split_by_the_rules_of_its_script(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


@table_test(
    ("query", "expected"),
    [
        ("Where is Anna's passport?", [("anna",), ("passport",)]),
        ("Wo ist der Reisepass?", [("reisepass",)]),
        ("who is it", [("who",), ("is",), ("it",)]),
        ("Où est l'école ?", [("ecol",)]),
        ("Где паспорт?", [("паспорт",)]),
        ("C++ compiler", [("c",), ("compil",)]),
        ("war museum", [("war",), ("museum",)]),
        ("red hat", [("red",), ("hat",)]),
        ("mining company", [("mine",), ("compani",)]),
        ("passport Passport PASSPORTS", [("passport",)]),
        ("护照", [("护", "照")]),
        ("护", [("护",)]),
        ("护照,文件", [("护", "照"), ("文", "件")]),
        ("猫 dog 犬", [("猫",), ("dog",), ("犬",)]),
        ('"NEAR(a" AND -b* OR col:x ^', [("near",), ("b",), ("col",), ("x",)]),
        ("  \n ", []),
        ("?!", []),
    ],
)
def test_query_asks_for_words_and_for_pairs_of_characters(
    query: str, expected: list[tuple[str, ...]]
) -> None:
    assert tokens_of(query) == expected


@pytest.mark.thorough
def test_a_query_that_is_a_whole_document_asks_for_its_first_words() -> None:
    terms = parse_query(" ".join(f"word{n}" for n in range(5000)))
    assert terms == [Term((f"word{n}",)) for n in range(MAX_TERMS)]


@given(st.text())
def test_a_word_is_the_same_token_in_every_text(text: str) -> None:
    assert tokenize(f"Kinder {text} паспорта") == [
        *tokenize("Kinder"),
        *tokenize(text),
        *tokenize("паспорта"),
    ]


@given(st.text())
def test_tokens_can_be_stored_with_spaces_between_them(text: str) -> None:
    for token in tokenize(text):
        assert token
        assert not any(character.isspace() or character in "\"'\0" for character in token)


@given(st.text())
def test_every_word_of_a_text_asks_for_something_in_it(text: str) -> None:
    words = tokenize(text)
    pairs = set(pairwise(words))
    for term in parse_query(text):
        assert term.tokens in pairs if len(term.tokens) == 2 else term.tokens[0] in words


@given(st.text(alphabet="abcdefghi ÄÖüß'’護照がﾊﾟก็ि-", max_size=40))
def test_composed_and_decomposed_text_give_the_same_words(text: str) -> None:
    assert tokenize(unicodedata.normalize("NFC", text)) == tokenize(unicodedata.normalize("NFD", text))


def test_threads_may_tokenize_at_the_same_time() -> None:
    texts = [" ".join(f"runn{'ing' * (n % 3)}{k}ed walking{n}s" for k in range(200)) for n in range(4)]
    alone = [tokenize(text) for text in texts]
    results: dict[int, list[str]] = {}

    def work(n: int) -> None:
        results[n] = tokenize(texts[n].replace("runn", f"runn{n}"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, text in enumerate(texts):
        assert results[n] == tokenize(text.replace("runn", f"runn{n}"))
        assert len(results[n]) == len(alone[n])


@table_test(
    ("query", "expected"),
    [
        ("Kinderwagen Haus", ["kind", "haus"]),
        ("Häuser Haus Hausboot", ["haus"]),
        ("red hat", []),
        ("2025 b1234 KX-4711", []),
        ("护照 หนังสือเดินทาง 🎂", []),
        ("паспортов", ["пасп"]),
    ],
)
def test_words_of_letters_are_also_asked_for_by_their_beginning(query: str, expected: list[str]) -> None:
    beginnings = find_beginnings(parse_query(query))
    assert all(term.is_beginning for term in beginnings)
    assert [term.tokens[0] for term in beginnings] == expected


def test_a_term_is_what_its_tokens_are() -> None:
    assert Term(("a",)) == Term(("a",))


@pytest.mark.thorough
def test_the_cache_of_words_stays_small() -> None:
    """A service meets new words, such as numbers and names, for years."""
    tracemalloc.start()
    try:
        for start in range(0, 100_000, 1000):
            tokenize(" ".join(f"n{number}x" for number in range(start, start + 1000)))
        assert tracemalloc.get_traced_memory()[0] < 8 << 20
    finally:
        tracemalloc.stop()


@table_test(
    ("query", "text"),
    [
        ("🎂", "- 🎂 Anna, on 4 May"),
        ("party 🎉", "- the party🎉was fun"),
        ("🎉", "🎉🎉🎉"),
        ("❤\ufe0f", "I ❤ Oslo"),
        ("❤", "I ❤\ufe0f Oslo"),
        ("👍", "👍🏽 from Anna"),
        ("👍🏽", "👍 from Anna"),
        ("👍🏽", "👍🏿 from Anna"),
        ("👩\u200d💻", "Anna is a 👩\u200d💻"),
        ("💻", "Anna is a 👩\u200d💻"),
        ("👧", "👨\u200d👩\u200d👧\u200d👦 at home"),
        ("🏃", "🏃🏾\u200d♀\ufe0f on Monday"),
        ("🇩🇪", "🇫🇷🇩🇪 trip"),
        ("3\ufe0f⃣", "room 3"),
        ("3", "room 3\ufe0f⃣"),
        ("#\ufe0f⃣", "press #\ufe0f⃣ to go on"),
        ("🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "a 🏴 and nothing else"),
        ("⭐", "five ⭐⭐⭐⭐⭐"),
        ("☕", "咖啡☕好喝"),
        ("🎂", "𝓐𝓷𝓷𝓪🎂"),
    ],
)
def test_an_emoji_is_found(query: str, text: str) -> None:
    asked, there = parse_query(query), tokenize(text)
    assert asked
    assert all(set(term.tokens) <= set(there) for term in asked)


@table_test(("query", "text"), [("🎂", "🎉"), ("🇩🇪", "🇩🇰🇪🇸"), ("🏽", "👍🏽"), ("#\ufe0f⃣", "# Heading *")])
def test_other_emoji_are_not(query: str, text: str) -> None:
    assert not {token for term in parse_query(query) for token in term.tokens} & set(tokenize(text))


def test_an_emoji_is_placed_with_what_belongs_to_it_left_out() -> None:
    text = "ok 👩\u200d💻 ❤\ufe0f 👍🏽 🇩🇪."
    assert [text[start:end] for _, start, end in tokenize_with_offsets(text)] == [
        "ok",
        "👩",
        "💻",
        "❤",
        "👍",
        "🇩🇪",
    ]
