"""A request that fits no window is made shorter: what goes, what stays, and that it stays a valid history."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.conversations.conversation import repair_tool_calls
from bot.messages import Quoted
from bot.models.protocol import (
    AssistantMessage,
    AttachedText,
    Image,
    Message,
    ModelRequest,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.models.token_estimate import estimate_request_tokens, estimate_text_tokens
from bot.models.truncation import LEFT_OUT, truncate
from tests.fakes.table_test import table_test


def turn(number: int, letters: int) -> list[Message]:
    call = ToolCall(f"call{number:05}", "memory_search", '{"query": "tea"}')
    return [
        UserMessage(f"question {number} " + "x" * letters),
        AssistantMessage("", (call,), "a/one"),
        ToolResult(call.id, call.name, "y" * letters),
        AssistantMessage(f"answer {number}", (), "a/one"),
    ]


def request_of(turns: int, letters: int) -> ModelRequest:
    messages = [message for number in range(turns) for message in turn(number, letters)]
    return ModelRequest("System.", (*messages, UserMessage("And now?")))


def test_the_oldest_turns_go_whole_and_the_model_is_told() -> None:
    request = request_of(10, 1000)
    shorter = truncate(request, estimate_request_tokens(request) // 2)
    assert shorter
    assert LEFT_OUT in shorter.system
    assert shorter.messages == request.messages[-len(shorter.messages) :]
    assert isinstance(shorter.messages[0], UserMessage)
    assert (
        estimate_request_tokens(shorter)
        <= estimate_request_tokens(request) // 2 + estimate_text_tokens(LEFT_OUT) + 1
    )


def test_it_is_told_once_however_often_it_is_shortened() -> None:
    request = request_of(20, 1000)
    once = truncate(request, 5000)
    assert once
    twice = truncate(once, 2000)
    assert twice
    assert twice.system.count(LEFT_OUT) == 1


def test_what_fits_is_not_touched() -> None:
    request = request_of(3, 100)
    assert truncate(request, estimate_request_tokens(request)) is None


def test_a_long_result_of_the_last_turn_loses_its_middle_before_what_the_person_said() -> None:
    call = ToolCall("abc123def", "memory_get", "{}")
    content = "beginning " + "z" * 50_000 + " end"
    messages = (
        UserMessage("q" * 3000),
        AssistantMessage("", (call,)),
        ToolResult(call.id, call.name, content),
    )
    shorter = truncate(ModelRequest("", messages), 4000)
    assert shorter
    assert shorter.messages[:2] == messages[:2]
    cut = shorter.messages[2]
    assert isinstance(cut, ToolResult)
    assert cut.content.startswith("beginning ")
    assert cut.content.endswith(" end")
    assert "left out here" in cut.content
    assert estimate_request_tokens(shorter) <= 4100


@table_test("letter", ["x", "字", "ж", "🙂"])
def test_what_the_person_pasted_loses_its_middle_at_last(letter: str) -> None:
    request = ModelRequest("", (UserMessage(f"Please read: {letter * 100_000} What is it?"),))
    shorter = truncate(request, 5000)
    assert shorter
    (message,) = shorter.messages
    assert isinstance(message, UserMessage)
    assert message.text.startswith("Please read: ")
    assert message.text.endswith("What is it?")
    assert 3000 <= estimate_request_tokens(shorter) <= 5200


def test_what_cannot_be_shortened_any_more_is_none() -> None:
    assert truncate(ModelRequest("s" * 100_000, (UserMessage("Hi"),)), 100) is None


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3000)), min_size=1, max_size=12),
    st.integers(0, 5000),
)
def test_whatever_goes_the_history_stays_one_that_providers_take(
    turns: list[tuple[int, int]], most: int
) -> None:
    messages: list[Message] = []
    for number, (steps, letters) in enumerate(turns):
        messages.append(UserMessage("x" * letters, (Image("image/png", b"0"),) * (letters % 2)))
        for step in range(steps):
            call = ToolCall(f"c{number:04}{step:04}", "get", "{}")
            messages += [AssistantMessage("", (call,)), ToolResult(call.id, "get", "y" * letters)]
    request = ModelRequest("", tuple(messages))
    shorter = truncate(request, most)
    if shorter:
        assert repair_tool_calls(shorter.messages) == shorter.messages
        assert isinstance(shorter.messages[0], UserMessage)
        assert estimate_request_tokens(shorter) < estimate_request_tokens(request) + estimate_text_tokens(
            LEFT_OUT
        )


def test_what_came_along_is_cut_before_the_persons_words_and_stays_apart_from_them() -> None:
    words = "word " * 1000
    documents = (AttachedText("document 3: a.txt", "y" * 20_000, "aaaaaaaaaaaa", 3), AttachedText("picture"))
    message = UserMessage(words, speaker="Ann", quoted=Quoted("Here."), documents=documents)
    request = ModelRequest("", (message,))
    shorter = truncate(request, 3000)
    assert shorter
    (kept,) = shorter.messages
    assert isinstance(kept, UserMessage)
    cut, picture = kept.documents
    assert 2900 < estimate_request_tokens(shorter) <= 3010
    assert kept == replace(message, documents=(cut, picture))
    assert cut == replace(documents[0], content=cut.content)
    assert "characters are left out here" in cut.content
    shortest = truncate(request, 500)
    assert shortest
    (kept,) = shortest.messages
    assert isinstance(kept, UserMessage)
    assert "characters are left out here" in kept.text
    assert len(kept.text) < 1200
