"""Generates the example settings file from the settings' classes and the text below each key."""

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bot.config.errors import format_key
from bot.config.schema import Model, list_entry, section_fields, strip_none, table_value
from bot.config.settings import Settings

WIDTH = 100

HEADER = """\
Settings of Commonplace, with their defaults. Every line may be left out.
Environment variables win over this file: COMMONPLACE_MEMORY__SEARCH__FINAL_TOP_K=8 is memory.search.final_top_k.
Lines with # directly before a key are examples."""


def field_explanations(model: Model) -> dict[str, str]:
    """Return the text below each field of a section's class, by field name."""
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if not section_fields(owner) or owner.__module__.startswith("pydantic"):
            continue
        for field, text in pairwise(_class_statements(owner)):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match text:
                    case ast.Expr(ast.Constant(str(words))):
                        found[field.target.id] = inspect.cleandoc(words)
    return found


@dataclass(frozen=True, slots=True)
class ListedSection:
    """A section as the example file shows it."""

    keys: tuple[str, ...]
    model: Model
    is_example: bool = False
    """Whether it stands for any number of tables, of which there is none by default."""
    in_list: bool = False
    """Whether these tables have no names."""

    @property
    def header(self) -> str:
        """The line above its keys."""
        key = format_key(self.keys)
        return f"[[{key}]]" if self.in_list else f"[{key}]"


def sections(model: Model = Settings, keys: tuple[str, ...] = ()) -> Iterator[ListedSection]:
    """Yield each section in the file's order."""
    yield ListedSection(keys, model)
    for name, field in model.model_fields.items():
        annotation: Any = field.annotation
        if section_fields(annotation) is not None:
            yield from sections(annotation, (*keys, name))
        elif section_fields(entry := table_value(annotation)) is not None:
            example = field.examples[0] if field.examples else name
            yield ListedSection((*keys, name, example), entry, is_example=True)
        elif (entry := list_entry(annotation)) is not None:
            yield ListedSection((*keys, name), entry, is_example=True, in_list=True)


def plain_fields(model: Model) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields of a section that are not sections themselves."""
    for name, field in model.model_fields.items():
        annotation = strip_none(field.annotation)
        entries = (annotation, table_value(annotation), list_entry(annotation))
        if all(section_fields(each) is None for each in entries):
            yield name, field


def to_toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, dict):
        entries = ", ".join(f"{format_key([name])} = {to_toml(each)}" for name, each in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    text = json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")  # the one character that JSON takes as it is and TOML does not


def example_config() -> str:
    """Return a settings file with every key, its default and its explanation."""
    lines = _to_comment(HEADER)
    for section in sections():
        lines.append("")
        if section.keys:
            lines += [
                *_to_comment(inspect.cleandoc(section.model.__doc__ or "")),
                f"{'#' * section.is_example}{section.header}",
            ]
        text = field_explanations(section.model)
        for name, field in plain_fields(section.model):
            set_by_default = not section.is_example and field.default not in {None, PydanticUndefined}
            value = field.examples[0] if field.examples else field.default
            lines += _to_comment(text[name])
            lines.append(f"{'' if set_by_default else '#'}{name} = {to_toml(value)}")
    return "\n".join(lines) + "\n"


def _class_statements(owner: type) -> list[ast.stmt]:
    """Return the statements in the body of a class at the top of its module."""
    return _parse_classes(owner.__module__)[owner.__name__].body


@cache
def _parse_classes(module: str) -> dict[str, ast.ClassDef]:
    """Parse a module once for all its classes; `inspect.getsource` of a class would parse it each time."""
    tree = ast.parse(inspect.getsource(import_module(module)))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _to_comment(text: str) -> list[str]:
    return [f"# {line}" for paragraph in text.splitlines() for line in wrap(paragraph, WIDTH)]
