"""Translates PostgreSQL's errors to the memory's own."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from memory.errors import IndexCorrupted, IndexUnavailable
from memory.translatable import Translatable


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
        raise IndexCorrupted(
            quote_server(Translatable("the index on {server} is damaged", server=shown), first_line(error))
        ) from error
    except errors.InsufficientPrivilege as error:
        raise IndexUnavailable(
            "{server} denies access: {error}; ask its owner to grant this user CREATE on the database",
            server=shown,
            error=first_line(error),
        ) from error
    except errors.ReadOnlySqlTransaction as error:
        raise IndexUnavailable(
            "{server} is a read-only replica: list all hosts in index.url, and add "
            "?target_session_attrs=read-write",
            server=shown,
        ) from error
    except errors.DiskFull as error:
        raise IndexUnavailable(
            quote_server(Translatable("{server} has no disk space left", server=shown), first_line(error))
        ) from error
    except (
        errors.LockNotAvailable,
        errors.QueryCanceled,
        errors.DeadlockDetected,
        errors.SerializationFailure,
    ) as error:
        raise IndexUnavailable(
            quote_server(Translatable("{server} took too long", server=shown), first_line(error))
        ) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        told = first_line(error)
        if "authentication failed" in told or "no pg_hba.conf entry" in told:
            raise ServerUnreachable(
                quote_server(
                    Translatable(
                        "{server} rejects the login; correct user or password in index.url", server=shown
                    ),
                    told,
                )
            ) from error
        if told.startswith("database ") and told.endswith(" does not exist"):
            raise ServerUnreachable(
                "{server}: {error}; create it there, or correct index.url", server=shown, error=told
            ) from error
        raise ServerUnreachable(
            quote_server(Translatable("{server} does not answer", server=shown), told)
        ) from error
    except psycopg.Error as error:
        raise IndexUnavailable(
            "{server} reports an error: {error}", server=shown, error=first_line(error)
        ) from error


def quote_server(failure: Translatable, server_said: str) -> Translatable:
    """Return a failure with the server's own message, which `redact_server_address` leaves out again."""
    return Translatable("{failure} ({server_said})", failure=failure, server_said=server_said)


_PLACE = re.compile(
    r'connection failed: |connection to server (?:at|on socket) "[^"]*"(?: \([^)]*\))?(?:, port \d+)? failed: '
)
"""The part of a message in which libpq repeats the server's address."""


def first_line(error: BaseException) -> str:
    """Return the message's first line without its final punctuation."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = _PLACE.sub("", lines[0]) if lines else type(error).__name__
    return told.removeprefix("FATAL:").removeprefix("ERROR:").strip().rstrip(".")
