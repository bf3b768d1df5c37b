"""A process that says something in the terminal's chat, forgets it, and is killed in between.

Run it as `python -m tests.fakes.forgetting_process FOLDER COMMIT before|after`: it kills itself around the commit of
state.db with this number, counted from 0 when it begins to forget.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from bot.config.settings import Settings
from bot.conversations.message_rows import encode_message
from bot.forget_said import SaidPart, forget_said
from bot.models.protocol import UserMessage
from bot.service.adapters import INPUT_HISTORY_FILE
from bot.service.open_assistant import open_assistant
from bot.state.database import State

Result = TypeVar("Result")

SAID = ("xylophagous beetles", "the xylophagous beetle lives in oaks")
ROOT = Path(__file__).parent.parent.parent


def run_and_kill(folder: Path, commit: int, moment: str) -> None:
    """Run the process until it has killed itself."""
    command = [sys.executable, "-m", "tests.fakes.forgetting_process", str(folder), str(commit), moment]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


class MortalState(State):
    """A state.db whose process dies around one of its commits."""

    commits_left: int | None = None
    moment = ""

    async def change(self, work: Callable[[apsw.Connection], Result]) -> Result:
        if self.commits_left is None:
            return await super().change(work)
        self.commits_left -= 1
        if self.commits_left == -1 and self.moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = await super().change(work)
        if self.commits_left == -1:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


async def _main(folder: Path, commit: int, moment: str) -> None:
    settings = Settings.model_validate({"workspace": folder})
    async with open_assistant(settings, alone=True) as assistant:
        services, state = assistant.services, assistant.services.state
        entries = [encode_message(UserMessage(each), by="terminal:owner") for each in SAID]
        rows = await state.append(None, "terminal:owner", entries, after=0)
        lines = "".join(f"\n# 2026-11-28 12:00:00\n+{each}\n" for each in (*SAID, "what I keep"))
        (settings.private_folder / INPUT_HISTORY_FILE).write_text(lines)
        state.__class__ = MortalState
        assert isinstance(state, MortalState)
        state.commits_left, state.moment = commit, moment
        await forget_said(services, SaidPart(rows[0].conversation), upto=rows[-1].seq)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
