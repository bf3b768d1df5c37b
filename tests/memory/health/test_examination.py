"""The health of a memory: notes as people write them, and what an examination says of them."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.health.report import MAX_FINDINGS, HealthReport
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.loop_lag import measure_loop_lag

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

Told = tuple[str, str, str]
"""A kind, the first place, and the place of what says the same or is newer ("" for none)."""


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    (tmp_path / "memory").mkdir()
    async with Memory(MemorySettings(), workspace=tmp_path, now=lambda: NOW) as memory:
        yield memory


def put(folder: Path, notes: Mapping[str, str]) -> None:
    for path, text in notes.items():
        file = folder / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def told(report: HealthReport) -> list[Told]:
    return [
        (
            each.kind,
            f"{each.places[0].path}:{each.places[0].line_start}",
            f"{each.about.path}:{each.about.line_start}" if each.about else "",
        )
        for each in report.findings
    ]


async def test_an_empty_memory_is_healthy(memory: Memory, tmp_path: Path) -> None:
    assert (await memory.health()).is_healthy
    (tmp_path / "memory").rmdir()
    report = await memory.health()
    assert report.is_healthy
    assert report.notes == 0


async def test_an_examination_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "- Anna lives in Bonn.\n- Anna lives in Bonn.\n", "empty.md": ""})
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in (tmp_path / "memory").iterdir()}
    assert not (await memory.health()).is_healthy
    assert {
        file: (file.read_bytes(), file.stat().st_mtime_ns) for file in (tmp_path / "memory").iterdir()
    } == before


@pytest.mark.parametrize(
    ("core", "log"),
    [
        ("Anna's birthday is 3 May.", "Anna's birthday is 3 May"),
        ("Annas Adresse ist Lindenweg 4.", "annas adresse  ist lindenweg 4"),
        ("Anna habite à Lyon depuis l'été.", "Anna habite à Lyon depuis l'été."),
        ("我妹妹的电话是 0151 234。", "我妹妹的电话是 0151 234"),
        ("พี่สาวชื่อแอนนา อาศัยอยู่ที่เชียงใหม่", "พี่สาวชื่อแอนนา อาศัยอยู่ที่เชียงใหม่"),
        ("Мой номер телефона 0151 234.", "Мой номер телефона 0151 234."),
    ],
)
async def test_what_the_core_note_and_a_log_both_say_is_a_duplicate_in_the_log(
    memory: Memory, tmp_path: Path, core: str, log: str
) -> None:
    put(tmp_path, {"MEMORY.md": f"# Memory\n\n- {core}\n", "2026-01-02.md": f"# 2026-01-02\n\n- {log}\n"})
    assert told(await memory.health()) == [("duplicate", "2026-01-02.md:3", "MEMORY.md:3")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna's birthday is 3 May.", "Anna's birthday is on the 3 May"),
        ("The boiler's code is E119.", "Boiler's code: E119"),
        ("Ada is called a good vet in Bonn.", "Ada is a good vet in Bonn."),
        ("Anna lives in Bonn near Tom.", "Anna lives in Bonn near Tom, since 2019."),
    ],
)
async def test_nearly_the_same_words_are_a_near_duplicate(
    memory: Memory, tmp_path: Path, one: str, other: str
) -> None:
    put(tmp_path, {"MEMORY.md": f"# Memory\n\n- {one}\n- {other}\n"})
    (found,) = (await memory.health()).findings
    assert found.kind == "near_duplicate"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna lives in Bonn.", "Anna lived in Bonn."),
        ("Anna eats meat on Sundays.", "Anna doesn't eat meat on Sundays."),
        ("Anna may eat nuts and eggs.", "Anna may not eat nuts and eggs."),
        ("Anna's key is under mat 5.", "Anna's key is under mat -5."),
        ("Anna pays Tom 50 € a week.", "Anna pays Tom 50 $ a week."),
        ("Anna knows C++ and Lisp well.", "Anna knows C# and Lisp well."),
        ("Anna called Tom and Ada.", "Tom called Anna and Ada."),
        ("Anna's flat has 3 rooms.", "Anna's flat has 4 rooms."),
        ("Anna likes tea with her cake.", "Anna likes tea with his cake."),
        ("我妹妹的生日是五月三日。", "我弟弟的生日是五月三日。"),
    ],
)
async def test_words_that_change_the_meaning_are_no_duplicate(
    memory: Memory, tmp_path: Path, one: str, other: str
) -> None:
    put(tmp_path, {"MEMORY.md": f"# Memory\n\n- {one}\n- {other}\n"})
    assert told(await memory.health()) == []


ROUTINE = {
    f"2026-01-{day:02}.md": f"# 2026-01-{day:02}\n\n## Morning\n\n- Slept well and had tea with milk.\n"
    "- Went for a long walk in the park.\n- The train was late again this morning.\n- yes\n"
    "- [ ] Take the pills after breakfast\n- Anna is tired after her work.\n\n| day | steps taken in all |\n"
    for day in range(1, 20)
}


async def test_days_that_repeat_a_routine_are_no_duplicates(memory: Memory, tmp_path: Path) -> None:
    put(tmp_path, ROUTINE)
    assert told(await memory.health()) == []


async def test_two_days_with_the_same_routine_are_no_copy(memory: Memory, tmp_path: Path) -> None:
    lines = (
        "- Slept eight hours.\n- Ran round the lake.\n- Took the white pills.\n- Fed the neighbour's cat.\n"
    )
    put(tmp_path, {"2026-01-02.md": lines, "2026-01-03.md": lines})
    assert told(await memory.health()) == []


async def test_what_was_noted_every_day_is_one_finding_with_the_number_of_copies(
    memory: Memory, tmp_path: Path
) -> None:
    put(
        tmp_path,
        {
            f"{2020 + number // 300}-01-01-{number}.md": "- The user's name is John.\n"
            for number in range(808)
        },
    )
    (found,) = (await memory.health()).findings
    assert len(found.places) + found.more == 807


@pytest.mark.parametrize(
    "text",
    [
        "# People\n\n## Anna\n\n- likes tea and cake\n\n## Tom\n\n- likes tea and cake\n",
        "# People\n\n- Anna\n  - likes tea and cake\n- Tom\n  - likes tea and cake\n",
        "Anna:\n\n- likes tea and cake\n\nTom:\n\n- likes tea and cake\n",
        "**Anna**\n\n- likes tea and cake\n\n**Tom**\n\n- likes tea and cake\n",
        "- [ ] Buy milk and eggs\n- [ ] Buy milk and eggs\n",
        "| a | likes tea and cake |\n| a | likes tea and cake |\n",
        "```\nlet the value = 1\n\nlet the value = 1\n```\n",
        "# Anna\n\nhas tea\n\nhas tea\n\n---\n\n---\n\n- yes\n- yes\n",
        2 * "- Tom: You did feed the cat.\n- Ada: Yes, of course I did.\n",
    ],
)
async def test_things_of_different_names_and_forms_are_no_duplicates(
    memory: Memory, tmp_path: Path, text: str
) -> None:
    put(tmp_path, {"people.md": text})
    assert told(await memory.health()) == []


async def test_an_event_twice_on_a_day_is_a_duplicate_unless_the_times_differ(
    memory: Memory, tmp_path: Path
) -> None:
    line = "Took the white pills after eating"
    put(tmp_path, {"2026-01-02.md": f"# 2026-01-02\n\n- {line}\n- Saw Tom.\n- {line}\n"})
    assert told(await memory.health()) == [("duplicate", "2026-01-02.md:5", "2026-01-02.md:3")]
    put(tmp_path, {"2026-01-02.md": f"# 2026-01-02\n\n- 09:00 {line}\n- 21:00 {line}\n"})
    assert told(await memory.health()) == []
    put(tmp_path, {"2026-01-02.md": f"# 2026-01-02\n\n## 09:00\n\n- {line}\n\n## 21:00\n\n- {line}\n"})
    assert told(await memory.health()) == []


async def test_a_section_that_was_copied_is_one_finding(memory: Memory, tmp_path: Path) -> None:
    towns = ("Oslo", "Rome", "Bonn", "Lille", "Turku", "Delft")
    lines = "".join(f"- On that day we saw {town} together.\n" for town in towns)
    put(tmp_path, {"2026-01-02.md": f"# 2026-01-02\n\n{lines}", "2026-03-04.md": f"# 2026-03-04\n\n{lines}"})
    (found,) = (await memory.health()).findings
    assert (found.places[0].path, found.places[0].line_start, found.places[0].line_end) == (
        "2026-03-04.md",
        3,
        8,
    )
    put(tmp_path, {"2026-05-06.md": f"# 2026-05-06\n\n{lines}"})  # a template is no copy
    assert told(await memory.health()) == []


async def test_of_a_copy_only_equal_lines_are_emptied(memory: Memory, tmp_path: Path) -> None:
    towns = ("Oslo", "Rome", "Bonn", "Lille", "Turku")
    first = "".join(
        f"- On that day we saw {town} together.\n\n## Then {town}\n\nFirst.\n\n" for town in towns
    )
    second = first.replace("First.", "Second.")
    put(tmp_path, {"2026-01-02.md": first, "2026-03-04.md": second})
    (found,) = (await memory.health()).findings
    lines = second.split("\n")
    for place in found.places:
        assert lines[place.line_start - 1 : place.line_end] == [f"- {place.text}"]
    assert [each.line_start for each in found.places] == [25, 19, 13, 7, 1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Anna lives in Bonn.", "Anna lives in Köln."),
        ("Annas Bank ist die Sparkasse.", "Annas Bank ist die Volksbank."),
        ("Anna vive en Madrid.", "Anna vive en Sevilla."),
        ("我住在波恩。", "我住在柏林。"),
        ("Anna's phone: 123", "Anna's phone: 456"),
        ("Anna takes shoes in size 38.", "Anna's shoe size is 39."),
    ],
)
async def test_a_fact_with_a_newer_value_is_superseded(
    memory: Memory, tmp_path: Path, old: str, new: str
) -> None:
    put(
        tmp_path,
        {"2026-01-02.md": f"# 2026-01-02\n\n- {old}\n", "2026-03-04.md": f"# 2026-03-04\n\n- {new}\n"},
    )
    report = await memory.health()
    assert told(report) == [("superseded", "2026-01-02.md:3", "2026-03-04.md:3")]
    assert report.findings[0].new_text == f"until 2026-03-04: {old}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Anna is tired.", "Anna is a vet."),
        ("Went to Bonn.", "Went to Köln."),
        (
            "Wednesdays are for the chess club now, says Tom.",
            "Wednesdays are for the chess club now, says Ada.",
        ),
        ("The order number is 123.", "The order number is 456."),
    ],
)
async def test_two_events_supersede_nothing(memory: Memory, tmp_path: Path, old: str, new: str) -> None:
    put(tmp_path, {"2026-01-02.md": f"- {old}\n", "2026-03-04.md": f"- {new}\n"})
    assert told(await memory.health()) == []


async def test_a_fact_told_for_the_future_supersedes_nothing_yet(memory: Memory, tmp_path: Path) -> None:
    put(tmp_path, {"2026-01-02.md": "- Anna lives in Bonn.\n", "2027-03-04.md": "- Anna lives in Köln.\n"})
    assert told(await memory.health()) == []


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("See [her](people/ana.md) there.", "See her there."),
        ("See [her](anna.md#cats) there.", "See [her](people/anna.md) there."),
        ("See [[Ana]] there.", "See Ana there."),
        ("See [[Ana|her]] and [[Tom]].", "See her and [[Tom]]."),
        ("- ![a map](maps/oslo%20old.png)", "- a map"),
        ("See [护照](护照2.md)。", "See 护照。"),
    ],
)
async def test_a_link_to_nothing_is_broken(memory: Memory, tmp_path: Path, text: str, mended: str) -> None:
    put(tmp_path, {"a.md": f"# A note\n\n{text}\n", "people/anna.md": "Cats.\n", "people/tom.md": "Dogs.\n"})
    (found,) = (await memory.health()).findings
    assert (found.kind, found.places[0].line_start, found.new_text) == ("broken_link", 3, mended)


@pytest.mark.parametrize(
    "text",
    [
        "[her](people/anna.md) [her](people/anna) [her](./people/anna.md#cats) [her](people/Anna.md?x)",
        "[[anna]] [[Anna|her]] [[people/anna]] [[Anna#cats]] ![[map.png]] [[a]]",
        "[a map](files/map.png) ![a map](files/map.png 'A map') [all](people/) [[#cats]] [top](#top)",
        "[web](https://a.example/x.md) [mail](mailto:a@b.example) [root](/x.md) [up](../../x.md) <x.md>",
        "`[her](x.md)` and ``[[x]]`` and \\[her](x.md) and f[0](x) and [x] (y) and [1][2]",
        "```\n[her](x.md) [[x]]\n```",
    ],
)
async def test_a_link_to_something_is_not(memory: Memory, tmp_path: Path, text: str) -> None:
    put(tmp_path, {"a.md": f"# A note\n\n{text}\n", "people/anna.md": "Cats.\n"})
    (tmp_path / "memory/files").mkdir()
    (tmp_path / "memory/files/map.png").write_bytes(b"png")
    assert told(await memory.health()) == []


async def test_a_link_to_an_alias_is_not_broken(memory: Memory, tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "See [[The Cat]].\n", "z.md": "---\naliases: [the cat]\n---\nCats.\n"})
    assert told(await memory.health()) == []


async def test_notes_that_no_search_finds_are_named_with_the_reason(memory: Memory, tmp_path: Path) -> None:
    put(tmp_path, {"empty.md": " \n\n", "stars.md": "***\n---\n", "fine.md": "Anna\n", "name.md.txt": ""})
    (tmp_path / "memory/zip.md").write_bytes(b"PK\3\4" + bytes(range(32)) * 40)
    (tmp_path / "memory/away.md").symlink_to("/etc/passwd")
    found = {each.places[0].path: each.reason for each in (await memory.health()).findings}
    assert found == {
        "empty.md": "it is empty",
        "stars.md": "it has no words to search for",
        "zip.md": "it doesn't look like text",
        "away.md": "it is a symbolic link that leads out of the memory folder",
    }


async def test_a_note_without_a_word_of_its_own_is_not_found(memory: Memory, tmp_path: Path) -> None:
    put(tmp_path, {f"{name}.md": f"Cats and dogs like milk{name} best.\n" for name in range(30)})
    assert told(await memory.health()) == []  # each has a word of its own
    same = {f"plan/{number}/plan.md": "# Plan\n\nCats and dogs.\n" for number in range(30)}
    put(tmp_path, same)
    found = [each for each in (await memory.health()).findings if each.kind == "not_found"]
    assert found
    assert all(each.places[0].path in same for each in found)


async def test_lines_of_others_are_named_and_never_win_over_ones_own(memory: Memory, tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "2026-01-02.md": "- Anna lives in Bonn.\n- Tom owns a red boat.\n",
            "2026-03-04.md": "- Anna lives in Köln. (says report.pdf)\n",
            "MEMORY.md": "- Tom owns a red boat. (says Ada; mail.txt)\n",
            "documents/2026-01-02-report.md": "# report\n\nAnna lives in Köln (says Tom).\n",
        },
    )
    report = await memory.health()
    assert told(report) == [
        ("duplicate", "MEMORY.md:1", "2026-01-02.md:2"),
        ("foreign_text", "2026-03-04.md:1", ""),
    ]
    assert (report.findings[1].reason, report.findings[1].new_text) == ("report.pdf", "- Anna lives in Köln.")


async def test_two_findings_never_mend_the_same_line(memory: Memory, tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "2026-01-02.md": "- Anna lives in [Bonn](x.md).\n- Tom lives in [Rome](x.md).\n",
            "2026-03-04.md": "- Anna lives in [Köln](x.md).\n- Tom lives in [Rome](x.md).\n",
        },
    )
    report = await memory.health()
    places = [(each.path, each.line_start) for finding in report.findings for each in finding.places]
    assert len(places) == len(set(places)) == 4


async def test_a_fact_that_came_back_is_not_noted_twice(memory: Memory, tmp_path: Path) -> None:
    lines = {"2026-01-02.md": "Bonn", "2026-03-04.md": "Köln", "2026-05-06.md": "Bonn"}
    put(tmp_path, {path: f"- Anna lives in {town}.\n" for path, town in lines.items()})
    (found,) = (await memory.health()).findings
    assert (found.places[0].path, found.about and found.about.path) == ("2026-03-04.md", "2026-05-06.md")
    put(tmp_path, {"2026-03-04.md": f"- {found.new_text}\n"})
    assert told(await memory.health()) == [], (
        "neither noted twice nor changed since, once its command was sent"
    )


async def test_a_line_keeps_its_own_day_when_it_says_until_when_it_was_true(
    memory: Memory, tmp_path: Path
) -> None:
    put(tmp_path, {"facts.md": "- 2024-04-04: Anna's bank is GLS.\n- 2026-03-02: Anna's bank is Triodos.\n"})
    (found,) = (await memory.health()).findings
    assert found.new_text == "2024-04-04: until 2026-03-02: Anna's bank is GLS."
    put(tmp_path, {"facts.md": f"- {found.new_text}\n- 2026-03-02: Anna's bank is Triodos.\n"})
    assert told(await memory.health()) == []


async def test_of_many_findings_some_are_shown_and_the_others_counted(memory: Memory, tmp_path: Path) -> None:
    put(tmp_path, {f"{number}.md": "" for number in range(MAX_FINDINGS + 7)})
    report = await memory.health()
    assert (len(report.findings), report.left_out) == (MAX_FINDINGS, {"not_found": 7})


async def test_the_last_lines_of_a_note_come_first(memory: Memory, tmp_path: Path) -> None:
    lines = "".join(f"- Anna lives in house {number}.\n" for number in range(4))
    put(
        tmp_path,
        {"a.md": f"{lines}\n- Tom owns the key.\n\n{lines}\n- Tom owns the key.\n- Ada owns a dog."},
    )
    starts = [each.places[0].line_start for each in (await memory.health()).findings]
    assert starts == sorted(starts, reverse=True)


async def test_a_hundred_thousand_equal_lines_are_one_finding(memory: Memory, tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "- Anna lives in Bonn.\n" * 100_000, "b.md": "- Anna lives in Bonn.\n"})
    started = time.process_time()
    first, *_ = (await memory.health()).findings
    assert time.process_time() - started < 20
    assert (first.places[0].line_start, first.places[0].line_end) == (2, 100_000)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 200_000,
        "a" * 1_000_000,
        "[" * 1_000_000,
        "[[a" * 300_000,
        "[a](b" * 200_000,
        "`" * 1_000_000,
        "`a" * 500_000,
        "- " * 500_000,
        "是的我们在这里。" * 100_000,
        "e\u0301" * 300_000,
        "# " * 500_000,
        "a: " * 300_000,
        "\n".join("  " * depth + "- Anna lives here." for depth in range(1_000)),
    ],
)
async def test_hostile_notes_take_a_few_seconds_and_block_nobody(
    memory: Memory, tmp_path: Path, text: str
) -> None:
    put(tmp_path, {"a.md": text + "\n", "b.md": text + "\n"})
    started = time.monotonic()
    async with measure_loop_lag() as lag:
        await memory.health(seconds=10)
    assert time.monotonic() - started < 20
    assert max(lag[0], default=0) < 1


async def test_a_memory_too_large_for_the_time_says_what_was_left_out(memory: Memory, tmp_path: Path) -> None:
    put(tmp_path, {f"{number}.md": "- Anna lives in Bonn.\n" for number in range(50)})
    report = await memory.health(seconds=0)
    assert report.unread == 50
    assert not report.is_healthy


async def test_notes_that_change_meanwhile_do_no_harm(memory: Memory, tmp_path: Path) -> None:
    put(
        tmp_path,
        {f"{number}.md": "- Anna lives in Bonn.\n- Tom lives in Bonn.\n" * 50 for number in range(100)},
    )
    examining = asyncio.create_task(memory.health())
    while not examining.done():
        for number in range(100):
            put(tmp_path, {f"{number}.md": "- Tom lives in Rome.\n"})
            await asyncio.sleep(0)
    assert (await examining).notes <= 100
