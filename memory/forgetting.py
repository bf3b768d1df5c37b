"""Find and remove the lines that contain the words to forget; pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory.tokenizer import parse_query, tokenize

FORGOTTEN = "[forgotten]"
"""Replaces a text that cannot simply be removed."""

_FEW_WORDS = 3
"""A repeated line with fewer words than this ("yes") is forgotten only if it contains the query's words."""

_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_STANDALONE_LINE = re.compile(r" {0,3}(?:#{1,6}(?:\s|$)|`{3}|~{3})")
_SENTENCE_END = re.compile(r"(?:(?<![.!?…])[.!?…]++(?=\s|$)|[。！？]++)\s*+")


def has_words_left(text: str) -> bool:
    """Return whether a text says anything, and was not forgotten as a whole."""
    return text.strip() not in ("", FORGOTTEN)


@dataclass(frozen=True, slots=True)
class NoteLines:
    """Whole lines of a note: 1-based, inclusive; `text` has LF between them."""

    path: str
    line_start: int
    line_end: int
    text: str


class WordsToForget:
    """What to forget: texts with all the words of a query, and repetitions of given lines."""

    def __init__(self, query: str, lines: Iterable[str] = ()) -> None:
        self._terms = [_pad_words(term.tokens) for term in parse_query(query)]
        self._lines: list[str] = []
        for line in lines:
            words = tokenize(line)
            if len(words) >= _FEW_WORDS:
                self._lines.append(_pad_words(words))

    @property
    def is_blank(self) -> bool:
        """Return whether the query has no words."""
        return not self._terms

    def is_in(self, text: str) -> bool:
        """Return whether a text matches."""
        words = _pad_words(tokenize(text))
        has_all = bool(self._terms) and all(term in words for term in self._terms)
        return has_all or any(line in words for line in self._lines)

    def matched_share(self, text: str) -> tuple[int, int]:
        """Return how many words of the query and of the lines a text contains, to rank passages."""
        words = _pad_words(tokenize(text))
        of_lines = {word for line in self._lines for word in line.split()}
        return sum(term in words for term in self._terms), len(of_lines.intersection(words.split()))

    def find_matches(self, text: str) -> list[tuple[int, int]]:
        """Return the matching lines of a text (LF line ends): 0-based, first and last, inclusive.

        A bullet includes its continuation lines and everything indented below it. Of a paragraph only the
        matching line is returned, or all of it if no single line matches.
        """
        return list(self._iter_matches(text.split("\n"))) if self.is_in(text) else []

    def remove_from(self, text: str) -> str:
        """Return the text (LF line ends) without the matching lines."""
        lines = text.split("\n")
        for first, last in reversed(self.find_matches(text)):
            del lines[first : last + 1]
        return "\n".join(lines)

    def blank_sentences(self, text: str) -> str:
        """Replace each matching sentence by a mark; replace the whole text if no single sentence matches."""
        lines = []
        for line in text.split("\n"):
            if self.is_in(line):
                sentences = list(_split_sentences(line))
                kept = [FORGOTTEN + " " if self.is_in(each) else each for each in sentences]
                line = "".join(kept).rstrip() if kept != sentences else FORGOTTEN
            lines.append(line)
        blanked = "\n".join(lines)
        return FORGOTTEN if self.is_in(blanked) else blanked

    def _iter_matches(self, lines: Sequence[str]) -> Iterator[tuple[int, int]]:
        at, margins = 0, [_indentation(line) if line.strip() else None for line in lines]
        while at < len(lines):
            if _BULLET.match(lines[at]):
                last, own = _find_bullet_end(lines, margins, at)
                if self.is_in("\n".join(lines[at : own + 1])):
                    yield at, last
                    at = last + 1
                else:
                    at = own + 1
            else:
                last = _find_paragraph_end(lines, at)
                single = [number for number in range(at, last + 1) if self.is_in(lines[number])]
                if single:
                    yield from ((number, number) for number in single)
                elif last > at and self.is_in("\n".join(lines[at : last + 1])):
                    yield at, last
                at = last + 1


class EverythingToForget(WordsToForget):
    """What to forget where a whole text goes, whatever it says."""

    def __init__(self) -> None:
        super().__init__("")

    def is_in(self, text: str) -> bool:
        """Return True."""
        del text
        return True

    def blank_sentences(self, text: str) -> str:
        """Return a mark instead of the text."""
        return FORGOTTEN if text else text


class TextsToForget(WordsToForget):
    """What to forget where somebody typed these very texts; of short ones ("yes"), only those that say nothing else."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__("", (line for text in texts for line in text.split("\n")))
        self._whole = {text.strip() for text in texts} - {""}

    def is_in(self, text: str) -> bool:
        """Return whether a text is one of them, or repeats a line of one."""
        return text.strip() in self._whole or super().is_in(text)


def _find_bullet_end(lines: Sequence[str], margins: Sequence[int | None], at: int) -> tuple[int, int]:
    """Return the last line of a bullet with everything indented below it, and the last of its own text.

    `margins` holds the indentation of each line; None for a blank one.
    """
    own_margin, last, own = margins[at], at, at
    assert own_margin is not None
    for number in range(at + 1, len(lines)):
        margin = margins[number]
        if margin is None:
            continue
        if margin <= own_margin:
            break
        last = number
    while own < last and lines[own + 1].strip() and not _BULLET.match(lines[own + 1]):
        own += 1
    return last, own


def _find_paragraph_end(lines: Sequence[str], at: int) -> int:
    """Return the last line of a paragraph that begins here; a heading or a fence is a paragraph of its own."""
    last = at
    if not lines[at].strip() or _STANDALONE_LINE.match(lines[at]):
        return at
    while last + 1 < len(lines) and lines[last + 1].strip():
        if _BULLET.match(lines[last + 1]) or _STANDALONE_LINE.match(lines[last + 1]):
            break
        last += 1
    return last


def _indentation(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _split_sentences(line: str) -> Iterator[str]:
    """Yield the sentences of a line with the blanks after them; joined they are the line."""
    start = 0
    for end in _SENTENCE_END.finditer(line):
        yield line[start : end.end()]
        start = end.end()
    if start < len(line):
        yield line[start:]


def _pad_words(words: Iterable[str]) -> str:
    return f" {' '.join(words)} "
