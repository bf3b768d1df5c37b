from selenium.webdriver.common.keys import Keys

from bot import phrases
from tests.browser.service import TOKEN
from tests.browser.window import Window


def test_whoever_knows_the_token_comes_in_stays_and_leaves(visitor: Window) -> None:
    visitor.open("/")
    assert visitor.driver.title == "Sign in – Commonplace"
    assert visitor.all("[role=alert]") == [], "not to know it yet is no mistake"
    visitor.one("#token").send_keys("wrong" + Keys.ENTER)
    told = visitor.wait(lambda: visitor.one("[role=alert]"), "it says that the token is wrong")
    assert told.text == phrases.WEB_WRONG
    assert visitor.focused == "Token", "to be typed again at once"
    visitor.expect("401")

    visitor.press(TOKEN, Keys.ENTER)
    visitor.wait(lambda: visitor.one("#memory"), "the status page")
    (cookie,) = visitor.driver.get_cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], "expiry" in cookie) == (True, "Lax", True)
    assert TOKEN not in visitor.driver.page_source + visitor.driver.current_url + cookie["value"]
    for path in ("/notes/", "/search?q=boiler", "/"):
        visitor.open(path)
        assert visitor.all("#token") == [], path

    visitor.click(".menu summary")
    visitor.click("form[action='/sign-out'] button")
    visitor.wait(lambda: visitor.one("#token"), "signed out")
    visitor.driver.back()
    visitor.wait(lambda: visitor.one("#token"), "what was seen before is not shown again")
    visitor.open("/notes/house/boiler.md")
    assert visitor.one("#token")
    visitor.expect("401")


def test_signing_in_leads_to_where_one_wanted_to_go(visitor: Window) -> None:
    visitor.open("/notes/house/boiler.md")
    visitor.one("#token").send_keys(TOKEN + Keys.ENTER)
    visitor.wait(lambda: visitor.text("h1") == "boiler.md", "the note")
    assert visitor.path == "/notes/house/boiler.md"
    visitor.expect("401")


def test_somebody_who_reads_is_asked_again_once_the_session_is_over(reader: Window) -> None:
    reader.open("/")
    reader.one("#q").send_keys("boiler")
    reader.driver.delete_all_cookies()
    reader.press(Keys.ENTER)
    reader.wait(lambda: reader.one("#token"), "the page asks for the token")
    reader.expect("401")


def test_without_a_token_the_page_comes_at_once(archivist: Window) -> None:
    archivist.open("/")
    assert archivist.text("#attention").endswith("Nothing needs your attention.")
    assert archivist.all("textarea") == []
    assert archivist.all("form[action='/sign-out']") == []
    assert archivist.driver.get_cookies() == []
