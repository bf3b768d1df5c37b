"""Whatever Telegram, or somebody in its place, brings to the webhook: it is answered, and what follows is heard."""

import asyncio
import copy
import json
import socket
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.telegram.webhook import SECRET_HEADER
from bot.models.breakers import Breakers
from bot.models.notebook.model import Notebook
from bot.service.http import serve_on_sockets
from bot.web.app import build_web_app
from tests.adapters.telegram.life import Life, life, settings_of
from tests.fakes.bot_api import people
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi
from tests.fakes.bot_api.world import World
from tests.fakes.error_log import ErrorLog
from tests.fakes.http_service import HttpService
from tests.fakes.scripted_model import alone

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

Json = dict[str, Any]
quick = settings(
    max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
SET_ASIDE = "could not read update"


async def happenings() -> list[Json]:
    """One update of each kind that comes up, as Telegram sends it."""
    world = World(clock=lambda: 1_790_000_000.0)
    world.bot.privacy = False
    anna, bert = world.person(1, "Anna", username="anna"), world.person(2, "Bert")
    group, forum = world.group("Family", anna, bert), world.forum("Club", anna)
    said = await anna.say("Remember *the boat* is `red`. https://example.org")
    await anna.say("/remember the boat is blue")
    await anna.say("/recall boat")
    await anna.say("why?", reply_to=said, quote="the boat")
    await anna.edit(said, "The boat is green.")
    await anna.forward("The boat sails.", people.from_user(bert))
    await anna.photo(caption="boat")
    await anna.document(b"# Boat\n", name="boat.md", media_type="text/markdown")
    await anna.voice()
    await anna.location()
    await anna.contact()
    await anna.poll()
    await anna.sticker()
    await anna.album(b"one", (b"two", "two.txt"), caption="both")
    await anna.say(f"@{world.bot.username} hello", group)
    await anna.say("hello", forum, topic=await world.open_topic(forum, "Boats", anna))
    await anna.add_bot(world.group("New", anna, with_bot=False))
    await world.migrate(group, anna)
    await anna.kick_bot(forum)
    await anna.block()
    pending: list[Json] = copy.deepcopy(list(world.bot.inbox.pending))
    message = next(each["message"] for each in pending if "message" in each)
    press = {"id": "5", "from": message["from"], "message": message, "chat_instance": "1", "data": "/help"}
    return [*pending, {"update_id": 1, "callback_query": press}]


class Hook:
    """The webhook of an assistant whose owner is person 1, as it is served."""

    def __init__(self, runner: asyncio.Runner, served: HttpService, here: Life, complaints: ErrorLog) -> None:
        self._runner = runner
        self._served = served
        self._here = here
        self._complaints = complaints
        self._number = 1000
        path = here.adapter.hooks[0].path.encode()
        assert here.adapter._webhook
        secret = here.adapter._webhook._secret.encode()
        head = (b"POST " + path + b" HTTP/1.1", b"Host: a", SECRET_HEADER.encode() + b": " + secret)
        self._head = b"\r\n".join([*head, b"Connection: close", b"Content-Length: %d", b"", b""])

    def post(self, body: bytes) -> int:
        """As Telegram would; gives the status."""
        answer = self._runner.run(self._served.say(self._head % len(body) + body, ends=False))
        self._complaints.assert_none()
        return int(answer[9:12])

    def tell(self, update: Json) -> int:
        """An update under numbers of its own, as JSON; what was heard already is passed over."""
        self._number += 1
        if isinstance(update.get("update_id"), int):
            update = {**update, "update_id": self._number}
        for kind, value in update.items():
            if isinstance(value, dict) and isinstance(value.get("message_id"), int):
                update = {**update, kind: {**value, "message_id": self._number}}
        return self.post(json.dumps(update).encode())

    def is_heard(self, anna: Person) -> None:
        """What is said now is answered, though all that came before may have been anything."""

        async def ask() -> None:
            async with asyncio.timeout(30):
                await self._here.house.assistant.wait_until_idle()
                before = len(anna.chat.replies)
                await anna.say("/help")
                await self._here.api.wait_until(lambda: len(anna.chat.replies) > before)
                await self._here.house.assistant.wait_until_idle()
                assert await self._here.house.count_undelivered() == 0

        self._runner.run(ask())
        self._complaints.assert_none()


@pytest.fixture(scope="module")
def hook() -> Iterator[Hook]:
    complaints = ErrorLog(expected=(SET_ASIDE,))
    with complaints, tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        stack = AsyncExitStack()
        served, here = runner.run(serve_webhook(Path(folder), stack))
        anna = here.api.person(1, "Anna")
        hook = Hook(runner, served, here, complaints)
        hook.is_heard(anna)
        yield hook
        hook.is_heard(anna)
        runner.run(stack.aclose())
        complaints.assert_none()


async def serve_webhook(folder: Path, stack: AsyncExitStack) -> tuple[HttpService, Life]:
    api = await stack.enter_async_context(BotApi(webhook_pause=0.02))
    site = socket.create_server(("127.0.0.1", 0))
    port = site.getsockname()[1]
    settings = settings_of(api, webhook_url=f"http://127.0.0.1:{port}")
    chain_of = lambda state: alone(Notebook(), Breakers(state))  # noqa: E731
    here = await stack.enter_async_context(life(api, folder, settings=settings, chain_of=chain_of))
    app = build_web_app(channels=dict, memory=here.house.memory, hooks=here.adapter.hooks)
    stack.callback(site.close)
    site.setblocking(False)
    await stack.enter_async_context(serve_on_sockets(app, [site]))
    return HttpService(port), here


wild = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=12)
    | st.sampled_from(["", "\ud83d", "\0", "/forget boat", "-1", 2**63, -(2**64), 10**30, "x" * 5000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
changes = st.tuples(st.floats(0, 1, exclude_max=True), st.booleans(), wild)


@cache
def templates() -> list[Json]:
    return asyncio.run(happenings())


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key within."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def changed(update: Json, made: list[tuple[float, bool, Any]]) -> Json:
    update = copy.deepcopy(update)
    for where, goes, instead in made:
        if not (found := list(places(update))):
            continue
        container, key = found[int(where * len(found))]
        if goes:
            del container[key]
        else:
            container[key] = instead
    return update


updates = st.deferred(lambda: st.sampled_from(templates()))
nearly = st.builds(changed, updates, st.lists(changes, min_size=1, max_size=3))


def test_all_that_comes_up_is_taken_in(hook: Hook) -> None:
    assert {hook.tell(each) for each in templates()} == {200}


@quick
@given(nearly)
def test_an_update_with_something_wrong_in_it_is_taken_in_or_set_aside(hook: Hook, update: Json) -> None:
    assert hook.tell(update) == 200


@quick
@given(st.binary(max_size=50) | wild.map(json.dumps).map(str.encode))
def test_what_is_no_update_is_refused_or_set_aside(hook: Hook, body: bytes) -> None:
    assert hook.post(body) in (200, 400)


def test_what_is_nested_deeply_does_no_harm(hook: Hook) -> None:
    """Some of it can be read, and not be written again."""
    for number, depth in enumerate((100, 500, *range(880, 1000, 3), 2000, 100_000)):
        body = b'{"update_id":%d,"message":' % number + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
        assert hook.post(body) in (200, 400)


@pytest.mark.parametrize("instead", [[], {"a": 1}, "x", 1.5, True], ids=str)
def test_what_is_of_another_kind_than_it_should_be_is_set_aside_or_passed_over(
    hook: Hook, instead: object
) -> None:
    sent = [
        next(each for each in templates() if kind in each.get("message", {}))
        for kind in ("photo", "document")
    ]
    names = ("id", "message_id", "media_group_id", "message_thread_id", "file_id", "file_size", "date")
    for name, whole in product(names, sent):
        update = copy.deepcopy(whole)
        update["message"].setdefault(name, 1)
        for container, key in list(places(update)):
            if key == name:
                container[key] = instead
        assert hook.tell(update) == 200, name


@pytest.mark.thorough
@settings(quick, max_examples=300)
@given(nearly)
def test_many_updates_with_something_wrong_in_them_do_no_harm(hook: Hook, update: Json) -> None:
    assert hook.tell(update) == 200
