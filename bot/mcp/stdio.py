"""MCP over standard input and output: one JSON message on each line.

The library's own transport reads lines of any length, in a thread that nothing can interrupt, and ignores lines that
are not messages.
"""

import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from bot.daemon_thread import run_in_daemon

MAX_LINE_BYTES: Final = 1024 * 1024
"""Longest message that is read, as over HTTP."""
READ_BYTES: Final = 64 * 1024
ANSWER_SECONDS: Final = 10.0
"""Time for requests that are still being answered when the input ends; after that, the answer is an error."""
WRITE_SECONDS: Final = 1.0
"""Time for the last answers to be written when the session has ended."""
STREAM_METHOD: Final = "subscriptions/listen"
"""A request that is only answered when its stream ends."""

NO_JSON = "Parse error: each line must be one JSON message in UTF-8."
NO_MESSAGE = "Invalid request: this is not a JSON-RPC 2.0 message."
TOO_LONG = f"Invalid request: a message may have at most {MAX_LINE_BYTES:,} bytes."

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class LineTooLong(Exception):
    """The line has more than `MAX_LINE_BYTES`; it was skipped."""


class LineReader:
    """Reads the lines of a descriptor; blocks."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._unread = bytearray()

    def read_line(self) -> bytes | None:
        """Return the next line without its end; None at the end of input. Raises `LineTooLong`."""
        searched, is_too_long = 0, False
        while (end := self._unread.find(b"\n", searched)) < 0:
            if len(self._unread) > MAX_LINE_BYTES:
                is_too_long = True
                self._unread.clear()
            searched = len(self._unread)
            if not (more := os.read(self._fd, READ_BYTES)):
                return None
            self._unread += more
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        if is_too_long or len(line) > MAX_LINE_BYTES:
            raise LineTooLong
        return line


class OpenRequests:
    """The requests that were read and have no answer yet."""

    def __init__(self) -> None:
        self._ids = Counter[RequestId]()
        self._all_answered = anyio.Event()
        self._is_read = True

    def note_received(self, message: JSONRPCMessage) -> None:
        """Add a request, or remove one that the program no longer wants answered."""
        if isinstance(message, JSONRPCRequest) and message.method != STREAM_METHOD:
            self._ids[coerce_request_id(message.id)] += 1
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._remove(cancelled_request_id_from_params(message.params))

    def note_sent(self, message: JSONRPCMessage) -> None:
        """Remove the request that a message answers."""
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._remove(message.id)

    def give_up(self) -> None:
        """Have nobody wait for answers, since nobody reads them."""
        self._is_read = False
        self._all_answered.set()

    async def wait_until_answered(self) -> None:
        """Wait until there are none, or nobody reads the answers."""
        while self._ids and self._is_read:
            self._all_answered = anyio.Event()
            await self._all_answered.wait()

    def _remove(self, request: RequestId | None) -> None:
        if request is None:
            return
        self._ids -= Counter([coerce_request_id(request)])
        if not self._ids:
            self._all_answered.set()


@asynccontextmanager
async def open_stdio(read_fd: int, write_fd: int) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Yield the two streams of a session over descriptors.

    The first one ends with the input, but only once all requests were answered, or after `ANSWER_SECONDS`: the session
    cancels what it is still answering as soon as the stream ends, and scripts close their end with the last request.
    """
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_client = anyio.create_memory_object_stream[SessionMessage](0)
    requests = OpenRequests()
    async with incoming, outgoing, anyio.create_task_group() as group:
        group.start_soon(_receive, LineReader(read_fd), to_server, outgoing.clone(), requests)
        group.start_soon(_send, write_fd, to_client, requests)
        yield incoming, outgoing
        await outgoing.aclose()
        group.cancel_scope.deadline = anyio.current_time() + WRITE_SECONDS


async def _receive(
    lines: LineReader,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    answers: Outgoing,
    requests: OpenRequests,
) -> None:
    async with to_server, answers:
        while True:
            try:
                if (line := await run_in_daemon(lines.read_line, name="stdin")) is None:
                    with anyio.move_on_after(ANSWER_SECONDS):
                        await requests.wait_until_answered()
                    return
                if not line.strip():
                    continue
                parsed = parse_line(line)
                if isinstance(parsed, Refused):
                    await answers.send(SessionMessage(parsed.answer))
                else:
                    requests.note_received(parsed)
                    await to_server.send(SessionMessage(parsed))
            except LineTooLong:
                await answers.send(SessionMessage(_error(None, INVALID_REQUEST, TOO_LONG)))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):  # the session has ended
                return


async def _send(
    write_fd: int, to_client: MemoryObjectReceiveStream[SessionMessage], requests: OpenRequests
) -> None:
    async with to_client:
        async for message in to_client:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await run_in_daemon(partial(_write_all, write_fd, text.encode() + b"\n"), name="stdout")
            except OSError:  # nobody reads any more; the end of the input follows
                requests.give_up()
                return
            requests.note_sent(message.message)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer to a line that is not a message."""

    answer: JSONRPCError


def parse_line(line: bytes) -> JSONRPCMessage | Refused:
    """Return the message in a line, or the answer to a line that is not a message."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] == "json_invalid":
            return Refused(_error(None, PARSE_ERROR, NO_JSON))
        return Refused(_error(_find_id(line), INVALID_REQUEST, NO_MESSAGE))


def _find_id(line: bytes) -> RequestId | None:
    """Return the id of something that is nearly a request, so that the answer reaches its sender."""
    document = from_json(line)
    given = document.get("id") if isinstance(document, dict) else None
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


def _error(request: RequestId | None, code: int, text: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=text))
