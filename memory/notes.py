"""Markdown notes on disk: the truth. Locked appends, atomic edits, nothing outside the folder."""

import errno
import os
import re
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from memory import disk
from memory.charset import Decoded, decode, decode_lines, raw_lines
from memory.entry import as_entry, clean, lead_in
from memory.errors import (
    EditRefused,
    MemoryFault,
    NoteMissing,
    NoteUnreadable,
    NoteUnwritable,
    NothingToWrite,
)
from memory.listing import Listing, NoteStat, Problem, list_notes
from memory.locks import LOCK_SECONDS, locked
from memory.paths import Place, find_place, opened_folder, printable
from memory.trash import keep_removed

__all__ = ["Listing", "Loaded", "NoteStat", "NoteText", "Notes", "Problem", "Written", "as_entry"]

NOTE_MAX_BYTES = 16 * 1024 * 1024
_TRIES = 20
_YOUNG_NS = 2_000_000_000
_OLD_DRAFT_SECONDS = 3600.0
# Another file system; a file mounted by itself; a folder or an owner that is not ours.
_NO_RENAME = {errno.EXDEV, errno.EBUSY, errno.EACCES, errno.EPERM}
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")


@dataclass(frozen=True, slots=True)
class Written:
    """Where something was written: lines 1-based, both included."""

    path: str
    line_start: int
    line_end: int
    offset: int
    """How many bytes of the note stand before it."""


@dataclass(frozen=True, slots=True)
class NoteText:
    """Lines of a note, with LF line ends; `line_end` is `line_start` - 1 where the note is empty."""

    path: str
    text: str
    line_start: int
    line_end: int
    total_lines: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """One whole version of a note."""

    text: str
    """Without byte-order mark, with LF line ends."""
    encoding: str
    """`utf-8`, `utf-16-le` or the like; `windows-1252` where some bytes, no UTF-8, were read as that."""
    digest: str
    """SHA-256 of the bytes on disk, in hexadecimal."""
    stat: NoteStat
    """Of exactly this version, under the note's own path even if it was asked for by a link."""


class Notes:
    """The notes below one folder. Methods may be called from any thread; all but `walk` raise MemoryFault."""

    def __init__(self, folder: Path, *, private: Path, lock_timeout: float = LOCK_SECONDS) -> None:
        """Keep notes in `folder`; locks, temporary files, trash in `private`. Only writes make folders."""
        self._folder = folder
        self._private = private
        self._trash = private / "trash"
        self._lock_timeout = lock_timeout

    def walk(self, *, known: Mapping[str, tuple[int, int, int]] | None = None) -> Listing:
        """Find every note, and what looks like one and is none; see `list_notes`."""
        return list_notes(self._folder, known=known)

    def load(self, path: str) -> Loaded:
        """Give a whole note for indexing. Raises NoteMissing, NoteUnreadable (also over 16 MiB)."""
        import hashlib  # 3 ms, for nothing where no note has changed

        with self._opened(path) as (place, fd):
            found, data = _read_one_version(fd, place.path)
        decoded = decode(data)
        return Loaded(
            text=decoded.text,
            encoding=decoded.encoding,
            digest=hashlib.sha256(data).hexdigest(),
            stat=NoteStat.of(place.path, found),
        )

    def read(self, path: str, *, line: int = 1, limit: int | None = None) -> NoteText:
        """Give `limit` lines of a note (all by default) from the 1-based `line` on, at any size of the note.

        Raises NoteMissing, NoteUnreadable, PathRefused, and MemoryFault where the note has no such line.
        """
        if line < 1 or (limit is not None and limit < 1):
            raise MemoryFault("Lines count from 1, and at least one must be asked for.")
        wanted: list[bytes] = []
        total = 0
        with self._opened(path) as (place, fd), open(fd, "rb", closefd=False) as file:
            for total, raw in enumerate(raw_lines(file), start=1):
                if total >= line and (limit is None or total < line + limit):
                    wanted.append(raw)
        if line > max(total, 1):
            lines = "1 line" if total == 1 else f"{total} lines"
            raise MemoryFault(f"{place.path} has {lines}; there is no line {line}.")
        return NoteText(place.path, decode_lines(wanted), line, line + len(wanted) - 1, total)

    def append(self, path: str, entry: str, *, title: str) -> Written:
        """Add a block of Markdown (see `as_entry`) at the end, on disk when this returns.

        A note that is missing or empty begins with `# title`. Raises NothingToWrite, NoteUnwritable,
        PathRefused; then the note is as it was.
        """
        entry = clean(entry).strip("\n")
        if not entry.strip():
            raise NothingToWrite("There is nothing to write: the text is blank.")
        with self._locked(path, existing=False) as place, _refusal(place.path):
            for _ in range(_TRIES):
                with opened_folder(place, create=True) as folder:
                    _remove_draft(place, folder=folder)
                    if written := _append(place, entry, title=title, folder=folder):
                        return written
        raise NoteUnwritable(f"{place.path} is being replaced by another program again and again; try again.")

    def edit(self, path: str, old: str, new: str) -> Written:
        """Replace the one passage that reads `old` by `new`; an empty `new` removes it, and lines left bare.

        What is removed is kept in the trash. The file is replaced at once, under its mode and owner; of a
        linked note the target is. Raises EditRefused, NoteMissing, NoteUnreadable, NoteUnwritable,
        PathRefused; then the note is as it was.
        """
        old, new = old.replace("\r\n", "\n").replace("\r", "\n"), clean(new)
        if not old.strip():
            raise EditRefused("The passage to replace is blank; copy it from the note.")
        if old == new:
            raise EditRefused("The new passage is the same as the old one; nothing was changed.")
        with self._locked(path, existing=True) as place, _refusal(place.path):
            for _ in range(_TRIES):
                try:
                    with opened_folder(place) as folder:
                        _remove_draft(place, folder=folder)
                        if written := self._edit(place, old, new, folder=folder):
                            return written
                except (FileNotFoundError, NotADirectoryError):
                    raise _missing(path) from None
        raise NoteUnwritable(f"{place.path} is being written by another program again and again; try again.")

    def _edit(self, place: Place, old: str, new: str, *, folder: int) -> Written | None:
        """Edit the version that stands there now; None where another program has changed it meanwhile."""
        fd = disk.open_file(place.name, os.O_RDONLY, folder=folder)
        try:
            found, data = _read_one_version(fd, place.path)
            change = _Change.of(decode(data), old, new, path=place.path)
            if len(change.data) > NOTE_MAX_BYTES:
                raise NoteUnwritable(f"{place.path} would grow over 16 MiB; write to another note.")
            kept = keep_removed(self._trash, note=place.path, removed=change.removed)
            try:
                done = self._put_in_place(place, change.data, old=data, found=found, fd=fd, folder=folder)
            except BaseException:
                if _stands_there(fd, place.name, folder=folder):
                    kept.unlink()
                raise
            if not done:
                kept.unlink()
                return None
            if not disk.same_version(os.fstat(fd), found) and not _stands_there(
                fd, place.name, folder=folder
            ):
                # Written to in the very instant of the rename: those words are in no note any more.
                keep_removed(self._trash, note=place.path, removed=disk.read_all(fd, limit=NOTE_MAX_BYTES))
        finally:
            os.close(fd)
        return Written(place.path, change.line_start, change.line_end, change.offset)

    def _put_in_place(
        self, place: Place, data: bytes, *, old: bytes, found: os.stat_result, fd: int, folder: int
    ) -> bool:
        """Make `data` the note's content in one step; False where it is no longer the version that was found.

        Drafts belong into the private folder. Where that is mounted apart from the notes (a container), only
        a hidden file beside the note can be renamed onto it; it is there for a moment, and the next write of
        the note removes one that a crash has left. Where nothing can be renamed onto the note (it is mounted by
        itself, its folder or owner is not ours), it is written over, and the trash has it whole.
        """
        temporary = self._private / "tmp"
        disk.sweep(temporary, pattern="note-*", seconds=_OLD_DRAFT_SECONDS)
        with disk.opened_private(temporary) as private:
            drafts = (
                (private, f"note-{os.urandom(8).hex()}"),
                (folder, _draft_beside(place)),
            )
            for home, name in drafts:
                try:
                    with disk.draft(name, data, folder=home, like=fd):
                        if not _is_version(found, place.name, folder=folder):
                            return False
                        os.rename(name, place.name, src_dir_fd=home, dst_dir_fd=folder)
                    disk.sync_folder(folder)
                except OSError as error:
                    if error.errno not in _NO_RENAME:
                        raise
                    if error.errno != errno.EXDEV:
                        break
                else:
                    return True
        keep_removed(self._trash, note=place.path, removed=old)
        if not _is_version(found, place.name, folder=folder):
            return False
        disk.overwrite(place.name, data, old=old, folder=folder)
        return True

    @contextmanager
    def _opened(self, path: str) -> Iterator[tuple[Place, int]]:
        """Open a note for reading."""
        place = find_place(self._folder, path, existing=True)
        try:
            with opened_folder(place) as folder:
                fd = disk.open_file(place.name, os.O_RDONLY, folder=folder)
            try:
                yield place, fd
            finally:
                os.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            raise _missing(path) from None
        except OSError as error:
            raise NoteUnreadable(f"{printable(path)} could not be read: {disk.reason(error)}.") from error

    @contextmanager
    def _locked(self, path: str, *, existing: bool) -> Iterator[Place]:
        """Find the note's real place and hold its lock."""
        for _ in range(_TRIES):
            place = find_place(self._folder, path, existing=existing)
            with locked(self._private / "locks", place.path, timeout=self._lock_timeout):
                # A link may have been turned round while we waited.
                if find_place(self._folder, path, existing=existing) == place:
                    yield place
                    return
        raise NoteUnwritable(f"{printable(path)} is being moved about; try again.")


@contextmanager
def _refusal(path: str) -> Iterator[None]:
    """Turn what the system says about a write into words for people."""
    try:
        yield
    except OSError as error:
        raise NoteUnwritable(f"{path} could not be written: {disk.reason(error)}.") from error


def _missing(path: str) -> NoteMissing:
    return NoteMissing(f"There is no note {printable(path)}.")


def _read_one_version(fd: int, path: str) -> tuple[os.stat_result, bytes]:
    """Read an open note as it was at one moment, between two writes of other programs."""
    for _ in range(_TRIES):
        before = os.fstat(fd)
        if before.st_size > NOTE_MAX_BYTES:
            size = before.st_size / (1024 * 1024)
            raise NoteUnreadable(f"{path} is {size:.0f} MiB large; split it into notes of at most 16 MiB.")
        data = disk.read_all(fd, limit=NOTE_MAX_BYTES + 1)
        # The time of a write is that of its beginning: where it is young, only a second look tells.
        if _is_young(before) and disk.read_all(fd, limit=NOTE_MAX_BYTES + 1) != data:
            continue
        if disk.same_version(before, os.fstat(fd)) and len(data) == before.st_size:
            return before, data
        time.sleep(0.01)
    raise NoteUnreadable(f"{path} is being written all the time; try again when that has ended.")


def _append(place: Place, entry: str, *, title: str, folder: int) -> Written | None:
    """Append to the file that stands there now; None where an editor has put another text in its place."""
    created = False
    try:
        fd = disk.open_file(place.name, os.O_RDWR | os.O_APPEND, folder=folder)
    except FileNotFoundError:
        try:
            fd = disk.create_file(place.name, os.O_RDWR | os.O_APPEND, folder=folder)
        except FileExistsError:
            return None
        created = True
    try:
        found = os.fstat(fd)
        if not (created or found.st_size) and _is_young(found):
            # An editor may have emptied it to write it anew, over whatever we add before it does.
            time.sleep(0.05)
            if not _is_version(found, place.name, folder=folder):
                return None
        if found.st_size + len(entry.encode()) > NOTE_MAX_BYTES:
            raise NoteUnwritable(f"{place.path} would grow over 16 MiB; write to another note.")
        data = disk.read_all(fd, limit=NOTE_MAX_BYTES)
        note = decode(data)
        before = note.text
        lead = lead_in(before, entry, title=title).replace("\n", note.line_end)
        # A crash may have torn a wide character in two, or a line end; LF after CR only completes that.
        torn = b"\0" * (-len(data) % note.unit)
        half = "\n" if note.raw.endswith("\r") and lead.startswith("\n") else ""
        lead_bytes = torn + note.encode(half + lead)
        entry_bytes = note.encode(f"{entry}\n".replace("\n", note.line_end))
        try:
            start = disk.append_bytes(fd, lead_bytes + entry_bytes)
            if created:
                disk.sync_folder(folder)
        except BaseException:
            if created and os.fstat(fd).st_size in {0, len(lead_bytes) + len(entry_bytes)}:
                os.unlink(place.name, dir_fd=folder)
            raise
        whole = disk.read_all(fd, limit=start + len(lead_bytes) + len(entry_bytes))
        if not (whole.endswith(lead_bytes + entry_bytes) and _stands_there(fd, place.name, folder=folder)):
            return None
        if start != len(data):
            # Another program has added something between our look and our write.
            before = decode(whole[:start]).text
    finally:
        os.close(fd)
    first = before.count("\n") + lead.count("\n") + 1
    return Written(place.path, first, first + entry.count("\n"), start + len(lead_bytes))


def _draft_beside(place: Place) -> str:
    return f".note-{zlib.crc32(place.name.encode()):08x}"


def _remove_draft(place: Place, *, folder: int) -> None:
    """Remove what a crash in the middle of an edit may have left beside the note, whose lock we hold."""
    with suppress(OSError):
        os.unlink(_draft_beside(place), dir_fd=folder)


def _is_young(found: os.stat_result) -> bool:
    return time.time_ns() - found.st_mtime_ns < _YOUNG_NS


def _is_version(found: os.stat_result, name: str, *, folder: int) -> bool:
    return disk.same_version(os.stat(name, dir_fd=folder, follow_symlinks=False), found)


def _stands_there(fd: int, name: str, *, folder: int) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False


@dataclass(frozen=True, slots=True)
class _Change:
    """What an edit makes of a note."""

    data: bytes
    removed: bytes
    line_start: int
    line_end: int
    offset: int

    @classmethod
    def of(cls, note: Decoded, old: str, new: str, *, path: str) -> "_Change":
        if note.unit > 1 and not note.clean:
            raise EditRefused(
                f"{path} is damaged {note.codec.upper()} text; save it as UTF-8 in an editor first."
            )
        eol = note.line_end
        raw, shown = note.raw, note.shown
        if raw and raw[-1] not in "\r\n":
            raw, shown = raw + eol, shown + eol
        start, end = _only_place(shown, old, path=path)
        if not new:
            start, end = _whole_lines(shown, start, end)
        rest = new.replace("\n", eol) + raw[end:]
        # LF after an old Mac's CR would be no line end of its own.
        following = (
            raw[:start] + ("\r" if raw[:start].endswith("\r") and rest.startswith("\n") else "") + rest
        )
        if following and following[-1] not in "\r\n":
            following += eol
        head = note.mark + note.encode(raw[:start])
        removed = raw[start:end]
        line_start = _line_ends(raw[:start]) + 1
        return cls(
            data=note.mark + note.encode(following),
            removed=note.mark + note.encode(removed if removed[-1] in "\r\n" else removed + eol),
            line_start=line_start,
            line_end=line_start + new.removesuffix("\n").count("\n"),
            offset=len(head),
        )


def _only_place(shown: str, old: str, *, path: str) -> tuple[int, int]:
    """Find the one passage that reads `old`, whatever its line ends; places that overlap count as several."""
    line_end = r"(?:\r\n|\r(?!\n)|(?<!\r)\n)"
    pattern = line_end.join(re.escape(line) for line in old.split("\n"))
    places = [match.span(1) for match in re.finditer(f"(?=({pattern}))", shown)]
    if not places:
        raise EditRefused(f"The passage does not stand in {path}; read the note and copy it exactly.")
    if len(places) > 1:
        raise EditRefused(
            f"The passage stands {len(places)} times in {path}; give more of the text around it."
        )
    return places[0]


def _whole_lines(shown: str, start: int, end: int) -> tuple[int, int]:
    """Widen a passage that is to be removed, so that no bare list marker and no empty line is left of it."""
    begin = start
    while begin > 0 and shown[begin - 1] not in "\r\n":
        begin -= 1
    if begin != start and not _MARKER.fullmatch(shown[begin:start]):
        return start, end
    if shown[end - 1] in "\r\n":
        return begin, end
    line_end = re.compile(r"\r\n|\r|\n").match(shown, end)
    return (begin, line_end.end()) if line_end else (start, end)


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")
