"""What comes back from services that are asked, before anybody shows some of it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from bot.doctor.http_probe import HttpProbe
from memory.http_responses import MESSAGE_CHARS, find_error_message, one_line
from tests.fakes.table_test import table_test

SECRET = "pl4nted-secret/of-ours"


@asynccontextmanager
async def service(said: str, status: int) -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"error": {"message": said}}, status=status)

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}/"
    finally:
        await runner.cleanup()


@table_test("status", [200, 400])
@table_test("form", [SECRET, f"{SECRET[:6]}\x1b[1m{SECRET[6:]}", f"{SECRET[:6]}\u200b{SECRET[6:]}"])
async def test_a_secret_that_is_said_back_is_blanked_out_before_it_is_cut_in_two(
    status: int, form: str
) -> None:
    said = "x" * (MESSAGE_CHARS - 12) + f" {form}"
    async with service(said, status) as url, HttpProbe(secrets=[SECRET]) as asking:
        answered = await asking.get(url, by_proxy=False)
    for fields in (answered.fields, answered.failure.fields):
        assert one_line(find_error_message(fields)).endswith("x ***"), json.dumps(dict(fields))
    assert SECRET not in repr(answered)
