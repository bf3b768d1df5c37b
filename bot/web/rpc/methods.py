"""The JSON-RPC methods. Parameters that the model's tools have too are described only there."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from secrets import token_hex
from typing import Annotated, Any

from pydantic import Field

from bot.change_list import encode_undone
from bot.log.context import log_context
from bot.memory_json import encode_note, encode_search, encode_status, encode_write
from bot.models.status import ModelStatus, models_status
from bot.note_writes import OnceWriter
from bot.search_sources import SearchSource
from bot.services import Services
from bot.sources_json import encode_sources
from bot.state.chat_list import read_latest_conversations
from bot.state.database import StateFault
from bot.tools.changes import MAX_NUMBER, ChangesBefore, ChangesLimit, ChangesOfNote
from bot.tools.memory import memory_tools
from bot.tools.toolbox import BadCall, Tool, did_you_mean, tool
from bot.undo import UndoRefused
from bot.web.changes import OVER_HTTP, list_changes_over_http, new_rpc_key, undo_over_http
from bot.web.conversations import search_over_http
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
from memory.note_draft import WriteTarget

Methods = Mapping[str, Tool]


def make_runner(methods: Methods) -> Run:
    """Return the function that runs one call."""

    async def run(name: str, params: Params) -> object:
        method = methods.get(name)
        if method is None:
            known = ", ".join(methods)
            raise RpcError(
                METHOD_NOT_FOUND,
                f"Method not found{did_you_mean(name, methods) or '.'} The methods are: {known}.",
            )
        if isinstance(params, list):
            raise RpcError(INVALID_PARAMS, f"Invalid params: give them by name. {method.usage}")
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
    """Return every method by its name."""
    memory, state, rebuilding = services.memory, services.state, services.index_rebuilder
    note_writes = OnceWriter(memory, state)
    search_tool, get_tool, write_tool, _ = memory_tools(memory, note_writes)

    @tool
    async def status() -> dict[str, Any]:
        """Return the status of the memory: its content, its search, and running jobs."""
        last = rebuilding.last and {
            "at": _format_iso(rebuilding.last.at.timestamp()),
            "report": rebuilding.last.result and asdict(rebuilding.last.result),
            "problem": rebuilding.last.problem,
        }
        document = encode_status(await memory.status())
        return {**document, "rebuilding": {"running": rebuilding.is_running, "last": last}}

    @tool
    async def rebuild(
        wait: Annotated[
            bool, Field(description="Whether to wait for the end; if not, memory.status shows the progress.")
        ] = True,
    ) -> dict[str, Any]:
        """Rebuild the index from the notes, or join a rebuild that is already running."""
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

    @tool
    async def health() -> dict[str, Any]:
        """Return what to fix in the notes, each with the commands that fix it; changes nothing."""
        from bot.memory_health import encode_health, examine_memory

        return encode_health(await examine_memory(memory))

    async def search(query: str, limit: int | None, source: SearchSource | None) -> dict[str, Any]:
        """Search the notes, the conversations of all chats, or both (`source`); the best passages come first."""
        if source in (None, "notes"):
            return encode_search(await memory.search(query, limit=limit))
        return encode_sources(await search_over_http(services, query, source=source, limit=limit))

    async def get(path: str, line: int, limit: int | None) -> dict[str, Any]:
        """Read a note, or some lines of it."""
        return encode_note(await memory.get(path, line=line, limit=limit))

    async def write(content: str, target: WriteTarget) -> dict[str, Any]:
        """Write something to today's log or to the core note. A repeated call writes again."""
        return encode_write(
            await note_writes.write(content, key=new_rpc_key(), target=target, origin=OVER_HTTP)
        )

    @tool
    async def changes(
        limit: ChangesLimit = 20, before: ChangesBefore = 0, path: ChangesOfNote = ""
    ) -> dict[str, Any]:
        """List the latest changes to the notes by everybody; needs a server.token in the settings."""
        return await list_changes_over_http(services, limit=limit, before=before, path=path)

    @tool
    async def undo(
        number: Annotated[
            int,
            Field(
                description="The change's number; the number of an undo redoes its change.",
                ge=1,
                le=MAX_NUMBER,
            ),
        ],
    ) -> dict[str, Any]:
        """Undo a change to the notes; needs a server.token in the settings."""
        try:
            return encode_undone(await undo_over_http(services, number, key=new_rpc_key()))
        except UndoRefused as refusal:
            code = NOT_FOUND if refusal.reason == "unknown" else SERVER_ERROR
            raise RpcError(code, "\n".join(filter(None, [str(refusal), refusal.diff]))) from refusal

    @tool
    async def models() -> dict[str, Any]:
        """Return the state of each model with each of its keys, in the order of the settings."""
        await services.model.health.refresh()
        listed = models_status(services.model.plan, services.model.health)
        return {"models": [_encode_model(each) for each in listed]}

    @tool
    async def sessions(
        limit: Annotated[
            int, Field(description="Maximum number; the latest come first.", ge=1, le=1000)
        ] = 100,
    ) -> dict[str, Any]:
        """List the latest conversation of each chat: where, when and how long, not what was said."""
        listed = await state.read(lambda db: read_latest_conversations(db, limit=limit))
        return {"sessions": [asdict(each) for each in listed]}

    @tool
    async def discover() -> dict[str, Any]:
        """Describe all methods as an OpenRPC document."""
        return describe_methods(
            {name: each.spec for name, each in methods.items()}, title=services.settings.agent.name
        )

    methods = {
        name: replace(each, spec=replace(each.spec, name=name))
        for name, each in {
            "memory.status": status,
            "memory.rebuild": rebuild,
            "memory.health": health,
            "memory.search": _with_signature(search_tool, search),
            "memory.get": _with_signature(get_tool, get),
            "memory.write": _with_signature(write_tool, write),
            "memory.changes": changes,
            "memory.undo": undo,
            "models.status": models,
            "sessions.list": sessions,
            DISCOVER: discover,
        }.items()
    }
    return methods


def _with_signature(known: Tool, function: Any) -> Tool:
    """Return a tool with the same parameters that runs another function."""
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
    """Return seconds since 1970 as ISO 8601 in UTC, like all times in JSON."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
