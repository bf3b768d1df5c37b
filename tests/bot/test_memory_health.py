"""What to fix in the notes, as people and programs are told, and whether the commands fix it."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot import phrases
from bot.conversations.core_note import CORE_CHARS
from bot.memory_health import encode_health, examine_memory, find_commands, format_health
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.commonplace import CommonplaceHere
from tests.fakes.harness import Harness, open_harness
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import open_web_client

NOTES = {
    "MEMORY.md": "# Memory\n\n- Anna's birthday is 3 May.\n- The safe's code is 4711.\n",
    "2026-01-02.md": "# 2026-01-02\n\n- Anna's birthday is on 3 May.\n- Anna lives in Bonn.\n- Slept well.\n",
    "2026-03-04.md": "# 2026-03-04\n\n- Anna lives in Köln.\n- Slept well.\n- The safe's code is 4711.\n",
    "people/anna.md": "# Anna\n\nSee [the map](map.png) and [[Tom]].\n\nShe is a vet. (says report.pdf)\n",
    "my trips.md": "# Trips\n\n> See `x` and [Anna](anna.md).\n\n- We saw Oslo and Rome.\n- We saw Oslo and Rome.\n",
}


def put(folder: Path, notes: dict[str, str] = NOTES) -> None:
    for path, text in notes.items():
        file = folder / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as house:
        yield house


async def test_a_fresh_memory_has_nothing_to_fix(house: Harness) -> None:
    assert await house.say("/memory health") == "I looked through 0 notes and found nothing to fix."


async def test_every_command_fixes_what_it_stands_under(house: Harness, tmp_path: Path) -> None:
    put(tmp_path)
    report = await examine_memory(house.memory)
    kinds = [each.kind for each in report.findings]
    assert sorted(kinds) == [
        "broken_link",
        "broken_link",
        "duplicate",
        "duplicate",
        "foreign_text",
        "near_duplicate",
        "superseded",
    ]
    told = await house.say("/memory health")
    for finding in report.findings:
        for command in find_commands(finding, report):
            assert f"`{command}`" in told or f"`` {command} ``" in told
    # One after the other, from one report: no command moves the lines of the next one.
    for finding in report.findings:
        for command in find_commands(finding, report):
            assert (await house.say(command)).startswith(("Emptied", "Corrected")), command
    assert (await examine_memory(house.memory)).is_healthy
    assert (
        tmp_path / "memory/people/anna.md"
    ).read_text() == "# Anna\n\nSee the map and Tom.\n\nShe is a vet.\n"
    assert (tmp_path / "memory/my trips.md").read_text() == (
        "# Trips\n\n> See `x` and [Anna](people/anna.md).\n\n- We saw Oslo and Rome.\n\n"
    )
    assert "until 2026-03-04: Anna lives in Bonn." in (tmp_path / "memory/2026-01-02.md").read_text()


async def test_a_core_note_that_is_too_long_shows_what_is_left_out(house: Harness, tmp_path: Path) -> None:
    put(
        tmp_path,
        {"MEMORY.md": "".join(f"- Person {number} lives in town {number}.\n" for number in range(400))},
    )
    report = await examine_memory(house.memory)
    (found,) = report.findings
    assert found.kind == "core_too_long"
    (command,) = find_commands(found, report)
    first = command.rpartition(":")[2].partition("-")[0]
    shown = await house.say(command)
    assert shown.startswith(f"- Person {int(first) - 1} lives")
    assert (
        len("".join((tmp_path / "memory/MEMORY.md").read_text().splitlines(True)[: int(first) - 1]))
        <= CORE_CHARS
    )


async def test_only_owners_are_told(house: Harness, tmp_path: Path) -> None:
    put(tmp_path)
    told = await house.say("/memory health", chat="telegram:2", sender="telegram:2")
    assert "Anna" not in told


async def test_a_chat_gets_some_findings_of_each_kind_and_the_number_of_the_others(
    house: Harness, tmp_path: Path
) -> None:
    put(tmp_path, {f"{number:02}.md": "" for number in range(13)})
    told = await house.say("/memory health")
    assert told.startswith(
        "I looked through 13 notes and found 13 things you may want to fix. I changed nothing."
    )
    assert told.count("It is empty.") == 4
    assert "- and 9 more; `commonplace memory health` shows up to ten of each kind" in told


async def test_the_report_is_json(house: Harness, tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "- We saw Oslo and Bergen.\n- We saw Oslo and Bergen.\n", "b.md": ""})
    document = json.loads(json.dumps(encode_health(await examine_memory(house.memory))))
    assert document.pop("seconds") >= 0
    assert document == {
        "healthy": False,
        "notes": 2,
        "unread": 0,
        "findings": [
            {
                "kind": "duplicate",
                "places": [
                    {"path": "a.md", "line_start": 2, "line_end": 2, "text": "We saw Oslo and Bergen."}
                ],
                "about": {"path": "a.md", "line_start": 1, "line_end": 1, "text": "We saw Oslo and Bergen."},
                "more": 0,
                "reason": "",
                "commands": ["/correct a.md:2 -"],
            },
            {
                "kind": "not_found",
                "places": [{"path": "b.md", "line_start": None, "line_end": None, "text": ""}],
                "about": None,
                "more": 0,
                "reason": "it is empty",
                "commands": ["/memory get b.md"],
            },
        ],
        "left_out": {},
    }


async def test_what_may_only_be_read_is_shown_without_a_command(tmp_path: Path) -> None:
    (tmp_path / "Obsidian").mkdir()
    (tmp_path / "Obsidian/trips.md").write_text("- We saw Oslo and Bergen.\n- We saw Oslo and Bergen.\n")
    settings = MemorySettings.model_validate(
        {
            "folders": [
                {"path": str(tmp_path / "Obsidian"), "name": "vault"},
                {"path": str(tmp_path / "Gone"), "name": "stick"},
            ],
            "embedding": {"provider": "none"},
        }
    )
    async with Memory(settings, workspace=tmp_path, now=lambda: datetime.now(UTC)) as memory:
        put(tmp_path, {"a.md": "- See [the map](map.png).\n- Anna likes tea.\n- Anna likes tea.\n"})
        told = format_health(await examine_memory(memory), most=4)
        assert "- `vault/trips.md:2` We saw Oslo and Bergen." in told
        assert "/correct vault/" not in told
        assert "`/correct a.md:3 -`" in told
        assert "The command empties the copy" in told
        assert "These are in vault/, which I may only read, so please fix them there." in told
        assert "stick" not in told, "it is away, which is no fault of its notes"
        assert "the map" not in told, "it may be in the folder that is away"
        (tmp_path / "memory/a.md").unlink()
        assert "The command" not in format_health(await examine_memory(memory), most=4)


async def test_a_command_that_is_too_long_to_read_shows_the_line_instead(
    house: Harness, tmp_path: Path
) -> None:
    put(tmp_path, {"a.md": f"See [it](x.md){' and more' * 100}.\n"})
    report = await examine_memory(house.memory)
    assert "`/memory get a.md:1`" in format_health(report, most=4)
    assert encode_health(report)["findings"][0]["commands"][0].startswith("/correct a.md:1 See it and more")


def test_the_command_line_tells_the_same(tmp_path: Path) -> None:
    here = CommonplaceHere(tmp_path)
    put(tmp_path / "workspace", {"a.md": "- We saw Oslo and Bergen.\n- We saw Oslo and Bergen.\n"})
    shown = here("memory", "health")
    assert shown.returncode == 0
    assert shown.stdout == (
        "Noted twice\nThe command empties the copy; /memory trash keeps it.\n\n"
        "  a.md:2  We saw Oslo and Bergen.\n    Also in a.md:1: We saw Oslo and Bergen.\n    /correct a.md:2 -\n\n"
        "I looked through 1 note and found one thing you may want to fix. I changed nothing.\n"
        "Send these commands to your assistant, for example with: commonplace chat\n"
    )
    assert shown.stderr == ""
    assert json.loads(here("memory", "health", "--json").stdout)["findings"][0]["kind"] == "duplicate"
    (here.memory / "a.md").unlink()
    assert here("memory", "health").stdout == "I looked through 0 notes and found nothing to fix.\n"


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")
async def test_the_page_examines_only_when_it_is_opened(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as site:
        put(tmp_path, {"a <b>.md": "- We saw [Oslo](x.md).\n", "empty.md": ""})
        async with site.client.get("/") as answer:
            text = await answer.text()
            shown = HtmlPage(text)
            assert [each for each in shown.all("a") if each.attributes["href"] == "/memory-health"]
            assert "Links that lead nowhere" not in text
        async with site.client.get("/memory-health") as answer:
            assert answer.status == 200
            shown = HtmlPage(await answer.text())
        assert shown.by_id("summary").text.startswith("I looked through 2 notes and found 2 things")
        assert [each.text for each in shown.all("p") if each.attributes.get("class") == "command"] == [
            "/memory get empty.md",
            "/correct a <b>.md:1 - We saw Oslo.",
        ]
        links = [
            each.attributes["href"]
            for each in shown.all("a")
            if each.attributes["href"].startswith("/notes/")
        ]
        assert "/notes/a%20%3Cb%3E.md#L1" in links
        answer_rpc = await site.client.post(
            "/rpc", json={"jsonrpc": "2.0", "id": 1, "method": "memory.health"}
        )
        assert (await answer_rpc.json())["result"]["healthy"] is False


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")
async def test_the_page_counts_each_kind_and_folds_a_long_list(tmp_path: Path) -> None:
    async with open_web_client(tmp_path) as site:
        put(
            tmp_path,
            {f"{n:02}.md": f"- We saw [place {n}](gone{n}.md).\n" for n in range(14)} | {"empty.md": ""},
        )
        async with site.client.get("/memory-health") as answer:
            shown = HtmlPage(await answer.text())
    (kinds,) = [each for each in shown.all("ul") if each.attributes.get("class") == "kinds"]
    assert kinds.text == "Notes that no search finds 1 Broken links 14"
    (fold,) = [each for each in shown.all("details") if each.attributes.get("class") == "more"]
    assert fold.text.startswith("Show 7 more")
    assert fold.text.count("Not found:") == 7
    (group,) = [each for each in shown.all("section") if each.attributes["aria-labelledby"] == "kind-2"]
    assert group.text.startswith(f"Broken links 14 {phrases.HEALTH_ADVICE['broken_link']}")
    assert group.text.endswith("4 further ones are not listed. Fix these first, then reload this page.")
