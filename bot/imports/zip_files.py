"""Reads the files of a zip archive as streams, within bounds and without unpacking them to the disk."""

import lzma
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from bot.imports.errors import ImportFault
from memory.paths import format_path

MAX_FILES = 200_000
MAX_RATIO = 200
"""A file that is larger than this many times its size in the archive is refused; text reaches 30."""
SMALL_BYTES = 1_000_000
"""Smaller files may have any ratio."""
MANY_BYTES = 100_000_000
"""The same for all files together."""
_ENCRYPTED = 0x1
_READABLE = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
_BROKEN = (zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError)
_UNREADABLE = (*_BROKEN, NotImplementedError, RuntimeError, ValueError)


class ZipFiles:
    """The files of an archive. Methods raise ImportFault and OSError."""

    def __init__(self, path: Path) -> None:
        """Open the archive; `close` it afterwards."""
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except _UNREADABLE as error:
            raise ImportFault(f"{path.name} is a damaged archive; download it again") from error
        if fault := self._find_fault():
            self._archive.close()
            raise ImportFault(f"{path.name} {fault}")

    def _find_fault(self) -> str:
        files = self._archive.infolist()
        if len(files) > MAX_FILES:
            return f"contains more than {MAX_FILES:,} files; no export has that"
        # All together, since files of an archive may share their bytes.
        total = sum(each.file_size for each in files)
        if total > MANY_BYTES and total > MAX_RATIO * self.path.stat().st_size:
            return f"would unpack to more than {MAX_RATIO} times its size; no export does that"
        return ""

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()

    def files(self) -> Iterator[zipfile.ZipInfo]:
        """Yield the files, without folders and what a Mac puts beside them."""
        for each in self._archive.infolist():
            if not (each.is_dir() or each.filename.startswith("__MACOSX/")):
                yield each

    @contextmanager
    def open(self, file: zipfile.ZipInfo) -> Iterator[BinaryIO]:
        """Open a file. Raises ImportFault if it must not be read, and while it is read if it is damaged."""
        if fault := find_fault(file):
            raise ImportFault(f"{format_path(file.filename)} in {self.path.name} {fault}")
        damaged = f"{format_path(file.filename)} in {self.path.name} is damaged; download the archive again"
        try:
            stream = self._archive.open(file)
        except _UNREADABLE as error:
            raise ImportFault(damaged) from error
        try:
            with stream:
                yield cast(BinaryIO, stream)
        except _BROKEN as error:
            raise ImportFault(damaged) from error


def find_fault(file: zipfile.ZipInfo) -> str:
    """Return why a file of an archive must not be read; "" if it may."""
    if stat.S_ISLNK(file.external_attr >> 16):
        return "is a symbolic link"
    if file.flag_bits & _ENCRYPTED:
        return "is encrypted; unpack the archive with its password first"
    if file.compress_type not in _READABLE:
        return "is compressed in a way that can't be read; unpack the archive first"
    if file.file_size > SMALL_BYTES and file.file_size > MAX_RATIO * max(1, file.compress_size):
        return f"would unpack to more than {MAX_RATIO} times its size; no export does that"
    return ""
