from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bot import phrases
from bot.config.schema import is_secret, known_keys, walk_keys
from bot.config.settings import Settings, load_settings
from bot.web.page.settings import MAX_SHOWN, MAX_VALUE_CHARS
from tests.fakes.html_page import HtmlPage
from tests.fakes.signed_in_browser import SignedInBrowser
from tests.fakes.web_client import TOKEN, open_configured_client, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

MAX_PAGE_BYTES = 60_000
HOSTILE = """"><img src=x onerror=alert(1)><script>alert(2)</script>'{{ 77*77 }}"""
PLANTED = "pl4nted"
CONFIG = f"""
[server]
token = "{TOKEN}"
[agent]
name = "Ada"
[memory.embedding]
provider = "none"
[memory.search]
final_top_k = 8
"""


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[SignedInBrowser]:
    file = tmp_path / "config.toml"
    file.write_text(CONFIG, "utf-8")
    async with open_configured_client(load_settings(file, tmp_path / "w")) as site:
        yield SignedInBrowser(site)


def rows(page: HtmlPage) -> dict[str, str]:
    """What is told of each setting, by its name."""
    names, told = ([each.text for each in page.elements if each.tag == tag] for tag in ("dt", "dd"))
    return dict(zip(names, told, strict=True))


async def test_each_setting_has_value_source_and_meaning(browser: SignedInBrowser, tmp_path: Path) -> None:
    page = await browser.open("/settings")
    told = rows(page)
    assert told["Settings file"] == str(tmp_path / "config.toml")
    assert told["Workspace"] == str(tmp_path / "w")
    assert told["final_top_k changed"] == (
        "8 from config.toml, default 5 Results that a search returns by default."
    )
    assert told["workspace changed"].startswith(
        f'"{tmp_path / "w"}" from --workspace, default "workspace", restart '
    )
    assert told["timezone"].startswith('"" from this machine, restart IANA name of your time zone')
    assert told["pairing"] == "true default Whether strangers get a code that an owner can approve."
    assert "memory.search" in [each.text for each in page.all("h2")]
    assert not [
        each
        for each in page.all("details")
        if "group" in each.attributes.get("class", "") and "open" in each.attributes
    ]


async def test_they_are_found_by_words(browser: SignedInBrowser) -> None:
    page = await browser.open("/settings?q=search+Final_top")
    assert [name for name in rows(page) if name not in ("Settings file", "Workspace")] == [
        "final_top_k changed"
    ]
    (group,) = (each for each in page.all("details") if each.attributes.get("class") == "group")
    assert "open" in group.attributes
    assert "No setting matches." in (await browser.text("/settings?q=zyzzyva"))


async def test_they_are_found_by_everyday_words(browser: SignedInBrowser) -> None:
    for question, first in (
        ("time zone", "timezone"),
        ("Where do I set the time zone?", "timezone"),
        ("how many backups are kept", "keep"),
        ("change the password of the page", "token changed"),
        ("semantic search", "provider changed"),
        ("PostgreSQL", "url"),
    ):
        page = await browser.open(f"/settings?q={quote(question)}")
        assert first in rows(page), question
        assert len(rows(page)) <= 12, "only some are found"


async def test_if_none_has_all_words_those_with_the_most_are_shown(browser: SignedInBrowser) -> None:
    page = await browser.open("/settings?q=timezone+zyzzyva")
    assert "timezone" in rows(page)
    assert "No setting has all of these words." in page.by_id("main").text
    assert "No setting has all" not in (await browser.text("/settings?q=timezone"))


async def change_as_told(browser: SignedInBrowser, key: str) -> tuple[str, str]:
    """Return the lines that the page says to write, and everything that it says about that."""
    page = await browser.open(f"/settings?q={key}")
    (name,) = [each for each in page.all("a") if each.attributes["href"] == f"/settings?q={key}"]
    assert name.text == key.rpartition(".")[2]
    told = next(each for each in page.all("div") if each.attributes.get("class") == "how").text
    return next(("".join(each.pieces) for each in page.all("pre")), ""), told


async def test_a_setting_is_changed_as_the_page_says(browser: SignedInBrowser, tmp_path: Path) -> None:
    live, file = browser.site.services.live_settings, tmp_path / "config.toml"
    lines, told = await change_as_told(browser, "limits.steps_per_turn")
    assert lines == "[limits]\nsteps_per_turn = 25"
    assert "Then send me /config reload in a chat." in told
    file.write_text(f"{CONFIG}\n{lines.replace('25', '7')}\n", "utf-8")
    assert (await live.reload()).live == ("limits.steps_per_turn",)
    assert browser.site.services.settings.limits.steps_per_turn == 7
    lines, told = await change_as_told(browser, "timezone")
    assert lines == 'timezone = "Europe/Berlin"'
    assert "write this line into config.toml, at the top, before the first line in square brackets" in told
    assert "Then restart me: /config reload isn't enough for it." in told
    assert "Or run commonplace init you in a terminal" in told
    file.write_text(f"{lines}\n{CONFIG}", "utf-8")
    assert "timezone" in (await live.reload()).restart
    assert load_settings(file, tmp_path / "w").timezone == "Europe/Berlin"


async def test_what_counts_more_than_the_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_BACKUP__KEEP", "3")
    file = tmp_path / "config.toml"
    file.write_text(f"{CONFIG}\n[[memory.folders]]\npath = '{tmp_path}/vault'\n", "utf-8")
    (tmp_path / "vault").mkdir()
    (tmp_path / "secrets.toml").write_text(f'[server]\ntoken = "{TOKEN}"\n', "utf-8")
    file.write_text(file.read_text("utf-8").replace(f'token = "{TOKEN}"', ""), "utf-8")
    async with open_configured_client(load_settings(file, tmp_path / "w")) as site:
        browser = SignedInBrowser(site)
        lines, told = await change_as_told(browser, "backup.keep")
        assert (lines, "The environment variable COMMONPLACE_BACKUP__KEEP sets it" in told) == ("", True)
        lines, told = await change_as_told(browser, "workspace")
        assert (lines, "It was given with --workspace" in told) == ("", True)
        lines, told = await change_as_told(browser, "server.token")
        assert lines == "[server]\ntoken = …"
        assert "write this into secrets.toml" in told
        assert "commonplace init page" in told
        lines, told = await change_as_told(browser, "telegram.token")
        assert "write this into secrets.toml" in told, "where the other secrets are"
        page = await browser.open("/settings?q=memory.folders write")
        told = next(each for each in page.all("div") if each.attributes.get("class") == "how").text
        assert "into entry 1 of those that begin with [[memory.folders]]: write = false" in told


async def test_only_what_differs_is_shown_on_request(browser: SignedInBrowser) -> None:
    page = await browser.open("/settings?changed=1")
    assert [name for name in rows(page) if name.endswith(" changed")] == [
        name for name in rows(page) if name not in ("Settings file", "Workspace")
    ]
    assert {"name changed", "token changed", "provider changed", "final_top_k changed"} <= rows(page).keys()


async def test_what_is_not_in_force_yet_is_told(browser: SignedInBrowser, tmp_path: Path) -> None:
    assert "not active yet" not in await browser.text("/settings")
    (tmp_path / "config.toml").write_text(CONFIG.replace("Ada", "Eve") + "[backup]\nkeep = 1\n")
    page = await browser.open("/settings")
    (told,) = (each.text for each in page.all("p") if each.attributes.get("class") == "pending")
    assert told == (
        "Changed since, but not active yet: agent.name. /config reload applies them. "
        "Takes effect after a restart: backup.keep."
    )
    assert rows(page)["name changed"].startswith('"Ada" ')
    (tmp_path / "config.toml").write_text("[agent]\nnmae = 5")
    assert "agent.nmae is not a known key" in await browser.text("/settings")


def everything_secret() -> Settings:
    """Settings with each secret that there is, and with passwords in addresses."""
    tables: dict[str, Any] = {
        "providers": {"NAME": {"kind": "openai", "base_url": f"http://me:{PLANTED}-url@host/v1"}},
        "mcp": {"tokens": {"NAME": {}}},
        "discord": {"api_base": f"https://proxy/?token={PLANTED}"},
    }
    keys = [
        keys
        for keys in known_keys(Settings)
        if any(is_secret(annotation) for _, annotation, _ in walk_keys(Settings, keys))
    ]
    assert len(keys) >= 8
    special: dict[tuple[str | int, ...], object] = {
        ("server", "token"): TOKEN,
        ("telegram", "token"): f"271828:{PLANTED}-telegram",
        ("index", "url"): f"postgresql://me:{PLANTED}-pg@host/db",
        ("providers", "NAME", "api_keys"): [f"{PLANTED}-first", f"{PLANTED}-second"],
    }
    for number, path in enumerate(keys):
        table = tables
        for key in path[:-1]:
            table = table.setdefault(str(key), {})
        table[str(path[-1])] = special.get(tuple(path), f"{PLANTED}-secret-number-{number}")
    return Settings.model_validate(tables)


async def test_no_secret_is_in_the_page_nor_found_by_its_text(browser: SignedInBrowser) -> None:
    browser.site.services.live_settings.settings = everything_secret()
    page = await browser.text("/settings")
    assert "base_url" in page
    for secret in (PLANTED, "271828", TOKEN):
        assert secret not in page
    told = rows(HtmlPage(page))
    assert told["api_keys"].startswith("set default")
    assert told["url"].startswith("set default")
    for secret in (PLANTED, f"{PLANTED}-first", "271828"):
        found = HtmlPage(await browser.text(f"/settings?q={secret}"))
        assert "No setting matches." in found.all("main")[0].text


async def test_values_stay_text(browser: SignedInBrowser) -> None:
    settings = Settings.model_validate(
        {
            "server": {"token": TOKEN},
            "agent": {"instructions": HOSTILE},
            "access": {"people": {HOSTILE: ["telegram:1"]}},
            "models": {"params": {f"openai/{HOSTILE}": {"temperature": 1}}},
            "telegram": {"api_base": "https://x/<b>"},
        }
    )
    browser.site.services.live_settings.settings = settings
    for page in (
        await browser.open("/settings"),
        await browser.open(f"/settings?q={HOSTILE.replace('#', '')}&changed={HOSTILE}"),
    ):
        assert not page.all("img")
        assert all("nonce" in each.attributes for each in page.all("script"))
        assert not [each for each in page.all("b") if each.text != "changed"]
        assert not [name for each in page.elements for name in each.attributes if name.startswith("on")]
        assert "5929" not in page.all("main")[0].text
        assert "onerror=alert(1)" in page.all("main")[0].text


async def test_long_values_and_many_tables_are_bounded(browser: SignedInBrowser) -> None:
    providers = {f"name-{number}": {"kind": "openai"} for number in range(200)}
    settings = Settings.model_validate(
        {"server": {"token": TOKEN}, "agent": {"instructions": "x" * 100_000}, "providers": providers}
    )
    browser.site.services.live_settings.settings = settings
    page = await browser.text("/settings")
    assert "x" * (MAX_VALUE_CHARS + 1) not in page
    assert len(HtmlPage(page).all("dt")) == MAX_SHOWN + 2
    assert len(page.encode()) <= MAX_PAGE_BYTES
    assert "more; search to find them" in page


async def test_the_page_is_light(browser: SignedInBrowser) -> None:
    assert len((await browser.text("/settings")).encode()) <= MAX_PAGE_BYTES


async def test_it_needs_the_token(browser: SignedInBrowser, tmp_path: Path) -> None:
    async with browser.site.client.get("/settings") as answer:
        assert answer.status == 401
    async with open_web_client(tmp_path / "open") as site, site.client.get("/settings") as answer:
        assert (answer.status, await answer.text()) == (403, f"{phrases.WEB_LOCKED}\n")
