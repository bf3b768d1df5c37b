"""Pure: where things are shown."""

from urllib.parse import quote

NOTES_URL = "/notes/"
LINES_PER_PAGE = 1000
"""Of a note that are shown at once."""


def note_url(path: str, line: int | None = None) -> str:
    """Where a note of the memory is shown, at `line` (1-based) if one is given."""
    address = NOTES_URL + quote(path)
    if line is None:
        return address
    first = (line - 1) // LINES_PER_PAGE * LINES_PER_PAGE + 1
    return f"{address}{f'?line={first}' if first > 1 else ''}#L{line}"


def folder_url(folder: str, page: int = 1) -> str:
    """Where the notes of a folder are listed; "" for the memory's own."""
    inside = f"{quote(folder)}/" if folder else ""
    return f"{NOTES_URL}{inside}{f'?page={page}' if page > 1 else ''}"
