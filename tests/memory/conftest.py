import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.notes import Notes

NOBODY = 65534


@pytest.fixture
def nobody_path() -> Iterator[Path]:
    """A folder in which permissions apply: if run by root, the test runs as another user."""
    folder = Path(tempfile.mkdtemp(prefix="commonplace-test-"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, NOBODY, NOBODY)
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
            os.setegid(0)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of notes."""
    return tmp_path / "memory"


@pytest.fixture
def notes(folder: Path) -> Notes:
    return Notes(folder, private=folder.parent / ".commonplace")
