"""Log what Python would print to standard error: warnings and uncaught errors."""

import asyncio
import logging
import sys
import threading
from types import TracebackType
from typing import Any

from bot.log.throttle import Throttle
from bot.log.tracebacks import error_location

log = logging.getLogger(__name__)


def install_excepthooks() -> None:
    """Log this process's warnings and uncaught errors, including those of the running event loop, if any.

    An error that repeats is logged once a minute.
    """
    hooks = _ExceptHooks()
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = hooks.on_thread_error
    sys.unraisablehook = hooks.on_unraisable
    try:
        asyncio.get_running_loop().set_exception_handler(hooks.on_loop_error)
    except RuntimeError:  # no loop is running
        return


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    log.critical("uncaught error", exc_info=(kind, error, trace))


class _ExceptHooks:
    def __init__(self) -> None:
        self._repeats = Throttle()

    def on_thread_error(self, arguments: threading.ExceptHookArgs) -> None:
        name = arguments.thread.name if arguments.thread else "(ended)"
        error = arguments.exc_value or arguments.exc_type()
        if not isinstance(error, SystemExit):
            self._log(f"thread {name} failed", error)

    def on_unraisable(self, unraisable: "sys.UnraisableHookArgs") -> None:
        # Not repr(): that of a coroutine or message may contain private text.
        name = getattr(unraisable.object, "__qualname__", type(unraisable.object).__qualname__)
        prefix = unraisable.err_msg or "Exception ignored in"
        self._log(f"{prefix} {name}", unraisable.exc_value)

    def on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log like asyncio's own handler, but without reprs of tasks and callbacks, which contain their arguments."""
        del loop
        message = str(context.get("message") or "an error in the event loop").partition("(")[0].rstrip()
        task = context.get("task") or context.get("future")
        name = f" ({task.get_name()})" if isinstance(task, asyncio.Task) else ""
        error = context.get("exception")
        self._log(f"asyncio: {message}", error if isinstance(error, BaseException) else None, detail=name)

    def _log(self, message: str, error: BaseException | None, *, detail: str = "") -> None:
        """Log an error unless it repeats too soon; `detail`: text that may differ each time, such as a task's name."""
        if (before := self._repeats.check((message, error_location(error) if error else ""))) is not None:
            log.error("%s%s%s", message, detail, before, exc_info=error)
