import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe
from bot.doctor.service import check_service
from tests.bot.doctor.sample_state import about, everything, find_check, statuses
from tests.fakes.free_port import free_port
from tests.fakes.table_test import table_test

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")
WELL = {"status": "ok", "channels": {"telegram": "up"}, "memory": {"status": "ok"}}
ILL = {
    "status": "unavailable",
    "channels": {"telegram": "down"},
    "memory": {},
    "missing": ["channel telegram"],
}


async def told(port: int, *, alive: bool = False, seconds: float = 5, **table: Any) -> list[Check]:
    settings = about(server={"port": port, **table})
    async with HttpProbe(seconds=seconds) as asking:
        return await check_service(settings, asking, alive=alive)


@asynccontextmanager
async def listening(document: Mapping[str, object] | str, status: int = 200) -> AsyncIterator[int]:
    async def answer(_: web.Request) -> web.Response:
        if isinstance(document, str):
            return web.Response(text=document, status=status)
        return web.json_response(document, status=status)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def test_a_free_port_is_well_and_free_afterwards() -> None:
    port = free_port()
    for _ in range(2):
        checks = await told(port)
        assert statuses(checks) == {"ok"}
        assert find_check(checks, "port").detail == f"{port} is free"


async def test_our_own_service_is_asked_how_it_fares() -> None:
    async with listening(WELL) as port:
        assert find_check(await told(port, alive=True), "health").detail == "the running service is healthy"
    async with listening(ILL, status=503) as port:
        check = find_check(await told(port, alive=True), "health")
    assert check.status == "warn"
    assert check.detail == "the running service lacks: channel telegram (telegram down)"


async def test_a_port_that_another_program_has_fails_with_the_key() -> None:
    async with listening(WELL) as port:
        assert "another workspace" in find_check(await told(port), "port").detail
    async with listening("Hello.") as port:
        check = find_check(await told(port, alive=True), "port")
        assert (check.status, "server.port" in check.fix) == ("fail", True)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        check = find_check(await told(silent.getsockname()[1], seconds=0.2), "port")
        assert (check.status, "is in use" in check.detail) == ("fail", True)
        assert "did not answer within 0.2 s" in check.detail


async def test_an_address_of_another_machine_fails() -> None:
    checks = await told(free_port(), host="192.0.2.1", token="x" * 40)
    assert find_check(checks, "port").status == "fail"


async def test_beyond_this_machine_encryption_and_a_long_token_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.doctor.service.IN_CONTAINER", ())
    checks = await told(free_port(), host="0.0.0.0", token="short-token")
    assert "TLS" in find_check(checks, "reach").fix
    assert "openssl" in find_check(checks, "token").fix
    assert "short-token" not in everything(checks)
    monkeypatch.setattr("bot.doctor.service.IN_CONTAINER", (Path("/"),))
    checks = await told(free_port(), host="0.0.0.0", token="a" * 40)
    assert statuses(checks) == {"ok"}


async def test_without_a_server_there_is_no_port() -> None:
    assert find_check(await told(1, enabled=False), "port").detail.startswith("off")
    assert find_check(await told(0), "port").detail.startswith("any free one")


async def test_a_standby_is_well_though_nobody_has_the_workspace_open_here() -> None:
    async with listening({**WELL, "role": "standby"}) as port:
        check = find_check(await told(port), "health")
    assert check.status == "ok"
    assert "standby" in check.detail


async def test_who_stands_in_for_another_workspace_says_for_which_and_since_when() -> None:
    since = "2026-11-21T09:30:00+00:00"
    stands_in = {
        "telegram": {"workspace": "3fa8", "since": since},
        "discord": {"workspace": "91bc", "since": None},
    }
    async with listening({**WELL, "role": "stand-in", "stands_in": stands_in}) as port:
        check = find_check(await told(port, alive=True), "health")
    assert (check.status, check.detail) == (
        "ok",
        "the running service is healthy; it stands in for workspace 3fa8 on telegram, since 2026-11-21 09:30, "
        "for workspace 91bc on discord",
    )


async def test_a_service_that_cannot_ask_the_index_is_to_be_looked_at() -> None:
    async with listening({**WELL, "memory": {"status": "degraded"}}) as port:
        check = find_check(await told(port, alive=True), "health")
    assert (check.status, "cannot reach the index" in check.detail) == ("warn", True)


@table_test("role", [{}, {"role": "standby"}])
async def test_background_tasks_that_failed_are_named(role: dict[str, str]) -> None:
    tasks = {"reminders": "stopped", "watcher": "restarted"}
    async with listening({**WELL, **role, "status": "degraded", "tasks": tasks}) as port:
        check = find_check(await told(port, alive=True), "health")
    assert (check.status, check.detail) == (
        "warn",
        "background tasks failed: reminders (stopped), watcher (restarted)",
    )


async def test_a_standby_that_cannot_ask_who_serves_is_not_well() -> None:
    waiting = {**WELL, "status": "unavailable", "role": "standby", "missing": ["leases"]}
    async with listening(waiting) as port:
        check = find_check(await told(port), "health")
    assert check.status == "warn"
    assert "index.url" in check.detail


async def test_without_a_token_doctor_says_that_programs_cannot_connect() -> None:
    async with HttpProbe(seconds=5) as asking:
        found = find_check(
            await check_service(about(server={"port": free_port()}), asking, alive=False), "programs"
        )
    assert (found.status, found.detail.partition(":")[0]) == ("ok", "off")


async def test_programs_with_a_token_need_the_library_and_a_closed_door(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def programs(**server: Any) -> Check:
        tokens = {
            "cursor": {"token": "a-long-secret-for-cursor", "rights": "append"},
            "laptop": {"token": "a-long-secret-for-laptop", "conversations": True},
        }
        settings = about(server={"port": free_port(), **server}, mcp={"tokens": tokens})
        async with HttpProbe(seconds=5) as asking:
            return find_check(await check_service(settings, asking, alive=False), "programs")

    found = await programs()
    assert (found.status, found.detail) == (
        "ok",
        "/mcp is open to cursor (append), laptop (read, conversations)",
    )
    monkeypatch.setattr("bot.doctor.service.IN_CONTAINER", ())
    found = await programs(host="0.0.0.0", token="a-long-secret-for-the-page")
    assert found.status == "warn"
    assert "certificate" in found.fix
    monkeypatch.setattr("bot.mcp.library.find_spec", lambda name: None)
    found = await programs()
    assert found.status == "fail"
    assert "make mcp" in found.fix
