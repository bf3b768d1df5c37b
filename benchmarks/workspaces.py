"""What the benchmarks share: the command as people call it, and a workspace filled with a folder of notes."""

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_INSTALLED = Path(sys.executable).with_name("commonplace")
COMMAND = [str(_INSTALLED)] if _INSTALLED.exists() else [sys.executable, "-m", "bot"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("COMMONPLACE_")}
ENVIRONMENT |= {"PYTHONPATH": str(ROOT)}


def make_workspace(folder: Path, notes: Path | None = None) -> Path:
    """A workspace in `folder`, with a copy of everything below `notes` as its memory."""
    if notes is None:
        (folder / "memory").mkdir(parents=True)
    else:
        # Not copytree's copystat: notes that cannot be written to would be copied as such.
        shutil.copytree(notes, folder / "memory", copy_function=shutil.copyfile)
        for path in (folder / "memory", *(folder / "memory").rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    return folder
