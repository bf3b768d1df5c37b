"""What the steps say that they set is what they set."""

import ast
import inspect
from collections.abc import Iterator
from fnmatch import fnmatchcase
from types import ModuleType

from bot.config.errors import format_key
from bot.config.schema import known_keys
from bot.config.settings import Settings
from bot.setup import channel, model, notes, page, steps, you

MODULES: tuple[tuple[ModuleType, tuple[str, ...]], ...] = (
    (you, ("you",)),
    (model, ("model",)),
    (channel, ("telegram", "discord")),
    (notes, ("notes",)),
    (page, ("page",)),
)
"""The modules of the steps; that of the service sets what only a container's own copy of the settings has."""


def written_keys(module: ModuleType) -> Iterator[str]:
    """Yield the keys that a module sets or keeps in a variable for that; `*` for what is not written there."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        match node:
            case ast.Call(func=ast.Attribute(attr="set" | "set_secret"), args=[ast.Tuple(elts=parts), *_]):
                yield ".".join(_text_of(each) for each in parts)
            case ast.Assign(
                targets=[ast.Tuple(elts=[_, ast.Name(id="keys")])],
                value=ast.Tuple(elts=[_, ast.Tuple(elts=parts)]),
            ):
                yield ".".join(_text_of(each) for each in parts)
            case ast.Call(
                func=ast.Attribute(attr="add_table"), args=[ast.Tuple(elts=parts), ast.Dict(keys=inner)]
            ):
                for each in inner:
                    assert each is not None
                    yield f"{'.'.join(_text_of(part) for part in parts)}[0].{_text_of(each)}"


def _text_of(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else "*"


def test_each_step_names_what_it_writes_and_nothing_else() -> None:
    sets = {step.name: set(step.sets) for step in steps.STEPS}
    for module, names in MODULES:
        written = set(written_keys(module))
        assert written, module
        for name in names:
            unused = set(sets[name])
            for key in written:
                own = key.replace("*", name, 1) if module is channel else key
                met = {each for each in sets[name] if fnmatchcase(own, each) or own == each}
                assert met, (name, own)
                unused -= met
            assert not unused, name
    assert sets["service"] == set()


def test_every_key_is_a_setting() -> None:
    known = {format_key(keys) for keys in known_keys(Settings)}
    for step in steps.STEPS:
        for key in step.sets:
            assert any(fnmatchcase(each, key) for each in known), key
