import time

from hypothesis import given
from hypothesis import strategies as st

from memory.note_links import NoteLink, find_links, match_wiki_link
from tests.fakes.table_test import table_test


@table_test(
    ("text", "found"),
    [
        ("[[A]] [[b/C.md]]", [("A", "A", ""), ("b/C.md", "b/C.md", "")]),
        ("[[A|shown]] ![[e]]", [("A", "shown", ""), ("e", "e", "")]),
        ("[[A#H|x]] [[A#^b1]] [[A^b2]]", [("A", "x", "H"), ("A", "A", "^b1"), ("A", "A", "^b2")]),
        ("| [[A\\|x]] |", [("A", "x", "")]),
        ("[x](a%20b.md#H) [y](<c d.md>)", [("a b.md", "x", "H"), ("c d.md", "y", "")]),
        ("[护照](../护照.md 'title')", [("../护照.md", "护照", "")]),
        ("`[[no]]` ``[[no]] ` [[no]]`` [[A]]", [("A", "A", "")]),
        ("\\[[no]] \\[x](no.md) [[[no]]] [[]] [[#no]] [[a\nb]]", []),
        ("[x](https://a.example/b.md) [x](/b.md) [x](#b) [[http://a.example]]", []),
        ("```\n[[no]]\n~~~\n[[no]]\n```\n[[A]]\n~~~~\n[[no]]\n", [("A", "A", "")]),
        ("```\n[[no]]", []),
        ("a ` [[A]]", [("A", "A", "")]),
        ("\\`[[A]]\\`", [("A", "A", "")]),
    ],
)
def test_links_are_read(text: str, found: list[tuple[str, str, str]]) -> None:
    assert [(each.target, each.label, each.heading) for each in find_links(text)] == found


def test_each_has_its_place() -> None:
    text = "one\n- see [[A|b]]\n"
    assert list(find_links(text)) == [NoteLink(2, 6, 13, "A", "b", is_wiki=True)]
    assert match_wiki_link("see [[A|b]]", 4) == NoteLink(1, 4, 11, "A", "b", is_wiki=True)
    assert match_wiki_link("see [[A|b]]", 5) is None
    assert match_wiki_link("[[#Cats]]", 0) == NoteLink(1, 0, 9, "", "", is_wiki=True, heading="Cats")
    assert match_wiki_link("[[ ]]", 0) is match_wiki_link("[[#]]", 0) is match_wiki_link("[[|a]]", 0) is None


@given(st.text(alphabet="[]()|#^!`~\\\nab.", max_size=80))
def test_any_text_is_read(text: str) -> None:
    lines = text.split("\n")
    for link in find_links(text):
        part = lines[link.line - 1][link.start : link.end]
        assert link.target
        assert part.lstrip("!").startswith("[")
        assert part.endswith(("]]", ")"))


def test_a_hostile_note_takes_linear_time() -> None:
    for piece in ("[", "[[a", "[a](b", "`", "`a", "[[" + "a" * 500, "```\n[\n", "[`\n", "\\`[", "``a`["):
        spent = []
        for size in (250_000, 2_000_000):
            text = piece * (size // len(piece))
            started = time.process_time()
            assert not list(find_links(text))
            spent.append(time.process_time() - started)
        assert spent[1] < 30 * spent[0] + 0.5, piece
