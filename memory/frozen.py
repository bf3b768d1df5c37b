"""`dataclass`, a good deal quicker where a class is frozen: the standard library's own takes a fifth of the start.

The standard library writes six functions for each frozen class, and compiles each of them. Here the constructor alone
is written, once a first instance is made, and the others are shared: they read the fields' names from the class.
What comes of it is a dataclass all the same, with fields, `replace`, `asdict`, slots and patterns, and to type checkers
it is the standard one. Only who asks for a signature before there is an instance hears nothing of the arguments.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_OURS = {"frozen", "slots", "kw_only"}
"""Whoever wants anything else is served by the standard library."""


def _quick(cls: type | None = None, /, **options: bool) -> Any:
    if cls is None:
        return lambda each: _quick(each, **options)
    if not options.get("frozen") or options.keys() - _OURS:
        return dataclasses.dataclass(**options)(cls)
    own = {name for name in vars(cls) if name != "__hash__" or vars(cls)[name] is not None}
    options = {name: value for name, value in options.items() if name != "frozen"}
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    fields = dataclasses.fields(made)
    functions = {
        "__init__": _first(made, fields),
        "__repr__": _repr,
        **_comparison([each.name for each in fields if each.compare]),
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": _state,
        "__setstate__": _set_state,
    }
    for name in functions.keys() - own:
        setattr(made, name, functions[name])
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _quick


def _first(made: Any, fields: "tuple[dataclasses.Field[Any], ...]") -> Callable[..., None]:
    """What makes the first instance of a class, and has the others made by its own constructor."""

    def __init__(self: object, *arguments: object, **named: object) -> None:  # noqa: N807
        made.__init__ = constructor = _constructor(fields, then=hasattr(made, "__post_init__"))
        constructor(self, *arguments, **named)

    return __init__


def _constructor(fields: "tuple[dataclasses.Field[Any], ...]", *, then: bool) -> Callable[..., None]:
    """Written and compiled for one class, so that making an instance is as quick as ever; `then`: post-init."""
    known: dict[str, Any] = {"_put": object.__setattr__, "_MISSING": MISSING}
    in_order: list[str] = []
    by_name: list[str] = []
    lines = []
    for each in fields:
        value = each.name
        if each.default_factory is not MISSING:
            known[f"_make_{each.name}"] = each.default_factory
            value = f"_make_{each.name}()"
            if each.init:
                value = f"{value} if {each.name} is _MISSING else {each.name}"
            default = "=_MISSING"
        elif each.default is not MISSING:
            known[f"_default_{each.name}"] = each.default
            default = f"=_default_{each.name}"
        else:
            default = ""
        if each.init:
            (by_name if each.kw_only else in_order).append(f"{each.name}{default}")
        elif each.default_factory is MISSING:
            if each.default is MISSING:
                continue
            value = f"_default_{each.name}"
        lines.append(f" _put(self, {each.name!r}, {value})")
    if then:
        lines.append(" self.__post_init__()")
    arguments = ", ".join(["self", *in_order, *(["*", *by_name] if by_name else [])])
    # The names are those of a class of ours, as they stand in the source.
    exec(f"def __init__({arguments}):\n" + ("\n".join(lines) or " pass"), known)  # noqa: S102
    made: Callable[..., None] = known["__init__"]
    made.__annotations__ = {each.name: each.type for each in fields if each.init} | {"return": None}
    return made


def _comparison(names: list[str]) -> dict[str, Callable[..., Any]]:
    of: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        return of(self) == of(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(of(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
