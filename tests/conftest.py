"""What holds for every test, whatever the environment of whoever runs them holds."""

import contextlib
import gc
import importlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from tests.fakes.commonplace import leads_elsewhere
from tests.fakes.postgres_server import NEEDS, PostgresServer, find_programs
from tests.fakes.ram_disk import ram_disk

TESTS = Path(__file__).parent
LEFT_TO_CHECK = (
    "browser",
    # What judges the sources and documents instead of the program:
    "test_architecture.py",
    "test_docs*.py",
    "test_*_docs.py",
    "test_readme.py",
    "test_locks.py",
    "test_makefile.py",
    "test_docker.py",
    "test_recipes.py",
    # What judges the tests' and benchmarks' own parts:
    "adapters/test_fake_*.py",
    "test_fakes_refuse.py",
    "test_benchmarks.py",
    "test_soak.py",
    "test_table_test.py",
    "test_same_examples.py",
    "test_growth_measure.py",
    # What tries thousands of inputs, or hundreds of long ones:
    "test_fuzz_*.py",
    "test_growth.py",
)
"""What `make test` does not even load: nobody's first look needs it. Named by itself, such a file runs."""

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
    os.environ |= {
        "LC_ALL": "C.UTF-8",
        "LANG": "C.UTF-8",
    }  # the terminal speaks the language that these ask for
    config.addinivalue_line("markers", "thorough: takes long; `make check` runs it, `make test` does not")
    if config.getoption("--thorough"):
        settings.load_profile("whole")
        return
    settings.load_profile("quick")
    leave_out_constants_of_ours()
    if "TMPDIR" not in os.environ and (folder := ram_disk()):
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def leave_out_constants_of_ours() -> None:
    """Have hypothesis draw no constants from our sources.

    It reads those of the modules that happen to be loaded, and these depend on the tests that a worker had before:
    a test would not try the same at each run. `make check` has them.
    """
    providers._get_local_constants = lambda: providers._local_constants


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what is in LEFT_TO_CHECK, unless it is asked for by name."""
    if config.getoption("--thorough") or not collection_path.is_relative_to(TESTS):
        return None
    name = str(collection_path.relative_to(TESTS))
    left = any(fnmatch(name, pattern) for pattern in LEFT_TO_CHECK)
    return True if left and not any(name in argument for argument in config.args) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays to the end: to look through it for garbage, again and again, takes seconds."""
    gc.disable()
    try:
        share_first_run(session.config)
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def share_first_run(config: pytest.Config) -> None:
    """Do only once, in a new clone, what each worker would do for itself and then keep in a file.

    pytest rewrites the assertions of all test modules, 5 s of work: each worker begins with a share of its own.
    hypothesis finds out which characters there are, 2 s: the process that waits for the workers does it.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        if config.getoption("numprocesses", None):
            st.text().validate()
        return
    names = (Path(argument.partition("::")[0]) for argument in config.args)
    folders = [config.rootpath / name for name in names]
    files = sorted(file for folder in folders if folder.is_dir() for file in folder.rglob("test_*.py"))
    own = int(worker["workerid"].removeprefix("gw"))
    for file in files[own :: worker["workercount"]]:
        left_out = any(pytest_ignore_collect(path, config) for path in (file, *file.parents))
        if file.is_relative_to(TESTS) and not left_out:
            with contextlib.suppress(Exception, pytest.skip.Exception):  # its collection tells why
                importlib.import_module(".".join(file.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the thorough tests, or begin with them, so that no worker is left with a long one at the end."""
    if config.getoption("--thorough"):
        items.sort(key=lambda item: "thorough" not in item.keywords)
        return
    left = [item for item in items if "thorough" in item.keywords]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if "thorough" not in item.keywords]


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
    if not find_programs():
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
    """Say once for each reason what was skipped, instead of once for each place, and what was left out."""
    if not terminalreporter.config.getoption("--thorough"):
        terminalreporter.write_line("left out: what takes long; --thorough, as in make check, runs it")
    skipped: list[pytest.TestReport] = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
