"""No text freezes in one language, and what people are told in a chat is in `bot/english.py`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.house import ROOT, files, tree_of

TEXTS = "bot/english.py"
SAID_IN_CHATS = [*files("bot/commands"), *(ROOT / "bot" / f"{name}.py" for name in (
    "agent", "assistant", "change_names", "change_texts", "dispatch", "fact_history", "false_claims", "linking",
    "memory_health", "model_error_text", "pairing", "pairing_requests", "reminders", "reply_task",
    "requested_notes", "said_in_chats", "undo_plan",
))]  # fmt: skip
"""Modules whose strings are for people, unless they are for the log or named below."""
NOT_SAID = {
    "bot/commands/registry.py": "the help of commands, which the catalogues have too",
    "bot/commands/translations.py": "the same for the menus in further languages",
}
ALLOWED = (
    "This is the last step of this turn, without tools",
    '{"note": "Not shown here',
    "neither text nor a tool call",
    "the stream ended without an answer",
    "; if that is you, become the owner with",
)
"""For a model or for the log."""
_SENTENCE = re.compile(r"[A-Za-z]{2,}[,;:]? [a-z]+[,;:]? [A-Za-z]{2,}")


def imported_as(tree: ast.Module, module: str) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "bot"
        for alias in node.names
        if alias.name == module
    }


def read_at_import(node: ast.AST, names: set[str]) -> Iterator[ast.Attribute]:
    """Yield each text that is read when a module is imported: outside of functions, or as a default."""
    inner: list[ast.AST]
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            inner = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        case ast.Lambda():
            inner = [*node.args.defaults]
        case ast.Attribute(value=ast.Name(id=name)) if name in names:
            yield node
            return
        case _:
            inner = list(ast.iter_child_nodes(node))
    for each in inner:
        yield from read_at_import(each, names)


def test_no_text_is_looked_up_when_a_module_is_imported() -> None:
    frozen = [
        f"{file.relative_to(ROOT)}:{found.lineno} {ast.unparse(found)}"
        for file in files("adapters", "bot", "memory")
        for found in read_at_import(tree_of(file), imported_as(tree_of(file), "phrases"))
    ]
    assert frozen == []


def test_that_would_be_noticed() -> None:
    code = "from bot import phrases\nA = phrases.X\ndef f(a=phrases.Y, *, b=phrases.Z): return phrases.OK\n"
    code += (
        "g = lambda c=phrases.V: phrases.OK\nclass C:\n    d = phrases.W\n    def m(self): return phrases.OK"
    )
    tree = ast.parse(code)
    found = [each.attr for each in read_at_import(tree, imported_as(tree, "phrases"))]
    assert found == ["X", "Y", "Z", "V", "W"]


def test_no_module_takes_a_text_by_its_name() -> None:
    taken = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in files("adapters", "bot", "memory")
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ImportFrom)
        if node.module == "bot.phrases" or (node.module == "bot.english" and file != ROOT / "bot/phrases.py")
    ]
    assert taken == []


def sentences_in(tree: ast.Module) -> Iterator[ast.Constant]:
    ignored = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant()):  # a docstring
                ignored.add(id(node.value))
            case ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "re"))):
                ignored |= {id(each) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or id(node) in ignored:
            continue
        if _SENTENCE.search(node.value) and not node.value.lstrip().startswith(ALLOWED):
            yield node


def test_what_is_said_in_chats_is_in_the_list_of_texts() -> None:
    outside = [
        f"{name}:{found.lineno} {found.value!r}"
        for file in SAID_IN_CHATS
        if (name := str(Path(file).relative_to(ROOT))) not in NOT_SAID
        for found in sentences_in(tree_of(file))
    ]
    assert outside == []
