"""A person keeps their notes: writes, edits, moves, deletes and restores them, by keyboard, with and without script."""

from collections.abc import Callable

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.service import Service
from tests.browser.test_accessibility import AXE, violations
from tests.browser.window import PHONE, WIDE, Window

Check = Callable[[], None]


@pytest.fixture(params=["script", "no script"])
def keeper(reader: Window, request: pytest.FixtureRequest) -> Window:
    if request.param == "no script":
        reader.forbid_scripts()
    return reader


@pytest.fixture
def check(reader: Window, request: pytest.FixtureRequest) -> Check:
    """See that axe-core finds nothing wrong, on a phone and a wide screen; it needs script."""
    axe = AXE.read_text("utf-8") if AXE.exists() else ""
    is_scripted = "no script" not in request.node.name

    def check() -> None:
        for scheme, size in (("dark", PHONE), ("light", WIDE)):
            reader.prefer(prefers_color_scheme=scheme)
            reader.resize(*size)
            if axe and is_scripted:
                assert violations(reader, axe) == [], (reader.path, scheme, size)

    return check


def tab_to(window: Window, name: str) -> WebElement:
    """Press Tab until the element of this name has the focus."""
    for _ in range(150):
        window.press(Keys.TAB)
        if window.focused == name:
            return window.driver.switch_to.active_element
    raise AssertionError(f"the Tab key does not reach {name}")


def enter(window: Window, name: str) -> None:
    """Reach a link or a button by Tab, and press Enter."""
    before = window.one("html").id
    tab_to(window, name)
    window.press(Keys.ENTER)
    window.wait(lambda: window.one("html").id != before, f"what {name} leads to")


def test_a_note_is_written_edited_moved_deleted_and_restored(
    keeper: Window, household: Service, check: Check, request: pytest.FixtureRequest
) -> None:
    name = "garden" if "no script" in request.node.name else "Garden"
    file = household.memory / f"plans/{name}.md"
    keeper.open("/notes/")
    enter(keeper, "New note")
    check()
    tab_to(keeper, "Name").send_keys(f"plans/{name}")
    tab_to(keeper, "Text").send_keys("# Plan\n\n- [ ] roses\n")
    enter(keeper, "Create note")
    assert "Created." in keeper.text("main")
    assert file.read_text() == "# Plan\n\n- [ ] roses\n"

    enter(keeper, "Edit")
    check()
    tab_to(keeper, "Text").send_keys(Keys.CONTROL, Keys.END)
    keeper.press("- [x] peas")
    enter(keeper, "Preview")
    assert len(keeper.all(".note input[type=checkbox]")) == 2
    assert file.read_text() == "# Plan\n\n- [ ] roses\n"
    check()
    enter(keeper, "Save")
    assert "Saved." in keeper.text("main")
    assert file.read_text() == "# Plan\n\n- [ ] roses\n- [x] peas\n"
    check()

    enter(keeper, "History")
    assert keeper.text("h1") == "Changes"
    check()
    keeper.driver.back()
    enter(keeper, "Move or rename")
    field = tab_to(keeper, "New name, with its folders")
    field.clear()
    field.send_keys(f"plans/2027/{name}")
    check()
    enter(keeper, "Move or rename")
    moved = household.memory / f"plans/2027/{name}.md"
    assert (moved.exists(), file.exists()) == (True, False)

    enter(keeper, "Delete")
    check()
    enter(keeper, "Delete")
    assert not moved.exists()
    check()
    enter(keeper, keeper.one(".records button").accessible_name)
    assert "Restored." in keeper.text("main")
    assert moved.read_text() == "# Plan\n\n- [ ] roses\n- [x] peas\n"


def test_both_versions_are_shown_if_somebody_else_was_first(
    keeper: Window, household: Service, check: Check
) -> None:
    file = household.memory / "recipes/soup.md"
    file.write_text("# Soup\n\nLeeks.\n")
    keeper.open("/edit/recipes/soup.md")
    keeper.one("#text").send_keys(Keys.CONTROL, Keys.END)
    keeper.press("Potatoes.")
    file.write_text("# Soup\n\nLeeks.\nCream.\n")
    enter(keeper, "Save")
    keeper.expect("409")
    assert keeper.text("ins") == "+Cream."
    assert keeper.one("#text").get_attribute("value") == "# Soup\n\nLeeks.\nPotatoes."
    assert file.read_text() == "# Soup\n\nLeeks.\nCream.\n"
    check()
    enter(keeper, "Save my version")
    assert file.read_text() == "# Soup\n\nLeeks.\nPotatoes.\n"


def test_a_picture_is_shown_and_nothing_is_asked_for_elsewhere(reader: Window) -> None:
    reader.open("/notes/house/meter.md")
    picture = reader.one(".note img")
    reader.wait(lambda: reader.run("return arguments[0].naturalWidth", picture) == 240, "the picture")
    assert picture.size["width"] == 120
    assert reader.one(".note").find_elements(By.CSS_SELECTOR, "button[name=task]")
