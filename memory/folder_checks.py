"""Check the settings of other folders of notes."""

import os
from collections.abc import Sequence
from pathlib import Path

from memory import document_paths
from memory.locks import name_key
from memory.normalization import normalize
from memory.note_folders import NoteFolder, NoteFolders
from memory.paths import find_name_fault, is_note_name

IMPORT_FOLDER = "imported"
"""Folder for imported notes whose own path is taken."""
RESERVED = (document_paths.FOLDER, IMPORT_FOLDER)
"""Folders that the assistant itself creates among the notes."""


def check_name(name: str) -> None:
    """Raise ValueError, with what the name must be, if it cannot be the name of a folder of notes."""
    usable = 'the name of a folder, such as "vault"'
    if "/" in name:
        raise ValueError(f"{usable}, without /")
    if fault := find_name_fault(name):
        raise ValueError(f"{usable}; this one {fault}")
    if is_note_name(name):
        raise ValueError(f"{usable}; only notes end in .md")
    if name != name.strip() or name != normalize("NFC", name):
        raise ValueError(f"{usable}, without spaces around it, in Unicode form NFC")
    if name_key(name) in RESERVED:
        raise ValueError(f"{usable}; I use {name}/ myself")


def check_names(folders: Sequence[tuple[str, str]], *, own: str) -> None:
    """Raise ValueError, with what they must be, if names of folders are invalid or clash.

    `folders`: name and path of each. `own` is the name of the memory's own folder, which people and models write before
    a path.
    """
    paths = dict[str, str]()
    for name, path in folders:
        check_name(name)
        if name_key(name) == name_key(own):
            raise ValueError(
                f"folders whose names differ from that of your notes' own folder, {own}; set `name`"
            )
        if other := paths.get(name_key(name)):
            raise ValueError(
                f"folders with different names, but {other} and {path} are both {name}; set `name`"
            )
        paths[name_key(name)] = path


def check_patterns(patterns: Sequence[str]) -> None:
    """Raise ValueError, with what they must be, if a pattern is invalid."""
    for pattern in patterns:
        try:
            NoteFolder(Path(), exclude=(pattern,)).excludes("x")
        except ValueError:
            raise ValueError(f"patterns as in a .gitignore file; {pattern!r} is not one") from None


def find_conflict(folders: NoteFolders, *, private: Path) -> str:
    """Return why these folders cannot be used together, in one line; "" if they can.

    `private` holds the index and other files of ours. Reads the disk.
    """
    own = os.path.realpath(folders.own.path)
    taken = [(own, "the folder of your notes"), (os.path.realpath(private), "the folder of the index")]
    for folder in folders.others:
        root = os.path.realpath(folder.path)
        for other, what in taken:
            if _is_inside(root, other) or _is_inside(other, root):
                return f"{folder.path} overlaps {what}, {other}; choose another folder"
        taken.append((root, f"the folder {folder.name}"))
        if here := _find_entry(folders.own.path, folder.name):
            return (
                f'your notes already have a folder "{folder.name}", {here}; choose another `name`, or move it'
            )
    return ""


def _find_entry(folder: Path, name: str) -> Path | None:
    """Return what has this name in a folder, in either spelling of its accents; None if nothing has."""
    spellings = (folder / normalize("NFC", name), folder / normalize("NFD", name))
    return next(filter(os.path.lexists, spellings), None)


def _is_inside(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")
