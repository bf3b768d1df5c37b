"""File permissions and owners, as seen by this process."""

import os
from pathlib import Path


def has_access(path: Path, mode: int) -> bool:
    """Return whether this process's effective user has access; `mode`: os.R_OK, os.W_OK, os.X_OK."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def current_user() -> str:
    """Return the effective user of this process, by name or number."""
    return _user_name(os.geteuid())


def file_owner(path: Path) -> str:
    """Return the owner of a file, by name or number; "nobody" if there is no such file."""
    try:
        return _user_name(path.stat().st_uid)
    except OSError:
        return "nobody"


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
