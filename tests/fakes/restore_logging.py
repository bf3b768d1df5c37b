"""Logging as it was: what a command does to its whole process, undone."""

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from memory.redaction import Redaction, set_redaction


@contextmanager
def restore_logging() -> Iterator[None]:
    """Undo what is done meanwhile: handlers, levels, how records are made, where uncaught errors go."""
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    factory = logging.getLogRecordFactory()
    redaction = set_redaction(Redaction())
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    hang_up = signal.getsignal(signal.SIGHUP)
    try:
        yield
    finally:
        for handler in set(root.handlers) - set(handlers):
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.raiseExceptions = raising
        logging.setLogRecordFactory(factory)
        set_redaction(redaction)
        logging.captureWarnings(False)
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
        signal.signal(signal.SIGHUP, hang_up)
