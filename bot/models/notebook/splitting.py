"""Pure: split a message into lines, and a line into sentences."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from bot.models.notebook.language import Language
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.phrases import ENDS, OPENERS, has_words


class MessageLine(NamedTuple):
    """A line of the message, a whole list, or a whole code block."""

    text: str
    listed: bool = False
    """Whether it had the mark of a quotation or list item."""
    items: tuple[str, ...] = ()
    """Items of a list, without their marks."""
    block: str = ""
    """The list, the code or the text below a heading as written, without common indentation."""


# Strings: `re` compiles each on first use and caches it.
_MARK = r"\s*(?:[-*+•◦▪‣]\s+|>\s*)+(?=\S)"
_HEADING = r"\s*#{1,6}\s+\S"
_BULLET = r"\s*[-*+•◦▪‣]\s+(?=\S)"
_NUMBER = r"\s*(\d{1,3})[.)]\s+(?=\S)"
_FENCE = r"\s*(`{3,}|~{3,})"


def split_lines(text: str) -> list[MessageLine]:
    """Return the non-blank lines; lists, code blocks and everything below a heading stay whole."""
    if re.match(_HEADING, text):
        return [
            MessageLine("", listed=True, block=_dedent([line.rstrip() for line in text.strip().splitlines()]))
        ]
    lines: list[MessageLine] = []
    raw = text.splitlines()
    marks = _list_items(raw)
    at = 0
    while at < len(raw):
        line, end = raw[at], at + 1
        if _opens_fence(line):
            end = _fence_end(raw, at)
            lines.extend(_parse_code(raw[at:end]))
        elif marks[at]:
            end = _list_end(raw, marks, at)
            lines.append(_parse_list(raw[at:end], marks[at:end]))
        elif rest := " ".join(re.sub(f"^{_MARK}", "", line).split()):
            lines.append(MessageLine(rest, listed=bool(re.match(_MARK, line))))
        at = end
    return lines


def _list_items(raw: list[str]) -> list[str]:
    """Return the text of each list item; a number makes an item only next to others."""
    numbers = [int(match[1]) if (match := re.match(_NUMBER, line)) else 0 for line in raw]
    items: list[str] = []
    for index, line in enumerate(raw):
        around = (numbers[index - 1] if index else 0, numbers[index + 1] if index + 1 < len(raw) else 0)
        numbered = numbers[index] and (around[0] == numbers[index] - 1 > 0 or around[1] == numbers[index] + 1)
        bullet = _NUMBER if numbered else _MARK if re.match(_BULLET, line) else ""
        items.append(" ".join(re.sub(f"^{bullet}", "", line).split()) if bullet else "")
    return items


def _list_end(raw: list[str], marks: list[str], at: int) -> int:
    """Return the end of a list; further items and indented lines belong to it, and blank lines between them."""
    end = at = at + 1
    while at < len(raw):
        indented = raw[at][:2] == "  " or raw[at][:1] == "\t"
        if marks[at] or (indented and raw[at].strip()):
            at = end = _fence_end(raw, at) if not marks[at] and _opens_fence(raw[at]) else at + 1
        elif raw[at].strip():
            break
        else:
            at += 1
    return end


def _parse_list(raw: list[str], marks: list[str]) -> MessageLine:
    items: list[str] = []
    for line, item in zip(raw, marks, strict=True):
        if item:
            items.append(item)
        elif line.strip():
            items[-1] += f" {' '.join(line.split())}"
    return MessageLine("", listed=True, items=tuple(items), block=_dedent(raw))


def _opens_fence(line: str) -> bool:
    opened = re.match(_FENCE, line)
    return opened is not None and opened[1][0] not in line[opened.end() :]


def _fence_end(raw: list[str], at: int) -> int:
    opened = re.match(_FENCE, raw[at])
    fence = opened[1] if opened else ""
    for end in range(at + 1, len(raw)):
        line = raw[end].strip()
        if line and set(line) == {fence[0]} and len(line) >= len(fence):
            return end + 1
    return len(raw)


def _parse_code(raw: list[str]) -> list[MessageLine]:
    """Return a code block, closed if it was left open; empty if it has no lines."""
    fence = raw[0].strip()
    mark = fence[: len(fence) - len(fence.lstrip(fence[0]))]
    last = raw[-1].strip()
    closed = len(raw) > 1 and set(last) == {mark[0]} and len(last) >= len(mark)
    if not any(line.strip() for line in (raw[1:-1] if closed else raw[1:])):
        return []
    margin = raw[0][: len(raw[0]) - len(raw[0].lstrip())]
    return [MessageLine("", block=_dedent(raw if closed else [*raw, margin + mark]))]


def _dedent(raw: list[str]) -> str:
    margin = raw[0][: len(raw[0]) - len(raw[0].lstrip())]
    return "\n".join(line.removeprefix(margin).rstrip() for line in raw)


_PAIRS = dict(zip('“„«(（「『[【《"`', '”“»)）」』]】》"`', strict=True))

_STOPS = r"[.!?؟。！？｡।॥…]+|[\"`“”„«»()（）「」『』\[\]【】《》]"

_INITIALS = r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}"
"""Such as "e.g" or "p.m", without the last dot."""

_SMILE = "(?:\\s*[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f\u200d])+"
"""Emoji after a sentence belong to it."""


def split_sentences(line: str, *, language: Language = ENGLISH, casual: bool = False) -> Iterator[str]:
    """Split a line after each sentence, but not inside quotes and brackets, and not if in doubt.

    `casual`: sentences may begin with a small letter. Text without a word stays with the sentence before it.
    """
    pieces: list[str] = []
    start = 0
    for end in _sentence_ends(line, language=language, casual=casual):
        pieces.append(line[start:end])
        start = end
    pieces.append(line[start:])
    held = ""
    for piece in pieces:
        if held and has_words(piece):
            yield held.strip()
            held = piece
        else:
            held += piece
    if held.strip():
        yield held.strip()


def _sentence_ends(line: str, *, language: Language, casual: bool, paired: bool = True) -> list[int]:
    ends: list[int] = []
    open_until: list[str] = []
    for match in re.finditer(_STOPS, line):
        mark = match[0]
        if mark[0] not in ENDS:
            if open_until and mark == open_until[-1]:
                open_until.pop()
            elif mark in _PAIRS and paired and len(open_until) < 8:
                open_until.append(_PAIRS[mark])
        elif not open_until and _ends_sentence(line, match, language=language, casual=casual):
            smile = re.compile(_SMILE).match(line, match.end())
            ends.append(smile.end() if smile else match.end())
    if open_until:  # an opening without a closing is no quotation: 55" or :(
        return _sentence_ends(line, language=language, casual=casual, paired=False)
    return ends


def _ends_sentence(line: str, match: re.Match[str], *, language: Language, casual: bool) -> bool:
    mark, end = match[0], match.end()
    if mark[-1] in "。！？｡।॥":
        return True
    following = line[end : end + 1]
    if following and not following.isspace():
        return False
    if "…" in mark or ".." in mark:
        return False
    after = line[end : end + 8].lstrip()[:1]
    if "?" in mark or "؟" in mark:
        return True
    if after.islower() and not casual:
        return False
    if "!" in mark:
        return True
    before = line[max(0, match.start() - 16) : match.start()].rsplit(maxsplit=1)
    word = before[-1].lstrip(OPENERS).lower() if before else ""
    ordinal = language.ordinal_dots and word.isdigit() and len(word) <= 2
    initial = len(word) == 1 and word.isalpha() and word != "i"
    return not (ordinal or initial or re.fullmatch(_INITIALS, word) or word in language.abbreviations)
