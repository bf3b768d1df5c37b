"""`/changes`, `/undo` and `/redo`, as somebody types them."""

from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot import phrases
from bot.access import Standing
from bot.change_texts import describe_coverage, parse_wanted
from bot.commands.changes import undo_change
from bot.commands.command import CommandCall
from bot.config.settings import AccessSettings, Settings
from bot.messages import Choice
from bot.note_writes import OnceWriter
from bot.state.changes import ChangeOrigin
from tests.fakes.harness import Harness, open_harness
from tests.fakes.table_test import table_test
from tests.fakes.turns import NOW, message

OWNER = "telegram:1"
BEN = "telegram:2"
GUEST = "telegram:3"
ROOM = "telegram:-100"
DAY = "2026-11-21.md"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as house:
        yield house


def read(folder: Path, name: str = DAY) -> str:
    return (folder / "memory" / name).read_text("utf-8")


async def ask(house: Harness, text: str, who: str) -> str:
    """Say something in a private chat, and return the answer."""
    return await house.say(text, chat=who, sender=who)


async def say_in_room(house: Harness, text: str, *, sender: str) -> str:
    await house.accept(text, chat=ROOM, sender=sender, in_room=True)
    await house.wait_until_idle()
    return house.reply(-1)


# -- /changes -------------------------------------------------------------------------------------------------


@table_test(
    ("text", "wanted"),
    [
        ("", (0, 0, "", "")),
        ("30", (30, 0, "", "")),
        ("#12", (0, 12, "", "")),
        ("`#12`", (0, 12, "", "")),
        ("Today", (0, 0, "2026-11-21T00:00:00.000+00:00", "")),
        ("today.md", (0, 0, "", "today.md")),
        ("12.md", (0, 0, "", "12.md")),
        ("`my trips.md`", (0, 0, "", "my trips.md")),
        ("0", (0, 0, "", "0")),
        ("9" * 19, (0, 0, "", "9" * 19)),
    ],
)
def test_what_is_asked_for_is_a_count_a_number_a_day_or_a_note(
    text: str, wanted: tuple[int, int, str, str]
) -> None:
    found = parse_wanted(text, now=NOW)
    assert (found.limit, found.number, found.since, found.path) == wanted


async def test_changes_are_listed_newest_first_with_who_and_where(house: Harness) -> None:
    house.model.enqueue(calls=[("memory_write", {"content": "The key is under the mat.", "target": "core"})])
    house.model.enqueue("Noted.")
    await house.say("The key is under the mat")
    await ask(house, "/remember Tea at four", BEN)
    await house.say("/correct MEMORY.md:3 The key is with Ada.")
    assert await house.say("/changes") == (
        "The latest changes to the notes:\n\n"
        "- **#3** 12:00, you, `MEMORY.md`: “The key is under the mat.” became “The key is with Ada.”\n"
        "- **#2** 12:00, telegram:2, `2026-11-21.md`: added “Tea at four”\n"
        "- **#1** 12:00, you, `MEMORY.md`: added “The key is under the mat.”\n\n"
        "`/changes #3` shows that change in full; `/undo 3` undoes it."
    )


async def test_a_change_behind_the_shown_words_names_them_once(house: Harness) -> None:
    line = "The key is under the mat beside the door of the shed in the garden"
    await house.say(f"/remember {line}.")
    await house.say(f"/correct {DAY}:3 {line}, to the left.")
    told = await house.say("/changes")
    assert "changed “The key is under the mat" in told
    assert "became" not in told


async def test_people_see_their_own_changes_alone(house: Harness) -> None:
    await house.say("/remember The key is under the mat.")
    await ask(house, "/remember Tea at four", BEN)
    told = await ask(house, "/changes", BEN)
    assert told.startswith("Your latest changes to the notes:\n\n- **#2** 12:00, you,")
    assert "key" not in told


async def test_a_guest_and_a_room_without_memory_have_none_of_the_commands(house: Harness) -> None:
    await house.say("/remember The key is under the mat.")
    for line in ("/changes", "/undo", "/redo", f"/why {DAY}:3"):
        name = line.split()[0]
        assert (await ask(house, line, GUEST)).startswith(f"There is no {name} here")
        assert await say_in_room(house, line, sender="telegram:1") == phrases.MEMORY_IS_CLOSED


async def test_only_as_many_are_listed_as_one_asks_for(house: Harness) -> None:
    for number in range(12):
        await house.say(f"/remember fact {number}")
    told = await house.say("/changes")
    assert (told.count("- **#"), "**#12**" in told, "**#2**" in told) == (10, True, False)
    assert "`/changes 30` shows more." in told
    told = await house.say("/changes 30")
    assert (told.count("- **#"), "shows more" in told) == (12, False)
    assert (await house.say("/changes 1")).count("- **#") == 1


async def test_the_changes_of_a_note_are_listed_even_when_it_is_gone(house: Harness, tmp_path: Path) -> None:
    await house.say("/remember Tea at four")
    await house.say("/remember core: Anna is a vet.")
    assert (await house.say("/changes memory")).startswith("The latest changes to `MEMORY.md`:\n\n- **#2**")
    (tmp_path / "memory" / DAY).unlink()
    told = await house.say("/changes 2026-11-21")
    assert told.startswith("The latest changes to `2026-11-21.md`:\n\n- **#1**")
    assert "MEMORY" not in told
    assert (await house.say("/changes memory/MEMORY.md")).startswith("The latest changes to `MEMORY.md`:")
    told = await house.say("/changes yesterday")
    assert told == f"There is no note yesterday.md. {phrases.CHANGES_USAGE}"


async def test_todays_changes_are_those_of_the_owners_day(tmp_path: Path) -> None:
    times = [NOW]
    async with open_harness(tmp_path, now=lambda: times[0]) as house:
        await house.say("/remember bread")
        times[0] = NOW.replace(day=22, hour=0, minute=1)
        assert await house.say("/changes today") == "Nothing has changed in the notes today."
        await house.say("/remember milk")
        told = await house.say("/changes today")
        assert told.startswith("Today's changes to the notes:\n\n- **#2** 00:01, you")
        assert "bread" not in told
        assert "**#1** 2026-11-21 12:00, you" in await house.say("/changes")


def test_where_several_instances_share_a_memory_it_says_what_it_covers() -> None:
    alone = Settings.model_validate({"instance": {"name": "attic"}})
    assert describe_coverage(alone) == ""
    shared = Settings.model_validate(
        {"index": {"url": "postgresql://me:secret@db/notes"}, "instance": {"name": "attic"}}
    )
    assert describe_coverage(shared) == (
        "This covers only what was changed through this instance (attic); the others that share this memory keep "
        "their own records."
    )


async def test_without_changes_that_is_said(house: Harness) -> None:
    assert await house.say("/changes") == "No changes to the notes are recorded."
    assert await ask(house, "/changes", BEN) == "You haven't changed any notes yet."
    assert await ask(house, "/changes today", BEN) == "You haven't changed any notes today."


async def test_one_change_is_shown_in_full(house: Harness) -> None:
    house.model.enqueue(calls=[("memory_write", {"content": "The key is under the mat.", "target": "core"})])
    house.model.enqueue("Noted.")
    await ask(house, "The key is under the mat", OWNER)
    await ask(house, "/correct MEMORY.md:3 It is with ```Ada```.", OWNER)
    assert await ask(house, "/changes #1", OWNER) == (
        "Change 1 to `MEMORY.md`, line 3, today at 12:00, by you in this chat (model: scripted/model).\n\n"
        "```diff\n+# Memory\n+\n+- The key is under the mat.\n```\n\n`/undo 1` undoes it."
    )
    assert (
        "by you in this chat, with a command.\n\n"
        "````diff\n-- The key is under the mat.\n+- It is with ```Ada```.\n````\n\n"
    ) in await ask(house, "/changes #2", OWNER)


async def test_whose_lines_a_change_replaced_is_said(house: Harness) -> None:
    await ask(house, "/remember Tea at four", BEN)
    await house.say(f"/correct {DAY}:3 Tea at five")
    assert "It replaced lines by telegram:2." in await house.say("/changes #2")
    assert "It replaced" not in await house.say("/changes #1")
    told = await house.say("/undo")
    assert "This also affects lines by telegram:2." in told
    await house.say("/undo 1")
    assert "It removed lines by telegram:2." in await house.say("/changes #4")


OTHER = "telegram:4"


@table_test(
    ("who", "whose", "may"),
    [
        (OWNER, OWNER, True),
        (OWNER, BEN, True),
        (OWNER, OTHER, True),
        (OWNER, "", True),
        (BEN, BEN, True),
        (BEN, OWNER, False),
        (BEN, OTHER, False),
        (BEN, "", False),
        (GUEST, GUEST, False),
        (GUEST, BEN, False),
    ],
)
async def test_who_sees_and_takes_back_whose_changes(who: str, whose: str, may: bool) -> None:
    access = AccessSettings(owners=(OWNER,), allow=(BEN, OTHER), guests=(GUEST,))
    with TemporaryDirectory() as folder:
        async with open_harness(Path(folder), access=access) as house:
            origin = ChangeOrigin("tool", person=whose, chat=whose)
            writer = OnceWriter(house.memory, house.state)
            await writer.write("The key is under the mat.", key="k", origin=origin)
            for line in ("/changes", "/changes today", f"/changes {DAY}", "/changes #1"):
                assert ("key" in await ask(house, line, who)) is may, line
            own = may and who == whose
            await ask(house, "/undo", who)
            assert (Path(folder) / "memory" / DAY).exists() is not own
            await ask(house, "/undo 1", who)
            assert (Path(folder) / "memory" / DAY).exists() is not may


@table_test("number", [1, 9])
async def test_what_is_not_ones_own_looks_like_nothing(number: int) -> None:
    with TemporaryDirectory() as folder:
        async with open_harness(Path(folder)) as house:
            await house.say("/remember The key is under the mat.")
            told = f"There is no change {number} of yours. `/changes` lists your latest."
            assert await ask(house, f"/changes #{number}", BEN) == told
            assert await ask(house, f"/undo {number}", BEN) == told
            assert await house.say("/changes #9") == "There is no change 9. `/changes` lists the latest."
            assert "key" in read(Path(folder))


# -- /undo and /redo ------------------------------------------------------------------------------------------


async def test_the_latest_change_is_taken_back_and_done_again(house: Harness, tmp_path: Path) -> None:
    await ask(house, "/remember bread", OWNER)
    await ask(house, "/remember milk", OWNER)
    after = read(tmp_path)
    assert await ask(house, "/undo", OWNER) == (
        "Undid change 2 in 2026-11-21.md.\n\nI removed:\n\n> - milk\n\n`/redo` redoes it."
    )
    assert read(tmp_path) == "# 2026-11-21\n\n- bread\n"
    assert house.telegram.shown[-1][1][-1].choices == (Choice("Redo", "/redo"),)
    assert await ask(house, "/redo", OWNER) == (
        "Redid change 2 in 2026-11-21.md:4.\n\nI put back:\n\n> - milk\n\n`/undo 4` undoes it again."
    )
    assert read(tmp_path) == after
    assert await ask(house, "/redo", OWNER) == phrases.REDO_NOTHING
    told = await ask(house, "/changes", OWNER)
    assert "**#4** 12:00, you, `2026-11-21.md`: redid #2: added “milk”" in told
    assert "**#3** 12:00, you, `2026-11-21.md`: undid #2: removed “milk”" in told
    assert "**#2** 12:00, you, `2026-11-21.md`: added “milk”\n" in told
    await ask(house, "/undo 4", OWNER)
    assert "added “milk” (undone)" in await ask(house, "/changes", OWNER)


async def test_after_a_redo_an_undo_takes_back_what_was_done_again(house: Harness, tmp_path: Path) -> None:
    await house.say("/remember bread")
    await house.say("/remember milk")
    await house.say("/undo 1")
    await house.say("/redo")
    assert (await house.say("/undo")).startswith("Undid change 1 ")
    assert read(tmp_path) == "# 2026-11-21\n\n- milk\n"
    assert (await house.say("/redo")).startswith("Redid change 1 ")
    await house.say("/undo")
    assert (await house.say("/undo")).startswith("Undid change 2 ")
    assert await house.say("/undo") == phrases.UNDO_NOTHING_OWNER


async def test_what_an_owner_did_again_is_still_its_authors_latest_change(house: Harness) -> None:
    await ask(house, "/remember bread", BEN)
    await house.say("/undo 1")
    await house.say("/redo")
    assert await house.say("/undo") == phrases.UNDO_NOTHING_OWNER
    assert (await ask(house, "/undo", BEN)).startswith("Undid change 1 ")


async def test_an_owners_undo_without_a_number_is_of_their_own_changes(
    house: Harness, tmp_path: Path
) -> None:
    await house.say("/remember bread")
    await ask(house, "/remember milk", BEN)
    assert (await house.say("/undo")).startswith("Undid change 1 in 2026-11-21.md.\n")
    assert read(tmp_path).endswith("- milk\n")
    assert await house.say("/undo") == phrases.UNDO_NOTHING_OWNER


async def test_an_owner_takes_back_what_others_wrote_by_its_number(house: Harness, tmp_path: Path) -> None:
    await ask(house, "/remember bread", BEN)
    told = await house.say("/undo #1")
    assert told.startswith("Undid change 1 in 2026-11-21.md, made by telegram:2.\n\nI removed:")
    assert not (tmp_path / "memory" / DAY).exists()
    assert await ask(house, "/undo", BEN) == phrases.UNDO_NOTHING
    assert (await house.say("/redo")).startswith("Redid change 1")
    assert read(tmp_path) == "# 2026-11-21\n\n- bread\n"


async def test_linked_accounts_are_one_person(tmp_path: Path) -> None:
    access = AccessSettings(owners=("telegram:1",), allow=("telegram:2", "telegram:4"))
    async with open_harness(tmp_path, access=access) as house:
        await ask(house, "/link telegram:2 telegram:4", OWNER)
        await ask(house, "/remember bread", BEN)
        other = "telegram:4"
        assert "**#1** 12:00, you" in await ask(house, "/changes", other)
        assert (await ask(house, "/undo", other)).startswith("Undid change 1")


async def test_edited_lines_stay_and_the_difference_is_shown(house: Harness, tmp_path: Path) -> None:
    await house.say("/remember The key is under the mat.")
    file = tmp_path / "memory" / DAY
    file.write_text("# 2026-11-21\n\n- The key is under the doormat.\n")
    told = await house.say("/undo 1")
    assert told.endswith(
        "`-` marks what the change wrote, `+` what is there now:\n\n"
        "```diff\n- - The key is under the mat.\n+ - The key is under the doormat.\n```"
    )
    assert "doormat" in read(tmp_path)
    assert await house.say("/undo") == f"{told}\n\n{phrases.UNDO_EARLIER_HINT}"


async def test_what_was_taken_back_or_changed_later_is_refused_with_the_way_on(house: Harness) -> None:
    await house.say("/remember The key is under the mat.")
    await house.say(f"/correct {DAY}:3 The key is with Ada.")
    assert (await house.say("/undo 1")).endswith("`/undo 2` does that.")
    await house.say("/undo")
    assert (await house.say("/undo 2")).endswith("`/undo 3` redoes it.")
    assert await house.say("/undo two") == phrases.UNDO_USAGE


async def test_of_a_later_change_by_somebody_else_nothing_is_told(house: Harness) -> None:
    await ask(house, "/remember The key is under the mat.", BEN)
    await house.say(f"/correct {DAY}:3 The key is with Ada.")
    assert await ask(house, "/undo 1", BEN) == phrases.UNDO_REFUSED_BY_OTHERS
    told = await ask(house, "/undo", BEN)
    assert told == f"{phrases.UNDO_REFUSED_BY_OTHERS}\n\n{phrases.UNDO_EARLIER_HINT}"


async def test_the_same_undo_is_done_once(house: Harness, tmp_path: Path) -> None:
    """As after a crash, when the same message is answered again."""
    await house.say("/remember bread")
    await house.say("/remember milk")
    call = CommandCall(message("/undo"), Standing.OWNER, {}, key="message-9")
    services = house.assistant.services
    assert await undo_change(call, services) == await undo_change(call, services)
    assert read(tmp_path) == "# 2026-11-21\n\n- bread\n"


async def test_in_a_room_with_memory_everybody_takes_back_their_own(house: Harness, tmp_path: Path) -> None:
    await say_in_room(house, "/memory on", sender="telegram:1")
    await say_in_room(house, "/remember bread", sender="telegram:1")
    await say_in_room(house, "/remember milk", sender="telegram:2")
    assert "bread" not in await say_in_room(house, "/changes", sender="telegram:2")
    assert (await say_in_room(house, "/undo", sender="telegram:2")).startswith("Undid change 2")
    assert read(tmp_path) == "# 2026-11-21\n\n- bread\n"
