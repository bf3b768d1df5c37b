"""The summary of the older part of a conversation: by a model, or else an extract of what people said."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bot.conversations.transcript import MIN_PIECE_TOKENS, SHORT_TOKENS, ask, halve_limit, split_pieces
from bot.foreign_text import AuthorFinder, TurnReading, find_foreign
from bot.models.errors import ContextTooLong, ModelError
from bot.models.protocol import Message, UserMessage
from bot.models.token_estimate import estimate_message_tokens, estimate_text_tokens
from bot.models.user_text import user_text
from bot.sanitize import one_line, strip_controls

if TYPE_CHECKING:
    from bot.models.fallback import FallbackModel

log = logging.getLogger(__name__)

SUMMARY_SECONDS = 60.0
MIN_SUMMARY_TOKENS = 40
"""Tokens that a summary may always have."""
MIN_SHARE = 0.02
"""Minimum share of the original length; a shorter summary, perhaps a refusal, gets an extract below it."""
LINE_CHARS = 200

INSTRUCTION = """\
Summarise the conversation above in at most {words} words, together with the summary before it, if there is one: yours
replaces both, and the conversation continues from it. Include what the person wants and what has come of it, decisions,
names, numbers, dates and file names that were mentioned, what tools have done, and what is still open. Write in the
language of the conversation, in plain Markdown, and nothing but the summary."""
EXTRACT = "(No model could summarise this. These are the person's own words, cut short; the earliest may be missing.)"
ALONGSIDE = "(The person's own words, cut short:)"
_MARKS = (
    EXTRACT,
    ALONGSIDE,
    # As earlier versions stored it.
    "(No model could sum this up. These are the person's own words, cut short; the earliest may be missing.)",
)


async def summarize(
    model: "FallbackModel",
    messages: Sequence[Message],
    *,
    before: str,
    prefer: str,
    max_tokens: int,
    piece_tokens: int,
    seconds: float = SUMMARY_SECONDS,
) -> str:
    """Summarize messages and the summary `before` them in about `max_tokens`; an extract if no model answers."""
    try:
        async with asyncio.timeout(seconds):
            text = await _ask_model(
                model, messages, before=before, prefer=prefer, limit=max_tokens, piece_tokens=piece_tokens
            )
    except (ModelError, TimeoutError) as error:
        log.warning("no model summarized the conversation: %s", one_line(str(error) or "too slow"))
        return extract(messages, before=before, max_tokens=max_tokens)
    length = sum(map(estimate_message_tokens, messages))
    if estimate_text_tokens(text) < MIN_SHARE * length:
        words = _last_lines(_lines(messages, before), max_tokens - estimate_text_tokens(text) - 20)
        text = "\n".join([text, "", ALONGSIDE, *words])
    return _truncate(text, max_tokens)


def attribute_summary(summary: str, messages: Sequence[Message], before: str) -> str:
    """Return a summary whose foreign lines are marked, so that later turns know whose words they are.

    `messages`, and the summary `before` them, are what it summarizes.
    """
    reading = TurnReading(tuple(messages), before)
    if not (foreign := find_foreign(reading)):
        return summary
    finder = AuthorFinder(reading, foreign, together=True)
    return "\n".join(line if line in _MARKS else finder.attribute(line)[0] for line in summary.split("\n"))


def extract(messages: Iterable[Message], *, before: str, max_tokens: int) -> str:
    """Return the latest things that people said, cut short and marked as an extract."""
    mark = EXTRACT if estimate_text_tokens(EXTRACT) < max_tokens // 2 else "(cut short)"
    lines = _last_lines(_lines(messages, before), max_tokens - estimate_text_tokens(mark) - 1)
    return _truncate("\n".join([mark, *lines]), max_tokens)


async def _ask_model(
    model: "FallbackModel",
    messages: Sequence[Message],
    *,
    before: str,
    prefer: str,
    limit: int,
    piece_tokens: int,
) -> str:
    """Ask a model to summarize piece by piece, each time with the summary so far. Raises ModelError."""
    instruction = INSTRUCTION.format(words=max(20, round(limit / 2 / 10) * 10))
    size = max(piece_tokens, SHORT_TOKENS)
    while True:
        summary = before
        try:
            for piece in split_pieces(messages, size):
                may_shorten = size <= MIN_PIECE_TOKENS
                answer = await ask(
                    model, piece, instruction, summary=summary, prefer=prefer, may_shorten=may_shorten
                )
                summary = _truncate(strip_controls(answer.message.text).strip(), limit)
        except ContextTooLong as error:
            size = halve_limit(size, error)
        else:
            return summary


def _lines(messages: Iterable[Message], before: str) -> list[str]:
    earlier = [line for line in before.split("\n") if line.strip() and line not in _MARKS]
    said = (user_text(message) for message in messages if isinstance(message, UserMessage))
    return [*earlier, *(f"- {one_line(text, limit=LINE_CHARS)}" for text in said if text.strip())]


def _last_lines(lines: Sequence[str], max_tokens: int) -> list[str]:
    kept: list[str] = []
    for line in reversed(lines):
        max_tokens -= estimate_text_tokens(line) + 1
        if max_tokens < 0:
            break
        kept.insert(0, line)
    return kept


def _truncate(text: str, max_tokens: int) -> str:
    """Return the beginning that fits, cut at a line if possible."""
    tokens = estimate_text_tokens(text)
    if tokens <= max_tokens:
        return text
    most = len(text) * max_tokens // (tokens + 1)
    while estimate_text_tokens(text[:most]) > max_tokens:
        most = most * 9 // 10
    end = text.rfind("\n", most // 2, most)
    return text[: end if end > 0 else most].rstrip()
