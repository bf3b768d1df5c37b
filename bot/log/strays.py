"""What Python would print past the log: warnings, and errors that nobody has caught."""

import asyncio
import logging
import sys
import threading
from types import TracebackType
from typing import Any

log = logging.getLogger(__name__)


def catch_strays() -> None:
    """Have warnings and uncaught errors of this process go to the log; of the running event loop, if there is one."""
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = _of_a_thread
    sys.unraisablehook = _unraisable
    try:
        asyncio.get_running_loop().set_exception_handler(_of_the_loop)
    except RuntimeError:  # none is running
        return


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    log.critical("nobody has caught an error", exc_info=(kind, error, trace))


def _of_a_thread(arguments: threading.ExceptHookArgs) -> None:
    name = arguments.thread.name if arguments.thread else "that has ended"
    error = arguments.exc_value or arguments.exc_type()
    if not isinstance(error, SystemExit):
        log.error("the thread %s broke", name, exc_info=error)


def _unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    # Not the object's own form: of a coroutine or a message that may be all that is in it.
    name = getattr(unraisable.object, "__qualname__", type(unraisable.object).__qualname__)
    told = unraisable.err_msg or "Exception ignored in"
    log.error("%s %s", told, name, exc_info=unraisable.exc_value)


def _of_the_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Like asyncio's own, but without the forms of tasks and callbacks: what these were called with is in them."""
    del loop
    message = str(context.get("message") or "an error in the event loop").partition("(")[0].rstrip()
    task = context.get("task") or context.get("future")
    name = f" ({task.get_name()})" if isinstance(task, asyncio.Task) else ""
    error = context.get("exception")
    log.error("asyncio: %s%s", message, name, exc_info=error if isinstance(error, BaseException) else None)
