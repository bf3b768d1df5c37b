"""`commonplace memory changes`, `undo` and `redo`; the command line's user owns the files and sees all changes."""

import argparse
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import uuid4

from bot import phrases
from bot.access import Access
from bot.change_list import (
    ChangeList,
    ChangeReader,
    encode_change,
    encode_undone,
    read_change_list,
    read_one,
)
from bot.change_texts import (
    WantedChanges,
    describe_coverage,
    describe_effect,
    describe_origin,
    format_diff,
    parse_wanted,
)
from bot.cli.backup import block_restore
from bot.cli.outcome import CommandFailed
from bot.config.settings import Settings
from bot.messages import OWNER_AT_TERMINAL
from bot.note_refs import format_note_ref, parse_note_ref
from bot.note_writes import OnceWriter
from bot.open_state import open_state
from bot.sanitize import escape_json_controls, strip_controls
from bot.state.changes import ChangeOrigin
from bot.state.database import State, StateFault
from bot.timeparse import moment_in_short
from bot.undo import Undone, UndoRefused, UndoService
from bot.visible_names import escape_path
from memory.errors import NoteMissing
from memory.memory import Memory

USUAL_COUNT = 10


async def run_change_action(memory: Memory, options: argparse.Namespace, settings: Settings) -> None:
    """Run the action, and print the result. Raises MemoryFault and CommandFailed."""
    if not (settings.private_folder / "state.db").exists():
        _show_nothing(options)
        return
    try:
        async with _open_state(settings) as state:
            reader = ChangeReader(
                Access(settings.access, state), settings.channels, OWNER_AT_TERMINAL, sees_all=True
            )
            undoing = UndoService(OnceWriter(memory, state), state)
            await undoing.settle_open()
            if options.action == "changes":
                await _show(memory, state, reader, options, settings)
            else:
                _print_undone(await _undo(undoing, state, reader, options), options)
    except StateFault as fault:
        raise CommandFailed(str(fault)) from fault


@asynccontextmanager
async def _open_state(settings: Settings) -> AsyncIterator[State]:
    with block_restore(settings):
        async with open_state(settings) as state:
            yield state


def _show_nothing(options: argparse.Namespace) -> None:
    if options.action == "undo" and options.number is not None:
        raise CommandFailed(phrases.CLI_NO_CHANGE.format(number=options.number))
    if options.action != "changes":
        raise CommandFailed(
            phrases.CLI_REDO_NOTHING if options.action == "redo" else phrases.CLI_UNDO_NOTHING
        )
    if options.json:
        _print_json({"changes": []})
    else:
        _print(phrases.CHANGES_NONE)


async def _show(
    memory: Memory, state: State, reader: ChangeReader, options: argparse.Namespace, settings: Settings
) -> None:
    wanted = parse_wanted(options.what, now=settings.now())
    if options.number is not None:
        wanted = WantedChanges(number=options.number)
    if wanted.number:
        found = await state.read(partial(read_one, reader=reader, number=wanted.number))
        if not found.shown:
            raise CommandFailed(phrases.CLI_NO_CHANGE.format(number=wanted.number))
    else:
        path, problem = await _resolve_path(memory, wanted.path)
        wanted = replace(wanted, path=path)
        limit = wanted.limit or (sys.maxsize - 1 if wanted.since else USUAL_COUNT)
        found = await state.read(
            partial(read_change_list, reader=reader, limit=limit, since=wanted.since, path=wanted.path)
        )
        if problem and not found.shown:
            raise CommandFailed(problem)
    notice = describe_coverage(settings)
    if options.json:
        document = {"changes": [encode_change(each, found.names) for each in found.shown]}
        _print_json({**document, "notice": notice} if notice else document)
        return
    for line in _format_one(found, settings) if wanted.number else _format_rows(found, wanted, settings):
        _print(line)
    if notice:
        _print(notice)


def _format_rows(found: ChangeList, wanted: WantedChanges, settings: Settings) -> list[str]:
    rows = [
        "  ".join(
            [
                f"#{each.change.number}",
                moment_in_short(datetime.fromisoformat(each.change.at), settings.now()),
                found.names.author(each.change),
                escape_path(each.change.path),
                describe_effect(each),
            ]
        )
        for each in found.shown
    ]
    if wanted.path:
        return rows or [phrases.CHANGES_NONE_OF_NOTE.format(path=escape_path(wanted.path), period="")]
    return rows or [phrases.CHANGES_NONE_TODAY if wanted.since else phrases.CHANGES_NONE]


def _format_one(found: ChangeList, settings: Settings) -> list[str]:
    (shown,) = found.shown
    return [
        describe_origin(shown, found.names, settings.now()).replace("`", ""),
        *format_diff(shown.change.lines).splitlines(),
    ]


async def _resolve_path(memory: Memory, asked: str) -> tuple[str, str]:
    """Return the path of a note, and what is wrong with it: a note that is gone may have changed before."""
    if not asked:
        return "", ""
    path = parse_note_ref(asked).path
    try:
        return await memory.resolve_path(path), ""
    except NoteMissing as missing:
        return (path if path.endswith(".md") else f"{path}.md"), str(missing)


async def _undo(
    undoing: UndoService, state: State, reader: ChangeReader, options: argparse.Namespace
) -> Undone:
    key, origin = f"cli/{uuid4().hex}", ChangeOrigin("cli", person=str(OWNER_AT_TERMINAL))
    ids = await state.read(lambda db: reader.access.find_ids(db, OWNER_AT_TERMINAL))
    own = sorted(map(str, ids))
    try:
        if options.action == "redo":
            undone = await undoing.redo_last(own, key=key, origin=origin)
        elif options.number is None:
            undone = await undoing.undo_last(own, key=key, origin=origin)
        else:
            undone = await undoing.undo(options.number, key=key, origin=origin)
    except UndoRefused as refusal:
        diff = strip_controls(refusal.diff)
        if diff and not options.json:
            _print(phrases.UNDO_EDITED_DIFF.replace("`", ""))
            _print(diff)
        if options.action == "undo" and options.number is None:
            raise CommandFailed(phrases.CLI_UNDO_EARLIER.format(refusal=refusal)) from refusal
        raise
    if undone is None:
        raise CommandFailed(
            phrases.CLI_REDO_NOTHING if options.action == "redo" else phrases.CLI_UNDO_NOTHING
        )
    return undone


def _print_undone(undone: Undone, options: argparse.Namespace) -> None:
    if options.json:
        _print_json(encode_undone(undone))
        return
    place = (
        format_note_ref(undone.path, undone.line_start, undone.line_end)
        if undone.put_back
        else escape_path(undone.path)
    )
    number = undone.original.undoes or undone.original.number
    phrase = phrases.REDONE if undone.is_redo else phrases.UNDONE
    _print(phrase.format(number=number, place=place, whose=""))
    for line in undone.removed:
        _print(f"-{line}")
    for line in undone.put_back:
        _print(f"+{line}")


def _print(text: str) -> None:
    sys.stdout.write(strip_controls(text) + "\n")


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(escape_json_controls(json.dumps(document, ensure_ascii=False)) + "\n")
