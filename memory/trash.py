"""What an edit removed: kept, one file each, under a name that tells when and from which note."""

from datetime import UTC, datetime
from pathlib import Path

from memory.disk import opened_private, write_new

_NAME_MAX_BYTES = 180


def keep_removed(folder: Path, *, note: str, removed: bytes) -> Path:
    """Write `removed` under `folder`, durably. Raises OSError.

    The name is like `2026-11-21T14-30-02.123456Z trips--oslo.md`.
    """
    name = note.replace("/", "--").encode()[-_NAME_MAX_BYTES:].decode(errors="ignore")
    with opened_private(folder) as fd:
        while True:
            dated = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%fZ} {name}"
            try:
                write_new(dated, removed, folder=fd)
            except FileExistsError:
                continue
            return folder / dated
