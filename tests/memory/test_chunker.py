import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.chunker import (
    MAX_TITLE_CHARS,
    Passage,
    estimate_tokens,
    segment_text,
    split_chunks,
    split_passages,
    split_segments,
)
from tests.fakes.table_test import table_test

MARKS = "-*_=|:>#+."
"""Markdown markers: a line of nothing else has no content."""
MARKDOWN = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "", "# Trip", "## Hotel ##", "- item", "  - nested item", "  continued", "1. first", "```", "~~~~",
                "```python", "| a | b |", "|---|---|", "> quote", "---", "===", "***", "Setext", "\r", "\t\tindented",
                "护照在蓝色的文件夹里。第二层。", "หนังสือเดินทาง", "Wort. Noch eins! Und?", "x" * 300, "字" * 200,
            ]
        ),
        st.text(st.characters(exclude_characters="\n"), max_size=60),
    ),
    max_size=40,
).map("\n".join)  # fmt: skip


def passages(text: str) -> list[tuple[int, int, str]]:
    return [(p.line_start, p.line_end, p.text) for p in split_passages(text)]


def chunk_texts(text: str, *, target: int, overlap: int) -> list[str]:
    parts = split_passages(text, max_tokens=target)
    chunks = split_chunks(parts, target_tokens=target, overlap_tokens=overlap)
    return ["\n".join(p.text for p in parts[chunk.first : chunk.last + 1]) for chunk in chunks]


def test_list_items_are_passages_with_their_continuations() -> None:
    text = "- one\n  more\n- two\n  - nested\n\n  apart\n1. first\n2) second"
    assert passages(text) == [
        (1, 2, "- one\n  more"),
        (3, 3, "- two"),
        (4, 4, "  - nested"),
        (6, 6, "  apart"),
        (7, 7, "1. first"),
        (8, 8, "2) second"),
    ]


def test_headings_give_each_passage_its_path() -> None:
    text = "# Trip\nintro\n## Hotel ##\n- Grand\n# Work\n- desk\n\nHome\n----\n- sofa\n#nospace"
    assert [(p.text, p.heading, p.is_heading) for p in split_passages(text)] == [
        ("# Trip", "Trip", True),
        ("intro", "Trip", False),
        ("## Hotel ##", "Trip > Hotel", True),
        ("- Grand", "Trip > Hotel", False),
        ("# Work", "Work", True),
        ("- desk", "Work", False),
        ("Home\n----", "Work > Home", True),
        ("- sofa\n#nospace", "Work > Home", False),
    ]


def test_a_fence_is_one_passage_and_its_comments_are_not_headings() -> None:
    text = "before\n```python\n# no heading\n\nx = 1\n```\nafter"
    assert passages(text) == [
        (1, 1, "before"),
        (2, 6, "```python\n# no heading\n\nx = 1\n```"),
        (7, 7, "after"),
    ]


def test_a_fence_ends_only_with_its_own_kind_and_length() -> None:
    assert passages("~~~~\n```\n~~~\n~~~~\nafter")[-1] == (5, 5, "after")
    assert passages("```\nnever closed\n\n# still code") == [(1, 4, "```\nnever closed\n\n# still code")]


def test_a_fence_may_begin_on_the_line_of_a_list_item() -> None:
    text = "- ```bash\n  # no heading\n  ```\n- next\n1. - ~~~\n     x\n     ~~~\n# Real\ntext"
    assert [(p.line_start, p.line_end, p.heading) for p in split_passages(text)] == [
        (1, 3, ""),
        (4, 4, ""),
        (5, 7, ""),
        (8, 8, "Real"),
        (9, 9, "Real"),
    ]


@table_test("second", ["", "# Title", "- fact", "plain text"])
def test_a_rule_on_top_is_not_front_matter(second: str) -> None:
    text = f"---\n{second}\n\n# Head\n- fact\n\n---\n- other"
    assert (5, 5, "- fact") in passages(text)
    assert split_passages(text)[-1].heading.endswith("Head")


def test_a_rule_below_a_quote_does_not_turn_it_into_a_heading() -> None:
    assert passages("> said Anna\n---\ntext") == [(1, 1, "> said Anna"), (2, 3, "---\ntext")]


def test_a_very_long_heading_is_shortened() -> None:
    for text in ("# " + "title " * 2000, "title\n" * 2000 + "==="):
        below = split_passages(f"{text}\n- fact")[-1]
        assert below.text == "- fact"
        assert below.heading.startswith("title title")
        assert len(below.heading) <= MAX_TITLE_CHARS


@pytest.mark.thorough
@table_test(
    "line",
    [
        "# a" + " " * 50_000 + "b",
        "# " * 100_000,
        "a" + "\u0301" * 200_000,
        "- " * 100_000,
        " " * 200_000 + "x",
    ],
)
def test_every_line_is_split_in_linear_time(line: str) -> None:
    began = time.thread_time()
    parts = split_passages(line)
    assert "".join(part.text for part in parts) == line
    assert time.thread_time() - began < 2


def test_tables_come_row_by_row_and_front_matter_whole() -> None:
    assert passages("---\ntitle: x\n---\n| a |\n|---|\n| 1 |") == [
        (1, 3, "---\ntitle: x\n---"),
        (4, 4, "| a |"),
        (5, 5, "|---|"),
        (6, 6, "| 1 |"),
    ]


def test_a_long_paragraph_is_split_at_lines_that_end_a_sentence() -> None:
    line = "This is a line of some forty characters, "
    text = "\n".join([line * 6 + "end.", line * 4 + "no end", line * 2 + "end."])
    assert [(a, b) for a, b, _ in passages(text)] == [(1, 1), (2, 3)]


@table_test(
    ("sentence", "ending"),
    [
        ("The passport is in the blue folder. ", ". "),
        ("护照在蓝色的文件夹里。", "。"),
        ("パスポートは青いフォルダーにあるよ！", "！"),
    ],
)
def test_a_long_line_is_cut_where_sentences_end(sentence: str, ending: str) -> None:
    pieces = split_passages(sentence * 60, max_tokens=100)
    assert len(pieces) > 4
    assert all(p.text.endswith(ending) for p in pieces[:-1])
    assert all((p.line_start, p.line_end) == (1, 1) for p in pieces)
    assert all(estimate_tokens(p.text) <= 100 for p in pieces)


def test_a_long_line_without_spaces_is_cut_between_characters_with_their_marks() -> None:
    thai = "หนังสือเดินทางของแอนนาอยู่ที่นี่" * 40
    pieces = [p.text for p in split_passages(thai, max_tokens=50)]
    assert "".join(pieces) == thai
    assert not any(
        unicodedata.combining(piece[0]) or unicodedata.category(piece[0]) == "Mn" for piece in pieces
    )


def test_a_section_that_does_not_fit_begins_a_new_chunk() -> None:
    section = "\n".join(f"- fact number {n} of this section" for n in range(8))
    chunks = chunk_texts(f"# One\n{section}\n# Two\n{section}", target=100, overlap=20)
    assert [chunk.split("\n")[0] for chunk in chunks] == ["# One", "# Two"]


def test_chunks_inside_a_section_overlap_by_whole_passages() -> None:
    text = "\n".join(f"- fact number {n} of a long list" for n in range(40))
    parts = split_passages(text)
    chunks = split_chunks(parts, target_tokens=100, overlap_tokens=30)
    for before, after in pairwise(chunks):
        repeated = range(after.first, before.last + 1)
        assert len(repeated) >= 2
        assert sum(estimate_tokens(parts[n].text) for n in repeated) <= 30


def test_no_chunk_ends_with_a_heading() -> None:
    text = "\n".join(f"# Head {n}\n\n- {'word ' * 15}" for n in range(20))
    assert not [
        chunk for chunk in chunk_texts(text, target=60, overlap=10) if chunk.split("\n")[-1].startswith("#")
    ]


def chunk_set(text: str) -> set[str]:
    return set(chunk_texts(text, target=400, overlap=80))


def segment_set(text: str) -> set[bytes]:
    return {segment.digest for segment in split_segments(split_passages(text))}


def test_lines_added_on_top_make_few_new_chunks_and_segments() -> None:
    facts = "\n".join(
        f"- fact number {n} about {'this' if n % 3 else 'something quite different'}" for n in range(400)
    )
    before, after = f"# Log\n{facts}", f"# Log\n- new\n- newer\n{facts}"
    assert len(chunk_set(before)) > 10
    assert len(chunk_set(after) - chunk_set(before)) <= 4
    assert len(segment_set(before)) > 30
    assert len(segment_set(after) - segment_set(before)) <= 4


def test_one_changed_line_changes_one_chunk_and_one_segment_in_a_sectioned_note() -> None:
    sections = [
        f"## Part {n}\n" + "\n".join(f"- fact {n}.{k} with some words" for k in range(40)) for n in range(10)
    ]
    before = "\n".join(sections)
    after = before.replace("fact 4.0 ", "fact 4.0 new ")
    assert len(chunk_set(after) - chunk_set(before)) == 1
    assert len(segment_set(after) - segment_set(before)) == 1


def test_another_title_changes_no_segment() -> None:
    body = "\n## Boiler\n- code 1234\n- serviced in May\n## Car\n- red"
    assert segment_set(f"# Home{body}") == segment_set(f"# Our home{body}")
    assert segment_set(f"# Home{body}") != segment_set(f"# Home{body.replace('Boiler', 'Heating')}")


def test_an_embedded_text_begins_with_its_informative_headings() -> None:
    text = (
        "# Home\n## Boiler\n- code 1234\n## 13:56 - a talk\n- hello\n### Shopping\n- milk\n## 2026-11-20\n- x"
    )
    parts = split_passages(text)
    assert [
        segment_text(s.heading, [p.text for p in parts[s.first : s.last + 1]]) for s in split_segments(parts)
    ] == [
        "Boiler\n- code 1234",
        "- hello",
        "Shopping\n- milk",
        "- x",
    ]


def test_a_heading_with_nothing_below_it_is_embedded_by_itself() -> None:
    parts = split_passages("# Call Bob\n# Call Anna")
    assert [(s.first, s.last, s.heading) for s in split_segments(parts)] == [(0, 0, ""), (1, 1, "")]


@given(MARKDOWN)
@example("=\x1f")
@example("\u3000---\x85")
def test_every_passage_is_in_one_segment_but_headings_with_text_below(text: str) -> None:
    parts = split_passages(text)
    segments = split_segments(parts)
    inside = [position for s in segments for position in range(s.first, s.last + 1)]
    assert inside == sorted(set(inside))
    for position in set(range(len(parts))) - set(inside):
        if all(character.isspace() or character in MARKS for character in parts[position].text):
            continue  # no content
        assert parts[position].is_heading
        below = parts[position + 1]
        assert not below.is_heading or below.heading.startswith(parts[position].heading)
    for s in segments:
        assert s.first == s.last


@given(MARKDOWN)
def test_every_character_is_in_a_passage_at_its_line(text: str) -> None:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    rebuilt = dict.fromkeys(range(1, len(lines) + 1), "")
    for part in split_passages(text, max_tokens=20):
        pieces = part.text.split("\n")
        assert len(pieces) == part.line_end - part.line_start + 1
        for number, piece in enumerate(pieces, part.line_start):
            rebuilt[number] += piece
    for number, line in enumerate(lines, 1):
        assert rebuilt[number] == line or not line.strip()


@given(MARKDOWN, st.integers(5, 60), st.integers(0, 4))
def test_chunks_cover_all_passages_in_order_within_the_target(text: str, target: int, overlap: int) -> None:
    parts = split_passages(text, max_tokens=target)
    chunks = split_chunks(parts, target_tokens=target, overlap_tokens=overlap)
    covered = [n for chunk in chunks for n in range(chunk.first, chunk.last + 1)]
    assert sorted(set(covered)) == list(range(len(parts)))
    for chunk in chunks:
        size = sum(estimate_tokens(parts[n].text) for n in range(chunk.first, chunk.last + 1))
        assert size <= target or all(_oversized(parts[n], target) for n in range(chunk.first, chunk.last + 1))
    for before, after in pairwise(chunks):
        assert before.first < after.first <= before.last + 1
        assert before.last < after.last


def _oversized(part: Passage, target: int) -> bool:
    """Return whether a part may exceed a tiny target: a heading with its first line, or many short lines."""
    return part.is_heading or estimate_tokens(part.text) > target


@given(MARKDOWN)
def test_the_same_text_gives_the_same_chunks(text: str) -> None:
    assert split_chunks(split_passages(text)) == split_chunks(split_passages(text))


def test_token_estimates_follow_the_script() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("word " * 80) == 100
    assert estimate_tokens("字" * 100) == 75
