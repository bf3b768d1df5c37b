import pytest

from tests.browser.pages import ANSWERED_404, PAGES
from tests.browser.service import CHAIN
from tests.browser.window import PHONE, Window

NARROWEST = (320, 640)
NARROW = (390, 844)
WIDTHS = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth, innerWidth]"
LIGHTNESS = """
    const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + part / 765, 0);
    const {backgroundColor, color} = getComputedStyle(document.body);
    return [light(backgroundColor), light(color)];
"""


@pytest.mark.parametrize("path", ["/", "/notes/house/boiler.md", "/sign-in"])
def test_it_is_dark_where_people_like_it_dark_and_follows_when_they_change_their_mind(
    reader: Window, path: str
) -> None:
    reader.open(path)
    for scheme, paper, ink in (("light", 1, 0), ("dark", 0, 1), ("light", 1, 0)):
        reader.prefer(prefers_color_scheme=scheme)
        assert reader.run(LIGHTNESS) == [pytest.approx(paper, abs=0.2), pytest.approx(ink, abs=0.2)], scheme


def test_nothing_moves_where_people_do_not_like_it(reader: Window) -> None:
    moving = """
        return [...document.querySelectorAll("*")].filter((each) => {
            const style = getComputedStyle(each);
            return style.transitionDuration !== "0s" || style.animationName !== "none"
                || style.scrollBehavior !== "auto";
        }).length
    """
    reader.open("/")
    assert reader.run(moving) == 1, "the link that comes in from above"
    reader.prefer(prefers_reduced_motion="reduce")
    assert reader.run(moving) == 0


@pytest.mark.parametrize("name", [*PAGES, "sign in"])
def test_no_page_is_wider_than_a_phone_with_text_of_twice_the_size_too(reader: Window, name: str) -> None:
    reader.open(PAGES.get(name, "/sign-in"))
    for times in (1, 2):
        reader.enlarge_text(times)
        for size in (PHONE, NARROWEST):
            reader.resize(*size)
            assert reader.run(WIDTHS) == [size[0]] * 3, (size, times)
        assert reader.run("return getComputedStyle(document.documentElement).fontSize") == f"{16 * times}px"
    if name in ANSWERED_404:
        reader.expect("404")


@pytest.mark.parametrize("size", [NARROW, NARROWEST])
def test_text_of_twice_the_size_fits_the_head_of_a_phone(reader: Window, size: tuple[int, int]) -> None:
    reader.resize(*size)
    reader.enlarge_text(2)
    reader.open("/")
    assert reader.one(".skip").rect["y"] + reader.one(".skip").rect["height"] <= 0
    reader.click(".menu summary")
    for each in [reader.one(".menu > ul"), *reader.all(".menu a"), *reader.all(".menu button")]:
        assert each.rect["x"] >= 0
        assert each.rect["x"] + each.rect["width"] <= size[0], each.text


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_does_not_zoom_in_when_somebody_types(reader: Window, name: str) -> None:
    reader.resize(*NARROW)
    reader.open(PAGES[name])
    small = reader.run(
        "return [...document.querySelectorAll('input:not([type=hidden], [type=checkbox]), select, textarea')]"
        ".filter((each) => parseFloat(getComputedStyle(each).fontSize) < 16).map((each) => each.outerHTML)"
    )
    assert small == []
    if name in ANSWERED_404:
        reader.expect("404")


def test_a_wide_screen_is_used(reader: Window) -> None:
    reader.open("/")
    left, right = (reader.one(f"[aria-labelledby={name}-title]").rect for name in ("memory", "channels"))
    assert left["y"] == right["y"]
    reader.resize(*PHONE)
    left, right = (reader.one(f"[aria-labelledby={name}-title]").rect for name in ("memory", "channels"))
    assert left["x"] == right["x"]


def test_how_the_models_fared_is_drawn(reader: Window) -> None:
    reader.open("/models")
    charts = reader.all("#models svg.chart")
    assert len(charts) == 6, "two each, of three models that were asked"
    for number, chart in enumerate(charts):
        told, model = chart.accessible_name, CHAIN[number // 2]
        assert model in told
        assert chart.rect["width"] > 200
        if model != "builtin/notebook":
            assert chart.find_elements("css selector", ".answered" if number % 2 == 0 else ".mean")
    assert reader.text("#models > ul > li:last-child figure:last-child figcaption") == "waits not measured"
    assert "in the last 24 hours" in str(reader.one("#models desc").get_attribute("textContent"))
