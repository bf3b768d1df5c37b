"""The identity of this instance, and what it remembers of others in `.commonplace/instance.json`."""

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
    """One process of the service, as the others see it."""

    name: str
    """The name that people see: the setting, or the host's name."""
    id: str
    """Unique to this process and never reused: a copied workspace on another host is a different holder."""
    workspace: str
    """Id of the workspace that it serves; stable over restarts."""


@dataclass(frozen=True, slots=True)
class _InstanceFile:
    """Content of the file."""

    workspace: str
    company: bool | None
    """Whether another instance was ever seen; None if not known yet."""


def load_instance(private: Path, *, name: str = "") -> Instance:
    """Return this process's identity; create the workspace's id in `private` (`.commonplace`) at the first start.

    Raises OSError if the file can be neither read nor written.
    """
    from socket import gethostname

    kept = _read(private)
    if kept is None:
        kept = _InstanceFile(token_hex(16), company=None)
        if os.path.lexists(private / INSTANCE_FILE):
            log.warning("%s is not valid; writing a new one with a new id", private / INSTANCE_FILE)
            _write(private, kept)
        else:
            kept = _write_first(private, kept)
    return Instance(name=name or gethostname() or "unnamed", id=token_hex(16), workspace=kept.workspace)


def workspace_id(private: Path) -> str:
    """Return the id of the workspace whose `.commonplace` this is, or "" if it has none. Never raises."""
    try:
        kept = _read(private)
    except OSError:
        return ""
    return kept.workspace if kept else ""


def known_peers(private: Path) -> bool | None:
    """Return whether this workspace ever saw another instance; None before its first contact with the server."""
    try:
        kept = _read(private)
    except OSError:
        return None
    return kept.company if kept else None


def remember_peers(private: Path, company: bool) -> None:
    """Record whether there are other instances; True is never reset. Raises OSError."""
    kept = _read(private)
    if kept and not kept.company and kept.company != company:
        _write(private, _InstanceFile(kept.workspace, company))


def _read(private: Path) -> _InstanceFile | None:
    """Return the file's content, or None if it is missing or invalid. Raises OSError."""
    try:
        with (private / INSTANCE_FILE).open("rb") as file:
            found = json.loads(file.read(MAX_FILE_BYTES))
    except FileNotFoundError:
        return None
    except ValueError:  # or not UTF-8
        return None
    match found:
        case {"id": str(workspace), "company": bool() | None as company} if _ID.fullmatch(workspace):
            return _InstanceFile(workspace, company)
    return None


def _write_first(private: Path, record: _InstanceFile) -> _InstanceFile:
    """Write the file unless another process was faster; return what it holds now."""
    with open_private_folder(private) as folder, _write_draft(record, folder) as draft:
        try:
            os.link(draft, INSTANCE_FILE, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:
            return _read(private) or record
        except PermissionError:  # a file system without hard links
            os.rename(draft, INSTANCE_FILE, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(folder)
    return record


def _write(private: Path, record: _InstanceFile) -> None:
    with open_private_folder(private) as folder, _write_draft(record, folder) as draft:
        os.rename(draft, INSTANCE_FILE, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(folder)


@contextmanager
def _write_draft(record: _InstanceFile, folder: int) -> Iterator[str]:
    """Write to a temporary name in the open folder; it is removed at the end unless the caller renamed it."""
    name = f"{INSTANCE_FILE}.{token_hex(4)}.new"
    text = json.dumps({"id": record.workspace, "company": record.company})
    write_new(name, f"{text}\n".encode(), folder=folder)
    try:
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
