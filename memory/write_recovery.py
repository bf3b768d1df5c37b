"""Find out from a note's content whether an interrupted write was done, and what is missing; pure."""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.charset import DecodedNote, decode
from memory.formatting import format_lead_in


@dataclass(frozen=True, slots=True)
class BeforeAppend:
    """A note's state before a block is appended."""

    count: int
    """How often exactly this block occurs, in lines of its own."""
    size: int
    """Size of the note in bytes."""
    whole: bool
    """True if its last line ends with a newline, or the note is empty."""


@dataclass(frozen=True, slots=True)
class BeforeEdit:
    """A note's state before an edit, and the result of the edit."""

    digest: str
    """SHA-256 of its bytes, in hexadecimal; `after` is that of the result."""
    after: str
    lines: str
    """The whole lines of the new passage, with LF between them; "" if the edit only removes."""
    count: int
    """How often exactly these lines occur already."""
    line_start: int
    line_end: int
    offset: int


@dataclass(frozen=True, slots=True)
class BeforeReplacement:
    """A note's state before whole lines are replaced, from which a retry can see whether that was done."""

    digest: str
    """SHA-256 of its bytes, in hexadecimal; `after` is that of the result."""
    after: str
    old_count: int
    """How often exactly the old lines occur; `new_count`: the same of the new ones."""
    new_count: int
    line_counts: tuple[int, ...] = ()
    """How often each of the lines occurs that become more or fewer; () if an earlier version stored this."""


def before_append(data: bytes, block: str) -> BeforeAppend:
    """Return the state of a note before a block is appended."""
    note = decode(data)
    return BeforeAppend(len(find_block(note.text, block)), len(data), not note.raw or _has_newline(note.raw))


def find_block(text: str, block: str) -> list[int]:
    """Return the offsets at which a block occurs in a text, in lines of its own; both have LF line ends.

    Overlapping occurrences count each. The time is linear in the text, even if it is one letter a million
    times.
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
    """Return, for each prefix, the length of its longest border (Knuth, Morris and Pratt)."""
    borders, length = array("L", [0]), 0
    for at in range(1, len(pattern)):
        while length and pattern[at] != pattern[length]:
            length = borders[length - 1]
        length += pattern[at] == pattern[length]
        borders.append(length)
    return borders


def _find_overlapping(lines: Sequence[str], block: Sequence[str], borders: Sequence[int]) -> list[int]:
    """Return the offsets at which the lines occur, including overlapping occurrences."""
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
    """Return the bytes that append a block to the note `data`: the lead-in, and the block."""
    note = decode(data)
    lead = format_lead_in(note.text, block, title=title, at=at).replace("\n", note.line_end)
    # A crash may have cut a wide character or a line end in two; LF after CR completes the latter.
    torn = b"\0" * (-len(data) % note.unit)
    half = "\n" if note.raw.endswith("\r") and lead.startswith("\n") else ""
    return torn + note.encode(half + lead), _encode_block(note, block)


def find_missing_rest(data: bytes, block: str, before: BeforeAppend, *, title: str, at: str = "") -> bytes:
    """Return what is missing of a partly written block at the note's end; b"" if nothing is.

    A block is partly written if the bytes after the old end are a prefix of what was to be appended. If
    another program has changed the note's length since, a last line without newline counts, if there was none
    before and it is such a prefix.
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
    """Yield the length of each proper prefix of `added` that `data` ends with, longest first."""
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
    """Return the state of a note before an edit that results in `after`, with the new passage in these lines."""
    text, becomes = decode(data).text, decode(after).text
    lines = "" if removes else "\n".join(becomes.split("\n")[line_start - 1 : line_end])
    count = len(find_block(text, lines)) if lines else 0
    return BeforeEdit(compute_digest(data), compute_digest(after), lines, count, line_start, line_end, offset)


def is_edit_done(data: bytes, old: str, new: str, before: BeforeEdit) -> bool:
    """Return whether an edit was done, from the bytes if nobody changed the note since, else from its lines.

    If `new` contains `old`, the edit was done if the lines of `new` occur once more than before.
    """
    if (now := compute_digest(data)) in {before.digest, before.after}:
        return now == before.after
    text = decode(data).text
    if new and before.lines and len(find_block(text, before.lines)) > before.count:
        return True
    return old not in text and new in text


def before_replacement(
    data: bytes, after: bytes, *, old: Sequence[str], new: Sequence[str]
) -> BeforeReplacement:
    """Return the state of a note before whole lines are replaced, with `after` as the result."""
    text = decode(data).text
    lines = Counter(text.split("\n"))
    return BeforeReplacement(
        compute_digest(data),
        compute_digest(after),
        _count_lines(text, old),
        _count_lines(text, new),
        tuple(lines[each] for each in _differences(old, new)),
    )


def is_replacement_done(
    data: bytes, before: BeforeReplacement, *, old: Sequence[str], new: Sequence[str]
) -> bool:
    """Return whether whole lines were replaced, from the bytes if nobody changed the note since, else by counting.

    Somebody may have edited some of these lines since, or put others between them, so most of them decide.
    """
    if (now := compute_digest(data)) in {before.digest, before.after}:
        return now == before.after
    text = decode(data).text
    differences = _differences(old, new)
    if differences and len(differences) == len(before.line_counts):
        lines = Counter(text.split("\n"))
        changed = sum(
            (lines[line] - count) * more > 0
            for (line, more), count in zip(differences.items(), before.line_counts, strict=True)
        )
        return 2 * changed > len(differences)
    if any(new):
        return _count_lines(text, new) > before.new_count
    return _count_lines(text, old) < before.old_count


def _differences(old: Sequence[str], new: Sequence[str]) -> dict[str, int]:
    """Return the lines that become more or fewer, and by how many; headings, which sections share, only if alone."""
    found = Counter(new)
    found.subtract(old)
    changed = {line: more for line, more in found.items() if more and line.strip()}
    return {line: more for line, more in changed.items() if not line.startswith("#")} or changed


def _count_lines(text: str, lines: Sequence[str]) -> int:
    return len(find_block(text, "\n".join(lines))) if any(lines) else 0


def _has_newline(raw: str) -> bool:
    return raw[-1] in "\r\n"


def _encode_block(note: DecodedNote, block: str) -> bytes:
    return note.encode(f"{block}\n".replace("\n", note.line_end))


def compute_digest(data: bytes) -> str:
    """Return what distinguishes the versions of a note: SHA-256 of its bytes in hexadecimal."""
    import hashlib  # takes 3 ms, needless if no note is edited

    return hashlib.sha256(data).hexdigest()
