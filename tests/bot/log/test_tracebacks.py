import asyncio
import json
from collections.abc import Callable

from bot.log.tracebacks import MAX_FRAMES, error_location, error_summary, format_traceback
from memory.errors import MemoryFault
from tests.fakes.table_test import table_test

WORDS = "what Anna wrote"


def caught(work: Callable[[], object]) -> BaseException:
    try:
        work()
    except BaseException as error:  # noqa: BLE001
        return error
    raise AssertionError


@table_test(
    "work",
    [
        lambda: dict[str, str]()[WORDS],
        lambda: int(WORDS),
        lambda: list[str]().index(WORDS),
        lambda: (_ for _ in ()).throw(Exception(WORDS)),
        lambda: (_ for _ in ()).throw(type("Foreign", (TypeError,), {"__module__": "telegram.error"})(WORDS)),
        lambda: json.loads(f'"{WORDS}'),
        lambda: WORDS.encode("utf-8").decode("utf-16"),
    ],
)
def test_what_somebody_wrote_is_never_in_a_traceback(work: Callable[[], object]) -> None:
    error = caught(work)
    group = ExceptionGroup("several", [ValueError(WORDS), KeyError(WORDS)])
    try:
        raise group from error
    except ExceptionGroup as outer:
        shown = format_traceback(outer)
    assert WORDS not in shown
    assert type(error).__qualname__ in shown
    assert "test_tracebacks.py" in shown
    assert "  | ValueError" in shown


def test_errors_of_ours_and_of_the_interpreter_keep_their_text() -> None:
    assert (
        error_summary(MemoryFault("there is no note a.md"))
        == "memory.errors.MemoryFault: there is no note a.md"
    )
    assert error_summary(caught(lambda: None.x)) == "AttributeError: 'NoneType' object has no attribute 'x'"  # type: ignore[attr-defined]
    assert (
        error_summary(OSError(2, "No such file", "a.md"))
        == "FileNotFoundError: [Errno 2] No such file: 'a.md'"
    )
    assert error_summary(TimeoutError()) == "TimeoutError"
    assert error_summary(asyncio.CancelledError()) == "asyncio.exceptions.CancelledError"


def test_the_way_to_an_error_is_told_with_what_it_came_of() -> None:
    def fetch() -> None:
        try:
            raise OSError("refused")
        except OSError as error:
            raise RuntimeError("it broke") from error

    error = caught(fetch)
    assert error_location(error) == "RuntimeError in test_tracebacks.py, fetch"
    shown = format_traceback(error)
    first, second = shown.split("\nThe above exception was the direct cause of the following exception:\n\n")
    assert first.startswith("Traceback (most recent call last):\n")
    assert first.endswith("OSError: refused\n")
    assert second.endswith("RuntimeError: it broke")


def test_an_endless_way_is_told_in_short() -> None:
    def down(depth: int) -> object:
        return up(depth)

    def up(depth: int) -> object:
        return down(depth + 1)

    shown = format_traceback(caught(lambda: down(0)))
    assert shown.count("\n") < 4 * MAX_FRAMES
    assert " more …" in shown


def test_errors_that_came_of_each_other_come_to_an_end() -> None:
    first, second = ValueError("a"), TypeError("b")
    first.__context__, second.__context__ = second, first
    assert format_traceback(first).count("ValueError") == 1


class Untold(RuntimeError):
    __module__ = "bot.x"

    def __str__(self) -> str:
        raise ZeroDivisionError


def test_an_error_that_cannot_be_told_is_still_named() -> None:
    assert error_summary(Untold()) == "bot.x.Untold"
