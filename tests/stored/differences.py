"""What a JSON document lacks of an earlier one."""

from collections.abc import Mapping
from typing import Any


def differences(before: Any, after: Any, place: str = "") -> list[str]:
    """Return where `after` lacks something of `before`; what is new in it is no difference."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return [
            found
            for key, value in before.items()
            for found in differences(value, after.get(key, "(missing)"), f"{place}/{key}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            found
            for number, (old, new) in enumerate(zip(before, after, strict=True))
            for found in differences(old, new, f"{place}/{number}")
        ]
    return [] if before == after else [f"{place}: {before!r} became {after!r}"]
