import asyncio
import json
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from bot.models.protocol import ToolCall, ToolResult
from bot.state.database import StateUnusable
from bot.tools import toolbox as tools
from bot.tools.toolbox import Tool, Toolbox, tool
from memory.errors import NoteMissing
from tests.fakes.table_test import table_test
from tests.fakes.turns import SOMEWHERE


@tool
async def book_table(
    place: Annotated[str, Field(description="The restaurant.")],
    kind: Literal["lunch", "dinner"],
    people: Annotated[int, Field(ge=1, le=12)] = 2,
    note: str | None = None,
) -> dict[str, Any]:
    """Book a table.

    Only when asked.
    """
    return {"place": place, "kind": kind, "people": people, "note": note}


def call(name: str, arguments: object) -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall("abcdefgh1", name, text)


async def run(arguments: object, name: str = "book_table", **more: Any) -> ToolResult:
    return await Toolbox([book_table, *more.values()]).run(call(name, arguments), SOMEWHERE)


async def error(arguments: object, name: str = "book_table", **more: Any) -> str:
    result = await run(arguments, name, **more)
    assert result.failed
    told = json.loads(result.content)
    assert list(told) == ["error"]
    text: str = told["error"]
    return text


def test_a_model_is_told_the_name_the_docstring_and_plain_parameters() -> None:
    spec = book_table.spec
    assert (spec.name, spec.description) == ("book_table", "Book a table. Only when asked.")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "place": {"description": "The restaurant.", "type": "string"},
            "kind": {"enum": ["lunch", "dinner"], "type": "string"},
            "people": {"default": 2, "maximum": 12, "minimum": 1, "type": "integer"},
            "note": {"type": "string"},
        },
        "required": ["place", "kind"],
    }


def test_a_parameter_that_needs_a_reference_or_has_several_types_is_refused_when_it_is_declared() -> None:
    class Kind(Enum):
        LUNCH = "lunch"

    async def by_enum(kind: Kind) -> dict[str, Any]:
        return {}

    async def by_union(kind: int | str) -> dict[str, Any]:
        return {}

    with pytest.raises(TypeError, match="Literal"):
        tool(by_enum)
    with pytest.raises(TypeError, match="several types"):
        tool(by_union)


async def test_tools_of_one_declaration_run_each_its_own_function() -> None:
    def named(place: str, limit: int = 1) -> Tool:
        @tool
        async def where(count: Annotated[int, Field(le=limit)] = limit) -> dict[str, Any]:
            return {"place": place, "count": count}

        return where

    here, there, more = named("here"), named("there"), named("there", limit=2)
    assert here.spec is there.spec, "declared once"
    assert [(await each.run("{}", SOMEWHERE))["place"] for each in (here, there)] == ["here", "there"]
    assert more.spec.parameters["properties"]["count"]["maximum"] == 2, "another declaration"
    assert await more.run("{}", SOMEWHERE) == {"place": "there", "count": 2}


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="book_table"):
        Toolbox([book_table, book_table])


async def test_a_call_is_answered_under_its_id_with_json() -> None:
    result = await run({"place": "Café 茶", "kind": "lunch"})
    assert (result.call_id, result.name, result.failed) == ("abcdefgh1", "book_table", False)
    assert json.loads(result.content) == {"place": "Café 茶", "kind": "lunch", "people": 2, "note": None}
    assert "Café 茶" in result.content


@table_test(
    ("given", "people", "place"),
    [
        ({"place": "A", "kind": "lunch", "people": "5"}, 5, "A"),
        ({"place": "A", "kind": "lunch", "people": 5.0}, 5, "A"),
        ({"place": 5, "kind": "lunch", "people": None, "note": None}, 2, "5"),
        (json.dumps(json.dumps({"place": "A", "kind": "lunch"})), 2, "A"),
        ('{"place": "half \\ud83d", "kind": "lunch"}', 2, "half �"),
        ('{"place": "\\ud83d\\ude00", "kind": "lunch"}', 2, "😀"),
    ],
)
async def test_what_models_commonly_write_is_understood(given: object, people: int, place: str) -> None:
    result = await run(given)
    assert not result.failed, result.content
    assert json.loads(result.content)["people"] == people
    assert json.loads(result.content)["place"] == place


@table_test(
    ("given", "told"),
    [
        (
            {"kind": "lunch"},
            ['"place" is missing', 'place (string), kind ("lunch" or "dinner"), people (integer, optional)'],
        ),
        ({"place": "A", "kind": "brunch"}, ["\"kind\" should be 'lunch' or 'dinner', not \"brunch\""]),
        (
            {"place": "A", "kind": "lunch", "people": 99},
            ['"people" should be less than or equal to 12, not 99'],
        ),
        ({"place": "A", "kind": "lunch", "people": "many"}, ['"people" should be a valid integer', '"many"']),
        ({"place": "A", "kind": "lunch", "persons": 3}, ['"persons" is not a parameter']),
        ({"place": "A", "kind": "lunch", "peple": 3}, ['"peple" is not a parameter; did you mean "people"?']),
        ({"place": ["x" * 500], "kind": None}, ['"kind" is missing', '"place" should be a valid string']),
        ("{", ["The arguments are not valid JSON", "send one JSON object"]),
        ('{"place": "A", "kind": "lun', ["not valid JSON"]),
        ("[" * 100_000, ["not valid JSON"]),
        ("9" * 10_000, ["not valid JSON"]),
        ("[1]", ["must be one JSON object, not [1]"]),
        ('"text"', ["not valid JSON"]),
        ("", ['"place" is missing']),
        ("null", ["must be one JSON object"]),
        ('{"place": NaN, "kind": "lunch"}', []),
    ],
)
async def test_wrong_arguments_go_back_with_what_is_wrong_and_what_is_allowed(
    given: object, told: list[str]
) -> None:
    if not told:
        assert json.loads((await run(given)).content)["place"] == "nan"
        return
    text = await error(given)
    for words in told:
        assert words in text
    assert len(text) < 500


async def test_a_call_with_thousands_of_faults_goes_back_with_the_first_of_them_in_few_words() -> None:
    text = await error(
        {"place": "A", "kind": "lunch", **{f"{'x' * 500} {number}": 1 for number in range(5000)}}
    )
    assert text.count("is not a parameter") == tools.MAX_FAULTS_SHOWN
    assert len(text) < 600


@table_test("given", ['{"\\ud83d": 1}', '{"place": ["\\ud83d"]}', '{"kind": "\\ud83d"}'])
async def test_half_a_character_does_not_come_back_in_a_complaint(given: str) -> None:
    (await error(given)).encode()


async def test_an_unknown_tool_goes_back_with_the_nearest_name() -> None:
    text = await error({}, "book_tables")
    assert 'did you mean "book_table"?' in text
    assert "The tools are: book_table." in text
    assert (
        "The tools are: none." in json.loads((await Toolbox().run(call("x", {}), SOMEWHERE)).content)["error"]
    )


@table_test(
    "fault",
    [NoteMissing("There is no note trips/oslo.md."), StateUnusable("The disk is full: free some space.")],
)
async def test_a_fault_of_memory_or_state_goes_back_in_its_own_words(fault: Exception) -> None:
    @tool
    async def read() -> dict[str, Any]:
        raise fault

    assert await error({}, "read", read=read) == str(fault)


async def test_a_bug_in_a_tool_is_logged_and_told_without_its_inside(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    async def broken() -> dict[str, Any]:
        raise KeyError("secret inside")

    assert await error({}, "broken", broken=broken) == tools.TOOL_FAILED
    assert "secret inside" in caplog.text
    assert "Traceback" in caplog.text


@table_test("result", [{"x": {1, 2}}, {"x": float("nan")}, {"x": object()}])
async def test_a_result_that_is_no_json_is_a_bug_too(result: dict[str, Any]) -> None:
    @tool
    async def odd() -> dict[str, Any]:
        return result

    assert await error({}, "odd", odd=odd) == tools.TOOL_FAILED


async def test_a_cancelled_tool_is_cancelled() -> None:
    @tool
    async def slow() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    task = asyncio.create_task(run({}, "slow", slow=slow))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def bounded(result: dict[str, Any]) -> dict[str, Any]:
    @tool
    async def long() -> dict[str, Any]:
        return result

    content = (await run({}, "long", long=long)).content
    assert len(content) <= tools.RESULT_CHARS
    told: dict[str, Any] = json.loads(content)
    return told


async def test_a_long_list_loses_its_last_items_and_says_so() -> None:
    told = await bounded({"results": [{"n": n, "text": "x" * 100} for n in range(1000)], "query": "q"})
    shown = told["results"]
    assert 200 < len(shown) < 300
    assert shown == [{"n": n, "text": "x" * 100} for n in range(len(shown))]
    assert told["query"] == "q"
    assert told["note"] == f"The result is too long: only the first {len(shown)} of 1000 are shown."


@table_test(
    "result",
    [{"text": "x" * 50_000}, {"text": '"\\\n' * 50_000}, {"results": ["x" * 50_000]}, {"x": "\x00" * 30_001}],
)
async def test_any_other_long_result_keeps_its_beginning_and_says_so(result: dict[str, Any]) -> None:
    told = await bounded(result)
    assert told["note"] == tools.TOO_LONG
    assert json.dumps(result, ensure_ascii=False).startswith(told["beginning"])
    assert len(told["beginning"]) > 3_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.one_of(json_values.map(json.dumps), st.text()))
def test_whatever_a_model_writes_as_arguments_gets_a_result(arguments: str) -> None:
    result = asyncio.run(run(arguments))
    assert isinstance(json.loads(result.content), dict)
    result.content.encode()
