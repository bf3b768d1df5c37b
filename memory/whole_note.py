"""A whole note as a person edits it: its text, the version that it is, and why it cannot be edited as text; pure."""

from collections.abc import Callable
from dataclasses import dataclass

from memory.charset import DecodedNote
from memory.errors import EditRefused, NoteChanged
from memory.formatting import clean_text
from memory.line_diff import compare_lines, split_lines
from memory.line_reversal import LinesReplacement
from memory.translatable import Translatable
from memory.write_recovery import compute_digest


@dataclass(frozen=True, slots=True)
class WholeNote:
    """One version of a note."""

    path: str
    """Its real path, whatever link or spelling it was opened by."""
    text: str
    """With LF line ends, and with hidden lines empty."""
    digest: str
    """SHA-256 of its bytes, in hexadecimal."""
    fault: str
    """Why its text cannot be replaced as a whole, in a sentence; "" if it can."""


def find_edit_fault(note: DecodedNote, *, path: str, blank: Callable[[str], str]) -> str:
    """Return why a note's text cannot be replaced as a whole without losing something; "" if it can.

    `blank` empties the hidden lines of a text.
    """
    if not note.clean:
        encoding = "UTF-8" if note.unit == 1 else note.codec.upper()
        return Translatable(
            "{path} is not valid {encoding}; save it as UTF-8 in an editor first.",
            path=path,
            encoding=encoding,
        )
    if "\0" in note.raw:
        return Translatable(
            "{path} has NUL characters in it, which a form cannot keep; edit it in an editor.", path=path
        )
    return find_hidden_fault(note.text, path=path, blank=blank)


def find_hidden_fault(text: str, *, path: str, blank: Callable[[str], str]) -> str:
    """Return a sentence that a note has hidden lines, which nobody may move, copy or overwrite; "" if it has none."""
    if blank(text) == text:
        return ""
    return Translatable(
        "{path} has lines that you asked me to forget. Now that its folder may be changed, send /forget again; "
        "then they are gone, and the note can be changed.",
        path=path,
    )


def check_version(data: bytes, digest: str, *, path: str) -> None:
    """Raise `NoteChanged` if a note is no longer the version with this digest."""
    if compute_digest(data) != digest:
        raise NoteChanged("{path} has changed in the meantime; nothing was written.", path=path)


def rewrite(note: DecodedNote, text: str, *, path: str) -> LinesReplacement:
    """Return the run of lines that differs between a note and its new text, and what replaces it.

    Of new lines, control characters are replaced; lines that the note has already stay as they are. Raises
    `EditRefused` if nothing differs.
    """
    before = note.text
    known = {*split_lines(before)}
    kept = [
        part
        for line in split_lines(text)
        for part in ([line] if line in known else clean_text(line).split("\n"))
    ]
    change = compare_lines(before, "".join(f"{line}\n" for line in kept))
    if change.old == change.new:
        raise EditRefused("{path} already says that; nothing was changed.", path=path)
    return LinesReplacement(change.line, change.old, change.new)
