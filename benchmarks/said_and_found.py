"""What the search of conversations costs: `python benchmarks/said_and_found.py [--messages 100000] [--turns 60]`.

state.db is filled with invented conversations, words as frequent as in a language. Measured: the first index,
a search of one chat and of all, from a message to its being found (in this process, and in another one that only
searches), the processor time of indexing one message more, and of a turn with and without the search. With
`--kills 100`, that many processes are killed while they index what was said, and while they forget it.
"""

import argparse
import asyncio
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import apsw
from bot_process import BotProcess, bot_settings, wait_until_idle
from figures import Report, measure_to_the_end, paired_difference
from model_servers import model_servers
from turns import MODEL, TurnDriver, instant_server
from workspaces import ROOT, make_workspace

sys.path.insert(0, str(ROOT))
from bot.config.settings import ConversationSearchSettings
from bot.conversations.conversation import Conversation
from bot.conversations.index_file import INDEX_NAME
from bot.conversations.search import SETTLE_SECONDS, ConversationSearch
from bot.messages import ChatId, PersonId
from bot.models.protocol import AssistantMessage, UserMessage
from bot.state.database import State
from bot.supervisor import Supervisor
from memory.settings import MemorySettings
from tests.fakes.chat_platform import Platform
from tests.fakes.talking_process import assert_as_clean_run, complete_forgetting, run_and_kill

MAX_SEARCH_MS = 60.0
MAX_FOUND_SECONDS = 2.0
MAX_TURN_RATIO = 1.03
CHATS = 20
CONVERSATION = 60
"""Messages of a conversation."""
QUERIES = 200
SAID = 60
ROUNDS = 4
KILLS_OF_ONE = 10
"""Kills after which an empty workspace is taken."""
START_SECONDS = 3
"""After its start the service still has work."""
PERSON = PersonId("telegram", "1")


class TurnCost(NamedTuple):
    """CPU ms of a turn."""

    turn: float
    """Until the service is idle again; the median."""
    whole: float
    """With what it does later, such as indexing; the mean."""


class Language:
    """Invented words, as frequent as those of a language (Zipf)."""

    def __init__(self, chance: random.Random, words: int = 20_000) -> None:
        letters = "etaoinshrdlu"
        self._chance = chance
        self.words = [
            "".join(chance.choice(letters) for _ in range(chance.randint(3, 9))) for _ in range(words)
        ]
        self._weights = list(accumulate(1 / rank for rank in range(1, words + 1)))

    def say(self, least: int, most: int) -> str:
        """Return a sentence."""
        return " ".join(
            self._chance.choices(self.words, cum_weights=self._weights, k=self._chance.randint(least, most))
        )


def store(
    db: apsw.Connection, *, number: int, chat: str, rows: Sequence[tuple[int, int, str, str, str]]
) -> None:
    """Store an ended conversation."""
    db.execute(
        "INSERT INTO conversations (id, chat, started_at, ended_at) VALUES (?, ?, ?, ?)",
        (number, chat, rows[0][4], rows[-1][4]),
    )
    db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", rows)


async def fill(state: State, language: Language, chance: random.Random, messages: int) -> list[str]:
    """Store conversations; return a sample of what was said."""
    sample: list[str] = []
    at = datetime.now(UTC) - timedelta(minutes=5 * messages)
    for number in range(1, messages // CONVERSATION + 1):
        rows: list[tuple[int, int, str, str, str]] = []
        for seq in range(1, CONVERSATION + 1):
            at += timedelta(minutes=5)
            text = language.say(3, 25) if seq % 2 else language.say(10, 60)
            kind = "user" if seq % 2 else "assistant"
            fields = (
                {"text": text, "documents": []} if seq % 2 else {"text": text, "calls": [], "model": "x/y"}
            )
            rows.append((number, seq, kind, json.dumps(fields), at.isoformat(timespec="milliseconds")))
            if chance.random() < QUERIES / messages * 2:
                sample.append(text)
        await state.change(partial(store, number=number, chat=f"telegram:{number % CHATS}", rows=rows))
    return sample


def open_search(private: Path, *, lasting: bool = True) -> ConversationSearch:
    """Return the search as the service opens it."""
    return ConversationSearch(
        private,
        memory=MemorySettings(),
        settings=ConversationSearchSettings(),
        now=lambda: datetime.now(UTC),
        agent_name=lambda: "Commonplace",
        lasting=lasting,
    )


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return the value below which this share of the values is."""
    return sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]


async def measure_searches(
    report: Report, search: ConversationSearch, sample: Sequence[str], chance: random.Random
) -> None:
    """Search for some words of what was said, in one chat and in all."""
    queries = [
        " ".join(chance.sample(text.split(), k=min(3, len(text.split())))) for text in sample[:QUERIES]
    ]
    for name, chats in (("one chat", {"telegram:3"}), ("all chats", None)):
        await search.search(queries[0], chats=chats)
        took = []
        for query in queries:
            began = time.perf_counter()
            await search.search(query, chats=chats)
            took.append(time.perf_counter() - began)
        report.figure(f"search of {name}, median, ms", 1000 * statistics.median(took), limit=MAX_SEARCH_MS)
        report.figure(f"search of {name}, 95 of 100, ms", 1000 * percentile(took, 0.95))


async def measure_said(
    report: Report, state: State, search: ConversationSearch, other: ConversationSearch
) -> None:
    """Say something and look for it until it is found, in the process that heard it and in another search."""
    state.on_append(search.note_said)
    supervisor = Supervisor()
    tasks = [supervisor.start(name, work) for name, work in search.background_tasks().items()]
    own: list[float] = []
    others: list[float] = []
    talk = Conversation(state, ChatId("telegram", "3"))
    for number in range(SAID):
        word = f"said{number}" + "".join(random.choice("bcdfghjkmpqvwxyz") for _ in range(8))
        await talk.load()
        await talk.append(UserMessage(f"the {word} is here"), AssistantMessage("I see."))
        began = time.perf_counter()
        for seconds, who in ((own, search), (others, other)):
            while not any(word in hit.snippet for hit in (await who.search(word, chats={"telegram:3"})).hits):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            seconds.append(time.perf_counter() - began)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    report.figure("said to found, 95 of 100, s", percentile(own, 0.95), limit=MAX_FOUND_SECONDS)
    report.figure(
        "said to found by another process, 95 of 100, s", percentile(others, 0.95), limit=MAX_FOUND_SECONDS
    )


async def measure_one_more(report: Report, state: State, search: ConversationSearch) -> None:
    """Index one message more, again and again."""
    talk = Conversation(state, ChatId("telegram", "4"))
    took = []
    for number in range(SAID):
        await talk.load()
        await talk.append(
            UserMessage(f"message {number} of the day, and nothing else"), AssistantMessage("I see.")
        )
        began = time.process_time()
        await search.sync()
        took.append(time.process_time() - began)
    report.figure("indexing a question and its answer, CPU ms, median", 1000 * statistics.median(took))
    report.figure("the same, 95 of 100", 1000 * percentile(took, 0.95))


async def measure_turns(report: Report, turns: int) -> None:
    """Take turns in a service with and without the search, alternately; compare the processor time."""
    pairs = [
        (await cost_of_turns(turns, enabled=True), await cost_of_turns(turns, enabled=False))
        for _ in range(ROUNDS)
    ]
    for name, values in (
        ("a turn, until it is idle again", [(one.turn, other.turn) for one, other in pairs]),
        ("a turn, with what comes later", [(one.whole, other.whole) for one, other in pairs]),
    ):
        difference, confidence = paired_difference(values)
        before = statistics.mean(without for _, without in values)
        report.figure(f"{name}, without the search, CPU ms", before)
        report.figure(f"{name}: more with it, ± {confidence:.2f}", difference)
        is_turn = name.endswith("again")
        report.figure(
            f"{name}: with it / without it",
            1 + difference / before,
            limit=MAX_TURN_RATIO if is_turn else None,
        )


async def cost_of_turns(turns: int, *, enabled: bool) -> TurnCost:
    """Return what a turn costs a service."""
    with tempfile.TemporaryDirectory() as name, model_servers(instant_server) as addresses:
        folder = Path(name)
        config = bot_settings(
            folder / "config.toml", make_workspace(folder / "w"), addresses, MODEL, token_threshold=1_000_000
        )
        switch = f"\n[memory.conversations]\nenabled = {'true' if enabled else 'false'}\n"
        config.write_text(config.read_text("utf-8") + switch, "utf-8")
        async with Platform(folder / "platform.sock", twice=0.0, latency=0.0) as platform:
            talk = TurnDriver(platform)
            bot = await BotProcess.start(config, platform.socket, folder / "log")
            try:
                async with asyncio.timeout(60):
                    await platform.up.wait()
                await talk.answered([talk.say("warm")])
                await asyncio.sleep(START_SECONDS)
                spent, began = [], bot.cpu_seconds()
                for turn in range(turns):
                    before = await wait_until_idle(bot)
                    if not await talk.answered([talk.say(f"c{turn % 6}")]):
                        raise SystemExit("no answer")
                    spent.append(1000 * (await wait_until_idle(bot) - before))
                await asyncio.sleep(2 * SETTLE_SECONDS)
                return TurnCost(statistics.median(spent), 1000 * (bot.cpu_seconds() - began) / turns)
            finally:
                await bot.stop()


async def measure_kills(report: Report, kills: int) -> None:
    """Kill processes while they index what was said, and while they forget it; compare with a clean run each time."""
    chance = random.Random(2)
    for work in ("index", "forget"):
        with tempfile.TemporaryDirectory() as name:
            folder, wrong = Path(name), 0
            for seed in range(kills):
                lines = run_and_kill(folder, work, seed=seed, seconds=0.02 + chance.random() * 0.5)
                try:
                    await complete_forgetting(folder, lines)
                    await assert_as_clean_run(folder)
                except AssertionError as error:
                    print(f"  kill {seed} while at work to {work}: {error}")
                    wrong += 1
                if seed % KILLS_OF_ONE == KILLS_OF_ONE - 1:
                    shutil.rmtree(folder / ".commonplace")
            report.figure(f"of {kills} kills while at work to {work}, wrong afterwards", wrong, limit=0)


async def main(messages: int, turns: int, kills: int) -> list[str]:
    """Measure everything; return what is beyond its limits."""
    report, chance = Report(), random.Random(1)
    if messages:
        await measure_index(report, messages, chance)
    if turns:
        await measure_turns(report, turns)
    if kills:
        await measure_kills(report, kills)
    return report.failed


async def measure_index(report: Report, messages: int, chance: random.Random) -> None:
    """Fill state.db, index it, and search."""
    with tempfile.TemporaryDirectory() as folder:
        private = Path(folder)
        async with State(private / "state.db") as state:
            sample = await fill(state, Language(chance), chance, messages)
            print(f"{messages} messages in {CHATS} chats")
            async with aclosing(open_search(private)) as search, aclosing(open_search(private)) as other:
                began, cpu = time.perf_counter(), time.process_time()
                await search.sync()
                report.figure("first index, s", time.perf_counter() - began)
                report.figure("first index, CPU ms a message", 1000 * (time.process_time() - cpu) / messages)
                report.figure(
                    "its file, KB a message", (private / INDEX_NAME).stat().st_size / 1024 / messages
                )
                await measure_searches(report, search, sample, chance)
                await measure_said(report, state, search, other)
                await measure_one_more(report, state, search)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=60, help="turns to compare; 0 for none")
    parser.add_argument("--kills", type=int, default=0, help="processes to kill at each work")
    arguments = parser.parse_args()
    measure_to_the_end(main(arguments.messages, arguments.turns, arguments.kills))
