"""One import or undo at a time in a workspace."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.imports.errors import ImportFault
from bot.process_lock import hold_if_free


@contextmanager
def hold_import_lock(private: Path) -> Iterator[None]:
    """Hold the lock, which ends with the process. Raises ImportFault and OSError."""
    with hold_if_free(private / "locks" / "import.lock") as is_ours:
        if not is_ours:
            raise ImportFault("another import is running here; try again when it is done")
        yield
