"""Models that do what the messages say: a script for the tests' servers, each in its own protocol.

A message such as `T00012 write` causes a fact with its token to be noted, `T00013 three` takes three steps,
and so on. The next step is derived from the request alone, so a turn that continues after a crash gets the
same answers.
"""

import asyncio
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from model_servers import KEY

if TYPE_CHECKING:
    from aiohttp import web

    from tests.fakes.model_server import ModelAnswer, ModelServer, ReceivedRequest, Reply

MODELS = {
    "openai": "openai/gpt-test",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-3.8-flash",
}
"""By protocol, which is also the provider's name in the settings."""

WISH = re.compile(r"^(T\d{5}) (say|slow|long|write|both|edit|remind|three)(?: (\S+))?", re.MULTILINE)
"""Only at the beginning of a line: where a summary quotes a wish, it is already done."""
PIECES = 6
PIECE_SECONDS = 0.03
REPEATED_PRESS_SECONDS = 0.2
TRIES = 60
INTERRUPTED = "Interrupted before it reported back"

Call = tuple[str, Mapping[str, Any]]
"""Name and arguments."""

Wish = tuple[str, str, str]
"""Token, kind and argument."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One entry of a conversation, in any protocol."""

    role: Literal["user", "assistant", "result"]
    text: str
    calls: tuple[Call, ...] = ()


@dataclass(slots=True)
class ServerLog:
    """What the servers have seen; all of them share one."""

    requests: int = 0
    refused: list[str] = field(default_factory=list)
    """What the strictest server of each protocol would reject, with the protocol."""
    failed: dict[str, int] = field(default_factory=dict)
    """Errors returned by tools, with their number."""
    given_up: list[str] = field(default_factory=list)
    """Calls that failed repeatedly."""
    notes_asked: int = 0
    """Requests without tools: flushes and summaries."""
    latest: Mapping[str, Any] = field(default_factory=dict)
    """Body of the latest request."""


def parcel_fact(name: str) -> str:
    """Return the fact that a message notes."""
    return f"Parcel {name} is on the shelf."


def item_line(number: int, state: str) -> str:
    """Return a line of items.md without its list mark."""
    return f"Item {number:03} is {state}."


def plan_steps(token: str, kind: str, argument: str) -> list[tuple[Call, ...]]:
    """Return the calls that a message wants, step by step."""
    match kind:
        case "write":
            return [(_write(token),)]
        case "both":
            return [(_write(f"{token}a"), _write(f"{token}b", "core"))]
        case "edit":
            new = {"old": item_line(int(argument), "new"), "new": item_line(int(argument), token)}
            return [(("memory_edit", {"path": "items.md", **new}),)]
        case "remind":
            return [(("remind", {"when": argument, "text": f"look after {token}"}),)]
        case "three":
            searches = [("memory_search", {"query": f"parcel {token} {n}"}) for n in ("first", "second")]
            return [(searches[0],), (_write(token),), (searches[1],)]
    return []


def _write(name: str, target: str = "daily") -> Call:
    return "memory_write", {"content": parcel_fact(name), "target": target}


def scripted_servers() -> dict[str, "ModelServer"]:
    """Return a server of each protocol, by its name."""
    from tests.fakes.anthropic_server import AnthropicServer
    from tests.fakes.gemini_server import GeminiServer
    from tests.fakes.openai_server import OpenAIServer

    told = ServerLog()
    servers: dict[str, ModelServer] = {
        "openai": OpenAIServer(key=KEY),
        "anthropic": AnthropicServer(key=KEY),
        "gemini": GeminiServer(key=KEY),
    }
    for kind, server in servers.items():
        server.always(scripted_reply(kind, server, told))
    return servers


def read_server_log(base_url: str) -> ServerLog:
    """Get the log from the OpenAI-compatible server."""
    import httpx

    answer = httpx.post(f"{base_url}/chat/completions", json={"told": True}, timeout=30)
    return ServerLog(**answer.raise_for_status().json())


def wishes_in(text: str) -> list[Wish]:
    """Return what a message wants done."""
    return WISH.findall(text)


def scripted_reply(
    kind: str,
    server: "ModelServer",
    told: ServerLog,
    *,
    wishes: Callable[[str], Sequence[Wish]] = wishes_in,
    nothing: float = 0.3,
) -> "Reply":
    """Return the reply of a server of this kind; `wishes` parses what a message wants.

    `nothing`: share of flushed conversations that contain nothing worth noting.
    """
    from aiohttp import web

    chance = random.Random(kind)

    async def reply(request: "web.Request", asked: "ReceivedRequest") -> "web.StreamResponse":
        server.requests.clear()
        if "told" in asked.body:
            return web.json_response(asdict(told))
        told.requests += 1
        told.latest = asked.body
        if objection := server.objection(asked):
            told.refused.append(f"{kind}: {objection.text}")
            return objection
        heard = list(READERS[kind](asked.body))
        if not asked.body.get("tools"):
            told.notes_asked += 1
            says = _notes(told.notes_asked, chance, nothing)
        else:
            says = await _next_step(heard, told, wishes)
        return await server.stream(request, asked, says)

    return reply


def _notes(number: int, chance: random.Random, nothing: float) -> "ModelAnswer":
    """Return a flush or a summary; what a flush keeps is distinguishable from every other."""
    from tests.fakes.model_server import ModelAnswer

    text = "NOTHING" if chance.random() < nothing else f"- Kept under F{number:05} for later."
    return ModelAnswer(text, delay=chance.choice((0.0, 0.03)))


async def _next_step(
    heard: Sequence[HistoryEntry], told: ServerLog, wishes_in: Callable[[str], Sequence[Wish]]
) -> "ModelAnswer":
    """Return the first undone step since the latest answer, or the answer."""
    from tests.fakes.model_server import ModelAnswer

    ends = (
        at for at in range(len(heard), 0, -1) if heard[at - 1].role == "assistant" and not heard[at - 1].calls
    )
    turn = heard[next(ends, 0) :]
    wishes = [wish for each in turn if each.role == "user" for wish in wishes_in(each.text)]
    done, failures = _finished_calls(turn, told)
    for token, kind, argument in wishes:
        for step in plan_steps(token, kind, argument):
            left = [call for call in step if _call_identity(call) not in done]
            if not left:
                continue
            tries = max(failures.get(_call_identity(call), 0) for call in left)
            if tries >= TRIES:
                told.given_up.append(f"{token} {kind}")
                continue
            if tries:
                await asyncio.sleep(REPEATED_PRESS_SECONDS)
            return ModelAnswer(f"Doing {token}." if kind == "three" else "", calls=left)
    kinds = {kind for _, kind, _ in wishes}
    text = " ".join(f"{token} is done." for token, _, _ in wishes) or "Nothing was asked."
    if "long" in kinds:
        text += " " + "A long answer goes on and on. " * 20
    if "slow" in kinds:
        size = -(-len(text) // PIECES)
        return ModelAnswer([text[at : at + size] for at in range(0, len(text), size)], delay=PIECE_SECONDS)
    return ModelAnswer(text.strip())


def _finished_calls(turn: Sequence[HistoryEntry], told: ServerLog) -> tuple[set[str], dict[str, int]]:
    """Return the calls that are done, and how often the others failed."""
    done: set[str] = set()
    failures: dict[str, int] = {}
    waiting: list[Call] = []
    for each in turn:
        if each.role == "assistant":
            waiting = list(each.calls)
        elif each.role == "result" and waiting:
            name = _call_identity(waiting.pop(0))
            if '"error"' not in each.text:
                done.add(name)
                continue
            reason = re.sub(r"T\d+|\d+", "…", each.text)[:100]
            told.failed[reason] = told.failed.get(reason, 0) + 1
            if INTERRUPTED in each.text:
                done.add(name)
            failures[name] = failures.get(name, 0) + 1
    return done, failures


def _call_identity(call: Call) -> str:
    return f"{call[0]} {json.dumps(call[1], sort_keys=True)}"


# -- conversations in each protocol --------------------------------------------------------------------------


def _openai(body: Mapping[str, Any]) -> Iterator[HistoryEntry]:
    for message in body["messages"]:
        match message["role"]:
            case "user":
                yield HistoryEntry("user", _visible_text(message["content"]))
            case "tool":
                yield HistoryEntry("result", message["content"])
            case "assistant":
                functions = [call["function"] for call in message.get("tool_calls") or ()]
                calls = tuple((each["name"], json.loads(each["arguments"])) for each in functions)
                yield HistoryEntry("assistant", message["content"] or "", calls)


def _visible_text(content: Any) -> str:
    """Return a message's text without its images."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _anthropic(body: Mapping[str, Any]) -> Iterator[HistoryEntry]:
    for turn in body["messages"]:
        blocks = turn["content"]
        text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        if turn["role"] == "assistant":
            calls = tuple((block["name"], block["input"]) for block in blocks if block["type"] == "tool_use")
            yield HistoryEntry("assistant", text, calls)
            continue
        for block in blocks:
            if block["type"] == "tool_result":
                yield HistoryEntry("result", _texts(block["content"]))
        if text:
            yield HistoryEntry("user", text)


def _texts(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


def _gemini(body: Mapping[str, Any]) -> Iterator[HistoryEntry]:
    for content in body["contents"]:
        parts = content["parts"]
        text = "\n".join(part["text"] for part in parts if part.get("text") and not part.get("thought"))
        if content["role"] == "model":
            functions = [part["functionCall"] for part in parts if "functionCall" in part]
            yield HistoryEntry("assistant", text, tuple((each["name"], each["args"]) for each in functions))
            continue
        for part in parts:
            if "functionResponse" in part:
                yield HistoryEntry(
                    "result", json.dumps(part["functionResponse"]["response"], ensure_ascii=False)
                )
        if text:
            yield HistoryEntry("user", text)


READERS = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini}
