"""Take a picture of every page and state for docs/pictures/pages, and list them in its README.md.

Each picture shows one page four times: on a wide screen and on a phone, light and dark. The pages are those that
the tests in the browser look at (tests/browser/pages.py); names and notes that mean no good are among them. Needs
chromium and chromedriver. `python scripts/take_page_pictures.py [NAME…]` takes some of them, such as "edit".
"""

import argparse
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from selenium.webdriver.common.keys import Keys

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bot.web.session import SESSION, new_session
from tests.browser.household import household_service
from tests.browser.pages import PAGES
from tests.browser.service import TOKEN, Service
from tests.browser.window import Window, missing_programs, opened_window

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "pages"
WIDE, PHONE = (1280, 900), (390, 900)
GAP = 20
SCALE = 0.7
QUALITY = 60
SETTLE_SECONDS = 0.3

HEADING = """# Every page

Each on a wide screen and on a phone, light and dark. The names and notes are those of the tests, so some mean no good.
`make pictures` takes them all.
"""
BOILER = "/edit/house/boiler.md"


def sign_in_wrongly(window: Window, service: Service) -> None:
    window.driver.delete_all_cookies()
    window.open("/sign-in")
    window.one("#token").send_keys("wrong" + Keys.ENTER)
    window.wait(lambda: window.one("[role=alert]"), "it says that the token is wrong")


def preview(window: Window, service: Service) -> None:
    window.open(BOILER)
    window.one("textarea").send_keys(Keys.CONTROL, Keys.END)
    window.press("\n- [ ] bleed the radiators\n- [x] call Herr Brandt")
    window.click("button[value=preview]")
    window.wait(lambda: window.one(".note input[type=checkbox]"), "the preview")


def conflict(window: Window, service: Service) -> None:
    window.open(BOILER)
    window.one("textarea").send_keys(Keys.CONTROL, Keys.END, "\nMine.")
    file = service.memory / "house" / "boiler.md"
    before = file.read_text("utf-8")
    file.write_text(before + "\nSomebody else's.\n", "utf-8")
    window.click("main form:has(textarea) button")
    window.wait(lambda: len(window.all("textarea, pre")) > 1, "both versions")
    file.write_text(before, "utf-8")


def name_taken(window: Window, service: Service) -> None:
    window.open("/new-note?folder=house")
    window.one("[name=path]").send_keys("boiler")
    window.one("[name=text]").send_keys("# Boiler")
    window.one("[name=path]").submit()
    window.wait(lambda: window.one("[role=alert]"), "it says that the name is taken")


STATES: dict[str, Callable[[Window, Service], None]] = {
    "edit preview": preview,
    "edit conflict": conflict,
    "new note refused": name_taken,
    "sign in refused": sign_in_wrongly,
}
"""What a form was answered with."""


def four_views(window: Window) -> Image.Image:
    """Return what is seen of the page now, wide and on a phone, light above dark."""
    views: list[list[Image.Image]] = []
    for scheme in ("light", "dark"):
        window.prefer(prefers_color_scheme=scheme)
        views.append([])
        for size in (WIDE, PHONE):
            window.resize(*size)
            time.sleep(SETTLE_SECONDS)
            views[-1].append(Image.open(io.BytesIO(window.picture())).convert("RGB"))
    width = WIDE[0] + GAP + PHONE[0]
    sheet = Image.new("RGB", (width, 2 * WIDE[1] + GAP), "#808080")
    for row, (wide, phone) in enumerate(views):
        sheet.paste(wide, (0, row * (WIDE[1] + GAP)))
        sheet.paste(phone, (WIDE[0] + GAP, row * (WIDE[1] + GAP)))
    return sheet.resize((round(sheet.width * SCALE), round(sheet.height * SCALE)), Image.Resampling.LANCZOS)


def take(window: Window, service: Service, name: str) -> None:
    """Take the picture of a page or a state."""
    window.start_anew(service.address)
    window.keep_cookie(SESSION, new_session(TOKEN, now=time.time()))
    if name in PAGES:
        window.open(PAGES[name])
    else:
        STATES[name](window, service)
    file = PICTURES / f"{name.replace(' ', '-')}.webp"
    four_views(window).save(file, quality=QUALITY, method=6)
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB", flush=True)


def write_list() -> None:
    """Write README.md: a heading and a picture for each."""
    pictures = [
        f"## {name.capitalize()}\n\n![{name.capitalize()}]({name.replace(' ', '-')}.webp)\n"
        for name in (*PAGES, *STATES)
    ]
    (PICTURES / "README.md").write_text("\n".join((HEADING, *pictures)), "utf-8")


def main() -> None:
    """Start the tests' household and take the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as: edit, edit conflict; without, all")
    names = parser.parse_args().names or [*PAGES, *STATES]
    if unknown := [each for each in names if each not in PAGES and each not in STATES]:
        parser.error(f"there is no {', '.join(unknown)}; there are: {', '.join((*PAGES, *STATES))}")
    if missing := missing_programs():
        sys.exit(f"there is no {missing} here; on Debian: apt install chromium chromium-driver")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "browser")
        home.mkdir()
        with household_service(Path(folder, "service")) as service, opened_window(home) as window:
            for name in names:
                take(window, service, name)
    write_list()


if __name__ == "__main__":
    main()
