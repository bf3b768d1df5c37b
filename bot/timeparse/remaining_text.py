"""Pure: find the text beside a time that was refused."""

import re
from collections.abc import Collection
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.timeparse.ambiguity.exclusions import skip_exclusion
from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import words
from bot.timeparse.moment import TimeParseError
from bot.timeparse.parser import read_when
from memory.dates.folding import fold_letters

_BEFORE_TIME = frozenset(
    ("in", "on", "at", "by", "um", "am", "im", "en", "a", "alle", "as", "em", "в", "на", "через")
)
"""Words before a time that belong to it."""
_MARKS = " ,;:，；：、()（）"
_UNREAD = str(TimeParseError("unread"))


class RemainingText:
    """Finds the text beside a time; `spaced` if the language separates words by spaces."""

    def __init__(self, now: datetime, zone: ZoneInfo, *, spaced: bool) -> None:
        self._now, self._zone, self._spaced = now, zone, spaced

    def is_refused_moment(self, text: str, refused: TimeParseError) -> bool:
        """Return whether a refused text is a time, as far as can be known, and says nothing else."""
        moment = refused.refusal != "unread" and self._begins_with_moment(text)
        return moment and not self.find(text, refused)

    def find(self, text: str, refused: TimeParseError) -> str:
        """Return the text beside a refused time; "" if they cannot be separated."""
        if refused.refusal == "except":
            return self._rest_of(_strip_exclusions(text)).strip(_MARKS)
        return self._find_after(text, str(refused)) or self._find_before(text, str(refused))

    def _find_after(self, text: str, reason: str) -> str:
        if not self._begins_with_moment(text):
            return ""
        spans = self._spans(text)
        for count in range(1, len(spans)):
            if self._reason_for(text[: spans[count - 1][1]]) == reason:
                rest = text[spans[count if self._spaced else _skip_moment(text, count)][0] :]
                if self._reason_for(rest) == _UNREAD:
                    return rest
                beside = self._rest_of(rest)
                return beside if rest.endswith(beside) else ""
        return ""

    def _find_before(self, text: str, reason: str) -> str:
        spans = self._spans(text)
        for at in range(len(spans) - 1, 0, -1):
            begin = spans[at][0]
            if self._reason_for(text[begin:]) != reason or self._reason_for(text[:begin]) != _UNREAD:
                continue
            end = next(end for _, end in spans[at:] if self._reason_for(text[begin:end]) == reason)
            if text[end:].strip() and (self._reason_for(text[end:]) or self._rest_of(text[end:])):
                return ""
            before = [text[slice(*span)] for span in spans[:at]]
            while len(before) > 1 and fold_letters(before[-1]) in _BEFORE_TIME:
                before.pop()
            return text[: spans[len(before)][0]].strip()
        return ""

    def _begins_with_moment(self, text: str) -> bool:
        if not self._spaced:
            line = TokenLine(text)
            try:
                return line.kind(0) == "number" or Grammar(line).read(0)[1] > 0
            except TimeParseError:
                return True
        first = next((word for word in text.split() if fold_letters(word) not in _BEFORE_TIME), "")
        return any(map(str.isdigit, first)) or self._reason_for(first) != _UNREAD

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the words; in scripts without spaces, of the tokens."""
        if self._spaced:
            return [match.span() for match in re.finditer(r"\S+", text)]
        return [(token.start, token.end) for token in TokenLine(text).tokens]

    def _reason_for(self, text: str) -> str:
        """Return why the parser refuses a text; "" if it accepts it."""
        try:
            read_when(text, self._now, self._zone)
        except TimeParseError as error:
            return str(error)
        return ""

    def _rest_of(self, text: str) -> str:
        try:
            return read_when(text, self._now, self._zone)[1]
        except TimeParseError:
            return ""


def _strip_exclusions(text: str) -> str:
    """Return the text without "except sundays", 星期天除外 and the like."""
    line = TokenLine(text)
    for at, token in enumerate(line.tokens):
        if (end := skip_exclusion(line, words(), at)) > at:
            rest = text[line.tokens[end - 1].end :].lstrip(_MARKS)
            return f"{text[: token.start].rstrip(_MARKS)} {rest}".strip()
    return text


def _skip_moment(text: str, at: int) -> int:
    """Return the index after the tokens from `at` on that continue a time: 点 after 3, 后 after 小时, 周末."""
    line, known = TokenLine(text), words()
    while at < len(line.tokens) - 1:
        before = line.folded(at - 1)
        tables: list[Collection[str]] = [known.weekdays, known.weekend, known.parts]
        if line.kind(at - 1) == "number" or before in known.numbers:
            tables += [known.units, known.clock]
        if before in known.units:
            tables += [known.later, known.ago]
        after = max(line.skip(each, at) for each in tables)
        if after == at:
            break
        at = min(after, len(line.tokens) - 1)
    return at
