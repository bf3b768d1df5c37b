"""Flushes: writes what matters of a conversation into the notes, in stages that are each stored."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from bot.conversations.core_note import read_core_note
from bot.conversations.extraction import Extractor, read_row
from bot.conversations.flush_result import FlushResult, combine_results
from bot.conversations.log_section import (
    DOUBTFUL_MARK,
    find_missing_facts,
    format_facts,
    format_raw,
    heading,
    section,
)
from bot.language.current import speaking
from bot.language.people import PeopleLanguages
from bot.note_refs import format_note_ref
from bot.sanitize import one_line
from bot.state import conversations, flushes, inbox, speakers
from bot.state.changes import ChangeOrigin
from bot.state.database import State, format_timestamp
from bot.state.flushes import Cause, Flush
from memory.attribution import find_says
from memory.errors import EditRefused, MemoryFault, NoteMissing
from memory.memory import CORE_NOTE, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from bot.models.fallback import FallbackModel
    from bot.note_writes import OnceWriter

log = logging.getLogger(__name__)

FLUSH_SECONDS = 120.0
"""Total time of a model for one transcript."""
MAX_TRIES = 3
"""Attempts in the background before the conversation's words are kept as they are."""
PATIENT_CAUSES: frozenset[Cause] = frozenset({"threshold", "idle"})
MANUAL_CAUSES: frozenset[Cause] = frozenset({"asked", "new"})
MAX_RAW_TRIES = 8
"""Background attempts to improve a raw section; with the pauses, half a day."""
FIRST_PAUSE = timedelta(minutes=5)
"""Pause before the first background retry; it doubles each time."""
MAX_PAUSE = timedelta(hours=6)
MAX_AT_ONCE = 3
"""Flushes that are continued in one run."""


class Flusher:
    """Runs flushes through their stages: begun, answered, written, chosen, done. A stage may run twice without harm."""

    def __init__(
        self,
        state: State,
        model: "FallbackModel",
        note_writer: "OnceWriter",
        memory: Memory,
        *,
        piece_tokens: int,
        now: Callable[[], datetime],
        wake: Callable[[], None],
        seconds: float,
        languages: PeopleLanguages,
    ) -> None:
        """`piece_tokens`: tokens shown to a model at once; `wake` is called when there is a notice to deliver."""
        self._state = state
        self._extractor = Extractor(state, model, memory, piece_tokens=piece_tokens, now=now, seconds=seconds)
        self._note_writer = note_writer
        self._memory = memory
        self._now = now
        self._wake = wake
        self._languages = languages
        self._at_work: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._adding_facts = asyncio.Lock()

    def set_piece_tokens(self, *, piece_tokens: int) -> None:
        """Show a model this many tokens at once from now on."""
        self._extractor.renew(piece_tokens=piece_tokens)

    async def flush(
        self, chat: str, conversation: int, *, upto: int | None, cause: Cause, key: str = ""
    ) -> FlushResult:
        """Flush everything up to an entry (None: everything) that is not flushed yet. Raises StateFault.

        `key` names the command that asked; run again, it gets the same answer. If notes cannot be written, the result
        says so, and what the model answered is written later.
        """
        if not self._extractor.has_model(await self._state.read_chosen_model(chat)):
            return FlushResult("no model")
        done: list[Flush] = []
        try:
            while row := await self._begin(chat, conversation, upto=upto, cause=cause, key=key):
                finished = await self._continue(row, notice=not key and cause != "threshold")
                if finished is None:
                    return FlushResult("waits")
                done.append(finished)
            if not done and key:
                done += filter(
                    None, [await self._state.read(lambda db: flushes.find_by_key(db, conversation, key))]
                )
            if not any(row.raw for row in done):
                done += await self._improve_all_raw(chat, given_up=cause in MANUAL_CAUSES)
        except MemoryFault as fault:
            log.warning("could not write the flush of %s yet: %s", chat, one_line(str(fault)))
            return FlushResult("fault", fault=fault.text)
        return combine_results(done)

    async def close(self, chat: str, conversation: int, *, flush: bool, key: str) -> None:
        """End a conversation; with `flush`, leave everything that is not flushed yet to the next `resume`.

        That is one transaction, so nothing can be said in between that nobody would flush.
        """
        if flush and self._extractor.has_model(await self._state.read_chosen_model(chat)):
            await self._begin(chat, conversation, upto=None, cause="idle", key=key, beside=True, closes=True)
        else:
            await self._state.change(lambda db: flushes.close(db, conversation, at=self._state.at()))

    def has_model(self, prefer: str) -> bool:
        """Return whether there is a language model to ask."""
        return self._extractor.has_model(prefer)

    async def resume(self) -> None:
        """Continue a few flushes that a crash or failure interrupted, and improve a few raw ones. Raises StateFault."""
        now = format_timestamp(self._now())
        for row in await self._state.read(lambda db: flushes.read_pending(db, now=now, limit=MAX_AT_ONCE)):
            if row.id in self._at_work:
                continue
            try:
                await (self._improve(row) if row.stage == "done" else self._continue(row, notice=True))
            except MemoryFault as fault:
                log.warning("could not write the flush of %s yet: %s", row.chat, one_line(str(fault)))

    # -- stages -------------------------------------------------------------------------------------------

    async def _begin(
        self,
        chat: str,
        conversation: int,
        *,
        upto: int | None,
        cause: Cause,
        key: str,
        beside: bool = False,
        closes: bool = False,
    ) -> Flush | None:
        now, at = self._now(), self._state.at()

        def begin(db: "Connection") -> Flush | None:
            name, _ = flushes.read_chat(db, chat)
            if closes:
                flushes.close(db, conversation, at=at)
            return flushes.begin(
                db,
                conversation,
                upto=upto,
                cause=cause,
                key=key,
                note=f"{now:%Y-%m-%d}.md",
                heading=heading(now, name or chat),
                at=at,
                beside=beside,
            )

        return await self._state.change(begin)

    async def _continue(self, row: Flush, *, notice: bool) -> Flush | None:
        """Run a flush to its end; None if a model has to be asked again later."""
        async with self._at_work.setdefault(row.id, asyncio.Lock()):
            row = await self._read_row(row)
            while row.stage != "done":
                try:
                    match row.stage:
                        case "begun":
                            if not await self._find_answer(row):
                                return None
                        case "answered":
                            await self._write_section(row)
                        case "written":
                            # Otherwise two chats at once could both find that MEMORY.md lacks the same fact.
                            async with self._adding_facts:
                                await self._choose_facts(row)
                                row = await self._read_row(row)
                                if row.stage == "chosen":
                                    await self._write_core(row, notice=notice)
                        case "chosen":
                            await self._write_core(row, notice=notice)
                except MemoryFault:
                    await self._update_row(row, again_at=self._next_attempt_at(1))
                    raise
                row = await self._read_row(row)
            return row

    async def _find_answer(self, row: Flush) -> bool:
        """Store what to write; return False if that is not known yet."""
        extracted = await self._extractor.extract(row)
        messages, reading, rewrites = extracted.messages, extracted.reading, extracted.rewrites
        failures = row.failures + (reading is None)
        if reading is None:
            log.warning("no model answered for the flush of %s: %s", row.chat, extracted.error)
            if failures < MAX_TRIES and row.cause in PATIENT_CAUSES:
                return not await self._update_row(
                    row, failures=failures, again_at=self._next_attempt_at(failures)
                )
            await self._save_answer(
                row,
                section(row.heading, await asyncio.to_thread(format_raw, messages)),
                rewrites=rewrites,
                raw=True,
                failures=failures,
            )
        elif reading.sure:
            await self._save_answer(row, section(row.heading, reading.body), reading.core, rewrites=rewrites)
        else:
            raw = await asyncio.to_thread(format_raw, messages, mark=DOUBTFUL_MARK)
            await self._save_answer(
                row,
                section(row.heading, reading.body, raw),
                reading.core,
                rewrites=rewrites,
                raw=bool(raw),
            )
        return True

    async def _improve(self, row: Flush) -> Flush | None:
        """Ask a model again about a raw section; None if the answer is no better."""
        async with self._at_work.setdefault(row.id, asyncio.Lock()):
            row = await self._read_row(row)
            if row.stage != "done" or not row.raw:
                return None
            extracted = await self._extractor.extract(row)
            reading = extracted.reading
            if reading is None or not reading.sure:
                log.info(
                    "could not improve a raw section of %s yet: %s",
                    row.note,
                    extracted.error or "the answer is no list of notes",
                )
                failures = row.failures + 1
                again_at = self._next_attempt_at(failures) if failures < MAX_RAW_TRIES else flushes.NEVER
                await self._update_row(row, failures=failures, again_at=again_at)
                return None
            better = section(row.heading, reading.body)
            if not better and not reading.core:
                # The model found nothing worth keeping; the raw section stays all the same.
                await self._update_row(row, raw=0)
                return None
            await self._save_answer(
                row,
                better or row.section,
                reading.core,
                rewrites=extracted.rewrites,
                replaces=row.section,
            )
        return await self._continue(row, notice=False)

    async def _save_answer(
        self,
        row: Flush,
        block: str,
        core: Sequence[str] = (),
        *,
        rewrites: int,
        raw: bool = False,
        replaces: str = "",
        failures: int | None = None,
    ) -> None:
        """Store what to write, unless some of the conversation was forgotten since it was read."""
        facts = "\n".join(core)
        answer: dict[str, object] = {
            "stage": "answered",
            "section": block,
            "core": facts,
            "digest": _digest(block, facts),
            "raw": int(raw),
            "replaces": replaces,
            "failures": row.failures if failures is None else failures,
            "again_at": self._next_attempt_at(1) if raw else "",
        }

        def save(db: "Connection") -> None:
            if conversations.count_rewrites(db, row.conversation) == rewrites:
                flushes.update(db, row, **answer)

        await self._state.change(save)

    async def _write_section(self, row: Flush) -> None:
        """Write the section into the log of the day on which the flush began."""
        if row.digest != _digest(row.section, row.core):  # deleted by `/forget` meanwhile, or damaged
            log.warning("the section for %s was changed in state.db; a model is asked again", row.note)
            stage = "done" if row.replaces else "begun"
            await self._update_row(row, stage=stage, section="", core="", replaces="", raw=0)
            return
        places = list(row.places)
        if row.replaces and row.section != row.replaces:
            try:
                written = await self._note_writer.edit(
                    row.note,
                    row.replaces,
                    row.section,
                    key=f"flush-{row.id}-better",
                    origin=await self._origin_of(row, row.section),
                    check=partial(_check_unchanged, row=row),
                )
            except (EditRefused, NoteMissing) as refusal:
                log.info("a raw section stays as it is: %s", refusal)
                await self._update_row(row, stage="done", core="", replaces="")
                return
            places = [format_note_ref(written.path, written.line_start, written.line_end)]
        elif row.section and not row.replaces:
            title = row.note.removesuffix(".md")
            written = await self._note_writer.append(
                row.note,
                row.section,
                key=f"flush-{row.id}",
                title=title,
                origin=await self._origin_of(row, row.section),
                check=partial(_check_unchanged, row=row),
            )
            places = [format_note_ref(written.path, written.line_start, written.line_end)]
        await self._update_row(row, stage="written", places=places)

    async def _choose_facts(self, row: Flush) -> None:
        """Store which facts MEMORY.md lacks before any of them is written."""
        facts = row.core.split("\n") if row.core else []
        fresh = (
            await asyncio.to_thread(find_missing_facts, facts, await read_core_note(self._memory))
            if facts
            else []
        )
        block = format_facts(fresh)
        await self._update_row(row, stage="chosen", core=block)

    async def _write_core(self, row: Flush, *, notice: bool) -> None:
        places = list(row.places)
        if row.core:
            written = await self._note_writer.append(
                CORE_NOTE,
                row.core,
                key=f"flush-{row.id}-core",
                title="Memory",
                origin=await self._origin_of(row, row.core),
                check=partial(_check_unchanged, row=row),
            )
            places.append(format_note_ref(written.path, written.line_start, written.line_end))
        is_asked_for = row.key or row.replaces or not notice

        def end(db: "Connection") -> bool:
            ended = flushes.update(db, row, stage="done", places=places, replaces="")
            if not ended or is_asked_for:
                return False
            with speaking(self._languages.read_of_chat(db, row.chat)):
                told = combine_results([row], places).notice
            if not told:
                return False
            put = inbox.add_notice(db, row.chat, told, key=f"flush-{row.id}", owner="", at=self._state.at())
            return put is not None

        if await self._state.change(end):
            self._wake()

    async def _improve_all_raw(self, chat: str, *, given_up: bool) -> list[Flush]:
        """Improve raw sections of this chat, once models answer again."""
        improved: list[Flush] = []
        for row in await self._state.read(
            lambda db: flushes.read_raw(db, chat, given_up=given_up, limit=MAX_AT_ONCE)
        ):
            better = await self._improve(row)
            if better is None:  # somebody is waiting, and the next one would hardly do better
                break
            improved.append(better)
        return improved

    async def _origin_of(self, row: Flush, text: str) -> ChangeOrigin:
        """Return what the changes of a flush are recorded with; they are a person's if only one person spoke."""
        spoke = partial(
            speakers.read_only_speaker, conversation=row.conversation, after=row.after, upto=row.upto
        )
        return ChangeOrigin(
            "flush",
            person=await self._state.read(spoke),
            chat=row.chat,
            conversation=row.conversation,
            asked_at=row.after + 1,
            upto=row.upto,
            says=find_says(text),
        )

    # -- rows ---------------------------------------------------------------------------------------------

    async def _read_row(self, row: Flush) -> Flush:
        return await read_row(self._state, row)

    async def _update_row(self, row: Flush, **changes: object) -> bool:
        return await self._state.change(lambda db: flushes.update(db, row, **changes))

    def _next_attempt_at(self, failures: int) -> str:
        pause = min(FIRST_PAUSE * 2 ** (failures - 1), MAX_PAUSE)
        return format_timestamp(self._now() + pause)


def _check_unchanged(db: "Connection", row: Flush) -> None:
    """Raise EditRefused if what is to be written was forgotten meanwhile; what is left is looked at again later."""
    if not flushes.is_unchanged(db, row):
        raise EditRefused("what was about to be written into {path} was forgotten meanwhile", path=row.note)


def _digest(block: str, core: str) -> str:
    return hashlib.sha256(f"{block}\0{core}".encode()).hexdigest()
