"""/link, and the linked accounts in /status: as owners type them."""

from pathlib import Path

import pytest

from bot import phrases
from bot.config.settings import AccessSettings
from bot.messages import ChatId, PersonId
from bot.searchable_chats import searchable_chats
from bot.state.conversations import append
from bot.state.database import State
from tests.bot.commands.test_people import OWNER, ROOM, House, house
from tests.fakes.harness import open_harness

__all__ = ("house",)

ACCESS = AccessSettings(owners=("telegram:1",), allow=("telegram:2", "discord:2"), guests=("telegram:3",))


async def found_by(house: House, person: str) -> set[str]:
    chats = await searchable_chats(house.services, PersonId.parse(person), ChatId.parse(person))
    return {each for each in chats if not each.startswith("imported:")}


async def test_an_owner_links_two_accounts_and_undoes_it(house: House) -> None:
    await house.say("/allow discord:2")
    assert await house.say("/link") == phrases.LINKS_NONE
    told = await house.say("/link Telegram:1 discord:2")
    assert told.startswith("Linked: discord:2, telegram:1. They are one person now")
    assert "`/link telegram:1 discord:2 off` undoes that" in told
    assert await found_by(house, OWNER) == {"telegram:1", "discord:@2"}
    listed = await house.say("/link")
    assert "\n- discord:2 = telegram:1\n" in listed
    told = await house.say("/link discord:2 telegram:1 OFF")
    assert told == "discord:2 and telegram:1 are no longer linked."
    assert await found_by(house, OWNER) == {"telegram:1"}
    assert await house.say("/link") == phrases.LINKS_NONE


async def test_a_chain_of_links_is_one_person_until_every_way_is_undone(house: House) -> None:
    await house.say("/allow discord:2")
    await house.say("/link telegram:1 discord:2")
    told = await house.say("/link discord:2 terminal:owner")
    assert told.startswith("Linked: discord:2, telegram:1, terminal:owner. ")
    assert await found_by(house, OWNER) == {
        "telegram:1",
        "discord:@2",
    }  # nothing was said in the terminal yet
    told = await house.say("/link telegram:1 terminal:owner")
    assert told.startswith("Linked: discord:2, telegram:1, terminal:owner. ")
    told = await house.say("/link telegram:1 discord:2 off")
    assert told.splitlines() == [
        "I removed that link, but telegram:1 and discord:2 are still linked through these:",
        "- discord:2 = terminal:owner",
        "- telegram:1 = terminal:owner",
    ]
    assert await house.say("/link telegram:1 discord:2 off") == told.replace(
        "I removed that link, but telegram:1 and discord:2 are still linked through these",
        "telegram:1 and discord:2 are only linked through these; undo one of them",
    )
    assert "no longer linked" in await house.say("/link telegram:1 terminal:owner off")
    assert await house.say("/link telegram:1 terminal:owner off") == phrases.NOT_LINKED.format(
        person="telegram:1", other="terminal:owner"
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/link telegram:1", phrases.LINK_WHO),
        ("/link telegram:1 anna", f"`anna` isn't an account. {phrases.LINK_WHO}"),
        ("/link telegram:1 telegram:*", f"`telegram:*` isn't an account. {phrases.LINK_WHO}"),
        ("/link telegram:1 telegram:anna", f"`telegram:anna` isn't an account. {phrases.LINK_WHO}"),
        ("/link telegram:1 discord:1234/#5678", "`discord:1234/#5678` isn't an account. "),
        ("/link telegram:1 TELEGRAM:1", phrases.LINK_ITSELF),
        ("/link telegram:1 discord:8 off please", "Usage: `/link [USER] [USER] [off]`"),
        ("/link telegram:1 discord:8 on", "Usage: `/link [USER] [USER] [off]`"),
        (
            "/link telegram:1 signal:8",
            "I don't know the channel signal. Please use one of these: telegram, discord, terminal.",
        ),
        ("/link telegram:1 telegram:-100", phrases.LINK_ROOM.format(person="telegram:-100")),
        ("/link telegram:1 discord:77", phrases.LINK_ROOM.format(person="discord:77")),
        ("/link telegram:1 terminal:anna", phrases.LINK_TERMINAL),
        ("/link telegram:1 telegram:5", phrases.LINK_STRANGER.format(who="telegram:5", person="telegram:5")),
        ("/link telegram:6 telegram:1", phrases.LINK_STRANGER.format(who="telegram:6", person="telegram:6")),
        ("/link telegram:1 discord:8", phrases.LINK_GUEST.format(who="discord:8", person="discord:8")),
    ],
)
async def test_only_accounts_of_people_who_may_use_the_memory_are_linked(
    house: House, line: str, told: str
) -> None:
    await house.say("/deny telegram:6")
    await house.services.state.change(
        lambda db: append(db, None, "discord:77", [("user", "{}")], after=0, at="2026-11-23")
    )
    assert (await house.say(line)).startswith(told)
    assert await house.say("/link") == phrases.LINKS_NONE


async def test_where_others_listen_nobody_is_linked_or_listed(house: House) -> None:
    await house.say("/allow discord:2")
    for line in ("/link telegram:1 discord:2", "/link"):
        assert await house.say(line, chat=ROOM) == phrases.LINK_NOT_HERE
    assert await house.say("/link") == phrases.LINKS_NONE


async def test_nobody_but_an_owner_links(house: House) -> None:
    await house.say("/allow telegram:2")
    await house.say("/allow discord:2")
    for person in ("telegram:2", "discord:5"):
        assert (await house.say("/link telegram:2 discord:2", person=person)).startswith("There is no /link")
    assert await house.say("/link") == phrases.LINKS_NONE


async def test_what_the_settings_say_beats_the_command(house: House) -> None:
    for person in ("discord:2", "telegram:4"):
        await house.say(f"/allow {person}")
    await house.say("/link telegram:1 telegram:4")
    await house.say("/link telegram:1 discord:2")
    rules = AccessSettings(
        owners=(OWNER,), guests=("discord:*",), people={"anna": (OWNER, "discord:2", "discord:9")}
    )
    house.services.access.set_rules(rules)
    for line in (
        "/link telegram:1 telegram:4",
        "/link telegram:4 discord:2",
        "/link telegram:1 discord:2 off",
    ):
        assert "access.people.anna" in await house.say(line), line
    assert await found_by(house, OWNER) == {"telegram:1", "discord:@2"}
    assert (await house.say("/link")).splitlines()[1:3] == [
        "- anna: telegram:1, discord:2, discord:9 (in the settings; no access to the memory: discord:9)",
        "- anna (telegram:1) = telegram:4 (inactive: the settings say who telegram:1 is)",
    ]
    told = await house.say("/link telegram:4 discord:2 off")
    assert told == phrases.NOT_LINKED.format(person="telegram:4", other="anna (discord:2)")
    told = await house.say("/link telegram:1 telegram:4 off")
    assert told == phrases.UNLINKED.format(person="anna (telegram:1)", other="telegram:4")
    house.services.access.set_rules(AccessSettings(owners=(OWNER,)))
    assert await found_by(house, OWNER) == {"telegram:1"}


async def test_a_link_to_somebody_denied_is_kept_but_does_not_count(house: House) -> None:
    await house.say("/allow discord:2")
    await house.say("/link telegram:1 discord:2")
    await house.say("/deny discord:2")
    assert await found_by(house, OWNER) == {"telegram:1"}
    assert "- discord:2 = telegram:1 (inactive: discord:2 has no access to the memory)" in await house.say(
        "/link"
    )
    await house.say("/allow discord:2")
    assert await found_by(house, OWNER) == {"telegram:1", "discord:@2"}


async def test_run_again_after_a_crash_it_gives_the_same_answer(house: House) -> None:
    await house.say("/allow discord:2")
    for line in ("/link telegram:1 discord:2", "/link telegram:1 discord:2 off"):
        told = await house.say(line)
        house.count -= 1
        assert await house.say(line) == told


async def test_links_outlive_the_program(tmp_path: Path) -> None:
    async with open_harness(tmp_path, access=ACCESS) as here:
        told = await here.say("/link telegram:2 discord:2", chat="telegram:1", sender="telegram:1")
        assert told.startswith("Linked: discord:2, telegram:2. ")
    async with State(tmp_path / ".commonplace" / "state.db") as state:
        assert await state.read(
            lambda db: db.execute("SELECT person, other, decided_by FROM links").fetchall()
        ) == [("discord:2", "telegram:2", "telegram:1")]


async def test_status_shows_linked_accounts_to_owners_and_to_the_person_where_nobody_else_reads_it(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, access=ACCESS) as here:
        for line in ("/link telegram:2 discord:2", "/link telegram:1 terminal:owner"):
            await here.say(line, chat="telegram:1", sender="telegram:1")
        first, second = (
            "Linked accounts: telegram:1, terminal:owner",
            "Linked accounts: discord:2, telegram:2",
        )
        told = (await here.say("/status", chat="telegram:1", sender="telegram:1")).splitlines()
        assert [each for each in told if each.startswith("Linked")] == [second, first]
        told = (await here.say("/status", chat="telegram:2", sender="telegram:2")).splitlines()
        assert [each for each in told if each.startswith("Linked")] == [second]
        await here.accept("/status", chat="telegram:-100", sender="telegram:1", in_room=True)
        await here.wait_until_idle()
        assert "Linked" not in here.reply(-1)
