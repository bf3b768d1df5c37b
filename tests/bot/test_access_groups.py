"""Roles, channels and the like in the rules of who may talk."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.access import Standing, standing_of
from bot.config.settings import AccessSettings, Settings
from bot.messages import ChatId, PersonId
from bot.tools.toolbox import ToolUse, tool
from tests.fakes.harness import open_harness
from tests.fakes.table_test import table_test
from tests.fakes.turns import message

ANNA = PersonId("discord", "7")
RULES = AccessSettings(
    owners=("discord:1",),
    allow=("discord:100/@20", "discord:100/#30", "discord:8"),
    guests=("discord:100/@21", "discord:7"),
)


@table_test(
    ("person", "groups", "standing"),
    [
        ("8", (), Standing.ALLOWED),
        ("9", (), Standing.STRANGER),
        ("9", ("100", "100/@20"), Standing.ALLOWED),
        ("9", ("100", "100/#30"), Standing.ALLOWED),
        ("9", ("100/@20", "100/@21"), Standing.GUEST),
        ("9", ("200", "200/@20", "200/#30"), Standing.STRANGER),
        ("7", ("100/@20",), Standing.GUEST),
        ("1", ("100/@21",), Standing.OWNER),
    ],
)
def test_a_role_or_a_channel_counts_where_it_is_held_and_less_than_a_name(
    person: str, groups: tuple[str, ...], standing: Standing
) -> None:
    assert standing_of(PersonId("discord", person), RULES, groups=groups) is standing


def test_a_role_of_one_channel_is_none_of_another() -> None:
    assert standing_of(PersonId("telegram", "9"), RULES, groups=("100/@20",)) is Standing.STRANGER


def test_what_an_owner_decided_beats_a_role() -> None:
    assert standing_of(ANNA, RULES, "denied", groups=("100/@20",)) is Standing.STRANGER


@table_test("entry", ["discord:100/@20", "discord:100/#30", "discord:*"])
def test_nobody_becomes_owner_by_a_role(entry: str) -> None:
    with pytest.raises(ValueError, match=r"would make everybody( there)? an owner"):
        AccessSettings(owners=(entry,))


@table_test("entry", ["discord:anna", "discord:100/20", "discord:@20", "discord:100/@friends"])
def test_what_names_nobody_on_discord_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="is not one"):
        Settings.model_validate({"access": {"allow": [entry]}})


async def test_a_role_opens_the_room_in_which_it_is_held_and_no_other(tmp_path: Path) -> None:
    async with open_harness(tmp_path, access=AccessSettings(allow=("slack:100/@20",))) as house:
        house.model.enqueue("Hello.")
        said = message("hello", chat="slack:5", sender="slack:9", in_room=True)
        assert await house.assistant.accept(replace(said, groups=("100/@20",)))
        await house.wait_until_idle()
        assert not await house.assistant.accept(replace(said, id="2", groups=("200/@20",)))
        assert len(house.model.history) == 1


async def test_a_tool_is_told_what_counts_for_the_person_where_they_speak(tmp_path: Path) -> None:
    used: list[ToolUse] = []

    @tool
    async def looks(use: ToolUse) -> dict[str, Any]:
        used.append(use)
        return {}

    async with open_harness(
        tmp_path, access=AccessSettings(allow=("slack:100/@20",)), tools=[looks]
    ) as house:
        await house.assistant.services.access.open_memory(ChatId("slack", "5"), memory=True)
        house.model.enqueue("", calls=[("looks", {})])
        house.model.enqueue("Hello.")
        said = message("hello", chat="slack:5", sender="slack:9", in_room=True)
        await house.assistant.accept(replace(said, groups=("100/@20",)))
        await house.wait_until_idle()
    assert [(use.chat, use.person, use.groups) for use in used] == [(said.chat, said.sender, ("100/@20",))]
