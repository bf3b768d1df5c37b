"""Pure: what a write leaves in a note, by which it is known to be done where nobody was left to say so."""

from dataclasses import dataclass

from memory.charset import Decoded, decode
from memory.entry import lead_in


@dataclass(frozen=True, slots=True)
class BeforeAppend:
    """A note as it was before a block was added to it."""

    count: int
    """How often exactly this block stood there, in lines of its own."""
    size: int
    """Bytes of the note."""
    whole: bool
    """Whether its last line had an end; true of an empty note."""


@dataclass(frozen=True, slots=True)
class BeforeEdit:
    """A note as it was before an edit, and what it was to become."""

    digest: str
    """SHA-256 of its bytes, in hexadecimal; `after`: of those that it was to have."""
    after: str
    lines: str
    """The lines in which the new passage was to stand, whole, with LF between them; "" where one is removed."""
    count: int
    """How often exactly these lines stood there already."""
    line_start: int
    line_end: int
    offset: int


def before_append(data: bytes, block: str) -> BeforeAppend:
    """Look at a note to which a block will be added."""
    note = decode(data)
    return BeforeAppend(len(places(note.text, block)), len(data), not note.raw or _has_end(note.raw))


def places(text: str, block: str) -> list[int]:
    """Where a block stands in a text (both with LF line ends) in lines of its own, as offsets."""
    found, at = [], text.find(block)
    while at >= 0:
        end = at + len(block)
        if (at == 0 or text[at - 1] == "\n") and (end == len(text) or text[end] == "\n"):
            found.append(at)
        at = text.find(block, at + 1)
    return found


def addition(data: bytes, block: str, *, title: str, at: str = "") -> tuple[bytes, bytes]:
    """The bytes that add a block to a note that reads `data`: what leads to it, and the block."""
    note = decode(data)
    lead = lead_in(note.text, block, title=title, at=at).replace("\n", note.line_end)
    # A crash may have torn a wide character in two, or a line end; LF after CR only completes that.
    torn = b"\0" * (-len(data) % note.unit)
    half = "\n" if note.raw.endswith("\r") and lead.startswith("\n") else ""
    return torn + note.encode(half + lead), _block_bytes(note, block)


def missing_rest(data: bytes, block: str, before: BeforeAppend, *, title: str, at: str = "") -> bytes:
    """What a torn beginning of the block at the note's end still lacks; b"" where there is none.

    Torn is what stands behind the old end where it is a beginning of what was to be added there; and, where
    another program has made the note longer or shorter since, a last line without an end that there was not
    before, and that is such a beginning.
    """
    begun = data[before.size :]
    if begun:
        whole = b"".join(addition(data[: before.size], block, title=title, at=at))
        if len(begun) < len(whole) and whole.startswith(begun):
            return whole[len(begun) :]
    note = decode(data)
    if not before.whole or not note.raw or _has_end(note.raw):
        return b""
    added = _block_bytes(note, block)
    ends = tuple(note.encode(end) for end in "\n\r")
    for length in range(min(len(added) - 1, len(data) - len(note.mark)), 0, -1):
        if data.endswith(added[:length]):
            above = data[len(note.mark) : -length]
            if len(above) % note.unit == 0 and (not above or above.endswith(ends)):
                return added[length:]
    return b""


def before_edit(
    data: bytes, after: bytes, *, removes: bool, line_start: int, line_end: int, offset: int
) -> BeforeEdit:
    """Look at a note that an edit will turn into `after`, with the new passage in these lines."""
    text, becomes = decode(data).text, decode(after).text
    lines = "" if removes else "\n".join(becomes.split("\n")[line_start - 1 : line_end])
    count = len(places(text, lines)) if lines else 0
    return BeforeEdit(_digest(data), _digest(after), lines, count, line_start, line_end, offset)


def edit_is_done(data: bytes, old: str, new: str, before: BeforeEdit) -> bool:
    """Whether an edit was done, by the bytes where nobody has changed the note since, else by its lines.

    `new` may hold `old`: then the lines with `new` tell, which stand there once more than before.
    """
    if (now := _digest(data)) in {before.digest, before.after}:
        return now == before.after
    text = decode(data).text
    if new and before.lines and len(places(text, before.lines)) > before.count:
        return True
    return old not in text and new in text


def _has_end(raw: str) -> bool:
    return raw[-1] in "\r\n"


def _block_bytes(note: Decoded, block: str) -> bytes:
    return note.encode(f"{block}\n".replace("\n", note.line_end))


def _digest(data: bytes) -> str:
    import hashlib  # 3 ms, for nothing where no note is edited

    return hashlib.sha256(data).hexdigest()
