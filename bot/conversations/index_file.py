"""The file with the index of conversations, beside the memory's own."""

from pathlib import Path

INDEX_NAME = "conversations.db"


def delete_index(private: Path) -> None:
    """Delete the index, with all that was said in it; the next search builds it again. Raises OSError."""
    for name in (INDEX_NAME, f"{INDEX_NAME}.new"):
        for suffix in ("", "-wal", "-shm", "-journal"):
            (private / f"{name}{suffix}").unlink(missing_ok=True)
