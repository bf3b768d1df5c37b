"""A folder in main memory, where files are fast and commits do not wait for a disk."""

import os
import shutil
from pathlib import Path

_SHM = Path("/dev/shm")
_ROOM = 2 << 30
"""Far more than the tests ever need at once."""


def ram_disk() -> Path | None:
    """Return a folder for temporary files; None if there is none, too little space, or programs cannot run in it."""
    try:
        roomy = shutil.disk_usage(_SHM).free > _ROOM
        return _SHM if roomy and os.access(_SHM, os.W_OK) and not _is_noexec(_SHM) else None
    except OSError:
        return None


def _is_noexec(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0))
