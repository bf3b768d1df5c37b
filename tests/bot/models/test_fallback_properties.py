"""Whatever fails, in whatever order: what holds for every call of a chain of models."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.models.breakers import Breakers
from bot.models.candidate import FallbackHooks, ModelCandidate, Route
from bot.models.errors import (
    BadKey,
    BadRequest,
    ContentRefused,
    ContextTooLong,
    CutOff,
    EmptyAnswer,
    ModelError,
    ModelNotFound,
    NoModelAnswered,
    OutOfCredit,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    ModelRequest,
    StartedOver,
    TextDelta,
    Usage,
    UserMessage,
)
from bot.models.request_fit import NEARLY_FULL
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from bot.models.token_estimate import estimate_request_tokens

TURNS = tuple(UserMessage(f"{number}: " + "x" * 700) for number in range(20))
WHOLE = ModelRequest("System.", (*TURNS, UserMessage("And now?")))  # about 4,200 tokens
SHORT = ModelRequest("System.", (UserMessage("And now?"),))
NOTEBOOK, EXTRA = "builtin/notebook", "x/extra"
ENOUGH = 500
"""Requests in one call: more is a call without an end."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Step:
    """What one request comes to: text, then an answer or an error."""

    text: str = "Here."
    error: Callable[[], ModelError] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived."""

    route: RouteName
    request: ModelRequest
    error: ModelError | None
    skipped: tuple[str, ...]
    """Models that were ready, and had not been asked, when a route was that rested."""
    room: float
    """Tokens that fit the window that the owner or else the provider has named for this model; 0 for none."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings, what each route does one request after the other (the last for ever), and what is asked."""

    windows: tuple[int | None, ...]
    keys: tuple[int, ...]
    scripts: tuple[tuple[Step, ...], ...]
    on_error: dict[str, list[str]]
    last_resort: bool
    windows_are_set: bool
    adaptive: bool
    max_retries: int
    calls: tuple["Given", ...]


@dataclass(frozen=True, slots=True)
class Given:
    """One call."""

    is_long: bool
    prefer: str
    begun: bool
    pause: float
    """Seconds before it."""
    leave_after: int
    """Events after which it is left; 0 for never."""


@dataclass(slots=True)
class World:
    """A chain of scripted models, its clock, and all that they were asked."""

    setup: Setup
    time: float = 1_000_000.0
    asked: list[Asked] = field(default_factory=list)
    plan: Routing = field(init=False)
    health: Breakers = field(init=False)
    model: FallbackModel = field(init=False)

    def __post_init__(self) -> None:
        setup, scripts = self.setup, iter(self.setup.scripts)
        names = [f"{letter}/model" for letter, _ in zip("abc", setup.windows[1:], strict=False)]
        made = [
            ModelCandidate(
                name,
                tuple(
                    Route(Scripted(RouteName(name, str(key)), next(scripts), self), RouteName(name, str(key)))
                    for key in range(keys)
                ),
                window,
                window is not None and setup.windows_are_set,
            )
            for name, keys, window in zip([EXTRA, *names], setup.keys, setup.windows, strict=True)
        ]
        notebook = RouteName(NOTEBOOK)
        resort = ModelCandidate(
            NOTEBOOK, (Route(Scripted(notebook, (Step(),), self), notebook),), last_resort=True
        )
        chain = (*made[1:], resort) if setup.last_resort else tuple(made[1:])
        patience = RetryPolicy(setup.max_retries, 1.0)
        self.plan = Routing(chain, (made[0],), setup.on_error, patience, adaptive=setup.adaptive)
        self.health = Breakers(now=lambda: self.time)
        hooks = FallbackHooks(on_retry=lambda *_: None, on_fallback=lambda *_: None)
        self.model = FallbackModel(
            self.plan, health=self.health, hooks=hooks, sleep=self.sleep, chance=lambda: 0.0
        )

    async def sleep(self, seconds: float) -> None:
        self.time += seconds

    def note(self, name: RouteName, request: ModelRequest, error: ModelError | None) -> None:
        if len(self.asked) >= ENOUGH:
            pytest.fail("no end of it")  # unlike an assertion, it is no failure of the model
        known = {each.route.model for each in self.asked} | {name.model}
        fresh = all(each.route != name for each in self.asked)
        rests = fresh and self.health.of(name).is_open(self.time)
        resort = fresh and name.model == NOTEBOOK
        ready = [each.name for each in self.plan.chain if each.name not in known and self.is_ready(each)]
        candidate = self.plan.candidates[name.model]
        heard = [self.health.of(route.name).known_window(self.time) for route in candidate.routes]
        window = candidate.window if candidate.window_is_set else min(filter(None, heard), default=0)
        room = (window or 0) * NEARLY_FULL / self.health.of(name).tokens_ratio
        self.asked.append(Asked(name, request, error, tuple(ready) if rests or resort else (), room))

    def is_ready(self, candidate: ModelCandidate) -> bool:
        return not any(self.health.of(route.name).is_open(self.time) for route in candidate.routes)


@dataclass(slots=True)
class Scripted:
    """A model with one key."""

    route: RouteName
    steps: tuple[Step, ...]
    world: World
    count: int = 0

    @property
    def name(self) -> str:
        return self.route.model

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        step = self.steps[min(self.count, len(self.steps) - 1)]
        self.count += 1
        error = step.error() if step.error else None
        self.world.note(self.route, request, error)
        for word in step.text.split():
            yield TextDelta(word)
        if error:
            raise error
        yield Answer(
            AssistantMessage("".join(step.text.split()), (), self.name),
            Usage(estimate_request_tokens(request), 2),
        )


PASSES: list[Callable[[], ModelError]] = [
    lambda: RateLimited("429"),
    lambda: RateLimited("429", retry_after=5.0),
    lambda: RateLimited("429", retry_after=40.0),
    lambda: RateLimited("429", retry_after=400.0),
    lambda: Overloaded("529"),
    lambda: ServerFailed("500"),
    lambda: Unreachable("reset"),
    lambda: TimedOut("60 s"),
    lambda: CutOff("cut"),
    lambda: EmptyAnswer("nothing"),
]
STAYS: list[Callable[[], ModelError]] = [
    lambda: BadKey("401"),
    lambda: OutOfCredit("402"),
    lambda: ModelNotFound("404"),
    lambda: BadRequest("400"),
    lambda: BadRequest("400", unexplained=True),
    lambda: ContentRefused("no"),
    lambda: ContextTooLong("too long"),
    lambda: ContextTooLong("too long", window=2000),
]
KINDS = ("rate_limit", "overloaded", "server", "network", "timeout", "auth", "context_length", "empty")
failures = st.builds(
    Step, st.sampled_from(["", "", "In the"]), st.sampled_from([*PASSES, *STAYS, *STAYS[-2:]])
)
scripts = st.lists(st.one_of(failures, failures, failures, st.just(Step())), min_size=1, max_size=6).map(
    tuple
)


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    models = 1 + draw(st.integers(1, 3))
    names = [EXTRA, "a/model", "b/model", "c/model"][:models]
    keys = tuple(draw(st.integers(1, 2)) for _ in names)
    windows = tuple(draw(st.sampled_from([None, None, 1000, 3000, 100_000])) for _ in names)
    calls = st.builds(
        Given,
        st.booleans(),
        st.sampled_from(["", "", *names]),
        st.booleans(),
        st.sampled_from([0.0, 1.0, 31.0, 2000.0]),
        st.sampled_from([0, 0, 0, 1, 2]),
    )
    return Setup(
        windows,
        keys,
        tuple(draw(scripts) for _ in range(sum(keys))),
        draw(
            st.dictionaries(st.sampled_from(KINDS), st.lists(st.sampled_from(names), max_size=2), max_size=2)
        ),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.integers(0, 2)),
        tuple(draw(st.lists(calls, min_size=1, max_size=4))),
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(setups())
def test_what_holds_for_every_call(setup: Setup) -> None:
    world = World(setup)
    for call in setup.calls:
        request = replace(WHOLE if call.is_long else SHORT, prefer=call.prefer, begun=call.begun)
        world.time += call.pause
        world.asked.clear()
        before = {name: world.health.of(name).failed_in_a_row for name in routes_of(world.plan)}
        text, answer, error = run(ask(world.model, request, call.leave_after))
        assert_nobody_is_asked_too_often(world.asked, setup.max_retries)
        for each in world.asked:
            assert not each.skipped, "who is ready comes before who rests"
        assert_nothing_is_left_out_needlessly(world.asked, request)
        if answer:
            assert text == answer.message.text
            assert len(answer.tries) >= len(world.asked) - 1
        if error:
            assert {each.name for each in world.plan.chain} <= {each.route.model for each in world.asked}
            assert not setup.last_resort
            assert len(error.tries) == len(world.asked)
        for name, count in before.items():
            assert world.health.of(name).failed_in_a_row <= count + 1, "one call is one failure"


def routes_of(plan: Routing) -> list[RouteName]:
    return [route.name for each in plan.candidates.values() for route in each.routes]


async def ask(
    model: FallbackModel, request: ModelRequest, leave_after: int
) -> tuple[str, Answer | None, NoModelAnswered | None]:
    """What is on screen at the end, and what the end was."""
    shown, count = "", 0
    try:
        async with aclosing(model.stream(request)) as events:
            async for event in events:
                count += 1
                match event:
                    case Answer():
                        return shown, event, None
                    case StartedOver():
                        assert shown
                        shown = ""
                    case TextDelta(text):
                        shown += text
                if count == leave_after:
                    break
    except NoModelAnswered as error:
        return shown, None, error
    return shown, None, None


def assert_nobody_is_asked_too_often(asked: Sequence[Asked], max_retries: int) -> None:
    for at, later in enumerate(asked):
        earlier = [each for each in asked[:at] if each.route == later.route]
        assert not [each for each in earlier if isinstance(each.error, BadKey | OutOfCredit)]
        alike = [each for each in earlier if each.request == later.request]
        assert len(alike) <= max_retries
        for number, each in enumerate(alike):
            once_more = isinstance(each.error, TimedOut | CutOff | EmptyAnswer)
            passes = isinstance(each.error, RateLimited | Overloaded | ServerFailed | Unreachable)
            assert number == 0 if once_more else passes


def assert_nothing_is_left_out_needlessly(asked: Sequence[Asked], whole: ModelRequest) -> None:
    """Only after a refusal, or for a window that its owner or provider has named; such a window is kept to."""
    for at, each in enumerate(asked):
        refused = any(isinstance(earlier.error, ContextTooLong | BadRequest) for earlier in asked[:at])
        if len(each.request.messages) < len(whole.messages) and not refused:
            assert 0 < each.room < estimate_request_tokens(whole)
        if each.room:
            assert estimate_request_tokens(each.request) <= each.room


def run(work: Coroutine[None, None, Result]) -> Result:
    """Nothing here waits for anything: no event loop is needed, which would take most of the time."""
    with pytest.raises(StopIteration) as ended:
        work.send(None)
    result: Result = ended.value.value
    return result
