"""Who this instance is to the others, and what it remembers of them in `.commonplace/instance.json`."""

import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from memory.disk import open_private_folder, sync_folder, write_new

INSTANCE_FILE = "instance.json"
MAX_FILE_BYTES = 4096
_ID = re.compile(r"[0-9a-f]{32}")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Instance:
    """One process of the service."""

    name: str
    """What people call it: the setting, or the host's name."""
    id: str
    """Of this process alone, and never again: a copy of a workspace on another host is another holder."""
    workspace: str
    """Which workspace it serves; stays over restarts."""


@dataclass(frozen=True, slots=True)
class _InstanceFile:
    """What the file holds."""

    workspace: str
    company: bool | None
    """None: not known yet."""


def load_instance(private: Path, *, name: str = "") -> Instance:
    """Say who we are; `private` is the workspace's `.commonplace`, where the id is made at the first time.

    Raises OSError where that can be neither read nor written.
    """
    from socket import gethostname

    kept = _read(private)
    if kept is None:
        kept = _InstanceFile(token_hex(16), company=None)
        if os.path.lexists(private / INSTANCE_FILE):
            log.warning("%s cannot be understood: it is made anew, with another id", private / INSTANCE_FILE)
            _write(private, kept)
        else:
            kept = _write_first(private, kept)
    return Instance(name=name or gethostname() or "unnamed", id=token_hex(16), workspace=kept.workspace)


def workspace_id(private: Path) -> str:
    """The id of the workspace whose `.commonplace` this is, ours or another's; "" where it has none. Never raises."""
    try:
        kept = _read(private)
    except OSError:
        return ""
    return kept.workspace if kept else ""


def known_peers(private: Path) -> bool | None:
    """Whether this workspace ever saw another instance beside its own; None before it has met the server once."""
    try:
        kept = _read(private)
    except OSError:
        return None
    return kept.company if kept else None


def remember_peers(private: Path, company: bool) -> None:
    """Note whether there is another instance; that there was one is never forgotten. Raises OSError."""
    kept = _read(private)
    if kept and not kept.company and kept.company != company:
        _write(private, _InstanceFile(kept.workspace, company))


def _read(private: Path) -> _InstanceFile | None:
    """What is kept; None where there is nothing, or nothing that can be understood. Raises OSError."""
    try:
        with (private / INSTANCE_FILE).open("rb") as file:
            found = json.loads(file.read(MAX_FILE_BYTES))
    except FileNotFoundError:
        return None
    except ValueError:  # also what is no UTF-8
        return None
    match found:
        case {"id": str(workspace), "company": bool() | None as company} if _ID.fullmatch(workspace):
            return _InstanceFile(workspace, company)
    return None


def _write_first(private: Path, kept: _InstanceFile) -> _InstanceFile:
    """Write it unless another process was quicker; give what is there then."""
    with open_private_folder(private) as folder, _write_draft(kept, folder) as draft:
        try:
            os.link(draft, INSTANCE_FILE, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:
            return _read(private) or kept
        except PermissionError:  # a file system without links
            os.rename(draft, INSTANCE_FILE, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(folder)
    return kept


def _write(private: Path, kept: _InstanceFile) -> None:
    with open_private_folder(private) as folder, _write_draft(kept, folder) as draft:
        os.rename(draft, INSTANCE_FILE, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(folder)


@contextmanager
def _write_draft(kept: _InstanceFile, folder: int) -> Iterator[str]:
    """Write it under a name of its own in the open folder; gone at the end, unless it was renamed."""
    name = f"{INSTANCE_FILE}.{token_hex(4)}.new"
    text = json.dumps({"id": kept.workspace, "company": kept.company})
    write_new(name, f"{text}\n".encode(), folder=folder)
    try:
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
