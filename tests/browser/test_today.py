"""The first page as somebody uses it through the day: by keyboard, with and without scripts."""

import asyncio
from datetime import UTC, datetime

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.service import Service, write_waiting
from tests.browser.window import PHONE, WIDE, Window

LOOK = "document.dispatchEvent(new Event('visibilitychange'))"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_line_is_added_by_keyboard_and_is_there(
    reader: Window, household: Service, *, scripts: bool
) -> None:
    if not scripts:
        reader.forbid_scripts()
    line = f"The drill is back, {'at last' if scripts else 'after all'}"
    reader.open("/")
    reader.one("#log-add").send_keys(line + Keys.TAB)
    assert reader.focused == "Add"
    reader.press(Keys.ENTER)
    reader.wait(lambda: line in reader.text("#log-text"), "the line in the log")
    assert reader.path == "/?done=noted#done"
    assert reader.text(".done") == "Noted in today's log."
    reader.driver.refresh()
    reader.wait(lambda: line in reader.text("#log-text"), "the log again")
    assert sum(note.read_text("utf-8").count(line) for note in household.memory.glob("2*.md")) == 1


def test_what_is_half_written_stays_while_the_page_renews_itself(reader: Window, household: Service) -> None:
    reader.open("/")
    reader.one("#log-add").send_keys("half a wo")
    reader.one("#q").click()
    household.commonplace.output_of("memory", "write", "The rake is with Ada")
    reader.run("const now = Date.now; let later = 0; Date.now = () => now() + (later += 3600_000);")

    def renewed() -> bool:
        reader.run(LOOK)
        return "The rake is with Ada" in reader.text("#log-text")

    reader.wait(renewed, "what was noted elsewhere")
    assert reader.one("#log-add").get_property("value") == "half a wo"


def reminder_with(reader: Window, words: str) -> str:
    """Return where a reminder is: which comes first depends on the day of the week."""
    rows = reader.all(".reminders > li")
    number = next(number for number, row in enumerate(rows, 1) if words in row.text)
    return f".reminders > li:nth-child({number})"


@pytest.mark.parametrize("size", [PHONE, WIDE], ids=["phone", "wide"])
def test_a_reminder_is_moved_cancelled_and_set_again(reader: Window, size: tuple[int, int]) -> None:
    reader.resize(*size)
    reader.open("/")
    row = reminder_with(reader, "call the dentist")
    reader.click(f"{row} summary")
    reader.one(f"{row} input[name=when]").send_keys("soonish" + Keys.ENTER)
    told = reader.wait(lambda: reader.text(f"{row} .problem"), "why not")
    assert told.startswith("I didn't understand the time.")
    assert reader.one(f"{row} input[name=when]").get_property("value") == "soonish"
    reader.expect("400")
    reader.one(f"{row} input[name=when]").clear()
    reader.one(f"{row} input[name=when]").send_keys("in 30 hours" + Keys.ENTER)
    reader.wait(lambda: reader.all(".done"), "that it is moved")
    assert reader.text(".done") == "Reminder moved."
    row = reminder_with(reader, "call the dentist")
    reader.click(f"{row} form[action='/reminders/cancel'] button")
    reader.wait(lambda: reader.text(".done") == "Reminder cancelled.", "that it is cancelled")
    assert "call the dentist" not in reader.text("#reminder-list")
    reader.click(".again button")
    reader.wait(lambda: reader.text(".done") == "Reminder restored.", "that it is set again")
    assert "call the dentist" in reader.text("#reminder-list")


def test_who_waits_is_let_in(reader: Window, household: Service) -> None:
    private = household.memory.parent / ".commonplace"
    asyncio.run(write_waiting(private, datetime.now(UTC), "Kai", "PRTWXY34", number=42))
    reader.open("/")
    told = reader.text("#waiting")
    assert "Kai Discord, discord:150000000000000042 Asked:" in told
    assert "the code PRTWXY34 expires in" in told
    button = reader.one("#waiting li:last-child button[value=guest]")
    assert button.accessible_name == "Let in as a guest: Kai"
    button.send_keys(Keys.ENTER)
    reader.wait(lambda: reader.all(".done"), "that it is done")
    assert reader.text(".done").startswith("Kai (discord:150000000000000042) can now talk with me as a guest")
    assert "Kai" not in reader.text("#waiting")
