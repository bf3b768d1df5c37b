"""A chat platform on a local socket: people post; a bot receives, sends and edits. JSON lines both ways.

Posts are delivered until the bot has acknowledged them, again after each reconnection, and sometimes twice.
What the platform has accepted stays, even if the bot is killed before it learns of that.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

LONGEST = 400
"""Maximum characters of a message: as on real platforms, a long reply takes several."""
TWICE = 0.03
"""Probability that a message is delivered again although it was acknowledged."""


@dataclass(frozen=True, slots=True)
class Post:
    """A message from a person."""

    id: str
    chat: str
    person: str
    text: str
    sent_at: str
    """ISO 8601 with its offset."""
    edit_of: str = ""


@dataclass(slots=True)
class Shown:
    """A message of the bot, as shown in the chat."""

    id: str
    chat: str
    key: str
    """Key of the reply that it belongs to."""
    place: int
    """Index among the reply's messages."""
    connection: int
    """Number of the bot's connection that sent it, from 1."""
    at: float
    """When it was accepted; monotonic, like all times here."""
    text: str
    final_at: float | None = None
    """When the bot marked the reply as complete; set on the reply's last message."""
    answers: tuple[str, ...] = ()
    kept: bool = False
    """Whether the bot has stored that it sent this message, so that it finds it after a crash."""


class Platform:
    """The platform. Start with `async with`. Times are `time.monotonic()`."""

    def __init__(
        self,
        socket: Path,
        *,
        chance: random.Random | None = None,
        nonces: bool = False,
        twice: float = TWICE,
        latency: float = 0.004,
    ) -> None:
        """`nonces`: a second send for the same part of the same reply returns the existing message.

        `latency`: maximum seconds until the bot learns that a call was accepted.
        """
        self.socket = socket
        self.shown: list[Shown] = []
        """In order of acceptance."""
        self.posted: list[Post] = []
        self.connections = 0
        self.up = asyncio.Event()
        """Set while a bot is connected."""
        self.down = asyncio.Event()
        """Set while no bot is connected."""
        self.faults: list[str] = []
        """Violations of the platform's rules by the bot."""
        self.changed: Callable[[], None] = lambda: None
        """Called after every accepted call."""
        self._chance = chance or random.Random(1)
        self._nonces = nonces
        self._twice = twice
        self._latency = latency
        self._messages: dict[str, Shown] = {}
        self._unacknowledged: dict[int, Post] = {}
        self._numbers = iter(range(1, 1_000_000_000))
        self._bot: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None
        self._late: set[asyncio.Task[None]] = set()
        self.down.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._serve, self.socket, limit=1 << 22)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()
        self.drop()
        for task in self._late:
            task.cancel()

    def post(self, post: Post) -> None:
        """Post a message; a connected bot gets it at once."""
        number = next(self._numbers)
        self.posted.append(post)
        self._unacknowledged[number] = post
        self._deliver(number, post)

    def drop(self) -> None:
        """Drop the connection."""
        if self._bot is not None:
            self._bot.transport.abort()

    @property
    def undelivered(self) -> int:
        """Number of posts that the bot has not acknowledged."""
        return len(self._unacknowledged)

    def replies(self) -> dict[str, list[Shown]]:
        """Return all messages of each reply by its key, in order of acceptance."""
        found: dict[str, list[Shown]] = {}
        for shown in self.shown:
            found.setdefault(shown.key, []).append(shown)
        return found

    def final(self) -> Iterator[Shown]:
        """Yield the last message of each complete reply."""
        return (shown for shown in self.shown if shown.final_at is not None)

    # -- the bot's side -------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number, self._bot = self.connections, writer
        self.up.set()
        self.down.clear()
        for each, post in self._unacknowledged.items():
            self._deliver(each, post)
        try:
            while (line := await reader.readline()).endswith(b"\n"):
                self._take(json.loads(line), writer, number)
        except ConnectionError:
            pass
        finally:
            writer.close()
            if self._bot is writer:
                self._bot = None
                self.up.clear()
                self.down.set()

    def _deliver(self, number: int, post: Post) -> None:
        if self._bot is not None:
            self._tell(self._bot, {"number": number, "post": asdict(post)})

    def _take(self, said: Mapping[str, Any], writer: asyncio.StreamWriter, connection: int) -> None:
        match said:
            case {"acknowledge": number}:
                post = self._unacknowledged.pop(number, None)
                if post and self._chance.random() < self._twice:
                    self._deliver(number, post)
            case {"kept": ids}:
                for each in ids:
                    self._messages[each].kept = True
            case {"call": call, "send": fields}:
                self._answer(writer, {"call": call, "id": self._send(fields, connection)})
            case {"call": call, "edit": fields}:
                self._edit(fields)
                self._answer(writer, {"call": call})
            case {"call": call, "delete": fields}:
                if gone := self._messages.pop(fields["id"], None):
                    self.shown.remove(gone)
                self._answer(writer, {"call": call})
            case _:
                self.faults.append(f"not understood: {said}")
        self.changed()

    def _send(self, fields: Mapping[str, Any], connection: int) -> str:
        chat, key, place = fields["chat"], fields["key"], fields["place"]
        if self._nonces:
            for shown in reversed(self.shown):
                if (shown.chat, shown.key, shown.place) == (chat, key, place):
                    self._fill(shown, fields)
                    return shown.id
        shown = Shown(f"m{next(self._numbers)}", chat, key, place, connection, time.monotonic(), "")
        self.shown.append(shown)
        self._messages[shown.id] = shown
        self._fill(shown, fields)
        return shown.id

    def _edit(self, fields: Mapping[str, Any]) -> None:
        shown = self._messages.get(fields["id"])
        if shown is None or (shown.chat, shown.key) != (fields["chat"], fields["key"]):
            self.faults.append(f"an edit of a message that is not there, or is another reply's: {fields}")
        else:
            self._fill(shown, fields)

    def _fill(self, shown: Shown, fields: Mapping[str, Any]) -> None:
        if not 0 < len(fields["text"]) <= LONGEST:
            self.faults.append(f"a message of {len(fields['text'])} characters")
        shown.text = fields["text"]
        if fields["final"] and shown.final_at is None:
            shown.final_at = time.monotonic()
            shown.answers = tuple(fields["answers"])
        elif fields["final"] and shown.answers != tuple(fields["answers"]):
            self.faults.append(f"{shown.key} answered {shown.answers}, and then {fields['answers']}")
            shown.answers = tuple(dict.fromkeys((*shown.answers, *fields["answers"])))

    def _answer(self, writer: asyncio.StreamWriter, said: Mapping[str, Any]) -> None:
        """Report acceptance after a delay."""

        async def later() -> None:
            await asyncio.sleep(self._chance.random() * self._latency)
            self._tell(writer, said)

        if self._latency:
            self._late.add(task := asyncio.create_task(later()))
            task.add_done_callback(self._late.discard)
        else:
            self._tell(writer, said)

    def _tell(self, writer: asyncio.StreamWriter, said: Mapping[str, Any]) -> None:
        if not writer.is_closing():
            writer.write(json.dumps(said).encode() + b"\n")
