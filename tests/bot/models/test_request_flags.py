import pytest

from bot.models.candidate import ModelCandidate, Route
from bot.models.errors import ContextTooLong, CutOff, NoModelAnswered, Overloaded
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.protocol import Answer, AssistantMessage, ModelEvent, ModelRequest, StartedOver, UserMessage
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from tests.fakes.scripted_model import ScriptedModel

LONG = tuple(
    message for number in range(20) for message in (UserMessage(f"{number} " * 50), AssistantMessage("Yes."))
)
REQUEST = ModelRequest("", (*LONG, UserMessage("And now?")))


def chain(
    *models: ScriptedModel, window: int | None = None, on_error: dict[str, list[str]] | None = None
) -> FallbackModel:
    """The last one is no language model."""
    candidates = tuple(
        ModelCandidate(
            model.name,
            (Route(model, RouteName(model.name)),),
            window=window,
            window_is_set=window is not None,
            last_resort=model is models[-1],
        )
        for model in models
    )
    return FallbackModel(Routing(candidates, on_error=on_error or {}, retry=RetryPolicy(0, 0)))


@pytest.fixture
def first() -> ScriptedModel:
    return ScriptedModel("first/model")


@pytest.fixture
def second() -> ScriptedModel:
    return ScriptedModel("second/model")


@pytest.fixture
def notebook() -> ScriptedModel:
    return ScriptedModel("builtin/notebook")


async def events(model: FallbackModel, **flags: bool) -> list[ModelEvent]:
    request = ModelRequest(REQUEST.system, REQUEST.messages, **flags)  # type: ignore[arg-type]
    return [event async for event in model.stream(request)]


async def test_who_is_no_language_model_is_not_asked_where_one_is_wanted(
    first: ScriptedModel, notebook: ScriptedModel
) -> None:
    model = chain(first, notebook, on_error={"overloaded": [notebook.name]})
    first.enqueue(error=Overloaded("busy"))
    with pytest.raises(NoModelAnswered) as caught:
        await events(model, language_model_only=True)
    assert [error.model for error in caught.value.tries] == [first.name]
    assert notebook.history == []
    notebook.enqueue("I am here.")
    assert isinstance((await events(model))[-1], Answer)


async def test_with_no_language_model_at_all_nobody_is_asked(notebook: ScriptedModel) -> None:
    with pytest.raises(NoModelAnswered):
        await events(chain(notebook), language_model_only=True)
    assert notebook.history == []


async def test_a_request_that_may_not_be_shortened_is_given_back_once_all_have_refused_it(
    first: ScriptedModel, second: ScriptedModel, notebook: ScriptedModel
) -> None:
    model = chain(first, second, notebook)
    first.enqueue(error=ContextTooLong("too long"))
    second.enqueue(error=ContextTooLong("too long", window=100))
    with pytest.raises(ContextTooLong) as caught:
        await events(model, may_shorten=False)
    assert caught.value.model == second.name
    assert len(first.history) == len(second.history) == 1
    assert notebook.history == []


async def test_it_is_given_back_also_where_the_last_one_failed_otherwise(
    first: ScriptedModel, second: ScriptedModel, notebook: ScriptedModel
) -> None:
    first.enqueue(error=ContextTooLong("too long"))
    second.enqueue(error=Overloaded("busy"))
    with pytest.raises(ContextTooLong):
        await events(chain(first, second, notebook), may_shorten=False)


async def test_it_is_given_back_unasked_where_the_window_is_known_to_be_too_small(
    first: ScriptedModel, notebook: ScriptedModel
) -> None:
    with pytest.raises(ContextTooLong) as caught:
        await events(chain(first, notebook, window=100), may_shorten=False)
    assert caught.value.model == first.name
    assert first.history == []


async def test_a_larger_window_answers_it_as_it_is(
    first: ScriptedModel, second: ScriptedModel, notebook: ScriptedModel
) -> None:
    first.enqueue(error=ContextTooLong("too long"))
    second.enqueue("Now this.")
    await events(chain(first, second, notebook), may_shorten=False)
    assert second.history[0].messages == REQUEST.messages


async def test_once_a_part_is_on_screen_it_is_shortened_all_the_same(
    first: ScriptedModel, second: ScriptedModel, notebook: ScriptedModel
) -> None:
    first.enqueue("Well", error=CutOff("lost"))
    second.enqueue(error=ContextTooLong("too long"))
    second.enqueue("Now this.")
    shown = await events(chain(first, second, notebook), may_shorten=False)
    assert any(isinstance(event, StartedOver) for event in shown)
    assert isinstance(shown[-1], Answer)
    assert len(second.history[-1].messages) < len(REQUEST.messages)


async def test_otherwise_it_is_shortened(first: ScriptedModel, notebook: ScriptedModel) -> None:
    first.enqueue(error=ContextTooLong("too long"))
    first.enqueue("Now this.")
    await events(chain(first, notebook))
    assert len(first.history[-1].messages) < len(REQUEST.messages)
