"""What stands between an instance and the server: counts what is asked, and can be cut or stopped."""

import asyncio
from urllib.parse import urlsplit


class Relay:
    """A port of its own that leads to the server."""

    def __init__(self, url: str) -> None:
        self._there = urlsplit(url)
        self.asked = 0
        """How many packets went to the server."""
        self.is_cut = False
        """Whether nobody gets through."""
        self.flows = asyncio.Event()
        """Cleared, it keeps all it is given to itself, and hangs up on nobody."""
        self.flows.set()
        self._serving: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return self._there._replace(netloc=f"postgres@127.0.0.1:{port}").geturl()

    def cut(self) -> None:
        """Hang up, and let nobody through any more."""
        self.is_cut = True
        self.drop()

    def drop(self) -> None:
        """Hang up."""
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        self.flows.set()
        self.cut()
        self._server.close()
        await asyncio.gather(*self._serving)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        assert self._there.hostname
        assert self._there.port
        try:
            from_server, to_server = await asyncio.open_connection(self._there.hostname, self._there.port)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, to_server}
        await asyncio.gather(
            self._pass(reader, to_server, count=True), self._pass(from_server, writer, count=False)
        )

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, count: bool) -> None:
        try:
            while data := await reader.read(1 << 20):
                self.asked += count
                await self.flows.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
