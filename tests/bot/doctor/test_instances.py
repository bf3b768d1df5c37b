"""What the doctor tells of several instances."""

import asyncio
import sys
from pathlib import Path

import pytest

from bot.doctor.check import Check
from bot.doctor.instances import check_instances
from bot.instances.instance import this_instance
from bot.instances.leases import Leases
from memory.postgres.server import Server
from tests.bot.doctor.found import named, with_workspace


def examined(folder: Path, url: str, *, take_over: str = "") -> list[Check]:
    text = f'[index]\nurl = "{url}"\n[instance]\ntake_over = [{take_over}]\n'
    return list(check_instances(with_workspace(folder, text)))


def test_without_a_server_nothing_is_told(tmp_path: Path) -> None:
    assert list(check_instances(with_workspace(tmp_path))) == []


async def test_it_tells_who_has_what_and_changes_nothing(tmp_path: Path, database: str) -> None:
    async def leases() -> str:
        return named(await asyncio.to_thread(examined, tmp_path, database), "leases").told

    assert await leases() == "no instance is running"
    server = Server(database)
    private = tmp_path / "attic"
    private.mkdir()
    async with Leases(server, instance=this_instance(private, name="attic"), private=private) as held:
        await asyncio.wait_for(held.want("channel:telegram:3fa8b1c2").gained(), 10)
        assert await leases() == "Telegram (3fa8) attic"
    server.close()
    assert await leases() == "no instance is running"


def test_a_server_that_is_away_is_told_without_its_password(tmp_path: Path) -> None:
    check = named(examined(tmp_path, "postgresql://me:s3cret@127.0.0.1:9/db"), "leases")
    assert check.status == "fail"
    assert "does not answer" in check.told
    assert "s3cret" not in check.told


def test_each_workspace_that_is_to_be_taken_over_is_looked_at(tmp_path: Path) -> None:
    cellar, new = tmp_path / "cellar", tmp_path / "new"
    for each in (cellar, new):
        (each / ".commonplace").mkdir(parents=True)
    this_instance(cellar / ".commonplace")
    (tmp_path / "workspace" / "memory").mkdir(parents=True)
    (cellar / "memory").symlink_to(tmp_path / "workspace" / "memory")

    def found(name: str) -> Check:
        folders = '"cellar", "new", "missing"'
        return named(
            examined(tmp_path, "postgresql://127.0.0.1:9/db", take_over=folders), f"take over {name}"
        )

    assert (found("cellar").status, found("cellar").told) == ("ok", f"{cellar} can be served from here")
    assert "was never served" in found("new").told
    assert "is not there" in found("missing").told
    (cellar / "memory").unlink()
    (cellar / "memory").mkdir()
    (tmp_path / "workspace" / "memory" / "MEMORY.md").write_text("# Memory\n")
    assert "does not hold the notes that are shared" in found("cellar").told


def test_without_the_library_it_is_told_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    check = named(examined(tmp_path, "postgresql://me@127.0.0.1:9/db"), "leases")
    assert check.status == "fail"
    assert "pip install" in check.told
