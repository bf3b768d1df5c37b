"""A conversation is read and a day of it forgotten, people are changed: by the keyboard, on pages without script."""

from selenium.webdriver.common.keys import Keys

from tests.browser.service import Service
from tests.browser.talks import TALK
from tests.browser.window import PHONE, Window


def test_a_conversation_is_opened_and_its_tools_unfolded_by_the_keyboard(reader: Window) -> None:
    reader.resize(*PHONE)
    reader.open("/conversations")
    link = reader.one(f'.talks a[href="/conversations/{TALK}"]')
    reader.run("arguments[0].focus()", link)
    reader.press(Keys.ENTER)
    reader.wait(lambda: reader.text("h1") == "Zoë (Telegram)", "the conversation")
    summary = reader.one(".call summary")
    assert not reader.one(".call pre").is_displayed()
    reader.run("arguments[0].focus()", summary)
    reader.press(Keys.ENTER)
    reader.wait(lambda: reader.one(".call pre").is_displayed(), "what the tool was asked")


def test_a_day_is_forgotten_after_a_question(reader: Window, household: Service) -> None:
    household.commonplace.output_of("chat", "-m", "the wheelbarrow is blue")
    reader.open("/conversations?kind=person")
    reader.click(".talks a")
    reader.wait(lambda: "wheelbarrow" in reader.text("main"), "the conversation at the terminal")
    reader.click(".day a")
    reader.wait(lambda: reader.text("h1").startswith("Forget "), "the question")
    reader.click(".confirm a[href^='/conversations/']")
    reader.wait(lambda: "wheelbarrow" in reader.text("main"), "nothing is forgotten")
    reader.click(".day a")
    button = reader.wait(lambda: reader.one(".confirm button"), "the button")
    reader.run("arguments[0].focus()", button)
    reader.press(Keys.ENTER)
    reader.wait(lambda: reader.text("[role=status]").startswith("Forgotten"), "it is forgotten")
    assert "wheelbarrow" not in " ".join(each.text for each in reader.all(".said"))
    assert "wheelbarrow" in reader.text(".noted"), "the note that still has it is named"


def test_a_guest_is_given_the_memory_and_made_a_guest_again(reader: Window) -> None:
    reader.open("/people")
    press(reader, "Give access to the memory", told="use the memory")
    press(reader, "Make a guest", told="as a guest")


def press(reader: Window, act: str, *, told: str) -> None:
    """Press Jonas's button by keyboard, and wait until the page says that it is done."""
    button = reader.one(f'button[aria-label="{act}: Jonas, discord:22"]')
    reader.run("arguments[0].focus()", button)
    reader.press(Keys.ENTER)
    reader.wait(lambda: told in reader.text("[role=status]"), act)


def test_the_menu_fits_on_a_phone(reader: Window) -> None:
    reader.resize(*PHONE)
    reader.open("/conversations")
    reader.click(".menu summary")
    box = reader.run("return document.querySelector('.menu > ul').getBoundingClientRect().toJSON()")
    assert box["left"] >= 0
    assert box["right"] <= PHONE[0]
