"""Writes to the notes that happen exactly once: the intent is stored first and checked after a crash."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from bot.note_intents import apply_write, mark_done, plan_reversal, plan_write, recover_write
from bot.note_moves import NoteMoves, read_since
from bot.state import changes, note_effects
from bot.state.blocking import BlockingState
from bot.state.changes import Change, ChangeOrigin
from bot.state.database import State, StateFault, run_to_completion
from bot.state.note_effects import Effect
from bot.undo_plan import find_undoable, plan_undo
from memory.errors import EditRefused, MemoryFault, NoteUnwritable, TextTooLong
from memory.formatting import clean_text, format_block
from memory.locked_note import LockedNote
from memory.memory import Memory
from memory.note_draft import NoteDraft, WriteTarget
from memory.note_edits import LineAnchor, LineCorrection, normalize_passages
from memory.write_result import WriteResult

if TYPE_CHECKING:
    from apsw import Connection

log = logging.getLogger(__name__)

TEXT_MAX_CHARS = 200_000
"""Limit of one write. Documents are saved differently and may be longer."""
_LONG_CHARS = 10_000
"""Longer texts are prepared in a thread, so that the event loop is not blocked."""


@dataclass(frozen=True, slots=True)
class CorrectedLines:
    """The place of lines that were replaced or restored."""

    written: WriteResult
    correction: LineCorrection | None
    """What was replaced by what; None if lines were only added, or if a crash lost it."""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """How to restore something from the trash into a note."""

    file: str
    """Its name in the trash."""
    text: str
    path: str
    """The note that it goes to."""
    is_whole: bool
    """Whether it becomes a note of its own."""
    stood: LineAnchor | None
    """Where its lines were; None for the end."""
    replaces: LineCorrection | None = None
    """The lines that have replaced it since; None if it is only added."""


class OnceWriter:
    """The memory's writes, each done once under a key that is the same for every retry, also after a crash.

    Under the note's lock, the intent is committed first, with the number of times that exactly these lines are in the
    note already, and with the lines that it will change (bot/state/changes.py). Then the note is written, and then the
    place is committed. A retry with the same key, by whatever process, returns that place. If the place is unknown, the
    retry looks at the note: with more copies of the lines than before, the write is done; with a torn beginning of them
    at the end, the rest is added; otherwise it is written now. The next writer to a note settles its open writes first,
    so that equal lines under different keys are not confused. A daily log's day is that of the first try.

    Two things cannot be known. A line that is missing was either never written, or another program deleted or rewrote
    it between the crash and the retry; it is written again. And an identical line may have been added by another
    program meanwhile; it counts as ours.

    Two writes are the same only if they have the same key and the same content. Methods raise MemoryFault.
    """

    def __init__(self, memory: Memory, state: State) -> None:
        self._memory = memory
        self._state = state
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._moves = NoteMoves(memory, state, settle=self.settle)

    async def write(
        self, text: str, *, key: str, origin: ChangeOrigin, target: WriteTarget = "daily"
    ) -> WriteResult:
        """Write a text as `Memory.write` does; a retry with the same key returns where it is. Raises TextTooLong."""
        if len(text) > TEXT_MAX_CHARS:
            raise TextTooLong(
                "The text has {count:,} characters, but one write takes at most {most:,}; write it in "
                "several parts.",
                count=len(text),
                most=TEXT_MAX_CHARS,
            )
        if len(text) > _LONG_CHARS:
            draft = await asyncio.to_thread(self._memory.draft, text, target=target)
        else:
            draft = self._memory.draft(text, target=target)
        return await self._append_once(draft, _write_key(key, "write", target, text), origin)

    async def is_begun(self, text: str, *, key: str, target: WriteTarget = "daily") -> bool:
        """Return whether `write` was called with the same key and text before, and has at least begun to write."""
        key = _write_key(key, "write", target, text)
        return await self._state.read(lambda db: note_effects.find_effect(db, key)) is not None

    async def append(
        self,
        path: str,
        block: str,
        *,
        key: str,
        title: str,
        origin: ChangeOrigin,
        check: Callable[["Connection"], None] = lambda db: None,
    ) -> WriteResult:
        """Append a block of Markdown to a note, unchanged; a new note begins with `# title`.

        A blank line separates it from the text before, unless both are bullets. `check` raises EditRefused if the
        block must not be written any more; it runs in the transaction that stores the intent.
        """
        draft = NoteDraft(path, format_block(block), title)
        return await self._append_once(draft, _write_key(key, "append", path, block), origin, check=check)

    async def append_missing(
        self,
        path: str,
        find_missing: Callable[[str], str],
        *,
        key: str,
        origin: ChangeOrigin,
        record: Callable[["Connection", str], None],
    ) -> WriteResult | None:
        """Append what `find_missing` returns of the note's text; return None if that is nothing ("").

        A retry with the same key appends what was missing the first time. `record` gets that, in the transaction that
        stores it.
        """
        key = _write_key(key, "missing")
        known = await self._state.read(lambda db: note_effects.find_effect(db, key))
        if known is None:
            missing = await self._memory.hold(path, lambda note: find_missing(note.text))
            if not missing:
                return None
            block, at = format_block(missing), self._state.at()
            intent = {"append": {"block": block, "title": "", "at": ""}}

            def save(db: "Connection") -> Effect:
                record(db, block)
                return note_effects.save_plan(db, key, path, intent, at=at)

            try:
                known = await self._state.change(save)
            except StateFault as fault:
                raise _cannot_record(path, fault) from fault
        return await self._write_once(known.path, known.intent, key, origin, existing=False)

    async def write_document(
        self, path: str, block: str, *, key: str, title: str, origin: ChangeOrigin
    ) -> WriteResult:
        """Write a new note below `# title`; if the name is taken, `…-2.md` and so on.

        A retry with the same key returns where it is, even if its content differs.
        """
        intent = {"append": {"block": format_block(block), "title": title, "at": ""}}
        return await self._write_once(
            path, intent, _write_key(key, "file"), origin, existing=False, alone=True
        )

    async def find_document(self, key: str) -> WriteResult | None:
        """Return the place of a note that `write_document` wrote under this key; None if unknown."""
        known = await self._state.read(lambda db: note_effects.find_effect(db, _write_key(key, "file")))
        return WriteResult(**known.result) if known and known.result is not None else None

    async def record_document(self, key: str, written: WriteResult) -> None:
        """Store the place of a note under another key than the one under which it was written."""
        key, at = _write_key(key, "file"), self._state.at()

        def note(db: "Connection") -> None:
            note_effects.delete_effect(db, key)
            note_effects.save_intent(db, key, written.path, {}, at=at)
            note_effects.mark_done(db, key, asdict(written))

        try:
            await self._state.change(note)
        except StateFault as fault:  # the next one is then written as a second note
            log.warning("%s was written, but state.db could not be updated: %s", written.path, fault)

    async def find_unchanged_document(self, key: str, text: str) -> WriteResult | None:
        """Return the place stored under this key if the note still contains the text; else None."""
        known = await self.find_document(key)
        if known is None:
            return None
        try:
            note = await self._memory.get(known.path)
        except MemoryFault:
            return None
        return known if clean_text(text).strip("\n") in note.text else None

    async def edit(
        self,
        path: str,
        old: str,
        new: str,
        *,
        key: str,
        origin: ChangeOrigin,
        check: Callable[["Connection"], None] = lambda db: None,
    ) -> WriteResult:
        """Replace one passage as `Memory.edit` does; a retry with the same key returns where it is.

        `check`: as for `append`.
        """
        old, new = normalize_passages(old, new)
        intent = {"edit": {"old": old, "new": new}}
        key = _write_key(key, "edit", path, old, new)
        return await self._write_once(path, intent, key, origin, existing=True, check=check)

    async def create(self, path: str, text: str, *, key: str, origin: ChangeOrigin) -> WriteResult:
        """Write a new note. Raises NoteExists if there is one, NothingToWrite."""
        intent = {"create": {"block": format_block(text)}}
        return await self._write_once(path, intent, _write_key(key, "create", path), origin, existing=False)

    async def rewrite(
        self, path: str, text: str, *, digest: str, key: str, origin: ChangeOrigin
    ) -> WriteResult:
        """Give a note another text; what is removed is kept in the trash.

        Raises NoteChanged if it is no longer the version with this digest (`Memory.read_whole`), and EditRefused.
        """
        intent = {"rewrite": {"text": text, "digest": digest}}
        return await self._write_once(path, intent, _write_key(key, "rewrite", path), origin, existing=True)

    async def set_task(
        self, path: str, line: int, mark: str, *, is_done: bool, key: str, origin: ChangeOrigin
    ) -> WriteResult:
        """Check or uncheck the task in a line (1-based); nothing else in the note changes.

        Raises NoteChanged if the line is no longer the one with this mark (`memory.tasks`).
        """

        def find(note: LockedNote) -> Mapping[str, Any]:
            return {"exchange": asdict(note.plan_task(line, mark, is_done=is_done))}

        async def plan() -> tuple[str, Mapping[str, Any]]:
            return path, await self._memory.hold(path, find, existing=True)

        known = await self._load_or_plan(_write_key(key, "task", path), plan)
        return await self._write_once(known.path, known.intent, known.key, origin, existing=True)

    async def delete(self, path: str, *, digest: str, key: str, origin: ChangeOrigin) -> WriteResult:
        """Delete a note, which is kept in the trash. Raises NoteChanged as `rewrite` does."""
        intent = {"delete": digest}
        return await self._write_once(path, intent, _write_key(key, "delete", path), origin, existing=True)

    async def move(self, path: str, to: str, *, key: str, origin: ChangeOrigin) -> WriteResult:
        """Move a note to another path, with its changes; return where it is. Folders left empty are deleted.

        Its relative links are changed so that they lead where they led. Raises NoteExists, NoteMissing, EditRefused if
        it has hidden lines.
        """
        return await self._moves.move(path, to, key=_write_key(key, "move", path, to), origin=origin)

    async def correct(
        self, path: str, line: int, text: str, *, key: str, origin: ChangeOrigin, last: int | None = None
    ) -> "CorrectedLines":
        """Replace one line by a text; its list marker or heading stays, and the old line goes into the trash.

        The text `EMPTY_LINES` empties it, and all lines up to `last`.

        `path` may lack `.md` or the folder. A retry with the same key returns the first result, whatever the line says
        by then.
        """
        key = _write_key(key, "correct", path, *(str(each) for each in (line, last) if each), text)

        async def find() -> tuple[str, Mapping[str, Any]]:
            meant = await self._memory.resolve_path(path)
            found = await self._memory.hold(
                meant, lambda note: note.correction(line, text, last=last), existing=True
            )
            return meant, {"correct": asdict(found)}

        known = await self._load_or_plan(key, find)
        written = await self._write_once(known.path, known.intent, key, origin, existing=True)
        return CorrectedLines(written, LineCorrection(**known.intent["correct"]) if known.intent else None)

    async def restore(
        self, find: Callable[[], Awaitable["RestorePlan"]], *, key: str, origin: ChangeOrigin
    ) -> CorrectedLines:
        """Restore lines from the trash into their note, or a whole note under its name or the next free one.

        The lines that had replaced them go into the trash. `find` is called the first time only, since it may find
        something else later.
        """
        key = _write_key(key, "put back")

        async def plan() -> tuple[str, Mapping[str, Any]]:
            wanted = await find()
            return wanted.path, _restore_intent(wanted)

        known = await self._load_or_plan(key, plan)
        existing = "correct" in known.intent
        written = await self._write_once(
            known.path, known.intent, key, origin, existing=existing, alone="alone" in known.intent
        )
        return CorrectedLines(written, LineCorrection(**known.intent["correct"]) if existing else None)

    async def undo(self, number: int, *, key: str, origin: ChangeOrigin) -> Change:
        """Undo a change to a note, or redo it if it was an undo; return the change that does this.

        A retry with the same key returns the same, whatever `number` is. What is removed is kept in the trash, and a
        note of which nothing is left is deleted if the change had created it. Raises UndoRefused.
        """
        key = _write_key(key, "undo")
        known = await self._state.read(lambda db: note_effects.find_effect(db, key))
        if known:
            path, to = known.path, str(known.intent.get("rename", ""))
        else:
            last = (await self._state.read(partial(find_undoable, number=number)))[-1]
            path, to = last.path, last.moved_from
        if to:
            await self._moves.undo(path, to, number, key=key, origin=origin)
        else:
            await self._write_once(path, {"undo": number}, key, origin, existing=False)
        made = await self._state.read(lambda db: changes.find_by_effect(db, key))
        if made is None:
            raise NoteUnwritable(
                "{path} was changed, but state.db could not be updated yet; try again.", path=path
            )
        return made

    async def find_undo(self, key: str) -> Change | None:
        """Return the change that `undo` made with this key; None if there is none yet."""
        return await self._state.read(lambda db: changes.find_by_effect(db, _write_key(key, "undo")))

    async def find_imported(self, key: str) -> Change | None:
        """Return the change that wrote a note or lines of an import, or the latest redo of it.

        `key` is that of `append_missing` or `write_document`. None if it was undone or is no longer recorded.
        """

        def find(db: "Connection") -> Change | None:
            made = changes.find_by_effect(db, _write_key(key, "missing"))
            made = made or changes.find_by_effect(db, _write_key(key, "file"))
            chain = changes.read_chain(db, made.number) if made else ()
            return chain[-1] if len(chain) % 2 else None

        return await self._state.read(find)

    async def settle_open(self) -> None:
        """Find out which interrupted writes were made, so that the record matches the notes.

        Notes that cannot be read are left for later. Raises StateFault.
        """
        state = BlockingState(self._state)
        for path in await self._state.read(note_effects.read_open_paths):
            async with self._turns.setdefault(path, asyncio.Lock()):
                try:
                    await run_to_completion(self._memory.hold(path, partial(self.settle, state=state)))
                except MemoryFault as fault:
                    log.warning("an interrupted write to %s is still open: %s", path, fault)

    async def _load_or_plan(
        self, key: str, plan: Callable[[], Awaitable[tuple[str, Mapping[str, Any]]]]
    ) -> Effect:
        """Return the stored write of a key, after planning and storing it the first time."""
        if known := await self._state.read(lambda db: note_effects.find_effect(db, key)):
            return known
        path, intent = await plan()
        at = self._state.at()
        try:
            return await self._state.change(lambda db: note_effects.save_plan(db, key, path, intent, at=at))
        except StateFault as fault:
            raise _cannot_record(path, fault) from fault

    async def _append_once(
        self,
        draft: NoteDraft,
        key: str,
        origin: ChangeOrigin,
        *,
        check: Callable[["Connection"], None] = lambda db: None,
    ) -> WriteResult:
        intent = {"append": {"block": draft.block, "title": draft.title, "at": draft.at}}
        return await self._write_once(draft.path, intent, key, origin, existing=False, check=check)

    async def _write_once(
        self,
        path: str,
        intent: Mapping[str, Any],
        key: str,
        origin: ChangeOrigin,
        *,
        existing: bool,
        alone: bool = False,
        check: Callable[["Connection"], None] = lambda db: None,
    ) -> WriteResult:
        """Write once. `alone`: the text becomes a new note under the first free name. `check`: see `append`."""
        names, taken, state = _free_names(path), set[str](), BlockingState(self._state)

        def write(note: LockedNote, place: str) -> WriteResult | None:
            known, begun = state.read(
                lambda db: (note_effects.find_effect(db, key), note_effects.read_begun(db, note.path)),
            )
            if known and known.result is not None:
                return WriteResult(**known.result)
            if known and known.path not in {place, note.path} and not (alone and not known.begun):
                return None  # another process stored it meanwhile, before midnight
            self._settle(note, state, (each for each in begun if each.key != key))
            if known is None or not known.begun:
                self._check_still_in_trash(known.intent if known else intent)
                if alone and not note.is_empty:
                    taken.add(place)
                    return None
                written = self._begin_write(
                    note, known.intent if known else intent, key, origin, state, check
                )
            else:
                written = recover_write(note, known.intent) or self._begin_write(
                    note, known.intent, key, origin, state, check
                )
            self._empty_trash_of(known.intent if known else intent)
            try:
                state.change(partial(mark_done, key=key, written=written))
            except StateFault as fault:  # the note has it, and the next look finds it there
                log.warning("%s was written, but state.db could not be updated yet: %s", note.path, fault)
            return written

        try:
            name = next(names)
            while True:
                known = await self._state.read(lambda db: note_effects.find_effect(db, key))
                if known and known.result is not None:
                    return WriteResult(**known.result)
                place = known.path if known and (known.begun or not alone) else name
                # Writers of this process queue here in order, without blocking threads.
                async with self._turns.setdefault(place, asyncio.Lock()):
                    held = self._memory.hold(place, partial(write, place=place), existing=existing)
                    if written := await run_to_completion(held):
                        return written
                if place in taken:
                    name = next(names)
        except StateFault as fault:
            raise _cannot_record(path, fault) from fault

    def _begin_write(
        self,
        note: LockedNote,
        intent: Mapping[str, Any],
        key: str,
        origin: ChangeOrigin,
        state: BlockingState,
        check: Callable[["Connection"], None],
    ) -> WriteResult:
        """Store what is about to change, then change it."""
        at = self._state.at()
        undoes = 0
        if number := int(intent.get("undo", 0)):
            chain = state.read(partial(find_undoable, number=number))
            undoes = chain[-1].number
            planned = plan_undo(chain, note.text, read_since=partial(read_since, state, note.path))
            wanted, lines = plan_reversal(note, number, planned)
            origin = replace(origin, says=origin.says or planned.says)
        else:
            wanted, lines = plan_write(note, intent)

        def save(db: "Connection") -> None:
            check(db)
            if number:  # `/forget` may have come between
                find_undoable(db, number)
            note_effects.save_intent(db, key, note.path, wanted, at=at)
            changes.save_change(db, key, note.path, lines, origin, at=at, undoes=undoes)

        state.change(save)
        return apply_write(note, wanted)

    def settle(self, note: LockedNote, state: BlockingState) -> None:
        """Find out which writes to a note were made that a crash or an error left open, and store that."""
        self._settle(note, state, state.read(lambda db: note_effects.read_begun(db, note.path)))

    def _settle(self, note: LockedNote, state: BlockingState, begun: Iterable[Effect]) -> None:
        for each in begun:
            if written := recover_write(note, each.intent):
                self._empty_trash_of(each.intent)
                state.change(partial(mark_done, key=each.key, written=written))
            else:
                state.change(partial(note_effects.mark_not_done, key=each.key))

    def _check_still_in_trash(self, intent: Mapping[str, Any]) -> None:
        """Raise EditRefused if somebody else has restored the text since this was planned."""
        if (file := intent.get("trash")) and not self._memory.is_in_trash(str(file)):
            raise EditRefused("That is no longer in the trash; it may have been restored by somebody else.")

    def _empty_trash_of(self, intent: Mapping[str, Any]) -> None:
        """Remove a restored text from the trash before the write is stored as done: no crash leaves it in both."""
        if file := intent.get("trash"):
            self._memory.mark_restored(str(file))


def _restore_intent(wanted: "RestorePlan") -> Mapping[str, Any]:
    block = format_block(wanted.text)
    if wanted.is_whole:  # as it was: nothing is around it that blank lines or control characters could spoil
        block = wanted.text.removesuffix("\n")
        return {"append": {"block": block, "title": "", "at": ""}, "alone": True, "trash": wanted.file}
    if wanted.replaces:
        return {"correct": asdict(wanted.replaces), "trash": wanted.file}
    stood = asdict(wanted.stood) if wanted.stood else None
    return {"insert": {"block": block, "stood": stood}, "trash": wanted.file}


def _free_names(path: str) -> Iterator[str]:
    """Yield the path, then the same name with numbers."""
    stem = path.removesuffix(".md")
    yield path
    yield from (f"{stem}-{number}.md" for number in count(2))


def _cannot_record(path: str, fault: StateFault) -> NoteUnwritable:
    return NoteUnwritable(
        "{path} was not written, because state.db could not record the change first: {fault}",
        path=path,
        fault=fault,
    )


def is_deletion(change: Change) -> bool:
    """Return whether a change deleted its whole note, as the key of the write tells."""
    return change.effect == _write_key(change.effect.rpartition("/")[0], "delete", change.path)


def _write_key(key: str, *asked: str) -> str:
    """Return the key of exactly this write: a model may use a call id again for another one."""
    said = json.dumps(asked).encode()
    return f"{key}/{hashlib.sha256(said).hexdigest()[:16]}"
