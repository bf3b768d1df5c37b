"""Forgotten lines in read-only folders: they stay in their files, but are neither found nor shown."""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from memory import disk
from memory.errors import NoteUnreadable
from memory.locks import lock_note
from memory.note_file import translate_errors

FILE = "hidden-lines.json"
MAX_BYTES = 64 * 1024 * 1024
_SALT_BYTES = 8
_EVERYWHERE = ""
"""Stands for the path of every note: a note that is moved, or has a second name, shows nothing forgotten."""

_Lines = Mapping[str, frozenset["LineDigest"]]
_NONE = frozenset["LineDigest"]()


@dataclass(frozen=True, slots=True)
class LineDigest:
    """A salted hash of a line, from which the line cannot be read."""

    salt: str
    """Hexadecimal, as `digest`."""
    digest: str

    @classmethod
    def of(cls, line: str, *, salt: str) -> "LineDigest":
        """Return the digest of a line; blanks around it do not count."""
        text = line.strip().encode("utf-8", "surrogatepass")
        return cls(salt, hashlib.blake2b(text, key=bytes.fromhex(salt), digest_size=16).hexdigest())


class HiddenLines:
    """The hidden lines of all notes. Methods may be called from any thread, and other processes may add lines.

    The file holds digests of the lines, not their text. If it is damaged, methods raise `NoteUnreadable`, so that
    nothing forgotten comes back unnoticed.
    """

    def __init__(self, private: Path) -> None:
        """The file lies in `private`; the first hidden line creates it."""
        self._private = private
        self._file = private / FILE
        self._lock = Lock()
        self._read_from: tuple[int, int, int] | None = None
        self._lines: _Lines = {}

    def marks(self) -> Mapping[str, int]:
        """Return the mark of each note with hidden lines."""
        return {path: _mark(lines) for path, lines in self._read().items() if path != _EVERYWHERE}

    def mark(self, path: str) -> int:
        """Return a number above 0 that changes when another line of the note is hidden; 0 if none is."""
        return _mark(self._read().get(path, _NONE))

    def counts(self) -> Mapping[str, int]:
        """Return the number of hidden lines of each note that has any."""
        return {path: len(lines) for path, lines in self._read().items() if path != _EVERYWHERE}

    def blank(self, path: str, text: str) -> str:
        """Return a note's text (LF line ends) with its hidden lines empty."""
        lines = self._read()
        hidden = lines.get(path, _NONE) | lines.get(_EVERYWHERE, _NONE)
        if not hidden:
            return text
        salts = {each.salt for each in hidden}

        def is_hidden(line: str) -> bool:
            return any(LineDigest.of(line, salt=salt) in hidden for salt in salts)

        return "\n".join("" if is_hidden(line) else line for line in text.split("\n"))

    def hide(self, path: str, lines: Iterable[str], *, everywhere: Iterable[str] = ()) -> None:
        """Hide these lines wherever they stand in the note, and those of `everywhere` in any note.

        Raises `NoteUnreadable`, `NoteUnwritable`.
        """
        wanted = {path: [*lines], _EVERYWHERE: [*everywhere]}

        def add(before: _Lines) -> _Lines:
            # One salt for all, since each salt costs a digest of every line that is read.
            salts = (each.salt for hidden in before.values() for each in hidden)
            salt = min(salts, default="") or os.urandom(_SALT_BYTES).hex()
            new = {
                at: frozenset(LineDigest.of(line, salt=salt) for line in texts if line.strip())
                for at, texts in wanted.items()
            }
            return _combine(before, {at: hidden for at, hidden in new.items() if hidden})

        self._change(add)

    def merge(self, file: Path) -> None:
        """Also hide the lines of another such file, such as a backup's. Raises `NoteUnwritable`."""
        new = read_hidden_lines(file)
        self._change(lambda before: _combine(before, new))

    def _change(self, change: Callable[[_Lines], _Lines]) -> None:
        with lock_note(self._private / "locks", FILE), translate_errors(FILE):
            lines = change(self._read())
            document = {
                path: sorted([each.salt, each.digest] for each in hidden)
                for path, hidden in sorted(lines.items())
            }
            draft = f"{FILE}.new"
            with disk.open_private_folder(self._private) as folder:
                (self._private / draft).unlink(missing_ok=True)
                disk.write_new(draft, json.dumps(document).encode() + b"\n", folder=folder)
                os.rename(draft, FILE, src_dir_fd=folder, dst_dir_fd=folder)
                disk.sync_folder(folder)

    def _read(self) -> _Lines:
        try:
            found = self._file.stat()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise NoteUnreadable(
                "{path} could not be read: {reason}.", path=self._file, reason=disk.reason(error)
            ) from error
        version = (found.st_ino, found.st_mtime_ns, found.st_size)
        with self._lock:
            if version != self._read_from:
                self._lines, self._read_from = read_hidden_lines(self._file), version
            return self._lines


def _mark(lines: Iterable[LineDigest]) -> int:
    digests = sorted(each.digest for each in lines)
    return 1 + zlib.crc32("".join(digests).encode()) if digests else 0


def _combine(one: _Lines, other: _Lines) -> _Lines:
    return {path: one.get(path, _NONE) | other.get(path, _NONE) for path in {*one, *other}}


def read_hidden_lines(file: Path) -> _Lines:
    """Return the hidden lines of each note by its path. Raises `NoteUnreadable`."""
    try:
        document = json.loads(file.read_bytes()[:MAX_BYTES])
        lines = {
            path: frozenset(LineDigest(salt, digest) for salt, digest in hidden)
            for path, hidden in document.items()
        }
        for each in frozenset[LineDigest]().union(*lines.values()):
            bytes.fromhex(each.salt + each.digest)
    except OSError as error:
        raise NoteUnreadable(
            "{path} could not be read: {reason}.", path=file, reason=disk.reason(error)
        ) from error
    except (ValueError, TypeError, AttributeError):
        raise NoteUnreadable(
            "{file} is damaged. It records what you asked me to forget in read-only folders: "
            "restore it from a backup. If you delete it, those lines will be found again.",
            file=file,
        ) from None
    return lines
