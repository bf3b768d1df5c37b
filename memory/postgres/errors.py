"""Translates PostgreSQL's errors to the memory's own."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from memory.errors import IndexCorrupted, IndexUnavailable


class ServerUnreachable(IndexUnavailable):
    """The server cannot be reached or closed the connection; the running statement may or may not be done."""


class ServerClosed(IndexUnavailable):
    """We closed the server ourselves; it cannot be used any more."""

    def __init__(self) -> None:
        super().__init__("the memory was closed")


@contextmanager
def translate_errors(shown: str) -> Iterator[None]:
    """Translate psycopg's errors to the memory's own; `shown` is the server's address without secrets.

    Raises `ServerUnreachable`, `IndexUnavailable`, `IndexCorrupted`.
    """
    import psycopg
    from psycopg import errors

    try:
        yield
    except (
        errors.DataCorrupted,
        errors.IndexCorrupted,
        errors.UndefinedTable,
        errors.UndefinedColumn,
    ) as error:
        raise IndexCorrupted(f"the index on {shown} is damaged ({first_line(error)})") from error
    except errors.InsufficientPrivilege as error:
        raise IndexUnavailable(
            f"{shown} denies access: {first_line(error)}; ask its owner to grant this user CREATE on the database"
        ) from error
    except errors.ReadOnlySqlTransaction as error:
        raise IndexUnavailable(
            f"{shown} is a read-only replica: list all hosts in index.url, and add ?target_session_attrs=read-write"
        ) from error
    except errors.DiskFull as error:
        raise IndexUnavailable(f"{shown} has no disk space left ({first_line(error)})") from error
    except (
        errors.LockNotAvailable,
        errors.QueryCanceled,
        errors.DeadlockDetected,
        errors.SerializationFailure,
    ) as error:
        raise IndexUnavailable(f"{shown} took too long ({first_line(error)})") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        told = first_line(error)
        if "authentication failed" in told or "no pg_hba.conf entry" in told:
            raise ServerUnreachable(
                f"{shown} rejects the login ({told}); correct user or password in index.url"
            ) from error
        if told.startswith("database ") and told.endswith(" does not exist"):
            raise ServerUnreachable(f"{shown}: {told}; create it there, or correct index.url") from error
        raise ServerUnreachable(f"{shown} does not answer ({told})") from error
    except psycopg.Error as error:
        raise IndexUnavailable(f"{shown} reports an error: {first_line(error)}") from error


_PLACE = re.compile(
    r'connection failed: |connection to server (?:at|on socket) "[^"]*"(?: \([^)]*\))?(?:, port \d+)? failed: '
)
"""The part of a message in which libpq repeats the server's address."""


def first_line(error: BaseException) -> str:
    """Return the message's first line without its final punctuation."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = _PLACE.sub("", lines[0]) if lines else type(error).__name__
    return told.removeprefix("FATAL:").removeprefix("ERROR:").strip().rstrip(".")
