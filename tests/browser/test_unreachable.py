from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.service import Service, serving
from tests.browser.window import Window

LOOK = "document.dispatchEvent(new Event('visibilitychange'))"
"""As when somebody comes back to the window."""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Service]:
    """A service of its own, that can be stopped."""
    (tmp_path / "workspace/memory").mkdir(parents=True)
    (tmp_path / "workspace/memory/MEMORY.md").write_text("# Memory\n\nPeonies\n", "utf-8")
    with serving(tmp_path, {"memory.embedding": {"provider": "none"}}) as service:
        yield service


def test_a_page_that_is_open_tells_when_the_service_is_gone_and_when_it_is_back(
    browser: Window, small: Service
) -> None:
    browser.start_anew(small.address)
    browser.open("/")
    told = browser.one("#unreachable")
    assert not told.is_displayed()
    small.stop()
    browser.wait(told.is_displayed, "it tells by itself")
    assert told.text.startswith("The service is not reachable right now")
    assert told.get_attribute("role") == "alert"
    browser.click("[data-rebuild] button")
    assert browser.text("#attention").endswith("Nothing needs your attention."), "what was seen last stays"

    small.start()
    browser.run(LOOK)
    browser.wait(lambda: not told.is_displayed(), "it tells no more")
    browser.click("[data-rebuild] button")
    browser.wait(lambda: browser.text("#progress").startswith("Rebuilt"), "it works again")
    browser.leave()
    browser.expect("ERR_CONNECTION_REFUSED")
    assert browser.complaints == []
