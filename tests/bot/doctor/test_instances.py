"""What the doctor tells of several instances."""

import asyncio
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.cluster.instance import load_instance
from bot.cluster.leases import Leases
from bot.doctor.check import Check
from bot.doctor.index_server import check_index_server, inspect_server
from bot.doctor.instances import check_instances
from memory.postgres.server import Server
from tests.bot.doctor.sample_state import everything, find_check, with_workspace


def examined(folder: Path, url: str, *, take_over: str = "") -> list[Check]:
    text = f'[index]\nurl = "{url}"\n[instance]\ntake_over = [{take_over}]\n'
    return list(check_instances(with_workspace(folder, text)))


def test_without_a_server_nothing_is_told(tmp_path: Path) -> None:
    assert list(check_instances(with_workspace(tmp_path))) == []


async def test_it_tells_who_has_what_and_changes_nothing(tmp_path: Path, database: str) -> None:
    async def leases() -> str:
        return find_check(await asyncio.to_thread(examined, tmp_path, database), "leases").detail

    assert await leases() == "no instance is running"
    server = Server(database)
    private = tmp_path / "attic"
    private.mkdir()
    async with Leases(server, instance=load_instance(private, name="attic"), private=private) as held:
        await asyncio.wait_for(held.want("channel:telegram:3fa8b1c2").wait_until_held(), 10)
        await asyncio.wait_for(held.want("job:backup").wait_until_held(), 10)
        assert await leases() == "2, held by attic"
        first, second = await asyncio.to_thread(lines, tmp_path, database)
    server.close()
    assert re.fullmatch(
        r"Telegram \(3fa8\): attic, since (\S+ )?\d\d:\d\d, until \d\d:\d\d:\d\d unless renewed", first
    )
    assert second.startswith("Backup of the notes: attic, since ")
    assert await leases() == "no instance is running"
    assert lines(tmp_path, database) == []


def lines(folder: Path, url: str) -> list[str]:
    return [check.detail for check in examined(folder, url) if check.name == "lease"]


def test_a_server_that_is_away_is_told_without_its_password(tmp_path: Path) -> None:
    check = find_check(examined(tmp_path, "postgresql://me:s3cret@127.0.0.1:9/db"), "leases")
    assert check.status == "fail"
    assert check.detail == "unknown: the index server does not answer"
    assert "s3cret" not in check.detail


def test_its_own_workspace_is_nothing_to_take_over(tmp_path: Path) -> None:
    settings = with_workspace(tmp_path)
    load_instance(settings.private_folder)
    (tmp_path / "alias").symlink_to(settings.workspace)
    for folder in ("workspace", "alias"):
        found = examined(tmp_path, "postgresql://127.0.0.1:9/db", take_over=f'"{folder}"')
        check = find_check(found, f"take over {folder}")
        assert (check.status, "own workspace" in check.detail) == ("warn", True)


def test_each_workspace_that_is_to_be_taken_over_is_looked_at(tmp_path: Path) -> None:
    cellar, new = tmp_path / "cellar", tmp_path / "new"
    for each in (cellar, new):
        (each / ".commonplace").mkdir(parents=True)
    load_instance(cellar / ".commonplace")
    (tmp_path / "workspace" / "memory").mkdir(parents=True)
    (cellar / "memory").symlink_to(tmp_path / "workspace" / "memory")

    def found(name: str) -> Check:
        folders = '"cellar", "new", "missing"'
        return find_check(
            examined(tmp_path, "postgresql://127.0.0.1:9/db", take_over=folders), f"take over {name}"
        )

    assert (found("cellar").status, found("cellar").detail) == ("ok", f"{cellar} can be taken over")
    assert "was never used" in found("new").detail
    assert "does not exist" in found("missing").detail
    (cellar / "memory").unlink()
    (cellar / "memory").mkdir()
    (tmp_path / "workspace" / "memory" / "MEMORY.md").write_text("# Memory\n")
    assert "does not hold the notes that are shared" in found("cellar").detail


def test_without_the_library_it_is_told_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    check = find_check(examined(tmp_path, "postgresql://me@127.0.0.1:9/db"), "leases")
    assert check.status == "fail"
    assert "library" in check.detail
    settings = with_workspace(tmp_path, '[index]\nurl = "postgresql://me@127.0.0.1:9/db"\n')
    found = list(
        check_index_server(settings, inspect_server(settings), alive=False, now=datetime.now(UTC)),
    )
    told = everything([check, *found])
    assert told.count("make postgres") == 1, "once is enough"
    assert "make postgres" in find_check(found, "server").fix
