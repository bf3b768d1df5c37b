import asyncio
import json
import random
import re
import signal
import time
from pathlib import Path

import pytest

from bot.conversations.conversation import Conversation
from bot.messages import ChatId
from bot.models.protocol import UserMessage
from bot.process_lock import ProcessLock
from bot.state.database import State
from tests.fakes.commonplace import Commonplace, CommonplaceHere


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    return CommonplaceHere(tmp_path)


def private(commonplace: Commonplace) -> Path:
    return commonplace.folder / "workspace" / ".commonplace"


async def said(commonplace: Commonplace, text: str, chat: str = "terminal:main") -> None:
    async with State(private(commonplace) / "state.db") as state:
        conversation = Conversation(state, ChatId.parse(chat))
        await conversation.load()
        await conversation.append(UserMessage(text))


def filled(commonplace: Commonplace) -> Commonplace:
    commonplace.memory.mkdir(parents=True)
    (commonplace.memory / "house.md").write_text("The boiler is blue.\n")
    asyncio.run(said(commonplace, "a private word"))
    return commonplace


def test_backup_and_restore(commonplace: Commonplace) -> None:
    filled(commonplace)
    shown = commonplace.output_of("backup", "mine.tar.gz")
    assert re.match(r"Wrote mine\.tar\.gz \(files: 1, size: [0-9.]+ kB\)\.", shown), shown
    (commonplace.memory / "house.md").write_text("The boiler is gone.\n")
    shown = commonplace.output_of("restore", "mine.tar.gz")
    assert "The previous state is kept in " in shown
    assert "private word" not in shown
    assert (commonplace.memory / "house.md").read_text() == "The boiler is blue.\n"
    found = json.loads(commonplace.output_of("memory", "search", "boiler", "--json"))
    assert [hit["snippet"] for hit in found["results"]] == ["The boiler is blue."]
    assert "a private word" in commonplace.output_of("export")


def test_without_a_file_it_goes_into_the_workspace(commonplace: Commonplace) -> None:
    filled(commonplace).output_of("backup")
    (file,) = (private(commonplace) / "backups").iterdir()
    assert file.name.startswith("commonplace-20")


def test_what_cannot_be_done_is_one_line(commonplace: Commonplace) -> None:
    assert "nothing to back up in" in commonplace.error_of("backup")
    assert "no conversations" in commonplace.error_of("export")
    assert list(commonplace.memory.parent.iterdir()) == []
    filled(commonplace)
    assert "no such file" in commonplace.error_of("restore", "nowhere.tar.gz")
    (commonplace.folder / "foreign.tar.gz").write_bytes(b"foreign")
    assert "not made by `commonplace backup`" in commonplace.error_of("restore", "foreign.tar.gz")
    assert "already exists" in commonplace.error_of("backup", "foreign.tar.gz")
    assert "the chats are: terminal:main" in commonplace.error_of("export", "telegram:1")
    assert "FILE" in commonplace.error_of("restore", code=2)
    assert "needs a folder" in commonplace.error_of("export", "--out", "foreign.tar.gz", code=2)


def test_restore_refuses_while_the_workspace_is_open(commonplace: Commonplace) -> None:
    filled(commonplace).output_of("backup", "mine.tar.gz")
    with ProcessLock(private(commonplace) / "locks"):
        assert "this workspace is in use" in commonplace.error_of("restore", "mine.tar.gz")
        commonplace.output_of("backup", "another.tar.gz")


@pytest.mark.thorough
def test_restore_refuses_while_a_backup_is_made(tmp_path: Path) -> None:
    commonplace = filled(Commonplace(tmp_path))
    commonplace.output_of("backup", "mine.tar.gz")
    (commonplace.memory / "large.bin").write_bytes(random.Random(0).randbytes(60_000_000))
    with commonplace.start("backup", "other.tar.gz") as running:
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob(".commonplace-backup-*")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert "in use by a service, a chat or a backup" in commonplace.error_of("restore", "mine.tar.gz")
        assert running.wait(30) == 0
    commonplace.output_of("restore", "mine.tar.gz")


def test_while_a_restore_is_not_done_nothing_opens_the_workspace(commonplace: Commonplace) -> None:
    filled(commonplace).output_of("backup", "mine.tar.gz")
    (private(commonplace) / "restore.json").write_text("{}")
    for command in (["run"], ["chat", "-m", "x"], ["memory", "search", "x"], ["export"], ["backup"]):
        assert "run `commonplace restore FILE` again" in commonplace.error_of(*command)
    assert "is damaged: delete it" in commonplace.error_of("restore", "mine.tar.gz")


def test_export_to_files_and_for_programs(commonplace: Commonplace) -> None:
    filled(commonplace)
    asyncio.run(said(commonplace, "\x1b[2J elsewhere \x9b1m", "telegram:-1/../x"))
    lines = commonplace.output_of("export", "telegram:-1/../x", "--json")
    assert "\x9b" not in lines
    head, entry = map(json.loads, lines.splitlines())
    assert (head["chat"], entry["payload"]["text"]) == ("telegram:-1/../x", "\x1b[2J elsewhere \x9b1m")
    assert "\x1b" not in commonplace.output_of("export")
    for _ in range(2):  # a later export takes the place of an earlier one
        assert commonplace.output_of("export", "--out", "out") == "Wrote 2 conversations to out.\n"
    out = commonplace.folder / "out"
    assert sorted(path.name for path in out.iterdir()) == ["telegram-1-x-00002.md", "terminal-main-00001.md"]
    assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o600}
    assert out.stat().st_mode & 0o777 == 0o700
    assert "a private word" in (out / "terminal-main-00001.md").read_text()


@pytest.mark.thorough
def test_an_interrupted_backup_leaves_nothing(tmp_path: Path) -> None:
    process = filled(Commonplace(tmp_path))
    (process.memory / "large.bin").write_bytes(random.Random(0).randbytes(60_000_000))
    with process.start("backup", "mine.tar.gz") as running:
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob(".commonplace-backup-*")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        assert (running.wait(10), running.stderr and running.stderr.read()) == (130, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["workspace"]
    assert list((private(process) / "tmp").iterdir()) == []
