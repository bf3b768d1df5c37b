"""A text that can be translated is plain English wherever a str is wanted, and forgets nothing when copied."""

import ast
import copy
import json
import pickle
from pathlib import Path

import memory
from memory.errors import MemoryFault, NoteMissing
from memory.translatable import Translatable, TranslatableError, end_sentence, join_texts, map_fields
from scripts.marked_texts import list_error_classes

TEXT = Translatable("{path} has {count:,} lines", path="a.md", count=1234)


def test_it_is_its_english_text() -> None:
    assert TEXT == "a.md has 1,234 lines"
    assert f"{TEXT}!" == "a.md has 1,234 lines!"
    assert json.dumps({"told": TEXT}) == '{"told": "a.md has 1,234 lines"}'
    assert Translatable("{a note}") == "{a note}", "without fields, a text is as it stands"


def test_a_copy_can_be_translated_too() -> None:
    for again in (copy.deepcopy(TEXT), pickle.loads(pickle.dumps(TEXT))):
        assert (again, again.template, again.fields) == (TEXT, TEXT.template, TEXT.fields)


def test_an_error_is_told_in_english_and_keeps_its_template() -> None:
    error = NoteMissing("There is no note {path}.", path="a{1}.md")
    assert str(error) == "There is no note a{1}.md."
    assert error.text.template == "There is no note {path}."
    again = MemoryFault("{path} was not written: {reason}", path="b.md", reason=error)
    assert str(again) == "b.md was not written: There is no note a{1}.md."
    assert isinstance(again.text.fields["reason"], Translatable), "its frames are let go, its fields kept"
    assert MemoryFault(error.text).text is error.text


def test_texts_are_joined_ended_and_changed_within() -> None:
    assert join_texts("", TEXT, "b") == "a.md has 1,234 lines; b"
    assert join_texts() == ""
    assert join_texts(TEXT) is TEXT
    assert end_sentence(TEXT) == "a.md has 1,234 lines."
    assert end_sentence("Done.") == "Done."
    outer = Translatable("{what} ({why})", what=TEXT, why="secret")
    changed = map_fields(outer, lambda text: text.replace("secret", "***").replace("a.md", "b.md"))
    assert changed == "b.md has 1,234 lines (***)"
    assert isinstance(changed, Translatable)
    assert map_fields("secret", str.upper) == "SECRET"


def test_no_error_is_made_of_a_finished_text_that_nobody_could_translate() -> None:
    """An f-string, or one with `format`, would be English for everybody."""
    folder = Path(memory.__file__).parent
    trees = {file: ast.parse(file.read_text()) for file in folder.rglob("*.py")}
    names = {Translatable.__name__, *list_error_classes(trees.values())}
    assert len(names) > 25
    finished = [
        f"{file.relative_to(folder)}:{node.lineno}"
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in names
        and node.args
        and isinstance(node.args[0], ast.JoinedStr | ast.BinOp | ast.IfExp)
    ]
    assert finished == []
    assert issubclass(MemoryFault, TranslatableError)
