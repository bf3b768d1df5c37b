import time

from hypothesis import given
from hypothesis import strategies as st

from memory.front_matter import MAX_CHARS, read_front_matter, strip_keys
from tests.fakes.table_test import table_test


@table_test(
    ("lines", "aliases"),
    [
        ("aliases: [A, 'it''s', \"B, c\"]", ("A", "it's", "B, c")),
        ("aliases: A, B c", ("A", "B c")),
        ("alias: A", ("A",)),
        ("aliases:\n  - A\n  - 'B'", ("A", "B")),
        ('aliases:\n- A # not this\n- "B"\nother: x', ("A", "B")),
        ("ALIASES: [\n  A,\n  B\n]", ("A", "B")),
        ("aliases: []", ()),
        ("aliases:", ()),
        ("aliases: [A, B", ("A", "B")),
        ("aliases: [A, A]", ("A",)),
        ("cssclasses: wide", ()),
        ("x: {aliases: [A]}", ()),
        ("bad: [unclosed\naliases: A", ("A",)),
        ("\t: x\n: y\nk: v\naliases: 护照", ()),
        ("k: v\n\t: x\n: y\naliases: 护照", ("护照",)),
    ],
)
def test_aliases(lines: str, aliases: tuple[str, ...]) -> None:
    assert read_front_matter(f"---\n{lines}\n---\nText\n").aliases == aliases


@table_test(
    ("lines", "tags"),
    [
        ("tags: [a, b/c]", ("a", "b/c")),
        ("tags: a, b", ("a", "b")),
        ("tags: a b", ("a", "b")),
        ("tag: '#a'", ("a",)),
        ("tags: #a #b", ("a", "b")),
        ('tags:\n  - a\n  - "#b"', ("a", "b")),
    ],
)
def test_tags(lines: str, tags: tuple[str, ...]) -> None:
    assert read_front_matter(f"---\n{lines}\n---\n").tags == tags


@table_test(
    "text",
    [
        "Text\n---\na: b\n---\n",
        "---\nJust a rule\n---\n",
        "---\naliases: A\nno end",
        "----\naliases: A\n---\n",
        "---",
        "",
        "---\n- a: b\n---\n",
    ],
)
def test_what_is_no_front_matter(text: str) -> None:
    assert read_front_matter(text).last_line == 0


def test_title_lines_and_values() -> None:
    front = read_front_matter(
        '---\n# a comment\ntitle: "My: T"\ntext: |\n  Note: this\n  more\nn: 1 # one\n---\nx\n'
    )
    assert (front.title, front.last_line) == ("My: T", 8)
    assert [(each.key, each.values, each.line) for each in front.properties] == [
        ("title", ("My: T",), 3),
        ("text", ("Note: this more",), 4),
        ("n", ("1",), 7),
    ]


@given(st.text(alphabet="-\n:[]'\"ab#|> ,", max_size=60))
def test_any_text_is_read(text: str) -> None:
    front = read_front_matter(f"---\na: {text}\n---\n")
    assert front.aliases == ()
    assert all("\n" not in value for each in front.properties for value in each.values)
    assert all(part in line for line in text.split("\n") for part in [strip_keys(line)])


def test_a_hostile_block_takes_no_time() -> None:
    started = time.process_time()
    for piece in ("a: [\n", "[,'", " #", '"\\', "'", "\n---x", "a "):
        read_front_matter("---\naliases: " + piece * (16_000_000 // len(piece)) + "\n---\n")
        read_front_matter("---\naliases: " + piece * (MAX_CHARS // len(piece) - 10) + "\n---\n").aliases  # noqa: B018
    assert time.process_time() - started < 5
