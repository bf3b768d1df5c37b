import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from bot.imports import json_bytes, json_items
from bot.imports.errors import ImportFault
from bot.imports.json_bytes import JsonBytes
from bot.imports.json_items import JsonItem, read_items


class OneByteAtATime(io.BytesIO):
    """A pipe that delivers as little as it may."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(1)


def keep(key: str, part: Any) -> tuple[Any, int] | None:
    return (part, len(str(part))) if part is not None else None


def items_of(data: bytes, *, file: type[io.BytesIO] = io.BytesIO) -> Iterator[JsonItem]:
    yield from read_items(JsonBytes(file(data), name="it.json"), name="it.json", large={"parts": keep})


def test_items_come_with_their_values_and_the_parts_of_the_large_one() -> None:
    data = (
        b'[{"a": [1, {"b": null}], "parts": {"x": {"y": 1}, "z": null}}, 7, {"parts": ["u", "v"], "a": "b"}]'
    )
    first, second = items_of(data)
    assert first.fields == {"a": [1, {"b": None}]}
    assert first.parts == {"parts": {"x": {"y": 1}}}
    assert second.fields == {"a": "b"}
    assert second.parts == {"parts": {"0": "u", "1": "v"}}


def test_a_single_object_is_an_item() -> None:
    assert [item.fields for item in items_of(b'{"a": 1}')] == [{"a": 1}]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"]
)
def test_every_encoding_is_read(encoding: str) -> None:
    data = json.dumps([{"a": "Grüße, 世界 🌍"}], ensure_ascii=False).encode(encoding)
    assert [item.fields for item in items_of(data)] == [{"a": "Grüße, 世界 🌍"}]


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert [item.fields for item in items_of(b'[{"a": "caf\xe9"}]')] == [{"a": "caf\ufffd"}]


@pytest.mark.parametrize("file", [io.BytesIO, OneByteAtATime])
def test_lone_surrogates_are_replaced_and_pairs_stay(file: type[io.BytesIO]) -> None:
    written = rb'["\ud800", "\udc00x", "\ud83d\ude00", "\\ud800", "\\\udc00", "\ud83d\\", "\u0000"]'
    (item,) = items_of(b'[{"a": ' + written + b"}]", file=file)
    lost = "\ufffd"
    assert item.fields["a"] == [lost, f"{lost}x", "😀", r"\ud800", f"\\{lost}", f"{lost}\\", "\0"]


@pytest.mark.parametrize("length", [*range(262_120, 262_160, 1)])
def test_an_escape_is_never_cut_in_two(length: int) -> None:
    data = b'[{"a": "' + b"." * length + rb"\ud83d\ude00\\\"\udc00" + b'"}]'
    (item,) = items_of(data)
    assert item.fields["a"] == "." * length + '😀\\"\ufffd'


def test_numbers_of_any_size_are_read() -> None:
    (item,) = items_of(b'[{"a": [123456789012345678901234567890, 1e400, -0.5]}]')
    assert item.fields["a"][0] == 123456789012345678901234567890


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'[{"a": 1}, {"a": ', "ends in the middle"),
        (b'[{"a": 1}, {"a": "x', "ends in the middle"),
        (b'[{"a": 1}, {"a": NaN}]', "not valid JSON"),
        (b'[{"a": 1}, }]', "not valid JSON"),
        (b'[{"a": 1}] [', "not valid JSON"),
    ],
)
def test_what_is_before_a_break_is_read(data: bytes, says: str) -> None:
    found = items_of(data)
    assert next(found).fields == {"a": 1}
    with pytest.raises(ImportFault, match=says):
        list(found)


def test_something_else_is_not_valid_json() -> None:
    for data in (b"", b"hello", b"PK\x03\x04", b"\x00\x00"):
        with pytest.raises(ImportFault):
            list(items_of(data))


def test_a_hundred_thousand_nested_lists_are_too_complex() -> None:
    deep = b"[" * 150_000 + b"]" * 150_000
    first, second = items_of(
        b'[{"a": ' + deep + b', "b": 1, "parts": {"p": ' + deep + b', "q": 2}}, {"a": 3}]'
    )
    assert "complex" in first.problem
    assert first.parts == {"parts": {"q": 2}}
    assert second.fields == {"a": 3}


def test_too_many_parts_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_items, "MAX_PARTS", 3)
    first, second = items_of(b'[{"parts": {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}}, {"parts": [1, 2, 3]}]')
    assert first.problem == "it has more than 3 messages"
    assert first.parts == {"parts": {}}
    assert second.parts == {"parts": {"0": 1, "1": 2, "2": 3}}


def test_an_endless_text_ends_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_bytes, "MAX_TEXT_BYTES", 1 << 20)
    endless = b'[{"a": 1}, {"a": "' + b"x" * 2_000_000
    found = items_of(endless)
    assert next(found).fields == {"a": 1}
    with pytest.raises(ImportFault, match="a text of more than 1 MiB"):
        list(found)
