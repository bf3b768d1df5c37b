"""What holds for every test, whatever the environment of whoever runs them holds."""

import gc
import os
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.fakes.commonplace import leads_elsewhere
from tests.fakes.main_memory import main_memory
from tests.fakes.postgres_server import NEEDS, PostgresServer, installed

SLOW = [HealthCheck.too_slow]
settings.register_profile("whole", settings(), deadline=None, suppress_health_check=SLOW)
"""However long an example takes where the machine is busy with others."""
settings.register_profile(
    "quick",
    settings.get_profile("default"),
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=SLOW,
)
"""A quarter of the examples, where a test says nothing else, and the same at each run; `make check` tries others."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="also what kills, fills and waits for long")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["TZ"] = "UTC"  # settings that name no zone take the machine's
    time.tzset()
    config.addinivalue_line("markers", "thorough: takes long; `make check` runs it, `make test` does not")
    if config.getoption("--thorough"):
        settings.load_profile("whole")
        return
    settings.load_profile("quick")
    if "TMPDIR" not in os.environ and (folder := main_memory()):
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """All in the browser's folder take long, and so does its library to load: leave it out unless it is asked for."""
    named = config.getoption("--thorough") or any("browser" in each for each in config.args)
    return None if named or collection_path != Path(__file__).parent / "browser" else True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: to look through it for garbage, again and again, takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--thorough"):
        for item in items:
            if "thorough" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="takes long; make check runs it"))


@pytest.fixture(scope="session", autouse=True)
def nothing_leads_elsewhere() -> Iterator[None]:
    """A key, or a proxy, would have tests ask a service on the network, and pay for it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if leads_elsewhere(name)]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real server, for all tests of a worker; who stops it starts it again."""
    if not installed():
        pytest.skip(NEEDS)
    server = PostgresServer()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The address of an empty database."""
    with postgres.database() as url:
        yield url


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once for each reason what was skipped, instead of once for each place."""
    skipped: list[pytest.TestReport] = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
