"""Append a block to a note's file, or find that it was appended before a crash."""

import os
import time

from memory import disk
from memory.charset import decode
from memory.errors import NoteUnwritable
from memory.locks import lock_file
from memory.note_file import NOTE_MAX_BYTES, is_in_place, is_recent, is_unchanged
from memory.paths import NotePath
from memory.write_recovery import BeforeAppend, find_block, find_missing_rest, make_addition
from memory.write_result import WriteResult, locate_block


class NoteReplaced(Exception):
    """An editor replaced the note's file while it was being written to."""


def append_block(
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

    Raises `NoteReplaced` if an editor replaced the file, which may contain the block already.
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
            raise NoteReplaced from None
        created = True
    try:
        if shared:
            lock_file(fd, place.path)
            if not is_in_place(fd, place.name, folder=folder):
                raise NoteReplaced
        found = os.fstat(fd)
        if not (created or found.st_size) and is_recent(found):
            # An editor may have emptied the file to rewrite it, and would overwrite what we add now.
            time.sleep(0.05)
            if not is_unchanged(found, place.name, folder=folder):
                raise NoteReplaced
        data = disk.read_all(fd, limit=NOTE_MAX_BYTES)
        rest = find_missing_rest(data, block, before, title=title, at=at)
        if not rest:
            note = decode(data)
            standing = find_block(note.text, block)
            if len(standing) > before.count:
                return locate_block(place.path, note, standing[-1], block)
            if not begin:
                return None
            rest = b"".join(make_addition(data, block, title=title, at=at))
        if found.st_size + len(rest) > NOTE_MAX_BYTES:
            raise NoteUnwritable(
                "{path} would become larger than 16 MiB; write to another note.", path=place.path
            )
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
        stands_there = is_in_place(fd, place.name, folder=folder)
        whole = disk.read_all(fd, limit=start + len(rest))
        if not (stands_there and whole.endswith(rest)):
            raise NoteReplaced
    finally:
        os.close(fd)
    note = decode(whole)
    last = note.text.count("\n")
    offset = len(whole) - len(note.encode(f"{block}\n".replace("\n", note.line_end)))
    return WriteResult(place.path, last - block.count("\n"), last, offset)
