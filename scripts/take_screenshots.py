"""Take the screenshots for the documentation: docs/pictures/*.png.

The service is started as in the tests, with made-up notes, and viewed in Chromium. Needs chromium and
chromedriver; fonts are those of the machine.
"""

import asyncio
import io
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bot.web.session import SESSION, new_session
from tests.browser import notes
from tests.browser.service import TOKEN, Outside, Service, serving, write_past, write_upcoming
from tests.browser.window import Window, missing_programs, opened_window
from tests.fakes.model_server import ModelAnswer

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
MAX_BYTES = 150_000
COLORS = 128
"""Enough for pages with few colours, at a quarter of the size."""
SHARPNESS = 1.5
SETTLE_SECONDS = 0.4
"""Seconds until a page has finished rendering."""
DAYS = 240
"""Number of days with a log."""
ZONE = "Europe/Berlin"
NOTED = ("Zoë has borrowed the ladder", "The wheelbarrow is with Omar")
QUESTION = "When was the boiler serviced, and by whom?"
ANSWER = "In May 2026, by Herr Brandt (house/boiler.md:3). The next service is due in May 2027."


@dataclass(frozen=True, slots=True)
class Picture:
    """One screenshot."""

    name: str
    path: str
    size: tuple[int, int]
    """Width and height of the window in CSS pixels."""
    scheme: str = "light"


SCREENSHOTS = (
    Picture("status", "/", (1120, 1400)),
    Picture("status-dark", "/", (1120, 1400), "dark"),
    Picture("phone", "/", (390, 844)),
    Picture("search", "/search?q=boiler+service", (1120, 800)),
    Picture("note", "/notes/house/boiler.md#L8", (1120, 940)),
)


def take_picture(window: Window, picture: Picture) -> None:
    """Take a screenshot and save it with few colours."""
    window.prefer(prefers_color_scheme=picture.scheme)
    window.resize(*picture.size, sharpness=SHARPNESS)
    window.open("/sign-in")  # from one anchor to another of the same page nothing would be loaded
    window.open(picture.path)
    time.sleep(SETTLE_SECONDS)
    with Image.open(io.BytesIO(window.picture())) as image:
        few = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    file = PICTURES / f"{picture.name}.png"
    few.save(file, optimize=True)
    size = file.stat().st_size
    print(f"{file.relative_to(ROOT)}: {size / 1000:.0f} kB")
    if size > MAX_BYTES:
        sys.exit(f"{file.name} is larger than {MAX_BYTES / 1000:.0f} kB")


def make_conversation(outside: Outside) -> None:
    """Have somebody ask something in Telegram."""
    outside.model.always(ModelAnswer(ANSWER))
    anna = outside.telegram.person(7, "Anna", started=True)
    outside.telegram.do(anna.say(QUESTION))
    outside.telegram.do(anna.chat.answer(containing="Brandt"))


def take_all(service: Service, folder: Path) -> None:
    """Take all screenshots."""
    with opened_window(folder) as window:
        window.start_anew(service.address)
        window.keep_cookie(SESSION, new_session(TOKEN, now=time.time()))
        for picture in SCREENSHOTS:
            take_picture(window, picture)


def main() -> None:
    """Create a made-up household and take its screenshots."""
    if missing := missing_programs():
        sys.exit(f"there is no {missing} here; on Debian: apt install chromium chromium-driver")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder, browser = Path(name, "service"), Path(name, "browser")
        browser.mkdir()
        notes.write_household(folder / "workspace" / "memory", datetime.now(UTC).date(), days=DAYS)
        private = folder / "workspace" / ".commonplace"
        asyncio.run(write_past(private, time.time()))
        asyncio.run(write_upcoming(private, datetime.now(ZoneInfo(ZONE))))
        outside = Outside()
        with (
            outside.running(),
            serving(folder, outside.settings(answers=True), token=TOKEN, zone=ZONE) as service,
        ):
            for each in NOTED:
                service.commonplace.output_of("memory", "write", each)
            make_conversation(outside)
            take_all(service, browser)


if __name__ == "__main__":
    main()
