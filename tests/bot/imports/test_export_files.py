import json
import os
import zipfile
from pathlib import Path

import pytest

from bot.imports import zip_files
from bot.imports.errors import ImportFault
from bot.imports.export_files import open_export
from tests.fakes.assistant_exports import (
    chatgpt_conversation,
    claude_conversation,
    talk,
    write_chatgpt_zip,
    write_claude_zip,
    write_zip,
)

CHAT = chatgpt_conversation("c1", talk("key"))


def names(path: Path) -> list[str]:
    with open_export(path) as files:
        return [file.name for file in files]


def content(path: Path) -> bytes:
    with open_export(path) as files:
        (file,) = files
        with file.open() as opened:
            return opened.read()


def test_conversations_are_found_by_their_content_whatever_the_name(tmp_path: Path) -> None:
    (tmp_path / "my backup").write_text(json.dumps([CHAT]), "utf-8")
    assert names(tmp_path / "my backup") == ["my backup"]
    (tmp_path / "conversations.json").write_text('[{"id": 1, "messages": []}]', "utf-8")
    assert names(tmp_path / "conversations.json") == []


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        [{"mapping": {"a": "b"}}],
        {"mapping": {"parent": 1}},
        {"chat_messages": ["sender"]},
        {"x": {"mapping": {"a": {"parent": 1}}}},
        [[[{"sender": 1}]]],
        "mapping",
    ],
)
def test_a_file_that_only_has_such_a_word_is_no_export(tmp_path: Path, document: object) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document), "utf-8")
    assert names(tmp_path / "a.json") == []


def test_a_single_conversation_is_an_export(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(CHAT), "utf-8")
    assert names(tmp_path / "a.json") == ["a.json"]


def test_archives_are_read_as_they_come(tmp_path: Path) -> None:
    assert names(write_chatgpt_zip(tmp_path / "a.zip", [CHAT])) == ["a.zip/conversations.json"]
    claude = write_claude_zip(tmp_path / "b", [claude_conversation("u1", [("human", "Hi")])])
    assert names(claude) == ["b/conversations.json"]
    assert json.loads(content(claude))[0]["uuid"] == "u1"


def test_split_exports_folders_and_archives_in_them_are_read(tmp_path: Path) -> None:
    parts = {f"export/conversations-{number:03}.json": [CHAT] for number in (2, 0, 1)}
    write_zip(tmp_path / "x.zip", {**parts, "__MACOSX/export/._conversations-000.json": b"\0\0"})
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "conversations.json").write_text(json.dumps([CHAT]), "utf-8")
    (tmp_path / ".hidden.json").write_text(json.dumps([CHAT]), "utf-8")
    assert names(tmp_path) == [
        "deeper/conversations.json",
        *(f"x.zip/export/conversations-{number:03}.json" for number in range(3)),
    ]


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps([CHAT]), "utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "conversations.json").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    assert names(folder) == []


def test_a_broken_archive_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "attachment.zip").write_bytes(b"PK\x03\x04")
    (tmp_path / "text.zip").write_bytes(b"no archive")
    (tmp_path / "conversations.json").write_text(json.dumps([CHAT]), "utf-8")
    assert names(tmp_path) == ["conversations.json"]


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ImportFault, match="a pipe"):
        names(tmp_path / "pipe")


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ImportFault, match="no such file"):
        names(tmp_path / "nothing.zip")


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = b"[" + b" " * 50_000_000 + b"]"
    path = write_zip(tmp_path / "bomb.zip", {"conversations.json": bomb})
    assert path.stat().st_size < 100_000
    assert names(path) == []


def test_files_that_share_their_bytes_are_a_bomb_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_files, "MANY_BYTES", 3_000_000)
    path = write_zip(tmp_path / "a.zip", {f"{number}.json": b" " * 900_000 for number in range(5)})
    with pytest.raises(ImportFault, match=r"a\.zip would unpack to more than 200 times its size"):
        names(path)


@pytest.mark.parametrize("change", ["encrypted", "link", "method", "cut", "names", "nothing"])
def test_a_strange_archive_is_refused_in_one_line(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("../../etc/conversations.json" if change == "names" else "conversations.json")
        if change == "link":
            info.external_attr = 0o120777 << 16
        archive.writestr(info, json.dumps([CHAT]))
    data = bytearray(path.read_bytes())
    central = data.rindex(b"PK\x01\x02")
    match change:
        case "encrypted":
            data[6] |= 1
            data[central + 8] |= 1
        case "method":
            data[8] = data[central + 10] = 97
        case "cut":
            del data[len(data) // 2 :]
        case "nothing":
            data[2:] = b""
    path.write_bytes(data)
    if change in {"cut", "nothing"}:
        with pytest.raises(ImportFault, match="a damaged archive"):
            names(path)
    elif change == "names":  # nothing is written, so that the name does no harm
        assert json.loads(content(path))[0]["id"] == "c1"
    else:
        assert names(path) == []


def test_a_damaged_name_is_printable(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"\x1b[31mconversations.json": [CHAT]})
    assert names(path) == [r"a.zip/\x1b[31mconversations.json"]


def test_damage_in_the_middle_is_found_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "conversations.json", json.dumps([CHAT, chatgpt_conversation("c2", [("user", "x" * 3_000_000)])])
        )
    data = bytearray(path.read_bytes())
    data[2_000_000] ^= 1
    path.write_bytes(data)
    with pytest.raises(ImportFault, match="is damaged"):
        content(path)
