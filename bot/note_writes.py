"""Writes to the notes that are done once: written down before, looked for after a crash, and never done twice."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from bot.state import note_effects
from bot.state.database import State, StateFault, run_to_completion
from bot.state.note_effects import Effect
from memory.errors import EditRefused, MemoryFault, NoteUnwritable, TextTooLong
from memory.formatting import clean_text
from memory.memory import Memory, NoteDraft, WriteTarget
from memory.note_edits import LineAnchor, LineCorrection
from memory.notes import LockedNote, WriteResult, format_block, normalize_passages
from memory.write_recovery import BeforeAppend, BeforeEdit

if TYPE_CHECKING:
    from apsw import Connection

log = logging.getLogger(__name__)

TEXT_MAX_CHARS = 200_000
"""Of what is noted at once. What a document holds is filed, and may be longer."""
_LONG_CHARS = 10_000
"""A longer text is made ready in a thread: nobody else is to wait for that."""

_Result = TypeVar("_Result")
_Attempt = Callable[[Callable[["Connection"], _Result]], _Result]


@dataclass(frozen=True, slots=True)
class CorrectedLines:
    """Where lines were replaced, or put back."""

    written: WriteResult
    correction: LineCorrection | None
    """What stands there in the place of what; None where lines were only added, or before a crash: it is not kept."""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """Something in the trash that is to stand in a note again."""

    file: str
    """Its name in the trash."""
    text: str
    path: str
    """The note that it goes to."""
    is_whole: bool
    """Whether it is a note of its own."""
    stood: LineAnchor | None
    """Where its lines stood; None for at the end."""
    replaces: LineCorrection | None = None
    """What stands in its place now; None where it is only to be added."""


class OnceWriter:
    """The memory's writes, each under a key that is the same when it is tried again, also after a crash.

    Under the note's lock the intent is committed, with how often exactly these lines stand in the note already;
    then the note is written; then where it was written is committed. A second try with the same key, by whatever
    process, gets that place. Where it is not known, it looks at the note: the lines stand there more often than
    before, and it is done; the note ends in a torn beginning of them, and the rest is added; or else it is done
    now. Whoever writes to a note next settles what was left open in it, so that equal lines under different keys
    are not taken for each other. A daily log's day is that of the first try.

    What cannot be known: whether a line that is not there any more was never written, or was deleted or rewritten
    by another program between the crash and the second try; it is then written again. And whether a line that
    another program has put there meanwhile, exactly the same, is ours; it is then taken for it.

    Two writes are one only if they have the same key and say the same. Methods raise MemoryFault.
    """

    def __init__(self, memory: Memory, state: State) -> None:
        self._memory = memory
        self._state = state
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def write(self, text: str, *, key: str, target: WriteTarget = "daily") -> WriteResult:
        """Note something, as `Memory.write` does; a second time with the same key tells where it stands."""
        if len(text) > TEXT_MAX_CHARS:
            raise TextTooLong(
                f"The text has {len(text):,} characters, and one note takes {TEXT_MAX_CHARS:,} at most; "
                "write it in several parts."
            )
        if len(text) > _LONG_CHARS:
            draft = await asyncio.to_thread(self._memory.draft, text, target=target)
        else:
            draft = self._memory.draft(text, target=target)
        return await self._append_once(draft, _write_key(key, "write", target, text))

    async def append(self, path: str, block: str, *, key: str, title: str) -> WriteResult:
        """Add a block of Markdown at the end of a note, as it is; a new note begins with `# title`.

        A blank line sets it off from what is there, unless both are bullets.
        """
        return await self._append_once(
            NoteDraft(path, format_block(block), title), _write_key(key, "append", path, block)
        )

    async def write_document(self, path: str, block: str, *, key: str, title: str) -> WriteResult:
        """Write a note of its own below `# title`; where there is one of that name, it is `…-2.md`, and so on.

        A second time with the same key tells where it stands, whatever it says by then.
        """
        intent = {"append": {"block": format_block(block), "title": title, "at": ""}}
        return await self._write_once(path, intent, _write_key(key, "file"), existing=False, alone=True)

    async def find_document(self, key: str) -> WriteResult | None:
        """Where a note stands that was written with `file` under this key; None where that is not known."""
        known = await self._state.read(lambda db: note_effects.find_effect(db, _write_key(key, "file")))
        return WriteResult(**known.result) if known and known.result is not None else None

    async def record_document(self, key: str, written: WriteResult) -> None:
        """Note where a note stands, under another key than that under which it was written."""
        key, at = _write_key(key, "file"), self._state.at()

        def note(db: "Connection") -> None:
            note_effects.delete_effect(db, key)
            note_effects.save_intent(db, key, written.path, {}, at=at)
            note_effects.mark_done(db, key, asdict(written))

        try:
            await self._state.change(note)
        except StateFault as fault:  # the next one is then written beside it
            log.warning("%s was written, which is not journalled: %s", written.path, fault)

    async def find_unchanged_document(self, key: str, text: str) -> WriteResult | None:
        """Where a note stands that was noted under this key, if that text stands in it still; else None."""
        known = await self.find_document(key)
        if known is None:
            return None
        try:
            note = await self._memory.get(known.path)
        except MemoryFault:
            return None
        return known if clean_text(text).strip("\n") in note.text else None

    async def edit(self, path: str, old: str, new: str, *, key: str) -> WriteResult:
        """Replace one passage, as `Memory.edit` does; a second time with the same key tells where it stands."""
        old, new = normalize_passages(old, new)
        intent = {"edit": {"old": old, "new": new}}
        return await self._write_once(path, intent, _write_key(key, "edit", path, old, new), existing=True)

    async def correct(self, path: str, line: int, text: str, *, key: str) -> "CorrectedLines":
        """Replace one line by a text, whose list marker or heading stays; what it was is kept in the trash.

        `path` may lack `.md` or the folder. A second time with the same key tells where it stands, whatever stands in
        that line by then.
        """
        key = _write_key(key, "correct", path, str(line), text)

        async def find() -> tuple[str, Mapping[str, Any]]:
            meant = await self._memory.resolve_path(path)
            found = await self._memory.hold(meant, lambda note: note.correction(line, text), existing=True)
            return meant, {"correct": asdict(found)}

        known = await self._load_or_plan(key, find)
        written = await self._write_once(known.path, known.intent, key, existing=True)
        return CorrectedLines(written, LineCorrection(**known.intent["correct"]) if known.intent else None)

    async def restore(self, find: Callable[[], Awaitable["RestorePlan"]], *, key: str) -> CorrectedLines:
        """Put lines from the trash back into their note, and a whole note under its name or the first free one like it.

        Lines that had replaced them go into the trash in their turn. `find` is asked the first time alone: later,
        something else may be what it finds.
        """
        key = _write_key(key, "put back")

        async def plan() -> tuple[str, Mapping[str, Any]]:
            wanted = await find()
            return wanted.path, _restore_intent(wanted)

        known = await self._load_or_plan(key, plan)
        existing = "correct" in known.intent
        written = await self._write_once(
            known.path, known.intent, key, existing=existing, alone="alone" in known.intent
        )
        return CorrectedLines(written, LineCorrection(**known.intent["correct"]) if existing else None)

    async def _load_or_plan(
        self, key: str, plan: Callable[[], Awaitable[tuple[str, Mapping[str, Any]]]]
    ) -> Effect:
        """Return what is to be done under a key, and to which note; that is on disk, and stays so at a second try."""
        if known := await self._state.read(lambda db: note_effects.find_effect(db, key)):
            return known
        path, intent = await plan()
        at = self._state.at()
        try:
            return await self._state.change(lambda db: note_effects.save_plan(db, key, path, intent, at=at))
        except StateFault as fault:
            raise _cannot_record(path, fault) from fault

    async def _append_once(self, draft: NoteDraft, key: str) -> WriteResult:
        intent = {"append": {"block": draft.block, "title": draft.title, "at": draft.at}}
        return await self._write_once(draft.path, intent, key, existing=False)

    async def _write_once(
        self,
        path: str,
        intent: Mapping[str, Any],
        key: str,
        *,
        existing: bool,
        alone: bool = False,
    ) -> WriteResult:
        """Do it once. `alone`: what a note is begun with, and nothing else; the path is that of the first free name."""
        loop = asyncio.get_running_loop()
        names, taken = _free_names(path), set[str]()

        def change(work: Callable[["Connection"], _Result]) -> _Result:
            return asyncio.run_coroutine_threadsafe(self._state.change(work), loop).result()

        def read(work: Callable[["Connection"], _Result]) -> _Result:
            return asyncio.run_coroutine_threadsafe(self._state.read(work), loop).result()

        def write(note: LockedNote, place: str) -> WriteResult | None:
            wanted: Mapping[str, Any]
            known, others = read(
                lambda db: (note_effects.find_effect(db, key), note_effects.read_begun(db, note.path)),
            )
            if known and known.result is not None:
                return WriteResult(**known.result)
            if known and known.path not in {place, note.path} and not (alone and not known.begun):
                return None  # noted by another process meanwhile, before midnight
            for other in others:
                if other.key != key:
                    self._resolve_open_write(note, other, change)
            if known is None or not known.begun:
                self._check_still_in_trash(known.intent if known else intent)
                if alone and not note.is_empty:
                    taken.add(place)
                    return None
                wanted = _add_previous_text(note, known.intent if known else intent)
                change(lambda db: note_effects.save_intent(db, key, note.path, wanted, at=self._state.at()))
                written = _apply(note, wanted)
            else:
                wanted = known.intent
                written = _recover(note, wanted) or _apply(note, wanted)
            self._empty_trash_of(wanted)
            try:
                change(lambda db: note_effects.mark_done(db, key, asdict(written)))
            except StateFault as fault:  # it stands in the note all the same, where the next look finds it
                log.warning("%s was written, which is not journalled yet: %s", note.path, fault)
            return written

        try:
            name = next(names)
            while True:
                known = await self._state.read(lambda db: note_effects.find_effect(db, key))
                if known and known.result is not None:
                    return WriteResult(**known.result)
                place = known.path if known and (known.begun or not alone) else name
                # In this process they queue here, in order, and no thread is kept waiting.
                async with self._turns.setdefault(place, asyncio.Lock()):
                    held = self._memory.hold(place, partial(write, place=place), existing=existing)
                    if written := await run_to_completion(held):
                        return written
                if place in taken:
                    name = next(names)
        except StateFault as fault:
            raise _cannot_record(path, fault) from fault

    def _resolve_open_write(self, note: LockedNote, other: Effect, change: "_Attempt[None]") -> None:
        """Find out whether something was done that a crash, or an error, has left open."""
        written = _recover(note, other.intent)
        if written is None:
            change(lambda db: note_effects.mark_not_done(db, other.key))
        else:
            self._empty_trash_of(other.intent)
            change(lambda db: note_effects.mark_done(db, other.key, asdict(written)))

    def _check_still_in_trash(self, intent: Mapping[str, Any]) -> None:
        """Raise EditRefused where what is to be put back was put back since that was planned, by somebody else."""
        if (file := intent.get("trash")) and not self._memory.is_in_trash(str(file)):
            raise EditRefused("That is no longer in the trash; it may have been restored by somebody else.")

    def _empty_trash_of(self, intent: Mapping[str, Any]) -> None:
        """Take out of the trash what was put back, before the journal knows it as done: no crash leaves it in both."""
        if file := intent.get("trash"):
            self._memory.mark_restored(str(file))


def _restore_intent(wanted: "RestorePlan") -> Mapping[str, Any]:
    block = format_block(wanted.text)
    if wanted.is_whole:
        return {"append": {"block": block, "title": "", "at": ""}, "alone": True, "trash": wanted.file}
    if wanted.replaces:
        return {"correct": asdict(wanted.replaces), "trash": wanted.file}
    stood = asdict(wanted.stood) if wanted.stood else None
    return {"insert": {"block": block, "stood": stood}, "trash": wanted.file}


def _free_names(path: str) -> Iterator[str]:
    """The path, and then those of the same name with a number."""
    stem = path.removesuffix(".md")
    yield path
    yield from (f"{stem}-{number}.md" for number in count(2))


def _add_previous_text(note: LockedNote, intent: Mapping[str, Any]) -> dict[str, Any]:
    """What is to be done, with the note as it is now."""
    match intent:
        case {"append": {"block": block}}:
            return {**intent, "before": asdict(note.before_append(block))}
        case {"edit": {"old": old, "new": new}}:
            return {**intent, "before": asdict(note.before_edit(old, new))}
        case {"correct": fields}:
            return {**intent, "before": asdict(note.before_correct(LineCorrection(**fields)))}
        case {"insert": {"block": block}} if note.is_empty:
            title = PurePosixPath(note.path).stem
            append = {"append": {"block": block, "title": title, "at": ""}, "trash": intent["trash"]}
            return _add_previous_text(note, append)
        case {"insert": {"block": block, "stood": stood}}:
            return {**intent, "before": asdict(note.before_insert(block, _line_span(stood)))}
    raise _outcome_unknown(intent)


def _apply(note: LockedNote, intent: Mapping[str, Any]) -> WriteResult:
    match intent:
        case {"append": {"block": block, "title": title, **more}, "before": before}:
            return note.append(block, title=title, at=str(more.get("at", "")), before=BeforeAppend(**before))
        case {"edit": {"old": old, "new": new}}:
            return note.edit(old, new)
        case {"correct": fields}:
            return note.correct(LineCorrection(**fields))
        case {"insert": {"block": block, "stood": stood}}:
            return note.insert(block, _line_span(stood))
    raise _outcome_unknown(intent)


def _recover(note: LockedNote, intent: Mapping[str, Any]) -> WriteResult | None:
    """Give where it was done, after completing what was torn; None where it was not done."""
    match intent:
        case {"append": {"block": block, "title": title, **more}, "before": before}:
            at = str(more.get("at", ""))
            return note.finish_append(block, title=title, at=at, before=BeforeAppend(**before))
        case {"edit": {"old": old, "new": new}, "before": before}:
            return note.finish_edit(old, new, BeforeEdit(**before))
        case {"correct": {"old": old, "new": new}, "before": before}:
            return note.finish_edit(old, new, BeforeEdit(**before))
        case {"insert": {"block": block}, "before": before}:
            return note.finish_edit("", block, BeforeEdit(**before))
    raise _outcome_unknown(intent)


def _line_span(stood: Mapping[str, Any] | None) -> LineAnchor | None:
    return LineAnchor(**stood) if stood else None


def _cannot_record(path: str, fault: StateFault) -> NoteUnwritable:
    return NoteUnwritable(f"{path} was not written, since that could not be journalled: {fault}")


def _outcome_unknown(intent: Mapping[str, Any]) -> MemoryFault:
    return NoteUnwritable(
        f"An unfinished write of another version cannot be understood: {', '.join(intent)}."
    )


def _write_key(key: str, *asked: str) -> str:
    """The key of exactly this write: a model may use the id of a call again for another one."""
    said = json.dumps(asked).encode()
    return f"{key}/{hashlib.sha256(said).hexdigest()[:16]}"
