import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.config.settings import Settings
from bot.doctor.check import Check
from bot.doctor.index_server import check_index_server, inspect_server
from bot.index_server import index_server
from memory.index.postgres.inspection import ServerInspection
from memory.memory import Memory
from tests.bot.doctor.sample_state import everything, find_check, statuses, with_workspace
from tests.fakes.postgres_server import PostgresServer


def on_server(folder: Path, url: str) -> Settings:
    settings = with_workspace(folder, f'[index]\nurl = "{url}"\n')
    (settings.memory_folder / "house.md").write_text("The boiler is blue.\n")
    return settings


def checks(settings: Settings) -> list[Check]:
    return list(check_index_server(settings, inspect_server(settings), alive=False, now=datetime.now(UTC)))


def index(settings: Settings) -> None:
    async def work() -> None:
        server = index_server(settings)
        assert server
        async with Memory(
            settings.memory, workspace=settings.workspace, now=settings.now, server=server, instance="kitchen"
        ) as memory:
            await memory.sync()
        server.close()

    asyncio.run(work())


def test_a_server_that_is_well_is_told_before_and_after_it_is_filled(tmp_path: Path, database: str) -> None:
    settings = on_server(tmp_path, database)
    found = checks(settings)
    assert statuses(found) == {"ok"}
    assert "PostgreSQL 18" in find_check(found, "server").detail
    assert "enabled at first use" in find_check(found, "pgvector").detail
    assert "none yet" in find_check(found, "tables").detail
    index(settings)
    found = checks(settings)
    assert statuses(found) == {"ok"}
    assert find_check(found, "pgvector").detail.startswith("0.")
    assert find_check(found, "tables").detail.startswith("1 note in 1 chunk, 0 vectors")
    assert find_check(found, "used by").detail == "kitchen"
    assert find_check(found, "encrypted").detail == "no, but the server is on this machine"


@pytest.mark.thorough
def test_looking_changes_nothing(tmp_path: Path, database: str, postgres: PostgresServer) -> None:
    checks(on_server(tmp_path, database))
    there = "SELECT count(*) FROM pg_namespace WHERE nspname = 'commonplace'"
    assert postgres.execute(there, database=database.rpartition("/")[2]) == [(0,)]


def test_a_server_that_is_not_there_is_a_failure_with_a_mend_and_no_secret(tmp_path: Path) -> None:
    [check] = checks(on_server(tmp_path, "postgresql://me:s3cret@127.0.0.1:1/none"))
    assert check.status == "fail"
    assert "postgresql://me@127.0.0.1:1/none does not answer" in check.detail
    assert "nothing is lost" in check.fix
    assert "s3cret" not in everything([check])


def test_a_server_that_is_too_old_is_asked_nothing_that_it_does_not_know(
    tmp_path: Path, database: str
) -> None:
    settings = on_server(tmp_path, database)
    found = inspect_server(settings)
    assert isinstance(found, ServerInspection)
    old = replace(found, version="12.22", number=120_022)
    [check] = check_index_server(settings, old, alive=False, now=datetime.now(UTC))
    assert (check.status, "PostgreSQL 12.22, which is too old" in check.detail) == ("fail", True)


def test_a_user_without_rights_is_told(tmp_path: Path, database: str, postgres: PostgresServer) -> None:
    postgres.execute("DROP ROLE IF EXISTS visitor")
    postgres.execute("CREATE ROLE visitor LOGIN")
    name = database.rpartition("/")[2]
    check = find_check(checks(on_server(tmp_path, postgres.url(name, user="visitor"))), "rights")
    assert (check.status, "GRANT CREATE" in check.fix) == ("fail", True)
    postgres.execute("DROP ROLE visitor")


@pytest.mark.thorough
def test_who_may_not_switch_pgvector_on_is_told_who_may(
    tmp_path: Path, database: str, postgres: PostgresServer
) -> None:
    name = database.rpartition("/")[2]
    postgres.execute("DROP ROLE IF EXISTS tenant")
    postgres.execute("CREATE ROLE tenant LOGIN")
    postgres.execute(f"GRANT CREATE ON DATABASE {name} TO tenant")
    settings = on_server(tmp_path, postgres.url(name, user="tenant"))
    trusted = (
        "SELECT trusted FROM pg_available_extension_versions WHERE name = 'vector' ORDER BY version DESC"
    )
    may = postgres.execute(trusted, database=name)[0][0]
    found = checks(settings)
    check = find_check(found, "pgvector")
    assert find_check(found, "rights").status == "ok"
    assert check.status == ("ok" if may else "fail")
    assert may or "CREATE EXTENSION vector" in check.fix
    postgres.execute(f"REVOKE CREATE ON DATABASE {name} FROM tenant")
    check = find_check(checks(settings), "pgvector")
    assert (check.status, "CREATE EXTENSION vector" in check.fix) == ("fail", True)
    postgres.execute("CREATE EXTENSION vector", database=name)
    assert find_check(checks(settings), "pgvector").status == "ok"
    postgres.execute("DROP ROLE tenant")


def test_other_settings_and_newer_tables_are_told(
    tmp_path: Path, database: str, postgres: PostgresServer
) -> None:
    settings = on_server(tmp_path, database)
    index(settings)
    name = database.rpartition("/")[2]
    postgres.execute("UPDATE commonplace.index_state SET fingerprint = 'other'", database=name)
    check = find_check(checks(settings), "tables")
    assert (check.status, "kitchen" in check.detail) == ("warn", True)
    postgres.execute("UPDATE commonplace.migrations SET done = 99 WHERE part = 'index'", database=name)
    assert find_check(checks(settings), "tables").status == "fail"
