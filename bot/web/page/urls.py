"""Pure: URLs of the pages."""

from urllib.parse import quote, urlencode

from bot.visible_names import escape_path

NOTES_URL = "/notes/"
DAYS_URL = "/days"
FILES_URL = "/files/"
EDIT_URL = "/edit/"
MOVE_URL = "/move/"
DELETE_URL = "/delete/"
TASKS_URL = "/tasks/"
CHANGES_URL = "/changes"
NEW_NOTE_URL = "/new-note"
TRASH_URL = "/trash"
FIRST_LINES = 20
"""Lines that are on the first page of a note, unless they are very long."""
CONVERSATIONS_URL = "/conversations"
ENTRIES_PER_PAGE = 100
"""Entries of a conversation on one page."""


def note_url(path: str, line: int | None = None, *, done: str = "") -> str:
    """Return the URL of a note, at `line` (1-based) if given; `done` is the key of a sentence to be shown there."""
    address, query = NOTES_URL + quote(path), list[str]()
    if line and line > FIRST_LINES:  # a long note has several pages; this one has the line
        query.append(f"line={line}")
    if done:
        query.append(f"done={done}")
    return f"{address}{'?' if query else ''}{'&'.join(query)}{f'#L{line}' if line else ''}"


def edit_url(path: str) -> str:
    """Return the URL of the form that edits a note."""
    return EDIT_URL + quote(path)


def move_url(path: str) -> str:
    """Return the URL of the form that moves or renames a note."""
    return MOVE_URL + quote(path)


def tasks_url(path: str) -> str:
    """Return the URL of the form that checks and unchecks a note's tasks."""
    return TASKS_URL + quote(path)


def delete_url(path: str) -> str:
    """Return the URL that asks whether to delete a note."""
    return DELETE_URL + quote(path)


def new_note_url(folder: str) -> str:
    """Return the URL of the form for a new note in a folder."""
    return f"{NEW_NOTE_URL}?folder={quote(folder, safe='')}"


def changes_url(*, note: str = "", before: int = 0) -> str:
    """Return the URL of the recorded changes: to one note, and only those before a number, if given."""
    asked = {"note": escape_path(note), "before": str(before or "")}
    query = urlencode({name: value for name, value in asked.items() if value}, errors="replace")
    return f"{CHANGES_URL}?{query}" if query else CHANGES_URL


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


def file_url(path: str) -> str:
    """Return the URL of a file beside the notes, such as a picture."""
    return FILES_URL + quote(path)


def tag_url(tag: str) -> str:
    """Return the URL of a search for a tag, given without `#`."""
    return f"/search?q=%23{quote(tag, safe='')}"


def folder_url(folder: str, page: int = 1) -> str:
    """Return the URL of a folder's page; "" is the root."""
    inside = f"{quote(folder)}/" if folder else ""
    return f"{NOTES_URL}{inside}{f'?page={page}' if page > 1 else ''}"


def page_number(text: str, *, least: int = 1) -> int:
    """Return the number that an address has, or `least` if it has none."""
    return max(least, int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else least


def count_pages(items: int, *, per_page: int) -> int:
    """Return how many pages show all items; one if there are none."""
    return max(1, -(-items // per_page))
