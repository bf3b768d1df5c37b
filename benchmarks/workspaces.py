"""Shared by the benchmarks: the command, workspaces, made-up notes, and an embedding server in its own process."""

import asyncio
import itertools
import json
import logging
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from memory.embeddings.provider_table import PROVIDERS

ROOT = Path(__file__).resolve().parent.parent
_INSTALLED = Path(sys.executable).with_name("commonplace")
COMMAND = [str(_INSTALLED)] if _INSTALLED.exists() else [sys.executable, "-m", "bot"]
KEY_VARIABLES = {variable for provider in PROVIDERS.values() for variable in provider.key_variables}
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("COMMONPLACE_") and name not in KEY_VARIABLES
}
"""Environment of the command, without settings and keys: otherwise a benchmark would send notes to a service."""
ENVIRONMENT |= {"PYTHONPATH": str(ROOT), "COMMONPLACE_LOG_FORMAT": "text"}


def make_workspace(folder: Path, notes: Path | None = None) -> Path:
    """Create a workspace in `folder`, with a copy of everything below `notes` as its memory."""
    if notes is None:
        (folder / "memory").mkdir(parents=True)
    else:
        # Not copytree's copystat: read-only notes would be copied as such.
        shutil.copytree(notes, folder / "memory", copy_function=shutil.copyfile)
        for path in (folder / "memory", *(folder / "memory").rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def write_config(file: Path, workspace: Path, **tables: dict[str, object]) -> Path:
    """Write a settings file for a workspace; `memory_embedding={…}` becomes the table `[memory.embedding]`."""
    lines = [f"workspace = {json.dumps(str(workspace))}"]
    for name, values in tables.items():
        lines += ["", f"[{name.replace('_', '.')}]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


# -- process costs -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a process."""

    seconds: float
    """User and system time."""
    megabytes: float
    """Maximum memory."""


def run_measured(
    command: Sequence[str], folder: Path, *, environment: Mapping[str, str] = ENVIRONMENT
) -> Cost:
    """Run a command to its end and return its cost; exits if it fails."""
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6)


# -- notes --------------------------------------------------------------------------------------------------

_COMMON = (
    "the of and to a in is it that was for on are with as at be this have from or had by not but what all were when"
    " we there can an your which their said if do will each about how up out them then she many some so these would"
    " other into has more her two like him see time could no make than first been its who now my made over did down"
)
_BEGINNINGS = "b br c ch d dr f fl g gr h j k l m n p pl pr qu r s sh st t tr v w"
_MIDDLES = "a e i o u ai ea ee oa ou"
_ENDS = "b ck d g l ll m n nd ng nt p r rd rt s ss st t x"
_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ly", "tion", "ment", "ness", "able")
_ROOTS = 6_000


class MadeUpNotes:
    """Realistic Markdown, with words by Zipf's law: the same text for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        beginnings, middles, ends = _BEGINNINGS.split(), _MIDDLES.split(), _ENDS.split()
        short, long = (beginnings, middles, ends), (beginnings, middles, beginnings, middles, ends)
        roots = [
            "".join(map(self._random.choice, parts)) for parts in (short, long) for _ in range(_ROOTS // 2)
        ]
        rare = [root + ending for root in roots for ending in self._random.sample(_ENDINGS, 5)]
        self._random.shuffle(rare)
        self._words = [*_COMMON.split(), *dict.fromkeys(rare)]
        self._weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self._words))))

    def words(self, count: int) -> str:
        """Return this many words, weighted by frequency."""
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=count))

    def sentence(self) -> str:
        """Return a sentence of 6 to 18 words, some with a date, a name or a number."""
        extra = self._random.random()
        tail = (
            f" on {self.day()}" if extra < 0.1 else f" with {self.words(1).title()}" if extra < 0.25 else ""
        )
        return f"{self.words(self._random.randint(6, 18)).capitalize()}{tail}."

    def day(self) -> str:
        """Return a day of some year."""
        at = self._random.randint
        return f"{at(2015, 2026)}-{at(1, 12):02}-{at(1, 28):02}"

    def note(self, size: int) -> str:
        """Return a note of about this many bytes: a title, headings, paragraphs, lists, sometimes a table."""
        pieces = [f"# {self.words(3).title()}\n"]
        left = size - len(pieces[0])
        while left > 0:
            piece = "\n" + self._piece()
            left -= len(piece)
            pieces.append(piece)
        text = "".join(pieces)[: size - 1]
        return text.rstrip() + "\n"

    def _piece(self) -> str:
        at = self._random
        kind = at.random()
        if kind < 0.15:
            return f"## {self.words(at.randint(2, 5)).capitalize()}\n"
        if kind < 0.5:
            return "".join(f"- {self.sentence()}\n" for _ in range(at.randint(2, 7)))
        if kind < 0.55:
            rows = "".join(f"| {self.words(2)} | {at.randint(1, 999)} |\n" for _ in range(at.randint(2, 5)))
            return f"| {self.words(1)} | {self.words(1)} |\n|---|---|\n{rows}"
        return " ".join(self.sentence() for _ in range(at.randint(2, 6))) + "\n"


def write_notes(folder: Path, count: int, *, size: int = 4000, seed: int = 1) -> None:
    """Write made-up notes, a hundred per folder."""
    notes = MadeUpNotes(seed)
    for number in range(count):
        note = folder / f"{number // 100:03}" / f"note-{number:05}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(notes.note(size), "utf-8")


# -- an embedding server ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the server."""

    texts: tuple[str, ...]
    base64: bool


class EmbeddingService:
    """The tests' server in a process of its own, so that its CPU time is not counted as ours."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.base_url, self.key = connection.recv()

    def requests(self) -> list[Request]:
        """Return all requests since the last call."""
        self._connection.send(None)
        found: list[Request] = self._connection.recv()
        return found

    def settings(self, **more: object) -> dict[str, object]:
        """Return the settings table `memory.embedding` for this server."""
        return {"provider": "openai", "base_url": self.base_url, "api_key": self.key, **more}


@contextmanager
def embedding_service(*, delay: float = 0.0) -> Iterator[EmbeddingService]:
    """Run a server in OpenAI's format, base64 included, with `delay` seconds for each answer."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(there, delay), daemon=True)
    process.start()
    try:
        yield EmbeddingService(here)
    finally:
        process.kill()
        process.join()


def _serve(connection: Connection, delay: float) -> None:
    logging.disable()  # it would log every client that was killed
    sys.path.insert(0, str(ROOT))
    from tests.fakes.embedding_server import EmbeddingServer

    async def serve() -> None:
        async with EmbeddingServer(delay=delay) as server:
            connection.send((server.base_url("openai"), server.key))
            while True:
                await asyncio.to_thread(connection.recv)
                connection.send([Request(asked.texts, asked.base64) for asked in server.requests])
                server.requests.clear()

    asyncio.run(serve())
