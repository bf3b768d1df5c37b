"""What a person types is not lost; going back, reloading and the menu do what one expects."""

import time

import pytest
from selenium.webdriver.common.keys import Keys

from bot import phrases
from bot.web.session import SESSION, SESSION_SECONDS, new_session
from tests.browser.service import TOKEN, Service
from tests.browser.test_accessibility import AXE, violations
from tests.browser.window import PHONE, WIDE, Window

ASKS = """
    const leaving = new Event("beforeunload", {cancelable: true});
    dispatchEvent(leaving);
    return leaving.defaultPrevented;
"""
SEEN = "return document.body.innerText + (document.querySelector('#text')?.value ?? '')"


def asks(window: Window) -> bool:
    """Whether the browser asks before it leaves the page that somebody uses; the driver would answer by itself."""
    window.press(Keys.SHIFT)
    return bool(window.run(ASKS))


def look_well(window: Window) -> None:
    """See that axe-core finds nothing wrong on a phone and a wide screen."""
    for scheme, size in (("dark", PHONE), ("light", WIDE)):
        window.prefer(prefers_color_scheme=scheme)
        window.resize(*size)
        if AXE.exists():
            assert violations(window, AXE.read_text("utf-8")) == [], (window.path, scheme, size)


def type_text(window: Window, text: str) -> None:
    window.one("#text").send_keys(Keys.CONTROL, Keys.END)
    window.press(text)


@pytest.mark.parametrize("is_scripted", [True, False])
def test_what_was_typed_when_the_session_ended_is_saved_after_signing_in(
    reader: Window, household: Service, is_scripted: bool
) -> None:
    file = household.memory / "recipes/bread.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text("# Bread\n\nFlour.\n")
    if not is_scripted:
        reader.forbid_scripts()
    reader.open("/edit/recipes/bread.md")
    type_text(reader, "Yeast.")
    reader.driver.delete_all_cookies()
    reader.click("button[value=save]")
    reader.wait(lambda: reader.one("#token"), "the page asks for the token")
    reader.expect("401")
    assert reader.one("#sent-text").get_attribute("value") == "# Bread\n\nFlour.\nYeast."
    if is_scripted:
        assert asks(reader)
        look_well(reader)
    reader.one("#token").send_keys(TOKEN + Keys.ENTER)
    reader.wait(lambda: reader.text("h1") == phrases.WEB_NOT_SENT_TITLE, "what was typed")
    assert file.read_text() == "# Bread\n\nFlour.\n"
    if is_scripted:
        assert asks(reader)
        look_well(reader)
    reader.click(".buttons button")
    reader.wait(lambda: "Saved." in reader.text("main"), "it is saved")
    assert file.read_text() == "# Bread\n\nFlour.\nYeast.\n"


def test_going_back_to_an_answer_of_a_form_shows_the_form(reader: Window, household: Service) -> None:
    (household.memory / "recipes").mkdir(exist_ok=True)
    (household.memory / "recipes/tea.md").write_text("# Tea\n\nWater.\n")
    reader.open("/edit/recipes/tea.md")
    type_text(reader, "Leaves.")
    reader.click("button[value=preview]")
    reader.wait(lambda: reader.all("#preview"), "the preview")
    reader.click("button[value=save]")
    reader.wait(lambda: "Saved." in reader.text("main"), "it is saved")
    reader.driver.back()
    reader.wait(lambda: reader.all("#text"), "the form, and no error of the browser")
    assert reader.all("#preview") == []
    assert reader.one("#text").get_attribute("value") == "# Tea\n\nWater.\nLeaves.\n"

    reader.open("/")
    reader.one("#log-add").send_keys(" ")
    reader.click("form.add button")
    reader.wait(lambda: reader.all("#log-problem"), "it says that this is blank")
    reader.expect("400")
    assert reader.path == "/"
    reader.driver.refresh()
    reader.wait(lambda: not reader.all("#log-problem"), "the page anew")


def test_leaving_asks_if_something_would_be_lost(reader: Window) -> None:
    reader.open("/edit/house/boiler.md")
    assert not asks(reader)
    type_text(reader, "x")
    assert asks(reader)
    reader.press(Keys.BACKSPACE)
    assert not asks(reader)
    type_text(reader, "x")
    reader.click("button[value=preview]")
    reader.wait(lambda: reader.all("#preview"), "the preview")
    assert asks(reader), "a preview saves nothing"
    reader.run(
        "document.querySelector('form.note-form').addEventListener('submit', (event) => event.preventDefault())"
    )
    reader.click("button[value=save]")
    assert not asks(reader), "it is being sent"
    for path, field in (("/new-note", "#path"), ("/", "#log-add")):
        reader.open(path)
        assert not asks(reader)
        reader.one(field).send_keys("x")
        assert asks(reader), path


def test_a_page_that_finds_itself_signed_out_keeps_what_was_typed(reader: Window) -> None:
    reader.open("/")
    reader.one("#log-add").send_keys("half a li")
    reader.driver.delete_all_cookies()
    reader.run("document.dispatchEvent(new Event('visibilitychange'))")
    reader.wait(lambda: reader.text("#unreachable").startswith("You are signed out."), "it says so")
    reader.expect("401")
    assert reader.one("#log-add").get_attribute("value") == "half a li"
    reader.press("ne")
    reader.click("form.add button")
    reader.wait(lambda: reader.all("#token"), "the page asks for the token")
    reader.expect("401")
    assert reader.one("#sent-text").get_attribute("value") == "half a line"


def test_a_line_that_was_added_is_not_in_the_box_any_more(reader: Window) -> None:
    reader.open("/")
    reader.one("#log-add").send_keys("the hedge is cut")
    reader.click("form.add button")
    reader.wait(lambda: reader.all(".done"), "it is noted")
    reader.driver.back()
    reader.wait(lambda: reader.all("#log-add") and not reader.all(".done"), "the page before")
    time.sleep(0.3)
    assert reader.one("#log-add").get_attribute("value") == ""
    reader.one("#log-add").send_keys("and the lawn")
    reader.open("/system")
    reader.driver.back()
    reader.wait(lambda: reader.one("#log-add").get_attribute("value") == "and the lawn", "what was not sent")


def test_what_the_browser_has_kept_is_fetched_anew(reader: Window) -> None:
    reader.open("/notes/house/boiler.md")
    reader.run("document.querySelector('h1').textContent = 'forgotten words'")
    reader.run("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    reader.wait(lambda: reader.text("h1") == "boiler.md", "the page anew")
    reader.open("/edit/house/boiler.md")
    type_text(reader, "mine")
    reader.run("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    time.sleep(0.3)
    assert str(reader.one("#text").get_attribute("value")).endswith("mine")


def test_going_back_shows_what_is_so_now(reader: Window, household: Service) -> None:
    file = household.memory / "recipes/jam.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text("# Jam\n\nPlums and a secret.\n")
    reader.open("/notes/recipes/jam.md")
    assert "secret" in reader.text(".note")
    reader.click("a[href='/edit/recipes/jam.md']")
    reader.wait(lambda: reader.all("#text"), "the form")
    reader.one("#text").clear()
    reader.one("#text").send_keys("# Jam\n\nPlums.")
    reader.click("button[value=save]")
    reader.wait(lambda: "Saved." in reader.text("main"), "it is saved")
    for path in ("/edit/recipes/jam.md", "/notes/recipes/jam.md"):
        reader.driver.back()
        reader.wait(lambda: reader.path == path and reader.run(SEEN), path)  # noqa: B023
        reader.wait(lambda: "secret" not in str(reader.run(SEEN) or "secret"), "what is so now")


def test_escape_and_a_click_elsewhere_close_the_menu(reader: Window) -> None:
    reader.open("/")
    for is_by_key in (True, False):
        reader.click(".menu summary")
        reader.wait(lambda: reader.one(".menu a[href='/people']").is_displayed(), "the menu")
        if is_by_key:
            reader.press(Keys.ESCAPE)
        else:
            reader.click("#log-title")
        reader.wait(lambda: not reader.one(".menu a[href='/people']").is_displayed(), "closed")
    reader.click(".menu summary")
    reader.one(".menu a[href='/people']").send_keys(Keys.ESCAPE)
    assert reader.focused == "More"


def test_an_error_is_a_page_with_the_menu(reader: Window) -> None:
    reader.open("/nothing/here")
    reader.expect("404")
    assert reader.text("h1") == phrases.WEB_NO_PAGE
    look_well(reader)
    reader.click("a[href='/notes/']")
    reader.wait(lambda: reader.path == "/notes/", "the notes")


def test_a_session_in_use_is_renewed(reader: Window) -> None:
    old = new_session(TOKEN, now=time.time() - SESSION_SECONDS / 2)
    reader.keep_cookie(SESSION, old)
    reader.open("/system")
    (cookie,) = reader.driver.get_cookies()
    assert cookie["expiry"] > time.time() + SESSION_SECONDS - 120
    reader.click("form[data-rebuild] button")
    reader.wait(lambda: reader.text("#progress").startswith("Rebuilt"), "the form of the page is still good")
