"""`commonplace import`: run, undo or list imports, and print what was done."""

import argparse
import asyncio
import gc
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

from bot.cli.backup import block_restore
from bot.cli.outcome import DONE, INTERRUPTED, CommandFailed, WrongUsage, print_error
from bot.config.settings import Settings
from bot.imports.conversations import ConversationReport, ReadingProgress, import_conversations
from bot.imports.errors import ImportFault
from bot.imports.export_files import ExportFile, is_zip, open_export
from bot.imports.formats import NOTE_FORMATS, show_name
from bot.imports.layouts import LAYOUTS, is_openclaw
from bot.imports.lock import hold_import_lock
from bot.imports.note_files import NoteFiles, open_note_files
from bot.imports.notes import NoteImporter, NoteImportReport
from bot.imports.owner import chat_of, find_owner, is_at_terminal
from bot.imports.undo import UndoReport, begin_undo, end_undo, undo_conversations, undo_notes
from bot.messages import OWNER_AT_TERMINAL, PersonId
from bot.open_memory import open_memory
from bot.open_state import open_state
from bot.progress import show_progress
from bot.sanitize import escape_json_controls, strip_controls
from bot.state import imports
from bot.state.database import State, StateFault
from bot.state.imports import ImportRun
from memory import disk
from memory.paths import is_note_name

MAX_NAMED = 20
"""Maximum number of files and conversations that are named in one list; --json has more."""


def run_import_command(options: argparse.Namespace, settings: Settings) -> int:
    """Run the command, print the result, and return the exit code. Raises CommandFailed, WrongUsage and MemoryFault."""
    logging.getLogger().addHandler(logging.NullHandler())  # on failure, standard error gets a single line
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # so that it can say how to go on
    chosen = [options.path is not None, options.undo is not None, options.list]
    if sum(chosen) != 1:
        raise WrongUsage("import takes a PATH, or --undo RUN, or --list")
    if options.dry_run and options.path is None:
        raise WrongUsage("--dry-run needs a PATH")
    try:
        with ExitStack() as stack:
            stack.enter_context(block_restore(settings))
            if not options.list:
                stack.enter_context(hold_import_lock(settings.private_folder))
            if options.list:
                return asyncio.run(_list(options, settings))
            if options.undo is not None:
                return asyncio.run(_undo(options, settings))
            return _import(options, settings)
    except KeyboardInterrupt:
        return print_error(
            "stopped. What is done so far is kept; to continue, run the same command again", INTERRUPTED
        )
    except (ImportFault, StateFault) as fault:
        raise CommandFailed(str(fault)) from fault
    except OSError as error:
        raise CommandFailed(f"{error.filename or options.path}: {disk.reason(error)}") from error


def _import(options: argparse.Namespace, settings: Settings) -> int:
    path = Path(os.path.realpath(options.path))
    with ExitStack() as stack:
        files: Sequence[ExportFile] = ()
        if options.format not in NOTE_FORMATS:
            files = stack.enter_context(open_export(path))
        if files:
            return asyncio.run(_import_conversations(options, settings, path, files))
        if options.format not in ("auto", *NOTE_FORMATS):
            raise ImportFault(f"{path} contains no conversations from {show_name(options.format)}")
        if not (path.is_dir() or is_note_name(path.name) or is_zip(path)):
            raise ImportFault(
                f"{path} is not an export from ChatGPT or Claude, nor Markdown: a folder, a zip file or a .md file"
            )
        notes = stack.enter_context(open_note_files(path))
        return asyncio.run(_import_notes(options, settings, path, notes))


# -- conversations ----------------------------------------------------------------------------------------------


async def _import_conversations(
    options: argparse.Namespace, settings: Settings, path: Path, files: Sequence[ExportFile]
) -> int:
    only = "" if options.format == "auto" else options.format
    progress = ReadingProgress()
    async with _open_state(settings, make=not options.dry_run) as state:
        person = await find_owner(settings, state, options.owner)
        run = await _begin(state, str(chat_of(person)), options, path)
        async with show_progress(progress.describe):
            report = await import_conversations(
                files,
                state,
                run,
                person=person,
                now=settings.now(),
                only=only,
                dry=options.dry_run,
                progress=progress,
            )
        is_kept = await _end(state, run, format_=" ".join(sorted(report.formats)), dry=options.dry_run)
        at_terminal = await is_at_terminal(settings, state, person)
    if only and only not in report.formats and report.skipped:
        raise ImportFault(
            f"{path} contains no conversations from {show_name(only)}; without --from, whatever it contains is imported"
        )
    number = run.run if is_kept else None
    if options.json:
        _print_json(_conversations_json(report, person, number, settings))
    else:
        _print_all(_conversation_lines(report, person, number, settings, dry=options.dry_run))
        if report.added and not at_terminal:
            _print(_format_link_hint(person))
    if report.broken:
        there = (
            "everything before that was imported"
            if report.added and not options.dry_run
            else "nothing was imported"
        )
        raise CommandFailed(f"{'; '.join(report.broken)} ({there})")
    return DONE


def _conversation_lines(
    report: ConversationReport, person: PersonId, run: int | None, settings: Settings, *, dry: bool
) -> Iterator[str]:
    names = " and ".join(show_name(name) for name in sorted(report.formats)) or "The export"
    yield (
        f"{names}: {_count(report.conversations, 'conversation')} with {_count(report.messages, 'message')}"
        f"{_days(report.first_at and report.first_at.date(), report.last_at and report.last_at.date())}."
    )
    did = "Would import" if dry else "Imported"
    new = [_count(report.created, "new conversation")]
    if report.continued:
        new.append(f"new messages in {_count(report.continued, 'earlier one')}")
    yield (
        f"{did} {' and '.join(new)} for {person} ({_count(report.added, 'message')}); "
        f"{_already(report.unchanged)}."
    )
    yield from _format_list("Left out", report.skipped, report.skipped_count)
    if dry and report.tokens:
        yield _vector_line(report.tokens, settings)
    yield from _closing_lines(run, dry=dry)


def _format_link_hint(person: PersonId) -> str:
    """Return how to find them in the terminal, where whoever imports is likely to try first."""
    return (
        f"{person} finds them in private chats. To find them in the terminal too: "
        f'commonplace chat -m "/link {person} {OWNER_AT_TERMINAL}"'
    )


def _conversations_json(
    report: ConversationReport, person: PersonId, run: int | None, settings: Settings
) -> dict[str, Any]:
    return {
        "run": run,
        "formats": sorted(report.formats),
        "person": str(person),
        "conversations": report.conversations,
        "messages": report.messages,
        "first_at": report.first_at.isoformat() if report.first_at else None,
        "last_at": report.last_at.isoformat() if report.last_at else None,
        "new_conversations": report.created,
        "continued_conversations": report.continued,
        "unchanged_conversations": report.unchanged,
        "new_messages": report.added,
        "skipped_total": report.skipped_count,
        "skipped": [{"what": what, "reason": why} for what, why in report.skipped],
        "broken": report.broken,
        "vectors": {"texts": _count_texts(report.tokens, settings), "tokens": report.tokens},
    }


# -- notes ------------------------------------------------------------------------------------------------------


async def _import_notes(options: argparse.Namespace, settings: Settings, path: Path, files: NoteFiles) -> int:
    _check_elsewhere(path, settings)
    found = files.find()
    if not found.paths:
        raise ImportFault(
            f"{path} contains no Markdown" + (f" ({found.refused[0][1]})" if found.refused else "")
        )
    name = options.format
    if name == "auto":
        name = "openclaw" if is_openclaw(found.paths) else "markdown"
    report = NoteImportReport()
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(_open_state(settings, make=not options.dry_run))
        memory = await stack.enter_async_context(open_memory(settings))
        run = await _begin(state, "", options, path, format_=name)
        async with show_progress(report.describe):
            await NoteImporter(memory, state, run, report).bring(files, LAYOUTS[name], dry=options.dry_run)
        is_kept = await _end(state, run, format_=name, dry=options.dry_run)
    number = run.run if is_kept else None
    if options.json:
        _print_json(_notes_json(report, name, number, settings))
    else:
        _print_all(_note_lines(report, name, number, settings, dry=options.dry_run))
    return DONE


def _check_elsewhere(path: Path, settings: Settings) -> None:
    ours, theirs = settings.memory_folder.resolve(), path.resolve()
    if ours == theirs or ours in theirs.parents or theirs in ours.parents:
        raise ImportFault(f"{path} is where your notes are already; there is nothing to import")


def _note_lines(
    report: NoteImportReport, name: str, run: int | None, settings: Settings, *, dry: bool
) -> Iterator[str]:
    yield f"{show_name(name)}: {_count(report.files, 'file')}{_days(report.first_day, report.last_day)}."
    wrote, added = ("Would write", "add") if dry else ("Wrote", "added")
    yield (
        f"{wrote} {_count(report.created, 'new note')} and {added} lines to {report.merged:,}; "
        f"{_already(report.unchanged)}."
    )
    yield from _format_list("Under another name, because theirs is taken", report.moved, len(report.moved))
    yield from _format_list("Left out", report.skipped, len(report.skipped))
    if dry and report.tokens:
        yield _vector_line(report.tokens, settings)
    yield from _closing_lines(run, dry=dry)


def _notes_json(report: NoteImportReport, name: str, run: int | None, settings: Settings) -> dict[str, Any]:
    return {
        "run": run,
        "formats": [name],
        "files": report.files,
        "first_day": report.first_day.isoformat() if report.first_day else None,
        "last_day": report.last_day.isoformat() if report.last_day else None,
        "new_notes": report.created,
        "merged_notes": report.merged,
        "unchanged_notes": report.unchanged,
        "moved": [{"source": source, "path": path} for source, path in report.moved],
        "skipped_total": len(report.skipped),
        "skipped": [{"what": what, "reason": why} for what, why in report.skipped],
        "vectors": {"texts": _count_texts(report.tokens, settings), "tokens": report.tokens},
    }


# -- undo and list ----------------------------------------------------------------------------------------------


async def _undo(options: argparse.Namespace, settings: Settings) -> int:
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(_open_state(settings, make=False))
        if state is None:
            raise ImportFault(f"there is no import {options.undo}; nothing has been imported yet")
        run, report = await begin_undo(state, options.undo)
        async with show_progress(report.describe):
            await undo_conversations(state, report)
            if await state.read(lambda db: imports.count_run(db, run.run).notes):
                memory = await stack.enter_async_context(open_memory(settings))
                await undo_notes(memory, state, report)
        await end_undo(state, report)
    if options.json:
        kept = [{"path": path, "reason": why} for path, why in report.kept]
        _print_json({"run": report.run, "messages": report.messages, "notes": report.notes, "kept": kept})
    else:
        _print_all(_undo_lines(report))
    return DONE


def _undo_lines(report: UndoReport) -> Iterator[str]:
    what = [
        _count(number, name)
        for number, name in ((report.messages, "message"), (report.notes, "note"))
        if number
    ]
    yield f"Undid import {report.run} ({' and '.join(what) or 'nothing of it was left'})."
    yield from _format_list("Kept", report.kept, len(report.kept))


async def _list(options: argparse.Namespace, settings: Settings) -> int:
    async with _open_state(settings, make=False) as state:
        runs = await state.read(imports.read_runs) if state else ()
    if options.json:
        _print_json(
            {
                "imports": [
                    {
                        "run": run.run,
                        "state": run.state,
                        "format": run.format,
                        "source": run.source,
                        "person": run.chat.partition(":")[2] or None,
                        "started_at": run.started_at,
                        "ended_at": run.ended_at or None,
                        "conversations": counts.conversations,
                        "messages": counts.messages,
                        "notes": counts.notes,
                    }
                    for run, counts in runs
                ]
            }
        )
        return DONE
    for run, counts in runs:
        there = (
            _count(counts.notes, "note")
            if not run.chat
            else f"{_count(counts.conversations, 'conversation')}, {_count(counts.messages, 'message')}"
        )
        shown = {"running": "interrupted", "undoing": "undo interrupted"}.get(run.state, run.state)
        _print(f"{run.run:>4}  {run.started_at[:10]}  {shown:<16}  {there}, from {run.source}")
    if not runs:
        _print("Nothing has been imported yet.")
    return DONE


# -- opening ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _open_state(settings: Settings, *, make: bool) -> AsyncIterator[State | None]:
    """Open state.db; yield None if there is none and it must not be made."""
    if not (make or (settings.private_folder / "state.db").exists()):
        yield None
        return
    async with open_state(settings) as state:
        yield state


async def _begin(
    state: State | None, chat: str, options: argparse.Namespace, path: Path, *, format_: str = ""
) -> ImportRun:
    name = format_ or options.format
    if options.dry_run or state is None:
        number = await state.read(imports.next_run) if state else 1
        return ImportRun(number, chat, name, str(path), "running", "", "")
    at = state.at()
    return await state.change(
        lambda db: imports.begin_run(db, chat=chat, format=name, source=str(path), at=at)
    )


async def _end(state: State | None, run: ImportRun, *, format_: str, dry: bool) -> bool:
    if dry or state is None:
        return False
    at = state.at()
    return await state.change(lambda db: imports.end_run(db, run.run, at=at, format=format_))


# -- printing ---------------------------------------------------------------------------------------------------


def _closing_lines(run: int | None, *, dry: bool) -> Iterator[str]:
    if dry:
        yield "Nothing was changed. To import it, run this again without --dry-run."
    elif run is not None:
        yield f"To undo this: commonplace import --undo {run}"


def _vector_line(tokens: int, settings: Settings) -> str:
    texts = _count_texts(tokens, settings)
    return (
        f"It can be found by words right away. To find it by meaning too, an embedding model has to read about "
        f"{_count(texts, 'text')}, {_count(tokens, 'token')}."
    )


def _count_texts(tokens: int, settings: Settings) -> int:
    return -(-tokens // settings.memory.chunk.target_tokens)


def _format_list(heading: str, items: Sequence[tuple[str, str]], total: int) -> Iterator[str]:
    if not items:
        return
    yield f"{heading}: {total:,}"
    for what, why in items[:MAX_NAMED]:
        yield f"  {what or 'untitled'}: {why}"
    if total > MAX_NAMED:
        yield f"  and {total - MAX_NAMED:,} more"


def _days(first: date | None, last: date | None) -> str:
    if first is None or last is None:
        return ""
    return f", of {first}" if first == last else f", from {first} to {last}"


def _already(number: int) -> str:
    return f"{number:,} {'was' if number == 1 else 'were'} here already"


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'s'[: number != 1]}"


def _print_all(lines: Iterator[str]) -> None:
    for line in lines:
        _print(line)


def _print(text: str) -> None:
    sys.stdout.write(strip_controls(text).replace("\n", " ") + "\n")


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(escape_json_controls(json.dumps(document, ensure_ascii=False)) + "\n")
