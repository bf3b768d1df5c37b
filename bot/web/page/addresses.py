"""Pure: where things are shown."""

from urllib.parse import quote

NOTES = "/notes/"
LINES_A_PAGE = 1000
"""Of a note that are shown at once."""


def note_address(path: str, line: int | None = None) -> str:
    """Where a note of the memory is shown, at `line` (1-based) if one is given."""
    address = NOTES + quote(path)
    if line is None:
        return address
    first = (line - 1) // LINES_A_PAGE * LINES_A_PAGE + 1
    return f"{address}{f'?line={first}' if first > 1 else ''}#L{line}"


def folder_address(folder: str, page: int = 1) -> str:
    """Where the notes of a folder are listed; "" for the memory's own."""
    inside = f"{quote(folder)}/" if folder else ""
    return f"{NOTES}{inside}{f'?page={page}' if page > 1 else ''}"
