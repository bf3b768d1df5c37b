"""`--explain`: which words matched themselves, and which as another form."""

from memory.ranking.explanation import MatchedWords, explain_match
from memory.tokenizer import find_beginnings, parse_query
from tests.fakes.table_test import table_test


@table_test(
    ("query", "text", "words", "forms"),
    [
        ("Kinder im Haus", "Das Haus der Kinder, Kind", ("Haus", "Kinder"), ("Kind",)),
        ("services", "It was Serviced by Servilia", ("Serviced",), ("Servilia",)),
        ("安娜的护照", "护照在安娜的文件夹里", ("护照", "安娜", "娜的"), ()),
        ("red hat", "the reddish hatter", (), ()),
        ("паспорт", "Нет паспорта, пассажир", ("паспорта",), ()),
        ("boiler", "", (), ()),
    ],
)
def test_matching_words_are_named_as_the_note_spells_them(
    query: str, text: str, words: tuple[str, ...], forms: tuple[str, ...]
) -> None:
    terms = parse_query(query)
    assert explain_match([*terms, *find_beginnings(terms)], text) == MatchedWords(words, forms)
