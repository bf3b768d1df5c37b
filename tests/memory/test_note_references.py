from memory.chunker import split_passages
from memory.note_references import NoteReferences, read_references
from memory.tokenizer import tokenize


def read(text: str) -> NoteReferences:
    return read_references(text, split_passages(text))


def test_keys_of_front_matter_are_no_words_and_values_are() -> None:
    found = read("---\ncreated: 2026-03-02\ncssclasses: wide\n---\nText: one\n")
    assert list(found.words) == ["2026 03 02 wide", "text one"]


def test_names_and_tags() -> None:
    found = read("---\naliases: [Big Apple]\ntitle: New York\ntags: [city/us]\n---\n\nText #trip\n")
    assert [(each.name, each.key) for each in found.names] == [
        ("Big Apple", "big apple"),
        ("New York", ""),
        ("#city/us", ""),
        ("#trip", ""),
    ]
    assert found.own_words.split() == [
        *["big", "appl", "new", "york"],
        "citi",
        "us",
        "＃city",
        "＃city／us",
        "trip",
        "＃trip",
    ]
    assert found.words[0].endswith("＃city ＃city／us")
    assert found.words[1] == "text trip ＃trip"


def test_links_with_what_they_show() -> None:
    text = "# H\n\n[[Oslo]] [[x/Oslo|the trip]] [Oslo](oslo.md) ![[map.png]]\n"
    found = [(each.line, each.key, each.target, each.is_wiki, each.shown) for each in read(text).links]
    assert found == [
        (3, "oslo", "", False, ""),
        (3, "oslo", "", True, ""),
        (3, "oslo", "x/oslo", True, "the trip"),
    ]


def test_other_notes_have_the_same_words_as_ever() -> None:
    text = "# A\n\n- one: two\n\n---\n\nthree # four\n"
    assert list(read(text).words) == [" ".join(tokenize(each.text)) for each in split_passages(text)]
    assert (*read(text).names, *read(text).links) == ()
