"""The titles of notes."""

import pytest

from memory.note_titles import HEAD_BYTES, decode_head, find_title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Oslo\n", "Oslo"),
        ("text\n\n### Oslo ###\n# Later\n", "Oslo"),
        ("---\ntitle: Norway\n---\n# Oslo\n", "Norway"),
        ("---\ntags: [a]\n---\n# Oslo\n", "Oslo"),
        ("---\n# a comment\ntags: [a]\n---\n", ""),
        ("#Oslo\n#\n", ""),
        ("~~~\n# code\n~~~\n", ""),
        ("", ""),
        (f"# {'x' * 500}\n", "x" * 200),
    ],
)
def test_a_title_is_that_of_the_front_matter_or_the_first_heading(text: str, title: str) -> None:
    assert find_title(text) == title


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_a_cut_head_has_whole_lines_only(codec: str) -> None:
    data = ("# Café\r\n" + "é" * 10_000).encode(codec)
    assert decode_head(data[:HEAD_BYTES]) == "# Café"
    assert decode_head("# Café\r\nx".encode(codec)) == "# Café\nx"
