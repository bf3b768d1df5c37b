"""Pure: URLs of the pages."""

from urllib.parse import quote

NOTES_URL = "/notes/"
LINES_PER_PAGE = 1000
"""Lines of a note on one page."""
CONVERSATIONS_URL = "/conversations"
ENTRIES_PER_PAGE = 100
"""Entries of a conversation on one page."""


def note_url(path: str, line: int | None = None) -> str:
    """Return the URL of a note, at `line` (1-based) if given."""
    address = NOTES_URL + quote(path)
    if line is None:
        return address
    first = (line - 1) // LINES_PER_PAGE * LINES_PER_PAGE + 1
    return f"{address}{f'?line={first}' if first > 1 else ''}#L{line}"


def heading_url(path: str, heading: str) -> str:
    """Return the URL that leads to the line of a note with this heading, or with the block `^name`."""
    return f"{NOTES_URL}{quote(path)}?heading={quote(heading, safe='')}"


def conversation_url(number: int, *, page: int = 0) -> str:
    """Return the URL of a conversation, at one of its pages (from 1) if given."""
    return f"{CONVERSATIONS_URL}/{number}{f'?page={page}' if page else ''}"


def message_url(conversation: int, seq: int) -> str:
    """Return the URL that leads to an entry of a conversation; seqs count from 1."""
    return f"{conversation_url(conversation, page=page_of_entry(seq))}#m{seq}"


def page_of_entry(seq: int) -> int:
    """Return the page of a conversation, from 1, that has an entry. New entries never move others to another page."""
    return (max(seq, 1) - 1) // ENTRIES_PER_PAGE + 1


def tag_url(tag: str) -> str:
    """Return the URL of a search for a tag, given without `#`."""
    return f"/search?q=%23{quote(tag, safe='')}"


def folder_url(folder: str, page: int = 1) -> str:
    """Return the URL of a folder's page; "" is the root."""
    inside = f"{quote(folder)}/" if folder else ""
    return f"{NOTES_URL}{inside}{f'?page={page}' if page > 1 else ''}"
