"""A window of Chromium, driven by selenium, that keeps what it asked for and what it complained of."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from selenium.common.exceptions import (
    NoSuchElementException,
    SessionNotCreatedException,
    StaleElementReferenceException,
)
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

T = TypeVar("T")

FLAGS = (
    "--headless=new",
    # Root has no sandbox, nor has a container; and it opens nothing but our own pages.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-features=MediaRouter,OptimizationHints,Translate",
    "--disable-sync",
    "--metrics-recording-only",
    "--password-store=basic",
    "--no-proxy-server",
    # Whatever it might want from elsewhere is not found.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)
WIDE = (1280, 900)
PHONE = (360, 740)
PATIENCE = 15.0
"""Seconds until something must have happened, also on a machine that is busy."""


def missing_programs() -> str:
    """What a window wants and is not here; "" where all is."""
    names = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    return " and ".join(names)


@dataclass(slots=True)
class Window:
    """One window. `open` leads it to the addresses of one service."""

    driver: Chrome
    address: str = ""
    """Where the service is: `http://127.0.0.1:port`."""
    requests: list[str] = field(default_factory=list)
    """All addresses that were asked for, once `listen` was called."""
    complaints: list[str] = field(default_factory=list)
    """What stood in its console: scripts that broke, what the page's policy forbade, answers that were errors."""

    # -- where it is, and what is there ---------------------------------------------------------------------------

    def open(self, path: str) -> None:
        self.driver.get(self.address + path)

    @property
    def path(self) -> str:
        return self.driver.current_url.removeprefix(self.address)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def click(self, selector: str) -> None:
        """Click an element, or the one that takes its place if the page refreshes itself just then."""

        def clicked() -> bool:
            self.one(selector).click()
            return True

        self.wait(clicked, f"{selector} to click")

    def text(self, selector: str) -> str:
        """What can be seen of an element, on one line."""
        return " ".join(self._read(selector, lambda element: element.text).split())

    def attribute(self, selector: str, name: str) -> str | None:
        return self._read(selector, lambda element: element.get_attribute(name))

    def _read(self, selector: str, read: Callable[[WebElement], T]) -> T:
        """What is read of an element, or of the one that takes its place if the page refreshes itself just then."""
        while True:
            with suppress(StaleElementReferenceException):
                return read(self.one(selector))

    def run(self, script: str, *arguments: Any) -> Any:
        """The body of a function of JavaScript; what it returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: Callable[[], T], told: str, *, seconds: float = PATIENCE) -> T:
        """Wait until it is so, and give what the condition gave."""
        ends = time.monotonic() + seconds
        while True:
            try:
                if found := condition():
                    return found
            except (NoSuchElementException, StaleElementReferenceException):
                pass
            assert time.monotonic() < ends, f"not within {seconds:g} s: {told}\n{self.text('body')}"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        """One key after the other, wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    @property
    def focused(self) -> str:
        """What has the focus, as a reader would be told: its name."""
        return str(self.driver.switch_to.active_element.accessible_name)

    # -- what people set ------------------------------------------------------------------------------------------

    def prefer(self, **media: str) -> None:
        """Media features, with `_` for `-`: `prefers_color_scheme="dark"`."""
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self._tell("Emulation.setEmulatedMedia", features=features)

    def resize(self, width: int, height: int, *, sharpness: float = 1) -> None:
        """In CSS pixels; `sharpness`: how many of the screen's own are one of these."""
        self._tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=sharpness,
            mobile=width < 600,
        )

    def enlarge_text(self, times: float) -> None:
        """As in the browser's settings."""
        self._tell("Page.setFontSizes", fontSizes={"standard": round(16 * times), "fixed": round(13 * times)})

    def forbid_scripts(self) -> None:
        self._tell("Emulation.setScriptExecutionDisabled", value=True)

    def speak(self, *languages: str) -> None:
        """Ask for pages in these languages; in none at all without any."""
        self._tell("Network.enable")
        self._tell("Network.setExtraHTTPHeaders", headers={"Accept-Language": ",".join(languages)})

    def keep_cookie(self, name: str, value: str) -> None:
        self._tell(
            "Network.setCookie", name=name, value=value, url=self.address, httpOnly=True, sameSite="Lax"
        )

    def picture(self) -> bytes:
        """What is seen of the page, as PNG."""
        return bytes(self.driver.get_screenshot_as_png())

    def start_anew(self, address: str) -> None:
        """As a browser that was never here, for a service at `address`."""
        self.address = address
        self._tell("Network.clearBrowserCookies")
        self._tell("Emulation.setScriptExecutionDisabled", value=False)
        self.prefer(prefers_color_scheme="light", prefers_reduced_motion="no-preference")
        self.resize(*WIDE)
        self.enlarge_text(1)
        self.speak("en")
        self.listen()
        self.requests.clear()
        self.complaints.clear()

    def leave(self) -> None:
        """Have it ask for nothing more; not at another site, which would want another process."""
        if self.all("[data-rebuild]"):
            self.open("/sign-in")

    # -- what it did ----------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Take down what has happened since the last time."""
        for entry in self.driver.get_log("performance"):  # type: ignore[no-untyped-call]
            event = json.loads(entry["message"])["message"]
            if event["method"] == "Network.requestWillBeSent":
                self.requests.append(event["params"]["request"]["url"])
        for entry in self.driver.get_log("browser"):  # type: ignore[no-untyped-call]
            self.complaints.append(f"{entry['level']}: {entry['message']}")

    def heard(self) -> list[str]:
        """What it has complained of until now."""
        self.listen()
        return self.complaints

    @property
    def foreign_requests(self) -> list[str]:
        """Those that would have gone elsewhere."""
        ours = (f"{self.address}/", "data:", "about:blank")
        return [address for address in self.requests if not address.startswith(ours)]

    def expect(self, *words: str) -> None:
        """See that its console holds a complaint with each of these words, and forget those that hold one."""
        self.listen()
        assert [each for each in words if not any(each in told for told in self.complaints)] == []
        self.complaints[:] = [told for told in self.complaints if not any(each in told for each in words)]

    def _tell(self, method: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(method, parameters)


@contextmanager
def opened_window(home: Path) -> Iterator[Window]:
    """Start a browser that keeps all that it writes below `home`."""
    # selenium would else ask its makers which driver is the newest, and tell them that it did.
    os.environ.update({"SE_OFFLINE": "true", "SE_AVOID_STATS": "true"})
    driver = _start(home)
    try:
        driver.set_page_load_timeout(30)
        yield Window(driver)
    finally:
        driver.quit()


def _start(home: Path, tries: int = 3) -> Chrome:
    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={home / 'profile'}", f"--window-size={WIDE[0]},{WIDE[1]}"):
        options.add_argument(flag)
    options.add_experimental_option("perfLoggingPrefs", {"enablePage": False})
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home), "LC_ALL": "C.UTF-8"}
    environment |= {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "CACHE", "DATA")}
    service = Service(str(shutil.which("chromedriver")), env=environment)
    try:
        return Chrome(options=options, service=service)
    except SessionNotCreatedException:
        # The port that selenium found free may be another one's by the time it is used.
        if tries == 1:
            raise
        return _start(home, tries - 1)
