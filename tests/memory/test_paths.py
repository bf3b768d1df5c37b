import os
import unicodedata
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import PathRefused
from memory.note_folders import NoteFolder, NoteFolders
from memory.paths import find_name_fault, format_path, open_note_folder, resolve_note_path, split_note_path
from tests.fakes.table_test import table_test

Form = Literal["NFC", "NFD"]
BAD = [
    "",
    "./",
    "/etc/passwd.md",
    "//x.md",
    "..",
    "../x.md",
    "a/../../x.md",
    "a/../x.md",
    "a//x.md",
    "a/./x.md",
    "a/x.md/",
    "x.txt",
    "x",
    "md",
    ".md",
    ".hidden.md",
    ".git/x.md",
    "a\\x.md",
    "..\\x.md",
    "C:/x.md",
    "c:x.md",
    "x\x00.md",
    "x\n.md",
    "x\u2028.md",
    "x\x7f.md",
    "x\udce9.md",
    "CON.md",
    "nul.md",
    "Aux.tar.md",
    "com1.md",
    "LPT9.md",
    "com¹.md",
    "con /x.md",
    "prn/x.md",
    "CONIN$.md",
    "x" * 253 + ".md",
    "é" * 127 + ".md",
    "x.md ",
    "x.md\x00",
    "x.md.txt",
    "./" * 100_000 + "x.md",
    "x/" * 3_000 + "x.md",
]


def own(folder: Path) -> NoteFolders:
    return NoteFolders(NoteFolder(folder))


@table_test("path", BAD)
def test_paths_that_are_not_of_a_note_are_refused_in_one_printable_line(path: str) -> None:
    with pytest.raises(PathRefused) as refused:
        split_note_path(path)
    assert str(refused.value).isprintable()


@table_test(
    "path",
    [
        "MEMORY.md",
        "2026-11-21.md",
        "trips/oslo.MD",
        "my notes/a b.md",
        "日記/明日.md",
        "console.md",
        "10:30 call.md",
        "x" * 252 + ".md",
        "~/x.md",
        "a..b.md",
        "COM10.md",
        "-rf.md",
        "😀\u200d👩.md",
    ],
)
def test_plain_relative_paths_are_accepted(path: str) -> None:
    assert "/".join(split_note_path(path)) == path
    assert split_note_path(f"./{path}") == split_note_path(path)


PIECES = st.one_of(
    st.sampled_from(["..", ".", "/", "//", "\\", "~", "C:", "CON", "％2e", ".md"]),
    st.sampled_from(["a", "b.md", "link", "out", "memory", "x" * 200]),
    st.sampled_from(["\x00", "\n", "\u00e9", "e\u0301", "\udc80", "\u2028", "\u202e"]),
)


@settings(deadline=None)
@given(path=st.text() | st.lists(PIECES, max_size=8).map("".join), existing=st.booleans())
def test_any_path_is_inside_the_folder_or_refused(
    tmp_path_factory: pytest.TempPathFactory, path: str, existing: bool
) -> None:
    base = tmp_path_factory.getbasetemp() / "inside" / "memory"
    if not base.is_dir():
        (base / "a").mkdir(parents=True)
        (base / "link").symlink_to("..")
        (base / "out").symlink_to("/etc")
        (base / "b.md").symlink_to("../b.md")
    try:
        place = resolve_note_path(own(base), path, existing=existing)
    except PathRefused:
        return
    real = os.path.realpath(base / place.path)
    assert real.startswith(f"{os.path.realpath(base)}/")
    assert not any(find_name_fault(part) for part in place.parts)
    assert place.path.lower().endswith(".md")


def test_links_are_resolved_inside_and_refused_outside(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    (folder / "trips").mkdir(parents=True)
    (folder / "trips/oslo.md").write_text("x\n")
    (folder / "trips/data.txt").write_text("x\n")
    (folder / ".hidden").mkdir()
    (tmp_path / "secret.md").write_text("x\n")
    (folder / "t").symlink_to("trips")
    (folder / "o.md").symlink_to("t/oslo.md")
    (folder / "new.md").symlink_to("trips/new.md")
    (folder / "out.md").symlink_to("../secret.md")
    (folder / "up").symlink_to("..")
    (folder / "data.md").symlink_to("trips/data.txt")
    (folder / "h").symlink_to(".hidden")
    assert resolve_note_path(own(folder), "o.md", existing=True).path == "trips/oslo.md"
    assert resolve_note_path(own(folder), "t/oslo.md", existing=True).path == "trips/oslo.md"
    assert resolve_note_path(own(folder), "new.md", existing=False).path == "trips/new.md"
    for path in ("out.md", "up/secret.md", "up/new.md", "data.md", "h/x.md"):
        with pytest.raises(PathRefused):
            resolve_note_path(own(folder), path, existing=True)


def test_the_memory_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "memory").symlink_to("vault")
    assert resolve_note_path(own(tmp_path / "memory"), "x.md", existing=False).root == str(tmp_path / "vault")


def test_the_folders_own_name_before_a_path_is_accepted_for_reading(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "x.md").write_text("top\n")
    assert resolve_note_path(own(folder), "memory/x.md", existing=True).path == "x.md"
    assert resolve_note_path(own(folder), "memory/x.md", existing=False).path == "memory/x.md"
    (folder / "memory").mkdir()
    (folder / "memory/x.md").write_text("below\n")
    assert resolve_note_path(own(folder), "memory/x.md", existing=True).path == "memory/x.md"


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
def test_a_name_is_found_in_either_spelling_of_its_accents(
    tmp_path: Path, on_disk: Form, asked: Form
) -> None:
    stands = unicodedata.normalize(on_disk, "Café/Übung.md")
    (tmp_path / stands).parent.mkdir()
    (tmp_path / stands).write_text("x\n")
    place = resolve_note_path(own(tmp_path), unicodedata.normalize(asked, "Café/Übung.md"), existing=True)
    assert place.path == stands


def test_a_new_name_is_composed(tmp_path: Path) -> None:
    assert resolve_note_path(own(tmp_path), "Cafe\u0301.md", existing=False).path == "Caf\u00e9.md"


def test_a_link_put_in_the_way_later_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    (folder / "a").mkdir(parents=True)
    place = resolve_note_path(own(folder), "a/x.md", existing=True)
    (folder / "a").rmdir()
    (folder / "a").symlink_to("/etc")
    with pytest.raises(OSError), open_note_folder(place):  # noqa: PT011
        pass


def test_long_and_odd_paths_are_shown_in_one_line() -> None:
    assert format_path("a\nb\udce9") == "a\\nb\\udce9"
    assert len(format_path("x" * 5000)) < 250
