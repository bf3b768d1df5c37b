import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.process_lock import AlreadyRunning, ProcessLock, hold_service_lock, is_workspace_open, service_pid

HOLDER = """
import sys
from pathlib import Path
from bot.process_lock import ProcessLock
with ProcessLock(Path(sys.argv[1])) as presence:
    print(presence.token, flush=True)
    sys.stdin.read()
"""


def test_a_process_that_lives_is_seen_and_one_that_was_killed_is_not(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    token = holder.stdout.readline().strip()
    with ProcessLock(tmp_path) as presence:
        assert presence.is_alive(token)
        assert presence.is_alive(token), "looking takes nothing away"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()
        assert not presence.is_alive(token)
        assert presence.is_alive(presence.token)
    assert list(tmp_path.iterdir()) == [], "nothing is left of either"


def test_nobody_and_one_that_was_never_there_are_not_alive(tmp_path: Path) -> None:
    with ProcessLock(tmp_path) as presence:
        assert not presence.is_alive("")
        assert not presence.is_alive("0123456789abcdef")


def test_others_are_alive_as_long_as_one_is(tmp_path: Path) -> None:
    assert not is_workspace_open(tmp_path)
    with ProcessLock(tmp_path):
        assert is_workspace_open(tmp_path)
    assert not is_workspace_open(tmp_path)


def test_two_that_look_at_the_same_time_do_not_take_each_other_for_the_owner(tmp_path: Path) -> None:
    with ProcessLock(tmp_path) as first:
        pass
    (tmp_path / f"run-{first.token}.lock").touch()
    looker = os.open(tmp_path / f"run-{first.token}.lock", os.O_RDWR)
    import fcntl

    fcntl.flock(looker, fcntl.LOCK_SH)
    with ProcessLock(tmp_path) as second:
        assert not second.is_alive(first.token)
    os.close(looker)


SERVICE = """
import sys
from pathlib import Path
from bot.process_lock import hold_service_lock
with hold_service_lock(Path(sys.argv[1]), shared=bool(sys.argv[2:])):
    print("serves", flush=True)
    sys.stdin.read()
"""


@contextmanager
def service(folder: Path, *how: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVICE, str(folder), *how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "serves\n"
        yield process
        process.kill()


def refusal(folder: Path, *, shared: bool = False) -> str:
    """Why one cannot serve there; "" where one can."""
    try:
        with hold_service_lock(folder, shared=shared):
            return ""
    except AlreadyRunning as refused:
        return str(refused)


def test_a_second_service_is_told_of_the_first_and_how_it_is_stopped(tmp_path: Path) -> None:
    with service(tmp_path) as first:
        assert refusal(tmp_path) == f"process {first.pid}: stop it (kill {first.pid})"
        assert refusal(tmp_path, shared=True), "not beside those that settle it between them either"
        first.kill()
        first.wait()
        assert refusal(tmp_path) == "", "what a crash leaves says nothing"


def test_services_that_settle_it_between_them_keep_off_one_that_does_not(tmp_path: Path) -> None:
    with service(tmp_path, "shared"), service(tmp_path, "shared"):
        assert refusal(tmp_path, shared=True) == ""
        assert "stop them" in refusal(tmp_path), "none is named that may be gone"
    assert refusal(tmp_path) == ""


def test_the_first_process_of_a_container_that_starts_again_does_not_take_itself_for_another(
    tmp_path: Path,
) -> None:
    note = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "pids": str(Path("/proc/self/ns/pid").readlink()),
    }
    (tmp_path / "service.lock").write_text(json.dumps(note))  # the same number in the same place, and dead
    assert refusal(tmp_path) == ""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("note", "told"),
    [
        ('{"pid": 1, "host": "0c5a\\u001b[31m", "pids": "pid:[7]"}', "process 1 on 0c5a: stop it there"),
        ('{"pid": 1, "host": "HERE", "pids": "pid:[7]"}', "process 1 on HERE: stop it there"),
        ("", "one or more processes"),
        ('{"pid": 1', "one or more processes"),
        ("[]", "one or more processes"),
    ],
)
def test_nobody_is_told_to_stop_a_process_of_that_number_elsewhere(
    tmp_path: Path, note: str, told: str
) -> None:
    here = socket.gethostname()
    with service(tmp_path):
        (tmp_path / "service.lock").write_text(note.replace("HERE", here))
        assert refusal(tmp_path).startswith(told.replace("HERE", here))
        assert "kill" not in refusal(tmp_path)


def test_the_service_of_a_workspace_is_known_by_its_process_as_long_as_it_lives(tmp_path: Path) -> None:
    assert service_pid(tmp_path) is None
    with hold_service_lock(tmp_path, shared=False):
        assert service_pid(tmp_path) == os.getpid()
    assert service_pid(tmp_path) is None, "the note stays, the lock is gone"
    with hold_service_lock(tmp_path, shared=True):
        assert service_pid(tmp_path) is None
