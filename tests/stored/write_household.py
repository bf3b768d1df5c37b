"""Write a household's workspace, as the code beside it stores it, and what the program tells of it: FOLDER.

`PYTHONPATH=. python tests/stored/write_household.py tests/stored/format_28` wrote the folder of that name. A release
with another format of state.db writes another one beside it; the older ones stay as they are.
"""

import asyncio
import gzip
import json
import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.fakes.turns import NOW
from tests.stored.household import live, read

WORKSPACE, ARCHIVE, READINGS = "workspace", "workspace.tar.gz", "readings.json"


def main(folder: Path) -> None:
    """Write `folder`/workspace.tar.gz and `folder`/readings.json; the latter from a copy, which reading changes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        workspace, copy = Path(name, WORKSPACE), Path(name, "copy")
        asyncio.run(live(workspace))
        for folder_of_processes in ("locks", "tmp"):
            shutil.rmtree(workspace / ".commonplace" / folder_of_processes)
        for file in workspace.rglob("*"):
            os.utime(file, (NOW.timestamp(),) * 2)
        shutil.copytree(workspace, copy)
        readings = asyncio.run(read(copy))
        pack(workspace, folder / ARCHIVE)
    text = json.dumps(readings, ensure_ascii=False, indent=1)
    (folder / READINGS).write_text(f"{text}\n", "utf-8")


def pack(workspace: Path, archive: Path) -> None:
    """Pack a workspace so that the same files give the same bytes."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime, member.uid, member.gid = int(NOW.timestamp()), 0, 0
        member.uname = member.gname = ""
        return member

    with (
        archive.open("wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w:", format=tarfile.PAX_FORMAT) as tar,
    ):
        tar.add(workspace, workspace.name, filter=plain)


def unpack(folder: Path, target: Path) -> Path:
    """Unpack the workspace of a stored folder into `target`; return the workspace."""
    with tarfile.open(folder / ARCHIVE) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 and later
        tar.extractall(target)
    return target / WORKSPACE


if __name__ == "__main__":
    main(Path(sys.argv[1]))
