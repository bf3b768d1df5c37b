"""A model that falls back along a chain: it answers as long as any of them can."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from bot.hot_swap import HotSwap, no_close
from bot.metrics import Metrics
from bot.models.breakers import Breakers
from bot.models.candidate import FallbackHooks, Route
from bot.models.errors import BrokenToolCall, EmptyAnswer, ModelError, NoModelAnswered, ServerFailed
from bot.models.fallback_run import FallbackRun
from bot.models.protocol import Answer, ModelEvent, ModelRequest, StartedOver
from bot.models.routing import Routing
from bot.models.tool_calls import are_readable, count_broken_steps

log = logging.getLogger(__name__)

MAX_BROKEN_STEPS = 2
"""Steps with unreadable tool arguments that a model may try to correct itself."""


class FallbackModel:
    """A `LanguageModel` that asks the models of a chain in turn. Safe for any number of concurrent callers."""

    def __init__(
        self,
        plan: Routing,
        *,
        close: Callable[[], Awaitable[None]] = no_close,
        health: Breakers | None = None,
        hooks: FallbackHooks | None = None,
        metrics: Metrics | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`close` releases what the plan needs, once another plan replaces it."""
        self.plans = HotSwap(plan, close)
        self.health = health or Breakers()
        self._hooks = hooks or FallbackHooks(on_retry=_log_retry, on_fallback=self._fall_back)
        self._metrics = metrics or Metrics()
        self._sleep = sleep
        self._chance = chance

    @property
    def plan(self) -> Routing:
        """The routing of the next call."""
        return self.plans.now

    @property
    def name(self) -> str:
        """Name of the chain's first model."""
        return self.plan.chain[0].name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream the answer of the first model that succeeds; `Answer.tries` holds the failures before it.

        Raises NoModelAnswered with every failure if none succeeds, and ContextTooLong, before anything is
        shown, if no window holds a request that may not be shortened.
        """
        with self.plans.use() as plan:
            async with aclosing(self._stream(request, plan)) as events:
                async for event in events:
                    yield event

    async def _stream(self, request: ModelRequest, plan: Routing) -> AsyncGenerator[ModelEvent, None]:
        await self.health.refresh()
        call = FallbackRun(
            request, plan, self.health, hooks=self._hooks, sleep=self._sleep, chance=self._chance
        )
        void = False  # whether text of a failed attempt is on screen
        try:
            async with aclosing(call.routes()) as routes:
                async for route in routes:
                    shown = False
                    start = time.monotonic()
                    self._metrics.count_request(route.name.model)
                    try:
                        async with aclosing(route.model.stream(call.request)) as events:
                            async for event in events:
                                if isinstance(event, Answer):
                                    answer = _check_answer(event, route, call.request)
                                    break
                                if void:
                                    void = False
                                    yield StartedOver()
                                shown = True
                                yield event
                            else:
                                raise EmptyAnswer("ended without an answer", model=route.model.name)
                    except ModelError as error:
                        self._record_failure(call, route, error, shown=shown)
                        void = void or shown
                    except Exception as error:
                        log.exception("the client of %s crashed", route.model.name)
                        fault = ServerFailed(
                            f"the client crashed: {type(error).__name__}", model=route.model.name
                        )
                        self._record_failure(call, route, fault, shown=shown)
                        void = void or shown
                    else:
                        seconds = time.monotonic() - start
                        self._metrics.record_answer(route.name.model, answer, seconds=seconds)
                        tries = call.answered(route, answer, seconds=seconds)
                        if void:
                            yield StartedOver()
                        if tries or call.stands_in(route):
                            answer = replace(answer, tries=tries, stands_in=call.stands_in(route))
                        yield answer
                        return
            raise NoModelAnswered([each.error for each in call.tries])
        finally:
            call.close()

    def _record_failure(self, call: FallbackRun, route: Route, error: ModelError, *, shown: bool) -> None:
        call.failed(route, error, shown=shown)
        self._metrics.count_failure(route.name.model, call.tries[-1].error.kind)

    def _fall_back(self, model: str, then: str, error: ModelError) -> None:
        self._metrics.count_fallback(model, then)
        log.warning("%s gave no answer (%s: %s): going on with %s", model, error.kind, error.detail, then)


def _check_answer(answer: Answer, route: Route, request: ModelRequest) -> Answer:
    """Return the answer if it is usable. Raises EmptyAnswer or BrokenToolCall."""
    message = answer.message
    if not message.text.strip() and not message.calls:
        raise EmptyAnswer("neither text nor a tool call", model=route.model.name)
    if (
        message.calls
        and not are_readable(message.calls)
        and count_broken_steps(request.messages, model=message.model) >= MAX_BROKEN_STEPS
    ):
        raise BrokenToolCall("repeatedly sent tool arguments that are not valid JSON", model=route.model.name)
    return answer


def _log_retry(model: str, attempt: int, error: ModelError) -> None:
    log.info("%s gave no answer (try %d): %s %s", model, attempt, error.kind, error.detail)
