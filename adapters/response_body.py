"""Read the body of a response up to a size; aiohttp itself would read without end."""

import aiohttp

PIECE_BYTES = 1 << 16
BEGINNING_BYTES = 512


class BodyTooLarge(aiohttp.ClientPayloadError):
    """A body exceeds the limit; `beginning` has its first bytes."""

    def __init__(self, limit: int, beginning: bytes) -> None:
        super().__init__(f"answered with more than {limit >> 10} kB")
        self.beginning = beginning


async def read_body(response: aiohttp.ClientResponse, *, limit: int) -> bytes:
    """Read a body of at most `limit` bytes. Raises BodyTooLarge and other errors of aiohttp."""
    body = bytearray()
    async for piece in response.content.iter_chunked(PIECE_BYTES):
        body += piece
        if len(body) > limit:
            raise BodyTooLarge(limit, bytes(body[:BEGINNING_BYTES]))
    return bytes(body)
