"""Nothing in the bot changes a note without recording it."""

import ast
from collections.abc import Iterator
from pathlib import Path

BOT = Path(__file__).parents[2] / "bot"
RECORDING = {"note_intents.py", "note_moves.py", "note_writes.py", "note_removals.py"}
"""They record what they change."""
READING = {"text", "is_empty", "is_missing", "correction", "path"}
"""What a `LockedNote` offers that changes nothing."""
WRITERS_OF_MEMORY = {"write", "edit"}
WRITING_NAMES = {"LockedNote", "append_block"}


def find_calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call of a method, with its receiver and name."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func), node


def is_only_read(held: ast.expr) -> bool:
    """Return whether a function for `Memory.hold` is a lambda that only reads the note."""
    if not isinstance(held, ast.Lambda):
        return False
    note = held.args.args[0].arg
    uses = [
        node.attr
        for node in ast.walk(held.body)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == note
    ]
    names = [node for node in ast.walk(held.body) if isinstance(node, ast.Name) and node.id == note]
    return len(names) == len(uses) and set(uses) <= READING


def find_unrecorded(path: Path) -> Iterator[str]:
    source = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(source):
        if isinstance(node, ast.ImportFrom) and WRITING_NAMES & {each.name for each in node.names}:
            yield f"{path.name} imports what writes notes from {node.module}"
    for called, call in find_calls(path):
        receiver, _, name = called.rpartition(".")
        if name in ("held", "held_both"):
            yield f"{path.name} holds a note by itself"
        if not receiver.endswith("memory"):
            continue
        if name in WRITERS_OF_MEMORY:
            yield f"{path.name} calls {called}"
        if name == "hold_both" or (name == "hold" and not is_only_read(call.args[1])):
            yield f"{path.name} changes a held note"
        if name == "forget_lines" and not (
            {"remove", "rename"} <= {each.arg for each in call.keywords} or ast.unparse(call.args[0]) == "()"
        ):
            yield f"{path.name} forgets lines unrecorded"


def test_notes_are_changed_only_by_what_records_it() -> None:
    files = [path for path in BOT.rglob("*.py") if path.name not in RECORDING]
    # The command line writes even if state.db can't be opened, and says that it is not recorded.
    assert [found for path in files for found in find_unrecorded(path)] == ["memory.py calls memory.write"]


def test_the_walk_sees_each_kind_of_change(tmp_path: Path) -> None:
    path = tmp_path / "careless.py"
    path.write_text(
        "from memory.locked_note import LockedNote\n"
        "await self._memory.write('milk')\n"
        "await memory.hold('a.md', lambda note: note.remove_lines(choose))\n"
        "await memory.hold('a.md', work)\n"
        "await memory.hold('a.md', lambda note: change(note))\n"
        "await memory.hold('a.md', lambda note: note.text)\n"
        "await memory.forget_lines(found, words)\n"
        "notes.held('a.md')\n"
        "await memory.hold_both('a.md', 'b.md', move)\n"
    )
    assert len(list(find_unrecorded(path))) == 8
