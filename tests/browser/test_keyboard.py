"""All can be done without a mouse, and one sees where one is."""

import re
import time

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.pages import ANSWERED_404, PAGES
from tests.browser.window import PHONE, Window

MAX_STOPS = 120
ORDER = [
    "Let in Ingrid",
    "Let in as a guest: Ingrid",
    "Block Ingrid",
    "Open the note",
    "Yesterday",
    "Add to the log",
    "Add",
    "All changes",
    "Where to search",
    "a folder of notes",
    "Check the notes",
    "1 problem with notes",
    "Rebuild the index",
]
"""Some of what the first page leads to, in this order."""
REMINDERS = {
    "Move: call the dentist about Thursday",
    "Cancel: call the dentist about Thursday",
    "Move the series: put the bins out",
    "Cancel the series: put the bins out",
}
"""Before "All changes"; which of them is first depends on the day of the week."""
LOOK = "document.dispatchEvent(new Event('visibilitychange'))"
IS_SEEN = """
    const here = document.activeElement, [box] = here.getClientRects(), style = getComputedStyle(here);
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2
        && style.outlineColor !== getComputedStyle(document.body).backgroundColor;
    const x = Math.min(box.left + 8, box.right - 1), y = Math.max(box.top, 0) + Math.min(8, box.height / 2);
    const top = document.elementFromPoint(x, y);
    return outlined && box.top < innerHeight && box.bottom > 0 && box.left >= 0 && here.contains(top);
"""


def stops(window: Window) -> list[str]:
    """Go through the page with the Tab key until its end; give the names of what had the focus."""
    names: list[str] = []
    while len(names) < MAX_STOPS:
        window.press(Keys.TAB)
        if window.run("return document.activeElement === document.body"):
            return names
        name = window.focused
        assert name
        window.wait(lambda: window.run(IS_SEEN), f"that {name} has the focus can be seen")
        names.append(name)
    raise AssertionError(f"no end: {names}")


def test_the_tab_key_goes_through_the_first_page_in_order(reader: Window) -> None:
    reader.open("/")
    found = stops(reader)
    first = ["Skip to content", "Commonplace", "Today", "Search", "Notes", "Conversations", "More"]
    assert found[: len(first)] == first
    assert [each for each in found if each in ORDER] == ORDER
    assert set(found) >= REMINDERS
    reminders = [
        each.accessible_name
        for each in reader.all(".reminders summary, .reminders button")
        if each.is_displayed()
    ]
    first_of_them = found.index(reminders[0])
    assert found[first_of_them : first_of_them + len(reminders)] == reminders
    changes = found[first_of_them + len(reminders) : found.index("All changes")]
    assert changes
    assert all(re.fullmatch(r"\S+\.md|(Undo|Redo|What changed in) change \d+", each) for each in changes), (
        changes
    )


@pytest.mark.parametrize(
    "name",
    [
        "changes",
        "search",
        "filtered search",
        "folder below",
        "note",
        "wide note",
        "no such note",
        "conversations",
        "conversation",
        "conversation to forget",
        "people",
        "person to block",
    ],
)
def test_the_tab_key_goes_through_every_page(reader: Window, name: str) -> None:
    reader.resize(*PHONE)
    reader.open(PAGES[name].partition("#")[0])
    if name in ANSWERED_404:
        reader.expect("404")
    names = stops(reader)
    names = names[names.index("More") + 1 :]
    links = [each.accessible_name for each in reader.all("main a[href]")]
    assert [each for each in names if each in links] == links
    assert ("Table in line 7" in names) == (name == "wide note")


def test_the_way_past_the_navigation_is_short(reader: Window) -> None:
    reader.open("/")
    reader.press(Keys.TAB)
    assert reader.focused == "Skip to content"
    reader.wait(
        lambda: reader.run("return document.activeElement.getBoundingClientRect().top >= 0"), "it shows"
    )
    reader.press(Keys.ENTER)
    reader.wait(lambda: reader.run("return document.activeElement.id") == "main", "the content has the focus")
    reader.press(Keys.TAB)
    assert reader.focused == "Let in Ingrid"


def test_the_index_is_rebuilt_by_the_enter_key(reader: Window) -> None:
    reader.open("/")
    button = reader.one("[data-rebuild] button")
    reader.run("arguments[0].focus()", button)
    reader.press(Keys.ENTER)
    reader.wait(lambda: reader.text("#progress").startswith("Rebuilt"), "the end of the rebuild")
    assert reader.focused == "Rebuild the index"


def test_a_wide_table_is_moved_by_the_arrow_keys(reader: Window) -> None:
    reader.resize(*PHONE)
    reader.open(PAGES["wide note"])
    for selector in (".table", "pre"):
        frame = reader.one(f".note {selector}")
        reader.run("arguments[0].focus()", frame)
        reader.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        reader.wait(lambda: reader.run("return arguments[0].scrollLeft > 20", frame), f"{selector} moves")  # noqa: B023


def test_what_is_renewed_leaves_alone_what_one_is_about(reader: Window) -> None:
    reader.open("/")
    seen = reader.text("#seen")
    reader.click(".problems summary")
    reader.one("#q").send_keys("half a wo")
    reader.run("const now = Date.now; let later = 0; Date.now = () => now() + (later += 3600_000);")

    def renewed() -> bool:
        """Somebody comes back to this window, each time after hours."""
        reader.run(LOOK)
        time.sleep(0.3)
        return reader.text("#seen") != seen

    reader.wait(renewed, "what is shown is renewed")
    assert reader.one("#q").get_attribute("value") == "half a wo"
    assert reader.focused == "Search"
    assert reader.one(".problems ul").is_displayed(), "stays open"
