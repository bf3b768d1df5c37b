"""Errors as the log tells them: what kind, and where; never what somebody wrote."""

import asyncio
import json
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from bot.plain_text import without_controls

OURS = ("adapters", "bot", "memory")
"""Whose exceptions say in their text what is wrong, in words of ours."""
LIBRARIES = {"builtins", "ssl", "socket", "asyncio.exceptions", "json.decoder"}
HARMLESS = (
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
"""Of Python itself, whose texts name parts of a program, files and addresses. Those of KeyError and ValueError quote
what was wrong, and so do those of most libraries: that may be a piece of a message, and is left out."""
MOST_FRAMES = 60
MOST_IN_A_CHAIN = 8
MOST_IN_A_GROUP = 5
CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
MEANWHILE = "\nDuring handling of the above exception, another exception occurred:\n\n"


def where(error: BaseException) -> str:
    """What kind of error, and where in the program: `KeyError in menu.py, register`."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    code = trace.tb_frame.f_code if trace else None
    place = f" in {Path(code.co_filename).name}, {code.co_name}" if code else ""
    return f"{type(error).__name__}{place}"


def told(error: BaseException) -> str:
    """`TypeError: …`; the kind alone where the text may hold what somebody wrote."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    is_ours = kind.__module__.partition(".")[0] in OURS
    if not is_ours and not (kind.__module__ in LIBRARIES and isinstance(error, HARMLESS)):
        return name
    try:
        text = without_controls(str(error)).strip()
    except Exception:  # noqa: BLE001 - an error that cannot even be told
        return name
    return f"{name}: {text}".replace("\n", "\n    ") if text else name


def traceback_of(error: BaseException) -> str:
    """The way to an error and what it came of, like Python's own traceback, but with `told` for its texts."""
    return "".join(_chain(error, set())).rstrip("\n")


def _chain(error: BaseException, seen: set[int]) -> Iterator[str]:
    """The first cause first."""
    chain: list[tuple[str, BaseException]] = []
    link: str = ""
    following: BaseException | None = error
    while following is not None and id(following) not in seen and len(chain) < MOST_IN_A_CHAIN:
        seen.add(id(following))
        chain.append((link, following))
        if following.__cause__ is not None:
            link, following = CAUSED, following.__cause__
        elif not following.__suppress_context__:
            link, following = MEANWHILE, following.__context__
        else:
            following = None
    for link, each in reversed(chain):
        yield from _alone(each, seen)
        yield link


def _alone(error: BaseException, seen: set[int]) -> Iterator[str]:
    if error.__traceback__:
        yield "Traceback (most recent call last):\n"
        yield from _frames(error.__traceback__)
    yield f"{told(error)}\n"
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions[:MOST_IN_A_GROUP]:
            if id(each) not in seen:
                within = "".join(_chain(each, seen)).rstrip("\n")
                yield "  | " + within.replace("\n", "\n  | ") + "\n"
        if (left := len(error.exceptions) - MOST_IN_A_GROUP) > 0:
            yield f"  | and {left} more\n"


def _frames(trace: TracebackType) -> Iterator[str]:
    frames = traceback.extract_tb(trace)
    if len(frames) > MOST_FRAMES:  # the way in, and the place itself
        half = MOST_FRAMES // 2
        yield from traceback.StackSummary.from_list(list(frames[:half])).format()
        yield f"  … {len(frames) - 2 * half} more …\n"
        frames = traceback.StackSummary.from_list(list(frames[-half:]))
    yield from frames.format()
