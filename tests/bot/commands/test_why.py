"""`/why PATH:LINE`, as somebody types it."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from bot import phrases
from bot.config.settings import AccessSettings
from bot.note_writes import OnceWriter
from bot.state.changes import ChangeOrigin
from tests.fakes.commonplace import Commonplace
from tests.fakes.harness import Harness, open_harness
from tests.fakes.turns import NOW

OWNER = "telegram:1"
BEN = "telegram:2"
ROOM = "telegram:-100"
DAY = "2026-11-21.md"
KEY = "> - The key is under the mat."
NOT_YOURS = f"{KEY}\n\n{phrases.WHY_NOT_YOURS}"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as house:
        yield house


def edit(folder: Path, change: Mapping[str, str], name: str = DAY) -> None:
    """Replace texts in a note, as an editor does."""
    file = folder / "memory" / name
    text = file.read_text("utf-8") if file.exists() else ""
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new, 1)
    file.write_text(text, "utf-8")


async def tell_key(house: Harness, who: str, said: str = "Remember: the key is under the mat") -> None:
    """Have the model note where the key is."""
    house.model.enqueue(calls=[("memory_write", {"content": "The key is under the mat.", "target": "daily"})])
    house.model.enqueue("Noted.")
    await ask(house, said, who)


async def ask(house: Harness, text: str, who: str) -> str:
    """Say something in a private chat, and return the answer."""
    return await house.say(text, chat=who, sender=who)


async def say_in_room(house: Harness, text: str, *, sender: str) -> str:
    await house.accept(text, chat=ROOM, sender=sender, in_room=True)
    await house.wait_until_idle()
    return house.reply(-1)


async def test_the_message_behind_a_line_is_quoted(house: Harness) -> None:
    await tell_key(house, OWNER)
    assert await ask(house, f"/why {DAY}:3", OWNER) == (
        f"{KEY}\n\nIt comes from your message in this chat, today at 12:00:\n\n"
        "> Remember: the key is under the mat\n\n"
        "Written down by scripted/model. `/changes #1` shows the change; `/undo 1` undoes it."
    )


async def test_only_the_beginning_of_a_long_message_is_quoted(house: Harness) -> None:
    await tell_key(house, OWNER, "The key! " + "x" * 500)
    told = await ask(house, f"/why {DAY}:3", OWNER)
    assert f"> The key! {'x' * 191}…\n\n" in told
    assert "x" * 192 not in told


async def test_an_owner_learns_who_and_when_of_somebody_elses_private_message(house: Harness) -> None:
    await tell_key(house, BEN)
    assert await ask(house, f"/why {DAY}:3", OWNER) == (
        f"{KEY}\n\nIt comes from telegram:2's message in a private chat on Telegram, today at 12:00.\n\n"
        f"{phrases.WHY_OTHERS_CHAT}\n\n"
        "Written down by scripted/model. `/changes #1` shows the change; `/undo 1` undoes it."
    )
    assert "> Remember: the key" in await ask(house, f"/why {DAY}:3", BEN)


async def test_others_learn_only_what_is_theirs(house: Harness) -> None:
    await tell_key(house, OWNER)
    assert await ask(house, f"/why {DAY}:3", BEN) == NOT_YOURS
    await house.memory.write("A line of no one.")
    written = OnceWriter(house.memory, house.state)
    await written.write("From a program", key="rpc/1", origin=ChangeOrigin("http"))
    await written.write("From the page", key="page/1", origin=ChangeOrigin("http"))
    assert (await ask(house, f"/why {DAY}:5", BEN)).endswith(phrases.WHY_NOT_YOURS)
    assert "It was written by a program over HTTP, today at 12:00." in await ask(
        house, f"/why {DAY}:5", OWNER
    )
    assert "It was written by you on the page, today at 12:00." in await ask(house, f"/why {DAY}:6", OWNER)


async def test_what_linked_accounts_said_is_ones_own(tmp_path: Path) -> None:
    access = AccessSettings(owners=("telegram:1",), allow=("telegram:2", "telegram:4"))
    async with open_harness(tmp_path, access=access) as house:
        await tell_key(house, BEN)
        other = "telegram:4"
        assert await ask(house, f"/why {DAY}:3", other) == NOT_YOURS
        await ask(house, "/link telegram:2 telegram:4", OWNER)
        told = await ask(house, f"/why {DAY}:3", other)
        assert "your message in a private chat on Telegram, today at 12:00:\n\n> Remember: the key" in told


async def test_a_private_message_is_not_quoted_in_a_room(house: Harness) -> None:
    await tell_key(house, OWNER)
    await say_in_room(house, "/memory on", sender="telegram:1")
    told = await say_in_room(house, f"/why {DAY}:3", sender="telegram:1")
    assert "It comes from your message in a private chat on Telegram, today at 12:00." in told
    assert phrases.WHY_NOT_QUOTED in told
    assert "Remember" not in told


async def test_what_was_said_in_a_room_is_quoted_there(house: Harness) -> None:
    await say_in_room(house, "/memory on", sender="telegram:1")
    house.model.enqueue(calls=[("memory_write", {"content": "The key is under the mat.", "target": "daily"})])
    house.model.enqueue("Noted.")
    await say_in_room(house, "The key is under the mat now", sender="telegram:2")
    told = await say_in_room(house, f"/why {DAY}:3", sender="telegram:1")
    assert "telegram:2's message in this chat, today at 12:00:\n\n> The key is under the mat now" in told
    await say_in_room(house, "/memory off", sender="telegram:1")
    told = await ask(house, f"/why {DAY}:3", OWNER)
    assert "message in a room on Telegram, today at 12:00." in told
    assert "now" not in told


async def test_a_flush_names_the_message_that_shares_most_words(house: Harness) -> None:
    for text in ("How are you today?", "Our key is under the mat, by the way", "Good night"):
        house.model.enqueue("I see.")
        await ask(house, text, BEN)
    house.model.enqueue("- Ben's key is under the mat.\n- Zyx.")
    await ask(house, "/flush", BEN)
    lines = (await house.memory.get(DAY)).text.split("\n")
    number = next(at for at, line in enumerate(lines, 1) if "key" in line)
    told = await ask(house, f"/why {DAY}:{number}", BEN)
    assert (
        "It was noted from the conversation in this chat, probably because of your message today at 12:00:\n\n"
        "> Our key is under the mat, by the way"
    ) in told
    other = next(at for at, line in enumerate(lines, 1) if "Zyx" in line)
    told = await ask(house, f"/why {DAY}:{other}", BEN)
    assert "It was noted from the conversation in this chat, today at 12:00." in told


async def test_a_message_that_was_edited_or_forgotten_is_not_quoted(house: Harness) -> None:
    await tell_key(house, OWNER)

    mark = "UPDATE entries SET payload = json_set(payload, '$.edited', json('true')) WHERE kind = 'user'"
    await house.state.change(lambda db: db.execute(mark))
    told = await ask(house, f"/why {DAY}:3", OWNER)
    assert (
        "It was written for you in this chat, today at 12:00. The message has since been edited, "
        "forgotten or deleted."
    ) in told
    assert "Remember" not in told


async def test_what_was_forgotten_is_not_told(house: Harness) -> None:
    await tell_key(house, OWNER)
    asked = await ask(house, "/forget key mat", OWNER)
    code = asked.partition("/forget yes ")[2].split("`")[0].split()[0]
    await ask(house, f"/forget yes {code}", OWNER)
    told = await ask(house, "/changes", OWNER)
    assert "mat" not in told
    assert "mat" not in await ask(house, "/changes #1", OWNER)


async def test_a_line_that_was_moved_keeps_its_origin(house: Harness, tmp_path: Path) -> None:
    await tell_key(house, OWNER)
    await ask(house, "/remember bread", OWNER)
    edit(
        tmp_path,
        {"- The key is under the mat.\n": "", "- bread\n": "- bread\n  * The key is under the mat.\n"},
    )
    assert "> Remember: the key" in await ask(house, f"/why {DAY}:4", OWNER)
    edit(tmp_path, {"  * The key is under the mat.\n": ""})
    (tmp_path / "memory" / "house.md").write_text("# House\n\n1. The key is under the mat.\n")
    told = await ask(house, "/why house:3", OWNER)
    assert "> Remember: the key" in told
    assert "It was first written in `2026-11-21.md`." in told


async def test_a_path_with_the_memory_folders_name_is_the_same_note(house: Harness) -> None:
    await tell_key(house, OWNER)
    told = await ask(house, f"/why memory/{DAY}:3", OWNER)
    assert told == await ask(house, f"/why {DAY}:3", OWNER)


async def test_equal_lines_have_the_origin_of_their_place(tmp_path: Path) -> None:
    times = [NOW]
    async with open_harness(tmp_path, now=lambda: times[0]) as house:
        await tell_key(house, OWNER, "first")
        times[0] += timedelta(minutes=5)
        await ask(house, "/remember bread", OWNER)
        await tell_key(house, OWNER, "second")
        assert "> first" in await ask(house, f"/why {DAY}:3", OWNER)
        assert "> second" in await ask(house, f"/why {DAY}:5", OWNER)


async def test_what_was_put_back_has_its_first_origin(house: Harness) -> None:
    await tell_key(house, OWNER)
    await ask(house, "/undo", OWNER)
    await ask(house, "/redo", OWNER)
    told = await ask(house, f"/why {DAY}:3", OWNER)
    assert "> Remember: the key" in told
    assert "Change 3 put it back after it had been removed. `/changes #1` shows" in told


async def test_an_equal_line_that_came_and_went_has_put_nothing_back(house: Harness) -> None:
    for command in ("/remember bread", "/remember bread", "/undo", "/redo", "/undo"):
        await ask(house, command, OWNER)
    assert "put it back" not in await ask(house, f"/why {DAY}:3", OWNER)


async def test_of_what_was_put_back_from_before_the_record_only_that_is_told(
    house: Harness, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "house.md").write_text("# House\n\n- blue\n- red\n")
    house.model.enqueue(calls=[("memory_edit", {"path": "house.md", "old": "- blue\n", "new": ""})])
    house.model.enqueue("Removed.")
    await ask(house, "Not blue", OWNER)
    await ask(house, "/undo", OWNER)
    told = await ask(house, "/why house:3", OWNER)
    assert "It was put back by you today at 12:00, after it had been removed." in told


async def test_a_command_a_document_and_a_program_are_named(house: Harness) -> None:
    writer = OnceWriter(house.memory, house.state)
    await ask(house, "/remember bread", OWNER)
    filed = ChangeOrigin("document", person="telegram:1", chat="telegram:1", says=("lease.pdf",))
    await writer.write_document(
        "documents/lease.md", "The rent is 900.", title="Lease", key="a", origin=filed
    )
    await writer.write("A fact", key="b", origin=ChangeOrigin("cli"))
    assert "You wrote it with a command in this chat, today at 12:00." in await ask(
        house, f"/why {DAY}:3", OWNER
    )
    told = await ask(house, "/why documents/lease:3", OWNER)
    assert "It is from a document that you filed in this chat, today at 12:00." in told
    assert "The words are not your own; they are from lease.pdf." in told
    assert "It was written on the command line, today at 12:00." in await ask(house, f"/why {DAY}:4", OWNER)


async def test_an_import_is_named_with_its_file(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "boat.md").write_text("# Boat\n\nThe boat is blue.\n")
    commonplace.output_of("import", "vault")
    async with open_harness(tmp_path / "workspace") as house:
        told = await ask(house, "/why boat:3", OWNER)
        assert "It came with import 1, " in told
        assert "from the file `boat.md`." in told
        assert await ask(house, "/why boat:3", BEN) == f"> The boat is blue.\n\n{phrases.WHY_NOT_YOURS}"
        assert "an import, `boat.md`: added “The boat is blue.”" in await ask(house, "/changes", OWNER)


async def test_of_a_changed_line_the_latest_change_is_the_origin(house: Harness) -> None:
    await tell_key(house, BEN)
    await ask(house, f"/correct {DAY}:3 The key is with Ada.", OWNER)
    told = await ask(house, f"/why {DAY}:3", OWNER)
    assert "You wrote it with a command in this chat, today at 12:00." in told
    assert await ask(house, f"/why {DAY}:3", BEN) == f"> - The key is with Ada.\n\n{phrases.WHY_NOT_YOURS}"


async def test_lines_that_an_edit_left_as_they_were_keep_their_origin(house: Harness) -> None:
    await tell_key(house, OWNER, "first")
    await ask(house, "/remember core: one", OWNER)
    edit = {
        "path": DAY,
        "old": "# 2026-11-21\n\n- The key is under the mat.",
        "new": "# Day\n\n- The key is under the mat.\n- new",
    }
    house.model.enqueue(calls=[("memory_edit", edit)])
    house.model.enqueue("Done.")
    await ask(house, "second", OWNER)
    assert "> first" in await ask(house, f"/why {DAY}:3", OWNER)
    assert "> second" in await ask(house, f"/why {DAY}:4", OWNER)
    assert "> second" in await ask(house, f"/why {DAY}:1", OWNER)


async def test_a_short_line_is_found_among_many_that_hold_its_words(house: Harness) -> None:
    await tell_key(house, OWNER)
    await ask(house, "/remember mat", OWNER)
    writer = OnceWriter(house.memory, house.state)
    for number in range(250):
        await writer.write(f"mat {number} of", key=f"{number}", origin=ChangeOrigin("http"))
    assert "You wrote it with a command" in await ask(house, f"/why {DAY}:4", OWNER)


async def test_what_nothing_is_recorded_of_was_written_by_hand(house: Harness, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "house.md").write_text("# House\n\n- blue\n")
    for who in (OWNER, BEN):
        assert await ask(house, "/why house:3", who) == (
            "> - blue\n\nI don't know where this line comes from: somebody wrote or edited it by hand, or it "
            "is older than my record, which goes back 90 days."
        )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/why", "Usage: `/why PATH:LINE`"),
        ("/why house.md", phrases.WHY_USAGE),
        ("/why house.md:2", "Line 2 of house.md is empty."),
        ("/why house.md:0", phrases.WHY_USAGE),
        ("/why house.md:9", "house.md ends at line 3; there is no line 9."),
        ("/why none.md:3", "There is no note none.md."),
        ("/why ../house.md:3", "../house.md leads out of the memory folder."),
    ],
)
async def test_a_place_that_is_none_is_refused(house: Harness, tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "house.md").write_text("# House\n\n- blue\n")
    assert (await house.say(line)).startswith(told)
