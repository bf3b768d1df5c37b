"""Format a text to remember as Markdown, as a person would have written it."""

import re
import unicodedata

from memory.errors import EditRefused, NothingToWrite
from memory.surrogates import replace_surrogates

_LINE_BREAKS = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_BULLET = re.compile(r"[-*+](?:[ \t]|$)")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")
"""Makes a heading of the line above it."""
_HIGH_HEADING = re.compile(r"#{1,2}[ \t]")
_SECTION = re.compile(r"## [0-2]\d:[0-5]\d \S")
_FENCE = re.compile(r"\s*(?:`{3,}+(?!.*`)|~{3,})")
_QUOTE = re.compile(r" {0,3}>")
_MARKS = tuple(
    re.compile(mark)
    for mark in (
        r"[-*+][ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)",
        r"\d{1,9}[.)][ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)",
        r"#{1,6}[ \t]+(?=\S)",
        r"(?:>[ \t]?)+(?=\S)",
    )
)
"""Markers of a bullet, a numbered item, a heading and a quotation."""
_TABLE = re.compile(r"\|?\s*:?-{3,}:?\s*(?:\|\s*:?-{3,}:?\s*)*\|?$")
_DANGEROUS = re.compile(r"#{1,6}(?:\s|$)|=+\s*$|-[-\s]*$|([*_])(?:\s*\1){2,}\s*$")


def format_entry(text: str) -> str:
    """Return a text to remember as lines of Markdown, without a newline at the end.

    - One line becomes a bullet, unless it is one already.
    - Plain lines become a bullet for each paragraph, with indented continuation lines.
    - A list stays a list; text with a fence, quote, table or heading (first, or after a blank line) stays.
    - A line that would become a heading or a rule by accident is escaped by a backslash.

    No word is changed or dropped; control characters and lone surrogates become U+FFFD.
    Raises `NothingToWrite` if nothing is visible.
    """
    lines = _dedent(clean_text(text))
    if not any(_is_visible(character) for line in lines for character in line):
        raise NothingToWrite("There is nothing to write: the text is blank.")
    if len(lines) == 1:
        return _format_item(lines[0])
    lines = _normalize_bullets(lines)
    if _is_markdown(lines):
        return "\n".join(_close_fence(lines))
    if _LIST_ITEM.match(lines[0]):
        return "\n".join(line if _LIST_ITEM.match(line) else _escape_block_markup(line) for line in lines)
    return "\n".join(_format_items(lines))


def escape_headings(text: str) -> str:
    """Return a text in which no line outside of fences is a heading, so that what follows it is not part of one.

    Such lines get a backslash; in Markdown they then read as they were typed.
    """
    inside = before = ""
    lines = list[str]()
    for line in clean_text(text).split("\n"):
        is_fenced = bool(inside)
        inside = _open_fence_after(line, inside)
        content = line.lstrip()  # an indentation that all lines have is removed later
        is_heading = _HEADING.match(content) or (before.strip() and _UNDERLINE.match(content))
        if is_heading and not is_fenced:
            line = f"{line[: len(line) - len(content)]}\\{content}"
        before = "" if inside or is_fenced else line
        lines.append(line)
    return "\n".join(lines)


def clean_text(text: str) -> str:
    """Return text that is safe for a note: LF line ends, no control characters, no lone surrogates."""
    text = _LINE_BREAKS.sub("\n", replace_surrogates(text))
    return _CONTROLS.sub("\ufffd", text).removeprefix("\ufeff")


def correct_line(old: str, text: str) -> str:
    """Return the line that replaces `old`, whose indentation and marker stay.

    A marker is that of a list, a heading or a quotation; one of the same kind in the text replaces the old
    one. What would begin a code block, or turn the line above into a heading, is escaped by a backslash.
    Raises `NothingToWrite` for a blank text, and `EditRefused` for several lines.
    """
    text = clean_text(text).strip()
    if not any(map(_is_visible, text)):
        raise NothingToWrite("There is nothing to write: the text is blank.")
    if "\n" in text:
        raise EditRefused("The new text has several lines; please put it on a single line.")
    margin = old[: len(old) - len(old.lstrip())]
    for mark in _MARKS:
        if found := mark.match(old, len(margin)):
            own = mark.match(text)
            return f"{margin}{text}" if own else f"{margin}{found.group()}{_escape_first_line(text)}"
    return f"{margin}{_escape_first_line(text)}"


def _escape_first_line(text: str) -> str:
    is_heading = _HEADING.match(text) and text.strip("# \t")
    return f"\\{text}" if _FENCE.match(text) or (_DANGEROUS.match(text) and not is_heading) else text


def format_lead_in(before: str, entry: str, *, title: str, at: str = "") -> str:
    """Return what belongs between the note's text so far (LF line ends) and a new entry.

    An empty note gets its title; bullets follow each other directly; everything else follows a blank line. An
    entry with a time (`at`, such as `14:05`) gets a section of its own if the last section is that of a
    conversation (`## 12:00 Anna`).
    """
    newline = "" if before.endswith("\n") or not before else "\n"
    if not before.strip():
        heading = " ".join(clean_text(title).split())
        return f"{newline}# {heading}\n\n" if heading else newline
    blank = newline if before.endswith("\n\n") else f"{newline}\n"
    if at and not _HIGH_HEADING.match(entry) and _SECTION.match(_last_heading(before)):
        return f"{blank}## {at}\n\n"
    if _BULLET.match(entry) and _ends_with_bullets(before):
        return newline
    return blank


def _last_heading(before: str) -> str:
    """Return the last heading of the first or second level; "" if there is none."""
    for line in reversed(before[-65536:].split("\n")):
        if _HIGH_HEADING.match(line):
            return line
    return ""


def _ends_with_bullets(before: str) -> bool:
    """Return whether the last line belongs to a bullet, itself or as an indented line below one."""
    for line in reversed(before[-65536:].split("\n")):
        if line.strip() and not line[0].isspace():
            return _BULLET.match(line) is not None and not _RULE.match(line)
    return False


def _dedent(text: str) -> list[str]:
    """Return the lines without blank ones at either end and without their common indentation."""
    lines = [line if line.strip() else "" for line in text.split("\n")]
    filled = [number for number, line in enumerate(lines) if line]
    lines = lines[filled[0] : filled[-1] + 1] if filled else []
    if lines:
        margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        if all(line.startswith(margin) for line in lines if line):
            lines = [line.removeprefix(margin) for line in lines]
        lines[0] = lines[0].lstrip()
        lines[-1] = lines[-1].rstrip()
    return lines


def _is_visible(character: str) -> bool:
    return not (character.isspace() or character == "\ufffd" or unicodedata.category(character) == "Cf")


def _is_markdown(lines: list[str]) -> bool:
    """Return whether the lines are a block of Markdown, such as a table, and not only a list."""
    before = ""
    for line in lines:
        if _FENCE.match(line) or _QUOTE.match(line) or ("|" in line and _TABLE.match(line.strip())):
            return True
        if _HEADING.match(line) and not before and line.strip("# \t"):
            return True
        before = line
    return False


def _normalize_bullets(lines: list[str]) -> list[str]:
    """Replace • by Markdown's own bullet, outside of fences."""
    inside = ""
    changed = []
    for line in lines:
        inside = _open_fence_after(line, inside)
        changed.append(line if inside else re.sub(r"^(\s*)•[ \t]+(?=\S)", r"\1- ", line))
    return changed


def _close_fence(lines: list[str]) -> list[str]:
    """Close an open fence, so that it does not include later entries."""
    inside = ""
    for line in lines:
        inside = _open_fence_after(line, inside)
    return [*lines, inside] if inside else lines


def _open_fence_after(line: str, inside: str) -> str:
    """Return the fence (with its indentation) that is open after this line; "" if there is none."""
    if not inside:
        return match.group() if (match := _FENCE.match(line)) else ""
    closing = line.strip()
    opened = inside.strip()
    return "" if len(closing) >= len(opened) and set(closing) == {opened[0]} else inside


def _format_items(lines: list[str]) -> list[str]:
    """Make each paragraph a bullet with indented continuation lines; a list among them stays."""
    items: list[str] = []
    margin = beneath = ""
    fresh = True
    for line in lines:
        content = line.lstrip()
        is_item = _LIST_ITEM.match(content) is not None
        if not line:
            fresh = True
        elif fresh:
            fresh = False
            margin = line[: len(line) - len(content)]
            beneath = "" if is_item else "  "
            items.append(content if is_item else _format_item(content))
        else:
            line = line.removeprefix(margin)
            items.append(beneath + (line if is_item else _escape_block_markup(line)))
    return items


def _format_item(line: str) -> str:
    if not _RULE.match(line):
        line = re.sub(r"^[-*•][ \t]+(?=\S)", "", line)
    return f"- {_escape_block_markup(line)}"


def _escape_block_markup(line: str) -> str:
    content = line.lstrip()
    return f"{line[: len(line) - len(content)]}\\{content}" if _DANGEROUS.match(content) else line


def format_block(text: str) -> str:
    """Return a block of Markdown as it is written, without surrounding line ends.

    Raises `NothingToWrite` if it is blank.
    """
    block = clean_text(text).strip("\n")
    if not block.strip():
        raise NothingToWrite("There is nothing to write: the text is blank.")
    return block
