"""The gateway: websockets that send events to bots, and their sessions."""

import asyncio
import contextlib
import importlib.util
import itertools
import json
import time
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSCloseCode, WSMsgType, web

from tests.fakes.discord_api import wire
from tests.fakes.discord_api.chats import Bot, Guild
from tests.fakes.faults import reset

if TYPE_CHECKING:
    from tests.fakes.discord_api.world import World

Json = dict[str, Any]

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, VOICE_STATE, RESUME = 0, 1, 2, 3, 4, 6
RECONNECT, REQUEST_MEMBERS, INVALID_SESSION, HELLO, HEARTBEAT_ACK = 7, 8, 9, 10, 11

GUILDS, GUILD_MEMBERS, GUILD_MESSAGES, GUILD_REACTIONS, GUILD_TYPING = (
    1 << 0,
    1 << 1,
    1 << 9,
    1 << 10,
    1 << 11,
)
DIRECT_MESSAGES, DIRECT_REACTIONS, DIRECT_TYPING = 1 << 12, 1 << 13, 1 << 14
KNOWN_INTENTS = sum(1 << bit for bit in (*range(17), 20, 21, 24, 25))

FATAL = (4004, 4010, 4011, 4012, 4013, 4014)
ENDS_SESSION = (*FATAL, 4003, 4007, 4009)
MAX_BYTES = 4096


@dataclass(eq=False)
class Session:
    """A session begun with IDENTIFY; it outlives its connections for a while."""

    id: str
    bot: Bot
    intents: int
    shard: tuple[int, int] | None
    connection: "Connection | None" = None
    seq: int = 0
    events: deque[Json] = field(default_factory=lambda: deque(maxlen=5000), repr=False)
    """The latest events, for resuming."""
    left: float = 0.0
    """When its connection was lost."""
    replaying: bool = False

    def wants(self, intent: int, guild: Guild | None) -> bool:
        if intent and not self.intents & intent:
            return False
        number, count = self.shard or (0, 1)
        return (guild.id >> 22) % count == number if guild else number == 0

    def send(self, event: str, data: Json) -> None:
        self.seq += 1
        payload = {"op": DISPATCH, "t": event, "s": self.seq, "d": data}
        self.events.append(payload)
        if self.connection is not None:
            self.connection.put(payload)


@dataclass(frozen=True, slots=True)
class Begun:
    """An IDENTIFY or RESUME."""

    time: float
    """`time.monotonic`."""
    path: str
    """Path of the requested URL."""
    given: Json
    accepted: bool


class Connection:
    """One websocket."""

    def __init__(self, gateway: "Gateway", request: web.BaseRequest) -> None:
        self.gateway = gateway
        self.request = request
        self.socket = web.WebSocketResponse(heartbeat=None, autoping=True, max_msg_size=0, compress=False)
        self.session: Session | None = None
        self.close_code: int | None = None
        """Close code sent by the bot."""
        self.heartbeats = 0
        self._pack: Callable[[bytes], bytes] | None = None
        self._queue: asyncio.Queue[Json] = asyncio.Queue()
        self._sent: deque[float] = deque()
        self._heard = time.monotonic()
        self._ending = False

    def put(self, payload: Json) -> None:
        if not self.gateway.silent:
            self._queue.put_nowait(payload)

    async def serve(self) -> web.WebSocketResponse:
        await self.socket.prepare(self.request)
        writer = asyncio.create_task(self._write())
        watch = asyncio.create_task(self._watch_heartbeats())
        try:
            if self.gateway.hangs_up:
                await self.end(4000)
                return self.socket
            if self.request.query.get("v") != "10":
                await self.end(4012)
                return self.socket
            self._pack = packer(self.request.query.get("compress", ""))
            self.put({"op": HELLO, "t": None, "s": None, "d": {"heartbeat_interval": self.gateway.beat_ms}})
            async for message in self.socket:
                if message.type is WSMsgType.TEXT:
                    self.gateway.world.notify_waiters()
                    await self._take(message.data)
            if not self._ending:
                self.close_code = self.socket.close_code
        finally:
            writer.cancel()
            watch.cancel()
            self.gateway.on_disconnect(self)
            await asyncio.gather(writer, watch, return_exceptions=True)
        return self.socket

    async def end(self, code: int) -> None:
        """Close with this code; 1006 breaks the connection without a close frame."""
        self._ending = True
        if code == WSCloseCode.ABNORMAL_CLOSURE:
            self.abort()
            return
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(1):
                # Deliver everything sent before.
                await self._queue.join()
                await self.socket.close(code=code)

    def abort(self) -> None:
        reset(self.request)

    async def _write(self) -> None:
        while True:
            payload = await self._queue.get()
            text = json.dumps(payload, separators=(",", ":"), ensure_ascii=False)
            try:
                if self._pack is not None:
                    await self.socket.send_bytes(self._pack(text.encode()))
                else:
                    await self.socket.send_str(text)
            except (ConnectionError, RuntimeError):
                return
            finally:
                self._queue.task_done()

    async def _watch_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(self.gateway.heartbeat_interval)
            if time.monotonic() - self._heard > 2 * self.gateway.heartbeat_interval:
                await self.end(4000)

    async def _take(self, text: str) -> None:
        now = time.monotonic()
        self._sent.append(now)
        while self._sent[0] <= now - 60:
            self._sent.popleft()
        if len(self._sent) > 120:
            await self.end(4008)
            return
        try:
            said = json.loads(text)
            op, data = said["op"], said.get("d")
        except (ValueError, TypeError, KeyError):
            await self.end(4002)
            return
        if len(text.encode()) > MAX_BYTES:
            await self.end(4002)
        elif op == HEARTBEAT:
            self._heard = now
            self.heartbeats += 1
            if self.gateway.acknowledges:
                self.put({"op": HEARTBEAT_ACK, "t": None, "s": None, "d": None})
        elif op in (IDENTIFY, RESUME) and self.gateway.begins_none:
            await self.end(4000)
        elif op == IDENTIFY:
            await self._identify(data)
        elif op == RESUME:
            await self._resume(data)
        elif self.session is None:
            await self.end(4003)
        elif op == REQUEST_MEMBERS:
            self.gateway.world.tell_members(self.session, data)
        elif op not in (PRESENCE, VOICE_STATE, 31, 43):
            await self.end(4001)

    async def _identify(self, data: Json) -> None:
        if self.session is not None:
            await self.end(4005)
            return
        session = self.gateway.identify(data, self.request.path)
        if isinstance(session, int):
            await self.end(session)
        elif session is None:
            self.put({"op": INVALID_SESSION, "t": None, "s": None, "d": False})
        else:
            self.session, session.connection = session, self
            self.gateway.greet(session)

    async def _resume(self, data: Json) -> None:
        if self.session is not None:
            await self.end(4005)
            return
        session = self.gateway.resume(data, self.request.path)
        if isinstance(session, int):
            await self.end(session)
        elif session is None:
            self.put({"op": INVALID_SESSION, "t": None, "s": None, "d": False})
        else:
            if session.connection is not None:
                session.connection.session = None
                session.connection.abort()
            missed = [event for event in session.events if event["s"] > data["seq"]]
            self.session, session.connection = session, self
            for event in missed:
                self.put(event)
            session.send("RESUMED", {"_trace": []})


class Gateway:
    """All connections of all bots, with controls for tests."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.connections: list[Connection] = []
        """All connections ever made."""
        self.identified: list[Begun] = []
        self.resumed: list[Begun] = []
        self.heartbeat_interval = 41.25
        """Seconds."""
        self.acknowledges = True
        """Whether heartbeats are acknowledged."""
        self.silent = False
        """Simulates a zombie: connections stay open but nothing arrives; resuming delivers what was missed."""
        self.hangs_up = False
        """Whether to close each new connection before sending anything."""
        self.begins_none = False
        """Whether to close each connection on IDENTIFY or RESUME."""
        self.session_seconds = 180.0
        """How long a session can be resumed."""
        self.enforces_starts = False
        """Whether a second IDENTIFY within 5 s gets an invalid session."""
        self._numbers = itertools.count(1)

    @property
    def beat_ms(self) -> int:
        return int(self.heartbeat_interval * 1000)

    @property
    def open(self) -> list[Connection]:
        """Return the connections with a session."""
        return [one for one in self.connections if one.session is not None]

    @property
    def sessions(self) -> list[Session]:
        return [session for bot in self.world.bots.values() for session in bot.sessions]

    # -- for tests -------------------------------------------------------------------------------------------

    async def close(self, code: int, *, forget: bool | None = None) -> None:
        """Close all connections with a code; `forget`: whether to end the sessions, by default as the code implies."""
        forget = code in ENDS_SESSION if forget is None else forget
        for connection in self.open:
            if forget and connection.session:
                self.drop(connection.session)
            await connection.end(code)
        await self.world.wait_until(lambda: not self.open, what="the end of all connections")

    async def reconnect(self) -> None:
        """Ask bots to reconnect and resume."""
        self._tell({"op": RECONNECT, "t": None, "s": None, "d": None})

    async def invalidate(self, *, resumable: bool = False) -> None:
        for connection in self.open:
            session = connection.session
            connection.put({"op": INVALID_SESSION, "t": None, "s": None, "d": resumable})
            if session and not resumable:
                self.drop(session)

    async def ask_heartbeat(self) -> None:
        self._tell({"op": HEARTBEAT, "t": None, "s": None, "d": None})

    async def send_raw(self, payload: Json) -> None:
        """Send any payload over all connections, without a sequence number."""
        self._tell(payload)

    def forget(self) -> None:
        """Invalidate all sessions without closing connections."""
        for session in self.sessions:
            if session.connection is None:
                self.drop(session)
            else:
                session.id = f"{session.id} is no more"

    def _tell(self, payload: Json) -> None:
        for connection in self.open:
            connection.put(payload)

    # -- bots ------------------------------------------------------------------------------------------------

    def identify(self, data: Json, path: str) -> "Session | int | None":
        """Return a new session, a close code, or None if it came too soon."""
        bot = next((one for one in self.world.bots.values() if one.token == data.get("token")), None)
        code = self._objection(bot, data)
        now = time.monotonic()
        soon = any(one.accepted and now - one.time < 5.0 for one in self.identified)
        accepted = code is None and not (soon and self.enforces_starts)
        self.identified.append(Begun(now, path, data, accepted))
        if code is not None:
            return code
        assert bot
        if not accepted:
            return None
        bot.starts_left -= 1
        shard = data.get("shard")
        name = f"{bot.id:x}{next(self._numbers):08x}"
        session = Session(name, bot, data["intents"], tuple(shard) if shard else None)
        bot.sessions.append(session)
        return session

    def _objection(self, bot: Bot | None, data: Json) -> int | None:
        intents = data.get("intents")
        if bot is None or bot.starts_left <= 0:
            return 4004
        if not isinstance(intents, int) or intents & ~KNOWN_INTENTS:
            return 4013
        if intents & wire.PRIVILEGED & ~bot.granted:
            return 4014
        number, count = data.get("shard") or (0, 1)
        if not 0 <= number < count:
            return 4010
        return 4011 if count < bot.shards else None

    def resume(self, data: Json, path: str) -> "Session | int | None":
        """Return the session, a close code, or None if it no longer exists."""
        bot = next((one for one in self.world.bots.values() if one.token == data.get("token")), None)
        session = None
        if bot is not None:
            for one in list(bot.sessions):
                if one.connection is None and self.world.clock() - one.left > self.session_seconds:
                    self.drop(one)
            session = next((one for one in bot.sessions if one.id == data.get("session_id")), None)
        ahead = session is not None and (data.get("seq") or 0) > session.seq
        accepted = session is not None and not ahead and isinstance(data.get("seq"), int)
        self.resumed.append(Begun(time.monotonic(), path, data, accepted))
        if bot is None:
            return 4004
        if session is not None and ahead:
            self.drop(session)
            return 4007
        return session if accepted else None

    def greet(self, session: Session) -> None:
        bot = session.bot
        guilds = [
            one for one in self.world.guilds.values() if bot.id in one.members and session.wants(0, one)
        ]
        ready: Json = {
            "v": 10,
            "user": wire.me_json(bot),
            "guilds": [{"id": str(one.id), "unavailable": True} for one in guilds],
            "session_id": session.id,
            "resume_gateway_url": self.world.resume_url,
            "session_type": "normal",
            "private_channels": [],
            "application": {
                "id": str(bot.id),
                "flags": wire.application_json(bot, bot)["flags"],
            },
        }
        if session.shard:
            ready["shard"] = list(session.shard)
        session.send("READY", ready)
        if session.intents & GUILDS:
            for guild in guilds:
                if guild.available:
                    data = wire.guild_json(guild, bot)
                    session.send("GUILD_CREATE", {**data, "unavailable": False})
                else:
                    session.send("GUILD_DELETE", {"id": str(guild.id), "unavailable": True})

    def on_disconnect(self, connection: Connection) -> None:
        """Handle a bot's disconnect: codes 1000 and 1001 end the session, otherwise it can be resumed."""
        session, connection.session = connection.session, None
        if session is not None and session.connection is connection:
            session.connection, session.left = None, self.world.clock()
            if connection.close_code in (1000, 1001):
                self.drop(session)
        self.world.notify_waiters()

    def drop(self, session: Session) -> None:
        if session in session.bot.sessions:
            session.bot.sessions.remove(session)


def packer(kind: str) -> Callable[[bytes], bytes] | None:
    """Return a compressor for one connection; None without compression."""
    if kind == "zlib-stream":
        stream = zlib.compressobj()
        return lambda data: stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)
    if kind == "zstd-stream":
        # Only a bot with zstd asks for it, and then it is here too: as a package, or from Python 3.14 on.
        if importlib.util.find_spec("zstandard"):
            package: Any = importlib.import_module("zstandard")
            other, flush = package.ZstdCompressor().compressobj(), package.COMPRESSOBJ_FLUSH_BLOCK
            return lambda data: bytes(other.compress(data) + other.flush(flush))
        own: Any = importlib.import_module("compression.zstd").ZstdCompressor()
        return lambda data: bytes(own.compress(data, own.FLUSH_BLOCK))
    return None
