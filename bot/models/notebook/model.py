"""A `LanguageModel` that needs no language model: it notes, searches and reports what it found."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime

from bot.models.notebook.language import NOTICE_MARK, Language
from bot.models.notebook.phrases import has_words, language_of
from bot.models.notebook.replies import compose
from bot.models.notebook.tool_calls import planned_calls
from bot.models.notebook.tool_reports import turn_report
from bot.models.notebook.turn import parsed_text, said_words, user_messages
from bot.models.notebook.turn_plan import plan_turn
from bot.models.protocol import Answer, AssistantMessage, Message, ModelRequest, TextDelta

_LONG_CHARS = 1_000
"""Longer conversations are read in a thread, so that they block nobody."""
MAX_LANGUAGE_MESSAGES = 20
"""Number of latest messages that decide the chat's language."""


class Notebook:
    """Answers from the request and the clock alone; keeps no state between requests."""

    def __init__(
        self,
        name: str = "builtin/notebook",
        *,
        alone: bool = True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`name`: as in the chain. `alone`: there is no language model, so explain how to add one.

        `now` returns the owner's local time, aware.
        """
        self.name = name
        self._alone = alone
        self._now = now

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        """Yield the answer, or the tool calls needed to find one. Raises nothing."""
        if sum(len(parsed_text(each)) for each in request.messages) > _LONG_CHARS:
            message = await asyncio.to_thread(self._answer, request)
        else:
            message = self._answer(request)
        for piece in _split_chunks(message.text):
            yield TextDelta(piece)
        yield Answer(message)

    def _answer(self, request: ModelRequest) -> AssistantMessage:
        plan = plan_turn(request, self._now())
        if calls := planned_calls(plan):
            return AssistantMessage("", calls, self.name)
        language = plan.parsed.language
        knows_notice = not self._alone or any(
            NOTICE_MARK in message.text
            for message in request.messages
            if isinstance(message, AssistantMessage)
        )
        notice = (
            ""
            if knows_notice or request.told_no_model
            else _chat_language(plan.messages, language).say.notice
        )
        return AssistantMessage(compose(turn_report(plan), language, notice=notice), (), self.name)


def _chat_language(messages: Sequence[Message], now: Language) -> Language:
    """Return the language of most of what people said; if none prevails, that of the answer."""
    said = map(said_words, user_messages(messages)[-MAX_LANGUAGE_MESSAGES:])
    spoken = [language_of(text) for text in said if has_words(text)]
    return max([now, *spoken], key=spoken.count)


def _split_chunks(text: str) -> list[str]:
    """Split a text into a few words at a time, as a model writes."""
    return re.findall(r"\s*\S{1,24}(?:[ ]\S{1,8}){0,3}\s*", text) if text else []
