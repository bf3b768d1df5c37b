"""Two services with one folder of notes: each undoes what was changed through it, and says that it knows of no more."""

import asyncio
import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.bot.cluster.several_services import CONFIG, House, Service

pytestmark = pytest.mark.thorough

TOKEN = "a long token for the tests"
LINES = 12


async def call(service: Service, method: str, **params: Any) -> dict[str, Any]:
    """Call a method, and return the whole response; {} if nobody answers."""
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    def send() -> dict[str, Any]:
        try:
            with urlopen(
                Request(f"http://127.0.0.1:{service.port}/rpc", body, headers), timeout=60
            ) as answer:
                return dict(json.load(answer))
        except HTTPError as error:
            return dict(json.load(error))
        except (OSError, ValueError):  # it was killed
            return {}

    return await asyncio.to_thread(send)


async def read_changes(service: Service) -> dict[str, Any]:
    answer = await call(service, "memory.changes", limit=100)
    return dict(answer["result"])


async def test_both_undo_neighbouring_lines_at_once_and_one_is_killed_meanwhile(house: House) -> None:
    config = f'{CONFIG}\n[server]\ntoken = "{TOKEN}"\n'
    first, second = house.service("first", config=config), house.service("second", config=config)
    first.start()
    await first.is_in("telegram", "up")
    second.start()
    await second.is_in("telegram", "standby")

    for number in range(LINES):
        for service in (first, second):
            name = service.folder.name
            assert "result" in await call(
                service, "memory.write", content=f"line {number} of {name}", target="daily"
            )
    (note,) = house.notes.glob("*.md")
    assert sum(" of " in line for line in note.read_text().splitlines()) == 2 * LINES

    # Each knows its own changes, by numbers of its own, and says so.
    for service in (first, second):
        shown = await read_changes(service)
        name = service.folder.name
        assert [each["new"][-1][2:] for each in shown["changes"]] == [
            f"line {number} of {name}" for number in reversed(range(LINES))
        ]
        assert f"only what was changed through this instance ({name})" in shown["notice"]
        refused = await call(service, "memory.undo", number=LINES + 1)
        assert refused["error"]["message"].startswith(f"There is no change {LINES + 1}")
    for said in ("/changes", f"/undo {LINES + 1}", "/undo", "/redo"):
        assert "only what was changed through this instance (second)" in await second.say(said)

    # Both undo every line but the last; one is killed in the middle of it.
    async def undo_all(service: Service) -> list[dict[str, Any]]:
        numbers = range(1, LINES)
        return await asyncio.gather(*[call(service, "memory.undo", number=number) for number in numbers])

    async def kill() -> None:
        while f"line 0 of {first.folder.name}" in note.read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        first.kill()

    _, undone, _ = await asyncio.gather(undo_all(first), undo_all(second), kill())
    assert all("result" in each for each in undone), undone
    first.start()
    await first.is_in("telegram", "standby", "up")  # whichever of the two gets the lease

    for service in (first, second):
        name = service.folder.name
        there = {line[2:] for line in note.read_text().splitlines() if line.endswith(name)}
        changes = [each for each in (await read_changes(service))["changes"] if not each["undoes"]]
        standing = {each["new"][-1][2:] for each in changes if each["stands"]}
        assert there == standing, house.log
        assert f"line {LINES - 1} of {name}" in there
    assert f"line 0 of {second.folder.name}" not in note.read_text()
    left = [each for each in (await read_changes(first))["changes"] if each["stands"] and not each["undoes"]]
    print(f"\n{LINES - len(left)} of {LINES - 1} were undone before the kill")

    # What was left over is undone now, and redone by the number of the undo.
    redo = 0
    for each in left:
        answer = await call(first, "memory.undo", number=each["number"])
        redo = answer["result"]["change"]
    assert first.folder.name not in note.read_text()
    assert (await call(first, "memory.undo", number=redo))["result"]["redone"]
    lines = [line for line in note.read_text().splitlines() if " of " in line]
    assert sorted(line.split()[-1] for line in lines) == ["first", "second"]
    assert "Traceback" not in house.log, house.log
