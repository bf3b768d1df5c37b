"""Marks lines of notes that are not their writer's own words: such a line ends in `(says report.pdf)`; pure."""

import re
from collections.abc import Iterable, Sequence

from memory.document_paths import describe_document
from memory.formatting import clean_text

MAX_NAMES = 3
"""Maximum names in one mark; further ones are counted."""

NAME_CHARS = 60

MARK_EVERY_BYTES = 800
"""UTF-8 bytes of a line after which it is marked again: search splits long lines, and each part needs a mark."""

NOBODY = "somebody"
"""Stands for a name without any visible character."""

MARK_BEGIN = "(says "

_MARK = re.compile(r"[ \t]?\(says ([^()\[\]\n]{1,400})\)")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
_ENDS = (re.compile(r"(?<=[.!?;:])[ \t]+|(?<=[。！？；])"), re.compile(r"[ \t]+"))
"""Ends of sentences, and of words."""
_REPLACED = str.maketrans(
    {";": ",", "`": "'", "|": "/", "\\": "/"} | dict.fromkeys("()[]<>{}*~", " ")  # Markdown, or ours
)


def attribute(text: str, says: Sequence[str]) -> str:
    """Mark each line that contains words as the words of these people or documents; a line has each name once.

    Without names, return the text as it is.
    """
    names = clean_names(says)
    if not names:
        return text
    return "\n".join(_mark_line(line, names) for line in clean_text(text).split("\n"))


def attribute_passage(text: str, says: Sequence[str]) -> str:
    """Return part of a note with its source marked: as it is if it has a mark, else with every line marked."""
    return text if find_says(text) else attribute(text, says)


def find_says(text: str) -> tuple[str, ...]:
    """Return the names in the marks of a text, each once, in order; () without marks."""
    return tuple(dict.fromkeys(name for found in _MARK.findall(text) for name in found.split("; ") if name))


def says_of(path: str, text: str) -> tuple[str, ...]:
    """Return whose words a passage of a note is, by its marks; a saved document is the document's as a whole."""
    document = describe_document(path)
    return (document,) if document else find_says(text)


def marked_lines(text: str) -> str:
    """Return only the lines that have a mark."""
    return "\n".join(line for line in text.split("\n") if _MARK.search(line))


def remove_marks(text: str) -> str:
    """Return a text without its marks."""
    return _MARK.sub("", text)


def shorten(text: str, max_chars: int, *, ending: str = " […]") -> str:
    """Return a text, or its beginning with `ending`; a line that is cut keeps its marks."""
    if len(text) <= max_chars:
        return text
    end = text.find("\n", max_chars)
    line = text[text.rfind("\n", 0, max_chars) + 1 : len(text) if end < 0 else end]
    kept = text[:max_chars].rstrip()
    lost = [name for name in find_says(line) if name not in find_says(kept.rpartition("\n")[2])]
    return f"{kept}{ending}" + (f" (says {'; '.join(lost)})" if lost else "")


def clean_names(says: Iterable[str]) -> tuple[str, ...]:
    """Return names in the form that a mark can hold: each once, on one line, no brackets, not too many or too long."""
    names = tuple(dict.fromkeys(map(clean_name, says)))
    more = len(names) - MAX_NAMES
    return names if more <= 0 else (*names[:MAX_NAMES], f"{more} more")


def clean_name(name: str) -> str:
    """Return a name on one line, without brackets and Markdown markup; a long one is cut."""
    visible = "".join(letter if letter.isprintable() else " " for letter in name)
    line = " ".join(visible.translate(_REPLACED).split()).replace(" .", ".")
    if len(line) > NAME_CHARS:
        half = NAME_CHARS // 2  # a file's suffix stays
        line = f"{line[: half - 1].rstrip()}…{line[-half:].lstrip()}"
    return line or NOBODY


def _mark_line(line: str, names: Sequence[str]) -> str:
    if not any(map(str.isalnum, line)):
        return line
    known = find_says(line)
    missing = [name for name in names if name not in known]
    if not missing:
        return line
    mark = f" (says {'; '.join(missing)})"
    if _ROW.fullmatch(line):  # after the last cell, it would not be shown
        return f"{line.rstrip()[:-1].rstrip()}{mark} |"
    return "".join(f"{part.rstrip()}{mark}{_space_after(part)}" for part in _split_long(line)).rstrip()


def _space_after(part: str) -> str:
    return " " if part[-1:].isspace() else ""


def _split_long(line: str) -> list[str]:
    """Split a line after words or sentences into parts of at most MARK_EVERY_BYTES, if that is possible."""
    parts: list[str] = []
    while len(line.encode("utf-8", "surrogatepass")) > MARK_EVERY_BYTES:
        most = len(line.encode("utf-8", "surrogatepass")[:MARK_EVERY_BYTES].decode("utf-8", "ignore"))
        ends = (found.end() for pattern in _ENDS for found in [*pattern.finditer(line, most // 2, most)][-1:])
        end = next(ends, most)
        parts.append(line[:end])
        line = line[end:]
    return [*parts, line] if any(map(str.isalnum, line)) or not parts else [*parts[:-1], parts[-1] + line]
