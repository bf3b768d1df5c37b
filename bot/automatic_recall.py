"""Searches the notes for what fits a message, before a model answers it and without being asked."""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from bot.conversations.passages import RecalledPassage, fit_passages
from bot.log.tracebacks import error_location
from bot.metrics import Metrics
from bot.models.protocol import AssistantMessage, Message, ToolResult, UserMessage
from bot.models.user_text import own_words, user_text
from bot.sanitize import one_line
from bot.state.database import StateFault
from memory.errors import MemoryFault
from memory.search import SearchHit

if TYPE_CHECKING:
    from bot.config.settings import RecallSettings
    from bot.conversations.conversation import Conversation
    from memory.memory import Memory

log = logging.getLogger(__name__)

VECTOR_SECONDS = 0.08
"""How long to wait for the vector of a query; with the search by words, recall then takes about 150 ms at most."""
SEARCH_SECONDS = 1.0
"""How long to wait for the searches; a turn continues without late ones, such as while a new memory is indexed."""
MAX_QUERIES = 4
"""Searches for one turn: a long message is searched in at most so many parts."""
WHOLE_CHARS = 300
"""A message up to this length is also searched as a whole, since its sentences are about the same thing."""
MAX_CHARS = 6_000
"""Characters of a turn's messages that are searched for; of a longer paste only the end, where the question is."""
HITS = 5

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")


class AutomaticRecall:
    """Searches the notes for the messages of a turn, and stores good passages with them."""

    def __init__(
        self,
        memory: "Memory",
        *,
        settings: Callable[[], "RecallSettings"],
        is_local: bool,
        metrics: Metrics | None = None,
    ) -> None:
        """`settings` returns the ones in force; `is_local`: whether the embedding provider runs on this machine."""
        self._memory = memory
        self._settings = settings
        self._is_local = is_local
        self._metrics = metrics or Metrics()
        self._is_failing = False

    async def recall(self, conversation: "Conversation") -> None:
        """Store passages for the latest messages of a loaded conversation, unless that was done before.

        Raises nothing: a fault is logged, once until it works again, and the turn goes on without passages.
        """
        settings = self._settings()
        if not settings.automatic or conversation.passages or conversation.is_retracting:
            return
        try:
            found = await self._find(conversation, settings)
            if found:
                await conversation.save_passages(found)
        except (MemoryFault, StateFault) as fault:
            self._report(one_line(str(fault)))
        except Exception as error:  # noqa: BLE001 - nobody asked for this, so it must not cost an answer
            self._report(error_location(error))
        else:
            self._is_failing = False

    async def _find(
        self, conversation: "Conversation", settings: "RecallSettings"
    ) -> Sequence[RecalledPassage]:
        words = "\n".join(own_words(each) for each in conversation.question if not each.forwarded_from)
        queries = await asyncio.to_thread(split_queries, words)
        if not queries:
            return ()
        began = self._metrics.clock()
        hits = await self._search(queries, settings)
        self._metrics.record_stage("recall", since=began)
        good = [hit for hit in hits if hit.evidence >= settings.min_score]
        if not good:
            return ()
        messages = conversation.messages()

        def select() -> Sequence[RecalledPassage]:
            shown = "\n".join([conversation.recalled, *map(_message_text, messages)])
            return fit_passages(select_passages(good, shown), max_chars=settings.max_chars)

        return await asyncio.to_thread(select)  # a long conversation takes a while to look through

    async def _search(self, queries: Sequence[str], settings: "RecallSettings") -> list[SearchHit]:
        """Return the hits of the searches that finish in time. Raises the first fault if all of them fail."""
        may_embed = self._is_local or settings.remote_embedding
        searches = [
            asyncio.create_task(
                self._memory.search(
                    query,
                    limit=HITS,
                    vector_seconds=VECTOR_SECONDS if may_embed else 0,
                    neighbours=False,
                )
            )
            for query in queries
        ]
        try:
            done, _ = await asyncio.wait(searches, timeout=SEARCH_SECONDS)
        finally:
            for search in searches:
                search.cancel()
        ended = [search for search in searches if search in done]
        faults = [fault for search in ended if (fault := search.exception())]
        if faults and len(faults) == len(ended):
            raise faults[0]
        return [hit for search in ended if not search.exception() for hit in search.result().hits]

    def _report(self, fault: str) -> None:
        if not self._is_failing:
            log.warning("automatic recall is failing, so models answer without it for now: %s", fault)
        self._is_failing = True


def split_queries(words: str) -> list[str]:
    """Return what to search for: sentences without greetings and thanks, and the whole text if it is short.

    A sentence asks for one thing; searching for several at once finds each of them less reliably. In scripts without
    spaces, the search takes "where" for content, so such words are left out.
    """
    from bot.models.notebook.phrases import has_words, language_of
    from bot.models.notebook.sentence import split_greeting

    rests = [
        rest
        for part in _SENTENCE_END.split(words[-MAX_CHARS:])
        if (sentence := part.strip())
        and has_words(rest := _strip_asking(split_greeting(sentence, language_of(sentence)).rest))
    ]
    whole = "\n".join(rests)
    if len(rests) < 2:
        return rests
    is_short = len(whole) <= WHOLE_CHARS
    parts = _join_neighbours(rests, MAX_QUERIES - is_short)
    return [*parts, *([whole] if is_short and whole not in parts else [])]


def _strip_asking(sentence: str) -> str:
    """Return "护照 ？" for "护照在哪里？"; a sentence in a script with spaces unchanged."""
    from bot.models.notebook.phrases import language_of

    language = language_of(sentence)
    if language.spacing != "none":
        return sentence
    longest_first = sorted(language.ask_anywhere, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), " ", sentence)


def select_passages(hits: Iterable[SearchHit], shown: str) -> list[RecalledPassage]:
    """Return the hits as passages, best first, each line once, without what `shown` already says."""
    passages: list[RecalledPassage] = []
    for hit in sorted(hits, key=lambda hit: -hit.evidence):
        is_new = not any(
            each.path == hit.path and each.line_start <= hit.line_end and hit.line_start <= each.line_end
            for each in passages
        )
        if is_new and not _is_shown(hit.snippet, shown):
            passages.append(
                RecalledPassage(
                    hit.path,
                    hit.line_start,
                    hit.line_end,
                    hit.snippet.strip("\n"),
                    hit.heading,
                    hit.superseded_by or "",
                    hit.says,
                )
            )
    return passages


def _join_neighbours(sentences: Sequence[str], most: int) -> list[str]:
    """Return at most `most` parts of about the same number of sentences."""
    if len(sentences) <= most:
        return [*sentences]
    ends = [len(sentences) * (number + 1) // most for number in range(most)]
    return ["\n".join(sentences[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def _is_shown(snippet: str, shown: str) -> bool:
    """Return whether `shown` contains each line of a snippet, as it is or within JSON."""
    lines = [line.strip().lstrip("-*+ ") for line in snippet.splitlines() if line.strip()]
    return all(
        line in shown
        or any(json.dumps(line, ensure_ascii=escaped)[1:-1] in shown for escaped in (False, True))
        for line in lines
    )


def _message_text(message: Message) -> str:
    match message:
        case UserMessage():
            return user_text(message)
        case AssistantMessage(text, calls):
            return "\n".join([text, *(call.arguments for call in calls)])
        case ToolResult(content=content):
            return content
