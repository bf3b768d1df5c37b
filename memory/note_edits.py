"""Edits of a note's bytes, whatever its encoding and line ends; pure."""

import re
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memory.charset import DecodedNote, decode, normalize_newlines
from memory.errors import EditRefused, TextTooLong
from memory.formatting import clean_text, correct_line, format_lead_in
from memory.translatable import Translatable
from memory.write_recovery import find_block

PASSAGE_MAX_CHARS = 65_536
"""Maximum characters of a replaced passage, and of its replacement, in one edit."""

EMPTY_LINES = "-"
"""The text with which a correction empties lines."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")


@dataclass(frozen=True, slots=True)
class LineAnchor:
    """Where lines were in a note that may have changed since."""

    line: int
    """1-based."""
    above: str
    """A checksum of the two lines above, in hexadecimal; "top" if there were none."""


@dataclass(frozen=True, slots=True)
class LinesChecksum:
    """A checksum of the whole lines that an edit put in the place of others."""

    count: int
    checksum: str
    """In hexadecimal."""


@dataclass(frozen=True, slots=True)
class LineCorrection:
    """Whole lines, mostly one, and their replacement; LF between lines, none at the end."""

    line: int
    """The first line; 1-based."""
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Edit:
    """The result of an edit."""

    data: bytes
    """The whole note after the edit."""
    removed: bytes
    """The whole lines that were changed, as they were; b"" if the edit only added text."""
    removed_from: LineAnchor
    new_lines: LinesChecksum | None
    """The whole lines that replaced them; None if there are none, or they were joined to other lines."""
    line_start: int
    """The lines of the new passage: 1-based, inclusive."""
    line_end: int
    offset: int
    """Bytes of the note before it."""


def replace_passage(note: DecodedNote, *, old: str, new: str, path: str) -> Edit:
    """Replace the only occurrence of `old` by `new`; an empty `new` also removes lines left empty.

    Raises `EditRefused`.
    """
    _, shown = _ensure_last_newline(note)
    start, end = _find_unique(shown, old, path=path)
    if not new:
        start, end = _widen_to_lines(shown, start, end)
    return _make_edit(note, start, end, new, path=path)


def make_correction(
    shown: str, line: int, text: str, *, path: str, last: int | None = None
) -> LineCorrection:
    """Return the correction that puts a text in the place of one line, whose list marker or heading stays.

    `shown` is the note's text. The text `EMPTY_LINES` empties the line, or all lines up to `last`; empty lines stay, so
    that the lines below keep their numbers. Raises `EditRefused`.
    """
    lines = shown.removesuffix("\n").split("\n") if shown else []
    last = last or line
    if not 1 <= line <= last <= len(lines):
        missing = line if line > len(lines) else last
        raise EditRefused(
            "{path} ends at line {last}; there is no line {line}.", path=path, last=len(lines), line=missing
        )
    old = "\n".join(lines[line - 1 : last])
    if not old.strip():
        raise EditRefused(
            "Line {line} of {path} is empty, so there is nothing to correct.", line=line, path=path
        )
    if text.strip() == EMPTY_LINES:
        return LineCorrection(line, old, "\n" * (last - line))
    new = correct_line(old, text)
    if new == old:
        raise EditRefused("Line {line} of {path} already says that.", line=line, path=path)
    return LineCorrection(line, old, new)


def correct_lines(note: DecodedNote, *, correction: LineCorrection, path: str) -> Edit:
    """Replace whole lines. Raises `EditRefused` if they have changed."""
    raw, shown = _ensure_last_newline(note)
    start = _line_offset(raw, correction.line)
    after = _line_offset(raw, correction.line + correction.old.count("\n") + 1)
    if normalize_newlines(shown[start:after]) != f"{correction.old}\n":
        raise EditRefused(
            "Line {line} of {path} has changed in the meantime; nothing was replaced.",
            line=correction.line,
            path=path,
        )
    end = after - (2 if raw[start:after].endswith("\r\n") else 1)
    return _make_edit(note, start, end, correction.new, path=path)


def insert_lines(note: DecodedNote, *, block: str, anchor: LineAnchor | None, path: str) -> Edit:
    """Put lines back below the line that was above them, or else at the end. Raises `EditRefused`."""
    raw, _ = _ensure_last_newline(note)
    line = find_anchor(note.text, anchor) if anchor else None
    if line is None:
        lead = format_lead_in(normalize_newlines(raw), block, title="")
        return _make_edit(note, len(raw), len(raw), f"{lead}{block}\n", path=path, lead=lead.count("\n"))
    start = _line_offset(raw, line)
    return _make_edit(note, start, start, f"{block}\n", path=path)


def replace_lines(note: DecodedNote, *, line: int, old: Sequence[str], new: Sequence[str], path: str) -> Edit:
    """Replace whole lines; what both have in common keeps its bytes. Raises `EditRefused` if they have changed."""
    raw, shown = _ensure_last_newline(note)
    start = _line_offset(raw, line)
    after = _line_offset(raw, line + len(old))
    before, becomes = normalize_newlines(shown[start:after]), "".join(f"{each}\n" for each in new)
    if before != "".join(f"{each}\n" for each in old):
        raise EditRefused(
            "Line {line} of {path} has changed in the meantime; nothing was replaced.", line=line, path=path
        )
    same = count_common(before, becomes)
    tail = count_common(before[same:][::-1], becomes[same:][::-1])
    place = shown[start:after]
    return _make_edit(
        note,
        start + _raw_offset(place, same),
        start + _raw_offset(place, len(before) - tail),
        becomes[same : len(becomes) - tail],
        path=path,
    )


def exchange_lines(
    note: DecodedNote, *, line: int, old: Sequence[str], new: Sequence[str], path: str
) -> Edit:
    """Replace the contents of whole lines by as many others; all line ends and all other bytes stay as they are.

    Nothing counts as removed. Raises `EditRefused` if the lines have changed.
    """
    pieces, shown = _LINE_END.split(note.raw), _LINE_END.split(note.shown)
    if tuple(shown[line - 1 : line - 1 + len(old)]) != tuple(old) or not note.can_encode:
        raise EditRefused(
            "Line {line} of {path} has changed in the meantime; nothing was replaced.", line=line, path=path
        )
    for at, (before, after) in enumerate(zip(old, new, strict=True), line - 1):
        if before != after:
            pieces[at] = after
    ends = [*_LINE_END.findall(note.raw), ""]
    data = note.mark + note.encode("".join(map("".join, zip(pieces, ends, strict=True))))
    return Edit(data, b"", LineAnchor(line, ""), None, line, line + len(new) - 1, 0)


def find_replacement(
    text: str, *, anchor: LineAnchor, new: LinesChecksum, old: str, were_removed: bool = False
) -> LineCorrection | None:
    """Return the correction that puts `old` back in place of its replacement; None if that cannot be found.

    `text` is the current note. If the replacement occurs more than once, or `were_removed` since, it must be
    below the lines that were above `old`.
    """
    lines = text.removesuffix("\n").split("\n")
    same = [
        at
        for at in range(1, len(lines) - new.count + 2)
        if new_lines("\n".join(lines[at - 1 : at - 1 + new.count])) == new
    ]
    if len(same) > 1 or were_removed:
        at_place = [at for at in same if make_anchor(lines, at).above == anchor.above]
        same = [at for at in at_place if at == anchor.line] or at_place
    if len(same) != 1:
        return None
    return LineCorrection(same[0], "\n".join(lines[same[0] - 1 : same[0] - 1 + new.count]), old)


def find_restored(text: str, *, anchor: LineAnchor, block: str) -> int | None:
    """Return the line at which a removed block was put back; None if it was not."""
    line = find_anchor(text, anchor)
    lines = text.split("\n")
    here = "\n".join(lines[line - 1 : line + block.count("\n")]) if line else None
    return line if here == block else None


def new_lines(text: str) -> LinesChecksum:
    """Return the checksum of whole lines; `text` has LF between lines, none at the end."""
    return LinesChecksum(text.count("\n") + 1, _checksum(text))


def make_anchor(lines: Sequence[str], line: int) -> LineAnchor:
    """Return an anchor from which the line's position can be found again."""
    return LineAnchor(line, _checksum_lines_above(lines, line) if line > 1 else "top")


def find_anchor(text: str, anchor: LineAnchor) -> int | None:
    """Return the number of the line before which the anchored lines belong; None if unknown."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if anchor.above == "top":
        return 1 if anchor.line == 1 and lines else None
    same = [line for line in range(2, len(lines) + 1) if _checksum_lines_above(lines, line) == anchor.above]
    if anchor.line in same:
        return anchor.line
    return same[0] if len(same) == 1 else None


def _checksum_lines_above(lines: Sequence[str], line: int) -> str:
    return _checksum("\n".join(lines[max(0, line - 3) : line - 1]))


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _make_edit(note: DecodedNote, start: int, end: int, new: str, *, path: str, lead: int = 0) -> Edit:
    """Replace a part of the note; the first `lead` lines of `new` are not part of the passage.

    Raises `EditRefused`.
    """
    if not note.can_encode:
        raise EditRefused(
            "{path} is damaged {encoding} text; save it as UTF-8 in an editor first.",
            path=path,
            encoding=note.codec.upper(),
        )
    raw, shown = _ensure_last_newline(note)
    eol = note.line_end
    rest = new.replace("\n", eol) + raw[end:]
    # LF after an old Mac's CR would not be a line end of its own.
    half = "\r" if raw[:start].endswith("\r") and rest.startswith("\n") else ""
    following = raw[:start] + half + rest
    if following and following[-1] not in "\r\n":
        following += eol
    line_start = _count_line_ends(raw[:start]) + 1
    first, last = _enclosing_lines(raw, start, end) if start < end else (start, start)
    above = normalize_newlines(shown[:first]).split("\n")
    data = note.mark + note.encode(following)
    changed = raw[first:start] + half + rest[: len(rest) - len(raw[last:])] if first <= start else ""
    # Without a line end it would be joined to the next line.
    is_apart = changed[-1:] in {"\r", "\n"} or (changed and last == len(raw))
    return Edit(
        data=data,
        removed=note.mark + note.encode(raw[first:last]) if first < last else b"",
        removed_from=make_anchor(above, len(above)),
        new_lines=_read_checksum(data, len(above), changed) if is_apart else None,
        line_start=line_start + lead,
        line_end=line_start + new.removesuffix("\n").count("\n"),
        offset=len(note.mark + note.encode(raw[:start])),
    )


def _read_checksum(data: bytes, line: int, changed: str) -> LinesChecksum:
    count = normalize_newlines(changed).removesuffix("\n").count("\n") + 1
    return new_lines("\n".join(decode(data).text.split("\n")[line - 1 : line - 1 + count]))


def count_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the common prefix of two texts, or of two lists of lines."""
    for length, (first, second) in enumerate(zip(one, other, strict=False)):
        if first != second:
            return length
    return min(len(one), len(other))


def _ensure_last_newline(note: DecodedNote) -> tuple[str, str]:
    """Return the note's raw text and its readable text, both ending with a newline."""
    missing = note.line_end if note.raw and note.raw[-1] not in "\r\n" else ""
    return note.raw + missing, note.shown + missing


def _line_offset(raw: str, line: int) -> int:
    at = 0
    for _ in range(line - 1):
        if not (found := _LINE_END.search(raw, at)):
            return len(raw)
        at = found.end()
    return at


def _enclosing_lines(raw: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of the whole lines, with their ends, that contain a part of the text."""
    if raw[start:end].strip("\r\n"):
        while raw[start] in "\r\n":  # the previous line's end
            start += 1
    first = max(raw.rfind("\n", 0, start), raw.rfind("\r", 0, start)) + 1
    if raw[end - 1] in "\r\n":
        return first, end
    found = _LINE_END.search(raw, end)
    return first, found.end() if found else len(raw)


def _find_unique(shown: str, old: str, *, path: str) -> tuple[int, int]:
    """Find the only occurrence of `old`, whatever its line ends; overlapping ones count as several."""
    # Not as a pattern: `re` would cache those of the last five hundred edits.
    text = shown.replace("\r\n", "\n").replace("\r", "\n")
    at = text.find(old)
    if at < 0:
        raise EditRefused(
            "{path} does not contain the passage; read the note and copy it exactly.", path=path
        )
    if text.find(old, at + 1) >= 0:  # not counted: a passage of one letter may occur a million times
        raise EditRefused(
            "{path} contains the passage more than once; include more of the text around it.", path=path
        )
    return _raw_offset(shown, at), _raw_offset(shown, at + len(old))


def _raw_offset(shown: str, at: int) -> int:
    """Return the position in the raw text of a position in the text with LF line ends."""
    pairs = 0
    for line_end in re.finditer("\r\n", shown):
        if line_end.start() - pairs >= at:
            break
        pairs += 1
    return at + pairs


def _widen_to_lines(shown: str, start: int, end: int) -> tuple[int, int]:
    """Widen a passage to be removed, so that no bare list marker and no empty line is left."""
    begin = start
    while begin > 0 and shown[begin - 1] not in "\r\n":
        begin -= 1
    if begin != start and not _MARKER.fullmatch(shown[begin:start]):
        return start, end
    if shown[end - 1] in "\r\n":
        return begin, end
    line_end = _LINE_END.match(shown, end)
    return (begin, line_end.end()) if line_end else (start, end)


def _count_line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def normalize_passages(old: str, new: str) -> tuple[str, str]:
    """Return the two passages of an edit as they are searched for and written.

    Raises `EditRefused`, `TextTooLong`.
    """
    for passage, text in (
        (Translatable("The passage to replace"), old),
        (Translatable("The new passage"), new),
    ):
        if len(text) > PASSAGE_MAX_CHARS:
            raise TextTooLong(
                "{passage} has {count:,} characters, but one edit takes at most {most:,}; change less "
                "at a time.",
                passage=passage,
                count=len(text),
                most=PASSAGE_MAX_CHARS,
            )
    old, new = old.replace("\r\n", "\n").replace("\r", "\n"), clean_text(new)
    if not old.strip():
        raise EditRefused("The passage to replace is blank; copy it from the note.")
    if old == new:
        raise EditRefused("The new passage is the same as the old one; nothing was changed.")
    return old, new


def remove_blocks(note: DecodedNote, blocks: Iterable[str], *, path: str) -> tuple[bytes, frozenset[str]]:
    """Return the note's bytes without these whole lines, and the blocks that were found. Raises `EditRefused`."""
    gone, standing = find_blocks(note.text, blocks)
    return remove_lines(note, gone, path=path), standing


def find_blocks(text: str, blocks: Iterable[str]) -> tuple[frozenset[int], frozenset[str]]:
    """Return the numbers (from 0) of all lines of these blocks in a text, and the blocks that were found."""
    standing = {block: found for block in blocks if (found := find_block(text, block))}
    gone: set[int] = set()
    for block, found in standing.items():
        for at in found:
            first = text.count("\n", 0, at)
            gone.update(range(first, first + block.count("\n") + 1))
    return frozenset(gone), frozenset(standing)


def remove_lines(note: DecodedNote, numbers: Collection[int], *, path: str) -> bytes:
    """Return the note's bytes without the lines with these numbers, from 0. Raises `EditRefused`."""
    if not note.can_encode:
        raise EditRefused(
            "{path} is damaged {encoding} text; save it as UTF-8 in an editor first.",
            path=path,
            encoding=note.codec.upper(),
        )
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", note.raw)
    kept = "".join(line for number, line in enumerate(lines) if number not in numbers)
    return note.mark + note.encode(kept)
