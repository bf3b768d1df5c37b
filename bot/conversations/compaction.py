"""Compacts long conversations: flushes them to the notes, and replaces older turns by a summary."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot import phrases
from bot.conversations.conversation import Conversation, Entry, Rewritten
from bot.conversations.flush import FLUSH_SECONDS, Flusher
from bot.conversations.flush_result import FlushResult
from bot.conversations.recall import recall
from bot.conversations.summary import MIN_SUMMARY_TOKENS, attribute_summary, extract, summarize
from bot.conversations.turns import split_turns
from bot.language.people import PeopleLanguages
from bot.language.text import join_sentences
from bot.messages import ChatId
from bot.models.protocol import AssistantMessage
from bot.models.token_estimate import estimate_text_tokens
from bot.state import flushes, inbox
from bot.state.database import State, format_timestamp
from bot.state.flushes import Cause

if TYPE_CHECKING:
    from apsw import Connection

    from bot.config.settings import FlushSettings
    from bot.models.fallback import FallbackModel
    from bot.note_writes import OnceWriter
    from memory.memory import Memory

log = logging.getLogger(__name__)

IDLE_CHECK_SECONDS = 60.0
"""Seconds between two searches for idle conversations."""
IDLE_AT_ONCE = 3

Hold = Callable[[ChatId], AbstractAsyncContextManager[object]]
"""Locks a chat; a context manager."""


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """The outcome of a compaction."""

    flushed: FlushResult
    messages: int = 0
    """Number of messages that the summary replaces."""

    @property
    def notice(self) -> str:
        """One line for a chat that did not ask for the compaction; "" if there is nothing to tell."""
        return self.flushed.notice

    @property
    def text(self) -> str:
        """The answer to a command that asked for the compaction."""
        if self.flushed.result == "fault":
            return self.flushed.text
        done = phrases.COMPACTED if self.messages else phrases.NOTHING_TO_COMPACT
        return join_sentences([done, self.flushed.notice])


class Compactor:
    """Flushes and compacts conversations; the caller holds the chat's lock."""

    def __init__(
        self,
        state: State,
        model: "FallbackModel",
        note_writer: "OnceWriter",
        memory: "Memory",
        *,
        settings: "FlushSettings",
        now: Callable[[], datetime],
        wake: Callable[[], None] = lambda: None,
        seconds: float = FLUSH_SECONDS,
        languages: PeopleLanguages | None = None,
    ) -> None:
        """`wake` is called when there is a notice to deliver; `seconds`: a model's time for one flush."""
        self._state = state
        self._model = model
        self._memory = memory
        self._settings = settings
        self._now = now
        self._known: dict[ChatId, tuple[str, bool]] = {}
        self._checked_at = float("-inf")
        self._last_handled = 0
        """Number of the last idle conversation handled; the next ones follow."""
        self._flusher = Flusher(
            state,
            model,
            note_writer,
            memory,
            piece_tokens=settings.token_threshold,
            now=now,
            wake=wake,
            seconds=seconds,
            languages=languages or PeopleLanguages(state),
        )

    def set_settings(self, settings: "FlushSettings") -> None:
        """Use these settings from now on."""
        self._settings = settings
        self._flusher.set_piece_tokens(piece_tokens=settings.token_threshold)

    async def save_chat(self, chat: ChatId, *, name: str, flush: bool) -> None:
        """Store a chat's name, and whether what is said there may go into the notes. Raises StateFault.

        Call it with each message: an idle chat is flushed only if it is known that it may be.
        """
        if self._known.get(chat) != (name, flush):
            await self._state.change(lambda db: flushes.save_chat(db, str(chat), name=name, flush=flush))
            if len(self._known) >= 1000:
                self._known.clear()
            self._known[chat] = (name, flush)

    async def may_flush(self, chat: ChatId) -> bool:
        """Return whether what is said in a chat may go into the notes, as last stored."""
        return (await self._state.read(lambda db: flushes.read_chat(db, str(chat))))[1]

    async def needs_compaction(self, conversation: Conversation) -> bool:
        """Return whether a conversation has reached its maximum length and can be compacted."""
        tokens = _estimate_tokens(conversation) * self._tokens_ratio(conversation.entries)
        return (
            tokens >= self._settings.token_threshold and self._find_cut(conversation, "threshold") is not None
        )

    async def compact(
        self, conversation: Conversation, *, cause: Cause, flush: bool, key: str = ""
    ) -> CompactionResult:
        """Flush a loaded conversation to the notes, then replace its older turns by a summary.

        `flush`: whether it may go into the notes. Nothing is compacted if a flush has to be tried again first, or
        cannot be written.
        """
        number = conversation.id
        if number is None:
            return CompactionResult(FlushResult("old"))
        cut = await self._exclude_running_turn(conversation, self._find_cut(conversation, cause))
        flushed = FlushResult("old")
        all_of_it = cause in ("asked", "idle")
        if flush and (all_of_it or cut is not None):
            flushed = await self._flush(
                conversation.chat, number, upto=None if all_of_it else cut, cause=cause, key=key
            )
        if cut is None or flushed.result in ("waits", "fault"):
            return CompactionResult(flushed)
        while True:
            compacted = [each for each in conversation.entries if each.seq <= cut]
            summary = await self._make_summary(conversation, compacted, cause, ask=flushed.result != "raw")
            recalled = await recall(self._memory, self._now) if flush else ""
            try:
                await conversation.compact(cut, summary, recalled)
            except Rewritten:  # the summary may repeat what was forgotten meanwhile
                await conversation.read_again()
                if conversation.id != number:  # a `/new` came between
                    return CompactionResult(flushed)
            else:
                return CompactionResult(flushed, len(compacted))

    async def flush(
        self, conversation: Conversation, *, cause: Cause = "asked", key: str = ""
    ) -> FlushResult:
        """Flush everything said so far to the notes; the conversation stays as it is."""
        if conversation.id is None:
            return FlushResult("old")
        return await self._flush(conversation.chat, conversation.id, upto=None, cause=cause, key=key)

    async def end(self, chat: ChatId, *, flush: bool, key: str) -> FlushResult:
        """Flush a chat's conversation and end it; with the same key again, no other one is ended.

        What cannot be flushed now is flushed later.
        """
        number = await self._state.change(lambda db: flushes.end_once(db, key, str(chat)))
        if number is None:
            return FlushResult("old")
        flushed = FlushResult("old")
        if flush:
            flushed = await self._flush(chat, number, upto=None, cause="new", key=key)
        await self._close(chat, number, flush=flush, key=key)
        return flushed

    async def end_later(self, chat: ChatId, *, flush: bool, key: str) -> None:
        """End a chat's conversation and flush it later, so that nobody waits for that."""
        number = await self._state.change(lambda db: flushes.end_once(db, key, str(chat)))
        if number is not None:
            await self._close(chat, number, flush=flush, key=key)

    async def _close(self, chat: ChatId, number: int, *, flush: bool, key: str) -> None:
        await self._flusher.close(str(chat), number, flush=flush and self._settings.enabled, key=key)

    # -- in the background ------------------------------------------------------------------------------------

    async def run_pending(self, hold: Hold) -> None:
        """Continue pending flushes and handle idle conversations, a few at a time; call it often."""
        await self.resume()
        if time.monotonic() - self._checked_at >= IDLE_CHECK_SECONDS:
            self._checked_at = time.monotonic()
            await self.flush_idle(hold)

    async def resume(self) -> None:
        """Continue a few flushes that a crash or failure interrupted, and improve a few raw sections."""
        if self._settings.enabled:
            await self._flusher.resume()

    async def flush_idle(self, hold: Hold) -> None:
        """Flush and compact conversations without messages for `idle_minutes`."""
        if not (self._settings.enabled and self._settings.idle_minutes):
            return
        for number, name in await self._read_idle_chats(after=self._last_handled):
            self._last_handled, chat = number, ChatId.parse(name)
            async with hold(chat):
                # Somebody may have spoken meanwhile.
                if (number, name) not in await self._read_idle_chats(after=number - 1):
                    continue
                conversation = Conversation(self._state, chat)
                await conversation.load()
                await self.compact(conversation, cause="idle", flush=True)

    async def _read_idle_chats(self, *, after: int) -> Sequence[tuple[int, str]]:
        """Return a few idle conversations, number and chat: those after a number, then from the start again."""
        before = format_timestamp(self._now() - timedelta(minutes=self._settings.idle_minutes))

        def work(db: "Connection") -> Sequence[tuple[int, str]]:
            found = flushes.read_idle_chats(db, before=before, after=after, limit=IDLE_AT_ONCE)
            return found or flushes.read_idle_chats(db, before=before, after=0, limit=IDLE_AT_ONCE)

        return await self._state.read(work)

    # -- sizes ------------------------------------------------------------------------------------------------

    def _find_cut(self, conversation: Conversation, cause: Cause) -> int | None:
        """Return the seq up to which to compact; None for nothing."""
        keep = self._max_tokens(conversation, cause) // (6 if cause == "overflow" else 3)
        most_turns = 1 if cause == "asked" else None
        ratio = self._tokens_ratio(conversation.entries)
        return find_cut(conversation.entries, keep_tokens=round(keep / ratio), max_turns=most_turns)

    def _max_tokens(self, conversation: Conversation, cause: Cause) -> int:
        """Return the maximum size in tokens as the provider counts them; less if it was already too long."""
        most = self._settings.token_threshold
        if cause != "overflow":
            return most
        return min(most, round(_estimate_tokens(conversation) * self._tokens_ratio(conversation.entries)))

    def _tokens_ratio(self, entries: Sequence[Entry]) -> float:
        """Return how many tokens the last model counts for each token of our estimate."""
        known = self._model.plan.candidates
        for each in reversed(entries):
            if isinstance(each.message, AssistantMessage) and each.message.model in known:
                routes = known[each.message.model].routes
                return max(self._model.health.of(route.name).tokens_ratio for route in routes)
        return 1.0

    async def _exclude_running_turn(self, conversation: Conversation, cut: int | None) -> int | None:
        """Return the cut, or an earlier one, so that an unfinished turn is kept whole."""
        number = conversation.id
        if cut is None or number is None:
            return cut
        least = await self._state.read(lambda db: inbox.first_unanswered_seq(db, number))
        if least is None or cut < least:
            return cut
        return max((each.seq for each in conversation.entries if each.seq < least), default=None)

    # -- flush and summary ------------------------------------------------------------------------------------

    async def _flush(
        self, chat: ChatId, number: int, *, upto: int | None, cause: Cause, key: str
    ) -> FlushResult:
        if not self._settings.enabled:
            return FlushResult("off")
        return await self._flusher.flush(str(chat), number, upto=upto, cause=cause, key=key)

    async def _make_summary(
        self, conversation: Conversation, compacted: Sequence[Entry], cause: Cause, *, ask: bool
    ) -> str:
        """Summarize the compacted messages and the previous summary; an extract if no model can be asked."""
        messages = [each.message for each in compacted]
        ratio = self._tokens_ratio(conversation.entries)
        most = max(MIN_SUMMARY_TOKENS, round(self._max_tokens(conversation, cause) / 4 / ratio))
        prefer = await self._state.read_chosen_model(str(conversation.chat))
        if not (ask and self._flusher.has_model(prefer)):
            summary = extract(messages, before=conversation.summary, max_tokens=most)
        else:
            summary = await summarize(
                self._model,
                messages,
                before=conversation.summary,
                prefer=prefer,
                max_tokens=most,
                piece_tokens=self._settings.token_threshold,
            )
        return await asyncio.to_thread(attribute_summary, summary, messages, conversation.summary)


def find_cut(entries: Sequence[Entry], *, keep_tokens: int, max_turns: int | None = None) -> int | None:
    """Return the seq of the last message to compact; None if there is none.

    The latest turns are kept whole as far as they fit; an unfinished turn always is.
    """
    turns = split_turns(entries, lambda each: each.message)
    for kept, turn in enumerate(reversed(turns)):
        keep_tokens -= sum(each.tokens for each in turn)
        runs = kept == 0 and not _has_ended(turn)
        if not runs and (keep_tokens < 0 or kept == max_turns):
            return turn[-1].seq
    return None


def _has_ended(turn: Sequence[Entry]) -> bool:
    last = turn[-1].message
    return isinstance(last, AssistantMessage) and not last.calls


def _estimate_tokens(conversation: Conversation) -> int:
    """Return the estimated tokens of summary and messages."""
    return estimate_text_tokens(conversation.summary) + sum(each.tokens for each in conversation.entries)
