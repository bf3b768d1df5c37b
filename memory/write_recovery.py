"""Pure: what a write leaves in a note, by which it is known to be done where nobody was left to say so."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.charset import DecodedNote, decode
from memory.formatting import format_lead_in


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
    return BeforeAppend(len(find_block(note.text, block)), len(data), not note.raw or _has_newline(note.raw))


def find_block(text: str, block: str) -> list[int]:
    """Where a block stands in a text (both with LF line ends) in lines of its own, as offsets.

    Ones that share lines count each. The time grows with the text alone, also where it is one letter a million times.
    """
    lines, wanted = f"\n{text}\n", f"\n{block}\n"
    borders = _prefix_function(block.split("\n"))
    if borders[-1]:
        return _find_overlapping(text.split("\n"), block.split("\n"), borders) if wanted in lines else []
    found, at = [], lines.find(wanted)
    while at >= 0:
        found.append(at)
        at = lines.find(wanted, at + len(wanted) - 1)
    return found


def _prefix_function(pattern: Sequence[str] | bytes) -> Sequence[int]:
    """For each beginning of a pattern: how much of its own beginning it ends with (Knuth, Morris and Pratt)."""
    borders, length = array("L", [0]), 0
    for at in range(1, len(pattern)):
        while length and pattern[at] != pattern[length]:
            length = borders[length - 1]
        length += pattern[at] == pattern[length]
        borders.append(length)
    return borders


def _find_overlapping(lines: Sequence[str], block: Sequence[str], borders: Sequence[int]) -> list[int]:
    """The offsets at which these lines stand, line by line, also where one place shares lines with the next."""
    found, offsets, matched = list[int](), array("L", [0]), 0
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
        while matched and (matched == len(block) or line != block[matched]):
            matched = borders[matched - 1]
        matched += line == block[matched]
        if matched == len(block):
            found.append(offsets[-1 - matched])
    return found


def make_addition(data: bytes, block: str, *, title: str, at: str = "") -> tuple[bytes, bytes]:
    """The bytes that add a block to a note that reads `data`: what leads to it, and the block."""
    note = decode(data)
    lead = format_lead_in(note.text, block, title=title, at=at).replace("\n", note.line_end)
    # A crash may have torn a wide character in two, or a line end; LF after CR only completes that.
    torn = b"\0" * (-len(data) % note.unit)
    half = "\n" if note.raw.endswith("\r") and lead.startswith("\n") else ""
    return torn + note.encode(half + lead), _encode_block(note, block)


def find_missing_rest(data: bytes, block: str, before: BeforeAppend, *, title: str, at: str = "") -> bytes:
    """What a torn beginning of the block at the note's end still lacks; b"" where there is none.

    Torn is what stands behind the old end where it is a beginning of what was to be added there; and, where
    another program has made the note longer or shorter since, a last line without an end that there was not
    before, and that is such a beginning.
    """
    begun = data[before.size :]
    if begun:
        whole = b"".join(make_addition(data[: before.size], block, title=title, at=at))
        if len(begun) < len(whole) and whole.startswith(begun):
            return whole[len(begun) :]
    note = decode(data)
    if not before.whole or not note.raw or _has_newline(note.raw):
        return b""
    added = _encode_block(note, block)
    ends = tuple(note.encode(end) for end in "\n\r")
    for length in _matching_prefixes(added, data[len(note.mark) :]):
        above = data[len(note.mark) : -length]
        if len(above) % note.unit == 0 and (not above or above.endswith(ends)):
            return added[length:]
    return b""


def _matching_prefixes(added: bytes, data: bytes) -> Iterator[int]:
    """How long each beginning of some bytes is that others end with, not all of them; the longest first."""
    added = added[:-1]
    borders, length = _prefix_function(added), 0
    for byte in data[-len(added) :] if added else b"":
        while length and (length == len(added) or byte != added[length]):
            length = borders[length - 1]
        length += byte == added[length]
    while length:
        yield length
        length = borders[length - 1]


def before_edit(
    data: bytes, after: bytes, *, removes: bool, line_start: int, line_end: int, offset: int
) -> BeforeEdit:
    """Look at a note that an edit will turn into `after`, with the new passage in these lines."""
    text, becomes = decode(data).text, decode(after).text
    lines = "" if removes else "\n".join(becomes.split("\n")[line_start - 1 : line_end])
    count = len(find_block(text, lines)) if lines else 0
    return BeforeEdit(_digest(data), _digest(after), lines, count, line_start, line_end, offset)


def is_edit_done(data: bytes, old: str, new: str, before: BeforeEdit) -> bool:
    """Whether an edit was done, by the bytes where nobody has changed the note since, else by its lines.

    `new` may hold `old`: then the lines with `new` tell, which stand there once more than before.
    """
    if (now := _digest(data)) in {before.digest, before.after}:
        return now == before.after
    text = decode(data).text
    if new and before.lines and len(find_block(text, before.lines)) > before.count:
        return True
    return old not in text and new in text


def _has_newline(raw: str) -> bool:
    return raw[-1] in "\r\n"


def _encode_block(note: DecodedNote, block: str) -> bytes:
    return note.encode(f"{block}\n".replace("\n", note.line_end))


def _digest(data: bytes) -> str:
    import hashlib  # 3 ms, for nothing where no note is edited

    return hashlib.sha256(data).hexdigest()
