"""JSON-RPC 2.0 requests, batches and responses, independent of HTTP and of the methods."""

import json
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from pydantic_core import from_json

from bot.sanitize import escape_json_controls

log = logging.getLogger(__name__)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SERVER_ERROR: Final = -32000
"""Our own code: the call is valid, but cannot be done now."""
NOT_FOUND: Final = -32001
"""Our own code: there is no such note, or no such change."""

MAX_CALLS = 50
"""Calls in one batch."""
MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Limit for the whole response to one request, in characters."""

REQUEST_FORM_TEXT = 'a request is an object with "jsonrpc": "2.0", "method", and optionally "params" and "id"'
BATCH_SIZE_TEXT = f"a batch holds 1 to {MAX_CALLS} requests"
TOO_LONG_TEXT = (
    "The response is too long. Ask for less, such as fewer lines of a note or fewer calls at once."
)
INTERNAL_ERROR_TEXT = "Internal error: your call is fine; see the log of the service."

Params = Mapping[str, Any] | list[Any]
Run = Callable[[str, Params], Awaitable[object]]
"""Runs a method; returns a value that JSON can hold, or raises RpcError."""


class RpcError(Exception):
    """An error for the caller: a code and a sentence."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


async def answer_request(body: bytes, run: Run) -> str | None:
    """Run one request or a batch, in order, and return the JSON response; None if there is none.

    Calls in a batch may rely on those before them. If an object has a key twice, the last one counts.
    """
    try:
        # Stricter than `json`: no NaN, no lone surrogates, at most 200 levels, no huge numbers.
        document = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        return encode_error(PARSE_ERROR, f"Parse error: {error}")
    if not isinstance(document, list):
        return await _answer_call(document, run, MAX_ANSWER_BYTES)
    if not 1 <= len(document) <= MAX_CALLS:
        return encode_error(INVALID_REQUEST, f"Invalid request: {BATCH_SIZE_TEXT}.")
    answers: list[str] = []
    room = MAX_ANSWER_BYTES
    for each in document:
        if (response := await _answer_call(each, run, room)) is not None:
            answers.append(response)
            room -= len(response)
    return f"[{','.join(answers)}]" if answers else None


def encode_error(code: int, message: str) -> str:
    """Return the JSON response for an error without a call."""
    return _encode_response(None, {"error": {"code": code, "message": message}})


async def _answer_call(document: object, run: Run, room: int) -> str | None:
    """Run one call. `room`: maximum length of the response."""
    given = document.get("id") if isinstance(document, dict) else None
    call_id = given if _is_id(given) else None
    try:
        method, params, is_answered = _parse_call(document)
    except RpcError as fault:
        return _encode_response(call_id, _error_of(fault))
    try:
        response = _encode_response(call_id, {"result": await run(method, params)})
        if len(response) > room:
            raise RpcError(SERVER_ERROR, TOO_LONG_TEXT)
    except RpcError as fault:
        response = _encode_response(call_id, _error_of(fault))
    except Exception:
        log.exception("a JSON-RPC method failed")
        response = _encode_response(call_id, _error_of(RpcError(INTERNAL_ERROR, INTERNAL_ERROR_TEXT)))
    return response if is_answered else None


def _parse_call(document: object) -> tuple[str, Params, bool]:
    """Return method, parameters, and whether a response is wanted. Raises RpcError for an invalid request."""
    if (
        not isinstance(document, dict)
        or document.get("jsonrpc") != "2.0"
        or not isinstance(document.get("method"), str)
    ):
        raise RpcError(INVALID_REQUEST, f"Invalid request: {REQUEST_FORM_TEXT}.")
    params = document.get("params")
    if not isinstance(params, dict | list | None):
        raise RpcError(INVALID_REQUEST, 'Invalid request: "params" must be an object.')
    if "id" in document and not _is_id(document["id"]):
        raise RpcError(INVALID_REQUEST, 'Invalid request: "id" must be a string, a number or null.')
    return document["method"], params or {}, "id" in document


def _is_id(value: object) -> bool:
    match value:
        case bool():
            return False
        case float():
            return math.isfinite(value)  # 1e999 is JSON, and infinite
        case _:
            return isinstance(value, str | int | None)


def _error_of(fault: RpcError) -> dict[str, object]:
    return {"error": {"code": fault.code, "message": str(fault)}}


def _encode_response(call_id: object, outcome: Mapping[str, object]) -> str:
    document = {"jsonrpc": "2.0", "id": call_id, **outcome}
    # File names may hold bytes that are not text; escapes keep the JSON valid.
    return escape_json_controls(json.dumps(document, ensure_ascii=False, allow_nan=False))
