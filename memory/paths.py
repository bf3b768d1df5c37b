"""Check the names in a note's path, resolve its links and open its folder without races."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memory.disk import make_private_folder
from memory.errors import PathRefused
from memory.normalization import normalize
from memory.note_folders import NoteFolder, NoteFolders
from memory.translatable import Translatable

PATH_MAX_CHARS = 4096
NAME_MAX_BYTES = 255

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?:\..*)?", re.IGNORECASE
)
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class NotePath:
    """A note's real location: `root` is its folder of notes without links, `parts` the path below it."""

    folder: NoteFolder
    root: str
    parts: tuple[str, ...]

    @property
    def path(self) -> str:
        """The note's path as results, tools and commands show it."""
        return self.folder.prefix + "/".join(self.parts)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.parts[-1]


def is_note_name(name: str) -> bool:
    """Return whether a file of this name is a note."""
    return name[-3:].lower() == ".md"


def format_path(path: str) -> str:
    """Make a path fit for one line of a message: printable and not too long."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path[:200])
    return f"{shown}…" if len(path) > 200 else shown


def find_name_fault(name: str) -> str:
    """Return what is wrong with one name of a path; "" if nothing is."""
    if not name:
        return Translatable("has an empty name in it")
    if name == "..":
        return Translatable("leads out of the memory folder")
    if name.startswith("."):
        return Translatable("has a hidden name in it; names that begin with a dot are not notes")
    if "\\" in name:
        return Translatable("has a backslash in it; folders are separated by /")
    if not name.isprintable():
        kinds = {unicodedata.category(c) for c in name}
        if "Cs" in kinds:
            return Translatable("is not valid UTF-8; rename it")
        if kinds & {"Cc", "Zl", "Zp"}:
            return Translatable("has a control character in it; rename it")
    if len(name.encode()) > NAME_MAX_BYTES:
        return Translatable("has a name of more than {most} bytes in it", most=NAME_MAX_BYTES)
    if _DRIVE.match(name):
        return Translatable("has a drive letter in it; rename it")
    if _DEVICE.fullmatch(name):
        return Translatable("has a name that Windows reserves for a device; rename it")
    return ""


def split_note_path(path: str) -> tuple[str, ...]:
    """Split a note's path into names. Raises `PathRefused` if it is not a plain relative path."""
    parts = _split_path(path)
    if not is_note_name(path):
        raise PathRefused("{path} is not a note; only .md files are.", path=format_path(path))
    return parts


def split_file_path(path: str) -> tuple[str, ...]:
    """Split the path of a file that is no note into names. Raises `PathRefused`."""
    parts = _split_path(path)
    if is_note_name(path):
        raise PathRefused("{path} is a note, not a file beside the notes.", path=format_path(path))
    return parts


def _split_path(path: str) -> tuple[str, ...]:
    asked = path
    if len(path) > PATH_MAX_CHARS:
        raise PathRefused(
            "{path} has {count:,} characters; a path has {most:,} at most.",
            path=format_path(asked),
            count=len(path),
            most=PATH_MAX_CHARS,
        )
    while path.startswith("./"):
        path = path[2:]
    if not path:
        raise PathRefused("The note's path is missing; give one such as MEMORY.md or trips/oslo.md.")
    if path.startswith("/"):
        raise PathRefused(
            "{path} is absolute; give the path within the memory folder.", path=format_path(asked)
        )
    parts = tuple(path.split("/"))
    for part in parts:
        if fault := find_name_fault(part):
            raise PathRefused("{path} {fault}.", path=format_path(asked), fault=fault)
    return parts


def resolve_note_path(folders: NoteFolders, path: str, *, existing: bool) -> NotePath:
    """Return the real location of `path`. Raises `PathRefused` if that is no note inside its folder.

    With `existing`, the memory folder's own name at the beginning (`memory/MEMORY.md`, as people and models
    copy it) is dropped if there is no note under the longer path.
    """
    parts = split_note_path(path)
    place = _locate(folders, parts)
    if (
        existing
        and len(parts) > 1
        and parts[0] == folders.own.path.name
        and not os.path.lexists(_join(place))
    ):
        place = _locate(folders, parts[1:])
    return _follow_links(place, path, split_note_path)


def resolve_file_path(folders: NoteFolders, path: str) -> NotePath:
    """Return the real location of a file beside the notes, such as a picture.

    Raises `PathRefused` if that is a note, hidden, or not inside its folder.
    """
    return _follow_links(_locate(folders, split_file_path(path)), path, split_file_path)


def resolve_folder_path(folders: NoteFolders, path: str) -> NotePath:
    """Return the place of a folder of notes ("" for the memory's own), whose file name is "". Raises `PathRefused`."""
    parts = _split_path(path) if path else ()
    return _locate(folders, (*parts, ""))


def _follow_links(place: NotePath, path: str, split: Callable[[str], tuple[str, ...]]) -> NotePath:
    """Return where a place really is, whose path was asked for as `path`. Raises `PathRefused`."""
    folder, joined = place.folder, _join(place)
    real = os.path.realpath(joined)
    if real != joined:
        if not real.startswith(f"{place.root}/"):
            raise PathRefused(
                "{path} leads out of the {folder} folder.",
                path=format_path(path),
                folder=folder.name or "memory",
            )
        inside = real[len(place.root) + 1 :]
        try:
            place = NotePath(folder, place.root, split(inside))
        except PathRefused as refused:
            if split is split_note_path:
                raise PathRefused(
                    "{path} is a link to a file that is not a note: {reason}",
                    path=format_path(path),
                    reason=refused,
                ) from None
            raise PathRefused(
                "{path} is a link to a file that is not a picture or the like: {reason}",
                path=format_path(path),
                reason=refused,
            ) from None
    if folder.excludes("/".join(place.parts)):
        raise PathRefused("{path} is left out by `exclude` under [[memory.folders]].", path=format_path(path))
    return place


def _locate(folders: NoteFolders, parts: tuple[str, ...]) -> NotePath:
    folder, below = folders.locate(parts)
    root = os.path.realpath(folder.path)
    return NotePath(folder, root, _spell_as_on_disk(root, below))


def _join(place: NotePath) -> str:
    return "/".join((place.root, *place.parts))


def _spell_as_on_disk(root: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Use the existing spelling (NFC, or NFD as on macOS) of each name."""
    found: list[str] = []
    for part in parts:
        name = part
        if not part.isascii() and not os.path.lexists("/".join((root, *found, part))):
            composed = normalize("NFC", part)
            try:
                names = [entry.name for entry in Path("/".join((root, *found))).iterdir()]
            except OSError:
                names = []
            twins = (n for n in names if not n.isascii() and normalize("NFC", n) == composed)
            name = min(twins, default=composed if len(composed.encode()) <= NAME_MAX_BYTES else part)
        found.append(name)
    return tuple(found)


@contextmanager
def open_note_folder(place: NotePath, *, create: bool = False) -> Iterator[int]:
    """Open the note's folder, name by name and following no link; yields its descriptor.

    A link that was put in the path after it was resolved is not followed. Another folder than the memory's own is
    never created: it may be mounted later. Raises OSError.
    """
    try:
        fd = os.open(place.root, _FOLDER_FLAGS)
    except FileNotFoundError:
        if not create or place.folder.name:
            raise
        make_private_folder(Path(place.root).parent)
        Path(place.root).mkdir(exist_ok=True)
        fd = os.open(place.root, _FOLDER_FLAGS)
    try:
        for name in place.parts[:-1]:
            try:
                deeper = os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=fd)
            except FileNotFoundError:
                if not create:
                    raise
                _make_folder(name, parent=fd)
                deeper = os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = deeper
        yield fd
    finally:
        os.close(fd)


def _make_folder(name: str, *, parent: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)
