"""Several instances, as one of them tells of them over HTTP."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from bot import phrases
from bot.channels import Channels
from bot.cluster.lease import LeaseState
from bot.cluster.status import InstanceStatus, Takeover, format_lease_name
from bot.messages import ChannelHealth
from bot.supervisor import TaskFailure
from bot.web.app import build_web_app
from bot.web.rpc.protocol import SERVER_ERROR
from bot.web.standby import build_standby_app
from tests.fakes.html_page import HtmlPage
from tests.fakes.services import ChannelsAt
from tests.fakes.table_test import table_test
from tests.fakes.web_client import TOKEN, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

NOW = datetime.now(UTC)
LATER = NOW + timedelta(days=1)
LEASES = (
    LeaseState("channel:telegram:3fa8b1c2d3e4f506", "attic", NOW, LATER, ours=True),
    LeaseState("job:backup", "cel<b>lar", NOW, LATER, ours=False),
    LeaseState("workspace:0123456789abcdef", "gone", NOW, NOW - timedelta(minutes=5), ours=False),
)


class Site:
    """An instance among others."""

    def __init__(self) -> None:
        self.status = InstanceStatus("attic", "", LEASES)
        self.channels = {"telegram": ChannelHealth("up")}
        self.client: TestClient[web.Request, web.Application]

    async def text(self, path: str) -> str:
        answer = await self.client.get(path)
        return await answer.text()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    site = Site()
    async with open_web_client(tmp_path) as website:
        services = replace(
            website.services,
            instance=lambda: site.status,
            channels=cast(Channels, ChannelsAt(lambda: site.channels)),
        )
        app = build_web_app(channels=lambda: site.channels, memory=website.services.memory, services=services)
        async with TestClient(TestServer(app)) as client:
            site.client = client
            yield site


async def test_a_standby_is_well_and_says_what_it_is(site: Site) -> None:
    answer = await site.client.get("/healthz")
    assert (await answer.json())["role"] == "active"
    site.channels["telegram"] = ChannelHealth("standby", "held by cellar")
    answer = await site.client.get("/healthz")
    assert answer.status == 200
    told = await answer.json()
    assert (told["status"], told["role"], told["channels"]) == ("ok", "standby", {"telegram": "standby"})
    assert "cellar" not in await answer.text()
    site.channels["discord"] = ChannelHealth("up")
    assert (await (await site.client.get("/healthz")).json())["role"] == "active"


async def test_who_stands_in_for_another_workspace_says_so_channel_by_channel(site: Site) -> None:
    site.channels["telegram"] = ChannelHealth("stand-in", "a second process here serves it for cellar")
    since = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
    stands_in = Takeover("telegram", "3fa8b1c2d3e4f506", "cellar", since)
    site.status = replace(site.status, stands_in=(stands_in,))
    answer = await site.client.get("/healthz")
    assert answer.status == 200
    told = await answer.json()
    assert (told["status"], told["role"], told["leases"]) == ("ok", "stand-in", "ok")
    assert told["channels"] == {"telegram": "stand-in"}
    assert told["stands_in"] == {"telegram": {"workspace": "3fa8", "since": "2026-11-21T09:30:00+00:00"}}
    assert "cellar" not in await answer.text(), "nobody's name is told without a token"
    page = HtmlPage(await site.text("/"))
    assert "standing in a second process here serves it for cellar" in page.by_id("channels").text
    assert "Telegram" not in page.by_id("attention").text
    text = await site.text("/metrics")
    assert 'commonplace_channel_state{channel="telegram",state="stand-in"} 1.0' in text
    assert 'commonplace_instance_role{state="stand-in"} 1.0' in text
    site.channels["discord"] = ChannelHealth("standby", "held by garden")
    assert (await (await site.client.get("/healthz")).json())["role"] == "stand-in"


async def test_the_page_shows_who_does_what(site: Site) -> None:
    text = await site.text("/system")
    assert "cel&lt;b&gt;lar" in text
    shown = HtmlPage(text).by_id("instances").text
    assert "This instance is attic." in shown
    assert "Telegram (3fa8) this instance" in shown
    assert "Backup of the notes cel<b>lar" in shown
    assert "Workspace 0123 nobody" in shown
    site.channels["telegram"] = ChannelHealth("standby", "held by cellar")
    page = HtmlPage(await site.text("/"))
    assert "standby held by cellar" in page.by_id("channels").text
    assert "Telegram" not in page.by_id("attention").text


async def test_what_others_do_is_not_known_while_the_server_is_away(site: Site) -> None:
    site.status = InstanceStatus("attic", "the server does not answer", LEASES)
    page = HtmlPage(await site.text("/"))
    assert (
        "I can't tell what other instances are doing: the server does not answer"
        in page.by_id("attention").text
    )
    shown = HtmlPage(await site.text("/system")).by_id("instances").text
    assert "Telegram (3fa8) this instance" in shown, "our own leases end by our own clock"
    assert "Backup of the notes unknown" in shown
    assert "Workspace 0123 unknown" in shown
    assert "nobody" not in shown
    assert (await (await site.client.get("/healthz")).json())["leases"] == "unknown"


async def test_the_metrics_have_a_row_for_each_lease(site: Site) -> None:
    families = {each.name: each for each in text_string_to_metric_families(await site.text("/metrics"))}
    held = {each.labels["name"]: each.value for each in families["commonplace_lease_held"].samples}
    assert held == {LEASES[0].name: 1, LEASES[1].name: 0, LEASES[2].name: 0}
    assert [each.value for each in families["commonplace_leases_up"].samples] == [1]
    assert "cellar" not in await site.text("/metrics")


async def test_alone_nothing_is_told_of_instances(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as website:
        text = await (await website.client.get("/system")).text()
        assert 'id="instances"' not in text
        assert "role" not in await (await website.client.get("/healthz")).json()
        assert "commonplace_lease" not in await (await website.client.get("/metrics")).text()


async def who_serves(answer: ClientResponse) -> str:
    """The sentence that somebody who waits for the workspace answers with."""
    if answer.url.path != "/rpc":
        return (await answer.text()).removesuffix("\n")
    told = await answer.json()
    assert (told["jsonrpc"], told["id"], told["error"]["code"]) == ("2.0", None, SERVER_ERROR)
    return str(told["error"]["message"])


async def test_who_waits_for_the_workspace_says_that_it_is_well_and_nothing_else() -> None:
    problem = ""

    def status() -> InstanceStatus:
        return InstanceStatus("attic", problem, LEASES)

    async with TestClient(TestServer(build_standby_app(status, token=""))) as client:
        answer = await client.get("/healthz")
        assert answer.status == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        told = await answer.json()
        assert (told["status"], told["role"]) == ("ok", "standby")
        for method, path in (("GET", "/"), ("POST", "/rpc"), ("POST", "/telegram/abc")):
            other = await client.request(method, path)
            assert other.status == 503
            assert "Retry-After" in other.headers
            assert await who_serves(other) == phrases.STANDBY
        problem = "postgresql://me@secret-host/db does not answer"
        for method, path in (("GET", "/"), ("POST", "/rpc"), ("GET", "/sign-in")):
            other = await client.request(method, path)
            assert (other.status, other.headers["Retry-After"]) == (503, "10")
            assert await who_serves(other) == phrases.STANDBY_UNKNOWN, "perhaps nobody does"
            assert "secret-host" not in await other.text()
        answer = await client.get("/healthz")
        assert answer.status == 503
        assert (await answer.json())["missing"] == ["leases"]
        assert "secret-host" not in await answer.text()


async def test_who_waits_for_the_workspace_names_background_tasks_that_failed() -> None:
    failure = TaskFailure("leases", "OSError in times.py, awake", NOW, 1, LATER)
    app = build_standby_app(
        lambda: InstanceStatus("attic", "", LEASES), token="", task_failures=lambda: [failure]
    )
    async with TestClient(TestServer(app)) as client:
        answer = await client.get("/healthz")
        assert answer.status == 200
        told = await answer.json()
    assert (told["status"], told["tasks"], told["role"]) == ("degraded", {"leases": "stopped"}, "standby")


async def test_who_waits_for_the_workspace_has_the_few_numbers_that_there_are_for_who_may_come_in() -> None:
    problem = ""

    def status() -> InstanceStatus:
        return InstanceStatus("attic", problem, LEASES)

    async with TestClient(TestServer(build_standby_app(status, token=TOKEN))) as client:
        assert (await client.get("/metrics")).status == 401
        wrong = {"Authorization": "Bearer no"}
        assert (await client.get("/metrics", headers=wrong)).status == 401
        assert (await client.get("/", headers=wrong)).status == 503, "whose page it would be decides"
        answer = await client.post("/rpc", headers=wrong)
        assert (answer.status, await who_serves(answer)) == (503, phrases.STANDBY)
        right = {"Authorization": f"Bearer {TOKEN}"}
        answer = await client.get("/metrics", headers=right)
        assert answer.status == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        text = await answer.text()
        families = {each.name: each for each in text_string_to_metric_families(text)}
        roles = {each.labels["state"]: each.value for each in families["commonplace_instance_role"].samples}
        assert roles == {"active": 0, "standby": 1, "stand-in": 0}
        assert len(families["commonplace_lease_held"].samples) == len(LEASES)
        assert "commonplace_memory_up" not in families
        assert "commonplace_leases_up 1.0" in text
        problem = "it is away"
        assert "commonplace_leases_up 0.0" in await (await client.get("/metrics", headers=right)).text()


@table_test(
    ("name", "words"),
    [
        ("channel:discord:3fa8b1c2", "Discord (3fa8)"),
        ("job:schedule", "Regular scan of all notes"),
        ("workspace:0123456789", "Workspace 0123"),
        ("something:else", "something:else"),
    ],
)
def test_what_is_leased_has_a_name_for_people(name: str, words: str) -> None:
    assert format_lease_name(name) == words
