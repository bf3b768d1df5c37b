"""JSON-RPC 2.0: what a program sent, call by call, and what it is answered. Knows neither HTTP nor the methods."""

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
"""Ours: it was understood, and cannot be done now."""
NOT_FOUND: Final = -32001
"""Ours: there is no such note."""

MAX_CALLS = 50
"""In one batch."""
MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Characters of all that is answered to one request."""

REQUEST_FORM_TEXT = (
    'a request is an object with "jsonrpc": "2.0", "method", and "params" and "id" where there are any'
)
BATCH_SIZE_TEXT = f"a batch holds 1 to {MAX_CALLS} requests"
TOO_LONG_TEXT = "The answer is too long: ask for less, such as fewer lines of a note or fewer calls at once."
INTERNAL_ERROR_TEXT = "Internal error: the fault is not in your call; the log of the service tells more."

Params = Mapping[str, Any] | list[Any]
Run = Callable[[str, Params], Awaitable[object]]
"""Carry out one method; gives what JSON can hold, or raises Refused."""


class RpcError(Exception):
    """An error that the caller is told: its code, and a sentence."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


async def answer_request(body: bytes, run: Run) -> str | None:
    """Carry out one request or a batch, in order, and give the JSON to answer; None where nothing is to be.

    A batch's calls may rely on those before them. Of two members with one name the last counts, as nearly everywhere.
    """
    try:
        # Stricter than `json`: no NaN, no half characters, nothing nested beyond 200 levels, no endless numbers.
        said = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        return encode_error(PARSE_ERROR, f"Parse error: {error}")
    if not isinstance(said, list):
        return await _answer_call(said, run, MAX_ANSWER_BYTES)
    if not 1 <= len(said) <= MAX_CALLS:
        return encode_error(INVALID_REQUEST, f"Invalid request: {BATCH_SIZE_TEXT}.")
    answers: list[str] = []
    room = MAX_ANSWER_BYTES
    for each in said:
        if (told := await _answer_call(each, run, room)) is not None:
            answers.append(told)
            room -= len(told)
    return f"[{','.join(answers)}]" if answers else None


def encode_error(code: int, message: str) -> str:
    """The JSON to answer where there is no call that it could belong to."""
    return _encode_response(None, {"error": {"code": code, "message": message}})


async def _answer_call(said: object, run: Run, room: int) -> str | None:
    """`room`: how many characters a result may have."""
    given = said.get("id") if isinstance(said, dict) else None
    call_id = given if _is_id(given) else None
    try:
        method, params, is_answered = _parse_call(said)
    except RpcError as fault:
        return _encode_response(call_id, _error_of(fault))
    try:
        told = _encode_response(call_id, {"result": await run(method, params)})
        if len(told) > room:
            raise RpcError(SERVER_ERROR, TOO_LONG_TEXT)
    except RpcError as fault:
        told = _encode_response(call_id, _error_of(fault))
    except Exception:
        log.exception("a method of JSON-RPC broke")
        told = _encode_response(call_id, _error_of(RpcError(INTERNAL_ERROR, INTERNAL_ERROR_TEXT)))
    return told if is_answered else None


def _parse_call(said: object) -> tuple[str, Params, bool]:
    """Method, parameters, and whether an answer is wanted. Raises Refused where it is no request."""
    if not isinstance(said, dict) or said.get("jsonrpc") != "2.0" or not isinstance(said.get("method"), str):
        raise RpcError(INVALID_REQUEST, f"Invalid request: {REQUEST_FORM_TEXT}.")
    params = said.get("params")
    if not isinstance(params, dict | list | None):
        raise RpcError(INVALID_REQUEST, 'Invalid request: "params" is an object.')
    if "id" in said and not _is_id(said["id"]):
        raise RpcError(INVALID_REQUEST, 'Invalid request: "id" is a string, a number or null.')
    return said["method"], params or {}, "id" in said


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
    # Names of files may hold bytes that are no characters: they are told as escapes, which any program can read.
    return escape_json_controls(json.dumps(document, ensure_ascii=False, allow_nan=False))
