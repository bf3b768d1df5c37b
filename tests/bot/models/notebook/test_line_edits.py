"""The passage by which certain lines of a note are changed, and no others."""

from hypothesis import given
from hypothesis import strategies as st

from bot.models.notebook.line_edits import ChangedLines, LineEdit, NotePassage, changed_lines, find_passage
from memory.charset import decode
from memory.note_edits import replace_passage

NOTE = "# 2026-11-23\n\n- Buy milk.\n- Eva is 9.\n- Buy milk.\n- Buy milk. And eggs.\n"


def read(text: str, first: int = 1, total: int | None = None) -> dict[str, object]:
    lines = len(text.splitlines())
    return {"line_start": first, "total_lines": lines if total is None else total, "text": text}


def edited(text: str, edit: LineEdit) -> str:
    passage = find_passage(edit, read(text))
    assert passage
    note = decode(text.encode())
    return replace_passage(note, old=passage.old, new=passage.new, path=edit.path).data.decode()


def test_of_equal_lines_the_one_that_is_meant_is_changed() -> None:
    first, last = (LineEdit("a.md", line, ("Buy milk.",), ("Buy tea.",)) for line in (3, 5))
    assert edited(NOTE, first) == NOTE.replace("milk", "tea", 1)
    assert (
        edited(NOTE, last) == "# 2026-11-23\n\n- Buy milk.\n- Eva is 9.\n- Buy tea.\n- Buy milk. And eggs.\n"
    )
    assert edited(NOTE, last._replace(new=())) == NOTE.replace("- Eva is 9.\n- Buy milk.\n", "- Eva is 9.\n")


def test_a_line_that_reads_differently_is_left_alone() -> None:
    assert find_passage(LineEdit("a.md", 4, ("Eva is 8.",), ("Eva is 9.",)), read(NOTE)) is None
    assert find_passage(LineEdit("a.md", 9, ("Buy milk.",), ("x",)), read(NOTE)) is None, "it may be either"
    assert find_passage(LineEdit("a.md", 9, ("Eva is 9.",), ("x",)), read(NOTE)) == NotePassage(
        "- Eva is 9.", "- x"
    )


def test_lines_around_it_stand_in_the_passage_where_the_note_goes_on() -> None:
    part = "- a\n- b\n- c\n- d\n- e\n"
    passage = find_passage(LineEdit("a.md", 12, ("c",), ("x",)), read(part, first=10, total=900))
    assert passage == NotePassage("- a\n- b\n- c\n- d\n- e", "- a\n- b\n- x\n- d\n- e")


LINES = st.lists(st.sampled_from(["- a", "- b", "a", "* a", "", "- a b"]), min_size=1, max_size=7)


@given(LINES, st.data())
def test_what_is_removed_comes_back_where_it_was(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(["# Title", "", *lines, "- end"]) + "\n"
    at = data.draw(st.integers(0, len(lines) - 1))
    if not lines[at]:
        return
    said = lines[at].removeprefix("- ").removeprefix("* ")
    edit = LineEdit("a.md", at + 3, (said,), ())
    passage = find_passage(edit, read(text))
    assert passage
    done = replace_passage(decode(text.encode()), old=passage.old, new=passage.new, path="a.md")
    gone = changed_lines(passage.old, passage.new, done.line_start)
    shorter = done.data.decode()
    assert len(shorter.splitlines()) == len(text.splitlines()) - 1
    back = LineEdit("a.md", gone.line, (), gone.old)
    assert edited(shorter, back) == text


def test_which_lines_an_edit_has_changed() -> None:
    assert changed_lines("- a\n- b\n- c", "- a\n- x\n- c", 7) == ChangedLines(8, ("- b",), ("- x",))
    assert changed_lines("- b", "", 7) == ChangedLines(7, ("- b",), ())
    assert changed_lines("- a", "- a\n- b", 7) == ChangedLines(8, (), ("- b",))
