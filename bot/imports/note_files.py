"""Finds the Markdown in what is imported, a file, an archive or a folder, and reads it within bounds."""

import hashlib
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bot.imports.errors import ImportFault
from bot.imports.zip_files import ZipFiles, find_fault
from memory.charset import decode
from memory.errors import MemoryFault
from memory.locks import name_key
from memory.note_file import NOTE_MAX_BYTES
from memory.notes import Notes
from memory.paths import format_path, is_note_name, split_note_path

MAX_NOTES = 100_000
_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""Of UTF-16 and UTF-32, in which text has zeros."""


@dataclass(frozen=True, slots=True)
class SourceNote:
    """A note as it is imported."""

    text: str
    """With LF line ends."""
    digest: str
    """SHA-256 of its bytes, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class FoundNotes:
    """The Markdown files, and what was left out."""

    paths: Sequence[str]
    """Relative, in order."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Paths, and why they are not imported."""


class NoteFiles(Protocol):
    """Where notes are imported from."""

    def find(self) -> FoundNotes:
        """Return all files. Raises ImportFault."""
        ...

    def load(self, path: str) -> SourceNote:
        """Read one of them. Raises ImportFault, whose text says only why."""
        ...


@contextmanager
def open_note_files(path: Path) -> Iterator[NoteFiles]:
    """Yield the Markdown of a file, an archive or a folder. Raises ImportFault and OSError."""
    if path.is_dir():
        yield FolderNotes(path)
    elif is_note_name(path.name):
        yield FolderNotes(path.parent, only=path.name)
    else:
        archive = ZipFiles(path)
        try:
            yield ZipNotes(archive)
        finally:
            archive.close()


class FolderNotes:
    """The Markdown in a folder; no link leads out of it, and nothing hidden is read."""

    def __init__(self, folder: Path, *, only: str = "") -> None:
        """`only`: the name of the one file that is meant."""
        self.folder = folder
        self._only = only
        self._notes = Notes(folder, private=folder / ".commonplace")  # it is only read

    def find(self) -> FoundNotes:
        """Return all files. Raises ImportFault."""
        listing = self._notes.walk()
        if len(listing.notes) > MAX_NOTES:
            raise ImportFault(f"{self.folder} contains more than {MAX_NOTES:,} notes")
        paths = sorted(note.path for note in listing.notes)
        if self._only:
            return FoundNotes([path for path in paths if path == self._only])
        refused = [(problem.path, problem.reason) for problem in listing.problems]
        refused += [(format_path(path), "it is not Markdown") for path in _find_others(self.folder)]
        return FoundNotes(paths, refused)

    def load(self, path: str) -> SourceNote:
        """Read one of them. Raises ImportFault."""
        try:
            note = self._notes.load(path)
        except MemoryFault as fault:
            raise ImportFault(str(fault)) from fault
        if note.encoding.startswith(("utf-8", "windows")) and "\0" in note.text:
            raise ImportFault("it is not text")
        return SourceNote(note.text, note.digest)


class ZipNotes:
    """The Markdown in an archive, from the folder that contains all of it."""

    def __init__(self, archive: ZipFiles) -> None:
        self._archive = archive
        self._files: dict[str, zipfile.ZipInfo] = {}

    def find(self) -> FoundNotes:
        """Return all files. Raises ImportFault."""
        refused = list[tuple[str, str]]()
        files = list(self._archive.files())
        notes = [file for file in files if is_note_name(file.filename)]
        if len(notes) > MAX_NOTES:
            raise ImportFault(f"{self._archive.path.name} contains more than {MAX_NOTES:,} notes")
        top = _common_folder([file.filename for file in notes])
        seen = set[str]()
        for file in files:
            path = file.filename.removeprefix(top)
            if fault := _find_zip_fault(file, path, seen):
                refused.append((format_path(path), fault))
            else:
                seen.add(name_key(path))
                self._files[path] = file
        return FoundNotes(sorted(self._files), refused)

    def load(self, path: str) -> SourceNote:
        """Read one of them. Raises ImportFault."""
        with self._archive.open(self._files[path]) as stream:
            data = stream.read(NOTE_MAX_BYTES + 1)
        if len(data) > NOTE_MAX_BYTES:
            raise ImportFault("it is larger than 16 MiB")
        if b"\0" in data and not data.startswith(_MARKS) and not data.startswith(b"\0\0\xfe\xff"):
            raise ImportFault("it is not text")
        return SourceNote(decode(data).text, hashlib.sha256(data).hexdigest())


def _find_zip_fault(file: zipfile.ZipInfo, path: str, seen: set[str]) -> str:
    if not is_note_name(path):
        return "it is not Markdown"
    try:
        split_note_path(path)
    except MemoryFault as refused:
        return str(refused)
    if fault := find_fault(file):
        return f"it {fault}"
    if file.file_size > NOTE_MAX_BYTES:
        return "it is larger than 16 MiB"
    return "another file has the same name" if name_key(path) in seen else ""


def _common_folder(names: Sequence[str]) -> str:
    """Return the one folder that contains all files, with its slash; "" if there is none."""
    tops = {name.partition("/")[0] for name in names if not name.startswith("/")}
    top = f"{tops.pop()}/" if len(tops) == 1 else ""
    return top if top and all(name.startswith(top) for name in names) and not top.startswith(".") else ""


def _find_others(folder: Path) -> Iterator[str]:
    """Yield the paths of visible files that are no Markdown."""
    for home, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if not (name.startswith(".") or is_note_name(name)):
                yield os.path.relpath(os.path.join(home, name), folder)  # noqa: PTH118
