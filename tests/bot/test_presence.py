import os
import signal
import subprocess
import sys
from pathlib import Path

from bot.presence import Presence, others_alive

HOLDER = """
import sys
from pathlib import Path
from bot.presence import Presence
with Presence(Path(sys.argv[1])) as presence:
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
    with Presence(tmp_path) as presence:
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
    with Presence(tmp_path) as presence:
        assert not presence.is_alive("")
        assert not presence.is_alive("0123456789abcdef")


def test_others_are_alive_as_long_as_one_is(tmp_path: Path) -> None:
    assert not others_alive(tmp_path)
    with Presence(tmp_path):
        assert others_alive(tmp_path)
    assert not others_alive(tmp_path)


def test_two_that_look_at_the_same_time_do_not_take_each_other_for_the_owner(tmp_path: Path) -> None:
    with Presence(tmp_path) as first:
        pass
    (tmp_path / f"run-{first.token}.lock").touch()
    looker = os.open(tmp_path / f"run-{first.token}.lock", os.O_RDWR)
    import fcntl

    fcntl.flock(looker, fcntl.LOCK_SH)
    with Presence(tmp_path) as second:
        assert not second.is_alive(first.token)
    os.close(looker)
