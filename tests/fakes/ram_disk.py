"""A folder in main memory: files are made and removed there in no time, and no commit waits for a disk."""

import os
import shutil
from pathlib import Path

_SHM = Path("/dev/shm")
_ROOM = 2 << 30
"""Far more than the tests ever take up at once."""


def ram_disk() -> Path | None:
    """A folder for what is soon removed; None where there is none, or little room, or nothing may be run from it."""
    try:
        roomy = shutil.disk_usage(_SHM).free > _ROOM
        return _SHM if roomy and os.access(_SHM, os.W_OK) and not _is_noexec(_SHM) else None
    except OSError:
        return None


def _is_noexec(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0))
