"""Split Markdown into passages (what a search returns) and chunks (what is matched and embedded); pure."""

import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

VERSION = 5
"""Part of the index's fingerprint: increase it when the same text would be split differently."""

PASSAGE_TOKENS = 100
"""A passage ends at the next line end beyond this size, so that answers are short."""

MAX_TITLE_CHARS = 200
"""Maximum characters of a heading that a passage stores; every passage below it stores it, and it may be a page."""

_BYTES_PER_TOKEN = 4
# UTF-8 bytes rather than characters: about right for English, and Chinese at three bytes per character gives
# .75 tokens, while characters / 4 would be four times too low.

FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,8}(`{3,}|~{3,})([^`]*)$")
"""A line that opens or closes a block of code: the fence, and what follows it."""
_FIELD = re.compile(r"[\"']?\w[^:]*:")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_ROW = re.compile(r"[ \t]*\|")
_NO_TITLE = re.compile(rf"{_ITEM.pattern}|{_ROW.pattern}| {{0,3}}>")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_SENTENCE_END = re.compile(r"[.!?…]['\"”’)\]*_]*[ \t]+|[。！？!?｡।॥။።][」』”’）】》]*")
_WORD_END = re.compile(r"[ \t]+")
_MARK = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]"
)
_DATE_OR_TIME = re.compile(r"\W*(?:\d{4}-\d{2}-\d{2}|\d{1,2}[:.]\d{2})(?!\w)")
_BARE = re.compile(r"[\s\-*_=|:>#+.]*")
_MAX_MARKS = 32


@dataclass(frozen=True, slots=True)
class Passage:
    """The smallest unit a search returns: a list item, a paragraph or part of one, a table row, a heading."""

    line_start: int
    """1-based, inclusive, like `line_end`."""
    line_end: int
    text: str
    """The lines as in the note, or a part of a very long line."""
    heading: str
    """The headings above, outermost first, joined by ` > `."""
    is_heading: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive passages of about the target size in total; the first may repeat the end of the previous chunk."""

    first: int
    """Index of a passage of the note, inclusive, like `last`."""
    last: int
    heading: str


@dataclass(frozen=True, slots=True)
class Segment:
    """What gets one vector: a range of passages, so that an index need not know how notes are split."""

    first: int
    """Index of a passage of the note, inclusive, like `last`."""
    last: int
    heading: str
    """The headings that its text begins with, joined by ` > `, without the note's own title."""
    digest: bytes
    """SHA-256 of its text, which identifies its vector wherever the text occurs."""


def segment_text(heading: str, passages: Sequence[str]) -> str:
    """Return the text that is embedded for a segment; it does not depend on line breaks."""
    lines = (" ".join(passage.split()) for passage in passages)
    return "\n".join([heading, *lines] if heading else lines)


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a language model will count, for any script."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN)


def split_passages(text: str, *, max_tokens: int = 400) -> list[Passage]:
    """Split a note into passages; every line that is not blank is in exactly one.

    Only a line of more than `max_tokens` is split into several.
    """
    passages: list[Passage] = []
    headings: list[tuple[int, str]] = []
    for block in _split_blocks(text.split("\n")):
        if block.level:
            while headings and headings[-1][0] >= block.level:
                headings.pop()
            if block.title:
                headings.append((block.level, block.title))
        path = " > ".join(title for _, title in headings)
        for start, end, piece in _split_block(block, max_tokens):
            passages.append(Passage(start, end, piece, path, bool(block.level)))
    return passages


def split_chunks(
    passages: Sequence[Passage], *, target_tokens: int = 400, overlap_tokens: int = 80
) -> list[Chunk]:
    """Group a note's passages into chunks of at most `target_tokens`, unless a single passage is larger.

    Chunks preferably end before headings, and never with one. A chunk that begins in the middle of a section
    repeats up to `overlap_tokens` of the text before it.
    """
    sizes = [estimate_tokens(passage.text) for passage in passages]
    chunks: list[Chunk] = []
    start = before = 0
    while start < len(passages):
        end = _find_chunk_end(passages, sizes, start, max(1, target_tokens - overlap_tokens))
        first, room = start, min(overlap_tokens, target_tokens - sum(sizes[start:end]))
        while first - 1 > before and not passages[start].is_heading and sizes[first - 1] <= room:
            first -= 1
            room -= sizes[first]
        chunks.append(Chunk(first, end - 1, passages[start].heading))
        start, before = end, first
    return chunks


def split_segments(passages: Sequence[Passage]) -> list[Segment]:
    """Return what is embedded of a note: each passage, with the headings that describe it.

    A heading is part of the segments below it, and a segment only if there is nothing below. Rules are left
    out.
    """
    title = _note_title(passages)
    segments: list[Segment] = []
    for place, passage in enumerate(passages):
        if _BARE.fullmatch(passage.text) or (passage.is_heading and _has_content_below(passages, place)):
            continue
        heading = "" if passage.is_heading else _informative_headings(passage.heading, title)
        text = segment_text(heading, [passage.text])
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        segments.append(Segment(place, place, heading, digest))
    return segments


def _note_title(passages: Sequence[Passage]) -> str:
    """Return the heading that everything below the first heading is under; empty if there is none."""
    top = {passage.heading.partition(" > ")[0] for passage in passages if passage.heading}
    return top.pop() if len(top) == 1 else ""


def _has_content_below(passages: Sequence[Passage], heading: int) -> bool:
    if heading + 1 == len(passages):
        return False
    below = passages[heading + 1]
    return not below.is_heading or below.heading.startswith(f"{passages[heading].heading} > ")


def _informative_headings(heading: str, title: str) -> str:
    """Return the headings that describe the text below.

    Without the note's title, which may change while the text below does not, and without times: everything
    within an hour would become similar (measured: .01 of recall).
    """
    if title and (heading == title or heading.startswith(f"{title} > ")):
        heading = heading[len(title) + 3 :]
    return " > ".join(each for each in heading.split(" > ") if each and not _DATE_OR_TIME.match(each))


def _find_chunk_end(passages: Sequence[Passage], sizes: Sequence[int], start: int, max_tokens: int) -> int:
    """Return where the chunk that begins at `start` ends, exclusive.

    Among the possible ends, the one with the smallest checksum of its text is chosen: it depends on the text
    there and not on how much precedes it, so that an edit changes only nearby chunks (content-defined
    chunking, as in rsync and backup tools).
    """
    held = 0
    at_heading: list[int] = []
    anywhere: list[int] = []
    for index in range(start, len(passages)):
        if index > start and not passages[index - 1].is_heading:
            if passages[index].is_heading and held >= max_tokens // 4:
                at_heading.append(index)
            elif held >= max_tokens // 2:
                anywhere.append(index)
        held += sizes[index]
        if held > max_tokens and index > start:
            fallback = index if not passages[index - 1].is_heading or index - 1 == start else index - 1
            return min(
                at_heading or anywhere or [fallback],
                key=lambda place: zlib.crc32(passages[place].text.encode("utf-8", "surrogatepass")),
            )
    return len(passages)


@dataclass(slots=True)
class _MarkdownBlock:
    start: int
    lines: list[str]
    level: int = 0
    title: str = ""


def _split_blocks(lines: Sequence[str]) -> Iterator[_MarkdownBlock]:
    """Yield Markdown blocks: list items, table rows, paragraphs, and a fence or front matter as a whole."""
    block: _MarkdownBlock | None = None
    fence = ""
    front_matter = bool(_FIELD.match("".join(lines[1:2]))) and "---" in (x.rstrip("\r") for x in lines[2:])
    for number, raw in enumerate(lines, 1):
        line = raw.removesuffix("\r")
        if fence:
            assert block is not None
            block.lines.append(line)
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
                yield block
                block = None
            continue
        opened = FENCE.match(line)
        if opened or (number == 1 and line == "---" and front_matter):
            if block:
                yield block
            block = _MarkdownBlock(number, [line])
            fence = opened[1] if opened else "---"
            continue
        if not line.strip():
            if block:
                yield block
            block = None
            continue
        heading = _HEADING.match(line)
        if heading:
            if block:
                yield block
            block = None
            yield _MarkdownBlock(number, [line], len(heading[1]), _heading_text(line[heading.end() :]))
            continue
        underline = _UNDERLINE.match(line) if block and not _NO_TITLE.match(block.lines[0]) else None
        if block and underline:
            block.lines.append(line)
            block.level = 1 if underline[1][0] == "=" else 2
            block.title = " ".join(text.strip() for text in block.lines[:-1])[:MAX_TITLE_CHARS]
            yield block
            block = None
            continue
        if block and (_ITEM.match(line) or _ROW.match(line) or _RULE.match(line)):
            yield block
            block = None
        if block:
            block.lines.append(line)
        else:
            block = _MarkdownBlock(number, [line])
    if block:
        yield block


def _heading_text(rest: str) -> str:
    """Return a heading's text without closing hashes, from what follows the opening ones."""
    text = rest.strip()
    bare = text.rstrip("#")
    if not bare or bare[-1] in " \t":
        text = bare.rstrip()
    return text[:MAX_TITLE_CHARS]


def _split_block(block: _MarkdownBlock, max_tokens: int) -> Iterator[tuple[int, int, str]]:
    """Yield a short block whole; split a long one after lines, sentences, words or, at last, characters."""
    whole = "\n".join(block.lines)
    if estimate_tokens(whole) <= min(PASSAGE_TOKENS, max_tokens):
        yield block.start, block.start + len(block.lines) - 1, whole
        return
    number = block.start
    held: list[str] = []
    held_tokens = 0

    def flush() -> Iterator[tuple[int, int, str]]:
        nonlocal number, held_tokens
        if held:
            yield number, number + len(held) - 1, "\n".join(held)
            number += len(held)
        held.clear()
        held_tokens = 0

    for line in block.lines:
        tokens = estimate_tokens(line)
        if held and held_tokens + tokens > PASSAGE_TOKENS:
            yield from flush()
        if tokens > max_tokens:
            yield from flush()
            for piece in _split_line(line, max_tokens):
                yield number, number, piece
            number += 1
            continue
        held.append(line)
        held_tokens += tokens
        if held_tokens > PASSAGE_TOKENS // 2 and _ends_sentence(line):
            yield from flush()
    yield from flush()


def _ends_sentence(line: str) -> bool:
    return bool(_SENTENCE_END.match(line.rstrip()[-1:] + " ") or line.rstrip()[-1:] in "」』”’")


def _split_line(line: str, max_tokens: int) -> Iterator[str]:
    """Split a long line into parts of at most `max_tokens`."""
    most_bytes = max(4, max_tokens * _BYTES_PER_TOKEN)
    start = 0
    while start < len(line):
        end = _end_within_bytes(line, start, most_bytes)
        if end < len(line):
            end = (
                _last_match_end(_SENTENCE_END, line, start, end)
                or _last_match_end(_WORD_END, line, start, end)
                or end
            )
            base = end
            while base - 1 > start and base > end - _MAX_MARKS and _MARK.match(line[base]):
                base -= 1
            end = end if _MARK.match(line[base]) else base
        yield line[start:end]
        start = end


def _end_within_bytes(line: str, start: int, max_bytes: int) -> int:
    """Return the largest end such that `line[start:end]` has at most `max_bytes` of UTF-8; at least one character."""
    room = line[start : start + max_bytes].encode("utf-8", "surrogatepass")[:max_bytes]
    return start + max(1, len(room.decode("utf-8", "ignore")))


def _last_match_end(pattern: re.Pattern[str], line: str, start: int, end: int) -> int:
    """Return the end of the last match in the second half of `line[start:end]`, or 0."""
    last = 0
    for match in pattern.finditer(line, (start + end) // 2, end):
        last = match.end()
    return last
