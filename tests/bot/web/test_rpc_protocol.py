import json
from collections.abc import Mapping
from typing import Any

import pytest

from bot.web.rpc import protocol
from bot.web.rpc.protocol import (
    INTERNAL_ERROR,
    INTERNAL_ERROR_TEXT,
    INVALID_REQUEST,
    MAX_CALLS,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    SERVER_ERROR,
    Params,
    RpcError,
    answer_request,
)

IDS = ("one", "", "ü", 1, 0, -3, 2.5, 10**30, None)


class Methods:
    """What can be called here, and what was."""

    def __init__(self) -> None:
        self.called: list[Params] = []

    async def __call__(self, method: str, params: Params) -> object:
        match method:
            case "echo":
                self.called.append(params)
                return params
            case "broken":
                raise ZeroDivisionError("a secret")
            case "unheard":
                return {"number": float("nan")}
            case "strange":
                return {"path": "caf\udce9.md", "text": "\x9b2J"}
        raise RpcError(METHOD_NOT_FOUND, "Method not found.")


@pytest.fixture
def methods() -> Methods:
    return Methods()


@pytest.fixture
def send(methods: Methods) -> "Send":
    return Send(methods)


class Send:
    """Sends documents, or bodies as they are; gives what is answered."""

    def __init__(self, methods: Methods) -> None:
        self._methods = methods

    async def __call__(self, document: object) -> Any:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        text = await answer_request(body, self._methods)
        return None if text is None else json.loads(text.encode(), parse_constant=pytest.fail)


def request(method: str = "echo", **members: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": {"a": 1}, **members}


def code_of(answered: Mapping[str, Any]) -> int | None:
    """None where it is no error."""
    assert answered["jsonrpc"] == "2.0"
    assert set(answered) - {"jsonrpc", "id"} in ({"result"}, {"error"})
    code: int | None = answered.get("error", {}).get("code")
    return code


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b" ", b"{", b"nonsense", b"{} {}", b"[1,]", b"{'a': 1}", b"\xff\xfe{}", b"\xef\xbb\xbf{}"),
        *(b'"\xff"', b'{"a": "\\ud800"}', b'{"a": NaN}', b"[Infinity]", b"[" * 100_000, b'{"a":' * 100_000),
        *(b"[" * 300 + b"]" * 300, b"[" + b"9" * 5000 + b"]", '{"jsonrpc": "2.0"}'.encode("utf-16")),
    ],
    ids=lambda body: repr(body[:12]),
)
async def test_what_is_no_json_is_a_parse_error(send: Send, body: bytes) -> None:
    answered = await send(body)
    assert (code_of(answered), answered["id"]) == (PARSE_ERROR, None)


NO_OBJECTS: list[object] = [1, "a", None, True, {}, {"id": []}, {"id": {}}, {"id": True}]
NO_REQUESTS: list[tuple[object, object]] = [
    *[(document, None) for document in NO_OBJECTS],
    ({"jsonrpc": "2.0", "method": 1, "params": "bar"}, None),
    ({"jsonrpc": "2.0", "id": 3}, 3),
    ({"method": "echo", "id": "a"}, "a"),
    ({"jsonrpc": 2.0, "method": "echo", "id": 1}, 1),
    ({"jsonrpc": "1.0", "method": "echo", "id": 1}, 1),
    ({"jsonrpc": "2.0", "method": "echo", "params": "x", "id": 1}, 1),
    ({"jsonrpc": "2.0", "method": "echo", "params": 0, "id": 1}, 1),
    ({"jsonrpc": "2.0", "method": "echo", "params": False, "id": 1}, 1),
    ({"jsonrpc": "2.0", "method": "echo", "id": False}, None),
    ({"jsonrpc": "2.0", "method": "echo", "id": [1]}, None),
    (b'{"jsonrpc": "2.0", "method": "echo", "id": 1e999}', None),
]


@pytest.mark.parametrize(("document", "call_id"), NO_REQUESTS)
async def test_what_is_no_request_is_an_invalid_one(
    send: Send, methods: Methods, document: object, call_id: object
) -> None:
    answered = await send(document)
    assert (code_of(answered), answered["id"]) == (INVALID_REQUEST, call_id)
    assert methods.called == []


@pytest.mark.parametrize("call_id", IDS)
async def test_an_answer_bears_the_id_of_its_request(send: Send, call_id: object) -> None:
    answered = await send(request(id=call_id))
    assert answered == {"jsonrpc": "2.0", "id": call_id, "result": {"a": 1}}
    assert type(answered["id"]) is type(call_id)


@pytest.mark.parametrize("members", [{"params": {}}, {"params": []}, {"params": None}, {}, {"more": [1]}])
async def test_parameters_need_not_be_given(send: Send, methods: Methods, members: dict[str, object]) -> None:
    answered = await send({"jsonrpc": "2.0", "method": "echo", "id": 1, **members})
    assert (answered["result"], methods.called) == ({}, [{}])


async def test_of_two_members_with_one_name_the_last_counts(send: Send) -> None:
    answered = await send(b'{"jsonrpc": "2.0", "method": "x", "method": "echo", "id": 1, "id": 2}')
    assert (answered["id"], code_of(answered)) == (2, None)


@pytest.mark.parametrize("method", ["broken", "unheard"])
async def test_a_broken_method_is_logged_and_told_without_its_reason(
    send: Send, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    answered = await send(request(method, id=7))
    assert answered["error"] == {"code": INTERNAL_ERROR, "message": INTERNAL_ERROR_TEXT}
    assert [record.levelname for record in caplog.records if record.exc_info] == ["ERROR"]


async def test_names_of_files_that_are_no_text_come_as_escapes(send: Send) -> None:
    body = json.dumps(request("strange", id=1)).encode()
    text = await answer_request(body, Methods())
    assert text is not None
    assert r"caf\udce9.md" in text
    assert "\x9b" not in text
    text.encode()


# -- batches and notifications ---------------------------------------------------------------------------------


async def test_the_calls_of_a_batch_are_done_in_order(send: Send, methods: Methods) -> None:
    batch = [request(id=f"n{number}", params={"a": number}) for number in range(5)]
    assert [each["id"] for each in await send(batch)] == ["n0", "n1", "n2", "n3", "n4"]
    assert methods.called == [{"a": number} for number in range(5)]


async def test_one_bad_call_spoils_no_other(send: Send) -> None:
    batch = [
        *(1, request(id=1), {"foo": "boo"}, request("no.such", id=2), request("no.such"), []),
        *(request("broken", id=3), request(id=4)),
    ]
    assert [(each["id"], code_of(each)) for each in await send(batch)] == [
        (None, INVALID_REQUEST),
        (1, None),
        (None, INVALID_REQUEST),
        (2, METHOD_NOT_FOUND),
        (None, INVALID_REQUEST),
        (3, INTERNAL_ERROR),
        (4, None),
    ]


async def test_notifications_are_carried_out_and_not_answered(send: Send, methods: Methods) -> None:
    assert await send(request()) is None
    assert await send([request(), request()]) is None
    assert methods.called == [{"a": 1}] * 3


@pytest.mark.parametrize("method", ["no.such", "broken"])
async def test_a_notification_that_cannot_be_carried_out_is_not_answered_either(
    send: Send, method: str
) -> None:
    assert await send(request(method)) is None
    assert await send([request(method)]) is None


@pytest.mark.parametrize("count", [0, MAX_CALLS + 1])
async def test_a_batch_of_none_or_too_many_is_one_error(send: Send, methods: Methods, count: int) -> None:
    answered = await send([request(id=1)] * count)
    assert (code_of(answered), answered["id"]) == (INVALID_REQUEST, None)
    assert str(MAX_CALLS) in answered["error"]["message"]
    assert methods.called == []


async def test_as_many_as_may_be_are_answered(send: Send) -> None:
    answers = await send([request(id=number) for number in range(MAX_CALLS)])
    assert [each["id"] for each in answers] == list(range(MAX_CALLS))


async def test_what_is_answered_in_all_is_bounded(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_ANSWER_BYTES", 10_000)
    long = {"text": "x" * 7000}
    answers = await send([request(id=number, params=long) for number in range(4)] + [request(id=4)])
    assert [code_of(each) for each in answers] == [None, SERVER_ERROR, SERVER_ERROR, SERVER_ERROR, None]
    assert code_of(await send(request(id=1, params={"text": "x" * 10_000}))) == SERVER_ERROR
