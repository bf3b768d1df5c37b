"""Where log lines go: to standard error for people to read, with no secret in them."""

import fcntl
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from bot.config import Settings
from bot.plain_text import without_controls
from memory.embeddings.table import PROVIDERS
from memory.redaction import secret_of_address, without_secrets

CHAT_LOG_BYTES = 5_000_000
"""When it has grown to this, the file is called `….1` and a new one is begun."""
CHAT_LOGS_KEPT = 3
TOKENS = ("HF_TOKEN", "TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN")
"""Secrets of the environment beside keys, whether they are used or not."""
TALKATIVE = ("httpcore", "httpx")
"""Libraries that tell of every request at INFO, with its whole address, in which some services put the key."""


class _Lines(logging.Formatter):
    """`2026-11-21 10:15:02 info bot.app: …`; secrets blanked out, nothing that drives a terminal."""

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return without_controls(without_secrets(super().format(record), self._secrets))


class _ToStderr(logging.Handler):
    """Looks standard error up at each line: while somebody is typing, another stream stands in for it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # closed, or the disk is full
            self.handleError(record)


class _ToSharedFile(logging.Handler):
    """Adds each line to a file that other processes write to as well; made when there is one to write.

    Not logging's own rotating file: that keeps the file open, so that of two processes each goes on writing to one
    that the other has put aside, and the next to rotate throws away what the first has written since.
    """

    def __init__(self, path: Path, *, most_bytes: int, kept: int) -> None:
        super().__init__()
        self._path = path
        self._most_bytes = most_bytes
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            # For its owner alone, as the conversations are: a traceback may quote them.
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
                if os.fstat(fd).st_size >= self._most_bytes:
                    self._rotate(fd)
            finally:
                os.close(fd)
        except (OSError, ValueError):  # the folder is gone, or the disk is full
            self.handleError(record)

    def _rotate(self, fd: int) -> None:
        """Put the file aside, once: whoever else has come so far leaves it to us, or finds another file there."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if not os.path.samestat(os.fstat(fd), self._path.stat()):
            return
        names = [self._path, *(Path(f"{self._path}.{number}") for number in range(1, self._kept + 1))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)


def log_to_stderr(level: str, *, secrets: Iterable[str] = ()) -> None:
    """Log for a service: every line from `level` on (a lower-case name) goes to standard error."""
    _replace_handlers(_ToStderr(), level, secrets)


def log_to_file(path: Path, *, level: str = "warning", secrets: Iterable[str] = ()) -> None:
    """Log where a person sits at the terminal: lines go to a small file, made when there is one to write."""
    handler = _ToSharedFile(path, most_bytes=CHAT_LOG_BYTES, kept=CHAT_LOGS_KEPT)
    _replace_handlers(handler, level, secrets)


def _replace_handlers(handler: logging.Handler, level: str, secrets: Iterable[str]) -> None:
    handler.setFormatter(_Lines(tuple(secrets)))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a log that cannot be written must not take the program with it


def secrets_of(settings: Settings) -> list[str]:
    """Every secret of the settings, and the keys in the environment that count too, for the log to blank out."""
    from pydantic import BaseModel, SecretStr

    found: list[str] = []

    def collect(value: object) -> None:
        match value:
            case SecretStr():
                found.append(value.get_secret_value())
            case str():
                found.append(secret_of_address(value))
            case BaseModel():
                for _, each in value:
                    collect(each)
            case dict():
                for each in value.values():
                    collect(each)
            case list() | tuple():
                for each in value:
                    collect(each)

    collect(settings)
    variables = {variable for row in PROVIDERS.values() for variable in row.key_variables}
    variables |= {
        variable for variable in os.environ if variable.endswith("_API_KEY")
    }  # of any chat provider
    found += [os.environ.get(variable, "") for variable in (*sorted(variables), *TOKENS)]
    found.append(secret_of_address(os.environ.get("HF_ENDPOINT", "")))
    return [secret for secret in dict.fromkeys([*found, *map(str.strip, found)]) if secret.strip()]
