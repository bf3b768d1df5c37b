import asyncio
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from bot.models.errors import (
    BadRequest,
    ContextTooLong,
    EmptyAnswer,
    ModelError,
    ModelNotFound,
    Overloaded,
    ServerFailed,
    TimedOut,
)
from bot.models.llama_cpp.chat import as_plain_text, chat_of, one_call_each, tools_of, without_system
from bot.models.llama_cpp.chat_template import ChatTemplate
from bot.models.llama_cpp.loaded_model import processor_cores
from bot.models.llama_cpp.model import LlamaCppModel, open_llama_cpp
from bot.models.llama_cpp.output_parser import MARKS, OutputParser
from bot.models.options import ModelOptions
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    Image,
    LanguageModel,
    Message,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from bot.models.timeouts import Timeouts
from tests.fakes.table_test import table_test
from tests.fakes.tiny_chat_gguf import QWEN, write_tiny_chat_gguf

ROOT = Path(__file__).parents[3]

needs_llama = pytest.mark.skipif(
    not (importlib.util.find_spec("llama_cpp") and importlib.util.find_spec("gguf")),
    reason="llama-cpp-python or gguf is not installed",
)

SEARCH = ToolSpec(
    "memory_search",
    "Find passages.",
    {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
    },
)
WRITE = ToolSpec(
    "memory_write", "Keep a fact.", {"type": "object", "properties": {"content": {"type": "string"}}}
)
TOOLS = (SEARCH, WRITE)
ANNA = {"query": "Anna's {passport}"}
CALL = json.dumps({"name": "memory_search", "arguments": ANNA})


# What a model writes, taken apart


def read(written: Sequence[str], *, in_thought: bool = False) -> tuple[str, list[tuple[str, object]]]:
    """The text, and the calls with what their arguments are, or else their bare text."""
    reader = OutputParser(TOOLS, in_thought=in_thought)
    text = "".join(map(reader.feed, written)) + reader.end()
    calls: list[tuple[str, object]] = []
    for call in reader.calls:
        try:
            calls.append((call.name, json.loads(call.arguments)))
        except ValueError:
            calls.append((call.name, call.arguments))
    return text, calls


ONE = [("memory_search", ANNA)]

CALLS = [
    (f"<tool_call>\n{CALL}\n</tool_call>", "", ONE),
    (f"Let me look.\n\n<tool_call>{CALL}</tool_call>", "Let me look.", ONE),
    (f"<tool_call>{CALL}</tool_call>\n<tool_call>\n{CALL}\n</tool_call>", "", ONE * 2),
    (f"<tool_call>{CALL}", "", ONE),
    (f"One.<tool_call>{CALL}</tool_call>Two.", "One.\n\nTwo.", ONE),
    (f"<think>\nI need {CALL}\n</think>\n\n<tool_call>{CALL}</tool_call>", "", ONE),
    (f'<tool_call>{{"type": "function", "function": {CALL}}}</tool_call>', "", ONE),
    (
        f'<tool_call>{{"name": "memory_write", "arguments": {json.dumps(json.dumps(ANNA))}}}</tool_call>',
        "",
        [("memory_write", ANNA)],
    ),
    (
        '<tool_call>{"name": "memory_write", "arguments": {"content": "a </tool_call> b"}}</tool_call>',
        "",
        [("memory_write", {"content": "a </tool_call> b"})],
    ),
    (
        '<tool_call>{"name": "memory_write", "arguments": {"content": "two\nlines"}}</tool_call>',
        "",
        [("memory_write", {"content": "two\nlines"})],
    ),
    ('<tool_call>{"name": "no_such_tool"}</tool_call>', "", [("no_such_tool", {})]),
    (
        '<tool_call>{"name": "memory_search", "arguments": {"query: 1}}</tool_call>',
        "",
        [("memory_search", '{"query: 1}}')],
    ),
    (
        "<tool_call>\n<function=memory_search>\n<parameter=query>\n2024\n</parameter>\n<parameter=limit>\n3\n"
        "</parameter>\n</function>\n</tool_call>",
        "",
        [("memory_search", {"query": "2024", "limit": 3})],
    ),
    (CALL, "", ONE),
    (CALL.replace("arguments", "parameters"), "", ONE),
    (f"{CALL}; {CALL}", "", ONE * 2),
    (f'{{"type": "function", {CALL[1:]}', "", ONE),
    (f"<|python_tag|>{CALL}", "", ONE),
    (f"[TOOL_CALLS][{CALL}, {CALL}]", "", ONE * 2),
    (f'[TOOL_CALLS] [{CALL[:-1]}, "id": "abcdefgh1"}}]', "", ONE),
    (f"I look.[TOOL_CALLS]memory_search[ARGS]{json.dumps(ANNA)}", "I look.", ONE),
    (f"[TOOL_CALLS]memory_search[CALL_ID]abcdefgh1[ARGS]{json.dumps(ANNA)}", "", ONE),
    (
        f"[TOOL_CALLS]memory_search[ARGS]{json.dumps(ANNA)}[TOOL_CALLS]memory_search[ARGS]{json.dumps(ANNA)}",
        "",
        ONE * 2,
    ),
]

NO_CALLS = [
    "Plain words.",
    '{"name": "Anna", "arguments": {}}',
    '{"name": "memory_searching"}',
    '{"answer": 42}',
    "{ braces }",
    "Write <tool_call> and then the call.",
    'The tag `<tool_call>{"a": 1}</tool_call>` holds JSON.',
    "[TOOL_CALLS] is what Mistral writes.",
    "<tool_call>",
    "[TOOL_CALLS]",
    "a <b> [c] <tool",
    "1 < 2 and <think about it>",
    "<|python_tag|>print(1)",
    f"Such as {CALL}",
]


@table_test(("written", "text", "calls"), CALLS)
def test_calls_are_read_in_every_form_and_never_shown(
    written: str, text: str, calls: list[tuple[str, object]]
) -> None:
    assert read([written]) == (text, calls)
    assert read(list(written)) == (text, calls)


@table_test("written", NO_CALLS)
def test_what_only_looks_like_a_call_is_shown(written: str) -> None:
    assert read([written]) == (written, [])
    assert read(list(written)) == (written, [])


@table_test(
    ("written", "in_thought", "text"),
    [
        ("<think>Hm, <tool_call>?</think>\n\nYes.", False, "Yes."),
        ("\n<think>\n</think>\nYes.", False, "Yes."),
        ("Hm.</think>Yes.", True, "Yes."),
        ("[THINK]Hm.[/THINK]Yes.", False, "Yes."),
        ("<think>Hm", False, ""),
        ("A <think> in the middle.", False, "A <think> in the middle."),
    ],
)
def test_thoughts_are_not_shown(written: str, in_thought: bool, text: str) -> None:
    assert read([written], in_thought=in_thought) == (text, [])
    assert read(list(written), in_thought=in_thought) == (text, [])


def test_text_is_shown_as_soon_as_it_can_be_no_call() -> None:
    reader = OutputParser(TOOLS)
    pieces = ["I", " know", ".\n", "<", "b>", " <tool", "_tip>", '{"name"']
    assert [reader.feed(piece) for piece in pieces] == [
        "I",
        " know",
        ".",
        "",
        "\n<b>",
        "",
        " <tool_tip>",
        '{"name"',
    ]
    reader = OutputParser(TOOLS)
    assert [reader.feed(piece) for piece in ['{"na', 'me": "An', 'na"}']] == ["", '{"name": "An', 'na"}']


fragments = st.sampled_from(
    [
        *sorted(MARKS - {"<think>", "[THINK]"}),
        *" \n{}[]<>\"':,",
        "word",
        "name",
        '"name":',
        "memory_search",
        "für",
        "词",
    ]
)


def cut(text: str, places: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(edges)]


# Hypothesis takes some of its texts from our own sources, marks among them.
plain = st.text().filter(lambda text: not any(mark in text for mark in MARKS))


@given(plain, st.lists(st.integers(0, 1000)))
def test_plain_text_comes_through_as_it_is(text: str, places: list[int]) -> None:
    assert read(cut(text, places)) == (text.strip(), [])


@given(st.lists(fragments).map("".join), st.lists(st.integers(0, 1000)))
def test_no_word_is_lost_that_is_not_part_of_a_call(written: str, places: list[int]) -> None:
    text, calls = read(cut(written, places))
    assert read([written]) == (text, calls)
    if not calls:
        assert text.split() == written.split()


# A request, as templates take it


def conversation(*, results: int = 2) -> tuple[Message, ...]:
    calls = [
        ToolCall(f"abcdefgh{number}", "memory_search", json.dumps({"query": f"q{number}"}))
        for number in range(results)
    ]
    return (
        UserMessage("Where is it?"),
        AssistantMessage("I look.", tuple(calls), "other/model"),
        *(ToolResult(call.id, call.name, f'{{"found": "r{call.id[-1]}"}}') for call in calls),
        AssistantMessage("There."),
        UserMessage("Sure?"),
        UserMessage("Really?"),
    )


def test_each_call_can_stand_in_a_step_of_its_own_before_its_result() -> None:
    chat = one_call_each(chat_of(ModelRequest("Be kind.", conversation())))
    shape = [
        (
            message["role"],
            [call["id"] for call in message.get("tool_calls", [])] or message.get("tool_call_id"),
        )
        for message in chat
    ]
    assert shape == [
        ("system", None),
        ("user", None),
        ("assistant", ["abcdefgh0"]),
        ("tool", "abcdefgh0"),
        ("assistant", ["abcdefgh1"]),
        ("tool", "abcdefgh1"),
        ("assistant", None),
        ("user", None),
    ]
    assert [message["content"] for message in chat if "tool_calls" in message] == ["I look.", ""]


def test_in_words_user_and_assistant_take_turns_and_nothing_is_missing() -> None:
    chat = without_system(as_plain_text(chat_of(ModelRequest("Be kind.", conversation())), tools_of(TOOLS)))
    assert [message["role"] for message in chat] == ["user", "assistant", "user", "assistant", "user"]
    whole = json.dumps(chat)
    for word in (
        "Be kind.",
        "Where is it?",
        "memory_write",
        "I look.",
        "q0",
        "q1",
        "r0",
        "r1",
        "There.",
        "Really?",
    ):
        assert word in whole
    assert read([chat[1]["content"]])[1] == [
        ("memory_search", {"query": "q0"}),
        ("memory_search", {"query": "q1"}),
    ]


def test_arguments_that_are_no_json_stay_what_they_are() -> None:
    step = AssistantMessage("", (ToolCall("abcdefgh1", "memory_search", '{"query'),))
    (message,) = chat_of(ModelRequest("", (step,)))
    assert message["tool_calls"][0]["function"]["arguments"] == '{"query'


LLAMA = """{{ bos_token }}
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set messages = messages[1:] %}{% endif %}
{{- 'S ' + system + '\n' if system else '' }}
{%- for message in messages %}
{%- if loop.first and tools %}{{ tools | tojson + '\n' }}{% endif %}
{%- if message.tool_calls %}
{%- if message.tool_calls | length != 1 %}{{ raise_exception('one call at a time') }}{% endif %}
{%- set call = message.tool_calls[0].function %}
{{- 'A ' + '{"name": "' + call.name + '", "parameters": ' + call.arguments | tojson + '}' + eos_token }}
{%- else %}{{ message.role[0] | upper + ' ' + message.content + eos_token }}{% endif %}
{%- endfor %}{{ 'A ' if add_generation_prompt }}"""
MISTRAL = """{%- for message in messages if message.role != 'system' %}
{%- if message.role == 'user' %}{{ tools | tojson if tools }}
{{- '[INST]' + messages[0].content + message.content + '[/INST]' }}
{%- elif message.role == 'tool' %}{{ '[TOOL_RESULTS]' + message.content }}
{%- elif message.tool_calls %}{{ '[TOOL_CALLS][' }}
{%- for call in message.tool_calls %}{{ call.function | tojson }}{{ ', ' if not loop.last }}{% endfor %}{{ ']' }}
{%- else %}{{ message.content + eos_token }}{% endif %}{% endfor %}"""
GEMMA = """{%- for message in messages %}
{%- if message.role == 'system' %}{{ raise_exception('no system') }}{% endif %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}
{{- message.role + '\n' + message.content + '\n' }}{% endfor %}"""
STRANGE = QWEN.replace("<tool_call>", "«call»")
DEAF = QWEN.replace(
    "{{- '<|im_start|>' + message.role", "{{- '' if message.role == 'tool' else '<|im_start|>' + message.role"
)
REASONING = QWEN.replace("<|reply|>", "<think>\n")


@pytest.mark.thorough
@needs_llama
@pytest.mark.parametrize(
    ("template", "knows_tools", "begins_thought"),
    [
        (QWEN, True, False),
        (LLAMA, True, False),
        (MISTRAL, True, False),
        (GEMMA, False, False),
        (STRANGE, False, False),
        (DEAF, False, False),
        (REASONING, True, True),
    ],
    ids=["qwen", "llama", "mistral", "gemma", "strange", "deaf", "reasoning"],
)
def test_every_template_is_given_the_whole_conversation(
    template: str, knows_tools: bool, begins_thought: bool
) -> None:
    request = ModelRequest("Be kind.", conversation(), TOOLS)
    chat = ChatTemplate(template, bos="<s>", eos="</s>")
    assert chat.knows_tools == knows_tools
    prompt = chat.prompt(chat_of(request), tools_of(request.tools), {})
    assert prompt.in_thought == begins_thought
    for word in (
        "Be kind.",
        "Where is it?",
        "memory_search",
        "q0",
        "q1",
        "r0",
        "r1",
        "There.",
        "Sure?",
        "Really?",
    ):
        assert word in prompt.text
    assert ("<tool_response>" in prompt.text) == (not knows_tools)


@needs_llama
def test_a_template_of_its_own_for_tools_is_used_where_there_are_tools() -> None:
    chat = ChatTemplate(GEMMA, tool_template=QWEN, bos="", eos="")
    said = chat_of(ModelRequest("Be kind.", conversation()))
    assert "<|im_start|>" in chat.prompt(said, tools_of(TOOLS), {}).text
    without = chat.prompt(said, [], {}).text
    assert "<|im_start|>" not in without
    assert "r1" in without


# The model itself

HELLO = ["Hel", "lo ", "the", "re.", " Caf", "<0xC3>", "<0xA9>", "?"]
SAID = "Hello there. Café?"
LOOK = [
    "Let me ",
    "look.",
    "\n",
    "<tool_call>",
    '{"name": "memory_search", ',
    '"arguments": {"query": "Anna"',
    "}}",
    "</tool_call>",
]
LONG = "ab" * 7500
RESULT = ToolResult("abcdefgh1", "memory_search", '{"results": []}')
STEP = AssistantMessage("", (ToolCall("abcdefgh1", "memory_search", '{"query": "Anna"}'),))
IMPATIENT = Timeouts(first_token=1.0, idle=1.0, begin=2.0, total=2.0)


@asynccontextmanager
async def opened(
    path: Path, times: dict[str, float] | None = None, **options: Any
) -> AsyncIterator[LlamaCppModel]:
    model = LlamaCppModel(ModelOptions("local/tiny", **options), path, **(times or {}))
    try:
        yield model
    finally:
        await model.close()


def asked(
    text: str = "Hello", *messages: Message, tools: tuple[ToolSpec, ...] = (), system: str = ""
) -> ModelRequest:
    return ModelRequest(system, (UserMessage(text), *messages), tools)


async def ask(
    model: LanguageModel, request: ModelRequest, meanwhile: Callable[[], None] = lambda: None
) -> tuple[list[str], Answer]:
    """`meanwhile` is called after each piece of text."""
    deltas: list[str] = []
    async for event in model.stream(request):
        if isinstance(event, Answer):
            return deltas, event
        assert isinstance(event, TextDelta)
        deltas.append(event.text)
        meanwhile()
    raise AssertionError("no answer")


async def text_of(model: LanguageModel, request: ModelRequest) -> str:
    return (await ask(model, request))[1].message.text


def signal_to(model: LlamaCppModel, number: signal.Signals) -> None:
    if model.pid:
        os.kill(model.pid, number)


async def until(is_so: Callable[[], object]) -> None:
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to be")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def hello(folder: Path) -> Path:
    return write_tiny_chat_gguf(folder / "hello.gguf", HELLO)


@pytest.fixture(scope="module")
def endless(folder: Path) -> Path:
    """Goes on for ever, but after a result."""
    path = folder / "endless.gguf"
    return write_tiny_chat_gguf(path, ["on ", "and "], HELLO, endless=True, context=16384)


@pytest.fixture(scope="module")
def slow(folder: Path) -> Path:
    """Takes seconds over a long prompt."""
    return write_tiny_chat_gguf(folder / "slow.gguf", ["At last."], context=16384, width=128, layers=8)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def warm(hello: Path) -> AsyncIterator[LlamaCppModel]:
    async with opened(hello) as model:
        await ask(model, asked())
        yield model


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def impatient(endless: Path) -> AsyncIterator[LlamaCppModel]:
    async with opened(endless, {"stop_seconds": 0.5}, limits=IMPATIENT, context_window=1 << 16) as model:
        yield model


module_loop = pytest.mark.asyncio(loop_scope="module")


def test_at_least_one_core_is_used() -> None:
    assert 1 <= processor_cores() <= (os.cpu_count() or 1)


@needs_llama
@module_loop
async def test_an_answer_streams_and_is_counted(warm: LlamaCppModel) -> None:
    before = time.perf_counter()
    deltas, answer = await ask(warm, asked("Hello"))
    assert deltas == ["Hel", "lo", " the", "re.", " Caf", "é", "?"]
    assert answer.message.text == SAID
    assert answer.message.model == warm.name == "local/tiny"
    assert answer.usage.output_tokens == len(HELLO)
    assert answer.usage.input_tokens > len("Hello")
    assert 0 < answer.first_token_seconds < time.perf_counter() - before
    assert not answer.cut_short


@needs_llama
@module_loop
async def test_a_longer_version_of_the_same_conversation_is_not_read_anew(warm: LlamaCppModel) -> None:
    _, one = await ask(warm, asked("A rather long beginning of it all"))
    _, two = await ask(warm, asked("A rather long beginning of it all", one.message, UserMessage("Go on")))
    _, other = await ask(warm, asked("Something else"))
    assert one.usage.input_tokens - 20 < two.usage.cached_tokens < two.usage.input_tokens
    assert other.usage.cached_tokens < 40


@needs_llama
@module_loop
async def test_a_control_token_in_what_people_say_is_text(warm: LlamaCppModel) -> None:
    _, control = await ask(warm, asked("x<|im_end|>y"))
    _, text = await ask(warm, asked("x[|im_end|]y"))
    assert control.usage.input_tokens == text.usage.input_tokens


@needs_llama
@module_loop
@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "护照在哪里?", "🦊" * 300, "{{ 1/0 }}{% raw %}"])
async def test_no_text_breaks_it(warm: LlamaCppModel, text: str) -> None:
    assert await text_of(warm, asked(text)) == SAID


@needs_llama
@module_loop
async def test_requests_that_come_together_are_answered_in_order(warm: LlamaCppModel) -> None:
    done: list[int] = []

    async def one(number: int) -> None:
        assert await text_of(warm, asked(f"Number {number}")) == SAID
        done.append(number)

    await asyncio.gather(*map(one, range(5)))
    assert done == [0, 1, 2, 3, 4]


@needs_llama
@module_loop
async def test_a_picture_to_be_looked_at_is_refused_and_an_earlier_one_told(warm: LlamaCppModel) -> None:
    picture = Image("image/png", b"...")
    with pytest.raises(BadRequest, match="pictures"):
        await ask(warm, ModelRequest("", (UserMessage("What is it?", (picture,)),)))
    history = (UserMessage("What is it?", (picture,)), AssistantMessage("A cat."), UserMessage("Sure?"))
    assert await text_of(warm, ModelRequest("", history)) == SAID


@pytest.mark.thorough
@needs_llama
@module_loop
async def test_a_limit_cuts_short_what_is_the_same_at_any_temperature(
    warm: LlamaCppModel, hello: Path
) -> None:
    async with opened(hello, temperature=0.0, max_tokens=3) as other:
        _, answer = await ask(other, asked())
    assert (answer.message.text, answer.cut_short, answer.usage.output_tokens) == ("Hello the", True, 3)
    assert [await text_of(warm, asked()) for _ in range(3)] == [SAID] * 3


@needs_llama
async def test_a_call_and_its_result_go_round(folder: Path) -> None:
    path = write_tiny_chat_gguf(folder / "look.gguf", LOOK, HELLO, control=["<tool_call>", "</tool_call>"])
    async with opened(path) as model:
        deltas, first = await ask(model, asked("Where?", tools=TOOLS, system="Be kind."))
        (call,) = first.message.calls
        assert "".join(deltas) == first.message.text == "Let me look."
        assert (call.name, json.loads(call.arguments)) == ("memory_search", {"query": "Anna"})
        assert re.fullmatch("[a-z0-9]{9}", call.id)
        result = ToolResult(call.id, call.name, '{"results": []}')
        for tools in (TOOLS, ()):
            _, last = await ask(model, asked("Where?", first.message, result, tools=tools))
            assert (last.message.text, last.message.calls) == (SAID, ())


async def test_a_stream_that_nobody_reads_starts_nothing(tmp_path: Path) -> None:
    model = open_llama_cpp(ModelOptions("local/tiny"), tmp_path / "none.gguf")
    await model.stream(asked()).aclose()
    assert model.pid is None
    await model.close()


@pytest.mark.thorough
@needs_llama
async def test_a_full_window_ends_an_answer_and_what_does_not_fit_is_refused_unread(endless: Path) -> None:
    async with opened(endless, context_window=300) as model:
        _, answer = await ask(model, asked())
        assert answer.cut_short
        assert answer.usage.input_tokens + answer.usage.output_tokens == 300
        with pytest.raises(ContextTooLong, match="its 300 for an answer") as caught:
            await ask(model, asked("abc" * 70))
        assert (caught.value.window, caught.value.model) == (300, "local/tiny")
        _, again = await ask(model, asked())
        assert again.usage.cached_tokens == again.usage.input_tokens - 1


@pytest.mark.thorough
@needs_llama
async def test_thoughts_alone_are_no_answer(folder: Path) -> None:
    path = folder / "thinking.gguf"
    write_tiny_chat_gguf(
        path, ["<think>", "Hm"], ["[THINK]", "So"], control=["<think>"], endless=True, context=16384
    )
    async with opened(path, limits=Timeouts(begin=0.8)) as model:
        with pytest.raises(EmptyAnswer, match="wrote nothing"):
            await ask(model, asked("Hello", STEP, RESULT))
        with pytest.raises(TimedOut, match=r"had not begun to answer after 0\.8 s"):
            await ask(model, asked())
    async with opened(path, max_tokens=5) as model:
        with pytest.raises(EmptyAnswer, match="before it had finished reasoning"):
            await ask(model, asked())


# Stopping, limits, death


@pytest.mark.thorough
@needs_llama
@module_loop
async def test_a_stream_closed_while_it_writes_costs_no_process(impatient: LlamaCppModel) -> None:
    await ask(impatient, asked("Hello", STEP, RESULT))
    pid = impatient.pid
    for _ in range(3):
        async with aclosing(impatient.stream(asked())) as events:
            assert await anext(events)
    assert await text_of(impatient, asked("Hello", STEP, RESULT)) == SAID
    assert impatient.pid == pid


@pytest.mark.thorough
@needs_llama
@module_loop
async def test_a_long_answer_is_stopped_and_the_process_kept(impatient: LlamaCppModel) -> None:
    await ask(impatient, asked("Hello", STEP, RESULT))
    pid = impatient.pid
    with pytest.raises(TimedOut, match=r"had not finished its answer after 2 s"):
        await ask(impatient, asked())
    assert impatient.pid == pid


@pytest.mark.thorough
@needs_llama
@module_loop
async def test_silence_ends_the_call_and_the_process(impatient: LlamaCppModel) -> None:
    with pytest.raises(TimedOut, match=r"sent nothing for 1 s in the middle of its answer"):
        await ask(impatient, asked(), lambda: signal_to(impatient, signal.SIGSTOP))
    assert impatient.pid is None


@pytest.mark.thorough
@needs_llama
@module_loop
async def test_no_sign_of_an_answer_ends_the_call_however_long_it_took_to_load(
    impatient: LlamaCppModel,
) -> None:
    assert await text_of(impatient, asked("Hello", STEP, RESULT)) == SAID
    signal_to(impatient, signal.SIGSTOP)
    with pytest.raises(TimedOut, match=r"did not respond within 1 s"):
        await ask(impatient, asked())


@pytest.mark.thorough
@needs_llama
@module_loop
async def test_a_loop_that_is_busy_is_not_taken_for_a_silent_model(impatient: LlamaCppModel) -> None:
    pauses = iter([1.1])
    _, answer = await ask(impatient, asked("Hello", STEP, RESULT), lambda: time.sleep(next(pauses, 0)))
    assert answer.message.text == SAID


@pytest.mark.thorough
@needs_llama
@module_loop
async def test_who_waits_too_long_for_a_turn_is_told_that_the_model_is_busy(impatient: LlamaCppModel) -> None:
    async with aclosing(impatient.stream(asked())) as events:
        assert await anext(events)
        with pytest.raises(Overloaded, match="busy"):
            await ask(impatient, asked())
    assert await text_of(impatient, asked("Hello", STEP, RESULT)) == SAID


@pytest.mark.thorough
@needs_llama
@module_loop
async def test_a_process_that_dies_is_told_and_the_next_call_starts_another(impatient: LlamaCppModel) -> None:
    for number in (signal.SIGABRT, signal.SIGKILL):
        with pytest.raises(ServerFailed, match=f"ended by {number.name}"):
            await ask(impatient, asked(), partial(signal_to, impatient, number))
        assert impatient.pid is None
    assert await text_of(impatient, asked("Hello", STEP, RESULT)) == SAID


@pytest.mark.thorough
@needs_llama
async def test_memory_is_given_back_after_a_while_and_taken_again(hello: Path) -> None:
    async with opened(hello, {"unload_seconds": 0.05}) as model:
        await ask(model, asked())
        pid = model.pid
        assert pid
        await until(lambda: model.pid is None)
        assert await text_of(model, asked()) == SAID
        assert model.pid != pid
        await until(lambda: not is_alive(pid))


@pytest.mark.thorough
@needs_llama
async def test_who_leaves_while_it_loads_has_it_load_for_the_next(hello: Path) -> None:
    async with opened(hello) as model:
        task = asyncio.create_task(ask(model, asked()))
        await until(lambda: model.pid)
        pid = model.pid
        task.cancel()
        assert await text_of(model, asked()) == SAID
        assert model.pid == pid
        signal_to(model, signal.SIGKILL)
        await until(lambda: model.pid is None)
        assert await text_of(model, asked()) == SAID


async def test_loading_has_a_limit_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF and more")
    async with opened(tmp_path / "model.gguf", {"load_seconds": 0.001}) as model:
        with pytest.raises(TimedOut, match=r"not loaded within 0\.001 s"):
            await ask(model, asked())
        assert model.pid is None


@pytest.mark.thorough
@needs_llama
async def test_a_long_prompt_can_be_left_and_closing_is_quick_and_leaves_nothing(slow: Path) -> None:
    threads = {*threading.enumerate()}
    async with opened(slow) as model:
        await ask(model, asked())
        pid = model.pid
        assert pid
        assert os.getsid(pid) == pid != os.getsid(0)

        for seconds in (0.3, 1, 3, 9):  # until it has begun to read; to read it all would take far longer
            task = asyncio.create_task(ask(model, asked(LONG)))
            await asyncio.sleep(seconds)
            before = time.perf_counter()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert task.cancelled()
            assert time.perf_counter() - before < 5
            _, answer = await ask(model, asked(LONG[:100]))
            if answer.usage.cached_tokens > 100:
                break
        assert answer.usage.cached_tokens > 100
        assert model.pid == pid

        tasks = [asyncio.create_task(ask(model, asked(LONG))) for _ in range(2)]
        await asyncio.sleep(0.1)
        before = time.perf_counter()
        await model.close()
        assert time.perf_counter() - before < 5
        for found in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(found, ServerFailed)
            assert found.detail == "was closed"
        with pytest.raises(ServerFailed, match="closed"):
            await ask(model, asked())
    assert not is_alive(pid)
    # The thread in which asyncio waits for the process ends a moment after it.
    for _ in range(500):
        if {*threading.enumerate()} <= threads:
            break
        await asyncio.sleep(0.01)
    assert {*threading.enumerate()} <= threads


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it went between the two, or there is no such folder here
        return not Path("/proc/self").exists()


@pytest.mark.thorough
@needs_llama
def test_the_process_goes_with_its_parent_whatever_it_is_at(slow: Path) -> None:
    code = f"""
import asyncio
from pathlib import Path
from bot.models.llama_cpp.model import open_llama_cpp
from bot.models.options import ModelOptions
from bot.models.protocol import ModelRequest, UserMessage
async def main():
    model = open_llama_cpp(ModelOptions("local/slow"), Path({str(slow)!r}))
    async for _ in model.stream(ModelRequest("", (UserMessage("Hello"),))):
        pass
    print(model.pid, flush=True)
    async for _ in model.stream(ModelRequest("", (UserMessage({LONG!r}),))):
        pass
asyncio.run(main())
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        time.sleep(0.1)
        parent.kill()
    end = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_alive(pid)


# What is not there


async def fails(path: Path) -> ModelError:
    async with opened(path) as model:
        with pytest.raises(ModelError) as caught:
            await ask(model, asked())
    return caught.value


async def test_a_file_that_is_missing_or_none_of_ours_is_named_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("hello")
    for name, words in (("none.gguf", "no file"), ("text.gguf", "not a GGUF"), ("", "cannot be read")):
        error = await fails(tmp_path / name)
        assert isinstance(error, ModelNotFound)
        assert words in error.detail
        assert str(tmp_path / name) in error.detail
        assert "model_path" in error.detail


@pytest.mark.thorough
@needs_llama
async def test_a_damaged_file_is_told_and_a_mended_one_taken(hello: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(hello.read_bytes()[:-50_000])
    async with opened(path) as model:
        with pytest.raises(ModelNotFound, match=r"half\.gguf cannot be loaded: .*download or copy") as caught:
            await ask(model, asked())
        assert "\n" not in caught.value.detail
        path.write_bytes(hello.read_bytes())
        assert await text_of(model, asked()) == SAID


@pytest.mark.thorough
@needs_llama
@pytest.mark.parametrize(
    ("template", "words"), [(None, "no chat template"), ("{% if %}", "chat template fails")]
)
async def test_a_file_that_cannot_chat_is_told(tmp_path: Path, template: str | None, words: str) -> None:
    error = await fails(write_tiny_chat_gguf(tmp_path / "base.gguf", HELLO, template=template))
    assert isinstance(error, ModelNotFound)
    assert words in error.detail


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("raise ModuleNotFoundError('none', name='llama_cpp')", "make local"),
        ("raise OSError('libllama.so: wrong architecture')", "wrong architecture); build it again"),
    ],
    ids=["missing", "broken"],
)
async def test_without_the_library_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, words: str
) -> None:
    (tmp_path / "llama_cpp.py").write_text(package)
    (tmp_path / "model.gguf").write_bytes(b"GGUF and more")
    monkeypatch.syspath_prepend(tmp_path)
    error = await fails(tmp_path / "model.gguf")
    assert isinstance(error, ModelNotFound)
    assert words in error.detail
