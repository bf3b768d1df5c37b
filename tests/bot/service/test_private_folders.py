"""The folders that we make are for whoever runs us: on this machine others may have accounts."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.config.settings import Settings
from bot.service.startup import check_folders
from tests.fakes.commonplace import CommonplaceHere


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    """As most systems have it: what does not say otherwise can be read by everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    "command",
    [
        ("init",),
        ("chat", "-m", "Remember that the bicycle is blue"),
        ("memory", "write", "The bicycle is blue."),
        ("memory", "search", "bicycle"),
        ("restore", "backup.tar.gz"),
    ],
    ids=" ".join,
)
def test_a_new_workspace_is_for_nobody_else(tmp_path: Path, command: tuple[str, ...]) -> None:
    here, workspace = CommonplaceHere(tmp_path), tmp_path / "new" / "workspace"
    if command[0] == "restore":
        here.output_of("memory", "write", "The bicycle is blue.")
        here.output_of("backup", "backup.tar.gz")
    here.output_of("--workspace", str(workspace), *command)
    made = [path for path in (workspace, workspace / ".commonplace") if path.exists()]
    assert made
    assert [oct(mode(path)) for path in made] == ["0o700"] * len(made)


def test_the_service_makes_it_for_nobody_else_either(tmp_path: Path) -> None:
    settings = Settings(workspace=tmp_path / "new" / "workspace")
    check_folders(settings)
    assert mode(settings.workspace) == mode(settings.private_folder) == 0o700


def test_folders_that_were_there_stay_as_they_are(tmp_path: Path) -> None:
    settings = Settings(workspace=tmp_path / "workspace")
    settings.memory_folder.mkdir(parents=True)
    settings.private_folder.mkdir()
    check_folders(settings)
    assert mode(settings.workspace) == mode(settings.private_folder) == 0o755
