"""Adapt Markdown as models write it to the parser's rules, and close what is still being written."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator

from pyromark import Options, events_with_range

from adapters.markdown.formula import is_formula

OPTIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_MATH
    | Options.ENABLE_FOOTNOTES
)
FILLER = "\u1680"
"""A space that nobody types: put next to stars so that they count as emphasis, and removed again."""
_WIDE = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
_STARS_AT_WIDE = re.compile(rf"[{_WIDE}]\*|\*[{_WIDE}]")
_WIDE_CHAR = re.compile(f"[{_WIDE}]")
_STARS = re.compile(r"\n[ \t]*\n|\\.|\*{1,3}")
_OPENING_BRACKET = re.compile(r"(?<!\\)\\[(\[]")
_MAX_FORMULA_CHARS = 1000
"""Maximum characters between brackets for a formula."""
_UNSENDABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def remove_unsendable(text: str) -> str:
    r"""Remove characters that channels strip or JSON cannot hold; line breaks become "\n"."""
    return _UNSENDABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).replace(FILLER, " ")


def normalize(markdown: str) -> str:
    r"""Convert \(formulas\) to dollars, and make emphasis next to CJK text work."""
    formulas = "\\(" in markdown or "\\[" in markdown
    stars = _STARS_AT_WIDE.search(markdown) is not None
    if formulas:
        code = _CodeRanges(markdown)
        markdown = _convert_formula_brackets(markdown, code)
    return _fix_emphasis(markdown) if stars else markdown


class _CodeRanges:
    """Ranges of code, where nothing is changed."""

    def __init__(self, markdown: str) -> None:
        data = markdown.encode()
        self.starts: list[int] = []
        self.ends: list[int] = []
        byte = place = 0
        for payload, where in events_with_range(markdown, options=OPTIONS):
            if isinstance(payload, str) or not ("Code" in payload or _starts_code(payload.get("Start"))):
                continue
            place += len(data[byte : where["start"]].decode())
            size = len(data[where["start"] : where["end"]].decode())
            self.starts.append(place)
            self.ends.append(place + size)
            place += size
            byte = where["end"]

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether a range touches code."""
        at = bisect_right(self.ends, start)
        return at < len(self.starts) and self.starts[at] < end


def _starts_code(tag: object) -> bool:
    return isinstance(tag, dict) and "CodeBlock" in tag


def _convert_formula_brackets(markdown: str, code: _CodeRanges) -> str:
    r"""Replace \(…\) and \[…\] around formulas outside code by dollars."""
    pieces: list[str] = []
    done = 0
    for start, end in _find_bracketed(markdown):
        if not code.overlaps(start, end):
            pieces += [markdown[done:start], _to_dollars(markdown[start:end])]
            done = end
    return "".join([*pieces, markdown[done:]])


def _find_bracketed(markdown: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of short bracketed text, each opening bracket with its first closing one."""
    ends = {sign: _find_all(markdown, f"\\{sign}") for sign in ")]"}
    start = 0
    for opening in _OPENING_BRACKET.finditer(markdown):
        if opening.start() < start:
            continue
        places = ends[")" if opening[0][1] == "(" else "]"]
        at = bisect_right(places, opening.end())
        if at < len(places) and places[at] - opening.end() <= _MAX_FORMULA_CHARS:
            start = places[at] + 2
            yield opening.start(), start


def _find_all(text: str, sign: str) -> list[int]:
    places: list[int] = []
    place = text.find(sign)
    while place >= 0:
        places.append(place)
        place = text.find(sign, place + 1)
    return places


def _to_dollars(bracketed: str) -> str:
    inner = bracketed[2:-2].strip()
    if "\n\n" in inner or "$" in inner or not is_formula(inner):
        return bracketed
    return f"$${inner}$$" if bracketed[1] == "[" else f"${' '.join(inner.split())}$"


def _fix_emphasis(markdown: str) -> str:
    """Make stars between CJK letters and punctuation open or close emphasis as intended.

    Markdown's rules rely on spaces between words, which these languages do not write.
    """
    code = _CodeRanges(markdown)
    pieces = []
    last = 0
    opened: set[str] = set()
    for match in _STARS.finditer(markdown):
        run = match[0]
        if code.overlaps(match.start(), match.end()):
            continue
        if run[0] == "\n":
            opened.clear()
        if run[0] != "*":
            continue
        before = markdown[match.start() - 1 : match.start()] or " "
        after = markdown[match.end() : match.end() + 1] or " "
        pieces.append(markdown[last : match.start()])
        last = match.end()
        if run in opened and not before.isspace():
            opened.discard(run)
            pieces.append(run + (FILLER if _is_punctuation(before) and _WIDE_CHAR.match(after) else ""))
        elif not after.isspace():
            opened.add(run)
            pieces.append((FILLER if _is_punctuation(after) and _WIDE_CHAR.match(before) else "") + run)
        else:
            pieces.append(run)
    return "".join([*pieces, markdown[last:]])


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


_FENCE = re.compile(r"^[ \t>]*+(?:[-*+] ++|\d++[.)] ++)?+(`{3,}|~{3,})([^\n]*+)$", re.MULTILINE)
_TOKEN = re.compile(r"\\.|`+|\*{1,3}|~~|\|\||__?", re.DOTALL)
_HALF_LINK = re.compile(r"!?\[([^\[\]\n]*)(?:\]\([^()\n]*)?$")


def close_open_markup(markdown: str) -> str:
    """Close emphasis and code that an unfinished text has opened.

    An open fence is left alone: the parser ends it with the text.
    """
    fence = ""
    begun = 0, 0
    for match in _FENCE.finditer(markdown):
        run, rest = match[1], match[2]
        if not fence:
            fence = "" if run[0] == "`" and "`" in rest else run
            begun = match.span()
        elif run.startswith(fence) and not rest.strip():
            fence = ""
    if fence and not markdown[begun[1] :].strip():
        return markdown[: begun[0]]
    if fence:
        head, _, line = markdown.rpartition("\n")
        return head if line.strip() and not line.strip().strip(fence[0]) and head.strip() else markdown
    start = markdown.rfind("\n\n") + 1
    tail = _HALF_LINK.sub(r"\1", markdown[start:].rstrip())
    return markdown[:start] + _close_line(tail)


def _close_line(text: str) -> str:
    opened: list[tuple[str, int]] = []
    for match in _TOKEN.finditer(text):
        run = match[0]
        before = text[match.start() - 1 : match.start()] or " "
        after = text[match.end() : match.end() + 1] or " "
        if run[0] == "\\":
            continue
        if opened and opened[-1][0][0] == "`" and run != opened[-1][0]:
            continue
        if opened and opened[-1][0] == run and (run[0] == "`" or not before.isspace()):
            opened.pop()
        elif run[0] == "`" or not ((after.isspace() and match.end() < len(text)) or _is_word(before)):
            opened.append((run, match.start()))
    end = len(text)
    while opened and opened[-1][1] + len(opened[-1][0]) == end:
        end = opened.pop()[1]
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end] + "".join(run for run, _ in reversed(opened))


def _is_word(char: str) -> bool:
    return char.isascii() and char.isalnum()
