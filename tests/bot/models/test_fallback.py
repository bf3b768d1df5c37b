"""The chain of models: who is asked, how often, after which wait, and what is told of it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import pytest

from bot.models.breakers import Breakers
from bot.models.candidate import FallbackHooks, ModelCandidate, Route
from bot.models.errors import (
    BadKey,
    BadRequest,
    BrokenToolCall,
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
from bot.models.health import OPEN_AFTER, CallOutcome, Health, RouteName, after
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    ModelEvent,
    ModelRequest,
    StartedOver,
    TextDelta,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from bot.models.retry import LONG_WAIT, MAX_WAIT, RetryPolicy
from bot.models.routing import Routing
from bot.models.token_estimate import estimate_request_tokens
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.table_test import table_test

ASKED = ModelRequest("You are an assistant.", (UserMessage("Where is Anna's passport?"),))

PASSES = [
    pytest.param(RateLimited("slow down"), id="rate limit"),
    pytest.param(Overloaded("too busy"), id="overloaded"),
    pytest.param(ServerFailed("answered 500"), id="server"),
    pytest.param(Unreachable("reset"), id="network"),
]
STAYS = [
    pytest.param(BadKey("answered 401"), id="auth"),
    pytest.param(OutOfCredit("answered 402"), id="billing"),
    pytest.param(ModelNotFound("answered 404"), id="not found"),
    pytest.param(BadRequest("answered 400"), id="bad request"),
    pytest.param(ContextTooLong("too long"), id="context length"),
    pytest.param(ContentRefused("no"), id="refused"),
]
ONCE_AGAIN = [
    pytest.param(CutOff("cut"), id="cut"),
    pytest.param(EmptyAnswer("nothing"), id="empty"),
]


@dataclass(slots=True)
class Clock:
    """Time that passes only by waiting."""

    time: float = 1_000_000.0
    waits: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


@dataclass(slots=True)
class Chain:
    """Scripted models in a chain, and all that can be seen of it."""

    model: FallbackModel
    models: Mapping[str, ScriptedModel]
    clock: Clock
    health: Breakers
    retries: list[tuple[str, int, str]]
    fallbacks: list[tuple[str, str, str]]

    def asked(self) -> dict[str, int]:
        return {name: len(model.history) for name, model in self.models.items()}

    async def ask(self, request: ModelRequest = ASKED) -> Answer:
        *_, last = await self.events(request)
        assert isinstance(last, Answer)
        return last

    async def events(self, request: ModelRequest = ASKED) -> list[ModelEvent]:
        return [event async for event in self.model.stream(request)]


Build = Callable[..., Chain]


@pytest.fixture
def build() -> Build:
    def build(
        *names: str,
        others: Sequence[str] = (),
        keys: int = 1,
        on_error: Mapping[str, Sequence[str]] | None = None,
        windows: Mapping[str, int] | None = None,
        last_resort: str = "",
        adaptive: bool = False,
        fallback: bool = True,
        window_is_set: bool = False,
        health: Breakers | None = None,
        clock: Clock | None = None,
        max_retries: int = 2,
    ) -> Chain:
        clock = clock or Clock()
        models: dict[str, ScriptedModel] = {}

        def made(name: str) -> ModelCandidate:
            routes = []
            for key in range(keys):
                label = f"{name}#{key}" if keys > 1 else name
                models[label] = ScriptedModel(name=name)
                routes.append(Route(models[label], RouteName(name, str(key) if keys > 1 else "")))
            window = (windows or {}).get(name)
            return ModelCandidate(name, tuple(routes), window, window_is_set, name == last_resort)

        retries: list[tuple[str, int, str]] = []
        fallbacks: list[tuple[str, str, str]] = []
        health = health or Breakers(now=clock)
        model = FallbackModel(
            Routing(
                tuple(map(made, names)),
                tuple(map(made, others)),
                on_error or {},
                RetryPolicy(max_retries, 1.0),
                adaptive,
                fallback,
            ),
            health=health,
            hooks=FallbackHooks(
                on_retry=lambda model, attempt, error: retries.append((model, attempt, error.kind)),
                on_fallback=lambda model, then, error: fallbacks.append((model, then, error.kind)),
            ),
            sleep=clock.sleep,
            chance=lambda: 0.0,
        )
        return Chain(model, models, clock, health, retries, fallbacks)

    return build


def fail(model: ScriptedModel, error: ModelError, times: int = 1, text: str = "") -> None:
    for _ in range(times):
        model.enqueue(text, error=error)


def say(model: ScriptedModel, text: str, times: int = 1) -> None:
    for _ in range(times):
        model.enqueue(text)


# -- the twelve basic cases -----------------------------------------------------------------------------------


async def test_the_first_model_answers_alone_while_it_works(build: Build) -> None:
    chain = build("a/one", "b/two")
    say(chain.models["a/one"], "In the blue folder.")
    answer = await chain.ask()
    assert answer.message.text == "In the blue folder."
    assert answer.message.model == "a/one"
    assert answer.tries == ()
    assert chain.asked() == {"a/one": 1, "b/two": 0}


@pytest.mark.parametrize(
    "error", [*PASSES, *STAYS, *ONCE_AGAIN, pytest.param(TimedOut("60 s"), id="timeout")]
)
async def test_the_next_model_answers_when_the_first_fails(build: Build, error: ModelError) -> None:
    chain = build("a/one", "b/two")
    fail(chain.models["a/one"], error, 3)
    say(chain.models["b/two"], "In the blue folder.")
    answer = await chain.ask()
    assert answer.message.model == "b/two"
    assert {each.kind for each in answer.tries} == {error.kind}
    assert chain.fallbacks == [("a/one", "b/two", error.kind)]


async def test_one_error_lists_every_try_when_all_fail(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=1)
    fail(chain.models["a/one"], replace_model(ServerFailed("answered 500"), "a/one"), 2)
    fail(chain.models["b/two"], replace_model(BadKey("answered 401"), "b/two"))
    with pytest.raises(NoModelAnswered) as caught:
        await chain.ask()
    assert [(each.model, each.kind) for each in caught.value.tries] == [
        ("a/one", "server"),
        ("a/one", "server"),
        ("b/two", "auth"),
    ]
    assert str(caught.value) == "a/one: answered 500 (2 times); b/two: answered 401"


async def test_a_chain_of_one_asks_that_one_alone(build: Build) -> None:
    chain = build("a/one")
    fail(chain.models["a/one"], ServerFailed("answered 500"), 3)
    with pytest.raises(NoModelAnswered):
        await chain.ask()
    assert chain.asked() == {"a/one": 3}
    assert chain.fallbacks == []


@pytest.mark.parametrize("error", PASSES)
async def test_what_can_pass_is_tried_again(build: Build, error: ModelError) -> None:
    chain = build("a/one", "b/two")
    fail(chain.models["a/one"], error, 2)
    say(chain.models["a/one"], "Here.")
    answer = await chain.ask()
    assert answer.message.model == "a/one"
    assert chain.retries == [("a/one", 1, error.kind), ("a/one", 2, error.kind)]
    assert chain.clock.waits == pytest.approx([1.0, 2.0], abs=0.1)


@pytest.mark.parametrize("error", PASSES)
@pytest.mark.parametrize("max_retries", [0, 1, 3])
async def test_after_max_retries_the_next_model_is_asked(
    build: Build, error: ModelError, max_retries: int
) -> None:
    chain = build("a/one", "b/two", max_retries=max_retries)
    fail(chain.models["a/one"], error, 1 + max_retries)
    say(chain.models["b/two"], "Here.")
    await chain.ask()
    assert chain.asked() == {"a/one": 1 + max_retries, "b/two": 1}


@pytest.mark.parametrize("error", STAYS)
async def test_what_cannot_pass_is_not_tried_again(build: Build, error: ModelError) -> None:
    chain = build("a/one", "b/two")
    fail(chain.models["a/one"], error)
    say(chain.models["b/two"], "Here.")
    await chain.ask()
    assert chain.asked() == {"a/one": 1, "b/two": 1}
    assert chain.clock.waits == []


@pytest.mark.parametrize("error", ONCE_AGAIN)
async def test_a_broken_answer_is_asked_for_once_again(build: Build, error: ModelError) -> None:
    chain = build("a/one", "b/two", max_retries=5)
    fail(chain.models["a/one"], error, 2)
    say(chain.models["b/two"], "Here.")
    await chain.ask()
    assert chain.asked() == {"a/one": 2, "b/two": 1}


async def test_levels_are_tried_in_order_each_as_often_as_configured(build: Build) -> None:
    names = (
        "anthropic/claude-3-5-sonnet",
        "anthropic/claude-3-haiku",
        "openai/gpt-4",
        "openai/gpt-3.5-turbo",
    )
    chain = build(*names, max_retries=1)
    for name in names[:3]:
        fail(chain.models[name], Overloaded("529"), 2)
    say(chain.models[names[3]], "Here.")
    answer = await chain.ask()
    assert answer.message.model == names[3]
    assert chain.asked() == dict(zip(names, (2, 2, 2, 1), strict=True))
    assert [then for _, then, _ in chain.fallbacks] == list(names[1:])
    assert len(answer.tries) == 6


async def test_one_chain_serves_call_after_call_and_many_at_once(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    for _ in range(4):
        fail(chain.models["a/one"], ServerFailed("500"))
    say(chain.models["b/two"], "Here.", 4)
    answers = await asyncio.gather(*(chain.ask() for _ in range(4)))
    assert {answer.message.model for answer in answers} == {"b/two"}
    assert all(len(answer.tries) == 1 for answer in answers)


async def test_a_hang_is_not_waited_for_again_where_another_is_ready(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=5)
    fail(chain.models["a/one"], TimedOut("60 s"))
    say(chain.models["b/two"], "Here.", 2)
    await chain.ask()
    assert chain.asked() == {"a/one": 1, "b/two": 1}
    await chain.ask()
    assert chain.asked() == {"a/one": 1, "b/two": 2}, "nor with the next message"


async def test_a_hang_is_no_keys_fault(build: Build) -> None:
    chain = build("a/one", "b/two", keys=2)
    fail(chain.models["a/one#0"], TimedOut("60 s"))
    say(chain.models["b/two#0"], "Here.", 2)
    await chain.ask()
    await chain.ask()
    assert chain.asked() == {"a/one#0": 1, "a/one#1": 0, "b/two#0": 2, "b/two#1": 0}


async def test_a_hang_of_the_only_model_is_tried_once_again(build: Build) -> None:
    chain = build("a/one", max_retries=5)
    fail(chain.models["a/one"], TimedOut("60 s"), 2)
    with pytest.raises(NoModelAnswered):
        await chain.ask()
    assert chain.asked() == {"a/one": 2}


# -- waits ----------------------------------------------------------------------------------------------------


async def test_the_providers_own_wait_wins(build: Build) -> None:
    chain = build("a/one", "b/two")
    fail(chain.models["a/one"], RateLimited("429", retry_after=7.0))
    say(chain.models["a/one"], "Here.")
    await chain.ask()
    assert chain.clock.waits == pytest.approx([7.0], abs=0.1)


async def test_a_long_wait_meets_another_model_that_is_ready(build: Build) -> None:
    chain = build("a/one", "b/two")
    fail(chain.models["a/one"], RateLimited("429", retry_after=LONG_WAIT + 1))
    say(chain.models["b/two"], "Here.")
    answer = await chain.ask()
    assert answer.message.model == "b/two"
    assert chain.clock.waits == []


async def test_a_long_wait_is_waited_where_nothing_else_is_left(build: Build) -> None:
    chain = build("a/one")
    fail(chain.models["a/one"], RateLimited("429", retry_after=LONG_WAIT + 20))
    say(chain.models["a/one"], "Here.")
    await chain.ask()
    assert chain.clock.waits == pytest.approx([LONG_WAIT + 20], abs=0.1)


async def test_nobody_waits_for_an_hour(build: Build) -> None:
    chain = build("a/one")
    fail(chain.models["a/one"], RateLimited("429", retry_after=MAX_WAIT + 1))
    with pytest.raises(NoModelAnswered):
        await chain.ask()
    assert chain.clock.waits == []


def test_jitter_only_lengthens() -> None:
    patience = RetryPolicy(max_retries=9, retry_delay=1.0)
    for tries in range(1, 9):
        waits = [
            patience.decide(
                ServerFailed(""), tries=tries, shown=False, another_ready=False, chance=chance
            ).wait
            for chance in (0.0, 0.5, 1.0)
        ]
        assert waits == sorted(waits)
        assert waits[0] >= 1.0


@table_test("error", PASSES)
@table_test("retry_delay", [12.0, 90.0])
def test_the_owners_own_delay_is_no_reason_to_ask_less_often(error: ModelError, retry_delay: float) -> None:
    patience = RetryPolicy(max_retries=2, retry_delay=retry_delay)
    for tries in (1, 2):
        decision = patience.decide(error, tries=tries, shown=False, another_ready=True, chance=0.0)
        assert decision.wait >= retry_delay


def test_a_wait_of_nothing_is_no_word_of_the_provider() -> None:
    error = ServerFailed("500", retry_after=0.0)
    decision = RetryPolicy().decide(error, tries=1, shown=False, another_ready=False, chance=0.0)
    assert decision.wait == 1.0


# -- keys -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [BadKey("401"), OutOfCredit("402"), RateLimited("429")])
async def test_the_next_key_is_tried_at_once_before_the_model_is_left(
    build: Build, error: ModelError
) -> None:
    chain = build("a/one", "b/two", keys=2)
    fail(chain.models["a/one#0"], error)
    say(chain.models["a/one#1"], "Here.")
    answer = await chain.ask()
    assert answer.message.model == "a/one"
    assert chain.clock.waits == []


async def test_keys_that_are_all_limited_are_asked_in_turn_as_often_as_configured(build: Build) -> None:
    chain = build("a/one", "b/two", keys=2, max_retries=1)
    fail(chain.models["a/one#0"], RateLimited("429"), 2)
    fail(chain.models["a/one#1"], RateLimited("429"), 2)
    say(chain.models["b/two#0"], "Here.")
    await chain.ask()
    assert chain.asked() == {"a/one#0": 2, "a/one#1": 2, "b/two#0": 1, "b/two#1": 0}


async def test_a_servers_fault_is_no_reason_for_another_key(build: Build) -> None:
    chain = build("a/one", "b/two", keys=2, max_retries=1)
    fail(chain.models["a/one#0"], ServerFailed("500"), 2)
    say(chain.models["b/two#0"], "Here.")
    await chain.ask()
    assert chain.asked() == {"a/one#0": 2, "a/one#1": 0, "b/two#0": 1, "b/two#1": 0}


async def test_a_key_that_rests_does_not_hold_up_the_other(build: Build) -> None:
    chain = build("a/one", "b/two", keys=2)
    fail(chain.models["a/one#0"], RateLimited("429", retry_after=100.0))
    say(chain.models["a/one#1"], "Here.", 2)
    await chain.ask()
    answer = await chain.ask()
    assert answer.tries == ()
    assert chain.asked()["a/one#0"] == 1


async def test_a_key_that_rests_is_asked_where_nothing_else_is_left(build: Build) -> None:
    chain = build("a/one", "b/two", keys=2, max_retries=0)
    fail(chain.models["a/one#0"], RateLimited("429", retry_after=100.0))
    say(chain.models["a/one#1"], "Here.")
    await chain.ask()
    for name in ("a/one#1", "b/two#0", "b/two#1"):
        fail(chain.models[name], BadKey("401"))
    say(chain.models["a/one#0"], "Here after all.")
    assert (await chain.ask()).message.text == "Here after all."


# -- whom the settings name ---------------------------------------------------------------------------------


async def test_a_class_of_error_has_its_own_way(build: Build) -> None:
    chain = build("a/one", "b/two", others=["c/quick"], on_error={"rate_limit": ["c/quick"]}, max_retries=0)
    fail(chain.models["a/one"], RateLimited("429"))
    fail(chain.models["c/quick"], ServerFailed("500"))
    say(chain.models["b/two"], "Here.")
    answer = await chain.ask()
    assert [each.kind for each in answer.tries] == ["rate_limit", "server"]
    assert chain.fallbacks == [("a/one", "c/quick", "rate_limit"), ("c/quick", "b/two", "server")]


async def test_other_models_of_the_settings_are_not_asked_without_a_reason(build: Build) -> None:
    chain = build("a/one", others=["c/quick"], max_retries=0)
    fail(chain.models["a/one"], ServerFailed("500"))
    with pytest.raises(NoModelAnswered):
        await chain.ask()
    assert chain.asked()["c/quick"] == 0


async def test_two_lists_that_lead_to_each_other_come_to_an_end(build: Build) -> None:
    on_error = {"server": ["a/one", "b/two"], "overloaded": ["a/one"]}
    chain = build("a/one", "b/two", on_error=on_error, max_retries=0)
    fail(chain.models["a/one"], ServerFailed("500"))
    fail(chain.models["b/two"], Overloaded("529"))
    with pytest.raises(NoModelAnswered):
        await chain.ask()


async def test_the_model_that_was_asked_for_comes_first_and_falls_back(build: Build) -> None:
    chain = build("a/one", "b/two", others=["c/chosen"], max_retries=0)
    say(chain.models["c/chosen"], "Here.")
    fail(chain.models["c/chosen"], ServerFailed("500"))
    say(chain.models["a/one"], "There.")
    chosen = replace(ASKED, prefer="c/chosen")
    assert (await chain.ask(chosen)).message.model == "c/chosen"
    assert (await chain.ask(chosen)).message.model == "a/one"


async def test_nobody_is_asked_twice_for_being_named_twice(build: Build) -> None:
    chain = build("a/one", others=["b/two"], on_error={"server": ["b/two", "b/two"]}, max_retries=0)
    fail(chain.models["a/one"], ServerFailed("500"))
    fail(chain.models["b/two"], BadKey("401"))
    with pytest.raises(NoModelAnswered):
        await chain.ask()
    assert chain.asked() == {"a/one": 1, "b/two": 1}


@pytest.mark.parametrize("error", [RateLimited("429", retry_after=50.0), TimedOut("60 s")])
async def test_a_model_of_its_own_way_counts_as_ready(build: Build, error: ModelError) -> None:
    chain = build("a/one", others=["c/quick"], on_error={error.kind: ["c/quick"]})
    fail(chain.models["a/one"], error)
    say(chain.models["c/quick"], "Here.")
    await chain.ask()
    assert chain.asked()["a/one"] == 1
    assert chain.clock.waits == []


async def test_without_fallback_nobody_else_is_asked_whoever_was_chosen(build: Build) -> None:
    chain = build("a/one", "b/two", fallback=False)
    for name in ("a/one", "b/two"):
        fail(chain.models[name], BadKey("401"))
        with pytest.raises(NoModelAnswered):
            await chain.ask(replace(ASKED, prefer=name))
    assert chain.asked() == {"a/one": 1, "b/two": 1}


# -- in the middle of an answer ------------------------------------------------------------------------------


async def test_another_model_answers_afresh_and_what_was_shown_is_void(build: Build) -> None:
    chain = build("a/one", "b/two")
    fail(chain.models["a/one"], CutOff("cut"), text="In the bl")
    say(chain.models["b/two"], "On the shelf.")
    events = await chain.events()
    assert events[:3] == [TextDelta("In the bl"), StartedOver(), TextDelta("On the shelf.")]
    assert len(events) == 4


async def test_what_was_shown_is_void_also_where_a_call_follows(build: Build) -> None:
    chain = build("a/one", "b/two")
    fail(chain.models["a/one"], CutOff("cut"), text="In the bl")
    chain.models["b/two"].enqueue(calls=[("memory_search", {"query": "passport"})])
    events = await chain.events()
    assert events[:2] == [TextDelta("In the bl"), StartedOver()]
    assert isinstance(events[2], Answer)


async def test_nothing_is_void_that_was_not_shown(build: Build) -> None:
    chain = build("a/one", "b/two")
    fail(chain.models["a/one"], CutOff("cut"), 2)
    say(chain.models["b/two"], "On the shelf.")
    assert StartedOver() not in await chain.events()


async def test_a_cut_answer_of_the_only_model_is_asked_for_again(build: Build) -> None:
    chain = build("a/one")
    fail(chain.models["a/one"], CutOff("cut"), text="In the bl")
    say(chain.models["a/one"], "In the blue folder.")
    assert (await chain.ask()).message.text == "In the blue folder."


async def test_a_stop_is_no_failure_and_leaves_nothing_open(build: Build) -> None:
    chain = build("a/one", "b/two")
    chain.models["a/one"].enqueue(["In ", "the "], hang=True)
    async with aclosing(chain.model.stream(ASKED)) as events:
        async for _ in events:
            break
    asking = asyncio.create_task(chain.ask())
    chain.models["a/one"].enqueue(hang=True)
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert chain.models["a/one"].closed == 2
    assert chain.health.of(RouteName("a/one")).calls == 0


async def test_a_client_that_breaks_is_a_model_that_fails(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    chain.models["a/one"].enqueue(error=ZeroDivisionError("ours"))
    say(chain.models["b/two"], "Here.")
    assert (await chain.ask()).message.model == "b/two"
    assert "ZeroDivisionError" in caplog.text


# -- tool arguments that are not valid JSON ---------------------------------------------------------------------------


def broken_history(steps: int, model: str) -> ModelRequest:
    messages = list(ASKED.messages)
    for number in range(steps):
        call = ToolCall(f"broken{number:03}", "memory_search", '{"query": ')
        messages += [AssistantMessage("", (call,), model), ToolResult(call.id, call.name, "{}", failed=True)]
    return replace(ASKED, messages=tuple(messages))


async def test_unreadable_arguments_go_back_to_the_model_twice_and_then_count_as_its_failure(
    build: Build,
) -> None:
    chain = build("a/one", "b/two")
    for steps in (0, 1):
        chain.models["a/one"].enqueue(calls=[ToolCall("x", "memory_search", "{")])
        answer = await chain.ask(broken_history(steps, "a/one"))
        assert answer.message.model == "a/one"
    chain.models["a/one"].enqueue(calls=[ToolCall("x", "memory_search", "{")])
    say(chain.models["b/two"], "Here.")
    answer = await chain.ask(broken_history(2, "a/one"))
    assert answer.message.model == "b/two"
    assert isinstance(answer.tries[0], BrokenToolCall)


# -- windows ----------------------------------------------------------------------------------------------------


def long_request(turns: int = 20, letters: int = 3500) -> ModelRequest:
    messages: list[UserMessage | AssistantMessage] = []
    for number in range(turns):
        messages += [UserMessage(f"{number}: " + "x" * letters), AssistantMessage("I see.", (), "a/one")]
    return ModelRequest("System.", (*messages, UserMessage("And now?")))


async def test_a_model_with_too_small_a_window_is_asked_last(build: Build) -> None:
    chain = build("a/small", "b/large", windows={"a/small": 8_000, "b/large": 100_000})
    say(chain.models["b/large"], "Here.")
    await chain.ask(long_request())
    assert chain.asked() == {"a/small": 0, "b/large": 1}


async def test_after_an_overflow_a_larger_window_comes_before_a_smaller_one(build: Build) -> None:
    windows = {"a/one": 50_000, "b/smaller": 30_000, "c/larger": 100_000}
    chain = build("a/one", "b/smaller", "c/larger", windows=windows)
    fail(chain.models["a/one"], ContextTooLong("too long"))
    say(chain.models["c/larger"], "Here.")
    await chain.ask(long_request())
    assert chain.asked() == {"a/one": 1, "b/smaller": 0, "c/larger": 1}


async def test_a_request_that_fits_no_window_is_shortened_and_tried_again(build: Build) -> None:
    chain = build("a/one", "b/two")
    for name in ("a/one", "b/two"):
        fail(chain.models[name], ContextTooLong("too long"), 1)
    say(chain.models["a/one"], "Here.")
    request = long_request()
    answer = await chain.ask(request)
    assert answer.message.text == "Here."
    shown = chain.models["a/one"].history[-1]
    assert shown.messages[-1] == request.messages[-1]
    assert isinstance(shown.messages[0], UserMessage)
    assert 0 < len(shown.messages) < len(request.messages) * 0.6
    assert "left out" in shown.system


async def test_a_shortened_request_goes_only_to_those_for_whom_it_was_too_long(build: Build) -> None:
    chain = build("a/one", "b/two", "c/three")
    fail(chain.models["a/one"], BadKey("401"))
    fail(chain.models["b/two"], ContextTooLong("too long"))
    fail(chain.models["c/three"], ContentRefused("no"))
    say(chain.models["b/two"], "Here.")
    await chain.ask(long_request())
    assert chain.asked() == {"a/one": 1, "b/two": 2, "c/three": 1}


async def test_a_dead_key_stays_dead_when_a_request_is_shortened(build: Build) -> None:
    chain = build("a/one", keys=2)
    fail(chain.models["a/one#0"], BadKey("401"))
    fail(chain.models["a/one#1"], ContextTooLong("too long"))
    say(chain.models["a/one#1"], "Here.")
    await chain.ask(long_request())
    assert chain.asked() == {"a/one#0": 1, "a/one#1": 2}


@pytest.mark.parametrize("windows", [{}, {"a/one": 8000}], ids=["unknown window", "known window"])
async def test_a_request_is_shortened_before_it_goes_to_what_is_no_language_model(
    build: Build, windows: dict[str, int]
) -> None:
    chain = build("a/one", "builtin/notebook", windows=windows, last_resort="builtin/notebook")
    fail(chain.models["a/one"], ContextTooLong("too long"))
    say(chain.models["a/one"], "Here.")
    assert (await chain.ask(long_request())).message.model == "a/one"


async def test_who_was_chosen_by_hand_says_in_person_that_there_is_no_room(build: Build) -> None:
    chain = build("a/small", "b/large", windows={"a/small": 8000})
    fail(chain.models["a/small"], ContextTooLong("too long"))
    say(chain.models["b/large"], "Here.")
    answer = await chain.ask(replace(long_request(), prefer="a/small"))
    assert [each.kind for each in answer.tries] == ["context_length"]


@pytest.mark.parametrize(("window_is_set", "asked"), [(True, 0), (False, 1)])
async def test_a_providers_word_on_its_window_counts_more_than_the_table_and_less_than_the_owner(
    build: Build, window_is_set: bool, asked: int
) -> None:
    chain = build("a/one", "b/two", windows={"a/one": 8192}, window_is_set=window_is_set)
    refused = ContextTooLong("x", window=128_000)
    chain.health.record([CallOutcome(RouteName("a/one"), chain.clock.time, error=refused, tokens=130_000)])
    say(chain.models["a/one"], "Here.")
    say(chain.models["b/two"], "Here.")
    await chain.ask(long_request())
    assert chain.asked()["a/one"] == asked


async def test_one_odd_count_does_not_make_every_request_too_long(build: Build) -> None:
    chain = build("a/one", "b/two", windows={"a/one": 128_000})
    odd = CallOutcome(RouteName("a/one"), chain.clock.time, usage=Usage(100_000, 5), tokens=30)
    chain.health.record([odd])
    say(chain.models["a/one"], "Here.")
    assert (await chain.ask(long_request(2))).message.model == "a/one"


async def test_the_window_that_a_provider_names_is_what_it_is_shortened_to(build: Build) -> None:
    chain = build("a/one", windows={"a/one": 15_000})
    fail(chain.models["a/one"], ContextTooLong("too long"))
    say(chain.models["a/one"], "Here.")
    await chain.ask(long_request())
    assert 10 <= len(chain.models["a/one"].history[-1].messages) <= 30


async def test_no_more_is_sent_than_the_owners_window_has_room_for(build: Build) -> None:
    """Some servers would cut the beginning off in silence, the instructions first."""
    chain = build("a/one", "b/two", windows={"a/one": 8000, "b/two": 8000}, window_is_set=True)
    say(chain.models["a/one"], "Here.")
    assert (await chain.ask(long_request())).tries == ()
    (shown,) = chain.models["a/one"].history
    assert estimate_request_tokens(shown) < 8000
    assert "left out" in shown.system


async def test_a_small_model_that_was_chosen_by_hand_is_asked_with_what_it_has_room_for(build: Build) -> None:
    chain = build("a/small", "b/large", windows={"a/small": 8000}, window_is_set=True)
    say(chain.models["a/small"], "Here.")
    assert (await chain.ask(replace(long_request(), prefer="a/small"))).message.model == "a/small"


async def test_what_fits_no_window_however_short_is_an_error(build: Build) -> None:
    chain = build("a/one")
    fail(chain.models["a/one"], ContextTooLong("too long"), 10)
    with pytest.raises(NoModelAnswered) as caught:
        await chain.ask(long_request())
    assert {each.kind for each in caught.value.tries} == {"context_length"}
    assert len(caught.value.tries) <= 5


async def test_a_refusal_of_a_request_as_long_as_the_window_is_taken_for_what_it_is(build: Build) -> None:
    chain = build("a/one", windows={"a/one": 15_000})
    fail(chain.models["a/one"], BadRequest("answered 400"))
    say(chain.models["a/one"], "Here.")
    assert (await chain.ask(long_request())).message.text == "Here."


UNEXPLAINED = BadRequest("answered 400", unexplained=True)


@pytest.mark.parametrize("windows", [{}, {"a/one": 40_000}], ids=["unknown window", "half of a known window"])
@pytest.mark.parametrize("may_shorten", [True, False])
async def test_a_long_request_that_is_refused_without_a_reason_is_tried_once_with_less(
    build: Build, windows: dict[str, int], may_shorten: bool
) -> None:
    chain = build("a/one", windows=windows)
    fail(chain.models["a/one"], UNEXPLAINED)
    say(chain.models["a/one"], "Here.")
    answer = await chain.ask(replace(long_request(), may_shorten=may_shorten))
    assert answer.message.text == "Here."
    whole, shorter = map(estimate_request_tokens, chain.models["a/one"].history)
    assert shorter <= whole / 2
    assert shorter < 20_000


async def test_without_an_answer_to_less_there_is_no_second_try(build: Build) -> None:
    chain = build("a/one")
    fail(chain.models["a/one"], UNEXPLAINED, 5)
    with pytest.raises(NoModelAnswered) as caught:
        await chain.ask(replace(long_request(), may_shorten=False))
    assert [each.kind for each in caught.value.tries] == ["bad_request"] * 2
    assert chain.health.of(RouteName("a/one")).calls == 1
    assert chain.health.of(RouteName("a/one")).window == 0


async def test_each_model_has_its_own_try_with_less_and_whoever_comes_after_is_told_all(build: Build) -> None:
    chain = build("a/one", "b/two", "builtin/notebook", last_resort="builtin/notebook")
    for name in ("a/one", "b/two"):
        fail(chain.models[name], UNEXPLAINED, 2)
    say(chain.models["builtin/notebook"], "Noted.")
    request = replace(long_request(), may_shorten=False)
    assert (await chain.ask(request)).message.text == "Noted."
    assert chain.asked() == {"a/one": 2, "b/two": 2, "builtin/notebook": 1}
    for name in ("a/one", "b/two"):
        whole, shorter = map(estimate_request_tokens, chain.models[name].history)
        assert shorter <= whole / 2
    (shown,) = chain.models["builtin/notebook"].history
    assert shown.messages == request.messages


@pytest.mark.parametrize(
    ("error", "windows", "messages"),
    [
        (UNEXPLAINED, {}, 2),
        (UNEXPLAINED, {"a/one": 100_000}, 40),
        (BadRequest("answered 400", unexplained=False), {}, 40),
    ],
    ids=["a short request", "less than half of the window", "a refusal that names its reason"],
)
async def test_any_other_refusal_is_asked_once(
    build: Build, error: BadRequest, windows: dict[str, int], messages: int
) -> None:
    chain = build("a/one", windows=windows)
    fail(chain.models["a/one"], error, 5)
    with pytest.raises(NoModelAnswered):
        await chain.ask(long_request(messages))
    assert chain.asked() == {"a/one": 1}


async def test_what_was_answered_once_it_was_shorter_is_not_sent_again_at_that_length(build: Build) -> None:
    chain = build("a/one")
    fail(chain.models["a/one"], UNEXPLAINED)
    say(chain.models["a/one"], "Here.")
    await chain.ask(long_request())
    known = chain.health.of(RouteName("a/one"))
    assert (known.failures, known.last_error_kind) == (1, "context_length")
    with pytest.raises(ContextTooLong):  # before it is asked: who has more to leave out may compact it
        await chain.ask(replace(long_request(), may_shorten=False))
    assert chain.asked() == {"a/one": 2}


async def test_an_unexplained_refusal_of_a_long_request_goes_where_long_ones_go(build: Build) -> None:
    on_error = {"context_length": ("c/long",)}
    chain = build("a/one", "b/two", others=("c/long",), on_error=on_error)
    fail(chain.models["a/one"], UNEXPLAINED)
    say(chain.models["c/long"], "Here.")
    assert (await chain.ask(long_request())).message.model == "c/long"
    assert chain.asked() == {"a/one": 1, "b/two": 0, "c/long": 1}


# -- rest -------------------------------------------------------------------------------------------------------


async def fail_calls(chain: Chain, calls: int, error: ModelError) -> None:
    for _ in range(calls):
        fail(chain.models["a/one"], error)
        say(chain.models["b/two"], "Here.")
        await chain.ask()


async def test_a_model_that_fails_call_after_call_is_left_to_rest_then_asked_once_then_trusted(
    build: Build,
) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    await fail_calls(chain, OPEN_AFTER, ServerFailed("500"))
    say(chain.models["b/two"], "Here.")
    answer = await chain.ask()
    assert chain.asked()["a/one"] == OPEN_AFTER, "it rests"
    assert [(each.model, each.kind) for each in answer.tries] == [("a/one", "server")], "and that is told"

    chain.clock.time += 31
    chain.models["a/one"].enqueue("Here.", delay=0.01)
    say(chain.models["b/two"], "Here.", 3)
    await asyncio.gather(*(chain.ask() for _ in range(4)))
    assert chain.asked()["a/one"] == OPEN_AFTER + 1, "one probe"

    say(chain.models["a/one"], "Here.")
    await chain.ask()
    assert chain.asked()["a/one"] == OPEN_AFTER + 2


async def test_rests_grow_but_never_beyond_minutes(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    await fail_calls(chain, OPEN_AFTER, ServerFailed("500"))
    rests = []
    for _ in range(6):
        health = chain.health.of(RouteName("a/one"))
        rests.append(health.rests_until - chain.clock.time)
        chain.clock.time = health.rests_until + 0.01
        await fail_calls(chain, 1, ServerFailed("500"))
    assert rests == pytest.approx([30, 60, 120, 240, 300, 300])


async def test_no_model_rests_because_of_one_calls_own_tries(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=8)
    fail(chain.models["a/one"], ServerFailed("500"), 9)
    say(chain.models["b/two"], "Here.")
    await chain.ask()
    say(chain.models["a/one"], "Here.")
    assert (await chain.ask()).message.model == "a/one"


async def test_a_model_that_rests_is_asked_all_the_same_where_nothing_else_is_left(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    await fail_calls(chain, OPEN_AFTER, ServerFailed("500"))
    fail(chain.models["b/two"], ServerFailed("500"))
    say(chain.models["a/one"], "Here after all.")
    assert (await chain.ask()).message.text == "Here after all."


async def test_a_window_that_a_provider_names_is_remembered_for_a_while(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    long, short = long_request(), ASKED
    fail(chain.models["a/one"], ContextTooLong("long", window=4096))
    say(chain.models["b/two"], "Here.", 2)
    await chain.ask(long)
    await chain.ask(long)
    assert chain.asked() == {"a/one": 1, "b/two": 2}
    say(chain.models["a/one"], "Here.", 2)
    await chain.ask(short)
    chain.clock.time += 3601
    await chain.ask(long)
    assert chain.asked() == {"a/one": 3, "b/two": 2}


@pytest.mark.parametrize("error", [BadRequest("400"), ContextTooLong("long"), ContentRefused("no")])
async def test_what_is_the_requests_fault_lets_no_model_rest(build: Build, error: ModelError) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    await fail_calls(chain, 5, error)
    assert chain.asked()["a/one"] == 5


async def test_models_of_one_provider_rest_each_for_itself(build: Build) -> None:
    chain = build("a/one", "a/two", max_retries=0)
    for _ in range(4):
        fail(chain.models["a/one"], Overloaded("529"))
        say(chain.models["a/two"], "Here.")
    for _ in range(4):
        assert (await chain.ask()).message.model == "a/two"


async def test_a_hang_is_known_to_other_chats_while_another_model_answers(build: Build) -> None:
    chain = build("a/one", "b/two")
    fail(chain.models["a/one"], TimedOut("60 s"))
    say(chain.models["b/two"], "Here.", 2)
    async with aclosing(chain.model.stream(ASKED)) as events:
        async for _ in events:
            break
        await chain.ask()
    assert chain.asked()["a/one"] == 1


async def test_a_clock_that_is_set_back_lets_nobody_rest_for_years(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    await fail_calls(chain, OPEN_AFTER, ServerFailed("500"))
    chain.clock.time -= 86_400 * 365
    say(chain.models["a/one"], "Here.")
    assert (await chain.ask()).message.model == "a/one"


async def test_a_refusal_shows_that_a_model_is_there_again(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    await fail_calls(chain, OPEN_AFTER, ServerFailed("500"))
    chain.clock.time += 31
    await fail_calls(chain, 1, ContentRefused("no"))
    await fail_calls(chain, 1, ServerFailed("500"))
    assert not chain.health.of(RouteName("a/one")).is_open(chain.clock.time)


async def test_a_reset_ends_every_rest(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    await fail_calls(chain, OPEN_AFTER, ServerFailed("500"))
    await chain.health.reset()
    say(chain.models["a/one"], "Here.")
    assert (await chain.ask()).message.model == "a/one"


async def test_a_probe_that_is_stopped_does_not_block_the_next(build: Build) -> None:
    chain = build("a/one", "b/two", max_retries=0)
    await fail_calls(chain, OPEN_AFTER, ServerFailed("500"))
    chain.clock.time += 31
    chain.models["a/one"].enqueue("In ", hang=True)
    async with aclosing(chain.model.stream(ASKED)) as events:
        async for _ in events:
            break
    say(chain.models["a/one"], "Here.")
    assert (await chain.ask()).message.model == "a/one"


# -- order by merit ---------------------------------------------------------------------------------------------


async def test_the_clearly_quicker_model_comes_first_and_the_last_resort_stays_last(build: Build) -> None:
    chain = build("a/slow", "b/quick", "builtin/notebook", last_resort="builtin/notebook", adaptive=True)
    for name, seconds in (("a/slow", 4.0), ("b/quick", 1.0), ("builtin/notebook", 0.001)):
        measured(chain, name, seconds)
    say(chain.models["b/quick"], "Here.")
    assert (await chain.ask()).message.model == "b/quick"


async def test_models_about_equally_quick_keep_their_order(build: Build) -> None:
    chain = build("a/one", "b/two", adaptive=True)
    measured(chain, "a/one", 1.0)
    measured(chain, "b/two", 0.8)
    say(chain.models["a/one"], "Here.")
    assert (await chain.ask()).message.model == "a/one"


async def test_a_model_that_was_idle_for_long_is_asked_once_now_and_then(build: Build) -> None:
    chain = build("a/one", "b/two", adaptive=True)
    measured(chain, "a/one", 1.0)
    measured(chain, "b/two", 5.0)
    chain.clock.time += 1000
    measured(chain, "a/one", 1.0)
    say(chain.models["b/two"], "Here.")
    say(chain.models["a/one"], "Here.", 3)
    assert [(await chain.ask()).message.model for _ in range(4)] == ["b/two", "a/one", "a/one", "a/one"]


def measured(chain: Chain, name: str, seconds: float) -> None:
    outcome = CallOutcome(
        RouteName(name),
        chain.clock.time,
        usage=Usage(10, 100),
        first_token_seconds=seconds / 2,
        seconds=seconds,
    )
    chain.health.record([outcome] * 5)


def replace_model(error: ModelError, model: str) -> ModelError:
    error.model = model
    return error


async def test_one_call_alone_looks_how_an_idle_model_does(build: Build) -> None:
    chain = build("a/one", "b/two", adaptive=True)
    measured(chain, "a/one", 1.0)
    measured(chain, "b/two", 30.0)
    chain.clock.time += 1000
    measured(chain, "a/one", 1.0)
    for name in ("a/one", "b/two"):
        for _ in range(10):
            chain.models[name].enqueue("Here.", delay=0.01)
    await asyncio.gather(*(chain.ask() for _ in range(10)))
    assert chain.asked() == {"a/one": 9, "b/two": 1}


async def test_a_model_that_never_answered_does_not_keep_its_place(build: Build) -> None:
    chain = build("a/dead", "b/good", adaptive=True, max_retries=0)
    dead = CallOutcome(RouteName("a/dead"), chain.clock.time, error=ServerFailed("500"))
    chain.health.record([dead] * 5)
    measured(chain, "b/good", 1.0)
    chain.clock.time += 400
    say(chain.models["b/good"], "Here.")
    assert (await chain.ask()).tries == ()


def test_an_answer_in_one_piece_says_nothing_of_speed() -> None:
    outcome = CallOutcome(
        RouteName("a/one"), 1.0, usage=Usage(100, 60), first_token_seconds=1.0, seconds=1.0004
    )
    assert after(Health(RouteName("a/one")), outcome).tokens_per_second == 0.0
