"""Cost of Telegram as a channel, and whether its limits are kept while many chats stream at once.

`python benchmarks/telegram_channel.py [--messages 60] [--chats 100] [--seconds 60] [--only cost|crowd]`

The service is a process of its own, as people run it, with the tests' Bot API server and a model server.
Measured are the start until the first poll, compared with importing the libraries alone; a message until the
first text of its answer is visible, and until the service is idle, both without and with automatic recall from
200 notes, compared with the same call by httpx alone; and a minute in which every chat is
answered again and again by a model that writes for some seconds, with Telegram's published limits enforced,
without the bursts that it tolerates in practice.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from bot_process import BotProcess, find_faults, service_on, wait_until_idle
from figures import Report, import_seconds, measure_to_the_end
from model_servers import KEY, model_servers
from turns import instant_server, measure_raw_call
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from tests.fakes.bot_api.limits import Limits
from tests.fakes.bot_api.server import BotApi

if TYPE_CHECKING:
    from aiohttp import web

    from tests.fakes.bot_api.chats import Chat, Message
    from tests.fakes.bot_api.people import Person
    from tests.fakes.model_server import ModelServer, ReceivedRequest

MAX_MS_TO_FIRST_SEND = 25.0
MAX_TIMES_RAW, MAX_TIMES_RAW_WITH_RECALL = 9.0, 12.0
NOTES = 200
GROUPS_OF = 5
"""Every fifth chat is a group."""
PIECES = 40
PIECE_SECONDS = 0.1
SHOWS = ("sendMessage", "sendMessageDraft", "editMessageText")
IMPORTS = "import aiohttp.web, telegram"


def make_streaming_server() -> dict[str, "ModelServer"]:
    """Return a server that answers with forty pieces in four seconds, beginning and ending with the question."""
    from tests.fakes.model_server import ModelAnswer
    from tests.fakes.openai_server import OpenAIServer

    server = OpenAIServer(key=KEY)

    async def reply(request: "web.Request", asked: "ReceivedRequest") -> "web.StreamResponse":
        server.requests.clear()
        if objection := server.objection(asked):
            return objection
        token = str(asked.body["messages"][-1]["content"]).split()[-1]
        pieces = [f"{token} ", *(f"and then **word {number}**, " for number in range(PIECES)), f"end {token}"]
        return await server.stream(request, asked, ModelAnswer(pieces, delay=PIECE_SECONDS))

    server.always(reply)
    return {"openai": server}


def run_telegram_service(
    folder: Path, addresses: Mapping[str, str], api: BotApi, *, recall: bool = True
) -> AbstractAsyncContextManager[BotProcess]:
    """Start the service with Telegram only, and with some notes."""
    settings = {"token": api.token, "api_base": api.url}
    return service_on("telegram", settings, folder, addresses, notes=NOTES, recall=recall)


# -- cost
# ------------------------------------------------------------------------------------------------------


async def measure_cost(report: Report, folder: Path, messages: int, *, recall: bool) -> None:
    """Measure the start, then one message after the other in one chat, each once all is idle.

    `recall`: whether the notes are searched with each message.
    """
    with model_servers(instant_server) as addresses:
        imports = statistics.median(import_seconds(IMPORTS) for _ in range(3))
        async with BotApi() as api:
            began = time.monotonic()
            async with run_telegram_service(
                folder / f"recall-{recall}", addresses, api, recall=recall
            ) as bot:
                await api.wait_until_polling(within=60)
                print("start until the first poll")
                report.figure("wall s", time.monotonic() - began)
                started = bot.cpu_seconds()
                report.figure("CPU s", started)
                report.figure(f"CPU s of `{IMPORTS}` alone", imports)
                report.figure("the one / the other", started / imports)
                await asyncio.sleep(3)  # menus are set, notes are scanned
                print(f"a message, {'with' if recall else 'without'} automatic recall; medians of {messages}")
                await _messages(report, api, bot, messages, addresses, recall=recall)
                report.figure("MB after that", bot.megabytes())


async def _messages(
    report: Report, api: BotApi, bot: BotProcess, messages: int, addresses: Mapping[str, str], *, recall: bool
) -> None:
    anna = api.person(7, "Anna")
    first_wall, first_cpu, whole_cpu, raw = [], [], [], []
    async with httpx.AsyncClient() as client:
        for number in range(messages + 3):
            await asyncio.sleep(1.1)  # else Telegram's second between two messages would be measured
            before, shown, replies = await wait_until_idle(bot), _shown_text(api), len(anna.chat.replies)
            began = time.monotonic()
            await anna.say(f"Message {number}: the quick brown fox jumps over the lazy dog.")
            await api.wait_until(lambda: _shown_text(api) > shown, within=10)  # noqa: B023
            wall, cpu = time.monotonic() - began, bot.cpu_seconds() - before
            await api.wait_until(lambda: len(anna.chat.replies) > replies, within=10)  # noqa: B023
            whole = await wait_until_idle(bot) - before
            raw.append(await measure_raw_call(client, addresses["openai"]))
            if number >= 3:
                first_wall.append(1000 * wall)
                first_cpu.append(1000 * cpu)
                whole_cpu.append(1000 * whole)
    report.figure("until something can be seen, wall ms", statistics.median(first_wall))
    limit = None if recall else MAX_MS_TO_FIRST_SEND
    report.figure("until something can be seen, our CPU ms", statistics.median(first_cpu), limit=limit)
    report.figure("… the slowest of ten, CPU ms", statistics.quantiles(first_cpu, n=10)[-1])
    report.figure("until nothing more is done, CPU ms", statistics.median(whole_cpu))
    report.figure("the model's call by httpx alone, CPU ms", statistics.median(raw))
    most = MAX_TIMES_RAW_WITH_RECALL if recall else MAX_TIMES_RAW
    report.figure("the one / the other", statistics.median(whole_cpu) / statistics.median(raw), limit=most)


def _shown_text(api: BotApi) -> int:
    return len(api.calls_of(*SHOWS))


# -- many chats at once
# ----------------------------------------------------------------------------------------


async def measure_crowd(report: Report, folder: Path, chats: int, seconds: float) -> None:
    """Have everybody send the next message as soon as the last is answered."""
    with model_servers(make_streaming_server) as addresses:
        async with (
            BotApi(limits=Limits(chat_burst=1)) as api,
            run_telegram_service(folder / "crowd", addresses, api) as bot,
        ):
            await api.wait_until_polling(within=60)
            await asyncio.sleep(3)
            spent, began = bot.cpu_seconds(), time.monotonic()
            talks = await asyncio.gather(
                *(_talk(api, number, until=began + seconds) for number in range(chats))
            )
            took, spent = time.monotonic() - began, bot.cpu_seconds() - spent
            asked = [each for talk in talks for each in talk]
            lost = [token for token, text in asked if not _is_whole(token, text)]
            shown = api.calls_of(*SHOWS)
            print(
                f"{chats} chats for {seconds:g} s, each answered by a model that writes for {PIECES / 10:g} s"
            )
            report.figure("messages answered", len(asked))
            report.figure("refused by Telegram, since they were too many", len(api.floods), limit=0)
            report.figure("refused for any reason", len(api.refusals), limit=0)
            report.figure("replies that are not whole, or missing", len(lost), limit=0)
            report.figure("shown a second, sent, edited or drafted", len(shown) / took)
            report.figure("… at most within any second", _max_in_window(shown, 1.0), limit=30)
            report.figure("least of a chat", min(len(talk) for talk in talks))
            report.figure("CPU s a minute", 60 * spent / took)
            report.figure("MB at most", bot.megabytes("VmHWM"))


async def _talk(api: BotApi, number: int, *, until: float) -> list[tuple[str, str]]:
    """Return the questions of a chat, each with its final reply."""
    person = api.person(1000 + number, f"P{number}")
    group = api.supergroup(f"G{number}", person) if number % GROUPS_OF == 0 else None
    chat = group or person.chat
    asked: list[tuple[str, Message]] = []
    turn = 0
    while time.monotonic() < until:
        turn += 1
        token = f"T{number:03}x{turn:03}"
        said = await _say(person, group, f"tell me about {token}")
        reply = await chat.answer(said, containing=token, within=180)
        await api.wait_until(lambda: _is_whole(token, reply.text), within=180)  # noqa: B023
        asked.append((token, reply))
    return [(token, reply.text) for token, reply in asked]


async def _say(person: "Person", group: "Chat | None", text: str) -> "Message":
    return await person.say(f"@commonplace_bot {text}", group) if group else await person.say(text)


def _is_whole(token: str, text: str) -> bool:
    words = text.split()
    return bool(words) and words[0] == token and words[-2:] == ["end", token]


def _max_in_window(calls: "Sequence[object]", seconds: float) -> int:
    times = sorted(each.time for each in calls)  # type: ignore[attr-defined]
    most = begin = 0
    for end, at in enumerate(times):
        while times[begin] <= at - seconds:
            begin += 1
        most = max(most, end - begin + 1)
    return most


async def measure(arguments: argparse.Namespace) -> list[str]:
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        if arguments.only != "crowd":
            for recall in (False, True):
                await measure_cost(report, Path(name), arguments.messages, recall=recall)
        if arguments.only != "cost":
            await measure_crowd(report, Path(name), arguments.chats, arguments.seconds)
        report.failed += find_faults(Path(name))
    return report.failed


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=60)
    parser.add_argument("--chats", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", choices=("cost", "crowd"))
    arguments = parser.parse_args()
    measure_to_the_end(measure(arguments))


if __name__ == "__main__":
    main()
