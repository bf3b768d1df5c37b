"""The methods of JSON-RPC: what each takes, and does. Parameters are described once, as those of the tools."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from secrets import token_hex
from typing import Annotated, Any

from pydantic import Field

from bot.log.context import log_context
from bot.memory_json import encode_note, encode_search, encode_status, encode_write
from bot.models.status import ModelStatus, models_status
from bot.note_writes import OnceWriter
from bot.services import Services
from bot.state.chat_list import read_latest_conversations
from bot.state.database import StateFault
from bot.tools.memory import memory_tools
from bot.tools.toolbox import BadCall, Tool, did_you_mean, tool
from bot.web.rpc.discovery import DISCOVER, describe_methods
from bot.web.rpc.protocol import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    SERVER_ERROR,
    Params,
    RpcError,
    Run,
)
from memory.errors import MemoryFault, NoteMissing, NothingToWrite, PathRefused
from memory.memory import WriteTarget

Methods = Mapping[str, Tool]


def make_runner(methods: Methods) -> Run:
    """Give what carries out one call of these."""

    async def run(name: str, params: Params) -> object:
        method = methods.get(name)
        if method is None:
            known = ", ".join(methods)
            raise RpcError(
                METHOD_NOT_FOUND, f"Method not found{did_you_mean(name, methods) or '.'} There are: {known}."
            )
        if isinstance(params, list):
            raise RpcError(INVALID_PARAMS, f"Invalid params: they are given by name. {method.usage}")
        with log_context(f"rpc/{token_hex(8)}"):
            try:
                return await method.function(**method.validate(params, strict=True))
            except (BadCall, PathRefused, NothingToWrite) as fault:
                raise RpcError(INVALID_PARAMS, f"Invalid params: {fault}") from fault
            except NoteMissing as fault:
                raise RpcError(NOT_FOUND, str(fault)) from fault
            except (MemoryFault, StateFault) as fault:
                raise RpcError(SERVER_ERROR, str(fault)) from fault

    return run


def rpc_methods(services: Services) -> Methods:
    """Every method by its name."""
    memory, state, rebuilding = services.memory, services.state, services.rebuilding
    journal = OnceWriter(memory, state)
    search_tool, get_tool, write_tool, _ = memory_tools(memory, journal)

    @tool
    async def status() -> dict[str, Any]:
        """What the memory holds, how it can be searched, and what is being done to it."""
        last = rebuilding.last and {
            **asdict(rebuilding.last),
            "at": _format_iso(rebuilding.last.at.timestamp()),
        }
        told = encode_status(await memory.status())
        return {**told, "rebuilding": {"running": rebuilding.is_running, "last": last}}

    @tool
    async def rebuild(
        wait: Annotated[
            bool, Field(description="Wait for the end; else memory.status shows how far it is.")
        ] = True,
    ) -> dict[str, Any]:
        """Build the index anew from the notes; one that runs already is joined."""
        if not wait:
            rebuilding.start()
            return {"running": True}
        report = await rebuilding.run()
        now = await memory.status()
        vectors = {
            "embedded": now.chunks_with_embedding,
            "missing": now.missing_vectors,
            "error": now.embedding_problem,
            "provider": now.embedding_serving,
        }
        return {"running": False, **asdict(report), "vectors": vectors}

    async def search(query: str, limit: int | None) -> dict[str, Any]:
        """Find passages in the notes, the best first."""
        return encode_search(await memory.search(query, limit=limit))

    async def get(path: str, line: int, limit: int | None) -> dict[str, Any]:
        """Read a note, or some lines of it."""
        return encode_note(await memory.get(path, line=line, limit=limit))

    async def write(content: str, target: WriteTarget) -> dict[str, Any]:
        """Note something in today's log or in the core note; each call writes."""
        return encode_write(await journal.write(content, key=f"rpc/{token_hex(16)}", target=target))

    @tool
    async def models() -> dict[str, Any]:
        """How each model fares with each of its keys, in the order of the settings."""
        await services.model.health.refresh()
        listed = models_status(services.model.plan, services.model.health)
        return {"models": [_encode_model(each) for each in listed]}

    @tool
    async def sessions(
        limit: Annotated[
            int, Field(description="How many at most; the latest come first.", ge=1, le=1000)
        ] = 100,
    ) -> dict[str, Any]:
        """The latest conversation of each chat: where, when, how long; not what was said."""
        listed = await state.read(lambda db: read_latest_conversations(db, most=limit))
        return {"sessions": [asdict(each) for each in listed]}

    @tool
    async def discover() -> dict[str, Any]:
        """What there is to call, as an OpenRPC document."""
        return describe_methods(
            {name: each.spec for name, each in methods.items()}, title=services.settings.agent.name
        )

    methods = {
        name: replace(each, spec=replace(each.spec, name=name))
        for name, each in {
            "memory.status": status,
            "memory.rebuild": rebuild,
            "memory.search": _with_signature(search_tool, search),
            "memory.get": _with_signature(get_tool, get),
            "memory.write": _with_signature(write_tool, write),
            "models.status": models,
            "sessions.list": sessions,
            DISCOVER: discover,
        }.items()
    }
    return methods


def _with_signature(known: Tool, function: Any) -> Tool:
    """Another function behind the parameters of a tool."""
    spec = replace(known.spec, description=function.__doc__)
    return replace(known, spec=spec, function=function, wants_use="")


def _encode_model(status: ModelStatus) -> dict[str, Any]:
    """Return a model's status as JSON; `rests_until` is the deprecated name of `paused_until`."""
    moments = {
        name: _format_iso(moment) if (moment := getattr(status, name)) else ""
        for name in ("paused_until", "last_answer_at", "last_failure_at")
    }
    return {**asdict(status), **moments, "rests_until": moments["paused_until"]}


def _format_iso(moment: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, as all times are told to programs."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
