"""`commonplace backup`, `restore` and `export`."""

import argparse
import asyncio
import gc
import logging
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bot.cli.outcome import DONE, CommandFailed, WrongUsage
from bot.config.settings import Settings
from bot.sanitize import escape_json_controls, strip_controls
from memory import disk
from memory.quantities import format_size


def run_backup_command(options: argparse.Namespace, settings: Settings) -> int:
    """Run the command, print the result, and return the exit code. Raises CommandFailed and WrongUsage."""
    logging.getLogger().addHandler(logging.NullHandler())  # on failure, standard error gets a single line
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # so that no half archive is left
    match options.command:
        case "restore":
            return _restore(options, settings)
        case "backup":
            if not (settings.memory_folder.is_dir() or settings.private_folder.is_dir()):
                raise CommandFailed(f"there is nothing to back up in {settings.workspace} yet")
            with block_restore(settings):
                return asyncio.run(_backup(options, settings))
        case _:
            if not (settings.private_folder / "state.db").is_file():
                raise CommandFailed(f"there are no conversations in {settings.workspace} yet")
            if options.out is not None:
                _make_folder(options.out)
            with block_restore(settings):
                return asyncio.run(_export(options, settings))


@contextmanager
def block_restore(settings: Settings) -> Iterator[None]:
    """Keep a restore from replacing the files while they are read. Raises CommandFailed."""
    from bot.process_lock import RESTORE_UNFINISHED, ProcessLock, is_unfinished

    with ExitStack() as stack:
        try:
            stack.enter_context(ProcessLock(settings.private_folder / "locks"))
        except OSError as error:
            raise CommandFailed(f"{settings.private_folder} can't be used: {disk.reason(error)}") from error
        if is_unfinished(settings.private_folder):
            raise CommandFailed(RESTORE_UNFINISHED)
        yield


async def _backup(options: argparse.Namespace, settings: Settings) -> int:
    from bot.archives.backup import Backups
    from bot.archives.errors import BackupError

    backups = Backups(notes=settings.memory_folder, private=settings.private_folder, now=settings.now)
    try:
        made = await backups.make(options.file)
    except BackupError as fault:
        raise CommandFailed(str(fault)) from fault
    if made.problems:
        raise CommandFailed(
            f"the backup {made.file} was written, but {len(made.problems)} files are missing: "
            f"{'; '.join(made.problems)}"
        )
    _print(f"Wrote {made.file} (files: {made.files}, size: {format_size(made.size)}).")
    return DONE


def _restore(options: argparse.Namespace, settings: Settings) -> int:
    from bot.archives.errors import BackupError
    from bot.archives.restore import restore

    try:
        done = restore(
            options.file, notes=settings.memory_folder, private=settings.private_folder, now=settings.now
        )
    except BackupError as fault:
        raise CommandFailed(str(fault)) from fault
    what = "Finished an interrupted restore: the backup" if done.resumed else "Restored the backup"
    kept = f" The previous state is kept in {done.kept}." if done.kept else ""
    _print(f"{what} of {done.made_at} (files: {done.files}).{kept}")
    return DONE


async def _export(options: argparse.Namespace, settings: Settings) -> int:
    from bot.archives.export import format_json_lines, format_markdown, list_conversations
    from bot.open_state import open_state
    from bot.state.database import StateFault

    try:
        async with open_state(settings) as state:
            conversations = await list_conversations(state, options.chat or "")
            if not conversations and options.chat:
                chats = sorted({each.chat for each in await list_conversations(state)})
                there = f"the chats are: {', '.join(chats)}" if chats else "there are no conversations yet"
                raise CommandFailed(f"there is no conversation in {options.chat}; {there}")
            for each in conversations:
                pieces = (
                    format_json_lines(state, each)
                    if options.json
                    else format_markdown(state, each, assistant=settings.agent.name, zone=settings.zone)
                )
                if options.out is None:
                    await _print_all(pieces, json=options.json)
                else:
                    await _write_all(
                        pieces, options.out, _file_name(each.chat, each.number), json=options.json
                    )
    except StateFault as fault:
        raise CommandFailed(str(fault)) from fault
    if options.out is not None:
        _print(f"Wrote {len(conversations)} conversation{'s'[: len(conversations) != 1]} to {options.out}.")
    return DONE


async def _print_all(pieces: AsyncIterator[str], *, json: bool) -> None:
    async for piece in pieces:
        sys.stdout.write(escape_json_controls(piece) if json else strip_controls(piece))


async def _write_all(pieces: AsyncIterator[str], folder: Path, name: str, *, json: bool) -> None:
    """Write one conversation to its own file, readable by its owner only; replace that of an earlier export."""
    file = folder / f"{name}.{'jsonl' if json else 'md'}"
    draft = folder / f".{file.name}.new"
    try:
        draft.unlink(missing_ok=True)
        try:
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as stream:
                async for piece in pieces:
                    stream.write(piece if json else strip_controls(piece))
                stream.flush()
                os.fsync(fd)
            draft.rename(file)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise CommandFailed(f"{file} couldn't be written: {disk.reason(error)}") from error


def _make_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise WrongUsage(f"export --out needs a folder, but {folder} isn't one")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CommandFailed(f"{folder} couldn't be created: {disk.reason(error)}") from error


def _file_name(chat: str, number: int) -> str:
    """Return a name that every file system accepts; the number keeps it unique."""
    return f"{re.sub(r'[^0-9A-Za-z]+', '-', chat).strip('-')[:60]}-{number:05}"


def _print(text: str) -> None:
    sys.stdout.write(strip_controls(text) + "\n")
