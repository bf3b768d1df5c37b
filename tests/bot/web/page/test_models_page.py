import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot import phrases
from bot.models.errors import Overloaded
from bot.models.health import CallOutcome
from bot.models.protocol import Usage
from tests.fakes.html_page import HtmlPage
from tests.fakes.signed_in_browser import SignedInBrowser
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

SETTINGS: dict[str, Any] = {
    "providers": {
        "openai": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "api_keys": ["first", "second"]}
    },
    "models": {"chain": ["openai/gpt-test", "builtin/notebook"]},
    "memory": {"embedding": {"provider": "none"}},
}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    """Without a token."""
    async with open_web_client(tmp_path, **SETTINGS) as site:
        yield site


@pytest.fixture
async def locked(tmp_path: Path) -> AsyncIterator[WebClient]:
    """With a token."""
    async with open_web_client(tmp_path, token=TOKEN, limits={"daily_tokens": 1000}, **SETTINGS) as site:
        yield site


async def page(site: WebClient) -> HtmlPage:
    async with site.client.get("/models") as answer:
        assert answer.status == 200
        return HtmlPage(await answer.text())


def outcomes(site: WebClient, *, answered: int, failed: int) -> None:
    """Have the first key of the model answer, and the second one fail."""
    first, second = (each.name for each in site.services.model.plan.chain[0].routes)
    book = site.services.model.health
    book.record(CallOutcome(first, book.now(), None, Usage(100, 50, 10), 0.5, 1.5) for _ in range(answered))
    book.record(
        CallOutcome(second, book.now(), Overloaded("busy there", model=second.model)) for _ in range(failed)
    )


def states(site: WebClient) -> list[bool]:
    """Whether each key of the first model is paused."""
    health = site.services.model.health
    return [health.of(each.name).is_open(health.now()) for each in site.services.model.plan.chain[0].routes]


async def test_models_are_shown_with_their_keys_and_their_last_day(site: WebClient) -> None:
    outcomes(site, answered=3, failed=2)
    await site.services.model.health.write()
    models = (await page(site)).by_id("models")
    assert "openai/gpt-test" in models.text
    assert "Key 1 ready Recent calls 100% answered Speed 50 tokens per second" in models.text
    assert re.search(r"Key 2 paused until (\S+ )?\d\d:\d\d, in (2\d|30) s", models.text)
    assert "busy there" in models.text
    assert "60% answered 5 calls, 2 failed" in models.text
    assert "0.5 s to the first words 0.5 s at most" in models.text
    assert "builtin/notebook State ready Recent calls none yet No calls in the last 24 hours." in models.text


async def test_answers_that_nobody_waited_for_are_answers(site: WebClient) -> None:
    model = site.services.model
    name = model.plan.chain[-1].routes[0].name
    model.health.record([CallOutcome(name, model.health.now(), None, Usage(100, 50))])
    await model.health.write()
    models = (await page(site)).by_id("models").text
    assert "100% answered 1 call, 0 failed" in models
    assert "waits not measured" in models
    assert "no answers" not in models


async def test_tokens_are_counted_by_model_and_no_price_is_invented(site: WebClient) -> None:
    tokens = (await page(site)).by_id("tokens").text
    assert tokens.startswith("0 tokens used today. There is no budget; limits.daily_tokens sets one.")
    assert tokens.count("No answers yet.") == 2
    outcomes(site, answered=3, failed=2)
    tokens = (await page(site)).by_id("tokens").text
    assert "450 tokens used today." in tokens
    row = "openai/gpt-test Answers: 3 Input: 300 Of that, cached: 30 Output: 150"
    assert tokens.count(row) == 2, "today, and in the last 30 days"
    assert not re.search("[$€£]", tokens)


async def test_how_much_of_the_budget_is_used_is_told(locked: WebClient) -> None:
    browser = SignedInBrowser(locked)
    outcomes(locked, answered=3, failed=0)
    tokens = (await browser.open("/models")).by_id("tokens").text
    assert tokens.startswith("450 of 1,000 tokens of today’s budget used (45%). ")
    outcomes(locked, answered=4, failed=0)
    tokens = (await browser.open("/models")).by_id("tokens").text
    assert tokens.startswith(
        "1,050 of 1,000 tokens of today’s budget used (100%). Messages wait until midnight"
    )
    assert await locked.services.budget.is_spent()


async def test_a_reset_makes_every_key_ready(locked: WebClient) -> None:
    browser = SignedInBrowser(locked)
    outcomes(locked, answered=0, failed=3)
    assert states(locked) == [False, True]
    assert "paused until" in (await browser.open("/models")).by_id("models").text
    sent = await browser.send("/models/reset")
    assert (sent.status, sent.location) == (303, "/models?done=reset#done")
    assert states(locked) == [False, False]
    shown = await browser.open(sent.location)
    (told,) = (each for each in shown.all("p") if each.attributes.get("role") == "status" and each.text)
    assert told.text == phrases.MODELS_RESET
    assert "paused until" not in shown.by_id("models").text


async def test_nothing_is_reset_for_another_site_or_without_the_token(
    locked: WebClient, tmp_path: Path
) -> None:
    outcomes(locked, answered=0, failed=3)
    assert (await SignedInBrowser(locked).send("/models/reset", forged=True)).status == 403
    async with locked.client.post("/models/reset") as answer:
        assert answer.status == 401
    assert states(locked) == [False, True]
    async with open_web_client(tmp_path / "open", **SETTINGS) as site:
        outcomes(site, answered=0, failed=3)
        assert not (await page(site)).all("form")
        async with site.client.post("/models/reset") as answer:
            assert (answer.status, await answer.text()) == (403, f"{phrases.WEB_LOCKED}\n")
        assert states(site) == [False, True]


async def test_what_is_done_is_never_a_text_from_the_address(locked: WebClient) -> None:
    shown = await SignedInBrowser(locked).open("/models?done=All+your+money")
    assert "money" not in shown.all("main")[0].text


async def test_a_reset_that_cannot_be_stored_is_told(locked: WebClient) -> None:
    browser = SignedInBrowser(locked)
    locked.services.state._is_ours = lambda: False  # another instance has taken over
    sent = await browser.send("/models/reset")
    assert sent.status == 503
    told = [each.text for each in HtmlPage(sent.text).all("p") if each.attributes.get("role") == "alert"]
    assert any("another instance" in each for each in told), told
