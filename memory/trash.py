"""What edits removed: one file each, whose name says when, from which note, and from where in it."""

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memory.charset import Decoded, decode
from memory.disk import opened_private, sync_folder, write_new
from memory.forgetting import Wanted
from memory.note_edits import LinePlace

_NAME_MAX_BYTES = 180
_STAMP = "%Y-%m-%dT%H-%M-%S.%fZ"
_WHOLE = ".note"
_RESTORED = ".restored"
_NAME = re.compile(
    r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{6}Z) "
    r"(?:(?P<kind>\.note|\.line-(?P<line>\d+)-(?P<above>[0-9a-f]{8}|top)) )?(?P<note>.+\.md|\.restored)",
    re.IGNORECASE,
)
"""No note's name begins with a dot, so that names written by earlier versions are told from those of today."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Something in the trash."""

    number: int
    """1 is the newest. What was put back keeps its number, so that the others do not change theirs."""
    file: str
    """Its name in the trash."""
    at: datetime
    """When it was removed, in UTC."""
    note: str
    """The path of the note that it was in; of an entry of an earlier version, with `--` for each `/`."""
    is_exact: bool
    """Whether that is the note's path to the letter."""
    is_whole: bool = False
    """Whether it is a whole note."""
    stood: LinePlace | None = None
    """Where its lines stood; None where that is not known."""
    is_restored: bool = False
    """Whether it was put back; then nothing of it is here any more."""


def keep_removed(folder: Path, *, note: str, removed: bytes, stood: LinePlace | None = None) -> Path:
    """Write `removed` under `folder`, durably. Raises OSError. `stood`: where, in the note; None for a whole note.

    The name is like `2026-11-21T14-30-02.123456Z .line-3-9ae0daaf trips%2Foslo.md`; of a path that is too long, the end
    is kept, with `--` for each `/`.
    """
    quoted = note.replace("%", "%25").replace("/", "%2F")
    kind = f".line-{stood.line}-{stood.above}" if stood else _WHOLE
    name = f"{kind} {quoted}"
    if len(quoted.encode()) > _NAME_MAX_BYTES:
        name = note.replace("/", "--").encode()[-_NAME_MAX_BYTES:].decode(errors="ignore")
    with opened_private(folder) as fd:
        while True:
            dated = f"{datetime.now(UTC):{_STAMP}} {name}"
            try:
                write_new(dated, removed, folder=fd)
            except FileExistsError:
                continue
            return folder / dated


def list_removed(folder: Path) -> Sequence[Removed]:
    """Return everything in the trash, newest first. Raises OSError."""
    names: dict[str, re.Match[str]] = {}
    try:
        files = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return ()
    for name in files:
        if (found := _NAME.fullmatch(name)) and (found["stamp"] not in names or found["note"] == _RESTORED):
            names[found["stamp"]] = found
    newest_first = sorted(names.values(), key=lambda found: found["stamp"], reverse=True)
    return [_removed(found, number) for number, found in enumerate(newest_first, start=1)]


def read_removed(folder: Path, file: str) -> str:
    """Return the text of something in the trash, with LF line ends. Raises OSError."""
    return decode((folder / file).read_bytes()).text


def note_of(removed: Removed, notes: Collection[str]) -> str:
    """Return the path of the note that something was removed from, as far as its name tells; `notes`: all there are."""
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
    """Remove from the trash what is in a note again; its number stays taken. Raises OSError."""
    stamp = file.partition(" ")[0]
    with opened_private(folder) as fd:
        with contextlib.suppress(FileExistsError):
            write_new(f"{stamp} {_RESTORED}", b"", folder=fd)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file, dir_fd=fd)
        sync_folder(fd)


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


def _removed(found: re.Match[str], number: int) -> Removed:
    kind, quoted = found["kind"], found["note"]
    at = datetime.strptime(found["stamp"], _STAMP).replace(tzinfo=UTC)
    note = quoted.replace("%2F", "/").replace("%25", "%") if kind else quoted
    stood = LinePlace(int(found["line"]), found["above"]) if found["line"] else None
    return Removed(
        number,
        found.string,
        at,
        "" if quoted == _RESTORED else note,
        is_exact=kind is not None,
        is_whole=kind == _WHOLE,
        stood=stood,
        is_restored=quoted == _RESTORED,
    )


def _holding(folder: Path, wanted: Wanted) -> Iterator[tuple[Path, Decoded]]:
    for path in sorted(folder.glob("*")):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            note = decode(path.read_bytes())
            if wanted.is_in(note.text):
                yield path, note
