"""What this process may do with a file, and whose it is."""

import os
from pathlib import Path


def has_access(path: Path, mode: int) -> bool:
    """Whether this process may do so, as the user that it acts as; `mode` of os.R_OK, os.W_OK, os.X_OK."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def current_user() -> str:
    """The user that this process acts as, by name or number."""
    return _user_name(os.geteuid())


def file_owner(path: Path) -> str:
    """Whose a file is, by name or number; "nobody" where there is none."""
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
