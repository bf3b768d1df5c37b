"""Turns a document into a note: its title, its file name, its text as Markdown."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath

from bot import english
from bot.attachments.document_text import DocumentText
from bot.sanitize import one_line
from bot.visible_names import escape_path
from memory.document_paths import document_path
from memory.normalization import normalize

MAX_BYTES = 2_000_000
"""UTF-8 bytes of text in one note."""
TITLE_CHARS = 120
_LINE_CHARS = 1000
_SLUG_CHARS = 60
_SLUG_BYTES = 180
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"( {0,3})(#{1,6})(?=[ \t]|$)")
_DOUBLE_LINE = re.compile(r" {0,3}=+[ \t]*")
_NO_TITLE = re.compile(r"\s*$|\s*[-*+>|#]| {4}|\t|\s*\d{1,9}[.)]\s")
_RULE = re.compile(r"---[ \t]*")
# Makes a line of plain text a heading, a rule, a quotation or the beginning of code.
_LOOKS_LIKE_MARKUP = re.compile(
    r"^( {0,3})(?=#{1,6}(?:[ \t]|$)|=+[ \t]*$|-[- \t]*$|([*_])(?:[ \t]*\2){2,}[ \t]*$|>|`{3}|~{3})"
)
_PARAGRAPHS = frozenset({"text", "PDF"})


@dataclass(frozen=True, slots=True)
class DocumentNote:
    """A note to be written."""

    path: str
    title: str
    """Its first heading."""
    block: str
    """Everything below the heading."""
    text: str
    """The part of `block` that comes from the document."""
    kept: int
    """Characters of the document that were kept."""
    is_whole: bool


def document_note(document: DocumentText, *, name: str, title: str, sender: str, day: date) -> DocumentNote:
    """Return a note with the text of a document; `title` is the title that a person chose, or "".

    Markdown stays Markdown below one heading; text keeps its paragraphs; everything else is put into a fence.
    """
    name = escape_path(one_line(name))
    whole = document.text.replace("\f", "\n\n").strip("\n")
    text = _truncate(whole, is_cut=not document.is_whole)
    kept, is_whole = len(text), document.is_whole and len(text) == len(whole)
    heading = one_line(title, limit=TITLE_CHARS)
    if document.kind == "Markdown":
        own, text = _split_title(text.split("\n"))
        heading = heading or one_line(own, limit=TITLE_CHARS)
        if own and one_line(own, limit=TITLE_CHARS) != heading:
            text = f"## {own}\n\n{text}".rstrip()
    elif document.kind in _PARAGRAPHS:
        text = "\n".join(_LOOKS_LIKE_MARKUP.sub(r"\1\\", line.rstrip(), count=1) for line in text.split("\n"))
    else:
        text = _fence(text, language=PurePosixPath(name).suffix.removeprefix(".").lower())
    heading = heading or one_line(_file_stem(name), limit=TITLE_CHARS) or english.FILED_TITLE
    known = {"name": _code(name) if name.strip() else english.FILED_NAMELESS, "day": day.isoformat()}
    facts = [
        english.FILED_FROM.format(who=_code(sender), **known)
        if sender
        else english.FILED_BY_NOBODY.format(**known)
    ]
    if not is_whole:
        cut = english.FILED_CUT if document.characters else english.FILED_CUT_SOMEWHERE
        facts.append(cut.format(kept=kept, all=document.characters))
    path = document_path(f"{day.isoformat()}-{slugify(heading)}")
    return DocumentNote(path, heading, "\n\n".join([" ".join(facts), text]), text, kept, is_whole)


def is_title(text: str) -> bool:
    """Return whether a text can be a title: one line of at most TITLE_CHARS. Longer texts are notes themselves."""
    return len(text) <= TITLE_CHARS and len(text.splitlines()) == 1


def slugify(title: str) -> str:
    """Return a title as part of a file name: letters and digits of any script, joined by hyphens."""
    folded = normalize("NFC", title).lower()
    letters = (
        letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " "
        for letter in folded
        if unicodedata.category(letter) != "Cf"
    )
    words = [word for word in "".join(letters).split() if any(map(str.isalnum, word))]
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word
        if len(longer) > _SLUG_CHARS or len(longer.encode()) > _SLUG_BYTES:
            break
        name = longer
    if words and not name:  # one long word, or a script without spaces
        name = words[0][:_SLUG_CHARS].encode()[:_SLUG_BYTES].decode(errors="ignore")
    return name or english.FILED_TITLE.lower()


def _file_stem(name: str) -> str:
    """Return a file's name without the suffix of its format."""
    suffix = PurePosixPath(name).suffix
    return name.removesuffix(suffix) if _SUFFIX.fullmatch(suffix) else name


def _truncate(text: str, *, is_cut: bool) -> str:
    """Return as much of a text as fits into a note, cut at the end of a line if there is one nearby."""
    if len(text) * 4 > MAX_BYTES and len(data := text.encode("utf-8", "replace")) > MAX_BYTES:
        text, is_cut = data[:MAX_BYTES].decode(errors="ignore"), True
    end = text.rfind("\n", max(len(text) - _LINE_CHARS, 0)) if is_cut and len(text) > _LINE_CHARS else -1
    return text if end < 0 else text[:end]


def _code(text: str) -> str:
    shown = one_line(text).replace("`", "'")
    return f"`{shown}`"


# -- Markdown ---------------------------------------------------------------------------------------------------


def _split_title(lines: Sequence[str]) -> tuple[str, str]:
    """Return a document's own title ("" for none), and the text below it without headings of the first level."""
    lines = _fence_front_matter(list(lines))
    highest = [at for at, level, _ in _find_headings(lines) if level == 1]
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    own = ""
    headings = list(_find_headings(lines))
    if highest[:1] == [first]:
        _, _, own = headings[0]
        below = 2 if _is_underlined(lines, first) else 1
        lines[first : first + below] = []
        headings = [(at - below, level, title) for at, level, title in headings[1:]]
        highest = highest[1:]
    if highest:
        lines = _demote_headings(lines, headings)
    return own, "\n".join(_close_fence(lines)).strip("\n")


def _demote_headings(lines: Sequence[str], headings: Sequence[tuple[int, int, str]]) -> list[str]:
    """Lower each heading by one level; linear in time, since a document may have half a million."""
    lowered: list[str] = []
    kept = 0
    for at, level, title in headings:
        lowered += lines[kept:at]
        kept = at + 1
        if _is_underlined(lines, at):
            lowered.append(f"## {title}")
            kept = at + 2
        else:
            lowered.append(_HEADING.sub(r"\1\2#", lines[at], count=1) if level < 6 else lines[at])
    return [*lowered, *lines[kept:]]


def _find_headings(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return line, level and title of each heading, except those underlined with hyphens, which may stay."""
    found: list[tuple[int, int, str]] = []
    fence = ""
    for at, line in enumerate(lines):
        fence = _open_fence_after(line, fence)
        if fence:
            continue
        if match := _HEADING.match(line):
            found.append((at, len(match[2]), line[match.end() :].strip().rstrip("#").rstrip()))
        elif _is_underlined(lines, at):
            found.append((at, 1, line.strip()))
    return found


def _is_underlined(lines: Sequence[str], at: int) -> bool:
    """Return whether a line is a heading of the first level because of the `===` below it."""
    return (
        at + 1 < len(lines)
        and _DOUBLE_LINE.fullmatch(lines[at + 1]) is not None
        and not _NO_TITLE.match(lines[at])
        and not (at and lines[at - 1].strip())
    )


def _fence_front_matter(lines: list[str]) -> list[str]:
    """Fence front matter, which would otherwise be read as a rule and a heading."""
    if lines and _RULE.fullmatch(lines[0]):
        for end in range(1, len(lines)):
            if lines[end].rstrip() in {"---", "..."}:
                fields = _fence("\n".join(lines[1:end]), language="yaml") if end > 1 else ""
                rest = lines[end + 1 :]
                # Below the title, so that the title still comes first.
                first = next((at for at, line in enumerate(rest) if line.strip()), 0)
                title = [each for each in _find_headings(rest) if each[0] == first and each[1] == 1]
                below = first + (2 if title and _is_underlined(rest, first) else 1) if title else 0
                return [*rest[:below], *(["", *fields.split("\n"), ""] if fields else []), *rest[below:]]
    return lines


def _open_fence_after(line: str, fence: str) -> str:
    """Return the marker of the fence that is open after a line; "" for none."""
    if not fence:
        match = _FENCE.match(line)
        return match[1] if match and not (match[1][0] == "`" and "`" in line[match.end() :]) else ""
    mark = line.strip()
    return "" if len(mark) >= len(fence) and set(mark) == {fence[0]} else fence


def _close_fence(lines: list[str]) -> list[str]:
    fence = ""
    for line in lines:
        fence = _open_fence_after(line, fence)
    return [*lines, fence] if fence else lines


def _fence(text: str, *, language: str) -> str:
    """Return a text in a fence that is longer than any inside it."""
    longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    known = language if re.fullmatch(r"[a-z0-9+#-]{1,16}", language) else ""
    return f"{fence}{known}\n{text}\n{fence}"
