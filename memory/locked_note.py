"""One note whose lock is held: everything that changes it."""

import errno
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from memory import disk
from memory.charset import DecodedNote, decode
from memory.errors import EditRefused, MemoryFault, NoteChanged, NoteUnwritable, PathRefused
from memory.line_diff import LineDiff, compare_lines, split_lines
from memory.line_reversal import LinesReplacement
from memory.locks import SharedLock, lock_file
from memory.note_append import NoteReplaced, append_block
from memory.note_edits import (
    Edit,
    LineAnchor,
    LineCorrection,
    correct_lines,
    exchange_lines,
    insert_lines,
    make_anchor,
    make_correction,
    remove_blocks,
    remove_lines,
    replace_lines,
    replace_passage,
)
from memory.note_file import (
    NOTE_MAX_BYTES,
    TRIES,
    is_in_place,
    is_unchanged,
    note_missing,
    read_one_version,
    translate_errors,
)
from memory.paths import NotePath, open_note_folder
from memory.tasks import is_task, set_task, task_mark
from memory.trash import save_removed
from memory.whole_note import check_version, find_edit_fault, find_hidden_fault, rewrite
from memory.write_recovery import (
    BeforeAppend,
    BeforeEdit,
    BeforeReplacement,
    before_append,
    before_edit,
    before_replacement,
    find_block,
    is_edit_done,
    is_replacement_done,
    make_addition,
)
from memory.write_result import WriteResult, locate_block

_OLD_DRAFT_SECONDS = 3600.0
# Another file system; a file mounted by itself, perhaps in a read-only folder; a folder or file owned by
# somebody else.
_RENAME_ERRORS = {errno.EXDEV, errno.EBUSY, errno.EROFS, errno.EACCES, errno.EPERM}


_Removed = TypeVar("_Removed", bound=Collection[object])


class _EditMaker(Protocol):
    def __call__(self, note: DecodedNote, *, path: str) -> Edit: ...


class LockedNote:
    """A note whose lock is held. Other programs, such as editors, may still write to it.

    Methods raise `MemoryFault`; then the note is unchanged, unless they say otherwise.
    """

    def __init__(
        self,
        place: NotePath,
        *,
        private: Path,
        lock: SharedLock | None = None,
        locate: Callable[[str], NotePath],
        blank: Callable[[str], str] = lambda text: text,
    ) -> None:
        """Use `Notes.held` to get one.

        `locate` finds the place of another note's path. `blank` empties the hidden lines of the note's text.
        """
        self._place = place
        self._locate = locate
        self._blank = blank
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

    @property
    def is_missing(self) -> bool:
        """Return whether there is no such note."""
        with translate_errors(self.path):
            try:
                with open_note_folder(self._place) as folder, self._open(folder):
                    return False
            except (FileNotFoundError, NotADirectoryError):
                return True

    @property
    def text(self) -> str:
        """The note's text with LF line ends; "" if it is missing."""
        return decode(self._read_data()).text

    def before_append(self, block: str) -> BeforeAppend:
        """Return the state before `append`, from which a retry can see how far the first try came."""
        return before_append(self._read_data(), block)

    def plan_append(self, block: str, *, title: str, at: str = "") -> tuple[BeforeAppend, LineDiff]:
        """Return the state before `append`, and the lines that it will add."""
        data = self._read_data()
        before, after = (
            decode(data).text,
            decode(data + b"".join(make_addition(data, block, title=title, at=at))).text,
        )
        starts_at = after.count("\n") - block.count("\n")
        return before_append(data, block), compare_lines(before, after, starts_at=starts_at)

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

    def plan_edit(self, old: str, new: str) -> tuple[BeforeEdit, LineDiff]:
        """Return the state before `edit` with its result, and the lines it changes. Raises what `edit` would."""
        return self._plan_edit(partial(replace_passage, old=old, new=new), removes=not new)

    def correction(self, line: int, text: str, *, last: int | None = None) -> LineCorrection:
        """Return the correction that puts a text in the place of one line, or empties all up to `last`.

        A hidden line counts as empty. Raises `EditRefused`, `NothingToWrite`, `NoteMissing`.
        """
        shown = self._blank(decode(self._read_existing()).text)
        return make_correction(shown, line, text, path=self.path, last=last)

    def plan_correct(self, correction: LineCorrection) -> tuple[BeforeEdit, LineDiff]:
        """Return the same as `plan_edit` for `correct`. Raises what `correct` would."""
        return self._plan_edit(partial(correct_lines, correction=correction))

    def plan_insert(self, block: str, anchor: LineAnchor | None) -> tuple[BeforeEdit, LineDiff]:
        """Return the same as `plan_edit` for `insert`. Raises what `insert` would."""
        return self._plan_edit(partial(insert_lines, block=block, anchor=anchor))

    def finish_edit(self, old: str, new: str, before: BeforeEdit) -> WriteResult | None:
        """Return where the new passage is if the edit was done; None if it was not."""
        data = self._read_data()
        if not is_edit_done(data, old, new, before):
            return None
        note = decode(data)
        if before.lines and (found := find_block(note.text, before.lines)):
            return locate_block(self.path, note, found[-1], before.lines)
        return WriteResult(self.path, before.line_start, before.line_end, before.offset)

    def plan_replacement(self, wanted: LinesReplacement) -> tuple[BeforeReplacement, LineDiff, bool]:
        """Return the state before `replace`, the lines that it changes, and whether it leaves nothing at all.

        Raises `EditRefused` if the lines have changed.
        """
        self._check_shared_lock()
        data = self._read_data()
        note = decode(data)
        after = replace_lines(note, line=wanted.line, old=wanted.old, new=wanted.new, path=self.path).data
        # Not by comparing: of equal lines it would be another one.
        lines = LineDiff(
            wanted.line,
            make_anchor(split_lines(note.text), wanted.line).above,
            wanted.old,
            wanted.new,
            wanted.lead,
        )
        return before_replacement(data, after, old=wanted.old, new=wanted.new), lines, not after

    def replace(self, wanted: LinesReplacement) -> WriteResult:
        """Replace whole lines; the old ones are kept in the trash. Raises `EditRefused` if they have changed."""
        done = self._apply_edit(partial(replace_lines, line=wanted.line, old=wanted.old, new=wanted.new))
        return WriteResult(done.path, wanted.line, wanted.line + len(wanted.new) - 1, done.offset)

    def finish_replacement(self, wanted: LinesReplacement, before: BeforeReplacement) -> WriteResult | None:
        """Return where the new lines are if they have replaced the old ones; None if they have not."""
        if not is_replacement_done(self._read_data(), before, old=wanted.old, new=wanted.new):
            return None
        return WriteResult(self.path, wanted.line, wanted.line + len(wanted.new) - 1, 0)

    def plan_rewrite(self, text: str, *, digest: str) -> tuple[LinesReplacement, BeforeReplacement, LineDiff]:
        """Return the replacement that gives the note this text (LF line ends), and what `plan_replacement` returns.

        `digest` is that of the version that was rewritten (`WholeNote`). Raises `NoteChanged` if it is another one by
        now; `EditRefused` if the text is the same, or cannot be replaced as a whole; `NoteMissing`.
        """
        data = self._read_existing()
        check_version(data, digest, path=self.path)
        note = decode(data)
        if fault := find_edit_fault(note, path=self.path, blank=self._blank):
            raise EditRefused(fault)
        wanted = rewrite(note, text, path=self.path)
        return wanted, *self.plan_replacement(wanted)[:2]

    def plan_deletion(self, *, digest: str) -> tuple[LinesReplacement, BeforeReplacement, LineDiff]:
        """Return the replacement that leaves nothing of the note, and what `plan_replacement` returns.

        Raises what `plan_rewrite` raises.
        """
        data = self._read_existing()
        check_version(data, digest, path=self.path)
        self.check_nothing_hidden()
        wanted = LinesReplacement(1, tuple(split_lines(decode(data).text)), ())
        return wanted, *self.plan_replacement(wanted)[:2]

    def check_nothing_hidden(self) -> None:
        """Raise `EditRefused` if the note has hidden lines, which are known by its path."""
        if fault := find_hidden_fault(self.text, path=self.path, blank=self._blank):
            raise EditRefused(fault)

    def rename(self, name: str) -> bool:
        """Rename the file within its folder; return False if the name is taken."""
        return self._move(replace(self._place, parts=(*self._place.parts[:-1], name)))

    def move(self, target: "LockedNote") -> bool:
        """Move the file to the path of another note, whose lock is held too; return False if there is one.

        Folders that it leaves empty are deleted. Raises `NoteMissing`, `NoteUnwritable`.
        """
        target._check_shared_lock()
        try:
            is_done = self._move(target._place)
        except MemoryFault:
            target._remove_empty_folders()
            raise
        self._remove_empty_folders()
        return is_done

    def plan_task(self, line: int, mark: str, *, is_done: bool) -> LinesReplacement:
        """Return what checks or unchecks the task in a line (1-based), for `exchange_lines`.

        Raises `NoteChanged` if the line is no longer the one with this mark, `EditRefused` if it says so already.
        """
        lines = split_lines(self._blank(decode(self._read_existing()).text))
        old = lines[line - 1] if 0 < line <= len(lines) else ""
        if not is_task(old) or task_mark(old) != mark:
            raise NoteChanged(
                "Line {line} of {path} has changed in the meantime; nothing was written.",
                line=line,
                path=self.path,
            )
        new = set_task(old, is_done=is_done)
        if new == old:
            raise EditRefused("Line {line} of {path} already says that.", line=line, path=self.path)
        return LinesReplacement(line, (old,), (new,))

    def plan_exchange(self, wanted: LinesReplacement) -> tuple[BeforeReplacement, LineDiff]:
        """Return the state before `exchange_lines`, and the lines that it changes. Raises what that would."""
        data = self._read_existing()
        note = decode(data)
        after = exchange_lines(note, line=wanted.line, old=wanted.old, new=wanted.new, path=self.path).data
        above = make_anchor(split_lines(note.text), wanted.line).above
        before = before_replacement(data, after, old=wanted.old, new=wanted.new)
        return before, LineDiff(wanted.line, above, wanted.old, wanted.new)

    def exchange_lines(self, wanted: LinesReplacement) -> None:
        """Replace the contents of lines, without keeping them in the trash; all other bytes stay as they are.

        There are as many new lines as old ones. Raises `EditRefused` if they have changed.
        """
        self._apply_edit(partial(exchange_lines, line=wanted.line, old=wanted.old, new=wanted.new))

    @property
    def can_exchange_lines(self) -> bool:
        """Return whether `exchange_lines` leaves all other bytes as they are: not in damaged UTF-16."""
        return decode(self._read_existing()).can_encode

    def move_to(self, path: str) -> bool:
        """Move the file to another path, whose lock need not be held; return False if there is a note.

        Raises `NoteMissing`, `NoteUnwritable`, `PathRefused`.
        """
        is_done = self._move(self._locate(path))
        self._remove_empty_folders()
        return is_done

    def finish_move(self, path: str) -> bool:
        """Return whether the file was moved to `path`, after completing what a crash has cut off."""
        with translate_errors(self.path):
            try:
                place = self._locate(path)
                with open_note_folder(self._place) as folder, open_note_folder(place) as to:
                    if not disk.is_same_file(self._place.name, place.name, folder=folder, to=to):
                        return False
            except (FileNotFoundError, NotADirectoryError, PathRefused):
                return self.is_missing
        return self._move(place)

    def _move(self, place: NotePath) -> bool:
        if place == self._place:
            return False
        with self._open_folder() as folder, open_note_folder(place, create=True) as to:
            self._remove_drafts(folder)
            self._check_shared_lock()
            is_done = disk.rename_to_new(self._place.name, place.name, folder=folder, to=to)
            if is_done:
                disk.sync_folder(to)
                disk.sync_folder(folder)
            return is_done

    def remove(self, blocks: Iterable[str]) -> frozenset[str]:
        """Delete whole lines without keeping them in the trash; return the blocks that were found.

        Raises `NoteMissing`, `NoteUnwritable`.
        """
        wanted = tuple(dict.fromkeys(blocks))
        return self._cut(lambda note: remove_blocks(note, wanted, path=self.path))

    def plan_removal(self, numbers: Collection[int] | None) -> BeforeReplacement:
        """Return the state before lines (numbers from 0) are removed, or the whole note for None.

        Raises `EditRefused`, `NoteMissing`.
        """
        self._check_shared_lock()
        data = self._read_existing()
        after = b"" if numbers is None else remove_lines(decode(data), numbers, path=self.path)
        return before_replacement(data, after, old=(), new=())

    def remove_lines(self, choose: Callable[[str], Collection[int]]) -> bool:
        """Delete the lines whose numbers (from 0) `choose` returns of the text, without keeping them in the trash.

        Returns False if it chooses none. Raises `NoteMissing`, `NoteUnwritable`.
        """

        def cut(note: DecodedNote) -> tuple[bytes, Collection[int]]:
            chosen = choose(note.text)
            return remove_lines(note, chosen, path=self.path), chosen

        return bool(self._cut(cut))

    def delete_if(self, is_meant: Callable[[str], bool], *, keep: bool = False) -> bool:
        """Delete the file if `is_meant` accepts its text; return whether it was deleted.

        With `keep`, a copy goes to the trash. Folders that it leaves empty are deleted too.
        Raises `NoteMissing`, `NoteUnwritable`.
        """
        self._check_shared_lock()
        with self._open_folder() as folder, self._open(folder, alone=True) as fd:
            self._remove_drafts(folder)
            found, data = read_one_version(fd, self.path)
            if not is_meant(decode(data).text):
                return False
            self._check_shared_lock()
            if not is_unchanged(found, self._place.name, folder=folder):
                return False
            if keep:
                save_removed(self._trash, note=self.path, removed=data)
            os.unlink(self._place.name, dir_fd=folder)
            disk.sync_folder(folder)
        self._remove_empty_folders()
        return True

    def _remove_empty_folders(self) -> None:
        for depth in range(len(self._place.parts) - 1, 0, -1):
            try:
                Path(self._place.root, *self._place.parts[:depth]).rmdir()
            except OSError:
                return

    def _cut(self, cut: Callable[[DecodedNote], tuple[bytes, _Removed]]) -> _Removed:
        """Replace the content by what `cut` leaves of it, and return what it removes, unless that is nothing."""
        for _ in range(TRIES):
            self._check_shared_lock()
            with self._open_folder() as folder, self._open(folder, alone=True) as fd:
                self._remove_drafts(folder)
                found, old = read_one_version(fd, self.path)
                data, gone = cut(decode(old))
                if not gone:
                    return gone
                if self._replace_content(data, old=old, found=found, fd=fd, folder=folder, for_good=True):
                    if self._was_changed_meanwhile(found, fd, folder=folder):
                        late = decode(disk.read_all(fd, limit=NOTE_MAX_BYTES))
                        save_removed(self._trash, note=self.path, removed=cut(late)[0])
                    return gone
        raise NoteUnwritable("{path} keeps being written by another program; try again.", path=self.path)

    def edit(self, old: str, new: str) -> WriteResult:
        """Replace one passage; see `Notes.edit`."""
        return self._apply_edit(partial(replace_passage, old=old, new=new))

    def correct(self, correction: LineCorrection) -> WriteResult:
        """Replace whole lines; the old ones are kept in the trash. Raises `EditRefused` if they have changed."""
        return self._apply_edit(partial(correct_lines, correction=correction))

    def insert(self, block: str, anchor: LineAnchor | None) -> WriteResult:
        """Put lines back where they were, or at the note's end if that place is gone. Raises `EditRefused`."""
        return self._apply_edit(partial(insert_lines, block=block, anchor=anchor))

    def _apply_edit(self, edit: "_EditMaker") -> WriteResult:
        for _ in range(TRIES):
            self._check_shared_lock()
            with self._open_folder() as folder:
                self._remove_drafts(folder)
                if written := self._edit_version(edit, folder=folder):
                    return written
        raise NoteUnwritable("{path} keeps being written by another program; try again.", path=self.path)

    def _plan_edit(self, edit: "_EditMaker", *, removes: bool = False) -> tuple[BeforeEdit, LineDiff]:
        self._check_shared_lock()
        data = self._read_existing()
        note = decode(data)
        done = edit(note, path=self.path)
        change = compare_lines(note.text, decode(done.data).text, starts_at=done.line_start)
        before = before_edit(
            data,
            done.data,
            removes=removes,
            line_start=done.line_start,
            line_end=done.line_end,
            offset=done.offset,
        )
        return before, change

    def _read_existing(self) -> bytes:
        with self._open_folder() as folder, self._open(folder) as fd:
            return read_one_version(fd, self.path)[1]

    def _append_or_find(
        self, block: str, *, title: str, at: str = "", before: BeforeAppend, begin: bool
    ) -> WriteResult | None:
        with translate_errors(self.path):
            for _ in range(TRIES):
                try:
                    with open_note_folder(self._place, create=begin) as folder:
                        self._remove_drafts(folder)
                        return append_block(
                            self._place,
                            block,
                            title=title,
                            at=at,
                            before=before,
                            begin=begin,
                            folder=folder,
                            shared=self._lock is not None,
                        )
                except NoteReplaced:
                    continue
                except (FileNotFoundError, NotADirectoryError):
                    if begin:
                        raise
                    return None
        raise NoteUnwritable("{path} keeps being replaced by another program; try again.", path=self.path)

    def _read_data(self) -> bytes:
        """Return the note's bytes; b"" if there is no such note."""
        with translate_errors(self.path):
            try:
                with open_note_folder(self._place) as folder, self._open(folder) as fd:
                    return disk.read_all(fd, limit=NOTE_MAX_BYTES + 1)
            except (FileNotFoundError, NotADirectoryError):
                return b""

    @contextmanager
    def _open_folder(self) -> Iterator[int]:
        """Open the note's folder. Raises `NoteMissing` if there is none."""
        with translate_errors(self.path):
            try:
                with open_note_folder(self._place) as folder:
                    yield folder
            except (FileNotFoundError, NotADirectoryError):
                raise note_missing(self.path) from None

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
                "{path} was not changed, since another instance might be writing to it: {reason}; try again.",
                path=self.path,
                reason=why,
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
            found, data = read_one_version(fd, place.path)
            change = edit(decode(data), path=place.path)
            if len(change.data) > NOTE_MAX_BYTES:
                raise NoteUnwritable(
                    "{path} would become larger than 16 MiB; write to another note.", path=place.path
                )
            kept = self._save_removed(change)
            try:
                done = self._replace_content(change.data, old=data, found=found, fd=fd, folder=folder)
            except BaseException:
                if kept and is_in_place(fd, place.name, folder=folder):
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
            anchor=change.removed_from,
            new_lines=change.new_lines,
        )

    def _was_changed_meanwhile(self, found: os.stat_result, fd: int, *, folder: int) -> bool:
        """Return whether another program wrote to the old file during the rename, so that its text would be lost."""
        return not disk.same_version(os.fstat(fd), found) and not is_in_place(
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
                        if not is_unchanged(found, place.name, folder=folder):
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
        if not is_unchanged(found, place.name, folder=folder):
            return False
        disk.overwrite(place.name, data, old=old, folder=folder)
        return True


def _draft_name(place: NotePath) -> str:
    return f".note-{zlib.crc32(place.name.encode()):08x}"
