"""The texts with which forms were opened lately, so that a form need not carry a second copy of a long note."""

from collections import OrderedDict
from typing import Final

MAX_CHARS: Final = 4_000_000
"""All texts together; the ones that were opened longest ago go first."""


class OpenedTexts:
    """Versions of notes by their digest, in memory only."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._chars = 0

    def keep(self, digest: str, text: str) -> None:
        """Remember a version."""
        self._chars += len(text) - len(self._texts.pop(digest, ""))
        self._texts[digest] = text
        while self._chars > MAX_CHARS:
            _, gone = self._texts.popitem(last=False)
            self._chars -= len(gone)

    def clear(self) -> None:
        """Remember nothing any more, since `/forget` may have removed some of it."""
        self._texts.clear()
        self._chars = 0

    def find(self, digest: str) -> str | None:
        """Return the text of a version; None if it is no longer remembered."""
        return self._texts.get(digest)
