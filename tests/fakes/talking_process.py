"""A process that fills conversations and their index until it is killed, and what must be true afterwards.

Run it as `python -m tests.fakes.talking_process FOLDER index|forget SEED`.
"""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import AsyncExitStack, aclosing
from datetime import UTC, datetime
from pathlib import Path

from bot.config.settings import ConversationSearchSettings
from bot.conversations.conversation import Conversation
from bot.conversations.index_file import INDEX_NAME
from bot.conversations.search import ConversationSearch
from bot.forgetting import AlreadyForgotten, ForgetService, NothingToForget
from bot.messages import ChatId, PersonId
from bot.models.protocol import AssistantMessage, UserMessage
from bot.state import forgetting
from bot.state.database import State
from memory import sync
from memory.memory import Memory
from memory.settings import MemorySettings, WatchSettings
from tests.fakes.index_checks import assert_sound, read_index_contents

CHATS = tuple(ChatId("telegram", name) for name in ("1", "-5", "-100/7"))
OWNER = PersonId("telegram", "1")
KEY = "message-1"
ROOT = Path(__file__).parent.parent.parent


def now() -> datetime:
    return datetime.now(UTC)


class Opened:
    """state.db, the notes and the search of a folder."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.private = base / ".commonplace"
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Opened":
        settings = MemorySettings(watch=WatchSettings(enabled=False))
        self.state = await self._stack.enter_async_context(State(self.private / "state.db"))
        self.memory = await self._stack.enter_async_context(Memory(settings, workspace=self.base, now=now))
        self.search = ConversationSearch(
            self.private,
            memory=settings,
            settings=ConversationSearchSettings(),
            now=now,
            agent_name=lambda: "Robin",
            lasting=True,
        )
        await self._stack.enter_async_context(aclosing(self.search))
        self.forgetting = ForgetService(self.memory, self.state, conversations=self.search, now=now)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


async def talk(base: Path, seed: int) -> None:
    """Say, retract and index without end."""
    chance = random.Random(seed)
    async with Opened(base) as opened:
        print("begun", flush=True)
        while True:
            for _ in range(chance.randrange(1, 6)):
                conversation = Conversation(opened.state, chance.choice(CHATS))
                await conversation.load()
                if chance.random() < 0.2 and await conversation.retract():
                    await conversation.append(AssistantMessage(f"again {chance.random()}"))
                words = " ".join(chance.choice("abcdef") * 5 for _ in range(chance.randrange(60)))
                await conversation.append(
                    UserMessage(f"{words} ?"), AssistantMessage(f"{words} {chance.random()}")
                )
            await opened.search.sync()


async def forget(base: Path, seed: int) -> None:
    """Say something, index it and forget it, without end; print each word before it is forgotten."""
    chance = random.Random(seed)
    async with Opened(base) as opened:
        print("begun", flush=True)
        while True:
            word = "xylo" + "".join(chance.choice("abcdefghij") for _ in range(12))
            for chat in CHATS:
                conversation = Conversation(opened.state, chat)
                await conversation.load()
                await conversation.append(UserMessage(f"the {word} beetle " * 9), AssistantMessage("I see."))
            await opened.search.sync()
            found = await opened.forgetting.find(word, chat=CHATS[0], person=OWNER)
            print(word, found.code, flush=True)
            await opened.forgetting.confirm(found.code, chat=CHATS[0], person=OWNER, key=KEY)


def run_and_kill(base: Path, work: str, *, seed: int, seconds: float) -> list[str]:
    """Run the process for some time, kill it, and return the lines that it has printed.

    The time begins with the first line: on a busy machine the first words to forget may come late.
    """
    command = [sys.executable, "-m", "tests.fakes.talking_process", str(base), work, str(seed)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, encoding="utf-8") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        first = process.stdout.readline() if work == "forget" else ""
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        lines = (first + process.stdout.read()).splitlines()
        assert process.wait() == -signal.SIGKILL, "it was still at work"
    return lines


async def assert_as_clean_run(base: Path) -> None:
    """Assert that the index, brought up to date, is that of a process that indexes everything at once."""
    async with Opened(base) as opened:
        await opened.search.sync()
        clean = base / "clean"
        shutil.rmtree(clean, ignore_errors=True)
        (clean / ".commonplace").mkdir(parents=True)
        await opened.state.read(
            lambda db: db.execute("VACUUM INTO ?", (str(clean / ".commonplace/state.db"),)).fetchall()
        )
        async with Opened(clean) as afresh:
            await afresh.search.sync()
    index, fresh = base / ".commonplace" / INDEX_NAME, clean / ".commonplace" / INDEX_NAME
    assert_sound(index)
    assert read_index_contents(index) == read_index_contents(fresh)
    shutil.rmtree(clean)


async def complete_forgetting(base: Path, lines: list[str]) -> None:
    """Repeat the last confirmation, as the inbox does after a crash; assert that no file has any of the words."""
    words = [line.split()[0] for line in lines]
    async with Opened(base) as opened:
        asked = await opened.state.read(lambda db: forgetting.read_request(db, str(CHATS[0]), str(OWNER)))
        if lines and asked and asked.code == lines[-1].split()[1]:
            try:
                done = await opened.forgetting.confirm(asked.code, chat=CHATS[0], person=OWNER, key=KEY)
                assert done.problem == ""
            except (NothingToForget, AlreadyForgotten):
                raise AssertionError("the confirmation is lost") from None
        for word in words:
            hits = (await opened.search.search(word, chats=None)).hits
            assert word not in str(hits)
            assert (files_with(base, word), word) == ([], word)


def files_with(base: Path, word: str) -> list[str]:
    """Return the files in which a word stands."""
    return [
        str(path.relative_to(base))
        for path in base.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes()
    ]


if __name__ == "__main__":
    sync.BATCH_BYTES = sync.REBUILD_BATCH_BYTES = 2000
    asyncio.run({"index": talk, "forget": forget}[sys.argv[2]](Path(sys.argv[1]), int(sys.argv[3])))
