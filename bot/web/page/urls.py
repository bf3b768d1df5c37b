"""Pure: URLs of the pages."""

from urllib.parse import quote

NOTES_URL = "/notes/"
LINES_PER_PAGE = 1000
"""Lines of a note on one page."""


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


def tag_url(tag: str) -> str:
    """Return the URL of a search for a tag, given without `#`."""
    return f"/search?q=%23{quote(tag, safe='')}"


def folder_url(folder: str, page: int = 1) -> str:
    """Return the URL of a folder's page; "" is the root."""
    inside = f"{quote(folder)}/" if folder else ""
    return f"{NOTES_URL}{inside}{f'?page={page}' if page > 1 else ''}"
