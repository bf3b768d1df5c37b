"""Inspects the settings' classes: which keys exist, and what each accepts, in words."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

Model = type[BaseModel]


def section_fields(annotation: Any) -> dict[str, FieldInfo] | None:
    """Return the fields of a section's class; None for any other annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation.model_fields
    return None


def strip_none(annotation: Any) -> Any:
    """Return `T` for `T | None`, anything else unchanged."""
    if get_origin(annotation) in {Union, UnionType}:
        return next(member for member in get_args(annotation) if member is not type(None))
    return annotation


def table_value(annotation: Any) -> Any:
    """Return the type of the entries of a table with free names; None for any other annotation."""
    return _strip_metadata(get_args(annotation)[1]) if get_origin(annotation) is dict else None


def list_entry(annotation: Any) -> Model | None:
    """Return the class of the entries of a list of tables; None for any other annotation."""
    annotation = _strip_metadata(annotation)
    entry = get_args(annotation)[0] if get_origin(annotation) is tuple else None
    return entry if section_fields(entry) is not None else None


def _strip_metadata(annotation: Any) -> Any:
    """Return `T` for `Annotated[T, ...]`, anything else unchanged."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def walk_keys(model: Model, keys: Sequence[str | int]) -> Iterator[tuple[str | int, Any, FieldInfo | None]]:
    """Yield each key with its annotation and field, from the top; stop at the first unknown key."""
    annotation: Any = model
    for key in keys:
        field = None
        if (fields := section_fields(annotation)) is not None:
            if (field := fields.get(str(key))) is None:
                return
            annotation = strip_none(field.annotation)
        elif get_origin(annotation := _strip_metadata(annotation)) in {dict, tuple}:
            annotation = _strip_metadata(get_args(annotation)[1 if get_origin(annotation) is dict else 0])
        else:
            return
        yield key, annotation, field


def is_secret(annotation: Any) -> bool:
    """Return whether values of this type are secret."""
    return annotation is SecretStr or SecretStr in get_args(annotation)


def known_keys(model: Model, keys: Sequence[str | int] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield every possible key; free names and numbers are taken from `keys`, or are the placeholders NAME and 0."""

    def below(annotation: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
        is_list = (entry := list_entry(annotation)) is not None
        if is_list or (entry := table_value(annotation)) is not None:
            named = len(keys) > len(path) and tuple(keys[: len(path)]) == path
            yield from below(entry, (*path, keys[len(path)] if named else 0 if is_list else "NAME"))
        for name, field in (section_fields(annotation) or {}).items():
            yield (*path, name)
            yield from below(strip_none(field.annotation), (*path, name))

    return below(model, ())


def describe_type(annotation: Any, field: FieldInfo | None = None) -> str:
    """Return what is allowed, in words that follow "it must be"."""
    low, high = _describe_bounds(field)
    if annotation is bool:
        return "true or false"
    if annotation in {int, float}:
        number = "a whole number" if annotation is int else "a number"
        if low and high:
            return (
                f"{number} from {low} to {high}"
                if ">" not in low
                else f"{number} above {low[1:]}, at most {high}"
            )
        return number
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(f'"{value}"' for value in get_args(annotation))
    if annotation in {str, SecretStr, Path}:
        return "text in quotes"
    if list_entry(annotation) is not None:
        return "a list of tables"
    if get_origin(annotation) is tuple:
        return 'a list of text, such as ["a", "b"]'
    return "a table"


def _describe_bounds(field: FieldInfo | None) -> tuple[str, str]:
    low = high = ""
    for rule in field.metadata if field else ():
        if (at_least := getattr(rule, "ge", None)) is not None:
            low = f"{at_least}"
        if (above := getattr(rule, "gt", None)) is not None:
            low = f">{above}"
        if (at_most := getattr(rule, "le", None)) is not None:
            high = f"{at_most}"
    return low, high
