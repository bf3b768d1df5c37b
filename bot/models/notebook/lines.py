"""Pure: a message falls into lines, and a line into sentences."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from bot.models.notebook.language import Language
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.phrases import ENDS, OPENERS, has_words


class Line(NamedTuple):
    text: str
    listed: bool


# Text, not compiled: `re` compiles each when it is first used, and keeps it.
_BULLET = r"\s*(?:[-*+•◦▪‣]\s+|#{1,6}\s+|>\s*)+(?=\S)"
_NUMBER = r"\s*(\d{1,3})[.)]\s+(?=\S)"
_FENCE = r"\s*(`{3,}|~{3,})"


def lines_of(text: str) -> list[Line]:
    """The lines that hold something, without list markers; a block of code is part of the line before it."""
    lines: list[Line] = []
    raw = text.splitlines()
    numbers = [int(match[1]) if (match := re.match(_NUMBER, line)) else 0 for line in raw]
    fence, code = "", list[str]()

    def end_code() -> None:
        quoted = " ".join(f"`{line}`" if "`" not in line else f"`` {line} ``" for line in code)
        if quoted and lines:
            lines[-1] = Line(f"{lines[-1].text} {quoted}", lines[-1].listed)
        elif quoted:
            lines.append(Line(quoted, listed=False))
        code.clear()

    for index, line in enumerate(raw):
        opened = re.match(_FENCE, line)
        if fence:
            if line.strip() and set(line.strip()) == {fence[0]} and len(line.strip()) >= len(fence):
                end_code()
                fence = ""
            elif line.strip():
                code.append(" ".join(line.split()))
        elif opened and opened[1][0] not in line[opened.end() :]:
            fence = opened[1]
        else:
            around = (numbers[index - 1] if index else 0, numbers[index + 1] if index + 1 < len(raw) else 0)
            numbered = numbers[index] and (
                around[0] == numbers[index] - 1 > 0 or around[1] == numbers[index] + 1
            )
            marker = re.match(_NUMBER if numbered else _BULLET, line)
            rest = " ".join((line[marker.end() :] if marker else line).split())
            if rest:
                lines.append(Line(rest, listed=marker is not None))
    end_code()
    return lines


_PAIRS = dict(zip('“„«(（「『[【《"`', '”“»)）」』]】》"`', strict=True))

_STOPS = r"[.!?؟。！？｡।॥…]+|[\"`“”„«»()（）「」『』\[\]【】《》]"

_INITIALS = r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}"
"""Such as "e.g" or "p.m", without its last dot."""

_SMILE = "(?:\\s*[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f\u200d])+"
"""Emoji behind a sentence are part of it."""


def sentences(line: str, *, language: Language = ENGLISH, casual: bool = False) -> Iterator[str]:
    """Cut a line where a sentence ends, but not inside quotes and brackets; where in doubt, do not cut.

    `casual`: sentences may begin with a small letter. What holds no word stays with what stands before it.
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
    if open_until:  # what is opened and never closed is no quote: 55" or :(
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
