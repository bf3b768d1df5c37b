"""`/forget`: what is to be forgotten, shown first, then removed everywhere."""

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal

from bot.attachments.markup import split_attached
from bot.messages import ChatId, PersonId
from bot.note_refs import format_note_ref
from bot.state import forgetting
from bot.state.database import State, StateFault, format_timestamp
from bot.state.forgetting import ENTRIES, REQUESTS, STORED_TEXTS, ForgetRequest, StoredRow, StoredText
from memory import disk
from memory.document_paths import parse_title
from memory.errors import MemoryFault
from memory.forgetting import FORGOTTEN, NoteLines, WordsToForget
from memory.listing import Problem
from memory.memory import Memory

MAX_LINES = 50
"""How many passages of the notes are forgotten at once."""
MAX_EXCERPTS = 5
EXCERPT_CHARS = 120
_LINES_PER_STEP = 20
CODE_MINUTES = 10

CODE_CHARS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_BATCH_ROWS = 100
"""With pictures one of them may have a megabyte."""
_FORGOTTEN_RESULT = json.dumps({"note": FORGOTTEN})


class NothingToForget(Exception):
    """There is nothing of it, or no such code."""


class AlreadyForgotten(Exception):
    """What the code stands for was removed before."""


@dataclass(frozen=True, slots=True)
class FoundText:
    """What is known about something."""

    query: str
    lines: tuple[NoteLines, ...]
    too_many: bool
    """Whether there is more in the notes than is forgotten at once; then there is no code."""
    messages: int
    """Of conversations, with what tools gave back."""
    excerpts: tuple[str, ...]
    elsewhere: int
    """The trash, reminders, summaries, messages on their way, and the like."""
    unread: tuple[Problem, ...]
    """Notes that could not be looked at."""
    code: str = ""


@dataclass(frozen=True, slots=True)
class ForgetOutcome:
    """What was removed."""

    lines: int
    missed: tuple[str, ...]
    """Where it stands in the notes all the same, since it had changed meanwhile, or came later."""
    messages: int
    elsewhere: int
    problem: str
    """Why a trace may be left on the disk; "" where none is."""
    fault: str = ""
    """Why the notes, or some of them, still hold it; "" where none does."""


class ForgetService:
    """Finds what is known about something, and removes it once that is confirmed.

    "It" are the lines of notes that have all the words of a query, and in conversations, the trash and whatever else
    is kept all texts that have these words or repeat such a line. What waits for a confirmation is kept in state.db,
    without what was found: any process may carry it out, also after a crash in the middle of it.
    """

    def __init__(
        self,
        memory: Memory,
        state: State,
        *,
        forget_typed: Callable[[WordsToForget], int] = lambda wanted: 0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`forget_typed` removes it from what a channel keeps of a person's inputs, where the question stands too.

        It tells from how many, and raises OSError.
        """
        self._memory = memory
        self._state = state
        self._forget_typed = forget_typed
        self._now = now

    async def find(self, query: str, *, chat: ChatId, person: PersonId) -> FoundText:
        """Look for it everywhere; the code is good for CODE_MINUTES, in this chat and for this person.

        What an earlier removal has left half done is ended first. Raises NotFound, and MemoryFault where the notes
        cannot be read.
        """
        await self.clean_up()
        if await self._state.read(forgetting.is_unfinished) and not await self._wipe_free_space(
            WordsToForget("")
        ):
            await self._state.change(forgetting.mark_finished)
        wanted = WordsToForget(query)
        if wanted.is_blank:
            raise NothingToForget
        notes = await self._memory.find_lines(wanted, most=MAX_LINES)
        wanted = WordsToForget(query, _split_lines(notes.lines))
        messages, elsewhere, excerpts = 0, notes.in_trash + notes.in_names, list[str]()
        for place in STORED_TEXTS:
            if place == REQUESTS or place.table == "inbox":
                continue  # where the question itself stands
            async for changes in self._rows_containing(place, wanted):
                said = [kept for kept, _ in changes if _is_message(place, kept)]
                messages += len(said)
                elsewhere += len(changes) - len(said)
                for kept in said:
                    excerpt = _excerpt_of(kept, wanted) if len(excerpts) < MAX_EXCERPTS else ""
                    if excerpt and excerpt not in excerpts:
                        excerpts.append(excerpt)
        if not (notes.lines or messages or elsewhere):
            raise NothingToForget
        code = "" if notes.more else "".join(secrets.choice(CODE_CHARS) for _ in range(4))
        if code:
            digests = json.dumps([_hash_lines(each) for each in notes.lines])
            left = await self._state.read(
                forgetting.is_unfinished
            )  # by what this takes the place of, perhaps
            asked = ForgetRequest(
                str(chat), str(person), code, query, digests, format_timestamp(self._now()), unfinished=left
            )
            await self._state.change(partial(forgetting.save_request, asked=asked))
        return FoundText(
            query, notes.lines, notes.more, messages, tuple(excerpts), elsewhere, notes.unread, code
        )

    async def confirm(self, code: str, *, chat: ChatId, person: PersonId, key: str) -> ForgetOutcome:
        """Remove what was shown and stands there still; done again under the same key, it goes on or tells the same.

        Raises NotFound where this is not the code of this person, here and now, and Removed where all is gone by it
        already: a button is easily pressed twice. Where notes cannot be written the rest is removed all the same,
        and the code stays good.
        """
        asked = await self._state.read(partial(forgetting.read_request, chat=str(chat), person=str(person)))
        if asked is None or not secrets.compare_digest(asked.code.encode(), code.upper().encode()):
            raise NothingToForget
        if asked.outcome and asked.key == key:
            return _load_outcome(asked)
        if asked.outcome:
            raise AlreadyForgotten
        begun_by_this = asked.unfinished and asked.key == key
        if not begun_by_this and self._is_expired(asked):
            raise NothingToForget
        asked = replace(asked, key=key, unfinished=True)
        await self._save(asked)
        notes = await self._find_shown(asked)
        wanted = WordsToForget(asked.query, _split_lines(notes.shown))
        # First what leads to the notes and not the other way round: cut off here, the question finds the rest again.
        messages, elsewhere = await self._remove_from_state(wanted, but=REQUESTS)
        try:
            removed = await self._memory.forget_lines(notes.shown, wanted)
        except MemoryFault as fault:
            left = await self._find_shown(asked)
            lines = max(len(notes.shown) - len(left.shown), 0)
            places = tuple(map(_encode_lines, (*left.shown, *left.others)))
            return ForgetOutcome(lines, places, messages, elsewhere, "", fault=str(fault))
        problem = removed.problem
        try:
            elsewhere += await asyncio.to_thread(self._forget_typed, wanted)
        except OSError as error:
            problem = problem or f"the lines typed before: {disk.reason(error)}"
        missed = tuple(map(_encode_lines, (*removed.missed, *notes.others)))
        elsewhere += removed.in_trash + removed.in_names
        done = ForgetOutcome(removed.lines, missed, messages, elsewhere, problem)
        await self._save(replace(asked, query="", lines="[]", outcome=json.dumps(asdict(done))))
        await self._remove_from_state(wanted, only=REQUESTS)  # where else it was asked for
        done = replace(done, problem=problem or await self._vacuum())
        await self._save(
            replace(
                asked, query="", lines="[]", outcome=json.dumps(asdict(done)), unfinished=bool(done.problem)
            )
        )
        return done

    async def cancel(
        self, code: str, *, chat: ChatId, person: PersonId
    ) -> Literal["left", "removed", "unknown"]:
        """Drop the question that a code belongs to; tell what came of that.

        What has begun to be removed before is not undone by it.
        """
        asked = await self._state.read(partial(forgetting.read_request, chat=str(chat), person=str(person)))
        if asked is None or not secrets.compare_digest(asked.code.encode(), code.encode()):
            return "unknown"
        if asked.outcome:
            return "removed"
        await self._save(replace(asked, code="", query="", lines="[]"))
        return "left"

    async def clean_up(self) -> None:
        """Remove what nobody has confirmed in time."""
        now = self._now()
        since = format_timestamp(now - timedelta(minutes=CODE_MINUTES))
        await self._state.change(
            partial(forgetting.delete_old_requests, since=since, until=format_timestamp(now))
        )

    def _is_expired(self, asked: ForgetRequest) -> bool:
        age = self._now() - datetime.fromisoformat(asked.at)
        return not timedelta() <= age + timedelta(milliseconds=1) <= timedelta(minutes=CODE_MINUTES)

    async def _save(self, asked: ForgetRequest) -> None:
        await self._state.change(partial(forgetting.save_request, asked=asked))

    async def _find_shown(self, asked: ForgetRequest) -> "_StoredPassages":
        """What stands in the notes now, that which was shown apart from the rest."""
        if not asked.query:
            return _StoredPassages((), ())
        found = await self._memory.find_lines(WordsToForget(asked.query), most=MAX_LINES * 20)
        digests: list[str] = json.loads(asked.lines)
        shown, others = list[NoteLines](), list[NoteLines]()
        for each in found.lines:
            if (digest := _hash_lines(each)) in digests:
                digests.remove(digest)
                shown.append(each)
            else:
                others.append(each)
        return _StoredPassages(tuple(shown), tuple(others))

    async def _wipe_free_space(self, wanted: WordsToForget) -> str:
        """Free the files of what nothing refers to any more; tell why that could not be done, "" where it was."""
        try:
            problem = (await self._memory.forget_lines((), wanted)).problem
        except MemoryFault as fault:
            problem = str(fault)
        return problem or await self._vacuum()

    async def _vacuum(self) -> str:
        try:
            whole = await self._state.read(forgetting.vacuum)
        except StateFault as fault:
            return str(fault)
        return "" if whole else "state.db is in use by another program"

    async def _remove_from_state(
        self, wanted: WordsToForget, *, only: StoredText | None = None, but: StoredText | None = None
    ) -> tuple[int, int]:
        messages = elsewhere = 0
        for place in STORED_TEXTS:
            if place == but or only not in (None, place):
                continue
            async for changes in self._rows_containing(place, wanted):
                await self._state.change(partial(forgetting.replace_texts, place=place, changes=changes))
                said = sum(_is_message(place, kept) for kept, _ in changes)
                messages += said
                elsewhere += len(changes) - said
        return messages, elsewhere

    async def _rows_containing(
        self, place: StoredText, wanted: WordsToForget
    ) -> AsyncIterator[list[tuple[StoredRow, str | None]]]:
        """The texts of a place that hold it, with what is to stand there instead, some at a time."""
        after = 0
        while kept := await self._state.read(
            partial(forgetting.read_texts, place=place, after=after, most=_BATCH_ROWS)
        ):
            after = kept[-1].row
            found = await asyncio.to_thread(_find_changes, place, kept, wanted)
            if found:
                yield found


@dataclass(frozen=True, slots=True)
class _StoredPassages:
    """Passages of the notes that hold it."""

    shown: tuple[NoteLines, ...]
    others: tuple[NoteLines, ...]
    """Changed since, or new."""


def _hash_lines(lines: NoteLines) -> str:
    return hashlib.sha256(f"{lines.path}\0{lines.text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _encode_lines(lines: NoteLines) -> str:
    return format_note_ref(lines.path, lines.line_start, lines.line_end)


def _load_outcome(asked: ForgetRequest) -> ForgetOutcome:
    fields = json.loads(asked.outcome)
    return ForgetOutcome(**{**fields, "missed": tuple(fields["missed"])})


def _is_message(place: StoredText, kept: StoredRow) -> bool:
    return place == ENTRIES and kept.kind in {"user", "assistant", "result"}


def _split_lines(lines: Collection[NoteLines]) -> Iterator[str]:
    for each in lines:
        yield from each.text.split("\n")


def _find_changes(
    place: StoredText, kept: Sequence[StoredRow], wanted: WordsToForget
) -> list[tuple[StoredRow, str | None]]:
    return [(each, new) for each in kept if (new := _text_without(place, each, wanted)) != each.text]


def _text_without(place: StoredText, kept: StoredRow, wanted: WordsToForget) -> str | None:
    """What is to stand in a text's place: the text itself where it does not hold it, None for nothing at all."""
    match place.table, place.column:
        case "entries", _:
            return _entry_without(kept, wanted)
        case "effects", "path":
            return None if wanted.is_in(parse_title(kept.text)) else kept.text
        case "effects" | "forgetting", _:
            return None if wanted.is_in(_collect_texts(_parse_json(kept.text))) else kept.text
        case "documents", _:
            return (
                None if wanted.is_in(_collect_texts(_document_names(_parse_json(kept.text)))) else kept.text
            )
        case "flushes", _:
            return wanted.remove_from(kept.text) if wanted.is_in(kept.text) else kept.text
        case "inbox", "payload":
            return _message_without(kept, wanted)
        case _:
            return FORGOTTEN if wanted.is_in(kept.text) else kept.text


def _message_without(kept: StoredRow, wanted: WordsToForget) -> str:
    """A message that is not answered yet, with what is around it, in the form in which bot/state/inbox.py reads it."""
    message = _parse_json(kept.text)
    if not isinstance(message, dict):
        return kept.text
    blanked = {
        name: _blank_out(value, wanted) if name in {"text", "quoted", "forwarded_from"} else value
        for name, value in message.items()
    }
    if attachments := message.get("attachments"):
        blanked["attachments"] = [{**each, "name": _blank_out(each["name"], wanted)} for each in attachments]
    return kept.text if blanked == message else _dump_json(blanked)


def _document_names(document: Any) -> list[str]:
    """What people have said of a document: what it is called, and who sent it."""
    return [document["attachment"]["name"], document["sender_name"]] if isinstance(document, dict) else []


def _entry_without(kept: StoredRow, wanted: WordsToForget) -> str:
    """An entry of a conversation, in the form in which bot/conversations/conversation.py reads it."""
    fields = _parse_json(kept.text)
    if not isinstance(fields, dict):
        return "{}" if wanted.is_in(kept.text) else kept.text
    # What stands for a picture is no words, though some may come about in it; its caption takes it along.
    if not wanted.is_in(_collect_texts({name: value for name, value in fields.items() if name != "images"})):
        return kept.text
    match kept.kind:
        case "user":
            return _dump_json({"text": FORGOTTEN})
        case "assistant":
            return _dump_json(_step_without(fields, wanted))
        case "result":
            return _dump_json({**fields, "content": _FORGOTTEN_RESULT})
        case "summary" | "recalled":
            return _dump_json({**fields, "text": wanted.blank_sentences(str(fields.get("text", "")))})
        case _:
            return _dump_json(_blank_out(fields, wanted))


def _step_without(fields: dict[str, Any], wanted: WordsToForget) -> dict[str, Any]:
    """What an assistant said and called. The words may be spread over both: then both go. Never the provider's form."""
    text, calls = str(fields.get("text", "")), list(fields.get("calls", ()))
    said = wanted.is_in(text)
    called = [wanted.is_in(_collect_texts(_parse_json(str(call.get("arguments", ""))))) for call in calls]
    spread = not said and not any(called) and wanted.is_in("\n".join([text, *map(_collect_texts, calls)]))
    kept = {name: value for name, value in fields.items() if name != "raw"}
    return {
        **kept,
        "text": FORGOTTEN if text and (said or spread) else text,
        "calls": [
            {**call, "arguments": "{}"} if gone or spread else call
            for call, gone in zip(calls, called, strict=True)
        ],
    }


def _blank_out(value: Any, wanted: WordsToForget) -> Any:
    match value:
        case str():
            return FORGOTTEN if wanted.is_in(value) else value
        case dict():
            return {name: _blank_out(each, wanted) for name, each in value.items()}
        case list():
            return [_blank_out(each, wanted) for each in value]
    return value


def _collect_texts(value: Any) -> str:
    """All texts in a piece of JSON, and in the JSON that is written in them."""
    match value:
        case str():
            inner = _parse_json(value) if value[:1] in {"{", "["} else value
            return value if isinstance(inner, str) else _collect_texts(inner)
        case dict():
            return "\n".join(_collect_texts(each) for each in value.values())
        case list():
            return "\n".join(_collect_texts(each) for each in value)
    return "" if value is None else str(value)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _dump_json(fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _excerpt_of(kept: StoredRow, wanted: WordsToForget) -> str:
    """What somebody said, around the words; "" where they stand in what came along, or in what nobody has seen."""
    fields = _parse_json(kept.text)
    if kept.kind == "result" or not isinstance(fields, dict):
        return ""
    said, _ = split_attached(str(fields.get("text", "")))
    words = " ".join(said.split())
    return _excerpt_around(words, wanted) if wanted.is_in(words) else ""


def _excerpt_around(text: str, wanted: WordsToForget) -> str:
    """The passage of a text that has most of the words, those in its middle."""
    if len(text) <= EXCERPT_CHARS:
        return text
    starts = range(0, len(text) - EXCERPT_CHARS + _LINES_PER_STEP, _LINES_PER_STEP)
    shares = [wanted.matched_share(text[start : start + EXCERPT_CHARS]) for start in starts]
    first = last = shares.index(max(shares))
    while last + 1 < len(shares) and shares[last + 1] == shares[first]:
        last += 1
    start = min(starts[(first + last) // 2], len(text) - EXCERPT_CHARS)
    end = start + EXCERPT_CHARS
    if start and (space := text.find(" ", start, start + _LINES_PER_STEP)) > 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", end - _LINES_PER_STEP, end)) > 0:
        end = space
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
