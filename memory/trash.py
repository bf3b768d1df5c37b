"""What an edit removed: kept, one file each, under a name that tells when and from which note."""

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from memory.charset import Decoded, decode
from memory.disk import opened_private, sync_folder, write_new
from memory.forgetting import Wanted

_NAME_MAX_BYTES = 180


def keep_removed(folder: Path, *, note: str, removed: bytes) -> Path:
    """Write `removed` under `folder`, durably. Raises OSError.

    The name is like `2026-11-21T14-30-02.123456Z trips--oslo.md`.
    """
    name = note.replace("/", "--").encode()[-_NAME_MAX_BYTES:].decode(errors="ignore")
    with opened_private(folder) as fd:
        while True:
            dated = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%fZ} {name}"
            try:
                write_new(dated, removed, folder=fd)
            except FileExistsError:
                continue
            return folder / dated


def kept_with(folder: Path, wanted: Wanted) -> int:
    """How many of the files hold what is to be forgotten. Raises OSError."""
    return sum(1 for _ in _holding(folder, wanted))


def forget_kept(folder: Path, wanted: Wanted) -> int:
    """Remove what is to be forgotten from the files, and those of which nothing is left; tells from how many."""
    found = list(_holding(folder, wanted))
    if found:
        with opened_private(folder) as fd:
            for path, note in found:
                rest = wanted.without(note.text)
                if rest.strip() and not wanted.is_in(rest):
                    new = f"{path.name}.new"
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(new, dir_fd=fd)
                    write_new(new, note.mark + note.encode(rest), folder=fd)
                    os.rename(new, path.name, src_dir_fd=fd, dst_dir_fd=fd)
                else:
                    os.unlink(path.name, dir_fd=fd)
            sync_folder(fd)
    return len(found)


def _holding(folder: Path, wanted: Wanted) -> Iterator[tuple[Path, Decoded]]:
    for path in sorted(folder.glob("*")):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            note = decode(path.read_bytes())
            if wanted.is_in(note.text):
                yield path, note
