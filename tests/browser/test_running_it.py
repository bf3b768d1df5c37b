"""What keeps it running, from a browser: models, settings and backups."""

from selenium.webdriver.common.keys import Keys

from tests.browser.window import PHONE, Window

MADE = "#stored tbody tr"


def _press_button(window: Window, name: str) -> None:
    """Go to a button with the Tab key, and press it."""
    for _ in range(120):
        window.press(Keys.TAB)
        if window.focused == name:
            window.press(Keys.ENTER)
            return
    raise AssertionError(f"the Tab key does not lead to {name}")


def test_a_reset_with_the_keys_alone(reader: Window) -> None:
    reader.open("/models")
    _press_button(reader, "Clear failures")
    reader.wait(lambda: reader.path.startswith("/models?done=reset"), "that it is done")
    reader.wait(lambda: "Failures cleared" in reader.text("[role=status]"), "that it is told")
    assert "paused" not in reader.text("#models")


def test_a_setting_is_found_with_the_keys_alone(reader: Window) -> None:
    reader.resize(*PHONE)
    reader.open("/settings")
    assert not reader.all("details.group[open]"), "a phone shows the names of the tables first"
    reader.one("#q").send_keys("api_base" + Keys.ENTER)
    reader.wait(lambda: "q=api_base" in reader.path, "the settings that were found")
    assert [each.text for each in reader.all("details.group[open] h2")] == ["telegram", "discord"]
    assert "from config.toml" in reader.text("details.group[open] dd")


def test_a_backup_appears_once_it_is_made(reader: Window) -> None:
    reader.open("/backups")
    before = len(reader.all(MADE))
    _press_button(reader, "Make a backup now")
    reader.wait(lambda: len(reader.all(MADE)) > before, "the backup")
    reader.wait(lambda: "made" in reader.text("#backup-state"), "that it was made")
    assert "files of notes, conversations" in reader.text(MADE)


def test_without_script_the_page_of_a_backup_loads_itself_again(reader: Window) -> None:
    reader.forbid_scripts()
    reader.open("/backups")
    before = len(reader.all(MADE))
    reader.click(".make button")
    reader.wait(lambda: len(reader.all(MADE)) > before, "the backup")
    assert "running" not in reader.text("#backup-state")
