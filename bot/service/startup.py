"""Checks before the service starts, so that it starts completely or fails with one line; and signals."""

import asyncio
import errno
import gc
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bot.access import TERMINAL
from bot.cannot_start import CannotStart
from bot.config.settings import Settings
from memory.disk import make_private_folder

MAX_SHUTDOWN_SECONDS = 9.0
"""Seconds after a request to leave until the program is ended in any case."""


def stdin_is_a_channel() -> bool:
    """Return whether standard input may be a conversation: our terminal or a pipe, but not a file or /dev/null."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    if os.isatty(0):
        return not _in_background()
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)  # some programs use sockets as pipes


def _in_background() -> bool:
    """Return whether another program has the terminal; reading from it would stop this one."""
    try:
        return os.tcgetpgrp(0) != os.getpgrp()
    except OSError:  # not this session's terminal, so reading does not stop us
        return False


@contextmanager
def hold_workspace(settings: Settings) -> Iterator[None]:
    """Lock the workspace against other services, which would poll the same bots.

    With `index.url`, services share the workspace and coordinate by leases; the lock then only keeps off services
    without it. Raises CannotStart.
    """
    from bot.process_lock import AlreadyRunning, hold_service_lock

    private = settings.private_folder
    with ExitStack() as stack:
        try:
            stack.enter_context(
                hold_service_lock(private / "locks", shared=bool(settings.index.url.get_secret_value()))
            )
        except AlreadyRunning as other:
            raise CannotStart(
                f"the workspace {settings.workspace} is already in use by {other}, or set workspace to another "
                "folder for this service; `commonplace chat` works beside it"
            ) from None
        except OSError as error:
            raise _cannot_use_folder(private, error) from error
        yield


def check_folders(settings: Settings) -> None:
    """Create the workspace's folders and check that they are writable. Raises CannotStart."""
    for folder in (settings.memory_folder, settings.private_folder):
        try:
            make_private_folder(folder.parent if folder == settings.memory_folder else folder)
            folder.mkdir(exist_ok=True)
            if folder == settings.private_folder:
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(b"\n")
            elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                is_read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
                refusal = errno.EROFS if is_read_only else errno.EACCES
                raise OSError(refusal, os.strerror(refusal))
        except OSError as error:
            raise _cannot_use_folder(folder, error) from error


def _cannot_use_folder(folder: Path, error: OSError) -> CannotStart:
    return CannotStart(
        f"the folder {folder} cannot be used: {error.strerror or error}; fix that, or set workspace to another folder"
    )


def check_channels(settings: Settings) -> None:
    """Check tokens from the environment, and that access rules name existing channels. Raises CannotStart.

    Tokens in the settings were checked earlier.
    """
    channels = settings.channels
    for section in channels.values():
        if fault := section.explain_invalid_token():
            raise CannotStart(f"{section.variable} is invalid: it must be {fault}")
    for key, entry in settings.access.entries():
        if entry.partition(":")[0] not in (*channels, TERMINAL):
            raise CannotStart(
                f"{key} has {entry!r}, which matches nobody: the channels are "
                f"{' and '.join(channels)}; use one of them, or remove the entry"
            )


def freeze_garbage_collector() -> None:
    """Exclude everything that exists now from garbage collection, and enable the collector.

    These objects live until the end. Collecting during the imports would take a fifth of the start's CPU time and
    find almost nothing.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def stop_at_end_of_input() -> None:
    """Leave as on SIGTERM when standard input ends: the process at its other end has left or died."""
    loop = asyncio.get_running_loop()

    def look() -> None:
        try:
            ended = not os.read(0, 4096)
        except BlockingIOError:
            return
        except OSError:
            ended = True
        if ended:
            loop.remove_reader(0)
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        loop.add_reader(0, look)
    except OSError:  # a file or /dev/null, so nobody is there
        os.kill(os.getpid(), signal.SIGTERM)


def stop_on_signals() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set; a second signal or `MAX_SHUTDOWN_SECONDS` end the program at once.

    Does not use the event loop's signal handlers, which cannot run while the loop is blocked by an unread log.
    """
    leaving = asyncio.Event()
    loop = asyncio.get_running_loop()
    is_leaving = False

    def leave(*_: object) -> None:
        nonlocal is_leaving
        if is_leaving or loop.is_closed():
            os._exit(0)
        is_leaving = True
        # A thread in long work would delay the exit; files on disk survive being interrupted.
        watchdog = threading.Timer(MAX_SHUTDOWN_SECONDS, os._exit, (0,))
        watchdog.daemon = True
        watchdog.start()
        loop.call_soon_threadsafe(leaving.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    return leaving
