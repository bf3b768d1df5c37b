"""Undo a command's changes to its process's logging."""

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from memory.redaction import Redaction, set_redaction


@contextmanager
def restore_logging() -> Iterator[None]:
    """Restore handlers, levels, the record factory and exception hooks on exit."""
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
