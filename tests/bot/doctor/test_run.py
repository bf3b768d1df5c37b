import asyncio
import tempfile
import threading
from pathlib import Path

import pytest

from bot.daemon_thread import run_in_daemon
from bot.doctor.check import Check, Topic, run_with_timeout
from bot.doctor.run import run_checks
from bot.process_lock import ProcessLock, is_workspace_open
from tests.bot.doctor.sample_state import as_nobody, find_check, with_workspace


async def test_a_check_that_breaks_or_takes_too_long_is_a_line_of_its_own() -> None:
    async def broken() -> list[Check]:
        raise ValueError("a bug")

    async def refused() -> list[Check]:
        raise PermissionError(13, "Permission denied", "/x")

    async def slow() -> list[Check]:
        await asyncio.sleep(60)
        return []

    [check] = await run_with_timeout(Topic("x"), broken(), seconds=5)
    assert (check.topic, check.status, check.detail) == ("x", "fail", "this check crashed: ValueError: a bug")
    [check] = await run_with_timeout(Topic("x"), refused(), seconds=5)
    assert check.detail.startswith("permission denied")
    assert check.detail.endswith("(/x)")
    [check] = await run_with_timeout(Topic("x"), slow(), seconds=0.01)
    assert (check.name, check.status, check.detail) == ("time", "warn", "it took more than 0.01 s")
    [check] = await run_with_timeout(Topic("x"), slow(), name="mine", seconds=0.01)
    assert check.name == "mine"


async def test_a_disk_that_does_not_answer_is_not_waited_for() -> None:
    answers, answered = threading.Event(), threading.Event()

    def ask() -> None:
        answers.wait(60)
        answered.set()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await run_in_daemon(ask, name="test")
    assert not answered.is_set()
    answers.set()
    with pytest.raises(FileNotFoundError):
        await run_in_daemon(Path("/nowhere").stat, name="test")


async def test_a_workspace_that_is_closed_to_us_is_told_and_all_else_too() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        settings = with_workspace(Path(name), "[server]\nenabled = false\n")
        (settings.private_folder / "state.db").write_bytes(b"")
        settings.workspace.chmod(0)
        try:
            with as_nobody():
                checks = await run_checks(settings, {})
        finally:
            settings.workspace.chmod(0o755)
    assert "bug" not in {check.name for check in checks}
    failed = {(check.topic, check.name) for check in checks if check.status == "fail"}
    assert ("folders", "workspace") in failed
    assert find_check([check for check in checks if check.topic == "speech"], "provider").status == "ok"


async def test_who_has_the_workspace_open_is_seen_and_what_the_dead_have_left_stays(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path, "[server]\nenabled = false\n")
    locks = settings.private_folder / "locks"
    with ProcessLock(locks):
        running = find_check(await run_checks(settings, {}), "running")
        assert running.detail == "Commonplace has this workspace open"
    dead = locks / "run-0123456789abcdef.lock"
    dead.write_bytes(b"")
    assert find_check(await run_checks(settings, {}), "running").detail == "not running"
    assert dead.exists()
    assert not is_workspace_open(locks)
    assert not dead.exists()
