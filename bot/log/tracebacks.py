"""Format errors for the log: their type and location, never text written by users."""

import asyncio
import json
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from bot.sanitize import strip_controls

OUR_PACKAGES = ("adapters", "bot", "memory")
"""Packages whose exception texts we wrote ourselves."""
TRUSTED_MODULES = {"builtins", "ssl", "socket", "asyncio.exceptions", "json.decoder"}
TRUSTED_ERRORS = (
    ArithmeticError,
    asyncio.InvalidStateError,
    AttributeError,
    EOFError,
    ImportError,
    IndexError,
    json.JSONDecodeError,
    MemoryError,
    NameError,
    OSError,
    RuntimeError,
    StopAsyncIteration,
    TypeError,
    UnicodeError,
)
"""Built-in errors whose texts name only code, files and addresses. KeyError, ValueError and most libraries' errors
quote the bad value, which may be part of a message, so their texts are left out."""
MAX_FRAMES = 60
MAX_CAUSES = 8
MAX_GROUP_ERRORS = 5
CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
DURING_HANDLING = "\nDuring handling of the above exception, another exception occurred:\n\n"


def error_location(error: BaseException) -> str:
    """Return an error's type and location, such as `KeyError in menu.py, register`."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    code = trace.tb_frame.f_code if trace else None
    place = f" in {Path(code.co_filename).name}, {code.co_name}" if code else ""
    return f"{type(error).__name__}{place}"


def error_summary(error: BaseException) -> str:
    """Return `TypeError: …`, or only the type if the text may contain user data."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    is_ours = kind.__module__.partition(".")[0] in OUR_PACKAGES
    if not is_ours and not (kind.__module__ in TRUSTED_MODULES and isinstance(error, TRUSTED_ERRORS)):
        return name
    try:
        text = strip_controls(str(error)).strip()
    except Exception:  # noqa: BLE001 - an error whose str() fails
        return name
    return f"{name}: {text}".replace("\n", "\n    ") if text else name


def format_traceback(error: BaseException) -> str:
    """Return a traceback with its causes, like Python's own, but with `error_summary` as texts."""
    return "".join(_causes(error, set())).rstrip("\n")


def _causes(error: BaseException, seen: set[int]) -> Iterator[str]:
    """Yield the formatted chain, the first cause first."""
    chain: list[tuple[str, BaseException]] = []
    link: str = ""
    following: BaseException | None = error
    while following is not None and id(following) not in seen and len(chain) < MAX_CAUSES:
        seen.add(id(following))
        chain.append((link, following))
        if following.__cause__ is not None:
            link, following = CAUSED, following.__cause__
        elif not following.__suppress_context__:
            link, following = DURING_HANDLING, following.__context__
        else:
            following = None
    for link, each in reversed(chain):
        yield from _format_single(each, seen)
        yield link


def _format_single(error: BaseException, seen: set[int]) -> Iterator[str]:
    if error.__traceback__:
        yield "Traceback (most recent call last):\n"
        yield from _format_frames(error.__traceback__)
    yield f"{error_summary(error)}\n"
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions[:MAX_GROUP_ERRORS]:
            if id(each) not in seen:
                within = "".join(_causes(each, seen)).rstrip("\n")
                yield "  | " + within.replace("\n", "\n  | ") + "\n"
        if (left := len(error.exceptions) - MAX_GROUP_ERRORS) > 0:
            yield f"  | and {left} more\n"


def _format_frames(trace: TracebackType) -> Iterator[str]:
    frames = traceback.extract_tb(trace)
    if len(frames) > MAX_FRAMES:  # keep both ends
        half = MAX_FRAMES // 2
        yield from traceback.StackSummary.from_list(list(frames[:half])).format()
        yield f"  … {len(frames) - 2 * half} more …\n"
        frames = traceback.StackSummary.from_list(list(frames[-half:]))
    yield from frames.format()
