"""Folders and notes, and those among them that mean no good."""

import re

from tests.browser.notes import HOSTILE_NAME
from tests.browser.window import Window

LEADS_WELL = """
    return [...document.querySelectorAll("a[href]")].map((link) => link.protocol + link.host).filter(
        (to) => to !== "http:" + location.host && to !== "http:" && to !== "https:elsewhere.example"
            && to !== "https:example.org");
"""
BROUGHT_ALONG = """
    return document.querySelectorAll(
        "main :is(script, style, img, iframe, object, embed, base, meta, link, form, input), [style]").length
        + [...document.querySelectorAll("*")].flatMap((each) => [...each.attributes])
            .filter(({name}) => name.startsWith("on")).length;
"""


def follow(window: Window, words: str) -> None:
    """Click on the link that is called so."""
    before = window.driver.current_url
    window.driver.find_element("link text", words).click()
    window.wait(lambda: window.driver.current_url != before, f"what {words} leads to")


def test_folders_lead_to_notes_and_back(reader: Window) -> None:
    reader.open("/")
    follow(reader, "Notes")
    assert reader.text("h1") == "Notes"
    assert reader.one("nav [aria-current]").text == "Notes"
    follow(reader, "house")
    follow(reader, "papers")
    assert [each.text for each in reader.all(".steps a")] == ["Notes", "house", "papers"]
    follow(reader, "house")
    follow(reader, "boiler.md")
    assert reader.text("h1") == "boiler.md"
    assert reader.driver.title == "house/boiler.md – Commonplace"
    assert [each.text for each in reader.all(".note td")][:3] == [
        "E119",
        "too little water",
        "fill up to 1.5 bar",
    ]
    follow(reader, "the folder of the house")
    assert reader.path == "/notes/house/papers/2026.md"
    follow(reader, "Plain text")
    assert reader.text("body").startswith("# Papers of 2026")


def test_each_line_has_an_anchor(reader: Window) -> None:
    reader.open("/notes/house/boiler.md")
    lines = reader.run("return [...document.querySelectorAll('.note [id^=L]')].map((each) => each.id)")
    assert lines == [f"L{number}" for number in range(1, 25)]
    for number in (7, 13, 21, 24):
        reader.open(f"/notes/house/boiler.md#L{number}")
        assert reader.one(":target").get_attribute("id") == f"L{number}"


def test_a_long_note_comes_in_parts(reader: Window) -> None:
    reader.open("/notes/long.md")
    first, last = read_part(reader)
    assert (first, last > 100) == (1, True)
    follow(reader, "Next →")
    assert read_part(reader)[0] == last + 1
    assert reader.run("return document.querySelector(':target').getBoundingClientRect().top") >= 0
    follow(reader, "← Previous")
    assert reader.path.startswith("/notes/long.md#L1")


def read_part(window: Window) -> tuple[int, int]:
    """The first and the last line of the part that is shown of the long note."""
    shown = re.fullmatch(r"lines ([\d,]+) to ([\d,]+) of 2,500", window.text(".note-name .count"))
    assert shown
    first, last = (int(each.replace(",", "")) for each in shown.groups())
    return first, last


def test_hostile_notes_do_nothing(reader: Window) -> None:
    for folder in ("/notes/hostile/x'%20onclick='y/", "/notes/hostile/"):
        reader.open(folder)
        assert (reader.run(BROUGHT_ALONG), reader.run(LEADS_WELL)) == (0, []), folder
        addresses = [str(each.get_attribute("href")) for each in reader.all(".notes a")]
        assert addresses
        for address in addresses:
            reader.open(address.removeprefix(reader.address))
            assert reader.path == address.removeprefix(reader.address)
            assert (reader.run(BROUGHT_ALONG), reader.run(LEADS_WELL)) == (0, []), address
    reader.open("/notes/")
    assert (reader.run(BROUGHT_ALONG), reader.run(LEADS_WELL)) == (0, [])
    follow(reader, f"{HOSTILE_NAME}.md")
    assert (reader.run(BROUGHT_ALONG), reader.run(LEADS_WELL)) == (0, [])
    assert reader.driver.title == f"{HOSTILE_NAME}.md – Commonplace"
    told = reader.text(".note")
    assert '<script>document.title = "broken"</script>' in told
    assert reader.one(".note a").text == "picture"


def test_hostile_names_do_nothing_in_what_a_search_finds(reader: Window) -> None:
    reader.open("/search?q=hostility")
    found = {each.text.partition(".md")[0] for each in reader.all(".place")}
    assert found >= {
        "hostile/javascript:document.title='broken'",
        "hostile/a?b#c%2e%2e&amp;",
        "hostile/x' onclick='y/note",
    }
    assert (reader.run(BROUGHT_ALONG.replace("form, input", "object")), reader.run(LEADS_WELL)) == (0, [])
    for number in range(3):
        reader.open("/search?q=hostility")
        reader.all(".place a")[number].click()
        reader.wait(lambda: "hostility" in reader.text(".note"), "the note")


def test_what_the_page_forbids_would_be_told(reader: Window) -> None:
    reader.open("/")
    reader.run(
        "document.body.setAttribute('style', 'color: red');"
        "document.body.append(Object.assign(new Image(), {src: 'https://elsewhere.example/pixel.png'}));"
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'document.title = 1'}));"
    )
    reader.wait(lambda: len(reader.heard()) >= 3, "complaints")
    assert reader.driver.title != "1"
    reader.expect("style-src", "img-src", "script-src")
    assert reader.foreign_requests == ["https://elsewhere.example/pixel.png"]
    reader.requests.clear()
