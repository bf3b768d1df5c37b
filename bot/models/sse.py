"""Pure: parse server-sent events from pieces of bytes that may end anywhere.

Follows https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.6; only `data` is used.
"""

MAX_EVENT_BYTES = 4 << 20
"""Maximum size of one event: more than the longest answer of any model in one piece, and little enough not to
block other tasks while it is parsed."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLarge(Exception):
    """An event exceeds MAX_EVENT_BYTES."""


class EventStream:
    """Parser of one stream; feed it piece by piece."""

    def __init__(self) -> None:
        self._rest = bytearray()
        """The line that has not ended."""
        self._data: list[bytes] = []
        """Data lines of the event that has not ended."""
        self._stray: list[bytes] = []
        """Lines of JSON outside any event."""
        self._size = 0
        self._fresh = True
        self._after_return = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of every event that ends in this piece. Raises EventTooLarge."""
        if self._fresh and piece:
            piece = bytes(self._rest) + piece
            self._rest.clear()
            if piece != BYTE_ORDER_MARK and BYTE_ORDER_MARK.startswith(piece):  # the mark may be split, too
                self._rest += piece
                return []
            piece = piece.removeprefix(BYTE_ORDER_MARK)
            self._fresh = False
        if self._after_return and piece:  # "\r\n" may be split
            piece = piece.removeprefix(b"\n")
            self._after_return = False
        if piece.endswith(b"\r"):
            self._after_return = True
        if b"\n" not in piece and b"\r" not in piece:
            self._rest += piece
            self._bound(len(self._rest))
            return []
        if self._rest:
            piece = bytes(self._rest) + piece
            self._rest.clear()
        lines = piece.splitlines()
        if not piece.endswith((b"\n", b"\r")):
            self._rest += lines.pop()
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                value = line[6:] if line[5:6] == b" " else line[5:]
                self._data.append(value)
                self._size += len(value) + 1
            elif not line and self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data.clear()
                self._size = 0
            elif self._stray or line.startswith((b"{", b"[")):
                self._stray.append(line)
                self._size += len(line) + 1
        self._bound(len(self._rest))
        return events

    def end(self) -> list[bytes]:
        """Return what a server left without its closing blank line; many do that with the last event.

        Otherwise JSON outside any event: an overloaded Gemini breaks off with its error as plain JSON.
        """
        events = self.feed(b"\n\n")
        return [*events, b"\n".join(self._stray)] if self._stray else events

    def _bound(self, pending: int) -> None:
        if self._size + pending > MAX_EVENT_BYTES:
            raise EventTooLarge
