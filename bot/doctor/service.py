"""Checks the service: whether it runs, and its port is free or its own, and strangers cannot reach it."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.cannot_start import CannotStart
from bot.config.settings import ServerSettings, Settings, is_loopback
from bot.doctor.check import Check, Topic, format_list
from bot.doctor.http_probe import HttpProbe, ProbeAnswer, ProbeFailed
from bot.mcp.library import is_installed
from bot.timeparse import moment_in_short
from bot.web.sockets import open_sockets
from memory.installation import how_to_add

TOPIC = Topic("service")
MIN_TOKEN_CHARS = 16
"""Minimum length of a token that is not easy to guess; `openssl rand -hex 24` gives 48."""
IN_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))


@dataclass(frozen=True, slots=True)
class Liveness:
    """What can be seen of the service from outside."""

    alive: bool
    """Whether a process of ours has the workspace open."""
    last_sign: datetime | None
    """When a file was last written; None if never."""
    now: datetime


def last_sign_of_life(settings: Settings) -> datetime | None:
    """Return when the program last wrote to this workspace; None if never."""
    private = settings.private_folder
    databases = ("state.db", "index.db", "conversations.db")
    names = [f"{database}{suffix}" for database in databases for suffix in ("", "-wal")]
    try:
        files = [
            *(private / name for name in names),
            *private.glob("backups/*"),
            *private.glob("locks/run-*"),
        ]
        times = [file.stat().st_mtime for file in files if file.exists()]
    except OSError:  # reported by check_folders
        return None
    return datetime.fromtimestamp(max(times), UTC) if times else None


async def check_service(settings: Settings, probe: HttpProbe, *, alive: bool) -> list[Check]:
    """Ask the port for its health. `alive`: whether a process has this workspace open."""
    server = settings.server
    running = "Commonplace has this workspace open" if alive else "not running"
    checks = [TOPIC.ok("running", running)]
    if not server.enabled:
        return [*checks, TOPIC.ok("port", "off: server.enabled is false")]
    checks += _check_exposure(server)
    checks += _check_programs(settings)
    if server.port == 0:
        return [*checks, TOPIC.ok("port", "any free one (server.port is 0)")]
    try:
        answered = await probe.get(f"http://{_local_host(server.host)}:{server.port}/healthz", by_proxy=False)
    except ProbeFailed as error:
        checks.append(await asyncio.to_thread(_try_port, server, str(error)))
    else:
        checks.append(_judge(server, answered, alive=alive, now=settings.now()))
    return checks


def _check_exposure(server: ServerSettings) -> Iterator[Check]:
    token = server.token.get_secret_value().strip()
    if is_loopback(server.host):
        yield TOPIC.ok("reach", f"{server.host}: only this machine")
    elif any(mark.exists() for mark in IN_CONTAINER):
        detail = f"{server.host} inside this container: publish the port on 127.0.0.1 only, or behind a proxy with TLS"
        yield TOPIC.ok("reach", detail)
    else:
        detail = f"{server.host}: other machines can reach it, without encryption"
        yield TOPIC.warn(
            "reach", detail, "put a proxy with TLS in front of it, and set server.host to 127.0.0.1"
        )
    if token and len(token) < MIN_TOKEN_CHARS:
        detail = f"server.token has only {len(token)} characters and may be guessed"
        yield TOPIC.warn("token", detail, "use a longer one, such as the output of: openssl rand -hex 24")


def _try_port(server: ServerSettings, why: str) -> Check:
    try:
        for each in open_sockets(server):
            each.close()
    except CannotStart as error:
        detail, _, fix = str(error).partition(": ")
        if "is in use" in detail:
            detail = f"{detail}, and does not answer the health check ({why})"
        return TOPIC.fail("port", detail, fix or "set server.host to an address of this machine")
    return TOPIC.ok("port", f"{server.port} is free")


def _judge(server: ServerSettings, response: ProbeAnswer, *, alive: bool, now: datetime) -> Check:
    found = response.fields
    if not {"status", "channels", "memory"} <= found.keys():
        detail = f"port {server.port} of {server.host} is in use by another program"
        return TOPIC.fail("port", detail, "set server.port to another port, or stop that program")
    if found.get("role") == "standby":
        if found["status"] == "ok":
            return TOPIC.ok("health", "the running service is a standby: another instance is active")
        if found["status"] == "degraded":
            return _check_failed_tasks(found)
        detail = "the running service waits: it cannot ask the server of index.url whether another instance is active"
        return TOPIC.warn("health", detail, "check that server")
    if not alive:
        detail = f"port {server.port} of {server.host} is in use by a Commonplace with another workspace"
        return TOPIC.fail("port", detail, "set server.port to another port")
    if found["status"] == "ok":
        return _describe_health(found, now)
    if found["status"] == "degraded":
        return _check_failed_tasks(found)
    missing = found.get("missing")
    names = [str(each) for each in missing] if isinstance(missing, list) else [str(found["status"])]
    channels = found["channels"]
    states = [f"{name} {state}" for name, state in channels.items()] if isinstance(channels, Mapping) else []
    detail = f"the running service lacks: {format_list(names)} ({format_list(states) or 'no channel'})"
    return TOPIC.warn("health", detail, "see the status page or the log for the reason")


def _check_failed_tasks(found: Mapping[str, object]) -> Check:
    """Describe a service with failed background tasks: which ones, and whether they run again."""
    tasks = found.get("tasks")
    states = [f"{name} ({state})" for name, state in tasks.items()] if isinstance(tasks, Mapping) else []
    detail = f"background tasks failed: {format_list(states)}"
    return TOPIC.warn("health", detail, "the service restarts them by itself; see the log for the reason")


def _describe_health(found: Mapping[str, object], now: datetime) -> Check:
    """Describe an active service: its index, and the instances it stands in for."""
    memory, stands_in = found["memory"], found.get("stands_in")
    if isinstance(memory, Mapping) and memory.get("status") == "degraded":
        detail = "the running service cannot reach the index, and searches the files one by one"
        return TOPIC.warn("health", detail, "see the lines about the index")
    detail = "the running service is healthy"
    if isinstance(stands_in, Mapping) and stands_in:
        detail += (
            f"; it stands in {format_list([_describe_takeover(*each, now) for each in stands_in.items()])}"
        )
    return TOPIC.ok("health", detail)


def _describe_takeover(channel: object, of: object, now: datetime) -> str:
    what = of if isinstance(of, Mapping) else {}
    detail = f"for workspace {what.get('workspace')} on {channel}"
    try:
        return f"{detail}, since {moment_in_short(datetime.fromisoformat(str(what.get('since'))), now)}"
    except ValueError:  # unknown
        return detail


def _check_programs(settings: Settings) -> Iterator[Check]:
    """Check that programs with a token can be served, and that their tokens are not sent in the clear."""
    tokens = settings.mcp.tokens
    if not tokens:
        yield TOPIC.ok("programs", "off: there is no token under [mcp.tokens], so /mcp does not exist")
        return
    names = format_list(
        [
            f"{name} ({each.rights}{', conversations' if each.conversations else ''})"
            for name, each in tokens.items()
        ]
    )
    if not is_installed():
        detail = f"programs have a token ({names}), but the library for MCP is not installed"
        yield TOPIC.fail("programs", detail, f"run {how_to_add('mcp')}, or remove [mcp.tokens]")
    elif not is_loopback(settings.server.host) and not any(path.exists() for path in IN_CONTAINER):
        detail = f"/mcp is open to programs on the network: {names}"
        yield TOPIC.warn(
            "programs",
            detail,
            "put a proxy with a certificate in front of it, so that nobody can read the tokens",
        )
    else:
        yield TOPIC.ok("programs", f"/mcp is open to {names}")


def _local_host(host: str) -> str:
    """Return the host by which this machine reaches what listens on `host`."""
    plain = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - asked, not opened
    return f"[{plain}]" if ":" in plain else plain
