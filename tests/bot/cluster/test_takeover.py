"""Who stands in for a dead instance: real processes, begun, started over and ended."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bot.cluster import takeover
from bot.cluster.instance import load_instance
from bot.cluster.lease import Lease
from bot.cluster.lease_table import LeaseRow
from bot.cluster.membership import foreign_notes_problem
from bot.cluster.takeover import Takeovers, takeover_command
from bot.supervisor import Supervisor

STAYS = "import os, sys; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n'); sys.stdin.read()"
TELLS = (
    "import json, os, sys; open(sys.argv[1] + '.new', 'w').write(json.dumps(dict(os.environ))); "
    "os.rename(sys.argv[1] + '.new', sys.argv[1]); sys.stdin.read()"
)
FAILS = "import os, sys; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n'); sys.exit(3)"


async def never(_: Lease) -> None:
    raise AssertionError


def seen(lease: Lease, *, workspace: str, holder: str, free: bool) -> None:
    row = LeaseRow(
        name=lease.name,
        holder=holder,
        holder_name=holder,
        workspace=workspace,
        token=1,
        beat=1,
        strict=True,
        since=None,
        until=None,
        expired=free,
        renewed=False,
        wanted=False,
        company=True,
        clock=0.0,
    )
    lease.update(row, free=free)


class Other:
    """The workspace of an instance that has died, and what its stand-ins have left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "theirs"
        (self.folder / ".commonplace").mkdir(parents=True)
        self.workspace = load_instance(self.folder / ".commonplace").workspace
        self.file = folder / "pids"
        self.lease = Lease("channel", holder_name="us", give_up=never)
        self.wanted: list[str] = []

    def free(self) -> None:
        seen(self.lease, workspace=self.workspace, holder="them", free=True)

    def stand_ins(
        self,
        script: str,
        *,
        notes: Callable[[Path], str] = lambda _: "",
        supervisor: Supervisor | None = None,
    ) -> Takeovers:
        def command(folder: Path) -> Sequence[str]:
            assert folder == self.folder
            return [sys.executable, "-c", script, str(self.file)]

        made = Takeovers(
            [self.folder],
            name="us",
            command=command,
            want=self.wanted.append,
            notes=notes,
            supervisor=supervisor,
        )
        made.serve_if_known(self.lease)
        return made

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self.file.read_text().split()] if self.file.exists() else []


@pytest.fixture
def other(tmp_path: Path) -> Other:
    return Other(tmp_path)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(takeover, "POLL_SECONDS", 0.02)


async def until(found: Callable[[], object], *, seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if found():
                return
            await asyncio.sleep(0.02)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_it_is_begun_once_the_lease_is_free_and_ended_with_us(other: Other) -> None:
    seen(other.lease, workspace=other.workspace, holder="them", free=False)
    async with other.stand_ins(STAYS) as stand_ins:
        await until(lambda: other.wanted)
        await asyncio.sleep(0.2)
        assert other.pids == []
        other.free()
        assert stand_ins.is_left_to_takeover(other.lease)
        await until(lambda: other.pids)
        seen(other.lease, workspace=other.workspace, holder="us for theirs", free=False)
        await asyncio.sleep(0.2)
        (pid,) = other.pids
        assert lives(pid)
        assert stand_ins.served_folder(other.lease) == other.folder
        seen(other.lease, workspace=other.workspace, holder="them", free=False)
        assert stand_ins.served_folder(other.lease) is None, "they are back"
    assert not lives(pid)
    assert not stand_ins.is_left_to_takeover(other.lease)
    assert set(other.wanted) == {other.workspace}


async def test_it_is_told_our_settings_and_can_import_what_we_can(
    other: Other, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "123:abc")
    monkeypatch.syspath_prepend(str(tmp_path / "beside"))
    other.free()
    async with other.stand_ins(TELLS):
        await until(other.file.exists)
    environment = json.loads(other.file.read_text())
    assert environment["TELEGRAM_BOT_TOKEN"] == "123:abc"
    assert environment["COMMONPLACE_INSTANCE__NAME"] == "us for theirs"
    assert environment["PYTHONPATH"].split(os.pathsep) == list(filter(None, sys.path))


@pytest.mark.thorough
async def test_looking_after_them_that_fails_is_reported_and_goes_on(other: Other) -> None:
    asked = 0

    def notes(folder: Path) -> str:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        return ""

    supervisor = Supervisor(pauses=(0.2,))
    other.free()
    async with other.stand_ins(STAYS, notes=notes, supervisor=supervisor):
        await until(lambda: [each.name for each in supervisor.failures] == ["stand-ins"])
        assert other.pids == []
        await until(lambda: other.pids)


async def test_it_is_begun_anew_where_it_dies_and_left_be_after_three_failures(other: Other) -> None:
    other.free()
    async with other.stand_ins(FAILS) as stand_ins:
        assert stand_ins.is_left_to_takeover(other.lease)
        await until(lambda: not stand_ins.is_left_to_takeover(other.lease))
        assert len(other.pids) == 3
        await asyncio.sleep(0.3)
        assert len(other.pids) == 3


async def test_a_lease_that_another_workspace_had_is_not_left_to_it(other: Other) -> None:
    seen(other.lease, workspace="0" * 32, holder="somebody", free=True)
    async with other.stand_ins(STAYS) as stand_ins:
        await asyncio.sleep(0.2)
        assert not stand_ins.is_left_to_takeover(other.lease)
        assert other.pids == []


async def test_nobody_stands_in_where_the_notes_are_not_those_that_are_shared(
    other: Other, caplog: pytest.LogCaptureFixture
) -> None:
    other.free()
    async with other.stand_ins(STAYS, notes=lambda _: "other notes") as stand_ins:
        await until(lambda: not stand_ins.is_left_to_takeover(other.lease))
    assert other.pids == []
    assert "other notes" in caplog.text


@pytest.mark.thorough
async def test_one_that_is_not_needed_any_more_is_ended(
    other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takeover, "UNNEEDED_SECONDS", 0.3)
    other.free()
    async with other.stand_ins(STAYS):
        await until(lambda: other.pids)
        seen(other.lease, workspace=other.workspace, holder="them", free=False)
        await until(lambda: not lives(other.pids[0]))
        await asyncio.sleep(0.2)
        assert len(other.pids) == 1


@pytest.mark.thorough
async def test_one_that_cannot_take_what_is_free_leaves_it_to_us(
    other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takeover, "STUCK_SECONDS", 0.5)
    other.free()
    async with other.stand_ins(STAYS) as stand_ins:
        await until(lambda: other.pids)
        seen(other.lease, workspace=other.workspace, holder="us for theirs", free=False)
        await asyncio.sleep(0.8)
        assert lives(other.pids[0]), "it has it"
        other.free()
        assert stand_ins.is_left_to_takeover(other.lease)
        await until(lambda: not stand_ins.is_left_to_takeover(other.lease))
        await until(lambda: not lives(other.pids[0]))
        await asyncio.sleep(0.2)
        assert len(other.pids) == 1


def test_the_notes_of_another_workspace_are_ours_where_they_are_mounted_there(tmp_path: Path) -> None:
    ours, theirs, copy, foreign = (tmp_path / name for name in ("ours", "theirs", "copy", "foreign"))
    for each in (ours, copy, foreign):
        each.mkdir()
    theirs.symlink_to(ours)
    assert foreign_notes_problem(ours, theirs) == ""
    assert foreign_notes_problem(ours, foreign) == ""  # there are none yet
    for each in (ours, copy):
        (each / "MEMORY.md").write_text("# Memory\n")
    assert foreign_notes_problem(ours, copy) == ""
    assert "does not hold the notes that are shared" in foreign_notes_problem(ours, foreign)
    assert "missing" in foreign_notes_problem(ours, tmp_path / "missing")


def test_the_command_names_settings_and_workspace() -> None:
    command = takeover_command(Path("/a/config.toml"), Path("/b"))
    assert command[0] == sys.executable
    assert command[-6:] == ["run", "--stand-in", "--workspace", "/b", "--config", "/a/config.toml"]
    assert takeover_command(None, Path("/b"))[-1] == "/b"
