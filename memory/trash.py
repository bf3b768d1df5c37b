"""The trash of removed text: one file per removal, whose name says when, from which note, and from which lines."""

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path

from memory import disk
from memory.charset import DecodedNote, decode
from memory.disk import open_private_folder, sync_folder, write_new
from memory.errors import NoteUnreadable, NoteUnwritable
from memory.forgetting import WordsToForget
from memory.locks import LOCK_SECONDS
from memory.note_edits import LineAnchor, LinesChecksum, count_common
from memory.note_file import translate_errors

_NAME_MAX_BYTES = 180
_STAMP = "%Y-%m-%dT%H-%M-%S.%fZ"
_STAMP_CHARS = 27
_WHOLE = ".note"
_RESTORED = ".restored"
_MIN_DIGITS = 4
_NAME = re.compile(
    r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{6}Z) "
    r"(?:(?P<kind>\.note|\.line-(?P<line>\d+)-(?P<above>[0-9a-f]{8}|top)(?:-(?P<count>\d+)-(?P<new>[0-9a-f]{8}))?) )?"
    r"(?P<note>.+\.md|\.restored)",
    re.IGNORECASE,
)
"""No note's name begins with a dot, which distinguishes names written by earlier versions."""


@dataclass(frozen=True, slots=True)
class TrashItem:
    """One removal in the trash."""

    number: str
    """Four digits, or more if others begin with the same ones. It is never reused."""
    file: str
    """Its file name in the trash."""
    at: datetime
    """When it was removed, in UTC."""
    note: str
    """The path of its note; items of earlier versions have `--` for each `/`."""
    is_exact: bool
    """True if `note` is the exact path."""
    is_whole: bool = False
    """True if it is a whole note."""
    stood: LineAnchor | None = None
    """Where its lines were; None if unknown."""
    new_lines: LinesChecksum | None = None
    """The lines that replaced it; None if there are none, or they are unknown."""
    is_restored: bool = False
    """True if it was put back; then none of it is left here."""


def save_removed(
    folder: Path,
    *,
    note: str,
    removed: bytes,
    anchor: LineAnchor | None = None,
    new_lines: LinesChecksum | None = None,
) -> Path:
    """Write `removed` to a new file in `folder`, synced. Raises OSError.

    `anchor` is where it was in the note; None for a whole note. The name is like `2026-11-21T14-30-02.123456Z
    .line-3-9ae0daaf trips%2Foslo.md`, with `-1-1b2c3d4f` after the place if one line of that checksum
    (`new_lines`) replaced it; a path that is too long is cut at its beginning, with `--` for each `/`.
    """
    quoted = note.replace("%", "%25").replace("/", "%2F")
    kind = f".line-{anchor.line}-{anchor.above}" if anchor else _WHOLE
    if anchor and new_lines:
        kind += f"-{new_lines.count}-{new_lines.checksum}"
    name = f"{kind} {quoted}"
    if len(quoted.encode()) > _NAME_MAX_BYTES:
        name = note.replace("/", "--").encode()[-_NAME_MAX_BYTES:].decode(errors="ignore")
    with open_private_folder(folder) as fd:
        while True:
            dated = f"{datetime.now(UTC):{_STAMP}} {name}"
            try:
                write_new(dated, removed, folder=fd)
            except FileExistsError:
                continue
            return folder / dated


def list_trash(folder: Path) -> Sequence[TrashItem]:
    """Return everything in the trash, newest first. Raises OSError."""
    names: dict[str, re.Match[str]] = {}
    try:
        with os.scandir(folder) as entries:  # pathlib takes as long as all the rest
            files = sorted(entry.name for entry in entries)
    except FileNotFoundError:
        return ()
    for name in files:
        if (found := _NAME.fullmatch(name)) and (found["stamp"] not in names or found["note"] == _RESTORED):
            names[found["stamp"]] = found
    numbers = _assign_numbers(names)
    return [_parse_item(names[stamp], numbers[stamp]) for stamp in sorted(names, reverse=True)]


@dataclass(frozen=True, slots=True)
class TrashPage:
    """Some of what is in the trash and was not restored, newest first."""

    items: Sequence[TrashItem]
    """Their numbers have all 17 digits, since only looking at everything tells how few would do."""
    first: int
    """The number of the first one, 0-based."""
    count: int
    """How many there are in all."""


def list_trash_page(folder: Path, *, first: int, count: int) -> TrashPage:
    """Return `count` items from the one with number `first` on, or the last ones. Raises OSError."""
    names = _list_names(folder)
    restored = {name[:_STAMP_CHARS] for name in names if name.endswith(f" {_RESTORED}")}
    kept = [name for name in names if name[-3:].lower() == ".md"]
    if restored:
        kept = [name for name in kept if name[:_STAMP_CHARS] not in restored]
    first = min(first, max(len(kept) - 1, 0) // count * count)
    newest = nlargest(
        first + count, kept
    )  # faster than sorting all, at least for the pages that people look at
    found = filter(None, map(_NAME.fullmatch, newest[first:]))
    return TrashPage([_parse_item(each, _make_digits(each["stamp"])) for each in found], first, len(kept))


def find_in_trash(folder: Path, number: str) -> Sequence[TrashItem]:
    """Return the items with this number, however long ago it was shown; several if later items share its digits.

    Raises OSError.
    """
    if len(number) < _MIN_DIGITS:
        return ()
    names: dict[str, re.Match[str]] = {}
    for name in sorted(_list_names(folder)):
        stamp = name[:_STAMP_CHARS]
        found = _NAME.fullmatch(name) if _make_digits(stamp).startswith(number) else None
        if found and (stamp not in names or found["note"] == _RESTORED):
            names[stamp] = found
    return [_parse_item(names[stamp], number) for stamp in sorted(names, reverse=True)]


def _list_names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - pathlib takes as long as all the rest
    except FileNotFoundError:
        return []


def read_trash_item(folder: Path, file: str) -> str:
    """Return the text of a trash item, with LF line ends. Raises OSError."""
    return decode((folder / file).read_bytes()).text


def find_note(removed: TrashItem, notes: Collection[str]) -> str:
    """Return the path among `notes` that a trash item came from, as far as its name shows."""
    if removed.is_exact:
        return removed.note
    is_cut = len(removed.note.encode()) > _NAME_MAX_BYTES - 4
    alike = [
        path
        for path in notes
        if (name := path.replace("/", "--")) == removed.note or (is_cut and name.endswith(removed.note))
    ]
    return alike[0] if len(alike) == 1 else removed.note.replace("--", "/")


def mark_restored(folder: Path, file: str) -> None:
    """Remove a restored item's text; its number stays taken. Raises OSError."""
    stamp = file.partition(" ")[0]
    with open_private_folder(folder) as fd:
        with contextlib.suppress(FileExistsError):
            write_new(f"{stamp} {_RESTORED}", b"", folder=fd)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file, dir_fd=fd)
        sync_folder(fd)


def count_matching(folder: Path, words: WordsToForget) -> int:
    """Return how many trash files match. Raises OSError."""
    return sum(1 for _ in _find_matching(folder, words))


def delete_matching(folder: Path, words: WordsToForget) -> int:
    """Remove matching lines from the trash files, and files that become empty; return how many matched.

    Raises OSError.
    """
    found = list(_find_matching(folder, words))
    if found:
        with open_private_folder(folder) as fd:
            for path, note in found:
                rest = words.remove_from(note.text)
                if rest.strip() and not words.is_in(rest):
                    new = f"{path.name}.new"
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(new, dir_fd=fd)
                    write_new(new, note.mark + note.encode(rest), folder=fd)
                    os.rename(new, path.name, src_dir_fd=fd, dst_dir_fd=fd)
                else:
                    os.unlink(path.name, dir_fd=fd)
            sync_folder(fd)
    return len(found)


class Trash:
    """The trash of a folder of notes. Methods may be called from any thread."""

    def __init__(self, private: Path) -> None:
        """`private` holds the trash and the drafts of edits."""
        self._private = private
        self._folder = private / "trash"

    def items(self) -> Sequence[TrashItem]:
        """Return everything in the trash, newest first. Raises `NoteUnreadable`."""
        with _translate_errors():
            return list_trash(self._folder)

    def page(self, *, first: int, count: int) -> TrashPage:
        """Return some of what is in the trash; see `list_trash_page`. Raises `NoteUnreadable`."""
        with _translate_errors():
            return list_trash_page(self._folder, first=first, count=count)

    def find(self, number: str) -> Sequence[TrashItem]:
        """Return the items with this number. Raises `NoteUnreadable`."""
        with _translate_errors():
            return find_in_trash(self._folder, number)

    def read(self, removed: TrashItem) -> str:
        """Return the text of a trash item, with LF line ends. Raises `NoteUnreadable`."""
        with _translate_errors():
            return read_trash_item(self._folder, removed.file)

    def has(self, file: str) -> bool:
        """Return whether the file is still in the trash."""
        return (self._folder / file).exists()

    def mark_restored(self, file: str) -> None:
        """Remove a restored file from the trash. Raises `NoteUnwritable`."""
        with translate_errors("The trash"):
            mark_restored(self._folder, file)

    def count_matching(self, words: WordsToForget) -> int:
        """Return how many trash files contain the words. Raises `NoteUnreadable`."""
        with _translate_errors():
            return count_matching(self._folder, words)

    def delete_matching(self, words: WordsToForget) -> int:
        """Delete the words from the trash, and temporary files left by a crash. Return how many trash files matched.

        Raises `NoteUnwritable`.
        """
        try:
            disk.remove_stale_files(self._private / "tmp", pattern="note-*", seconds=LOCK_SECONDS)
            return delete_matching(self._folder, words)
        except OSError as error:
            raise NoteUnwritable(
                "The trash could not be written: {reason}.", reason=disk.reason(error)
            ) from error


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NoteUnreadable("The trash could not be read: {reason}.", reason=disk.reason(error)) from error


def _assign_numbers(stamps: Collection[str]) -> Mapping[str, str]:
    """Return each stamp's number: as many of its digits as distinguish it from the others."""
    in_order = sorted((_make_digits(stamp), stamp) for stamp in stamps)
    edges = ["", *(digits for digits, _ in in_order), ""]
    return {
        stamp: digits[
            : max(
                _MIN_DIGITS,
                count_common(digits, edges[at]) + 1,
                count_common(digits, edges[at + 2]) + 1,
            )
        ]
        for at, (digits, stamp) in enumerate(in_order)
    }


def _make_digits(stamp: str) -> str:
    """Return 17 digits derived from the time of removal; the first is not 0."""
    import hashlib  # takes 3 ms, needless unless the trash is used

    return str(10**16 + int.from_bytes(hashlib.sha256(stamp.encode()).digest()[:7]))


def _parse_item(found: re.Match[str], number: str) -> TrashItem:
    kind, quoted = found["kind"], found["note"]
    stamp = found["stamp"]
    # Not strptime, which takes ten times as long.
    at = datetime.fromisoformat(f"{stamp[:11]}{stamp[11:19].replace('-', ':')}{stamp[19:]}")
    note = quoted.replace("%2F", "/").replace("%25", "%") if kind else quoted
    stood = LineAnchor(int(found["line"]), found["above"]) if found["line"] else None
    new_lines = LinesChecksum(int(found["count"]), found["new"]) if found["count"] else None
    return TrashItem(
        number,
        found.string,
        at,
        "" if quoted == _RESTORED else note,
        is_exact=kind is not None,
        is_whole=kind == _WHOLE,
        stood=stood,
        new_lines=new_lines,
        is_restored=quoted == _RESTORED,
    )


def _find_matching(folder: Path, words: WordsToForget) -> Iterator[tuple[Path, DecodedNote]]:
    for path in sorted(folder.glob("*")):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            note = decode(path.read_bytes())
            if words.is_in(note.text):
                yield path, note
