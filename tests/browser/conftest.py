"""What the tests in a real browser share: one browser, and a household's service. All of them take long."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.web.session import SESSION, new_session
from tests.browser import notes
from tests.browser.household import household_service
from tests.browser.service import TOKEN, Service, serving
from tests.browser.window import Window, missing_programs, opened_window

MANY = 1200
"""Notes: to read them all anew takes some seconds once the service is slowed."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    if missing := missing_programs():
        pytest.skip(f"there is no {missing} here; on Debian: apt install chromium chromium-driver")
    with opened_window(tmp_path_factory.mktemp("browser")) as window:
        yield window


@pytest.fixture(scope="session")
def household(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with household_service(tmp_path_factory.mktemp("household")) as service:
        yield service


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service without a token and without channels, with many notes."""
    folder = tmp_path_factory.mktemp("archive")
    notes.write_many(folder / "workspace" / "memory", MANY)
    with serving(folder, {"memory.embedding": {"provider": "none"}}) as service:
        yield service


@pytest.fixture
def visitor(browser: Window, household: Service) -> Iterator[Window]:
    """Somebody who comes to the household's page for the first time."""
    yield from _watched(browser, household)


@pytest.fixture
def reader(visitor: Window) -> Window:
    """Somebody who has signed in there."""
    visitor.keep_cookie(SESSION, new_session(TOKEN, now=time.time()))
    return visitor


@pytest.fixture
def archivist(browser: Window, archive: Service) -> Iterator[Window]:
    """Somebody who looks at the archive's page, and has the machine work on other things too."""
    archive.rest()
    with archive.slowed():
        yield from _watched(browser, archive)


def _watched(browser: Window, service: Service) -> Iterator[Window]:
    """Afterwards nothing was asked for elsewhere, and nothing complained of that the test has not expected."""
    browser.start_anew(service.address)
    yield browser
    browser.leave()
    browser.listen()
    assert browser.complaints == []
    assert browser.foreign_requests == []
