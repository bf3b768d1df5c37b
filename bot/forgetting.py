"""`/forget`: show what is to be forgotten, then remove it everywhere."""

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from bot.conversations.message_rows import decode_message
from bot.messages import ChatId, PersonId
from bot.models.protocol import AssistantMessage, UserMessage
from bot.models.user_text import own_words, user_text
from bot.note_refs import format_note_ref
from bot.note_removals import NoteRemovals
from bot.note_writes import OnceWriter
from bot.state import forgetting
from bot.state.changes import ChangeOrigin
from bot.state.database import State, StateFault, format_timestamp
from bot.state.forgetting import (
    CHANGED_PATHS,
    ENTRIES,
    REQUESTS,
    STORED_TEXTS,
    WRITES,
    ForgetRequest,
    StoredRow,
    StoredText,
)
from memory import disk
from memory.document_paths import parse_title
from memory.errors import MemoryFault
from memory.forgetting import FORGOTTEN, NoteLines, WordsToForget
from memory.listing import Problem
from memory.memory import Memory
from memory.surrogates import replace_surrogates
from memory.translatable import Translatable

if TYPE_CHECKING:
    from bot.conversations.search import ConversationSearch

MAX_LINES = 50
"""Passages of the notes that can be forgotten at once."""
MAX_EXCERPTS = 5
EXCERPT_CHARS = 120
_EXCERPT_STEP_CHARS = 20
CODE_MINUTES = 10

CODE_CHARS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_BATCH_ROWS = 100
"""Rows read at once; with pictures, one row may take a megabyte."""
_FORGOTTEN_RESULT = json.dumps({"note": FORGOTTEN})


class NothingToForget(Exception):
    """Nothing matches, or there is no such code."""


class AlreadyForgotten(Exception):
    """What the code stands for has been removed already."""


@dataclass(frozen=True, slots=True)
class FoundText:
    """What is stored that matches a query."""

    query: str
    lines: tuple[NoteLines, ...]
    too_many: bool
    """Whether the notes hold more than can be forgotten at once; then there is no code."""
    messages: int
    """Matching messages of conversations, including tool results."""
    excerpts: tuple[str, ...]
    elsewhere: int
    """Matches in the trash, reminders, summaries, undelivered messages and the like."""
    unread: tuple[Problem, ...]
    """Notes that could not be searched."""
    read_only: tuple[str, ...] = ()
    """Names of the folders that hold some of the lines and may only be read."""
    code: str = ""


@dataclass(frozen=True, slots=True)
class ForgetOutcome:
    """What was removed."""

    lines: int
    missed: tuple[str, ...]
    """Places in the notes that still hold it, because they changed meanwhile or came later."""
    messages: int
    elsewhere: int
    problem: str
    """Why a trace may be left on the disk; "" if there is none."""
    fault: str = ""
    """Why some notes still hold it; "" if none does."""
    hidden: tuple[str, ...] = ()
    """Places in folders that I may only read: still there, but neither found nor shown any more."""


class ForgetService:
    """Finds what matches a query, and removes it after a confirmation.

    A match in the notes is a line with all words of the query. In conversations, the trash and everything else that is
    stored, a match is a text that has these words or repeats such a line. A pending confirmation is stored in state.db,
    without its matches: any process can carry it out, also after a crash in the middle.
    """

    def __init__(
        self,
        memory: Memory,
        state: State,
        *,
        conversations: "ConversationSearch | None" = None,
        forget_typed: Callable[[WordsToForget], int] = lambda wanted: 0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`forget_typed` removes matches from the inputs that a channel keeps, which include the query itself.

        It returns the number of inputs, and raises OSError.
        """
        self._memory = memory
        self._state = state
        self._conversations = conversations
        self._forget_typed = forget_typed
        self._now = now
        self._on_forgotten: list[Callable[[], None]] = []

    def on_forgotten(self, drop: Callable[[], None]) -> None:
        """Have `drop` called each time notes were removed, for texts of notes that this process keeps in memory."""
        self._on_forgotten.append(drop)

    async def find(self, query: str, *, chat: ChatId, person: PersonId) -> FoundText:
        """Search everywhere; the code is valid for CODE_MINUTES, in this chat and for this person.

        Completes an earlier removal that was interrupted. Raises NothingToForget, and MemoryFault if the notes cannot
        be read.
        """
        await self.clean_up()
        await self.complete_earlier()
        await OnceWriter(self._memory, self._state).settle_open()  # a torn line is shown whole
        wanted = WordsToForget(query)
        if wanted.is_blank:
            raise NothingToForget
        notes = await self._memory.find_lines(wanted, limit=MAX_LINES)
        wanted = WordsToForget(query, _split_lines(notes.lines))
        messages, elsewhere, excerpts = 0, notes.in_trash + notes.in_names, list[str]()
        for place in STORED_TEXTS:
            if place == REQUESTS or place.table == "inbox":
                continue  # the query itself is stored there
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
            )  # perhaps by the request that this replaces
            asked = ForgetRequest(
                str(chat), str(person), code, query, digests, format_timestamp(self._now()), unfinished=left
            )
            await self._state.change(partial(forgetting.save_request, request=asked))
        read_only = dict.fromkeys(self._memory.find_read_only_folder(each.path) for each in notes.lines)
        return FoundText(
            query,
            notes.lines,
            notes.more,
            messages,
            tuple(excerpts),
            elsewhere,
            notes.unread,
            tuple(filter(None, read_only)),
            code,
        )

    async def confirm(self, code: str, *, chat: ChatId, person: PersonId, key: str) -> ForgetOutcome:
        """Remove what was shown and is still there; with the same key again, go on or return the same outcome.

        Raises NothingToForget if the code is not valid for this person now, and AlreadyForgotten if it was carried out
        before: a button is easily pressed twice. If notes cannot be written, the rest is removed all the same, and the
        code stays valid.
        """
        asked = await self._state.read(partial(forgetting.read_request, chat=str(chat), person=str(person)))
        if asked is None or not secrets.compare_digest(asked.code.encode(), code.upper().encode()):
            raise NothingToForget
        if asked.outcome and asked.key == key:
            await self.complete_earlier()  # the program may have died before the files were written anew
            return _load_outcome(asked)
        if asked.outcome:
            raise AlreadyForgotten
        begun_by_this = asked.unfinished and asked.key == key
        if not begun_by_this and self._is_expired(asked):
            raise NothingToForget
        asked = replace(asked, key=key, unfinished=True)
        await self._save(asked)
        await OnceWriter(self._memory, self._state).settle_open()
        notes = await self._find_shown(asked)
        wanted = WordsToForget(asked.query, _split_lines(notes.shown))
        # The notes come last: after a crash the same query can still find the rest through them.
        messages, elsewhere = await self._remove_from_state(wanted, but=(REQUESTS, CHANGED_PATHS))
        problem = await self._purge_conversations()
        origin = ChangeOrigin("forget", person=str(person), chat=str(chat))
        removals = NoteRemovals(self._memory, self._state, origin)
        try:
            removed = await self._memory.forget_lines(
                notes.shown, wanted, remove=removals.forget_blocks, rename=removals.rename
            )
        except MemoryFault as fault:
            left = await self._find_shown(asked)
            lines = max(len(notes.shown) - len(left.shown), 0)
            places = tuple(map(_format_lines_ref, (*left.shown, *left.others)))
            return ForgetOutcome(lines, places, messages, elsewhere, "", fault=fault.text)
        finally:
            for drop in self._on_forgotten:
                drop()
        problem = problem or removed.problem
        # Of what was written since: from here on, nothing is left of which a write could store it once more.
        elsewhere += (await self._remove_from_state(wanted, only=WRITES))[1]
        try:
            elsewhere += await asyncio.to_thread(self._forget_typed, wanted)
        except OSError as error:
            problem = problem or Translatable("the lines typed before: {reason}", reason=disk.reason(error))
        missed = tuple(map(_format_lines_ref, (*removed.missed, *notes.others)))
        elsewhere += removed.in_trash + removed.in_names
        hidden = tuple(map(_format_lines_ref, removed.hidden))
        done = ForgetOutcome(removed.lines, missed, messages, elsewhere, problem, hidden=hidden)
        await self._save(replace(asked, query="", lines="[]", outcome=json.dumps(asdict(done))))
        await self._remove_from_state(wanted, only=(REQUESTS,))  # other requests with the same words
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
        """Withdraw the request with this code: "left", "removed" if it was carried out before, or "unknown".

        A removal that has begun is not undone.
        """
        asked = await self._state.read(partial(forgetting.read_request, chat=str(chat), person=str(person)))
        if asked is None or not secrets.compare_digest(asked.code.encode(), code.encode()):
            return "unknown"
        if asked.outcome:
            return "removed"
        await self._save(replace(asked, code="", query="", lines="[]"))
        return "left"

    async def clean_up(self) -> None:
        """Delete requests that were not confirmed in time. Raises StateFault."""
        now = self._now()
        since = format_timestamp(now - timedelta(minutes=CODE_MINUTES))
        await self._state.change(
            partial(forgetting.delete_old_requests, since=since, until=format_timestamp(now))
        )

    def _is_expired(self, request: ForgetRequest) -> bool:
        age = self._now() - datetime.fromisoformat(request.at)
        return not timedelta() <= age + timedelta(milliseconds=1) <= timedelta(minutes=CODE_MINUTES)

    async def _save(self, request: ForgetRequest) -> None:
        await self._state.change(partial(forgetting.save_request, request=request))

    async def _find_shown(self, request: ForgetRequest) -> "_StoredPassages":
        """Return the matching passages of the notes: those that were shown, and others."""
        if not request.query:
            return _StoredPassages((), ())
        found = await self._memory.find_lines(WordsToForget(request.query), limit=MAX_LINES * 20)
        digests: list[str] = json.loads(request.lines)
        shown, others = list[NoteLines](), list[NoteLines]()
        for each in found.lines:
            if (digest := _hash_lines(each)) in digests:
                digests.remove(digest)
                shown.append(each)
            else:
                others.append(each)
        return _StoredPassages(tuple(shown), tuple(others))

    async def complete_earlier(self) -> None:
        """Erase what removals that were interrupted have left in free pages of the files, if possible.

        Raises StateFault.
        """
        if await self._state.read(forgetting.is_unfinished):
            await self.erase_traces()

    async def forget_typed(self, typed: WordsToForget) -> None:
        """Delete matching inputs that a channel keeps. Raises OSError."""
        await asyncio.to_thread(self._forget_typed, typed)

    async def erase_traces(self) -> str:
        """Erase from the disk what removals have left in free pages.

        Return why a trace may be left; "" if none is. Until that is so, each `/forget` and each night tries again.
        """
        if not (left := await self._wipe_free_space(WordsToForget(""))):
            await self._state.change(forgetting.mark_finished)
        return left

    async def _wipe_free_space(self, words: WordsToForget) -> str:
        """Free the disk space of deleted texts; return why that failed, or ""."""
        problem = await self._purge_conversations()
        try:
            problem = problem or (await self._memory.forget_lines((), words)).problem
        except MemoryFault as fault:
            problem = fault.text
        return problem or await self._vacuum()

    async def _purge_conversations(self) -> str:
        """Erase deleted texts from the index of conversations; return why that failed, or ""."""
        if self._conversations is None:
            return ""
        try:
            await self._conversations.purge()
        except MemoryFault as fault:
            return fault.text
        return ""

    async def _vacuum(self) -> str:
        try:
            whole = await self._state.read(forgetting.vacuum)
        except StateFault as fault:
            return fault.text
        return "" if whole else Translatable("state.db is in use by another program")

    async def _remove_from_state(
        self,
        words: WordsToForget,
        *,
        only: Sequence[StoredText] = STORED_TEXTS,
        but: Collection[StoredText] = (),
    ) -> tuple[int, int]:
        messages = elsewhere = 0
        for place in only:
            if place in but:
                continue
            async for changes in self._rows_containing(place, words):
                await self._state.change(partial(forgetting.replace_texts, place=place, changes=changes))
                said = sum(_is_message(place, kept) for kept, _ in changes)
                messages += said
                elsewhere += len(changes) - said
        return messages, elsewhere

    async def _rows_containing(
        self, place: StoredText, words: WordsToForget
    ) -> AsyncIterator[list[tuple[StoredRow, str | None]]]:
        """Yield batches of matching rows, each row with its new text."""
        after = 0
        while kept := await self._state.read(
            partial(forgetting.read_texts, place=place, after=after, limit=_BATCH_ROWS)
        ):
            after = kept[-1].row
            found = await asyncio.to_thread(_find_changes, place, kept, words)
            if found:
                yield found


@dataclass(frozen=True, slots=True)
class _StoredPassages:
    """Matching passages of the notes."""

    shown: tuple[NoteLines, ...]
    others: tuple[NoteLines, ...]
    """Changed since they were shown, or new."""


def _hash_lines(lines: NoteLines) -> str:
    return hashlib.sha256(f"{lines.path}\0{lines.text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _format_lines_ref(lines: NoteLines) -> str:
    return format_note_ref(lines.path, lines.line_start, lines.line_end)


def _load_outcome(request: ForgetRequest) -> ForgetOutcome:
    fields = json.loads(request.outcome)
    places = {name: tuple(fields.get(name, ())) for name in ("missed", "hidden")}
    return ForgetOutcome(**{**fields, **places})


def _is_message(place: StoredText, row: StoredRow) -> bool:
    return place == ENTRIES and row.kind in {"user", "assistant", "result"}


def _split_lines(lines: Collection[NoteLines]) -> Iterator[str]:
    for each in lines:
        yield from each.text.split("\n")


def _find_changes(
    place: StoredText, rows: Sequence[StoredRow], words: WordsToForget
) -> list[tuple[StoredRow, str | None]]:
    return [(each, new) for each in rows if (new := _text_without(place, each, words)) != each.text]


def _text_without(place: StoredText, row: StoredRow, words: WordsToForget) -> str | None:
    """Return a row's new text: unchanged if nothing matches, None to delete it."""
    match place.table, place.column:
        case "entries", _:
            return entry_without(row, words)
        case "effects", "path":
            return None if words.is_in(parse_title(row.text)) else row.text
        case "effects" | "forgetting", _:
            return None if words.is_in(_collect_texts(_parse_json(row.text))) else row.text
        case "changes", "path" | "moved_from" | "moved_to":
            return FORGOTTEN if words.is_in(parse_title(row.text)) else row.text
        case "changes", _:
            return _dump_json(_lines_without(_parse_json(row.text), words))
        case "documents", _:
            return None if words.is_in(_collect_texts(_document_names(_parse_json(row.text)))) else row.text
        case "flushes", _:
            return words.remove_from(row.text) if words.is_in(row.text) else row.text
        case "inbox", "payload":
            return _message_without(row, words)
        case _:
            return FORGOTTEN if words.is_in(row.text) else row.text


def _lines_without(lines: list[str], words: WordsToForget) -> list[str]:
    """Return as many lines, with a mark instead of each that matches."""
    left = list(lines)
    for first, last in words.find_matches("\n".join(lines)):
        left[first : last + 1] = [FORGOTTEN] * (last - first + 1)
    return [FORGOTTEN] * len(lines) if words.is_in("\n".join(left)) else left


def _message_without(row: StoredRow, words: WordsToForget) -> str:
    """Return an unanswered message without the matches; bot/state/inbox.py defines the format."""
    message = _parse_json(row.text)
    if not isinstance(message, dict):
        return row.text
    blanked = {
        name: _blank_out(value, words) if name in {"text", "quoted", "forwarded_from"} else value
        for name, value in message.items()
    }
    if attachments := message.get("attachments"):
        blanked["attachments"] = [{**each, "name": _blank_out(each["name"], words)} for each in attachments]
    return row.text if blanked == message else _dump_json(blanked)


def _document_names(document: Any) -> list[str]:
    """Return what people said about a document: its name, and who sent it."""
    return [document["attachment"]["name"], document["sender_name"]] if isinstance(document, dict) else []


def entry_without(row: StoredRow, words: WordsToForget) -> str:
    """Return an entry of a conversation without the matches; bot/conversations/message_rows.py defines the format."""
    fields = _parse_json(row.text)
    if not isinstance(fields, dict):
        return "{}" if words.is_in(row.text) else row.text
    # Encoded pictures may match by chance; a picture goes together with its caption.
    said = {name: value for name, value in fields.items() if name != "images"}
    if not words.is_in(_collect_texts(said, encoded=row.kind != "user")):
        return row.text
    match row.kind:
        case "user":
            return _dump_json({"text": FORGOTTEN})
        case "assistant":
            try:
                return _dump_json(_step_without(fields, words))
            except (TypeError, AttributeError):
                return "{}"  # damaged, so nobody can tell which part of it matches
        case "result":
            return _dump_json({**fields, "content": _FORGOTTEN_RESULT})
        case "summary" | "recalled":
            return _dump_json({**fields, "text": words.blank_sentences(str(fields.get("text", "")))})
        case "passages":  # the words may be spread over several of them
            return _dump_json({"passages": []})
        case _:
            return _dump_json(_blank_out(fields, words))


def _step_without(fields: dict[str, Any], words: WordsToForget) -> dict[str, Any]:
    """Return a step without the matches; words spread over text and calls remove both, and `raw` always goes."""
    text, calls = str(fields.get("text", "")), list(fields.get("calls", ()))
    says = list(fields.get("says", ()))
    said = words.is_in(text)
    called = [words.is_in(_collect_texts(_parse_json(str(call.get("arguments", ""))))) for call in calls]
    named = [words.is_in(name) for name in says]
    spread = not (said or any(called) or any(named)) and words.is_in(_collect_texts([text, says, calls]))
    kept = {name: value for name, value in fields.items() if name not in ("raw", "says")}
    left = [name for name, gone in zip(says, named, strict=True) if not (gone or spread)]
    return {
        **kept,
        **({"says": left} if left else {}),
        "text": FORGOTTEN if text and (said or spread) else text,
        "calls": [
            {**call, "arguments": "{}"} if gone or spread else call
            for call, gone in zip(calls, called, strict=True)
        ],
    }


def _blank_out(value: Any, words: WordsToForget) -> Any:
    match value:
        case str():
            return FORGOTTEN if words.is_in(value) else value
        case dict():
            return {name: _blank_out(each, words) for name, each in value.items()}
        case list():
            return [_blank_out(each, words) for each in value]
    return value


def _collect_texts(value: Any, *, encoded: bool = True) -> str:
    """Join all texts in a JSON value; `encoded`: its strings may be JSON, of which only the values count."""
    match value:
        case str():
            inner = _parse_json(value) if encoded and value[:1] in {"{", "["} else value
            return value if isinstance(inner, str) else _collect_texts(inner)
        case dict():
            return "\n".join(_collect_texts(each, encoded=encoded) for each in value.values())
        case list():
            return "\n".join(_collect_texts(each, encoded=encoded) for each in value)
        case None | bool():
            return ""
    return str(value)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _dump_json(fields: Any) -> str:
    text = json.dumps(fields, ensure_ascii=False)
    # Half a character, or a byte that is no UTF-8, can only be stored as an escape.
    return text if replace_surrogates(text) == text else json.dumps(fields)


def _excerpt_of(row: StoredRow, to_forget: WordsToForget) -> str:
    """Return the passage of a message around the words; "" if they are in an attachment or a tool result."""
    fields = _parse_json(row.text)
    if row.kind == "result" or not isinstance(fields, dict):
        return ""
    said = (" ".join(each.split()) for each in _words_of(row.kind, fields))
    return next((_excerpt_around(each, to_forget) for each in said if to_forget.is_in(each)), "")


def _words_of(kind: str, fields: dict[str, Any]) -> Iterator[str]:
    """Yield what was said in a message and what it replies to, then the same with the names of those who said it."""
    try:
        message = decode_message(kind, fields)
    except (ValueError, LookupError, TypeError):
        return
    if isinstance(message, UserMessage):
        yield "\n".join([message.quoted.text if message.quoted else "", own_words(message)])
        yield user_text(replace(message, documents=()))
    elif isinstance(message, AssistantMessage):
        yield message.text


def _excerpt_around(text: str, words: WordsToForget) -> str:
    """Return the part of a text that has most of the words, with these in its middle."""
    if len(text) <= EXCERPT_CHARS:
        return text
    starts = range(0, len(text) - EXCERPT_CHARS + _EXCERPT_STEP_CHARS, _EXCERPT_STEP_CHARS)
    shares = [words.matched_share(text[start : start + EXCERPT_CHARS]) for start in starts]
    first = last = shares.index(max(shares))
    while last + 1 < len(shares) and shares[last + 1] == shares[first]:
        last += 1
    start = min(starts[(first + last) // 2], len(text) - EXCERPT_CHARS)
    end = start + EXCERPT_CHARS
    if start and (space := text.find(" ", start, start + _EXCERPT_STEP_CHARS)) > 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", end - _EXCERPT_STEP_CHARS, end)) > 0:
        end = space
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
