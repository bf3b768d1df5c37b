"""Correct and restore lines of a note, in every encoding and with every line end."""

import pytest

from memory.charset import decode
from memory.errors import EditRefused, NothingToWrite
from memory.formatting import correct_line
from memory.note_edits import (
    Edit,
    LineAnchor,
    LineCorrection,
    correct_lines,
    insert_lines,
    make_anchor,
    make_correction,
    remove_lines,
)
from tests.fakes.table_test import table_test

TEXT = "# Täglich\n\n- eins\n- eins\n- zwei\n"
FORMS = {
    "utf-8": TEXT.encode(),
    "with a mark": TEXT.encode("utf-8-sig"),
    "Windows line ends": TEXT.replace("\n", "\r\n").encode(),
    "UTF-16": TEXT.replace("\n", "\r\n").encode("utf-16"),
    "old Windows": TEXT.encode("cp1252"),
    "old Mac": TEXT.replace("\n", "\r").encode(),
    "no end": TEXT.rstrip("\n").encode(),
}


@table_test(
    ("old", "text", "new"),
    [
        ("- old", "new", "- new"),
        ("- old", "- new", "- new"),
        ("- old", "* new", "* new"),
        ("  * old", "new", "  * new"),
        ("- [ ] old", "new", "- [ ] new"),
        ("- [ ] old", "- [x] old", "- [x] old"),
        ("- am 1. Mai", "1. Juni", "- 1. Juni"),
        ("3. old", "new", "3. new"),
        ("3. old", "4. new", "4. new"),
        ("## Old plans", "New plans", "## New plans"),
        ("## Old plans", "### New plans", "### New plans"),
        ("> old", "new", "> new"),
        ("  further old", "further new", "  further new"),
        ("old", "new # with - signs", "new # with - signs"),
        ("old", "- a list now", "- a list now"),
        ("old", "# A heading now", "# A heading now"),
        ("old", "---", "\\---"),
        ("old", "===", "\\==="),
        ("- old", "```python", "- \\```python"),
        ("old", "new\x00\u2028", None),
        ("old", "two\nlines", None),
    ],
)
def test_a_lines_mark_stays(old: str, text: str, new: str | None) -> None:
    if new is None:
        assert correct_line(old, "new\x00") == "new\ufffd"
        with pytest.raises(EditRefused, match="several lines"):
            correct_line(old, "two\u2028lines")
    else:
        assert correct_line(old, text) == new


@table_test("text", ["", "  ", "\u200b", "\n"])
def test_a_line_is_not_made_blank(text: str) -> None:
    with pytest.raises(NothingToWrite):
        correct_line("- old", text)


@table_test("form", FORMS)
@table_test("line", [1, 3, 4, 5])
def test_exactly_one_line_is_replaced(form: str, line: int) -> None:
    note = decode(FORMS[form])
    correction = make_correction(note.text, line, "drei ✓" if form != "old Windows" else "drei", path="n.md")
    edit = correct_lines(note, correction=correction, path="n.md")
    lines = TEXT.split("\n")
    assert decode(edit.removed).text == f"{lines[line - 1]}\n"
    lines[line - 1] = correction.new
    assert decode(edit.data).text == "\n".join(lines)
    assert (edit.line_start, edit.line_end) == (line, line)
    assert decode(edit.data).mark == note.mark


def test_a_line_that_reads_differently_is_left_alone() -> None:
    with pytest.raises(EditRefused, match="has changed in the meantime"):
        correct_lines(decode(FORMS["utf-8"]), correction=LineCorrection(3, "- null", "- drei"), path="n.md")
    with pytest.raises(EditRefused, match="has changed in the meantime"):
        correct_lines(decode(b"- eins\n"), correction=LineCorrection(3, "- eins", "- drei"), path="n.md")


@table_test("form", FORMS)
@table_test("line", [1, 3, 4, 5])
def test_a_line_goes_back_to_where_it_was_taken_from(form: str, line: int) -> None:
    lines = TEXT.rstrip("\n").split("\n")
    without = [each for number, each in enumerate(lines, start=1) if number != line]
    ends = {"Windows line ends": "\r\n", "UTF-16": "\r\n", "old Mac": "\r"}
    text = ends.get(form, "\n").join(without) + ("" if form == "no end" else ends.get(form, "\n"))
    codecs = {"with a mark": "utf-8-sig", "UTF-16": "utf-16", "old Windows": "cp1252"}
    note = decode(text.encode(codecs.get(form, "utf-8")))
    edit = insert_lines(note, block=lines[line - 1], anchor=make_anchor(lines, line), path="n.md")
    assert decode(edit.data).text == TEXT
    assert (edit.line_start, edit.line_end, edit.removed) == (line, line, b"")


def put_back(text: str, stood: LineAnchor | None, block: str = "- back") -> tuple[str, Edit]:
    edit = insert_lines(decode(text.encode()), block=block, anchor=stood, path="n.md")
    return decode(edit.data).text, edit


def test_a_line_whose_place_is_unknown_goes_to_the_end() -> None:
    assert put_back("- one\n", None)[0] == "- one\n- back\n"
    text, edit = put_back("Text.\n", LineAnchor(7, "0123abcd"), "two\nlines")
    assert text == "Text.\n\ntwo\nlines\n"
    assert (edit.line_start, edit.line_end) == (3, 4)


def test_an_ambiguous_place_counts_as_unknown() -> None:
    lines = ["## A", "- one", "- two", "## A", "- one", "- two"]
    stood = make_anchor(["x", "## A", "- one", "- gone"], 4)
    assert put_back("\n".join(lines) + "\n", stood)[0].endswith("- two\n- back\n")
    assert put_back("\n".join(["new", *lines]) + "\n", stood)[0].startswith("new\n## A\n- one\n- back\n- two")


def test_a_damaged_note_in_utf_16_is_left_alone() -> None:
    note = decode(b"\xff\xfea\x00\n\x00\x00\xd8\n\x00")
    with pytest.raises(EditRefused, match="damaged"):
        insert_lines(note, block="x", anchor=None, path="n.md")


@pytest.mark.parametrize("form", FORMS)
def test_lines_are_removed_by_their_numbers(form: str) -> None:
    note = decode(remove_lines(decode(FORMS[form]), {3, 4}, path="n.md"))
    assert note.text == "# Täglich\n\n- eins\n"
    assert remove_lines(decode(FORMS[form]), (), path="n.md") == FORMS[form]
