"""Imports notes: new files get a path of their own, MEMORY.md and daily logs are merged line by line."""

import asyncio
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from bot.imports.errors import ImportFault
from bot.imports.layouts import Layout, NoteTarget, is_day
from bot.imports.merge_lines import find_lines, hash_lines, missing_lines
from bot.imports.note_files import NoteFiles, SourceNote
from bot.models.token_estimate import estimate_text_tokens
from bot.note_removals import NoteRemovals
from bot.note_writes import OnceWriter
from bot.state import imports
from bot.state.changes import ChangeOrigin
from bot.state.database import State
from bot.state.imports import ImportedNote, ImportRun
from memory.dates import CORE_NOTE
from memory.errors import NoteMissing, NoteUnreadable, NothingToWrite, PathRefused
from memory.folder_checks import IMPORT_FOLDER
from memory.formatting import format_block
from memory.locks import name_key
from memory.memory import Memory
from memory.note_file import TRIES
from memory.paths import split_note_path

if TYPE_CHECKING:
    from apsw import Connection


@dataclass(slots=True)
class NoteImportReport:
    """What an import of notes has found and done, or would do."""

    files: int = 0
    """Markdown files that were found."""
    done: int = 0
    created: int = 0
    """New notes."""
    merged: int = 0
    """Notes that have got new lines."""
    unchanged: int = 0
    """Files whose content was here already."""
    moved: list[tuple[str, str]] = field(default_factory=list)
    """Files whose own path was taken, and the notes that they went to."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """What was left out, and why."""
    first_day: date | None = None
    last_day: date | None = None
    tokens: int = 0
    """Estimated tokens of what is new."""

    def describe(self) -> str:
        """Return one line for the terminal."""
        bar = "#" * round(20 * self.done / self.files) if self.files else ""
        return f"[{bar:<20}] {self.done:,} of {self.files:,} files"


class NoteImporter:
    """Imports the files of one run. Methods raise MemoryFault and StateFault."""

    def __init__(self, memory: Memory, state: State | None, run: ImportRun, report: NoteImportReport) -> None:
        """Without a state.db, nothing is known and only a dry run is possible."""
        self._memory = memory
        self._state = state
        self._run = run
        self._report = report
        self._writer = OnceWriter(memory, state) if state else None
        self._origin = ChangeOrigin("import")
        self._taken = set[str]()

    async def bring(self, files: NoteFiles, layout: Layout, *, dry: bool) -> None:
        """Import every file; with `dry`, only count what would be done. Raises ImportFault."""
        report = self._report
        found = await asyncio.to_thread(files.find)
        report.skipped += found.refused
        report.files = len(found.paths)
        self._taken = {name_key(note.path) for note in (await self._memory.listing()).notes}
        for path in found.paths:
            target = layout(path)
            if isinstance(target, str):
                report.skipped.append((path, target))
            else:
                try:
                    await self._bring_one(path, target, await asyncio.to_thread(files.load, path), dry=dry)
                except NothingToWrite:
                    report.skipped.append((path, "it is empty"))
                except (ImportFault, PathRefused, NoteUnreadable) as fault:
                    report.skipped.append((path, str(fault)))
            report.done += 1

    async def _bring_one(self, path: str, target: NoteTarget, note: SourceNote, *, dry: bool) -> None:
        split_note_path(target.path)
        begun = await self._find_begun(path)
        if begun is None and await self._is_known(note):
            self._report.unchanged += 1
            return
        if is_day(target.path):
            day = date.fromisoformat(target.path.removesuffix(".md"))
            self._report.first_day = min(filter(None, (self._report.first_day, day)))
            self._report.last_day = max(filter(None, (self._report.last_day, day)))
        is_taken = name_key(target.path) in self._taken
        if begun.kind == "lines" if begun else target.kind == "lines" and is_taken:
            await self._merge(path, target.path, note, dry=dry)
        else:
            await self._create(path, target.path, note, begun, dry=dry)

    # -- notes that are there ----------------------------------------------------------------------------------

    async def _merge(self, source: str, path: str, note: SourceNote, *, dry: bool) -> None:
        find = partial(missing_lines, incoming=note.text)
        if dry:
            try:
                text = (await self._memory.get(path)).text
            except NoteMissing:
                text = ""  # the one that is there is spelled otherwise, such as memory.md
            self._count_merged(find(text))
            return
        assert self._writer
        added = ""

        def record(db: "Connection", block: str) -> None:
            nonlocal added
            added = block
            row = ImportedNote(self._run.run, source, note.digest, path, "lines", hash_lines(block))
            imports.save_note(db, row)

        key = self._key(source)
        done = await self._writer.append_missing(path, find, key=key, origin=self._origin, record=record)
        self._count_merged(added or ("-" if done else ""))

    def _count_merged(self, missing: str) -> None:
        self._report.merged += bool(missing)
        self._report.unchanged += not missing
        self._report.tokens += estimate_text_tokens(missing)

    # -- new notes ---------------------------------------------------------------------------------------------

    async def _create(
        self, source: str, path: str, note: SourceNote, begun: ImportedNote | None, *, dry: bool
    ) -> None:
        block = format_block(note.text)
        if begun is None:
            if await self._says(path, block):
                self._report.unchanged += 1
                return
            path = next(free for free in self._names(path) if name_key(free) not in self._taken)
        else:
            path = begun.path
        is_written = begun is not None and await self._says(path, block)
        self._taken.add(name_key(path))
        if not (dry or is_written):
            assert self._writer
            assert self._state
            row = ImportedNote(self._run.run, source, note.digest, path, "file", hash_lines(block))
            await self._state.change(partial(imports.save_note, note=row))
            written = await self._writer.write_document(
                path, block, key=self._key(source), title="", origin=self._origin
            )
            if written.path != path:  # somebody was faster
                await self._state.change(partial(imports.save_note, note=replace(row, path=written.path)))
                path = written.path
        self._report.created += 1
        self._report.tokens += estimate_text_tokens(block)
        if name_key(path) != name_key(source) and path.startswith(f"{IMPORT_FOLDER}/"):
            self._report.moved.append((source, path))

    async def _says(self, path: str, block: str) -> bool:
        """Return whether the note of this path says exactly this."""
        if name_key(path) not in self._taken:
            return False
        try:
            return format_block((await self._memory.get(path)).text) == block
        except (NoteMissing, NothingToWrite):
            return False

    def _names(self, path: str) -> Iterator[str]:
        if not self._memory.is_elsewhere(path):
            yield path
        own = PurePosixPath(IMPORT_FOLDER, str(self._run.run), path)
        yield str(own)
        number = 2
        while True:
            yield str(own.with_stem(f"{own.stem}-{number}"))
            number += 1

    # -- what is known -----------------------------------------------------------------------------------------

    async def _find_begun(self, source: str) -> ImportedNote | None:
        """Return what this run has begun to write for a file before it was interrupted."""
        if self._state is None:
            return None
        return await self._state.read(partial(imports.find_note, run=self._run.run, source=source))

    async def _is_known(self, note: SourceNote) -> bool:
        """Return whether another run has imported a file with the same content."""
        if self._state is None:
            return False
        copies = await self._state.read(partial(imports.find_copies, digest=note.digest, but=self._run.run))
        if not copies or any(is_written for _, is_written in copies):
            return bool(copies)
        block = format_block(note.text)
        return any([await self._says(path, block) for path, _ in copies])

    def _key(self, source: str) -> str:
        return import_key(self._run.run, source)


def import_key(run: int, source: str) -> str:
    """Return the key under which a run writes what one file brings."""
    return f"import {run} {hashlib.sha256(source.encode()).hexdigest()[:16]}"


async def undo_note(memory: Memory, state: State, row: ImportedNote) -> str:
    """Remove what a run wrote to a note; return why something was left there, "" if nothing was.

    What is done is stored first, so that a retry after a crash does not take anything twice. (Without `existing`, which
    would take `memory/a.md` for `a.md` once the former is gone.)
    """
    try:
        split_note_path(row.path)  # it may have been forgotten
        left = await _remove_from_note(memory, state, row)
    except (NoteMissing, PathRefused):
        left = ""
    await state.change(partial(imports.delete_note, note=row))
    return left


async def _remove_from_note(memory: Memory, state: State, row: ImportedNote) -> str:
    removals = NoteRemovals(memory, state, ChangeOrigin("import"))
    made = await OnceWriter(memory, state).find_imported(import_key(row.run, row.source))
    undoes = made.number if made else 0
    if row.kind == "file":
        left = await _undo_file(removals, row, undoes)
        # Others may have added lines of their own.
        if not (left and (is_day(row.path) or row.path == CORE_NOTE)):
            return left
    return await _undo_lines(memory, state, removals, row, undoes)


async def _undo_file(removals: NoteRemovals, row: ImportedNote, undoes: int) -> str:
    def is_as_written(text: str) -> bool:
        return hash_lines(text.strip("\n")) == row.lines

    if await removals.delete_if(row.path, is_as_written, undoes=undoes):
        return ""
    return "you've changed it since, so it stays"


async def _undo_lines(
    memory: Memory, state: State, removals: NoteRemovals, row: ImportedNote, undoes: int
) -> str:
    changed = 0
    for _ in range(TRIES):
        text = await memory.hold(row.path, lambda note: note.text)
        numbers, missing = find_lines(text, row.lines)
        digest = _hash_text(text)
        before, after = row.undo.split() if row.undo else ("", "")
        if digest == after or not numbers:
            changed = changed or (0 if digest == after else missing)
            break
        if row.undo and digest != before and missing:
            return "it changed during the undo, so the rest stays"
        changed = missing
        rest = [line for number, line in enumerate(text.split("\n")) if number not in numbers]
        row = replace(row, undo=f"{digest} {_hash_text(chr(10).join(rest))}")
        await state.change(partial(imports.save_note, note=row))
        choose = partial(_choose_lines, numbers=numbers, digest=digest)
        if await removals.remove_lines(row.path, choose, undoes=undoes):
            undoes = 0  # the rest is removed by another change
    if not changed:
        return ""
    return f"you've changed {changed} line{'s'[: changed != 1]} since; your version stays"


def _choose_lines(text: str, *, numbers: Collection[int], digest: str) -> Collection[int]:
    return numbers if _hash_text(text) == digest else ()


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.rstrip("\n").encode("utf-8", "replace")).hexdigest()
