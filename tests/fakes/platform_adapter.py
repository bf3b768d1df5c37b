"""The adapter for `chat_platform`: a channel like the real ones, without the network."""

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from bot.messages import (
    AcceptMessage,
    Attachment,
    AttachmentLost,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    PersonId,
    Reply,
    ReplyPart,
    WriteChunk,
)
from tests.fakes.chat_platform import LONGEST

log = logging.getLogger(__name__)

REPEATED_PRESS_SECONDS = 0.05
"""Seconds between attempts to connect, or to send a message."""


class PlatformAdapter:
    """Sends a reply once there is text and edits it as it grows; after a crash it edits the stored message."""

    def __init__(self, socket: Path, *, name: str = "fake", edit_every: float = 0.05) -> None:
        """`edit_every`: minimum seconds between two edits of a reply, except the last."""
        self._socket = socket
        self._name = name
        self._edit_every = edit_every
        self._up = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._calls: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._numbers = count(1)
        self._posts: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        self._link: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def health(self) -> ChannelHealth:
        return ChannelHealth("up")

    def home_of(self, person: PersonId) -> ChatId | None:
        return ChatId(person.channel, person.id)

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        raise AttachmentLost("nothing is kept here")

    def serves(self, chat: ChatId) -> bool:
        return chat.channel == self._name

    # -- receiving ------------------------------------------------------------------------------------------

    async def run(self, accept: AcceptMessage) -> None:
        """Calls to the platform continue when this is cancelled, as HTTP requests do."""
        self._link = asyncio.create_task(self._stay_connected())
        while True:
            said = await self._posts.get()
            while True:
                try:
                    await accept(self._message(said["post"]))
                    break
                except Exception as error:  # noqa: BLE001 - whatever it is, the message must not be lost
                    log.warning("a message was not accepted and is handed over again: %s", error)
                    await asyncio.sleep(REPEATED_PRESS_SECONDS)
            self._tell({"acknowledge": said["number"]})

    async def _stay_connected(self) -> None:
        while True:
            try:
                await self._read()
            except OSError as error:
                log.info("the platform is not there: %s", error)
            await asyncio.sleep(REPEATED_PRESS_SECONDS)

    async def _read(self) -> None:
        reader, writer = await asyncio.open_unix_connection(self._socket, limit=1 << 22)
        self._writer = writer
        self._up.set()
        try:
            while (line := await reader.readline()).endswith(b"\n"):
                said = json.loads(line)
                if "post" in said:
                    self._posts.put_nowait(said)
                elif (call := self._calls.pop(said["call"], None)) and not call.done():
                    call.set_result(said)
        finally:
            self._up.clear()
            self._writer = None
            while not self._posts.empty():  # unacknowledged posts are delivered again
                self._posts.get_nowait()
            for call in self._calls.values():
                if not call.done():
                    call.set_exception(ConnectionResetError("the platform is gone"))
            self._calls.clear()
            writer.close()

    def _message(self, post: Mapping[str, str]) -> IncomingMessage:
        return IncomingMessage(
            id=post["id"],
            chat=ChatId(self._name, post["chat"]),
            sender=PersonId(self._name, post["person"]),
            text=post["text"],
            sent_at=datetime.fromisoformat(post["sent_at"]),
            sender_name=post["person"],
            edit_of=post["edit_of"],
        )

    # -- showing --------------------------------------------------------------------------------------------

    async def render(self, reply: Reply) -> None:
        shown = list(reply.shown)
        texts: list[str | None] = [None] * len(shown)  # text known to be shown
        edited = 0.0
        async for part in reply.parts:
            if not part.text.strip():
                if part.final:
                    raise ValueError(f"{reply.key} ends in nothing")
                continue
            if not part.final and shown and time.monotonic() - edited < self._edit_every:
                continue
            await self._show(reply, part, shown, texts)
            edited = time.monotonic()

    async def _show(self, reply: Reply, part: ReplyPart, shown: list[str], texts: list[str | None]) -> None:
        pages = [part.text[at : at + LONGEST] for at in range(0, len(part.text), LONGEST)]
        for place, text in enumerate(pages):
            last = part.final and place == len(pages) - 1
            fields = {
                "chat": reply.chat.name,
                "key": reply.key,
                "place": place,
                "text": text,
                "final": last,
                "answers": part.answers if last else (),
            }
            if place == len(shown):
                shown.append((await self._call("send", fields))["id"])
                texts.append(text)
                await self._keep(reply, shown)
            elif last or texts[place] != text:
                await self._call("edit", {**fields, "id": shown[place]})
                texts[place] = text
        while len(shown) > len(pages):
            await self._call("delete", {"id": shown.pop()})
            texts.pop()
            await self._keep(reply, shown)

    async def _keep(self, reply: Reply, shown: Sequence[str]) -> None:
        await reply.keep(list(shown))
        self._tell({"kept": list(shown)})

    async def _call(self, method: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._up.wait()
        number = next(self._numbers)
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        self._tell({"call": number, method: fields})
        return await answer

    def _tell(self, said: Mapping[str, Any]) -> None:
        if self._writer is not None:
            self._writer.write(json.dumps(said).encode() + b"\n")
