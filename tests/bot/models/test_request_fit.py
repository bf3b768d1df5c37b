"""A request against the windows of models: who has room, what is a rejection for length, and how it is shortened."""

import pytest

from bot.models.breakers import Breakers
from bot.models.candidate import ModelCandidate, Route
from bot.models.context_windows import MIN_WINDOW
from bot.models.errors import BadRequest, ContextTooLong, PerhapsTooLong, ServerFailed
from bot.models.health import CallOutcome, RouteName
from bot.models.notebook.model import Notebook
from bot.models.protocol import ModelRequest, Usage, UserMessage
from bot.models.request_fit import LONG_SHARE, NEARLY_FULL, RequestFit
from bot.models.routing import Routing
from bot.models.token_estimate import estimate_request_tokens

NOW = 1_000_000.0
TURNS = tuple(UserMessage(f"{number}: " + "x" * 700) for number in range(40))
REQUEST = ModelRequest("System.", (*TURNS, UserMessage("And now?")))
TOKENS = estimate_request_tokens(REQUEST)
NAME = RouteName("a/model")


def candidate(window: int | None, *, is_set: bool = False) -> ModelCandidate:
    return ModelCandidate(NAME.model, (Route(Notebook(NAME.model), NAME),), window, is_set)


def fit_of(model: ModelCandidate, *outcomes: CallOutcome, request: ModelRequest = REQUEST) -> RequestFit:
    health = Breakers(now=lambda: NOW)
    health.record(outcomes)
    return RequestFit(request, Routing((model,)), health)


def reported(window: int, *, at: float = NOW) -> CallOutcome:
    return CallOutcome(NAME, at, error=ContextTooLong("too long", window=window))


def test_a_reported_window_comes_before_a_known_one_and_after_one_that_is_set() -> None:
    assert fit_of(candidate(None)).window(NAME.model) == 0
    assert fit_of(candidate(9_000)).window(NAME.model) == 9_000
    assert fit_of(candidate(9_000), reported(7_000)).window(NAME.model) == 7_000
    assert fit_of(candidate(9_000), reported(7_000, at=NOW - 4_000)).window(NAME.model) == 9_000
    assert fit_of(candidate(9_000, is_set=True), reported(7_000)).window(NAME.model) == 9_000


def test_a_window_has_no_room_before_it_is_full() -> None:
    enough = round(TOKENS / NEARLY_FULL) + 1
    assert not fit_of(candidate(enough)).has_no_room(candidate(enough))
    assert fit_of(candidate(TOKENS)).has_no_room(candidate(TOKENS))
    assert not fit_of(candidate(None)).has_no_room(candidate(None))


def test_a_provider_that_counts_more_tokens_has_less_room() -> None:
    enough = round(TOKENS / NEARLY_FULL) + 1
    counts_double = CallOutcome(NAME, NOW, usage=Usage(2_000, 1), tokens=1_000)
    assert fit_of(candidate(enough), counts_double).has_no_room(candidate(enough))


@pytest.mark.parametrize(
    ("model", "outcomes", "sure"),
    [
        (candidate(1_000), (), False),  # only from our table
        (candidate(1_000, is_set=True), (), True),
        (candidate(None), (reported(1_000),), True),
        (candidate(100_000, is_set=True), (), False),
    ],
)
def test_only_a_window_named_by_owner_or_provider_is_sure(
    model: ModelCandidate, outcomes: tuple[CallOutcome, ...], sure: bool
) -> None:
    assert fit_of(model, *outcomes).is_sure_to_refuse(model) is sure


def test_a_request_is_shortened_to_the_window() -> None:
    model = candidate(2_000, is_set=True)
    fit = fit_of(model)
    assert fit.shorten([model])
    assert fit.tokens == estimate_request_tokens(fit.request) <= 2_000 * NEARLY_FULL
    assert fit.request.messages[-1] == REQUEST.messages[-1]
    assert not fit.has_no_room(model)


def test_a_request_is_halved_if_the_window_is_unknown() -> None:
    fit = fit_of(candidate(None))
    assert fit.shorten([candidate(None)])
    assert TOKENS / 4 < fit.tokens <= TOKENS / 2 + 50


def test_a_request_that_has_nothing_to_leave_out_stays() -> None:
    request = ModelRequest("System.", (UserMessage("And now?"),))
    fit = fit_of(candidate(None), request=request)
    assert not fit.shorten([candidate(None)])
    assert fit.request is request


def test_a_rejection_is_for_length_only_if_the_request_is_long() -> None:
    unexplained, explained = BadRequest("400", unexplained=True), BadRequest("no such field")
    assert TOKENS > MIN_WINDOW * LONG_SHARE
    fit = fit_of(candidate(None))
    assert isinstance(fit.classify(NAME, unexplained), PerhapsTooLong)
    assert fit.classify(NAME, explained) is explained
    assert isinstance(fit_of(candidate(TOKENS)).classify(NAME, explained), PerhapsTooLong)
    short = fit_of(candidate(None), request=ModelRequest("System.", (UserMessage("And now?"),)))
    assert short.classify(NAME, unexplained) is unexplained
    failed = ServerFailed("500")
    assert fit.classify(NAME, failed) is failed


def test_a_model_is_suspected_once() -> None:
    model, fit = candidate(None), fit_of(candidate(None))
    rejection = BadRequest("400", unexplained=True)
    outcome = CallOutcome(NAME, NOW, error=fit.classify(NAME, rejection), tokens=TOKENS)
    fit.suspect(outcome)
    assert fit.is_suspect(model)
    assert list(fit.unconfirmed()) == [outcome]
    fit.clear_suspect(NAME.model)
    assert not fit.is_suspect(model)
    assert fit.classify(NAME, rejection) is rejection


def test_a_shorter_answer_confirms_the_length_and_says_the_window() -> None:
    model, fit = candidate(None), fit_of(candidate(None))
    assert fit.confirm_suspect(NAME.model) is None
    fit.suspect(CallOutcome(NAME, NOW, error=PerhapsTooLong("400"), tokens=TOKENS))
    confirmed = fit.confirm_suspect(NAME.model)
    assert confirmed is not None
    assert isinstance(confirmed.error, ContextTooLong)
    assert not isinstance(confirmed.error, PerhapsTooLong)
    assert (confirmed.error.detail, confirmed.error.window) == ("400", round(TOKENS * NEARLY_FULL))
    assert not fit.is_suspect(model)
    assert list(fit.unconfirmed()) == []
    after = fit_of(model, confirmed)
    assert after.is_sure_to_refuse(model), "the same request is not sent whole again"
