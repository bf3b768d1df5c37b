import asyncio
import contextlib
import dataclasses
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

import pytest
from telegram import Bot

from adapters.telegram.connection_health import OTHER_PROGRAM, OTHER_WEBHOOK, UNKNOWN_BOT, ReconnectTimes
from adapters.telegram.incoming import ALLOWED_UPDATES
from adapters.telegram.open_bot import open_bot
from adapters.telegram.polling import poll
from bot.messages import ChannelFault, ChannelHealth, NotAccepted
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi
from tests.fakes.table_test import table_test

QUICK = ReconnectTimes(first=0.01, longest=0.02, conflict=0.3, token=0.1)


class Poller:
    """A bot that polls, and what it has taken in."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot
        self.updates: list[int] = []
        self.texts: list[str] = []
        self.reports: list[ChannelHealth] = []
        self.refuse: Callable[[str], bool] = lambda _: False
        self.seconds: Callable[[str], float] = lambda _: 0.0
        self.most_at_once = 0
        self._at_once = 0

    async def take_in(self, raw: Mapping[str, Any]) -> None:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            content = raw.get("message") or {}
            text = str(content.get("text", "")) if isinstance(content, dict) else ""
            await asyncio.sleep(self.seconds(text))
            if self.refuse(text):
                raise NotAccepted("the disk is full; make room on it")
            self.updates.append(raw.get("update_id", 0))
            self.texts.append(text)
        finally:
            self._at_once -= 1

    def report(self, health: ChannelHealth) -> None:
        if not self.reports or self.reports[-1] != health:
            self.reports.append(health)

    @property
    def health(self) -> ChannelHealth:
        return self.reports[-1] if self.reports else ChannelHealth("starting")

    @contextlib.asynccontextmanager
    async def polling(
        self, *, seconds: int = 50, grace: float = 15.0, times: ReconnectTimes = QUICK, quiet: float = 60.0
    ) -> AsyncIterator[None]:
        task = asyncio.create_task(
            poll(
                self.bot,
                self.take_in,
                report=self.report,
                seconds=seconds,
                grace=grace,
                times=times,
                quiet=quiet,
            )
        )
        try:
            yield
            assert not task.done(), task.exception()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        for bot in api.bots.values():
            bot.inbox.conflict_pause = 0.02
        yield api


@pytest.fixture
def anna(api: BotApi) -> Person:
    return api.person(7, "Anna")


@pytest.fixture
async def poller(api: BotApi) -> AsyncIterator[Poller]:
    async with open_bot(api.token, api.url) as bot:
        yield Poller(bot)


def offsets(api: BotApi) -> list[int]:
    return [call.parameters.get("offset", 0) for call in api.calls_of("getUpdates")]


def failures(api: BotApi) -> int:
    return sum(call.faulty for call in api.calls)


def has_failed_again(api: BotApi, before: int) -> bool:
    return failures(api) > before


async def until(api: BotApi, condition: Callable[[], Any]) -> None:
    await api.wait_until(condition)


# -- what is taken in, and confirmed -----------------------------------------------------------------------------


async def test_what_was_said_while_nobody_listened_comes_first_and_all_is_confirmed(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    for number in range(120):
        await anna.say(f"{number}")
    async with poller.polling():
        await api.wait_until_confirmed()
        await anna.say("live")
        await api.wait_until(lambda: "live" in poller.texts)
        await api.wait_until_confirmed()
    assert poller.texts == [*map(str, range(120)), "live"]
    assert poller.health == ChannelHealth("up")
    (removed,) = api.calls_of("deleteWebhook")
    assert removed.parameters.get("drop_pending_updates") in (None, False)
    first, second = (call.parameters for call in api.calls_of("getUpdates")[:2])
    assert first == {"limit": 100, "timeout": 0, "allowed_updates": list(ALLOWED_UPDATES)}
    assert second["timeout"] == 50


async def test_nothing_is_confirmed_before_it_is_taken_in(api: BotApi, anna: Person, poller: Poller) -> None:
    may_go_on = asyncio.Event()
    take_in = poller.take_in

    async def slow(raw: Mapping[str, Any]) -> None:
        await may_go_on.wait()
        await take_in(raw)

    poller.take_in = slow  # type: ignore[method-assign]
    await anna.say("hello")
    async with poller.polling():
        await api.wait_until(lambda: api.bot.inbox.delivered)
        await asyncio.sleep(0.05)
        assert len(api.bot.inbox.pending) == 1
        may_go_on.set()
        await api.wait_until_confirmed()


async def test_who_stops_in_the_middle_of_a_batch_gets_it_again(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    poller.seconds = lambda text: 60.0 if text == "2" else 0.0
    for number in range(3):
        await anna.say(f"{number}")
    async with poller.polling():
        await api.wait_until(lambda: poller.texts == ["0", "1"])
    poller.seconds = lambda _: 0.0
    async with poller.polling():
        await api.wait_until_confirmed()
    assert poller.texts == ["0", "1", "0", "1", "2"]


async def test_what_was_not_accepted_comes_again_and_nothing_after_it_in_its_chat_overtakes_it(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    ben = api.person(8, "Ben")
    poller.refuse = lambda text: text == "a2"
    for person, text in ((anna, "a1"), (anna, "a2"), (ben, "b1"), (anna, "a3"), (ben, "b2")):
        await person.say(text)
    first = api.bot.inbox.pending[0]["update_id"]
    async with poller.polling():
        await until(api, lambda: poller.health.state == "down")
        assert poller.health.detail == "the disk is full; make room on it"
        assert "a3" not in poller.texts
        assert set(offsets(api)) <= {0, first + 1}
        poller.refuse = lambda _: False
        await api.wait_until_confirmed()
        await until(api, lambda: poller.health == ChannelHealth("up"))
    # In order, however often some came again; the inbox tells them apart.
    for mine in ("a", "b"):
        assert [text for text in dict.fromkeys(poller.texts) if text[0] == mine] == sorted(
            {text for text in poller.texts if text[0] == mine}
        )


async def test_chats_are_taken_in_side_by_side_and_one_chat_in_order(api: BotApi, poller: Poller) -> None:
    poller.seconds = lambda text: 0.03 if text.endswith("0") else 0.0
    for number in range(3):
        for who in range(10, 20):
            await api.person(who).say(f"{who} {number}")
    async with poller.polling():
        await api.wait_until_confirmed()
    assert poller.most_at_once == 10
    for who in range(10, 20):
        assert [text for text in poller.texts if text.startswith(f"{who}")] == [
            f"{who} {n}" for n in range(3)
        ]


async def test_a_move_waits_for_what_was_said_before_it_and_keeps_what_follows_waiting(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    api.bot.privacy = False
    group = api.group("Allotment", anna)
    poller.seconds = lambda text: 0.05 if text == "before" else 0.0
    await anna.say("before", group)
    supergroup = await api.migrate(group, anna)
    await anna.say("after", supergroup)
    async with poller.polling():
        await api.wait_until_confirmed()
    assert poller.texts == ["before", "", "", "after"]


@pytest.mark.parametrize(
    "bad", [{"message": {"text": 5}}, {"message": "?"}, {"message": {"chat": "x"}}, {"message": []}]
)
async def test_an_update_that_the_library_cannot_read_takes_no_other_with_it(
    bad: dict[str, Any], api: BotApi, anna: Person, poller: Poller
) -> None:
    await anna.say("before")
    await api.push_raw(bad)
    await anna.say("after")
    async with poller.polling():
        await api.wait_until_confirmed()
    assert len(poller.updates) == 3
    assert [text for text in poller.texts if text in ("before", "after")] == ["before", "after"]


@pytest.mark.parametrize(
    "answer",
    ['{"ok": true, "result": {}}', '{"ok": true, "result": [5, {}]}', "[]", "{", "null", "[" * 100_000],
)
async def test_an_answer_that_is_none_is_a_failure_like_others(
    answer: str, api: BotApi, anna: Person, poller: Poller
) -> None:
    api.fail("getUpdates", Fault.status(200, answer, "application/json"), times=3)
    await anna.say("hello")
    async with poller.polling():
        await api.wait_until_confirmed()
    assert poller.texts.count("hello") == 1


async def test_numbers_that_begin_anew_after_a_quiet_time_are_heard(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    await anna.say("long ago")
    async with poller.polling(seconds=0, quiet=0.0):
        await until(api, lambda: len(offsets(api)) >= 3)  # an empty answer was among them
        api.bot.inbox.next_id = 5
        await anna.say("hello")
        await until(api, lambda: "hello" in poller.texts)


async def test_more_than_is_read_at_once_comes_in_smaller_parts(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    for number in range(100):
        await api.push_raw({"message": {"chat": {"id": 7}, "text": str(number), "filler": "x" * 30_000}})
    async with poller.polling():
        await api.wait_until_confirmed()
        await anna.say("afterwards")
        await until(api, lambda: "afterwards" in poller.texts)
    assert poller.texts == [*map(str, range(100)), "afterwards"]
    assert {100, 12} == {call.parameters["limit"] for call in api.calls_of("getUpdates")}


async def test_an_update_without_measure_is_left_out_once_and_told(
    api: BotApi, anna: Person, poller: Poller, caplog: pytest.LogCaptureFixture
) -> None:
    await anna.say("before")
    await api.push_raw({"message": {"text": "x" * (3 << 20)}})
    await anna.say("after")
    async with poller.polling():
        await api.wait_until_confirmed()
    assert poller.texts == ["before", "after"]
    told = [record.getMessage() for record in caplog.records if "too large" in record.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("Telegram: update ")


@pytest.mark.parametrize("number", [-5, -(2**70), 2**70, True])
async def test_a_number_that_no_update_has_does_not_decide_what_is_told_next(
    number: int, api: BotApi, anna: Person, poller: Poller
) -> None:
    answer = json.dumps({"ok": True, "result": [{"update_id": number}]})
    api.fail("getUpdates", Fault.status(200, answer, "application/json"), times=2)
    await anna.say("hello")
    async with poller.polling():
        await api.wait_until_confirmed()
    assert poller.texts[-1] == "hello"
    assert min(offsets(api)) == 0
    assert max(offsets(api)) < 2**53


async def test_a_server_that_tells_the_same_for_ever_is_not_asked_without_a_pause(
    api: BotApi, poller: Poller
) -> None:
    answer = json.dumps({"ok": True, "result": [{"update_id": 5}]})
    api.fail("getUpdates", Fault.status(200, answer, "application/json"), times=None)
    waits = ReconnectTimes(first=0.1, longest=0.2)
    async with poller.polling(times=waits):
        await until(api, lambda: poller.health.state == "down")
        await asyncio.sleep(0.5)
        assert len(offsets(api)) < 12
    assert "keeps sending" in poller.health.detail


# -- what goes wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Fault.hang(), Fault.drip()], ids=["hangs", "drips"])
async def test_a_poll_that_does_not_end_is_given_up_and_begun_anew(
    fault: Fault, api: BotApi, anna: Person, poller: Poller
) -> None:
    api.fail("getUpdates", fault)
    async with poller.polling(seconds=0, grace=0.2):
        await anna.say("hello")
        await until(api, lambda: "hello" in poller.texts)


@pytest.mark.parametrize(
    "fault",
    [Fault.status(502), Fault.status(500, "oops", "text/plain"), Fault.reset_before(), Fault.reset_after()],
    ids=["502", "500", "reset", "answer lost"],
)
async def test_failures_are_told_once_and_then_that_all_is_well(
    fault: Fault, api: BotApi, anna: Person, poller: Poller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "adapters")
    api.fail("getUpdates", fault, times=5)
    await anna.say("hello")
    async with poller.polling():
        await until(api, lambda: "hello" in poller.texts and poller.health.state == "up")
    assert poller.texts == ["hello"]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("adapters")]
    assert len(ours) == 2
    assert ours[0].startswith("Telegram cannot be reached: ")
    assert ours[1] == "Telegram: connected again"
    assert "<html>" not in ours[0]
    assert [report.state for report in poller.reports if report.state == "up"] == ["up"]


async def test_a_single_failure_is_not_worth_a_word(
    api: BotApi, anna: Person, poller: Poller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "adapters")
    async with poller.polling():
        await api.wait_until_polling()
        api.fail("getUpdates", Fault.status(502))
        await anna.say("hello")
        await until(api, lambda: len(api.calls_of("getUpdates")) == 3)
    assert [one.state for one in poller.reports] == ["up"]
    assert [record for record in caplog.records if record.name.startswith("adapters")] == []


async def test_an_outage_loses_nothing(api: BotApi, anna: Person, poller: Poller) -> None:
    async with poller.polling():
        await api.wait_until_polling()
        async with api.outage():
            await anna.say("hello")
            await asyncio.sleep(0.2)
            assert poller.health.state == "down"
        await until(api, lambda: poller.texts == ["hello"])
        await until(api, lambda: poller.health.state == "up")


NONSENSE = Fault.status(200, '{"ok": true, "result": "' + "[" * 100_000, "application/json")
DEEP = Fault.status(200, "[" * 100_000, "application/json")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "faults",
    [
        [Fault.status(502), Fault.reset_before(), None, NONSENSE, Fault.hang()],
        [DEEP, Fault.hang(), Fault.reset_after(), Fault.status(502), None],
    ],
    ids=["a hang comes last", "nobody is there at last"],
)
async def test_who_writes_after_five_failures_in_a_row_is_heard_within_15_seconds(
    faults: list[Fault | None], api: BotApi, anna: Person, poller: Poller
) -> None:
    async with poller.polling(times=ReconnectTimes()):
        await api.wait_until_polling()
        await anna.say("before")  # the poll that Telegram holds open has ended, and so will the next one
        await api.wait_until_confirmed()
        for fault in faults:
            if fault:
                api.fail("getUpdates", fault)
                await anna.say("before")
                await api.wait_until(partial(has_failed_again, api, failures(api)), within=30)
            else:
                async with api.outage():
                    await asyncio.sleep(5)  # longer than one of the short waits
        begun = time.monotonic()
        await anna.say("after")
        await api.wait_until(lambda: "after" in poller.texts, within=30)
    assert time.monotonic() - begun < 15


@pytest.mark.thorough
async def test_an_answer_that_is_due_at_once_is_waited_for_shortly_while_an_outage_is_young(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    api.fail("getUpdates", Fault.hang(), times=3)
    await anna.say("hello")
    begun = time.monotonic()
    async with poller.polling(times=dataclasses.replace(QUICK, answer=0.1)):
        await until(api, lambda: "hello" in poller.texts)
    assert time.monotonic() - begun < 15  # of silence, before the first of them would be given up


async def test_retry_after_is_honoured(api: BotApi, anna: Person, poller: Poller) -> None:
    api.fail("getUpdates", Fault.retry_after(1))
    await anna.say("hello")
    began = time.monotonic()
    async with poller.polling():
        await until(api, lambda: poller.texts)
    assert time.monotonic() - began >= 1.0


@pytest.mark.parametrize("token", ["123456789:AAwrong-token-of-the-right-length_xxxx", "nonsense"])
async def test_a_wrong_token_is_told_with_the_mend_and_tried_again_later(
    token: str, api: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bot(token, api.url) as bot:
        poller = Poller(bot)
        async with poller.polling(times=ReconnectTimes(first=0.001, token=0.1)):
            await until(api, lambda: len(api.calls) >= 3)
    assert poller.reports == [ChannelHealth("down", UNKNOWN_BOT)]
    told = [record for record in caplog.records if record.name.startswith("adapters")]
    assert len(told) == 1
    assert token not in caplog.text
    first, second = api.calls[0], api.calls[1]
    assert second.time - first.time >= 0.1


async def test_a_token_that_is_revoked_while_polling_is_told_at_once(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    await poller.bot.initialize()
    async with poller.polling():
        await api.wait_until_polling()
        api.fail("getUpdates", Fault.refuse(401, "Unauthorized"), times=None)
        await anna.say("hello")
        await until(api, lambda: poller.health == ChannelHealth("down", UNKNOWN_BOT))
        api.clear_faults()
        await anna.say("again")
        await until(api, lambda: poller.health == ChannelHealth("up"))


async def test_a_proxys_404_is_no_wrong_token(api: BotApi, poller: Poller) -> None:
    api.fail("getUpdates", Fault.status(404), times=None)
    async with poller.polling():
        await until(api, lambda: poller.health.state == "down")
    assert "cannot be reached" in poller.health.detail


@pytest.mark.thorough
async def test_another_program_with_the_token_is_told_of_in_plain_words(
    api: BotApi, anna: Person, poller: Poller, caplog: pytest.LogCaptureFixture
) -> None:
    waits = ReconnectTimes(first=0.01, longest=0.02, conflict=0.1)
    async with open_bot(api.token, api.url) as bot, poller.polling(times=waits):
        other = Poller(bot)
        await api.wait_until_polling()
        async with other.polling(times=waits):
            await until(api, lambda: ChannelHealth("down", OTHER_PROGRAM) in poller.reports + other.reports)
            await anna.say("hello")
            await until(api, lambda: "hello" in poller.texts + other.texts)
        await anna.say("alone again")
        await until(api, lambda: "alone again" in poller.texts)
        await asyncio.sleep(2 * waits.conflict)  # so long it may well go on
        await anna.say("still alone")
        await until(api, lambda: poller.health == ChannelHealth("up"))
    told = [record.getMessage() for record in caplog.records if record.name.startswith("adapters")]
    assert 1 <= len(told) <= 2  # each of the two tells it once, not with each conflict
    assert all(OTHER_PROGRAM in line for line in told)


async def test_an_older_process_of_ours_that_is_about_to_end_is_not_worth_a_word(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    api.fail("getUpdates", Fault.refuse(409, "Conflict: terminated by other getUpdates request"))
    await anna.say("hello")
    async with poller.polling():
        await until(api, lambda: poller.texts == ["hello"])
        await until(api, lambda: poller.reports)
    assert poller.reports == [ChannelHealth("up")]


async def test_a_webhook_that_another_program_sets_is_told_of_and_removed(
    api: BotApi, anna: Person, poller: Poller
) -> None:
    async with open_bot(api.token, api.url) as other, poller.polling():
        await api.wait_until_polling()
        for _ in range(2):
            await other.set_webhook("http://127.0.0.1:9/elsewhere")
            await until(api, lambda: api.bot.inbox.webhook is None)
        await anna.say("hello")
        await until(api, lambda: poller.texts == ["hello"])
    assert ChannelHealth("down", OTHER_WEBHOOK) in poller.reports
    assert {call.parameters.get("drop_pending_updates", False) for call in api.calls_of("deleteWebhook")} == {
        False
    }


async def test_a_connection_that_was_given_up_is_not_used_again() -> None:
    """What comes late on it would be taken for the answer to another request."""
    connections = 0
    handlers: list[asyncio.Task[None] | None] = []
    heard = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        mine = connections
        handlers.append(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
                body = b'{"ok": true, "result": true}'
                if b"getUpdates" in head:
                    body = b'{"ok": true, "result": [{"update_id": 1}]}'
                    if mine == 2:  # the first is for what is no poll
                        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
                        await reader.read()
                        break
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def take_in(raw: Mapping[str, Any]) -> None:
        heard.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        async with open_bot("123:abc", f"http://127.0.0.1:{port}") as bot:
            polling = asyncio.create_task(
                poll(bot, take_in, report=lambda _: None, seconds=0, grace=0.2, times=QUICK)
            )
            await asyncio.wait_for(heard.wait(), 20)
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)
        await asyncio.gather(*filter(None, handlers))
    assert connections == 3


@pytest.mark.thorough
@pytest.mark.parametrize("wait", ["-1", "0", "1e300", "NaN", "-Infinity", '"soon"', "[]", "{}", "true"])
async def test_whatever_telegram_names_as_a_wait_it_is_asked_again(
    wait: str, api: BotApi, anna: Person, poller: Poller
) -> None:
    refusal = f'{{"ok": false, "error_code": 429, "parameters": {{"retry_after": {wait}}}}}'
    api.fail("getUpdates", Fault.status(429, refusal, "application/json"), times=3)
    await anna.say("hello")
    async with poller.polling():
        await until(api, lambda: poller.texts == ["hello"])


@table_test(
    ("named", "meant"),
    [(5, 5.0), (-1, 0.0), (10**9, 3600.0), (float("nan"), 3600.0), (float("inf"), 3600.0)],
)
def test_what_a_platform_names_as_a_wait_is_an_hour_at_most(named: float, meant: float) -> None:
    assert ChannelFault("busy", retry_after=named).retry_after == meant
