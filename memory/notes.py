"""Markdown notes on disk, the source of truth: locked appends, atomic edits, nothing outside the folder."""

import errno
import os
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

from memory import disk
from memory.charset import DecodedNote, decode, decode_lines, read_raw_lines
from memory.errors import (
    EditRefused,
    MemoryFault,
    NoteMissing,
    NoteUnreadable,
    NoteUnwritable,
    NothingToWrite,
    TextTooLong,
)
from memory.forgetting import WordsToForget
from memory.formatting import clean_text, format_entry
from memory.listing import Listing, NoteStat, Problem, list_notes
from memory.locks import LOCK_SECONDS, SharedLock, SharedLocks, lock_file, lock_note
from memory.note_edits import (
    Edit,
    LineAnchor,
    LineCorrection,
    LinesChecksum,
    correct_lines,
    find_replacement,
    find_restored,
    insert_lines,
    make_correction,
    new_lines,
    replace_passage,
)
from memory.note_lookup import add_extension, match_notes, suggest_notes
from memory.paths import NotePath, format_path, open_note_folder, resolve_note_path
from memory.trash import (
    TrashItem,
    count_matching,
    delete_matching,
    list_trash,
    mark_restored,
    read_trash_item,
    save_removed,
)
from memory.write_recovery import (
    BeforeAppend,
    BeforeEdit,
    before_append,
    before_edit,
    find_block,
    find_missing_rest,
    is_edit_done,
    make_addition,
)

__all__ = [
    "Listing",
    "LoadedNote",
    "LockedNote",
    "NoteStat",
    "NoteText",
    "Notes",
    "Problem",
    "WriteResult",
    "format_block",
    "format_entry",
]

NOTE_MAX_BYTES = 16 * 1024 * 1024
MAX_NOTES_NAMED = 5
"""Maximum number of notes listed when a name fits several."""
PASSAGE_MAX_CHARS = 65_536
"""Maximum characters of a replaced passage, and of its replacement, in one edit."""
LATER_REMOVALS_READ = 1_000
"""How many later removals from a note are followed to find a line that was replaced repeatedly."""

_TRIES = 20
_RECENT_NS = 2_000_000_000
_OLD_DRAFT_SECONDS = 3600.0
# Another file system; a file mounted by itself, perhaps in a read-only folder; a folder or file owned by
# somebody else.
_RENAME_ERRORS = {errno.EXDEV, errno.EBUSY, errno.EROFS, errno.EACCES, errno.EPERM}
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Where something was written; lines are 1-based and inclusive."""

    path: str
    line_start: int
    line_end: int
    offset: int
    """Bytes of the note before it."""


@dataclass(frozen=True, slots=True)
class NoteText:
    """Lines of a note, with LF line ends; `line_end` is `line_start` - 1 if the note is empty."""

    path: str
    text: str
    line_start: int
    line_end: int
    total_lines: int


@dataclass(frozen=True, slots=True)
class LoadedNote:
    """One version of a whole note."""

    text: str
    """Without a byte-order mark, with LF line ends."""
    encoding: str
    """Such as `utf-8` or `utf-16-le`; `windows-1252` if bytes that are not UTF-8 were read as that."""
    digest: str
    """SHA-256 of the bytes on disk, in hexadecimal."""
    stat: NoteStat
    """Metadata of exactly this version, under the note's own path even if it was opened by a link."""


class Notes:
    """The notes in one folder. Methods may be called from any thread; all but `walk` raise `MemoryFault`."""

    def __init__(
        self,
        folder: Path,
        *,
        private: Path,
        lock_timeout: float = LOCK_SECONDS,
        shared: SharedLocks | None = None,
    ) -> None:
        """Keep notes in `folder`; locks, temporary files and trash in `private`.

        The first write creates the folders. `shared` holds the locks of a folder that instances on several
        hosts write to, each with its own `private`. `lock_timeout` is in seconds.
        """
        self._folder = folder
        self._private = private
        self._trash = private / "trash"
        self._lock_timeout = lock_timeout
        self._shared = shared

    @property
    def is_shared(self) -> bool:
        """Return whether other instances write to the folder as well."""
        return self._shared is not None

    def walk(self, *, known: Mapping[str, tuple[int, int, int]] | None = None) -> Listing:
        """Return every note, and every file that looks like a note but cannot be read as one; see `list_notes`."""
        return list_notes(self._folder, known=known)

    def load(self, path: str) -> LoadedNote:
        """Read a whole note for indexing. Raises `NoteMissing`, `NoteUnreadable` (also if it is over 16 MiB)."""
        import hashlib  # takes 3 ms, needless if no note has changed

        with self._open(path) as (place, fd):
            found, data = _read_one_version(fd, place.path)
        decoded = decode(data)
        return LoadedNote(
            text=decoded.text,
            encoding=decoded.encoding,
            digest=hashlib.sha256(data).hexdigest(),
            stat=NoteStat.of(place.path, found),
        )

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
            lines = "1 line" if total == 1 else f"{total} lines"
            raise MemoryFault(f"{place.path} has {lines}; there is no line {line}.")
        return NoteText(place.path, decode_lines(wanted), line, line + len(wanted) - 1, total)

    def resolve_path(self, asked: str) -> str:
        """Return the path of the note that `asked` means; `.md` and the folder may be left out.

        Raises `NoteMissing` if no note or several notes fit, naming the closest ones; `PathRefused`.
        """
        path = add_extension(asked)
        try:
            with self._open(path):
                return path
        except NoteMissing:
            pass
        paths = [note.path for note in self.walk().notes]
        meant = match_notes(asked, paths)
        if len(meant) == 1:
            return meant[0]
        if meant:
            raise NoteMissing(f"Several notes match {format_path(asked)}: {_name_paths(meant)}.")
        nearest = suggest_notes(asked, paths)
        raise NoteMissing(
            f"{_note_missing(path)}{f' The most similar: {_name_paths(nearest)}.' if nearest else ''}"
        )

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

    def count_in_trash(self, wanted: WordsToForget) -> int:
        """Return how many trash files contain the words. Raises `NoteUnreadable`."""
        with _translate_trash_errors():
            return count_matching(self._trash, wanted)

    def delete_in_trash(self, wanted: WordsToForget) -> int:
        """Delete the words from the trash, and temporary files left by a crash. Return how many trash files matched.

        Raises `NoteUnwritable`.
        """
        try:
            disk.remove_stale_files(self._private / "tmp", pattern="note-*", seconds=LOCK_SECONDS)
            return delete_matching(self._trash, wanted)
        except OSError as error:
            raise NoteUnwritable(f"The trash could not be written: {disk.reason(error)}.") from error

    def removed(self) -> Sequence[TrashItem]:
        """Return everything in the trash, newest first. Raises `NoteUnreadable`."""
        with _translate_trash_errors():
            return list_trash(self._trash)

    def read_trash(self, removed: TrashItem) -> str:
        """Return the text of a trash item, with LF line ends. Raises `NoteUnreadable`."""
        with _translate_trash_errors():
            return read_trash_item(self._trash, removed.file)

    def find_replacement(self, removed: TrashItem, *, block: str) -> LineCorrection | None:
        """Return the correction that puts a trash item back where it was; None if its place cannot be found.

        Its replacement may have been replaced as well: the next `LATER_REMOVALS_READ` removals from the note
        are followed. Raises `EditRefused` if `block` is there already.
        """
        try:
            text = self.load(removed.note).text
        except NoteMissing:
            return None
        stood, new = removed.stood, removed.new_lines
        later = islice(
            (
                each
                for each in reversed(self.removed())
                if each.at > removed.at and not each.is_restored and each.note == removed.note
            ),
            LATER_REMOVALS_READ,
        )
        while True:
            if stood is None or new is None:
                return None
            following = next((each for each in later if self._removed_lines(each) == new), None)
            were_removed = following is not None
            if found := find_replacement(text, stood=stood, new=new, old=block, were_removed=were_removed):
                return found
            if following is None:
                break
            stood, new = following.stood, following.new_lines
        if removed.stood and (line := find_restored(text, stood=removed.stood, block=block)):
            raise EditRefused(f"{removed.note}:{line} already says that again, so nothing was restored.")
        return None

    def _removed_lines(self, removed: TrashItem) -> LinesChecksum:
        return new_lines(self.read_trash(removed).removesuffix("\n"))

    def is_in_trash(self, file: str) -> bool:
        """Return whether the file is still in the trash."""
        return (self._trash / file).exists()

    def mark_restored(self, file: str) -> None:
        """Remove a restored file from the trash. Raises `NoteUnwritable`."""
        with _translate_errors("The trash"):
            mark_restored(self._trash, file)

    @contextmanager
    def held(self, path: str, *, existing: bool = False) -> Iterator["LockedNote"]:
        """Hold a note's lock; everyone who respects the lock, in any process, waits meanwhile.

        `existing`: as in `resolve_note_path`. If the folder is shared and its locks cannot be reached, the
        note can be appended to but not edited. Raises `NoteUnwritable`, `PathRefused`.
        """
        with self._hold_lock(path, existing=existing) as (place, lock):
            yield LockedNote(place, private=self._private, lock=lock)

    @contextmanager
    def _open(self, path: str) -> Iterator[tuple[NotePath, int]]:
        """Open a note for reading; yields its path and file descriptor."""
        place = resolve_note_path(self._folder, path, existing=True)
        try:
            with open_note_folder(place) as folder:
                fd = disk.open_file(place.name, os.O_RDONLY, folder=folder)
            try:
                yield place, fd
            finally:
                os.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            raise _note_missing(path) from None
        except OSError as error:
            raise NoteUnreadable(f"{format_path(path)} could not be read: {disk.reason(error)}.") from error

    @contextmanager
    def _hold_lock(self, path: str, *, existing: bool) -> Iterator[tuple[NotePath, SharedLock | None]]:
        """Resolve the note's real path and hold its local lock and, if shared, its shared lock."""
        timeout = self._lock_timeout
        for _ in range(_TRIES):
            place = resolve_note_path(self._folder, path, existing=existing)
            shared = self._shared.held(place.path, timeout=timeout) if self._shared else nullcontext()
            with lock_note(self._private / "locks", place.path, timeout=timeout), shared as lock:
                # The link may have changed while we waited.
                if resolve_note_path(self._folder, path, existing=existing) == place:
                    yield place, lock
                    return
        raise NoteUnwritable(f"{format_path(path)} is being moved; try again.")


class _EditMaker(Protocol):
    def __call__(self, note: DecodedNote, *, path: str) -> Edit: ...


class LockedNote:
    """A note whose lock is held. Other programs, such as editors, may still write to it.

    Methods raise `MemoryFault`; then the note is unchanged, unless they say otherwise.
    """

    def __init__(self, place: NotePath, *, private: Path, lock: SharedLock | None = None) -> None:
        """Use `Notes.held` to get one."""
        self._place = place
        self._lock = lock
        self._private = private
        self._trash = private / "trash"

    @property
    def path(self) -> str:
        """The note's real path, whatever link or spelling it was opened by."""
        return self._place.path

    @property
    def is_empty(self) -> bool:
        """Return whether the note is missing or empty."""
        return not self._read_data()

    def before_append(self, block: str) -> BeforeAppend:
        """Return the state before `append`, from which a retry can see how far the first try came."""
        return before_append(self._read_data(), block)

    def append(self, block: str, *, title: str, at: str = "", before: BeforeAppend) -> WriteResult:
        """Append a block (see `format_block`) unless that was done since `before`; on disk when this returns.

        It was done if the block occurs more often than before; a partly written block is completed.
        """
        written = self._append_or_find(block, title=title, at=at, before=before, begin=True)
        assert written is not None
        return written

    def finish_append(
        self, block: str, *, title: str, at: str = "", before: BeforeAppend
    ) -> WriteResult | None:
        """Return where the block was appended since `before`; None if none of it was.

        A block that a crash has cut off is completed.
        """
        return self._append_or_find(block, title=title, at=at, before=before, begin=False)

    def before_edit(self, old: str, new: str) -> BeforeEdit:
        """Return the state before `edit`, and the result it would have. Raises what `edit` would."""
        return self._prepare_edit(partial(replace_passage, old=old, new=new), removes=not new)

    def correction(self, line: int, text: str) -> LineCorrection:
        """Return the correction that puts a text in the place of one line.

        Raises `EditRefused`, `NothingToWrite`, `NoteMissing`.
        """
        return make_correction(decode(self._read_existing()), line, text, path=self.path)

    def before_correct(self, correction: LineCorrection) -> BeforeEdit:
        """Return the state before `correct`, and the result it would have. Raises what `correct` would."""
        return self._prepare_edit(partial(correct_lines, correction=correction))

    def before_insert(self, block: str, stood: LineAnchor | None) -> BeforeEdit:
        """Return the state before `insert`, and the result it would have. Raises what `insert` would."""
        return self._prepare_edit(partial(insert_lines, block=block, stood=stood))

    def finish_edit(self, old: str, new: str, before: BeforeEdit) -> WriteResult | None:
        """Return where the new passage is if the edit was done; None if it was not."""
        data = self._read_data()
        if not is_edit_done(data, old, new, before):
            return None
        note = decode(data)
        if before.lines and (found := find_block(note.text, before.lines)):
            return _locate_block(self.path, note, found[-1], before.lines)
        return WriteResult(self.path, before.line_start, before.line_end, before.offset)

    def rename(self, name: str) -> bool:
        """Rename the file within its folder; return False if the name is taken."""
        with self._open_folder() as folder:
            self._remove_drafts(folder)
            self._check_shared_lock()
            is_done = disk.rename_to_new(self._place.name, name, folder=folder)
            if is_done:
                disk.sync_folder(folder)
            return is_done

    def remove(self, blocks: Iterable[str]) -> frozenset[str]:
        """Delete whole lines without keeping them in the trash; return the blocks that were found.

        Raises `NoteMissing`, `NoteUnwritable`.
        """
        wanted = tuple(dict.fromkeys(blocks))
        for _ in range(_TRIES):
            self._check_shared_lock()
            with self._open_folder() as folder, self._open(folder, alone=True) as fd:
                self._remove_drafts(folder)
                found, old = _read_one_version(fd, self.path)
                data, gone = _remove_blocks(decode(old), wanted, path=self.path)
                if not gone:
                    return gone
                if self._replace_content(data, old=old, found=found, fd=fd, folder=folder, for_good=True):
                    if self._was_changed_meanwhile(found, fd, folder=folder):
                        late = decode(disk.read_all(fd, limit=NOTE_MAX_BYTES))
                        rest, _ = _remove_blocks(late, wanted, path=self.path)
                        save_removed(self._trash, note=self.path, removed=rest)
                    return gone
        raise NoteUnwritable(f"{self.path} keeps being written by another program; try again.")

    def edit(self, old: str, new: str) -> WriteResult:
        """Replace one passage; see `Notes.edit`."""
        return self._apply_edit(partial(replace_passage, old=old, new=new))

    def correct(self, correction: LineCorrection) -> WriteResult:
        """Replace whole lines; the old ones are kept in the trash. Raises `EditRefused` if they have changed."""
        return self._apply_edit(partial(correct_lines, correction=correction))

    def insert(self, block: str, stood: LineAnchor | None) -> WriteResult:
        """Put lines back where they were, or at the note's end if that place is gone. Raises `EditRefused`."""
        return self._apply_edit(partial(insert_lines, block=block, stood=stood))

    def _apply_edit(self, edit: "_EditMaker") -> WriteResult:
        for _ in range(_TRIES):
            self._check_shared_lock()
            with self._open_folder() as folder:
                self._remove_drafts(folder)
                if written := self._edit_version(edit, folder=folder):
                    return written
        raise NoteUnwritable(f"{self.path} keeps being written by another program; try again.")

    def _prepare_edit(self, edit: "_EditMaker", *, removes: bool = False) -> BeforeEdit:
        self._check_shared_lock()
        data = self._read_existing()
        done = edit(decode(data), path=self.path)
        return before_edit(
            data,
            done.data,
            removes=removes,
            line_start=done.line_start,
            line_end=done.line_end,
            offset=done.offset,
        )

    def _read_existing(self) -> bytes:
        with self._open_folder() as folder, self._open(folder) as fd:
            return _read_one_version(fd, self.path)[1]

    def _append_or_find(
        self, block: str, *, title: str, at: str = "", before: BeforeAppend, begin: bool
    ) -> WriteResult | None:
        with _translate_errors(self.path):
            for _ in range(_TRIES):
                try:
                    with open_note_folder(self._place, create=begin) as folder:
                        self._remove_drafts(folder)
                        return _append_block(
                            self._place,
                            block,
                            title=title,
                            at=at,
                            before=before,
                            begin=begin,
                            folder=folder,
                            shared=self._lock is not None,
                        )
                except _NoteReplaced:
                    continue
                except (FileNotFoundError, NotADirectoryError):
                    if begin:
                        raise
                    return None
        raise NoteUnwritable(f"{self.path} keeps being replaced by another program; try again.")

    def _read_data(self) -> bytes:
        """Return the note's bytes; b"" if there is no such note."""
        with _translate_errors(self.path):
            try:
                with open_note_folder(self._place) as folder, self._open(folder) as fd:
                    return disk.read_all(fd, limit=NOTE_MAX_BYTES + 1)
            except (FileNotFoundError, NotADirectoryError):
                return b""

    @contextmanager
    def _open_folder(self) -> Iterator[int]:
        """Open the note's folder. Raises `NoteMissing` if there is none."""
        with _translate_errors(self.path):
            try:
                with open_note_folder(self._place) as folder:
                    yield folder
            except (FileNotFoundError, NotADirectoryError):
                raise _note_missing(self.path) from None

    @contextmanager
    def _open(self, folder: int, *, alone: bool = False) -> Iterator[int]:
        """Open the file. With `alone` and a shared folder, also lock the file, which needs write permission."""
        lockable, fd = alone and self._lock is not None, -1
        if lockable:
            with suppress(PermissionError):
                fd = disk.open_file(self._place.name, os.O_RDWR, folder=folder)
        if fd < 0:
            fd = disk.open_file(self._place.name, os.O_RDONLY, folder=folder)
        try:
            if lockable:
                lock_file(fd, self.path)
            yield fd
        finally:
            os.close(fd)

    def _check_shared_lock(self) -> None:
        """Raise `NoteUnwritable` if the shared lock was lost, so that another instance may be writing."""
        if self._lock and (why := self._lock.explain_lost()):
            raise NoteUnwritable(
                f"{self.path} was not changed, since another instance might be writing to it: {why}; try again."
            )

    def _remove_drafts(self, folder: int) -> None:
        """Remove drafts that a crash during an edit left beside the note, whose lock we hold.

        An editor that has lost its lock loses its draft this way, and cannot put it in place.
        """
        beginning = _draft_name(self._place)
        names = [beginning]
        with suppress(OSError):
            if self._lock:
                names = [name for name in os.listdir(folder) if name.startswith(beginning)]
        for name in names:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)

    def _edit_version(self, edit: "_EditMaker", *, folder: int) -> WriteResult | None:
        """Edit the current version; return None if another program changed it meanwhile."""
        place = self._place
        with self._open(folder, alone=True) as fd:
            found, data = _read_one_version(fd, place.path)
            change = edit(decode(data), path=place.path)
            if len(change.data) > NOTE_MAX_BYTES:
                raise NoteUnwritable(f"{place.path} would become larger than 16 MiB; write to another note.")
            kept = self._save_removed(change)
            try:
                done = self._replace_content(change.data, old=data, found=found, fd=fd, folder=folder)
            except BaseException:
                if kept and _is_in_place(fd, place.name, folder=folder):
                    kept.unlink()
                raise
            if not done:
                if kept:
                    kept.unlink()
                return None
            if self._was_changed_meanwhile(found, fd, folder=folder):
                save_removed(self._trash, note=place.path, removed=disk.read_all(fd, limit=NOTE_MAX_BYTES))
        return WriteResult(place.path, change.line_start, change.line_end, change.offset)

    def _save_removed(self, change: Edit) -> Path | None:
        """Save the lines that an edit removes to the trash; return None if it removes none."""
        if not change.removed:
            return None
        return save_removed(
            self._trash,
            note=self.path,
            removed=change.removed,
            stood=change.removed_from,
            new_lines=change.new_lines,
        )

    def _was_changed_meanwhile(self, found: os.stat_result, fd: int, *, folder: int) -> bool:
        """Return whether another program wrote to the old file during the rename, so that its text would be lost."""
        return not disk.same_version(os.fstat(fd), found) and not _is_in_place(
            fd, self._place.name, folder=folder
        )

    def _replace_content(
        self,
        data: bytes,
        *,
        old: bytes,
        found: os.stat_result,
        fd: int,
        folder: int,
        for_good: bool = False,
    ) -> bool:
        """Replace the note's content by `data` in one step; return False if it is no longer the version in `old`.

        The draft is written to the private folder. If that is on another mount than the notes (a container),
        only a hidden file beside the note can be renamed onto it: it exists for a moment, and the next write
        to the note removes one that a crash has left. On a shared folder each draft has a unique name: the
        next writer removes it, and a writer that lost its lock finds it gone. If nothing can be renamed onto
        the note (it is mounted by itself, or its folder or owner is not ours), it is overwritten, after a
        copy of the whole note went to the trash, unless `for_good`.
        """
        place, temporary = self._place, self._private / "tmp"
        beside = f"{_draft_name(place)}{f'-{os.urandom(8).hex()}' if self._lock else ''}"
        disk.remove_stale_files(temporary, pattern="note-*", seconds=_OLD_DRAFT_SECONDS)
        with disk.open_private_folder(temporary) as private:
            drafts = ((private, f"note-{os.urandom(8).hex()}"), (folder, beside))
            for home, name in drafts:
                try:
                    with disk.write_draft(name, data, folder=home, like=fd):
                        self._check_shared_lock()
                        if not _is_unchanged(found, place.name, folder=folder):
                            return False
                        try:
                            os.rename(name, place.name, src_dir_fd=home, dst_dir_fd=folder)
                        except FileNotFoundError:
                            return False  # another instance has the lock by now and has removed the draft
                    disk.sync_folder(folder)
                except OSError as error:
                    if error.errno not in _RENAME_ERRORS:
                        raise
                    if error.errno != errno.EXDEV:
                        break
                else:
                    return True
        if not for_good:
            save_removed(self._trash, note=place.path, removed=old)
        self._check_shared_lock()
        if not _is_unchanged(found, place.name, folder=folder):
            return False
        disk.overwrite(place.name, data, old=old, folder=folder)
        return True


def format_block(text: str) -> str:
    """Return a block of Markdown as it is written, without surrounding line ends.

    Raises `NothingToWrite` if it is blank.
    """
    block = clean_text(text).strip("\n")
    if not block.strip():
        raise NothingToWrite("There is nothing to write: the text is blank.")
    return block


def normalize_passages(old: str, new: str) -> tuple[str, str]:
    """Return the two passages of an edit as they are searched for and written.

    Raises `EditRefused`, `TextTooLong`.
    """
    for what, text in (("passage to replace", old), ("new passage", new)):
        if len(text) > PASSAGE_MAX_CHARS:
            raise TextTooLong(
                f"The {what} has {len(text):,} characters, but one edit takes at most {PASSAGE_MAX_CHARS:,}; "
                "change less at a time."
            )
    old, new = old.replace("\r\n", "\n").replace("\r", "\n"), clean_text(new)
    if not old.strip():
        raise EditRefused("The passage to replace is blank; copy it from the note.")
    if old == new:
        raise EditRefused("The new passage is the same as the old one; nothing was changed.")
    return old, new


class _NoteReplaced(Exception):
    """An editor replaced the note's file while it was being written to."""


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """Turn an `OSError` during a write into `NoteUnwritable` with a readable reason."""
    try:
        yield
    except OSError as error:
        raise NoteUnwritable(f"{path} could not be written: {disk.reason(error)}.") from error


@contextmanager
def _translate_trash_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NoteUnreadable(f"The trash could not be read: {disk.reason(error)}.") from error


def _name_paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_NOTES_NAMED} more" if len(paths) > MAX_NOTES_NAMED else ""
    return ", ".join(map(format_path, paths[:MAX_NOTES_NAMED])) + more


def _note_missing(path: str) -> NoteMissing:
    return NoteMissing(f"There is no note {format_path(path)}.")


def _read_one_version(fd: int, path: str) -> tuple[os.stat_result, bytes]:
    """Read an open note as it was at one moment, not in the middle of another program's write."""
    for _ in range(_TRIES):
        before = os.fstat(fd)
        if before.st_size > NOTE_MAX_BYTES:
            size = before.st_size / (1024 * 1024)
            raise NoteUnreadable(f"{path} has {size:.0f} MiB; split it into notes of at most 16 MiB.")
        data = disk.read_all(fd, limit=NOTE_MAX_BYTES + 1)
        # The timestamp is that of the write's beginning: while it is recent, only a second read can tell.
        if _is_recent(before) and disk.read_all(fd, limit=NOTE_MAX_BYTES + 1) != data:
            continue
        if disk.same_version(before, os.fstat(fd)) and len(data) == before.st_size:
            return before, data
        time.sleep(0.01)
    raise NoteUnreadable(f"{path} keeps being written; try again later.")


def _append_block(
    place: NotePath,
    block: str,
    *,
    title: str,
    at: str = "",
    before: BeforeAppend,
    begin: bool,
    folder: int,
    shared: bool,
) -> WriteResult | None:
    """Append to the current file unless that was done; return None if it was not and `begin` is false.

    Raises `_NoteReplaced` if an editor replaced the file, which may contain the block already.
    """
    created = False
    try:
        fd = disk.open_file(place.name, os.O_RDWR | os.O_APPEND, folder=folder)
    except FileNotFoundError:
        if not begin:
            return None
        try:
            fd = disk.create_file(place.name, os.O_RDWR | os.O_APPEND, folder=folder)
        except FileExistsError:
            raise _NoteReplaced from None
        created = True
    try:
        if shared:
            lock_file(fd, place.path)
            if not _is_in_place(fd, place.name, folder=folder):
                raise _NoteReplaced
        found = os.fstat(fd)
        if not (created or found.st_size) and _is_recent(found):
            # An editor may have emptied the file to rewrite it, and would overwrite what we add now.
            time.sleep(0.05)
            if not _is_unchanged(found, place.name, folder=folder):
                raise _NoteReplaced
        data = disk.read_all(fd, limit=NOTE_MAX_BYTES)
        rest = find_missing_rest(data, block, before, title=title, at=at)
        if not rest:
            note = decode(data)
            standing = find_block(note.text, block)
            if len(standing) > before.count:
                return _locate_block(place.path, note, standing[-1], block)
            if not begin:
                return None
            rest = b"".join(make_addition(data, block, title=title, at=at))
        if found.st_size + len(rest) > NOTE_MAX_BYTES:
            raise NoteUnwritable(f"{place.path} would become larger than 16 MiB; write to another note.")
        try:
            start = disk.append_bytes(fd, rest)
            if created:
                disk.sync_folder(folder)
        except BaseException:
            if created and os.fstat(fd).st_size in {0, len(rest)}:
                os.unlink(place.name, dir_fd=folder)
            raise
        # Another program may have appended between our read and our write, and after it. Keep this order: on
        # a folder that hosts share, data is fresh only after the file was opened again.
        stands_there = _is_in_place(fd, place.name, folder=folder)
        whole = disk.read_all(fd, limit=start + len(rest))
        if not (stands_there and whole.endswith(rest)):
            raise _NoteReplaced
    finally:
        os.close(fd)
    note = decode(whole)
    last = note.text.count("\n")
    offset = len(whole) - len(note.encode(f"{block}\n".replace("\n", note.line_end)))
    return WriteResult(place.path, last - block.count("\n"), last, offset)


def _locate_block(path: str, note: DecodedNote, at: int, block: str) -> WriteResult:
    """Return the location of a block that begins at character offset `at` of the note's text."""
    line = note.text.count("\n", 0, at) + 1
    raw_at = 0
    for _ in range(line - 1):
        raw_at = next(_LINE_END.finditer(note.raw, raw_at)).end()
    offset = len(note.mark) + len(note.encode(note.raw[:raw_at]))
    return WriteResult(path, line, line + block.count("\n"), offset)


def _draft_name(place: NotePath) -> str:
    return f".note-{zlib.crc32(place.name.encode()):08x}"


def _is_recent(found: os.stat_result) -> bool:
    return time.time_ns() - found.st_mtime_ns < _RECENT_NS


def _is_unchanged(found: os.stat_result, name: str, *, folder: int) -> bool:
    return disk.same_version(_stat_opened(name, folder=folder), found)


def _is_in_place(fd: int, name: str, *, folder: int) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), _stat_opened(name, folder=folder))
    except OSError:
        return False


def _stat_opened(name: str, *, folder: int) -> os.stat_result:
    """Return the current metadata of a name.

    It is opened first, since other hosts' `stat` may be a minute old.
    """
    fd = disk.open_file(name, os.O_RDONLY, folder=folder)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def _remove_blocks(note: DecodedNote, blocks: Iterable[str], *, path: str) -> tuple[bytes, frozenset[str]]:
    """Return the note's bytes without these whole lines, and the blocks that were found. Raises `EditRefused`."""
    if note.unit > 1 and not note.clean:
        raise EditRefused(
            f"{path} is damaged {note.codec.upper()} text; save it as UTF-8 in an editor first."
        )
    text = note.text
    standing = {block: found for block in blocks if (found := find_block(text, block))}
    gone: set[int] = set()
    for block, found in standing.items():
        for at in found:
            first = text.count("\n", 0, at)
            gone.update(range(first, first + block.count("\n") + 1))
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", note.raw)
    kept = "".join(line for number, line in enumerate(lines) if number not in gone)
    return note.mark + note.encode(kept), frozenset(standing)
