"""`/remember core:`, `/correct`, `/memory list` and `/memory trash`, as somebody types them."""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot import phrases
from tests.fakes.harness import Harness, open_harness


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as house:
        yield house


def write(folder: Path, name: str, text: str, *, age: int = 0) -> Path:
    path = folder / "memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (1_795_262_400 - age, 1_795_262_400 - age))  # 2026-11-21 12:00 UTC
    return path


# -- /remember core: ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["core: Anna is a vet.", "CORE:Anna is a vet.", "core：Anna is a vet."])
async def test_an_owner_writes_into_the_core_note(house: Harness, tmp_path: Path, text: str) -> None:
    assert await house.say(f"/remember {text}") == "Noted in MEMORY.md:3."
    assert (tmp_path / "memory" / "MEMORY.md").read_text() == "# Memory\n\n- Anna is a vet.\n"


async def test_who_is_no_owner_is_told_how_to_note_it(house: Harness, tmp_path: Path) -> None:
    told = await house.say("/remember core: x", chat="telegram:2", sender="telegram:2")
    assert told == "Only owners can write to MEMORY.md. `/remember TEXT` notes it in today's log."
    assert not (tmp_path / "memory").exists()
    assert (await house.say("/remember tea", chat="telegram:2", sender="telegram:2")).startswith(
        "Noted in 2026-"
    )


async def test_core_without_a_text_shows_the_usage(house: Harness) -> None:
    assert await house.say("/remember core:") == "Usage: `/remember core: TEXT`"


async def test_a_core_note_that_becomes_too_long_is_told_of_at_once(house: Harness, tmp_path: Path) -> None:
    write(tmp_path, "MEMORY.md", "- A fact that everybody should know.\n" * 300)
    told = await house.say("/remember core: Anna is a vet.")
    assert told.startswith("Noted in MEMORY.md:301.\n\nMEMORY.md is 11,116 characters long")


# -- /correct -------------------------------------------------------------------------------------------------


async def test_a_line_is_corrected_and_what_it_said_is_told_and_kept(house: Harness, tmp_path: Path) -> None:
    path = write(tmp_path, "house.md", "# House\n\n- The boiler is blue.\n- The boiler is blue.\n")
    assert await house.say("/correct house.md:4 The boiler is red.") == (
        "Corrected house.md:4. It said:\n\n> - The boiler is blue.\n\nNow it says:\n\n> - The boiler is red.\n\n"
        "`/memory trash` has the old line."
    )
    assert path.read_text() == "# House\n\n- The boiler is blue.\n- The boiler is red.\n"
    assert "`house.md`: - The boiler is blue." in await house.say("/memory trash")


@pytest.mark.parametrize("place", ["`my trips.md:3`", "memory/my trips.md:3", "my trips.md:3-3"])
async def test_a_place_is_understood_as_people_copy_it(house: Harness, tmp_path: Path, place: str) -> None:
    path = write(tmp_path, "my trips.md", "# Trips\n\n- Oslo\n")
    assert (await house.say(f"/correct {place} Bergen")).startswith("Corrected my trips.md:3.")
    assert path.read_text() == "# Trips\n\n- Bergen\n"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/correct", "Usage: `/correct PATH:LINE TEXT`"),
        ("/correct house.md:3", "Usage: `/correct PATH:LINE TEXT`"),
        ("/correct house.md The boiler", "Usage: `/correct PATH:LINE TEXT`"),
        ("/correct house.md:1-3 The boiler", "I can only correct one line at a time."),
        ("/correct house.md:9 x", "house.md ends at line 3; there is no line 9."),
        ("/correct house.md:2 x", "Line 2 of house.md is empty, so there is nothing to correct."),
        ("/correct house.md:3 The boiler is blue.", "Line 3 of house.md already says that."),
        ("/correct house.md:3 two\nlines", "The new text has several lines; please put it on a single line."),
        ("/correct none.md:3 x", "There is no note none.md."),
        ("/correct ../house.md:3 x", "../house.md leads out of the memory folder."),
        ("/correct /etc/passwd.md:1 x", "/etc/passwd.md is absolute"),
    ],
)
async def test_what_cannot_be_corrected_is_refused(
    house: Harness, tmp_path: Path, command: str, told: str
) -> None:
    path = write(tmp_path, "house.md", "# House\n\n- The boiler is blue.\n")
    assert (await house.say(command)).startswith(told)
    assert path.read_text() == "# House\n\n- The boiler is blue.\n"


@pytest.mark.parametrize("command", ["/correct house.md:3 x", "/memory list", "/memory trash"])
async def test_notes_are_looked_after_by_owners_alone(house: Harness, tmp_path: Path, command: str) -> None:
    path = write(tmp_path, "house.md", "# House\n\n- blue\n")
    told = await house.say(command, chat="telegram:2", sender="telegram:2")
    assert told.startswith(f"There is no {command.split()[0]} here")
    assert path.read_text() == "# House\n\n- blue\n"


@pytest.mark.parametrize(
    ("place", "stands"),
    [
        ("2026-11-23:3", "logs/2026-11-23.md:3"),
        ("`2026-11-23:3`", "logs/2026-11-23.md:3"),
        ("my trips:3", "my trips.md:3"),
        ("My Trips.md:3", "my trips.md:3"),
        ("memory:3", "MEMORY.md:3"),
    ],
)
async def test_a_place_is_understood_without_folder_and_ending(
    house: Harness, tmp_path: Path, place: str, stands: str
) -> None:
    for name in ("logs/2026-11-23.md", "my trips.md", "MEMORY.md"):
        write(tmp_path, name, "# Trips\n\n- Oslo at 9:30\n")
    assert await house.say(f"/memory get {place}") == "- Oslo at 9:30"
    told = await house.say(f"/correct {place} Bergen at 10:30")
    assert told.startswith(f"Corrected {stands}. It said:\n\n> - Oslo at 9:30")
    assert (tmp_path / "memory" / stands[:-2]).read_text() == "# Trips\n\n- Bergen at 10:30\n"


@pytest.mark.parametrize("command", ["/memory get {}", "/memory get {}:3", "/correct {}:3 x"])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("plan", "Several notes match plan: a/plan.md, b/plan.md."),
        ("2026-11-22", "There is no note 2026-11-22.md. The most similar: 2026-11-21.md."),
        ("pla", "There is no note pla.md. The most similar: a/plan.md, b/plan.md."),
        ("quite another", "There is no note quite another.md."),
        ("../plan", "../plan.md leads out of the memory folder."),
    ],
)
async def test_of_a_name_that_fits_no_one_note_the_nearest_are_named(
    house: Harness, tmp_path: Path, command: str, name: str, told: str
) -> None:
    paths = [write(tmp_path, each, "# Plan\n\n- a\n") for each in ("a/plan.md", "b/plan.md", "2026-11-21.md")]
    assert await house.say(command.format(name)) == told
    assert {path.read_text() for path in paths} == {"# Plan\n\n- a\n"}


async def test_a_lone_dash_empties_lines_and_the_lines_below_keep_their_numbers(
    house: Harness, tmp_path: Path
) -> None:
    path = write(tmp_path, "house.md", "# House\n\n- One.\n- Two.\n\n- Three.\n- Four.\n")
    assert await house.say("/correct house.md:4 -") == (
        "Emptied house.md:4. It said:\n\n> - Two.\n\n`/memory trash` has it."
    )
    assert path.read_text() == "# House\n\n- One.\n\n\n- Three.\n- Four.\n"
    assert "is empty" in await house.say("/correct house.md:4 -")
    assert await house.say("/correct house.md:3-6 -") == (
        "Emptied house.md:3-6. It said:\n\n> - One.\n>\n>\n> - Three.\n\n`/memory trash` has it."
    )
    assert path.read_text() == "# House\n\n\n\n\n\n- Four.\n"
    assert "there is no line 8" in await house.say("/correct house.md:7-8 -")
    number = re.findall(r"\*\*(\d+)\*\*", await house.say("/memory trash"))[0]
    assert (await house.say(f"/memory trash restore {number}")).startswith("Restored")
    assert path.read_text() == "# House\n\n- One.\n\n\n- Three.\n- Four.\n"


# -- /memory list ---------------------------------------------------------------------------------------------


async def test_notes_are_listed_with_size_and_date_the_latest_first(house: Harness, tmp_path: Path) -> None:
    write(tmp_path, "MEMORY.md", "x" * 2000, age=7200)
    write(tmp_path, "2026-11-21.md", "- tea\n")
    write(tmp_path, "trips/oslo.md", "Boats\n", age=86400)
    write(tmp_path, "trips/north/narvik.md", "Snow\n", age=90000)
    assert await house.say("/memory list") == (
        "Folders: `trips` (2)\n\n"
        "- `2026-11-21.md`, 6 bytes, 2026-11-21 12:00\n"
        "- `MEMORY.md`, 2.0 kB, 2026-11-21 10:00\n"
        "- `trips/oslo.md`, 6 bytes, 2026-11-20 12:00\n"
        "- `trips/north/narvik.md`, 5 bytes, 2026-11-20 11:00"
    )
    for folder in ("trips", "Trips/", "memory/trips", "`trips`"):
        told = await house.say(f"/memory list {folder}")
        assert told.startswith("Folders: `trips/north` (1)\n\n- `trips/oslo.md`")
        assert "MEMORY.md" not in told


async def test_a_note_of_an_impossible_date_is_listed_all_the_same(tmp_path: Path) -> None:
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = write(Path(folder), "later.md", "- tea\n")
        os.utime(path, (1e12, 1e12))
        if path.stat().st_mtime < 1e12:
            pytest.skip("no file can be of such a date here")
        async with open_harness(Path(folder)) as house:
            assert await house.say("/memory list") == "- `later.md`, 6 bytes"


async def test_nothing_hides_in_a_name_and_what_is_shown_can_be_asked_for(
    house: Harness, tmp_path: Path
) -> None:
    write(tmp_path, "old\u200b/bill\u202efdp.md", "- 5 euros\n")
    told = await house.say("/memory list")
    assert told.startswith("Folders: `old⟨U+200B⟩` (1)")
    assert "- `old⟨U+200B⟩/bill⟨U+202E⟩fdp.md`, 10 bytes" in told
    assert await house.say("/memory get old⟨U+200B⟩/bill⟨U+202E⟩fdp.md") == "- 5 euros"
    assert "fdp.md" in await house.say("/memory list old⟨U+200B⟩")
    assert "**old⟨U+200B⟩/bill⟨U+202E⟩fdp.md:1**" in await house.say("/recall euros")
    assert "⟨U+202E⟩fdp.md:1" in await house.say("/correct old⟨U+200B⟩/bill⟨U+202E⟩fdp.md:1 6 euros")


async def test_recall_says_since_when_a_fact_is_true(house: Harness, tmp_path: Path) -> None:
    write(tmp_path, "2024-04-04.md", "- Alma's bank is Tomorrow.\n")
    write(tmp_path, "2025-01-06.md", "- Alma's bank is Bunq.\n")
    assert await house.say("/recall Alma's bank") == (
        "**2025-01-06.md:1**\n\n> - Alma's bank is Bunq.\n\nSince 6 January 2025; before: “Alma's bank is Tomorrow” "
        "(4 April 2024)\n\n**2024-04-04.md:1**\n\n> - Alma's bank is Tomorrow.\n\nTold on 4 April 2024; changed since, "
        "see 2025-01-06.md:1"
    )


async def test_a_list_is_bounded(house: Harness, tmp_path: Path) -> None:
    for number in range(40):
        write(tmp_path, f"folder{number:02}/{number:02}.md", "x\n", age=number)
    told = await house.say("/memory list")
    assert told.count("\n- ") == 30
    assert told.endswith("These are the latest 30 of 40. `/memory list FOLDER` shows one folder.")
    assert "`folder19` (1), and 20 more\n" in told


async def test_a_folder_that_is_not_there_is_told_so(house: Harness, tmp_path: Path) -> None:
    assert await house.say("/memory list") == phrases.NO_NOTES
    write(tmp_path, "trips/oslo.md", "Boats\n")
    for folder in ("tips", "../", "trip", "oslo.md"):
        assert (await house.say(f"/memory list {folder}")).startswith("I found no folder ")


# -- /memory trash --------------------------------------------------------------------------------------------


async def numbers(house: Harness) -> list[str]:
    """The numbers that `/memory trash` lists, in its order."""
    return re.findall(r"^- \*\*(\d+)\*\* ", await house.say("/memory trash"), re.MULTILINE)


async def test_what_was_removed_is_put_back_by_its_number(house: Harness, tmp_path: Path) -> None:
    before = "# House\n\n- The boiler is blue.\n- The roof leaks.\n"
    path = write(tmp_path, "house.md", before)
    assert await house.say("/memory trash") == "The trash is empty."
    await house.memory.edit("house.md", "- The boiler is blue.\n", "")
    await house.memory.edit("house.md", "- The roof leaks.\n", "")
    rows = (await house.say("/memory trash")).split("\n")
    assert rows[0] == "Removed, newest first:"
    roof, boiler = await numbers(house)
    assert rows[1].startswith(f"- **{roof}** ")
    assert rows[1].endswith(", `house.md`: - The roof leaks.")
    assert rows[2].startswith(f"- **{boiler}** ")
    assert rows[-1] == "`/memory trash restore N` puts one back."
    assert await house.say(f"/memory trash restore {boiler}") == "Restored to house.md:3."
    assert path.read_text() == "# House\n\n- The boiler is blue.\n"
    told = await house.say(f"/memory trash restore {boiler}")
    assert told == f"Number {boiler} has already been restored."
    assert await house.say(f"/memory trash restore {roof}") == "Restored to house.md:3."
    assert sorted(path.read_text().split("\n")) == sorted(before.split("\n"))
    assert await house.say("/memory trash") == "The trash is empty."


async def test_what_was_listed_is_restored_though_something_was_removed_since(
    house: Harness, tmp_path: Path
) -> None:
    path = write(tmp_path, "house.md", "# House\n\n- one\n- two\n- three\n")
    await house.memory.edit("house.md", "- one\n", "")
    [number] = await numbers(house)
    await house.memory.edit("house.md", "- three\n", "")
    assert await house.say(f"/memory trash restore {number}") == "Restored to house.md:3."
    assert path.read_text() == "# House\n\n- one\n- two\n"


async def test_restoring_after_a_correction_puts_the_old_line_in_place_of_the_new_one(
    house: Harness, tmp_path: Path
) -> None:
    path = write(tmp_path, "house.md", "# House\n\n- The boiler is blue.\n- The roof leaks.\n")
    await house.say("/correct house.md:3 The boiler is red.")
    await house.say("/correct house.md:3 The boiler is green.")
    _, blue = await numbers(house)
    assert await house.say(f"/memory trash restore {blue}") == (
        "Restored house.md:3. It said:\n\n> - The boiler is green.\n\nNow it says:\n\n> - The boiler is blue.\n\n"
        "`/memory trash` has what it said before."
    )
    assert path.read_text() == "# House\n\n- The boiler is blue.\n- The roof leaks.\n"
    _, red = await numbers(house)
    path.write_text("# House\n\n- The boiler is yellow.\n- The roof leaks.\n")
    assert await house.say(f"/memory trash restore {red}") == (
        "Restored to house.md:3. The text that had replaced it isn't there any more, so please check the lines around "
        "it."
    )
    assert "The boiler is red.\n- The boiler is yellow." in path.read_text()


async def test_restoring_leaves_a_line_alone_that_only_reads_like_the_correction(
    house: Harness, tmp_path: Path
) -> None:
    path = write(tmp_path, "shopping.md", "# Shopping\n\n- milk\n- eggs\n")
    await house.say("/correct shopping.md:3 eggs")
    await house.say("/correct shopping.md:3 bread")
    _, milk = await numbers(house)
    told = await house.say(f"/memory trash restore {milk}")
    assert told.startswith("Restored shopping.md:3. It said:\n\n> - bread\n\nNow it says:\n\n> - milk\n")
    assert path.read_text() == "# Shopping\n\n- milk\n- eggs\n"


async def test_what_two_owners_put_back_at_once_comes_back_once(house: Harness, tmp_path: Path) -> None:
    path = write(tmp_path, "house.md", "# House\n\n- one\n- two\n")
    await house.say("/correct house.md:4 three")
    [number] = await numbers(house)
    for chat in ("terminal:main", "terminal:other"):
        await house.accept(f"/memory trash restore {number}", chat=chat)
    await house.wait_until_idle()
    assert path.read_text() == "# House\n\n- one\n- two\n"
    told = sorted([house.reply(-1), house.reply(-2)])
    assert told[0].startswith("Restored house.md:4. It said:")
    assert told[1] in (
        "That is no longer in the trash; it may have been restored by somebody else.",
        f"Number {number} has already been restored.",
    )


async def test_what_an_earlier_version_kept_is_put_back_too(house: Harness, tmp_path: Path) -> None:
    trash = tmp_path / ".commonplace" / "trash"
    trash.mkdir(parents=True)
    (trash / "2026-11-21T14-30-02.123456Z trips--oslo.md").write_text("Boats")
    (trash / "2026-11-20T14-30-02.123456Z trips--bergen.md").write_text("# Bergen\n\nRain.\n")
    oslo = write(tmp_path, "trips/oslo.md", "# Oslo\n\n- Ships\n")
    assert "`trips/bergen.md`: # Bergen Rain." in await house.say("/memory trash")
    oslo_number, bergen_number = await numbers(house)
    assert await house.say(f"/memory trash restore {oslo_number}") == "Restored to trips/oslo.md:5."
    assert oslo.read_text() == "# Oslo\n\n- Ships\n\nBoats\n"
    assert (await house.say(f"/memory trash restore {bergen_number}")).startswith(
        "Restored to trips/bergen.md:1"
    )
    assert (tmp_path / "memory" / "trips" / "bergen.md").read_text() == "# Bergen\n\nRain.\n"


@pytest.mark.parametrize("what", ["restore", "restore one", "restore 1 2", "empty", "1"])
async def test_what_is_not_understood_shows_the_usage(house: Harness, what: str) -> None:
    assert (await house.say(f"/memory trash {what}")).startswith("Usage: `/memory trash`")


async def test_a_number_that_there_is_not_is_told_so(house: Harness) -> None:
    assert (await house.say("/memory trash restore 7")).startswith("There is no number 7 in the trash.")


async def test_forgetting_purges_the_trash(house: Harness, tmp_path: Path) -> None:
    write(tmp_path, "house.md", "# House\n\n- The boiler is blue.\n- The roof leaks.\n")
    await house.say("/correct house.md:3 It is gone.")
    await house.say("/correct house.md:4 It is tight.")
    told = await house.say("/forget boiler blue")
    code = told.rpartition("/forget yes ")[2].split("`")[0].split()[0]
    await house.say(f"/forget yes {code}")
    trash = await house.say("/memory trash")
    assert "boiler" not in trash
    assert "The roof leaks." in trash
    assert not any(b"boiler" in path.read_bytes() for path in (tmp_path / ".commonplace" / "trash").iterdir())
