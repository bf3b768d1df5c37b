"""Links of a note that is moved."""

from pathlib import Path

import pytest

from memory.moved_links import MovedLinks, replace_contents
from memory.note_folders import NoteFolder, NoteFolders

NOTES = (
    *("a.md", "home.md", "trips/oslo.md", "trips/ferry.md", "trips/north/ferry.md", "work/oslo.md"),
    *("work/plan (old).md", "vault/x/deep.md", "vault/x/near.md"),
)
FILES = ("trips/map.png", "work/map.png", "trips/a b#1.pdf", "trips/100%.png")


@pytest.fixture
def folders(tmp_path: Path) -> NoteFolders:
    for path in (*NOTES, *FILES):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x\n")
    return NoteFolders(NoteFolder(tmp_path))


def moved(folders: NoteFolders, path: str, to: str, text: str) -> str:
    changed = MovedLinks(folders, path, to, list_notes=lambda: NOTES).rewrite(text)
    return "\n".join(changed.get(number, line) for number, line in enumerate(text.split("\n"), 1))


@pytest.mark.parametrize(
    ("path", "to", "text", "becomes"),
    [
        ("trips/oslo.md", "oslo.md", "[f](ferry.md)", "[f](trips/ferry.md)"),
        ("trips/oslo.md", "oslo.md", "[f](./ferry.md#Times)", "[f](trips/ferry.md#Times)"),
        ("trips/oslo.md", "oslo.md", "[f](ferry)", "[f](trips/ferry)"),
        ("trips/oslo.md", "oslo.md", "[f](north/ferry.md 'a (b)')", "[f](trips/north/ferry.md 'a (b)')"),
        ("trips/oslo.md", "trips/north/oslo.md", "[f](north/ferry.md)", "[f](ferry.md)"),
        (
            "trips/oslo.md",
            "oslo.md",
            "![](map.png) ![a](<map.png>)",
            "![](trips/map.png) ![a](<trips/map.png>)",
        ),
        (
            "trips/oslo.md",
            "a/oslo.md",
            "[![a](map.png)](ferry.md)",
            "[![a](../trips/map.png)](../trips/ferry.md)",
        ),
        ("trips/oslo.md", "oslo.md", "[x](a%20b%231.pdf?x)", "[x](trips/a%20b%231.pdf?x)"),
        ("trips/oslo.md", "oslo.md", "![x](100%25.png)", "![x](trips/100%25.png)"),
        ("trips/oslo.md", "oslo.md", "[f]: ferry.md", "[f]: trips/ferry.md"),
        ("work/oslo.md", "oslo.md", "[p](<plan (old).md>)", "[p](<work/plan (old).md>)"),
        ("work/oslo.md", "oslo.md", "[p](plan%20(old).md)", "[p](work/plan%20%28old%29.md)"),
        ("trips/oslo.md", "trips/Oslo.md", "[me](oslo.md#x) [[oslo]]", "[me](oslo.md#x) [[oslo]]"),
        ("trips/oslo.md", "trips/b.md", "[[oslo#x|me]] [[trips/oslo]]", "[[b#x|me]] [[b]]"),
        ("trips/oslo.md", "work/b.md", "![[map.png|300]]", "![[trips/map.png|300]]"),
        ("work/oslo.md", "a/b.md", "| [[plan (old)\\|x]] |", "| [[plan (old)\\|x]] |"),
        ("vault/x/deep.md", "vault/deep.md", "[[near]] [n](near.md)", "[[near]] [n](x/near.md)"),
        ("trips/oslo.md", "oslo.md", "[home](../home.md)", "[home](home.md)"),
    ],
)
def test_a_link_leads_where_it_led(folders: NoteFolders, path: str, to: str, text: str, becomes: str) -> None:
    assert moved(folders, path, to, text) == becomes


@pytest.mark.parametrize(
    "text",
    [
        "[web](https://example.org/ferry.md) <ferry.md> [m](mailto:a@b.md) [top](/ferry.md) [x](#ferry.md)",
        "`[f](ferry.md)` \\[f\\](ferry.md)",
        "```\n[f](ferry.md)\n```",
        "[gone](nothing.md) ![](nothing.png) [[nothing]]",
        "[f](ferry",
        "ferry.md (ferry.md) [ferry.md]",
        "",
    ],
)
def test_what_leads_to_no_note_stays(folders: NoteFolders, text: str) -> None:
    assert moved(folders, "trips/oslo.md", "a/b/oslo.md", text) == text


def test_a_note_of_many_links_takes_no_time(folders: NoteFolders) -> None:
    text = "[f](ferry.md) ![](map.png)\n" * 20_000 + "[" * 50_000 + "](" * 50_000
    assert moved(folders, "trips/oslo.md", "oslo.md", text).count("(trips/ferry.md)") == 20_000


def test_the_run_of_changed_lines() -> None:
    assert replace_contents("a\nb\nc\n", {}) is None
    assert replace_contents("a\nb\nc\n", {2: "b"}) is None
    found = replace_contents("a\nb\nc\nd", {2: "B", 4: "D", 3: "c"})
    assert found is not None
    assert (found.line, found.old, found.new) == (2, ("b", "c", "d"), ("B", "c", "D"))
