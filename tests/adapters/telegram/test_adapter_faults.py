"""What may go wrong between Telegram and us, call by call: people get every answer, whole and once."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from adapters.telegram.adapter import TelegramTimes
from adapters.telegram.connection_health import OTHER_PROGRAM, UNKNOWN_BOT, ReconnectTimes
from bot.messages import ChannelHealth
from bot.service.http import serve_on_sockets
from bot.web.app import build_web_app
from tests.adapters.telegram.life import IMPATIENT, Life, life, settings_of
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.server import BotApi

pytestmark = pytest.mark.thorough

CODE = "\n".join(f"line {number} = {number}" for number in range(800))

Scene = Callable[[Life], Awaitable[None]]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.reply_streamer.TYPING_AFTER", 0.0)
    monkeypatch.setattr("adapters.reply_streamer.AFTER_FAULT", 0.05)
    monkeypatch.setattr("adapters.telegram.command_menus.PAUSES", (0.05,))
    monkeypatch.setattr("adapters.telegram.command_menus.CALL_SECONDS", 0.5)
    monkeypatch.setattr("adapters.telegram.webhook.ASK_SECONDS", 0.5)


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi(webhook_pause=0.02) as api:
        api.bot.inbox.conflict_pause = 0.02
        yield api


async def quiet(here: Life) -> None:
    await here.api.wait_until_confirmed(within=10)
    await here.house.wait_until_idle()


async def two_questions(here: Life) -> None:
    """In private; the second has to wait."""
    anna = here.api.person(2, "Anna")
    here.model.enqueue(["It is ", "**blue**", " today."], delay=0.1)
    here.model.enqueue("And warm.")
    await anna.say("one")
    await here.house.wait_until_asked(1)
    await anna.say("two")
    await anna.chat.answer(containing="And warm.", within=10)
    await quiet(here)
    assert anna.chat.texts == ["It is blue today.", "And warm."]
    await here.api.wait_until(
        lambda: not any(one.reactions.get(here.api.bot.id) for one in anna.chat.messages)
    )


async def a_document(here: Life) -> None:
    anna = here.api.person(2, "Anna")
    here.model.enqueue("Read.")
    await anna.document(b"alpha alpha", "What is in it?", name="a.txt")
    await anna.chat.answer(containing="Read.", within=10)
    await quiet(here)
    assert "alpha alpha" in here.heard()
    assert anna.chat.texts == ["Read."]


async def a_button(here: Life) -> None:
    olga = here.api.person(1, "Olga")
    await olga.say("/models")
    shown = await olga.chat.answer(within=10)
    await quiet(here)
    await olga.press(shown, "/models reset", forged=True)
    await here.api.wait_until(lambda: "tried again" in shown.text, within=10)
    await quiet(here)
    assert olga.chat.texts == [shown.text]


async def code_in_a_group(here: Life) -> None:
    """It grows as text, and is a file in the end."""
    olga, anna = here.api.person(1, "Olga"), here.api.person(2, "Anna")
    group = here.api.supergroup("Friends", olga, anna)
    here.model.enqueue(["```\nline", " 0 =", f" 0{CODE[len('line 0 = 0') :]}", "\n```"], delay=0.2)
    await anna.say("@commonplace_bot write it", group)
    await here.api.wait_until(lambda: any(one.document for one in group.replies), within=10)
    await quiet(here)
    (file,) = group.replies
    assert file.document is not None
    assert file.document.data.decode() == CODE + "\n"


async def shut_out(here: Life) -> None:
    """Their menu goes, too."""
    olga, anna = here.api.person(1, "Olga"), here.api.person(2, "Anna")
    here.model.enqueue("Hello.")
    await anna.say("hello")
    await anna.chat.answer(within=10)
    await here.api.wait_until(lambda: anna.menu() and len(anna.menu()) > 5, within=10)
    await olga.say("/deny telegram:2")
    await olga.chat.answer(within=10)
    await anna.say("hello?")
    await here.api.wait_until(lambda: len(anna.menu()) < 5, within=10)
    await quiet(here)


SCENES: dict[str, Scene] = {
    "getMe": two_questions,
    "deleteWebhook": two_questions,
    "getUpdates": two_questions,
    "sendMessage": two_questions,
    "sendMessageDraft": two_questions,
    "sendChatAction": two_questions,
    "setMessageReaction": two_questions,
    "setMyCommands": two_questions,
    "deleteMyCommands": shut_out,
    "getFile": a_document,
    "file": a_document,
    "answerCallbackQuery": a_button,
    "editMessageText": code_in_a_group,
    "deleteMessage": code_in_a_group,
    "sendDocument": code_in_a_group,
}
"""For every method that is called, something in which it is."""
NONSENSE = '{"status": "please log in to this network"}'
FAULTS = {
    "429": (Fault.retry_after(1), 1),
    "502": (Fault.status(502), 2),
    "reset": (Fault.reset_before(), 2),
    "silence": (Fault.hang(), 2),
    "nonsense": (Fault.status(200, NONSENSE, "application/json"), 2),
}


def _cases() -> list[object]:
    """The quickest of them always, the others where there is time."""
    quick = {("sendMessage", "502"), ("editMessageText", "reset"), ("file", "502"), ("getMe", "nonsense")}
    return [
        pytest.param(
            method,
            fault,
            marks=() if (method, fault) in quick else pytest.mark.thorough,
            id=f"{method}-{fault}",
        )
        for method in SCENES
        for fault in FAULTS
        if (method, fault) != ("file", "nonsense")  # who is to know that it is no file
    ]


@pytest.mark.parametrize(("method", "fault"), _cases())
async def test_whatever_fails_every_answer_comes_whole_and_once(
    api: BotApi, tmp_path: Path, method: str, fault: str
) -> None:
    what, times = FAULTS[fault]
    api.fail(method, what, times=times)
    async with life(api, tmp_path) as here:
        await SCENES[method](here)
        assert here.adapter.health.state == "up"
        assert await here.house.count_undelivered() == 0
        assert here.model.left == 0
    failed = [call for call in api.calls_of(method) if call.faulty]
    assert failed
    if fault == "429":
        later = [call for call in api.calls_of(method) if call.time > failed[0].time]
        chat = failed[0].parameters.get("chat_id")
        same = [call for call in later if call.parameters.get("chat_id") == chat]
        assert all(call.time >= failed[0].time + 0.99 for call in same)


async def webhook_life(api: BotApi, folder: Path, stack: AsyncExitStack) -> tuple[Life, str]:
    """An assistant behind the real HTTP server, and its address."""
    site = socket.create_server(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{site.getsockname()[1]}"
    here = await stack.enter_async_context(life(api, folder, settings=settings_of(api, webhook_url=origin)))
    app = build_web_app(
        channels=lambda: {"telegram": here.adapter.health}, memory=here.house.memory, hooks=here.adapter.hooks
    )
    stack.callback(site.close)
    site.setblocking(False)
    await stack.enter_async_context(serve_on_sockets(app, [site]))
    return here, origin


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("setWebhook", ""),
        *(
            pytest.param(method, fault, marks=pytest.mark.thorough)
            for method in ("setWebhook", "getWebhookInfo")
            for fault in FAULTS
        ),
    ],
)
async def test_telegram_calls_us_at_last_whatever_fails_at_first(
    api: BotApi, tmp_path: Path, method: str, fault: str
) -> None:
    if fault:
        api.fail(method, FAULTS[fault][0], times=FAULTS[fault][1])
    async with AsyncExitStack() as stack, aiohttp.ClientSession() as session:
        here, origin = await webhook_life(api, tmp_path, stack)
        await two_questions(here)
        await a_button(here)
        assert api.calls_of("getUpdates") == []
        await api.wait_until(lambda: here.adapter.health == ChannelHealth("up"), within=10)
        async with session.get(f"{origin}/healthz") as answer:
            assert (answer.status, (await answer.json())["channels"]) == (200, {"telegram": "up"})
        async with session.post(f"{origin}{here.adapter.hooks[0].path}", json={}) as answer:
            assert answer.status == 404


@pytest.mark.parametrize("fault", [Fault.reset_after(), Fault.hang(done=True)], ids=["reset", "silence"])
async def test_an_answer_whose_receipt_was_lost_is_there_at_least_once_and_twice_at_most(
    api: BotApi, tmp_path: Path, fault: Fault
) -> None:
    api.fail("sendMessage", fault)
    async with life(api, tmp_path) as here:
        anna = api.person(2, "Anna")
        here.model.enqueue("It is blue.")
        await anna.say("one")
        await api.wait_until(lambda: len(api.calls_of("sendMessage")) == 2)
        await quiet(here)
        assert anna.chat.texts == ["It is blue."] * 2


# -- receiving ------------------------------------------------------------------------------------------------


async def test_it_is_up_as_soon_as_it_listens_though_nobody_says_anything(
    api: BotApi, tmp_path: Path
) -> None:
    async with life(api, tmp_path, times=TelegramTimes()) as here:
        await api.wait_until_polling()
        await api.wait_until(lambda: here.adapter.health == ChannelHealth("up"), within=10)


async def test_a_telegram_that_cannot_be_reached_at_start_is_found_when_it_is_there(tmp_path: Path) -> None:
    api = BotApi()
    await api.start()
    await api.stop()
    anna = api.person(2, "Anna")
    await anna.say("while nobody was there")
    async with life(api, tmp_path, times=TelegramTimes(waits=IMPATIENT.waits)) as here:
        await api.wait_until(lambda: here.adapter.health.state == "down")
        assert "cannot be reached" in here.adapter.health.detail
        here.model.enqueue("There you are.")
        try:
            await api.start()
            await anna.chat.answer(containing="There you are.")
            await api.wait_until(lambda: here.adapter.health == ChannelHealth("up"))
            async with api.outage():
                await api.wait_until(lambda: here.adapter.health.state == "down")
                here.model.enqueue("And again.")
                await anna.say("Are you there?")
            await api.wait_until(lambda: here.adapter.health == ChannelHealth("up"))
            await anna.chat.answer(containing="And again.")
        finally:
            await api.stop()


@pytest.mark.parametrize(
    "me",
    [
        '{"id": "7", "is_bot": true, "first_name": "b", "username": "commonplace_bot"}',
        '{"id": 7, "is_bot": true, "first_name": "b", "username": ["commonplace_bot"]}',
        '{"id": null, "is_bot": true, "first_name": "b"}',
    ],
)
async def test_a_bot_that_is_told_nonsense_of_itself_asks_again_and_sets_nothing_aside(
    me: str, api: BotApi, tmp_path: Path
) -> None:
    nonsense = Fault.status(200, f'{{"ok": true, "result": {me}}}', "application/json")
    api.fail("getMe", nonsense, times=2)
    anna = api.person(2, "Anna")
    async with life(api, tmp_path) as here:
        here.model.enqueue("There you are.")
        await anna.say("Are you there?")
        await anna.chat.answer(containing="There you are.")
    assert len(api.calls_of("getMe")) == 3


async def test_a_wrong_token_is_told_with_the_mend_and_ends_nothing(
    api: BotApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = "123456789:AAG-another-token-than-the-one-that-is-known"
    async with life(api, tmp_path, settings=settings_of(api, token=wrong)) as here:
        await api.wait_until(lambda: here.adapter.health == ChannelHealth("down", UNKNOWN_BOT))
        await api.wait_until(lambda: len(api.calls_of("getMe")) > 2)
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert UNKNOWN_BOT in told[0].getMessage()
    assert wrong not in caplog.text


@pytest.mark.thorough
async def test_two_with_one_token_say_so_and_the_one_that_stays_recovers(api: BotApi, tmp_path: Path) -> None:
    patience = replace(IMPATIENT, waits=ReconnectTimes(first=0.02, longest=0.05, conflict=0.2, token=0.2))
    anna = api.person(2, "Anna")
    async with life(api, tmp_path / "first", times=patience) as first:
        async with life(api, tmp_path / "second", times=patience) as second:
            both = (first.adapter, second.adapter)
            await api.wait_until(lambda: any(OTHER_PROGRAM in each.health.detail for each in both))
        first.model.enqueue("I am still here.")
        await anna.say("Who is there?")
        await anna.chat.answer(containing="still here")
        await api.wait_until(lambda: first.adapter.health == ChannelHealth("up"))
        await quiet(first)
        assert anna.chat.texts == ["I am still here."]


@pytest.mark.thorough
async def test_no_secret_is_in_the_log_at_its_most_talkative(
    api: BotApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore"):  # as bot/log.py has them
        caplog.set_level(logging.WARNING, logger=name)
    api.fail("sendMessage", Fault.status(502), times=5)
    api.fail("getUpdates", Fault.reset_before(), times=3)
    async with life(api, tmp_path) as here:
        await two_questions(here)
    await asyncio.sleep(0)
    assert api.token.partition(":")[2] not in caplog.text


async def test_a_chat_that_refuses_every_text_costs_its_answer_alone(api: BotApi, tmp_path: Path) -> None:
    async with life(api, tmp_path) as here:
        anna = api.person(2, "Anna")
        api.fail("sendMessage", Fault.refuse(400, "Bad Request: SOMETHING_NEW"), times=4)
        here.model.enqueue("It is blue.")
        await anna.say("What is it?")
        await api.wait_until(lambda: len(api.calls_of("sendMessage")) == 4)
        await quiet(here)
        here.model.enqueue("It is warm.")
        await anna.say("And how is it?")
        await anna.chat.answer(containing="It is warm.")
        await quiet(here)
        assert anna.chat.texts == ["It is warm."]
