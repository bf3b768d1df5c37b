"""axe-core finds nothing wrong, with all of its rules: WCAG 2.2 up to AAA, best practices, and those on trial."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.pages import ANSWERED_404, PAGES
from tests.browser.service import Service
from tests.browser.window import PHONE, WIDE, Window

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
CHECK = """
    const done = arguments[0];
    const rules = Object.fromEntries(axe.getRules().map(({ruleId}) => [ruleId, {enabled: true}]));
    axe.run(document, {rules, resultTypes: ["violations"]}).then(done, (error) => done({error: String(error)}));
"""
WANTED = {"wcag2a", "wcag2aa", "wcag2aaa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"}

Check = Callable[[Window], None]


pytestmark = pytest.mark.skipif(
    not AXE.exists(), reason="there is no axe-core here; npm ci --prefix tests/browser"
)


@pytest.fixture(scope="session")
def axe() -> str:
    return AXE.read_text("utf-8")


@pytest.fixture
def check(axe: str) -> Check:
    """See that nothing is wrong with the page as it is shown, light on a wide screen and dark on a phone."""

    def check(window: Window) -> None:
        for scheme, size in (("light", WIDE), ("dark", PHONE)):
            window.prefer(prefers_color_scheme=scheme)
            window.resize(*size)
            assert violations(window, axe) == [], (scheme, size)

    return check


def violations(window: Window, axe: str) -> list[str]:
    """What is wrong, a line each."""
    if not window.run("return typeof axe === 'object'"):
        window.run(axe)
    found: dict[str, Any] = window.driver.execute_async_script(CHECK)
    assert "error" not in found, found
    ran = {tag for kind in ("passes", "inapplicable") for rule in found[kind] for tag in rule["tags"]}
    assert ran >= WANTED
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_every_page(reader: Window, check: Check, name: str) -> None:
    reader.open(PAGES[name])
    check(reader)
    if name in ANSWERED_404:
        reader.expect("404")


@pytest.mark.parametrize("name", ["today", "search", "changes", "note"])
def test_main_pages_the_other_way_round(reader: Window, axe: str, name: str) -> None:
    reader.open(PAGES[name])
    for scheme, size in (("dark", WIDE), ("light", PHONE)):
        reader.prefer(prefers_color_scheme=scheme)
        reader.resize(*size)
        assert violations(reader, axe) == [], (scheme, size)


def test_every_page_in_german(reader: Window, axe: str) -> None:
    """Its words are longer: nothing may stick out on a phone either."""
    reader.speak("de")
    reader.resize(*PHONE)
    for name, path in PAGES.items():
        reader.open(path)
        assert reader.one("html").get_attribute("lang") == "de"
        assert violations(reader, axe) == [], name
        assert reader.run("return document.documentElement.scrollWidth") == PHONE[0], name
        if name in ANSWERED_404:
            reader.expect("404")


def test_signing_in(visitor: Window, check: Check) -> None:
    visitor.open("/sign-in")
    check(visitor)
    visitor.one("#token").send_keys("wrong" + Keys.ENTER)
    visitor.wait(lambda: visitor.one("[role=alert]"), "it says that the token is wrong")
    check(visitor)
    visitor.expect("401")


def test_inside_a_backup(reader: Window, household: Service, check: Check) -> None:
    household.commonplace.output_of("backup")
    reader.open("/backups")
    reader.click("#stored a[href*=contents]")
    reader.wait(lambda: "intact" in reader.text("main"), "what is in it")
    check(reader)


def test_what_the_script_shows(reader: Window, check: Check) -> None:
    reader.open("/")
    reader.one("#q").send_keys("boiler" + Keys.ENTER)
    reader.wait(lambda: reader.one("#found h2"), "passages")
    reader.click(".problems summary")
    check(reader)


def test_a_rebuild_under_way(archivist: Window, check: Check) -> None:
    archivist.open("/")
    archivist.click("[data-rebuild] button")
    archivist.wait(lambda: archivist.one("#progress progress[value]"), "how far it is")
    # Kept as it is, while the index is built on.
    archivist.run("window.fetch = () => new Promise(() => {})")
    check(archivist)


def test_what_is_wrong_would_be_found(reader: Window, axe: str) -> None:
    reader.open("/")
    reader.run(
        "document.querySelector('h1').after(Object.assign(document.createElement('img'), {src: 'data:,'}));"
        "document.querySelector('label[for=q]').remove();"
    )
    found = {line.partition(":")[0] for line in violations(reader, axe)}
    assert found == {"image-alt", "label"}
