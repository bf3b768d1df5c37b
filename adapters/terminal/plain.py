"""The plain terminal for pipes and files: lines in, replies out."""

import asyncio
import codecs
import contextlib
import os
import select
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from secrets import token_hex
from typing import TextIO

from adapters.terminal.exit_words import is_exit
from bot.messages import (
    AcceptMessage,
    Attachment,
    AttachmentLost,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    PersonId,
    Reply,
    WriteChunk,
)
from bot.sanitize import strip_controls

UNANSWERED_AT_ONCE = 16
"""Lines read ahead of their answers, so that `/stop` can overtake a turn; others wait in the pipe."""
LINES_READ_AHEAD = 64
MAX_LINE_CHARS = 1_000_000
"""Maximum characters; a longer line becomes several."""


class PlainTerminal:
    """Each line is a message; each final reply is printed unchanged except for control characters."""

    def __init__(
        self,
        *,
        chat: ChatId,
        sender: PersonId,
        now: Callable[[], datetime],
        stdin: int,
        stdout: TextIO,
        language: str = "",
    ) -> None:
        """`stdin`: a readable file descriptor, also of a plain file; `language`: as in IncomingMessage."""
        self.name = chat.channel
        self._chat = chat
        self._sender = sender
        self._now = now
        self._stdin = stdin
        self._stdout = stdout
        self._language = language
        self._printing = asyncio.Lock()
        self._room = asyncio.Semaphore(UNANSWERED_AT_ONCE)
        self._waiting: set[str] = set()
        self._all_answered = asyncio.Event()
        self._write_error: asyncio.Future[OSError] = asyncio.get_running_loop().create_future()

    async def run(self, accept: AcceptMessage) -> None:
        """Accept lines until the input ends or a line leaves, and wait for all answers.

        Raises OSError if an answer cannot be printed.
        """
        talking = asyncio.create_task(self._take_lines(accept))
        self._write_error.add_done_callback(lambda _: talking.cancel())
        try:
            await talking
        except asyncio.CancelledError:
            talking.cancel()
            if self._write_error.done():
                raise self._write_error.result() from None
            raise

    async def _take_lines(self, accept: AcceptMessage) -> None:
        async for line in _iter_lines(self._stdin):
            text = line.strip()
            if is_exit(text):
                break
            if not text:
                continue
            await self._room.acquire()
            message = IncomingMessage(
                id=token_hex(8),
                chat=self._chat,
                sender=self._sender,
                text=text,
                sent_at=self._now(),
                language=self._language,
                alone=True,
            )
            self._waiting.add(message.id)
            await accept(message)
        while self._waiting:
            self._all_answered.clear()
            await self._all_answered.wait()

    @property
    def health(self) -> ChannelHealth:
        """Always up: the channel ends with its terminal."""
        return ChannelHealth("up")

    def home_of(self, person: PersonId) -> ChatId | None:
        """Return None: the terminal only shows replies to its own messages."""
        del person
        return None

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        """Raise AttachmentLost: lines have no attachments."""
        raise AttachmentLost

    def serves(self, chat: ChatId) -> bool:
        """Return whether this is the terminal's chat."""
        return chat == self._chat

    async def render(self, reply: Reply) -> None:
        """Print the final reply; a slow reader delays nothing else."""
        text = ""
        try:
            async for part in reply.parts:
                text = part.text
            await self._say(text)
        finally:
            if reply.to and reply.to.id in self._waiting:
                self._waiting.remove(reply.to.id)
                self._room.release()
                self._all_answered.set()

    async def _say(self, text: str) -> None:
        try:
            async with self._printing:
                await asyncio.to_thread(self._print, strip_controls(text).rstrip("\n") + "\n")
        except OSError as error:  # a closed pipe or full disk; the command line reports it
            if not self._write_error.done():
                self._write_error.set_result(error)

    def _print(self, text: str) -> None:
        self._stdout.write(text)
        self._stdout.flush()


async def _iter_lines(stdin: int) -> AsyncIterator[str]:
    """Yield lines of UTF-8, including a last one without a line break; invalid bytes are replaced."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[str | None] = asyncio.Queue()
    ahead = threading.Semaphore(LINES_READ_AHEAD)

    def read() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            for line in _read_lines(stdin):
                ahead.acquire()
                loop.call_soon_threadsafe(arrived.put_nowait, line)
            loop.call_soon_threadsafe(arrived.put_nowait, None)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while (line := await arrived.get()) is not None:
        ahead.release()
        yield line


def _read_lines(stdin: int) -> Iterator[str]:
    # Not sys.stdin: a thread blocked in Python's buffer would break the interpreter's exit.
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    rest, data = "", b"to begin with"
    while data:
        try:
            data = os.read(stdin, 65_536)
        except BlockingIOError:  # another program made the pipe non-blocking
            select.select([stdin], [], [])
            continue
        except OSError:  # a terminal that hung up
            data = b""
        *lines, rest = (rest + decoder.decode(data, final=not data)).split("\n")
        yield from lines
        if len(rest) > MAX_LINE_CHARS or not data:
            yield rest
            rest = ""
