import re

from tests.browser.conftest import MANY
from tests.browser.window import Window

DONE = re.compile(rf"Rebuilt \d\d:\d\d, just now: {MANY:,} notes in \d+(\.\d)? s")
READ = """
    const bar = document.querySelector("#progress progress[value]");
    return bar && [bar.value, bar.max];
"""


def test_a_rebuild_shows_how_far_it_is_and_how_it_ended(archivist: Window) -> None:
    archivist.open("/")
    archivist.run("window.same = true")
    button = archivist.one("[data-rebuild] button")
    button.click()
    seen: list[int] = []

    def ended() -> bool:
        if found := archivist.run(READ):
            value, most = found
            assert most == MANY
            seen.append(value)
        return bool(seen) and not found and archivist.all("#progress .last") != []

    archivist.wait(ended, "the end of the rebuild", seconds=60)
    assert seen == sorted(seen)
    assert len(set(seen)) >= 2, "it moves"
    assert DONE.fullmatch(archivist.text("#progress .last"))
    announced = archivist.run("return document.getElementById('announcement').textContent")
    assert announced == archivist.text("#progress .last")
    assert archivist.run("return window.same"), "the page was not left"
    assert archivist.focused == "Rebuild the index"


def test_one_can_search_meanwhile(archivist: Window) -> None:
    archivist.open("/")
    archivist.click("[data-rebuild] button")
    archivist.wait(lambda: archivist.run(READ), "how far it is")
    archivist.one("#q").send_keys("chimney\n")
    archivist.wait(lambda: archivist.all(".passages > li"), "passages")
    assert archivist.run(READ), "it still runs"
    archivist.wait(lambda: archivist.all("#progress .last"), "the end of the rebuild", seconds=60)


def test_without_scripts_the_page_comes_anew_until_it_is_done(archivist: Window) -> None:
    archivist.forbid_scripts()
    archivist.open("/")
    archivist.click("[data-rebuild] button")
    archivist.wait(lambda: archivist.all("#progress progress"), "that it runs")
    assert archivist.path.endswith("#memory")
    assert archivist.all("#progress .last") == []
    archivist.wait(lambda: archivist.all("#progress .last"), "the end of the rebuild", seconds=60)
    assert DONE.fullmatch(archivist.text("#progress .last").replace("now :", "now:"))
    assert archivist.all("noscript meta") == [], "and comes no more"
