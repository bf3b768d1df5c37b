import asyncio
import gc
import json
import sys
import threading
import warnings
from typing import Any

import pytest

from bot.log import log_to_stderr

SECRET = "hunter2-longer"
WORDS = "what Anna wrote"


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    shown = capsys.readouterr().err
    assert SECRET not in shown
    assert WORDS not in shown
    return [json.loads(line) for line in shown.splitlines()]


@pytest.fixture(autouse=True)
def log(capsys: pytest.CaptureFixture[str]) -> None:
    del capsys  # which is to be there first
    log_to_stderr("info", secrets=[SECRET])


def test_warnings_go_to_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(f"the key {SECRET} is old", stacklevel=1)
    (line,) = lines(capsys)
    assert (line["level"], line["logger"]) == ("warning", "py.warnings")
    assert "the key *** is old" in line["message"]


def test_what_nobody_has_caught_goes_to_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    error = OSError(SECRET)
    sys.excepthook(OSError, error, None)
    (line,) = lines(capsys)
    assert (line["level"], line["exception"]) == ("critical", "OSError: ***")


def test_a_thread_that_breaks_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        raise OSError(SECRET)

    thread = threading.Thread(target=work, name="reader")
    thread.start()
    thread.join()
    (line,) = lines(capsys)
    assert line["message"] == "thread reader failed"
    assert line["exception"].endswith("OSError: ***")


def test_an_error_that_cannot_be_raised_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    class Note:
        def __init__(self) -> None:
            self.text = WORDS

        def __repr__(self) -> str:
            return self.text

        def __del__(self) -> None:
            raise KeyError(self.text)

    Note()
    gc.collect()
    (line,) = lines(capsys)
    assert "Note.__del__" in line["message"]
    assert line["exception"].endswith("KeyError")


async def test_what_the_event_loop_has_to_tell_goes_to_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", secrets=[SECRET])  # with a loop that runs

    async def answer(text: str) -> None:
        raise KeyError(text)

    def show(text: str) -> None:
        raise OSError(SECRET)

    task = asyncio.create_task(answer(WORDS), name="answering")
    asyncio.get_running_loop().call_soon(show, WORDS)
    await asyncio.sleep(0.01)
    del task
    gc.collect()
    await asyncio.sleep(0)
    first, second = lines(capsys)
    assert first["message"] == f"asyncio: Exception in callback {show.__qualname__}"
    assert first["exception"].endswith("OSError: ***")
    assert second["message"] == "asyncio: Task exception was never retrieved (answering)"
    assert second["exception"].endswith("KeyError")


async def test_an_error_that_comes_again_and_again_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", secrets=[SECRET])
    loop = asyncio.get_running_loop()

    def fail() -> None:
        raise OSError(24, "Too many open files")

    async def answer(number: int) -> None:
        raise LookupError(number)

    for _ in range(300):
        loop.call_soon(fail)
    tasks = [asyncio.create_task(answer(number), name=f"answering {number}") for number in range(300)]
    await asyncio.wait(tasks)
    del tasks
    gc.collect()
    await asyncio.sleep(0)
    first, second = lines(capsys)
    assert "Too many open files" in first["exception"]
    assert second["message"].startswith("asyncio: Task exception was never retrieved (answering ")
