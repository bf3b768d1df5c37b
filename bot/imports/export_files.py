"""Finds the JSON files with conversations in what is imported: a file, an archive or a folder."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from bot.imports.errors import ImportFault
from bot.imports.formats import part_fields
from bot.imports.json_bytes import JsonBytes
from bot.imports.zip_files import ZipFiles
from memory import disk
from memory.paths import format_path

MAX_DEPTH = 4
"""Folders below the one that is imported in which JSON is looked for."""
MAX_CANDIDATES = 10_000
_SNIFFED_BYTES = 4_000_000
_ZIP_MARK = b"PK"


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A JSON file that may hold conversations."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[BinaryIO]]
    """Open it. Raises ImportFault and OSError, also while it is read."""


@contextmanager
def open_export(path: Path) -> Iterator[Sequence[ExportFile]]:
    """Yield the files with conversations, in the order of their names. Raises ImportFault."""
    with ExitStack() as stack:
        files = list[ExportFile]()
        try:
            for file in _find_candidates(path, stack):
                # A folder of notes may contain anything.
                with suppress(OSError) if path.is_dir() else nullcontext():
                    if has_conversations(file):
                        files.append(file)
        except OSError as error:
            raise ImportFault(f"{error.filename or path} can't be read: {disk.reason(error)}") from error
        yield sorted(files, key=lambda file: file.name)


def is_zip(path: Path) -> bool:
    """Return whether a file is an archive by its first bytes."""
    with _open_file(path) as file:
        return file.read(2) == _ZIP_MARK


def has_conversations(file: ExportFile) -> bool:
    """Return whether the file begins with a conversation with messages, or is a list that does."""
    import ijson

    known = part_fields()
    depth, item_depth, large = 0, 0, ""
    try:
        with file.open() as opened:
            events = ijson.basic_parse(JsonBytes(_Beginning(opened), name=file.name))
            for event, value in events:
                if event in {"start_map", "start_array"}:
                    depth += 1
                    item_depth = item_depth or (1 if event == "start_map" else 2)
                elif event in {"end_map", "end_array"}:
                    depth -= 1
                elif event == "map_key" and depth == item_depth:
                    large = value
                elif event == "map_key" and depth == item_depth + 2 and value in known.get(large, ()):
                    return True
    except (ijson.JSONError, UnicodeDecodeError, ImportFault):
        return False
    return False


class _Beginning:
    """The beginning of a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = _SNIFFED_BYTES

    def read(self, size: int) -> bytes:
        piece = self._file.read(min(size, self._left))
        self._left -= len(piece)
        return piece


def _find_candidates(path: Path, stack: ExitStack) -> Iterator[ExportFile]:
    if path.is_dir():
        for found in _walk(path, MAX_DEPTH):
            if found.suffix.lower() == ".json":
                yield _plain_file(found, str(found.relative_to(path)))
            elif found.suffix.lower() == ".zip":
                with suppress(ImportFault, OSError):
                    yield from _zipped_files(found, stack)
    elif is_zip(path):
        yield from _zipped_files(path, stack)
    else:
        yield _plain_file(path, path.name)


def _plain_file(path: Path, name: str) -> ExportFile:
    return ExportFile(format_path(name), path.stat().st_size, partial(_open_file, path))


def _zipped_files(path: Path, stack: ExitStack) -> Iterator[ExportFile]:
    archive = ZipFiles(path)
    stack.callback(archive.close)
    for file in archive.files():
        if file.filename.lower().endswith(".json"):
            name = format_path(f"{path.name}/{file.filename}")
            yield ExportFile(name, file.file_size, partial(archive.open, file))


def _open_file(path: Path) -> BinaryIO:
    return os.fdopen(_open_regular(path), "rb")


def _open_regular(path: Path) -> int:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return disk.open_file(path.name, os.O_RDONLY, folder=folder)
    finally:
        os.close(folder)


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files of a folder and those below it; no links, nothing hidden."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except PermissionError:
        return
    for entry in found[:MAX_CANDIDATES]:
        if entry.name.startswith("."):
            continue
        if entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), depth - 1)
