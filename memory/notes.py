"""The folder of Markdown notes, the source of truth: finds notes, reads them, and locks them to be written."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from memory import disk
from memory.charset import decode, decode_lines, read_raw_lines
from memory.errors import FolderReadOnly, MemoryFault, NoteMissing, NoteUnreadable, NoteUnwritable
from memory.formatting import format_block
from memory.hidden_lines import HiddenLines
from memory.listing import Listing, NoteStat, list_files, list_notes
from memory.locked_note import LockedNote
from memory.locks import LOCK_SECONDS, SharedLock, SharedLocks, lock_note, name_key
from memory.note_edits import find_blocks, normalize_passages
from memory.note_file import TRIES, note_missing, read_one_version
from memory.note_folders import NoteFolder, NoteFolders
from memory.note_lookup import add_extension, match_notes, suggest_notes
from memory.note_source import LoadedNote
from memory.note_titles import HEAD_BYTES, decode_head, find_title
from memory.paths import NotePath, format_path, open_note_folder, resolve_note_path
from memory.translatable import Translatable
from memory.trash import Trash
from memory.whole_note import WholeNote, find_edit_fault
from memory.write_recovery import compute_digest
from memory.write_result import WriteResult

MAX_NOTES_NAMED = 5
"""Maximum number of notes listed when a name fits several."""


@dataclass(frozen=True, slots=True)
class NoteText:
    """Lines of a note, with LF line ends; `line_end` is `line_start` - 1 if the note is empty."""

    path: str
    text: str
    line_start: int
    line_end: int
    total_lines: int


@dataclass(frozen=True, slots=True)
class NotePart:
    """Some lines of a note that is split into parts of about the same weight."""

    text: NoteText
    earlier: int
    """The first line of the part before; 0 if this is the first."""


class Notes:
    """The notes in all folders. Methods may be called from any thread; all but `walk` raise `MemoryFault`."""

    def __init__(
        self,
        folder: Path,
        *,
        private: Path,
        others: Sequence[NoteFolder] = (),
        lock_timeout: float = LOCK_SECONDS,
        shared: SharedLocks | None = None,
    ) -> None:
        """Keep notes in `folder`; locks, temporary files and trash in `private`.

        The first write creates these folders. `others` are those under [[memory.folders]]. `shared` holds the locks
        of a folder that instances on several hosts write to, each with its own `private`. `lock_timeout` is in
        seconds.
        """
        self.folders = NoteFolders(NoteFolder(folder), tuple(others))
        self._private = private
        self.trash = Trash(private)
        self._hidden = HiddenLines(private)
        self._lock_timeout = lock_timeout
        self._shared = shared

    @property
    def is_shared(self) -> bool:
        """Return whether other instances write to the folder as well."""
        return self._shared is not None

    @property
    def hides_on_server(self) -> bool:
        """Return whether an index that others write to may hold lines that are hidden here."""
        return self.is_shared and bool(self.folders.others)

    def blank(self, path: str, text: str) -> str:
        """Return a text of a note (LF line ends) with its hidden lines empty. Raises `NoteUnreadable`."""
        return self._hidden.blank(path, text) if self.folders.folder_of(path).name else text

    def walk(self, *, known: Mapping[str, tuple[int, int, int]] | None = None) -> Listing:
        """Return every note, and every file that looks like a note but cannot be read as one; see `list_notes`."""
        if not self.folders.others or not (marks := self._read_marks()):
            return list_notes(self.folders, known=known)
        # Their stamps differ from the files', so that they are indexed again when another line is hidden.
        known = dict(known or {})
        for path in marks.keys() & known.keys():
            size, mtime, ctime = known[path]
            known[path] = (size, mtime, ctime - marks[path])
        listing = list_notes(self.folders, known=known)
        return replace(listing, notes=[_mark(stat, marks.get(stat.path, 0)) for stat in listing.notes])

    def files(self, *, limit: int) -> list[str]:
        """Return the paths of up to `limit` files in the folders, whether they are notes or not."""
        return list_files(self.folders, limit=limit)

    def load(self, path: str) -> LoadedNote:
        """Read a whole note for indexing. Raises `NoteMissing`, `NoteUnreadable` (also if it is over 16 MiB)."""
        import hashlib  # takes 3 ms, needless if no note has changed

        with self._open(path) as (place, fd):
            found, data = read_one_version(fd, place.path)
        decoded, stat = decode(data), NoteStat.of(place.path, found)
        digest = hashlib.sha256(data)
        if place.folder.name and (mark := self._hidden.mark(place.path)):
            stat = _mark(stat, mark)
            digest.update(b"%d" % mark)
        return LoadedNote(self.blank(place.path, decoded.text), decoded.encoding, digest.hexdigest(), stat)

    def read_whole(self, path: str) -> WholeNote:
        """Read a whole note to edit it. Raises what `load` raises."""
        with self._open(path) as (place, fd):
            _, data = read_one_version(fd, place.path)
        note, blank = decode(data), partial(self.blank, place.path)
        fault = _explain_read_only(place) or find_edit_fault(note, path=place.path, blank=blank)
        return WholeNote(place.path, blank(note.text), compute_digest(data), fault)

    def load_to_forget(self, path: str) -> str:
        """Return a whole note's text with the hidden lines that can be removed, since its folder may be written now.

        Raises what `load` raises.
        """
        with self._open(path) as (place, fd):
            _, data = read_one_version(fd, place.path)
        text = decode(data).text
        return text if place.folder.is_writable else self.blank(place.path, text)

    def read(self, path: str, *, line: int = 1, limit: int | None = None) -> NoteText:
        """Read up to `limit` lines (all by default) from the 1-based `line`; the note may be of any size.

        Raises `NoteMissing`, `NoteUnreadable`, `PathRefused`, and `MemoryFault` if the note has no such line.
        """
        if line < 1 or (limit is not None and limit < 1):
            raise MemoryFault("Lines count from 1, and at least one must be asked for.")
        wanted: list[bytes] = []
        total = 0
        with self._open(path) as (place, fd), open(fd, "rb", closefd=False) as file:
            for total, raw in enumerate(read_raw_lines(file), start=1):
                if total >= line and (limit is None or total < line + limit):
                    wanted.append(raw)
        if line > max(total, 1):
            raise _line_missing(place.path, line, total)
        text = self.blank(place.path, decode_lines(wanted))
        return NoteText(place.path, text, line, line + len(wanted) - 1, total)

    def read_titles(self, paths: Sequence[str]) -> list[str]:
        """Return the title of each note, from its first bytes; "" for one that has none or cannot be read."""
        return [self._read_title(path) for path in paths]

    def _read_title(self, path: str) -> str:
        with suppress(MemoryFault), self._open(path) as (place, fd):
            return find_title(self.blank(place.path, decode_head(os.read(fd, HEAD_BYTES))))
        return ""

    def read_part(self, path: str, *, line: int, weigh: Callable[[bytes], int], most: int) -> NotePart:
        """Read the part of a note that contains a line (1-based); the note may be of any size.

        A part has as many lines as weigh `most` together, but at least one. Raises what `read` raises.
        """
        part, weight, earlier, is_found = list[bytes](), 0, 0, False
        first, total = 1, 0
        with self._open(path) as (place, fd), open(fd, "rb", closefd=False) as file:
            for total, raw in enumerate(read_raw_lines(file), start=1):
                if is_found:
                    continue
                weight += (more := weigh(raw))
                if weight > most and part:
                    if total > line:
                        is_found = True
                        continue
                    earlier, first, weight = first, total, more
                    part.clear()
                part.append(raw)
        if line > max(total, 1):
            raise _line_missing(place.path, line, total)
        text = self.blank(place.path, decode_lines(part))
        return NotePart(NoteText(place.path, text, first, first + len(part) - 1, total), earlier)

    def resolve_path(self, asked: str) -> str:
        """Return the path of the note that `asked` means, as results and records name it.

        `.md` and the folder may be left out, and the memory folder's own name may stand before the path.
        Raises `NoteMissing` if no note or several notes fit, naming the closest ones; `PathRefused`.
        """
        path = add_extension(asked)
        try:
            with self._open(path) as (place, _):
                return place.path
        except NoteMissing:
            pass
        listing = self.walk()
        paths = [note.path for note in listing.notes]
        meant = match_notes(asked, paths)
        if len(meant) == 1:
            return meant[0]
        if meant:
            raise NoteMissing(
                "Several notes match {path}: {notes}.", path=format_path(asked), notes=_name_paths(meant)
            )
        nearest = suggest_notes(asked, paths)
        told = note_missing(path).text
        if nearest:
            told = Translatable("{text} The most similar: {notes}.", text=told, notes=_name_paths(nearest))
        for each in listing.problems:
            if each.away:
                told = Translatable(
                    "{text} {problem}, so I couldn't look there.", text=told, problem=each.describe_away()
                )
        raise NoteMissing(told)

    def append(self, path: str, entry: str, *, title: str, at: str = "") -> WriteResult:
        """Append a block of Markdown (see `format_entry`); it is on disk when this returns.

        A note that is missing or empty begins with `# title`; for `at` see `format_lead_in`. Raises
        `NothingToWrite`, `NoteUnwritable`, `PathRefused`; then the note is unchanged.
        """
        block = format_block(entry)
        with self.held(path) as note:
            return note.append(block, title=title, at=at, before=note.before_append(block))

    def edit(self, path: str, old: str, new: str) -> WriteResult:
        """Replace the only occurrence of `old` by `new`; an empty `new` deletes it and the lines it leaves empty.

        The old lines are kept in the trash. The file is replaced atomically and keeps its mode and owner; if
        the note is a link, its target is replaced. Raises `EditRefused`, `NoteMissing`, `NoteUnreadable`,
        `NoteUnwritable`, `PathRefused`, `TextTooLong`; then the note is unchanged.
        """
        old, new = normalize_passages(old, new)
        with self.held(path, existing=True) as note:
            return note.edit(old, new)

    def is_read_only(self, path: str) -> bool:
        """Return whether the note is in a folder that may only be read."""
        return not self.folders.folder_of(path).is_writable

    def count_hidden_lines(self) -> Mapping[str, int]:
        """Return the number of hidden lines in each folder that may only be read, by its name; none if unreadable."""
        found = {folder.name: 0 for folder in self.folders.others if not folder.is_writable}
        with suppress(NoteUnreadable):
            for path, count in self._hidden.counts().items():
                if (name := self.folders.folder_of(path).name) in found:
                    found[name] += count
        return found

    def hide(
        self, path: str, blocks: Sequence[str], *, everywhere: Callable[[str], bool] = lambda line: False
    ) -> frozenset[str]:
        """Hide whole lines of a read-only note from now on; return the blocks that were found.

        Those that `everywhere` accepts are left out of other folders' notes too: of this one under another path.
        Its file stays as it is. Raises `NoteMissing`, `NoteUnreadable`, `NoteUnwritable`.
        """
        note = self.load(path)
        numbers, found = find_blocks(note.text, blocks)
        lines = note.text.split("\n")
        if numbers:
            hidden = [lines[number] for number in sorted(numbers)]
            self._hidden.hide(note.stat.path, hidden, everywhere=filter(everywhere, hidden))
        return found

    def _read_marks(self) -> Mapping[str, int]:
        """Return the marks of `HiddenLines` in other folders; none if unreadable, since then no such note is loaded."""
        try:
            marks = self._hidden.marks()
        except NoteUnreadable:
            return {}
        return {path: mark for path, mark in marks.items() if self.folders.folder_of(path).name}

    @contextmanager
    def held(self, path: str, *, existing: bool = False) -> Iterator["LockedNote"]:
        """Hold a note's lock; everyone who respects the lock, in any process, waits meanwhile.

        `existing`: as in `resolve_note_path`. If the folder is shared and its locks cannot be reached, the
        note can be appended to but not edited. Raises `NoteUnwritable`, also in a folder that is read-only or
        away, and `PathRefused`.
        """
        with self._hold_lock(path, existing=existing) as (place, lock):
            yield self._lock_note(place, lock)

    @contextmanager
    def held_both(self, path: str, target: str) -> Iterator[tuple["LockedNote", "LockedNote"]]:
        """Hold the locks of a note and of the path that it is to be moved to; raises as `held`.

        The order is the same for all who hold two, so that they do not wait for each other; nor does one who holds a
        note wait for itself if the other path is a link to it.
        """
        path, target = (resolve_note_path(self.folders, each, existing=False).path for each in (path, target))
        if name_key(path) == name_key(target):  # one lock for all spellings of a name
            with self._hold_lock(path, existing=False) as (place, lock):
                other = resolve_note_path(self.folders, target, existing=False)
                _check_writable(other)
                yield self._lock_note(place, lock), self._lock_note(other, lock)
            return
        first, second = sorted((path, target), key=name_key)
        with self.held(first) as one, self.held(second) as other_one:
            yield (one, other_one) if first == path else (other_one, one)

    def _lock_note(self, place: NotePath, lock: SharedLock | None) -> "LockedNote":
        locate = partial(resolve_note_path, self.folders, existing=False)
        blank = partial(self.blank, place.path)
        return LockedNote(place, private=self._private, lock=lock, locate=locate, blank=blank)

    @contextmanager
    def _open(self, path: str) -> Iterator[tuple[NotePath, int]]:
        """Open a note for reading; yields its path and file descriptor."""
        place = resolve_note_path(self.folders, path, existing=True)
        try:
            with open_note_folder(place) as folder:
                fd = disk.open_file(place.name, os.O_RDONLY, folder=folder)
            try:
                yield place, fd
            finally:
                os.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            if why := _explain_absence(place):
                raise NoteUnreadable(
                    "{path} could not be read: {reason}.", path=format_path(path), reason=why
                ) from None
            raise note_missing(path) from None
        except OSError as error:
            raise NoteUnreadable(
                "{path} could not be read: {reason}.", path=format_path(path), reason=disk.reason(error)
            ) from error

    @contextmanager
    def _hold_lock(self, path: str, *, existing: bool) -> Iterator[tuple[NotePath, SharedLock | None]]:
        """Resolve the note's real path and hold its local lock and, if shared, its shared lock."""
        timeout = self._lock_timeout
        for _ in range(TRIES):
            place = resolve_note_path(self.folders, path, existing=existing)
            _check_writable(place)
            shared = self._shared.held(place.path, timeout=timeout) if self._shared else nullcontext()
            with lock_note(self._private / "locks", place.path, timeout=timeout), shared as lock:
                # The link may have changed while we waited.
                if resolve_note_path(self.folders, path, existing=existing) == place:
                    yield place, lock
                    return
        raise NoteUnwritable("{path} is being moved; try again.", path=format_path(path))


def _line_missing(path: str, line: int, total: int) -> MemoryFault:
    return MemoryFault(
        "{path} ends at line {last}; there is no line {line}.", path=path, last=total, line=line
    )


def _mark(stat: NoteStat, mark: int) -> NoteStat:
    return stat._replace(ctime_ns=stat.ctime_ns + mark) if mark else stat


def _explain_absence(place: NotePath) -> str:
    """Return why the note's folder is away; "" if it is there, or is the memory's own."""
    if not place.folder.name:
        return ""
    why = place.folder.explain_absence()
    return why and Translatable(
        "the folder {folder} is away ({reason})", folder=place.folder.name, reason=why
    )


def _explain_read_only(place: NotePath) -> str:
    """Return why a note may only be read, in a sentence; "" if it may be changed."""
    if place.folder.is_writable:
        return ""
    return Translatable(
        "{path} is read-only: to allow changes in {folder}/, set `write = true` for that folder under "
        "[[memory.folders]].",
        path=place.path,
        folder=place.folder.name,
    )


def _check_writable(place: NotePath) -> None:
    """Raise `NoteUnwritable` if the note's folder is read-only or away."""
    if why := _explain_read_only(place):
        raise FolderReadOnly(why)
    if why := _explain_absence(place):
        raise NoteUnwritable("{path} was not written: {reason}.", path=place.path, reason=why)


def _name_paths(paths: Sequence[str]) -> str:
    named = ", ".join(map(format_path, paths[:MAX_NOTES_NAMED]))
    more = len(paths) - MAX_NOTES_NAMED
    return Translatable("{notes} and {count} more", notes=named, count=more) if more > 0 else named
