from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.window import Window


def search(window: Window, words: str, *, path: str = "/") -> list[WebElement]:
    """Type it into the box of this page; give the passages."""
    if window.path != path:
        window.open(path)
    window.one("#q").clear()
    window.one("#q").send_keys(words + Keys.ENTER)
    window.wait(lambda: f"“{words}”" in window.text(".found-count"), "the answer")
    return window.all(".passages > li")


def part(passage: WebElement, selector: str) -> str:
    return passage.find_element("css selector", selector).text


def scores(passage: WebElement) -> dict[str, str]:
    names, values = (passage.find_elements("css selector", f".scores {tag}") for tag in ("dt", "dd"))
    return {name.text: value.text for name, value in zip(names, values, strict=True)}


@pytest.mark.parametrize(
    ("words", "place", "marked"),
    [
        ("chimney sweep", "house/papers/2026.md:4", "Chimney sweep"),
        ("SCHUHGRÖSSE", "Größen.md:3-4", "Schuhgröße Schuhgröße"),
        ("清水寺", "trips/京都.md:3-4", "清水寺"),
        ("备用钥匙", "家/备用钥匙.md:3", "备用钥匙"),
        ("หนังสือเดินทาง", "ครอบครัว.md:3", "หนังสือเดินทาง"),
        ("طبيب الأسنان", "العائلة.md:3", "طبيب الأسنان"),
    ],
    ids=["English", "German", "Japanese", "Chinese", "Thai", "Arabic"],
)
def test_a_passage_in_any_script_is_found_and_marked_and_leads_to_its_line(
    reader: Window, words: str, place: str, marked: str
) -> None:
    first = search(reader, words)[0]
    assert reader.path == f"/search?q={quote(words).replace('%20', '+')}"
    assert part(first, ".place") == place
    shown = " ".join(each.text for each in first.find_elements("css selector", "blockquote mark"))
    assert shown == marked
    told = scores(first)
    assert list(told) == ["Score", "by meaning", "by words"]
    assert all(0 <= float(score) <= 1 for score in told.values())
    assert float(told["by words"]) > 0.2

    first.find_element("css selector", ".place a").click()
    path, _, lines = place.rpartition(":")
    line = lines.partition("-")[0]
    reader.wait(lambda: reader.path == f"/notes/{quote(path)}#L{line}", "the note")
    target = reader.one(":target")
    assert target.get_attribute("data-line") == line
    around = target.find_element("xpath", "./..")
    assert marked.partition(" ")[0] in around.text
    assert around.value_of_css_property("background-color") != "rgba(0, 0, 0, 0)", "the line stands out"


def test_what_means_the_same_is_found_by_meaning_alone(reader: Window) -> None:
    passages = search(reader, "heating")
    told = scores(passages[0])
    assert "oiler" in part(passages[0], "blockquote")
    assert passages[0].find_elements("css selector", "mark") == []
    assert float(told["by meaning"]) > 0.3
    assert float(told["by words"]) == 0


def test_a_hit_far_down_in_a_long_note_is_scrolled_to(reader: Window) -> None:
    first = search(reader, "Line 2101")[0]
    first.find_element("css selector", ".place a").click()
    reader.wait(lambda: reader.path == "/notes/long.md?line=2101#L2101", "the note")
    top = reader.run("return document.querySelector(':target').getBoundingClientRect().top")
    assert 0 < top < 600


def test_the_status_page_searches_without_being_left(reader: Window) -> None:
    reader.open("/")
    reader.run("window.same = true")
    search(reader, "peonies")
    assert reader.run("return window.same")
    assert reader.focused == "Search", "for the next words"
    assert "1 passage" in str(reader.run("return document.getElementById('announcement').textContent"))
    reader.driver.back()
    reader.wait(lambda: reader.path == "/" and not reader.all(".found-count"), "as it was before")


def test_nothing_is_found_for_what_stands_nowhere(reader: Window) -> None:
    assert search(reader, "zyzzyva") == []
    assert reader.text(".found-count") == "Nothing found for “zyzzyva”"


def test_what_is_asked_is_shown_as_it_was_typed(reader: Window) -> None:
    words = "\"><b>&quot;'{{ 7*7 }}</b><script>document.title = 1</script>"
    for path in ("/", "/search"):
        search(reader, words, path=path)
        assert reader.text(".found-count").endswith(f" for “{words}”")
        assert reader.all("#found b, #found script") == []
        reader.open(reader.path)
        assert reader.one("#q").get_attribute("value") == words


def test_without_scripts_it_searches_as_well(reader: Window) -> None:
    reader.forbid_scripts()
    assert search(reader, "peonies")
    assert reader.path == "/search?q=peonies&source=notes"
    assert reader.one("mark").text == "peonies"


def test_what_was_said_is_searched_where_that_is_chosen(reader: Window) -> None:
    reader.open("/")
    reader.click("#source option[value=conversations]")
    found = search(reader, "boiler serviced")
    (said,) = (each for each in found if "When was the boiler serviced?" in part(each, "blockquote"))
    assert part(said, ".place").startswith("Anna (Telegram), ")
    assert list(scores(said)) == ["Score"]
    assert reader.path == "/search?q=boiler+serviced&source=conversations"
    reader.driver.refresh()
    reader.wait(lambda: "boiler serviced" in reader.text(".found-count"), "the same after a reload")
    assert reader.one("#source").get_property("value") == "conversations"
