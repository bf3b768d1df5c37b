"""A language model with scripted answers that records its requests."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from bot.metrics import Metrics
from bot.models.breakers import Breakers
from bot.models.candidate import ModelCandidate, Route
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    LanguageModel,
    Message,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    Usage,
    UserMessage,
)
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from bot.models.user_text import user_text


@dataclass(frozen=True, slots=True)
class _Step:
    chunks: tuple[str, ...]
    calls: tuple[ToolCall, ...]
    error: BaseException | None
    hang: bool
    held: bool
    delay: float


@dataclass(slots=True)
class ScriptedModel:
    """Answers in the order of `enqueue`; a request without an answer is an AssertionError."""

    name: str = "scripted/model"
    history: list[ModelRequest] = field(default_factory=list)
    """Every request, in order."""
    closed: int = 0
    """Number of streams that were closed early."""
    _steps: deque[_Step] = field(default_factory=deque)
    _ids: int = 0
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    def enqueue(
        self,
        text: str | Iterable[str] = "",
        *,
        calls: Iterable[ToolCall | tuple[str, Mapping[str, Any]]] = (),
        error: BaseException | None = None,
        hang: bool = False,
        held: bool = False,
        delay: float = 0,
    ) -> None:
        """Add an answer: text (several texts: one delta each), then calls; or, after the text, an error or silence.

        A call is a ToolCall, or (name, arguments). `delay` is in seconds, before each delta and the end.
        An answer that is held begins only once it is released.
        """
        chunks = ((text,) if text else ()) if isinstance(text, str) else tuple(text)
        self._steps.append(_Step(chunks, tuple(self._call(call) for call in calls), error, hang, held, delay))

    def release(self) -> None:
        """Let the answers go that are held now."""
        self._released.set()
        self._released = asyncio.Event()

    def clear(self) -> None:
        """Remove the answers that were not requested yet."""
        self._steps.clear()

    @property
    def left(self) -> int:
        """Number of answers that were not requested yet."""
        return len(self._steps)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        self.history.append(request)
        assert self._steps, f"request {len(self.history)} finds no answer enqueued: {request.messages[-1:]}"
        step = self._steps.popleft()
        ended = False
        try:
            if step.held:
                await self._released.wait()
            for chunk in step.chunks:
                await asyncio.sleep(step.delay)
                yield TextDelta(chunk)
            await asyncio.sleep(step.delay)
            if step.hang:
                await asyncio.Event().wait()
            if step.error is not None:
                raise step.error
            text = "".join(step.chunks)
            ended = True
            yield Answer(AssistantMessage(text, step.calls, self.name), Usage(1, max(1, len(text) // 4)))
        finally:
            self.closed += not ended

    def _call(self, call: ToolCall | tuple[str, Mapping[str, Any]]) -> ToolCall:
        if isinstance(call, ToolCall):
            return call
        self._ids += 1
        return ToolCall(f"call{self._ids:05}", call[0], json.dumps(call[1]))


def shown_text(message: Message) -> str:
    """Return the text that a provider would get for a message."""
    return user_text(message) if isinstance(message, UserMessage) else getattr(message, "text", "")


class BreakableChain(FallbackModel):
    """A chain that can be made to raise an unexpected error."""

    breaks: bool = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if self.breaks:
            raise ZeroDivisionError("a bug of ours")
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                yield event


def alone(
    model: LanguageModel, health: Breakers | None = None, metrics: Metrics | None = None
) -> BreakableChain:
    """Return a chain of only this model, without retries."""
    name = RouteName(model.name)
    plan = Routing((ModelCandidate(model.name, (Route(model, name),)),), retry=RetryPolicy(0, 0))
    return BreakableChain(plan, health=health, metrics=metrics)
