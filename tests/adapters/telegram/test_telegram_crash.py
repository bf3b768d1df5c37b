"""The service on Telegram is killed and ended at the worst of times: everybody is answered, and nothing said twice."""

import asyncio
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.fakes.bot_api.chats import Chat, Message
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi
from tests.fakes.commonplace import Commonplace
from tests.fakes.model_server import ModelAnswer
from tests.fakes.openai_server import OpenAIServer

pytestmark = pytest.mark.thorough

END = "(that is all)"
KILLS = 18
WINDOW = 0.15
"""Seconds after a message was sent in which it may not be noted yet that it was: with other programs on the machine."""
CONFIG = """
[server]
enabled = false
[access]
owners = ["telegram:1"]
allow = ["telegram:*"]
[models]
chain = ["openai/gpt-test"]
[memory.embedding]
provider = "none"
"""


class EchoServer(OpenAIServer):
    """A model that says again what it was told since its last answer, word by word."""

    seconds = 0.02
    """Before each word."""
    silent = False
    """Whether it keeps people waiting."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        said: list[str] = []
        for message in reversed(body["messages"]):
            if message["role"] == "assistant":
                break
            if message["role"] == "user":
                said[:0] = re.findall(r"m\d+\b", str(message["content"]))
        self.always(
            ModelAnswer(
                [f"{word} " for word in ("You", "have", "said", *said)] + [END],
                delay=self.seconds,
                hang_after=3 if self.silent else None,
            )
        )
        try:
            return await super().handle(request)
        except ConnectionResetError:  # whoever asked was killed
            return web.Response()


class Service:
    """`commonplace run`, as often as it takes."""

    def __init__(self, commonplace: Commonplace, api: BotApi) -> None:
        self.api = api
        self._commonplace = commonplace
        self._process: subprocess.Popen[str] | None = None
        self.kills: list[float] = []
        self.log = ""

    def start(self) -> None:
        self._process = self._commonplace.start("run", "--config", "config.toml")

    async def listening(self) -> None:
        assert self._process
        process, since = self._process, len(self.api.calls)

        def has_asked() -> bool:
            assert process.poll() is None, process.communicate()
            return any(call.method.startswith("getUpdates") for call in self.api.calls[since:])

        await self.api.wait_until(has_asked, within=60, what="a start")

    async def kill(self) -> None:
        assert self._process
        assert self._process.poll() is None, self._process.communicate()
        self.kills.append(time.monotonic())
        self._process.kill()
        await self._read()

    async def end(self) -> tuple[int, float]:
        """Tell it to leave; its exit code, and how many seconds it took."""
        assert self._process
        process, began = self._process, time.monotonic()
        process.send_signal(signal.SIGTERM)
        await self._read()
        return process.returncode, time.monotonic() - began

    async def _read(self) -> None:
        assert self._process
        _, log = await asyncio.to_thread(self._process.communicate, None, 60)
        self.log += log
        self._process = None

    def close(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()


@contextmanager
def _closing(service: Service) -> Iterator[Service]:
    try:
        yield service
    finally:
        service.close()


@pytest.fixture
async def model() -> AsyncIterator[EchoServer]:
    async with EchoServer() as server:
        yield server


@pytest.fixture
def service(tmp_path: Path, api: BotApi, model: EchoServer) -> Iterator[Service]:
    (tmp_path / "config.toml").write_text(CONFIG)
    commonplace = Commonplace(tmp_path)
    commonplace.environment |= {
        "COMMONPLACE_TELEGRAM__TOKEN": api.token,
        "COMMONPLACE_TELEGRAM__API_BASE": api.url,
        "COMMONPLACE_PROVIDERS__OPENAI__BASE_URL": model.base_url,
        "COMMONPLACE_PROVIDERS__OPENAI__API_KEY": model.key,
    }
    with _closing(Service(commonplace, api)) as service:
        yield service


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"m(\d+)\b", text)]


def all_answered(chat: Chat, said: list[int]) -> bool:
    whole = {number for reply in chat.replies if reply.text.endswith(END) for number in numbers(reply.text)}
    return whole >= set(said)


async def answered(chat: Chat, said: list[int]) -> None:
    """Wait until all is answered."""
    await chat.watch(lambda: all_answered(chat, said), within=60, what=f"all answers in {chat.id}")


async def more_replies(chat: Chat, than: int) -> None:
    """Wait until there are more than so many."""
    await chat.watch(lambda: len(chat.replies) > than, within=60, what=f"a reply in {chat.id}")


async def ends_whole(chat: Chat) -> None:
    """Wait until the last reply is all there."""
    await chat.watch(lambda: chat.replies[-1].text.endswith(END), within=60, what=f"an end in {chat.id}")


async def handed_out(api: BotApi, before: int) -> None:
    """Wait until an update is on its way to the bot."""
    await api.wait_until(lambda: len(api.bot.inbox.delivered) > before, within=20)


async def no_marks(api: BotApi) -> None:
    """Wait until nothing looks as if it had to wait still."""
    messages = [message for chat in api.chats for message in chat.messages]
    await api.wait_until(
        lambda: not any(any(each.reactions.values()) for each in messages), within=20, what="no marks"
    )


def near_a_kill(service: Service, message: Message) -> bool:
    """Whether it was sent so shortly before the end that nobody may know of it afterwards."""
    sent = next(
        call
        for call in service.api.calls_of("sendMessage", chat=message.chat.id)
        if isinstance(call.result, dict) and call.result["message_id"] == message.id
    )
    return any(sent.time - 0.01 <= kill <= sent.time + sent.seconds + WINDOW for kill in service.kills)


def check(service: Service, chat: Chat, said: list[int]) -> int:
    """See that all is answered, in order and whole, and once unless a kill came between; how often it was not once."""
    lost = [reply for reply in chat.replies if near_a_kill(service, reply)]
    times = Counter(number for reply in chat.replies for number in set(numbers(reply.text)))
    assert set(times) >= set(said), (chat, said)
    doubles = 0
    for reply in chat.replies:
        if not reply.text.endswith(END):
            assert reply in lost, (reply, service.api.report())
            doubles += 1
    for number in said:
        replies = [reply for reply in chat.replies if number in numbers(reply.text)]
        assert sum(reply not in lost for reply in replies) <= 1, (number, replies)
        doubles += len(replies) - 1
    first = dict.fromkeys(number for reply in chat.replies for number in numbers(reply.text))
    assert list(first) == sorted(first), (chat, chat.texts)
    return doubles


async def test_killed_at_random_it_answers_everybody_and_loses_nothing(
    api: BotApi, model: EchoServer, service: Service
) -> None:
    chance = random.Random(20261122)
    people: list[Person] = [api.person(number, f"P{number}") for number in range(1, 9)]
    groups = [api.supergroup(f"Group {number}", *people[:2]) for number in range(3)]
    said: dict[int, list[int]] = {chat.id: [] for chat in [*(one.chat for one in people), *groups]}
    count = 0

    async def say() -> None:
        nonlocal count
        count += 1
        if chance.random() < 0.25:
            chat = chance.choice(groups)
            await people[0].say(f"@commonplace_bot m{count}", chat)
        else:
            person = chance.choice(people)
            chat = person.chat
            await person.say(f"m{count}")
        said[chat.id].append(count)

    began = time.monotonic()
    for _ in range(KILLS):
        service.start()
        await say()
        if chance.random() < 0.7:
            await service.listening()
        for _ in range(chance.randrange(4)):
            await say()
            await asyncio.sleep(chance.random() * 0.1)
        await asyncio.sleep(chance.random() ** 2 * 0.8)
        await service.kill()
    service.start()
    for chat in api.chats:
        await answered(chat, said[chat.id])
    await no_marks(api)
    assert (await service.end())[0] == 0
    doubles = sum(check(service, chat, said[chat.id]) for chat in api.chats)
    print(f"{count} messages, {len(service.kills)} kills, {doubles} twice, {time.monotonic() - began:.1f} s")
    assert "Traceback" not in service.log, service.log
    assert len(api.bot.inbox.pending) == 0


@pytest.mark.parametrize("moment", ["handed out", "asked", "shown in part"])
async def test_killed_between_receiving_and_answering_it_answers_just_once(
    api: BotApi, model: EchoServer, service: Service, moment: str
) -> None:
    olga = api.person(1, "Olga")
    group = api.supergroup("Friends", olga)
    for number in range(1, 4):
        model.silent = True
        service.start()
        await service.listening()
        asked, before = len(model.requests), len(api.bot.inbox.delivered)
        shown = len(group.replies)
        await olga.say(f"m{number}")
        await olga.say(f"@commonplace_bot m{number}", group)
        match moment:
            case "handed out":
                await handed_out(api, before)
                await asyncio.sleep(0.005 * number)
            case "asked":
                await model.wait_for_requests(asked + 2)
            case _:
                await more_replies(group, shown)
                await asyncio.sleep(2 * WINDOW)  # until it is noted which message shows it
        await service.kill()
        model.silent = False
        service.start()
        for chat in (olga.chat, group):
            await answered(chat, list(range(1, number + 1)))
        assert (await service.end())[0] == 0
    for chat in (olga.chat, group):
        assert [numbers(reply.text) for reply in chat.replies] == [[1], [2], [3]]
        assert all(reply.text.endswith(END) for reply in chat.replies)
    assert "Traceback" not in service.log, service.log


async def test_killed_between_sending_and_noting_it_says_it_twice_at_most_and_whole(
    api: BotApi, service: Service
) -> None:
    olga = api.person(1, "Olga")
    group = api.supergroup("Friends", olga)
    for number in range(1, 4):
        service.start()
        await service.listening()
        api.fail("sendMessage", Fault.hang(done=True), times=2)
        before = len(olga.chat.replies)
        await olga.say(f"m{number}")
        await olga.say(f"@commonplace_bot m{number}", group)
        for chat in (olga.chat, group):
            await more_replies(chat, before)
        await asyncio.sleep(0.01 * number)
        await service.kill()
        service.start()
        for chat in (olga.chat, group):
            await more_replies(chat, before + 1)
            await ends_whole(chat)
        assert (await service.end())[0] == 0
    for chat in (olga.chat, group):
        assert [numbers(reply.text) for reply in chat.replies[1::2]] == [[1], [2], [3]]
        assert all(reply.text.endswith(END) for reply in chat.replies[1::2])
    assert [numbers(reply.text) for reply in olga.chat.replies] == [[1], [1], [2], [2], [3], [3]]
    assert "Traceback" not in service.log, service.log


async def test_told_to_leave_while_it_streams_it_leaves_soon_and_goes_on_after_the_restart(
    api: BotApi, model: EchoServer, service: Service
) -> None:
    olga = api.person(1, "Olga")
    group = api.supergroup("Friends", olga)
    model.silent = True
    service.start()
    await service.listening()
    await olga.say("m1")
    await olga.say("@commonplace_bot m2", group)
    await api.wait_until(lambda: olga.chat.drafts and group.replies, within=30)
    await olga.say("m3")
    await api.wait_until(lambda: any(each.reactions for each in olga.chat.messages), within=30)
    code, seconds = await service.end()
    assert code == 0
    assert seconds < 10
    assert olga.chat.texts == []
    model.silent = False
    service.start()
    await api.wait_until(lambda: all_answered(group, [2]) and all_answered(olga.chat, [1, 3]), within=60)
    await no_marks(api)
    assert (await service.end())[0] == 0
    assert [numbers(reply.text) for reply in group.replies] == [[2]]
    assert [numbers(reply.text) for reply in olga.chat.replies] == [[1], [3]]
    assert "Traceback" not in service.log, service.log
