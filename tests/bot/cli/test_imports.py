"""`commonplace import`, as people run it."""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.assistant_exports import (
    chatgpt_conversation,
    claude_conversation,
    talk,
    write_chatgpt_zip,
    write_claude_zip,
    write_zip,
)
from tests.fakes.commonplace import Commonplace, CommonplaceHere


@pytest.fixture
def commonplace(tmp_path: Path) -> CommonplaceHere:
    return CommonplaceHere(tmp_path)


def chats(count: int = 3) -> list[dict[str, Any]]:
    return [chatgpt_conversation(f"c{number}", talk(f"key {number}")) for number in range(count)]


def write_workspace(folder: Path) -> Path:
    """An OpenClaw workspace."""
    files = {
        "AGENTS.md": "# How to behave\n",
        "SOUL.md": "You are kind.\n",
        "USER.md": "# About Anna\n\n- Lives in Oslo.\n",
        "MEMORY.md": "# Memory\n\n- Anna is allergic to peanuts.\n- Ben is her brother.\n",
        "memory/2026-03-03.md": "# 2026-03-03\n\n- The boiler was serviced.\n- Anna called.\n",
        "memory/2026-03-04.md": "# 2026-03-04\n\n- Ben moved.\n",
        "memory/projects/house.md": "The house has 4 rooms.\n",
        "skills/x/SKILL.md": "Do this.\n",
        "canvas/index.html": "<html>",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def test_an_imported_conversation_is_found_by_its_owner_and_not_after_its_undo(
    commonplace: CommonplaceHere, tmp_path: Path
) -> None:
    talk_of_boat = chatgpt_conversation(
        "c1",
        [("user", "Which varnish for the mahogany boat?"), ("assistant", "Spar varnish.")],
        title="Varnish",
    )
    commonplace.output_of("import", str(write_chatgpt_zip(tmp_path / "export.zip", [talk_of_boat])))
    found = commonplace.output_of("chat", "-m", "/recall mahogany boat")
    assert "From Varnish (ChatGPT) on 3 March" in found
    assert "**You:** Which varnish for the mahogany boat?" in found
    said = json.loads(
        commonplace.output_of("memory", "search", "spar", "--source", "conversations", "--json")
    )
    assert [(each["who"], each["chat_name"]) for each in said["results"]] == [("ChatGPT", "Varnish")]
    commonplace.output_of("import", "--undo", "1")
    assert "Which varnish" not in commonplace.output_of("chat", "-m", "/recall mahogany boat")


def notes_of(commonplace: Commonplace) -> dict[str, str]:
    return {
        str(path.relative_to(commonplace.memory)): path.read_text("utf-8")
        for path in sorted(commonplace.memory.rglob("*.md"))
    }


def test_an_export_of_chatgpt_is_imported_listed_exported_and_undone(
    commonplace: CommonplaceHere, tmp_path: Path
) -> None:
    file = write_chatgpt_zip(tmp_path / "export.zip", chats())
    assert commonplace.output_of("import", str(file)) == (
        "ChatGPT: 3 conversations with 6 messages, of 2026-03-03.\n"
        "Imported 3 new conversations for terminal:owner (6 messages); 0 were here already.\n"
        "To undo this: commonplace import --undo 1\n"
    )
    assert "Imported 0 new conversations for terminal:owner (0 messages); 3 were here already." in (
        commonplace.output_of("import", str(file))
    )
    (known,) = json.loads(commonplace.output_of("import", "--list", "--json"))["imports"]
    assert (known["run"], known["state"], known["format"]) == (1, "done", "chatgpt")
    listed = commonplace.output_of("import", "--list")
    assert "done" in listed
    assert "3 conversations, 6 messages, from" in listed
    exported = commonplace.output_of("export", "imported:terminal:owner")
    assert "# imported:terminal:owner, conversation 1: A talk" in exported
    assert "**You**, 2026-03-03" in exported
    assert "**ChatGPT**, 2026-03-03" in exported
    assert commonplace.output_of("import", "--undo", "1") == "Undid import 1 (6 messages).\n"
    assert "no conversation in imported:terminal:owner" in commonplace.error_of(
        "export", "imported:terminal:owner"
    )
    assert "already undone" in commonplace.error_of("import", "--undo", "1")
    assert "Imported 3 new conversations" in commonplace.output_of("import", str(file))


def test_claudes_export_is_found_out_and_may_be_named(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    file = write_claude_zip(tmp_path / "data", [claude_conversation("u1", [("human", "Hello")])])
    assert "no new" not in commonplace.output_of("import", str(file), "--from", "claude", "--dry-run")
    assert commonplace.output_of("import", str(file)).startswith("Claude: 1 conversation with 1 message, of")
    refused = commonplace.error_of("import", str(file), "--from", "chatgpt")
    assert "contains no conversations from ChatGPT; without --from" in refused


def test_a_dry_run_shows_all_of_it_and_writes_nothing(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    file = write_chatgpt_zip(tmp_path / "export.zip", [*chats(), chatgpt_conversation("empty", [])])
    told = commonplace.output_of("import", str(file), "--dry-run")
    assert "Would import 3 new conversations for terminal:owner (6 messages)" in told
    assert "Left out: 1\n  A talk: it has no messages\n" in told
    assert "an embedding model has to read about 1 text, " in told
    assert not (tmp_path / "workspace/.commonplace/state.db").exists()
    document = json.loads(commonplace.output_of("import", str(file), "--dry-run", "--json"))
    assert (document["run"], document["new_conversations"], document["skipped_total"]) == (None, 3, 1)
    assert document["first_at"].startswith("2026-03-03")
    folder = write_workspace(tmp_path / "claw")
    assert "Would write 5 new notes" in commonplace.output_of("import", str(folder), "--dry-run")
    assert not commonplace.memory.exists()


def test_the_owner_is_the_only_one_or_named(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    file = write_chatgpt_zip(tmp_path / "export.zip", chats(1))
    config = tmp_path / "config.toml"
    config.write_text('[access]\nowners = ["telegram:1"]\n', "utf-8")
    assert "for telegram:1 " in commonplace.output_of("import", str(file))
    config.write_text('[access]\nowners = ["telegram:1", "discord:2"]\n', "utf-8")
    told = commonplace.error_of("import", str(file))
    assert told.endswith("with --owner: telegram:1, discord:2, terminal:owner")
    assert "telegram:7 is not an owner" in commonplace.error_of("import", str(file), "--owner", "telegram:7")
    assert "for discord:2 (2 messages)" in commonplace.output_of("import", str(file), "--owner", "discord:2")
    assert "for terminal:owner" in commonplace.output_of("import", str(file), "--owner", "terminal:owner")


def test_what_was_forgotten_does_not_come_back_after_an_undo(
    commonplace: CommonplaceHere, tmp_path: Path
) -> None:
    said = [("user", "The boat is called Gertrude."), ("assistant", "Nice."), ("user", "It is blue.")]
    file = str(write_chatgpt_zip(tmp_path / "export.zip", [chatgpt_conversation("c1", said)]))
    commonplace.output_of("import", file)
    asked = commonplace.output_of("chat", "-m", "/forget Gertrude")
    code = re.search(r"/forget (yes \w+)", asked)
    assert code
    assert "Forgotten" in commonplace.output_of("chat", "-m", f"/forget {code[1]}")
    commonplace.output_of("import", "--undo", "1")
    assert "blue" not in commonplace.output_of("export")
    commonplace.output_of("import", file)
    exported = commonplace.output_of("export")
    assert "blue" in exported
    assert "Gertrude" not in exported
    assert "is already undone" in commonplace.error_of("import", "--undo", "1")


def test_an_owner_from_a_channel_is_told_how_the_terminal_finds_it(
    commonplace: CommonplaceHere, tmp_path: Path
) -> None:
    talk_of_boat = chatgpt_conversation("c1", [("user", "The boat is of mahogany."), ("assistant", "Nice.")])
    file = str(write_chatgpt_zip(tmp_path / "export.zip", [talk_of_boat]))
    (tmp_path / "config.toml").write_text('[access]\nowners = ["telegram:1"]\n', "utf-8")
    link = "/link telegram:1 terminal:owner"
    assert link not in commonplace.output_of("import", file, "--dry-run", "--json")
    assert link in commonplace.output_of("import", file)
    assert "mahogany" not in commonplace.output_of("chat", "-m", "/recall boat")
    assert "Linked: " in commonplace.output_of("chat", "-m", link)
    assert "mahogany" in commonplace.output_of("chat", "-m", "/recall boat")
    commonplace.output_of("import", "--undo", "1")
    assert "/link" not in commonplace.output_of("import", file)


def test_what_cannot_be_imported_is_said_in_one_line(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "torn.zip").write_bytes(b"PK\x03\x04")
    for words, says in (
        (("nothing.zip",), "no such file"),
        (("photo.png",), "not an export from ChatGPT or Claude, nor Markdown"),
        (("empty",), "contains no Markdown"),
        (("torn.zip",), "a damaged archive"),
        (("empty", "--from", "chatgpt"), "contains no conversations from ChatGPT"),
        (("--undo", "7"), "no import 7"),
    ):
        assert says in commonplace.error_of("import", *words), words
    for wrong in ((), ("empty", "--list"), ("--undo", "1", "--dry-run"), ("--list", "--dry-run")):
        commonplace.error_of("import", *wrong, code=2)


def test_a_broken_export_brings_what_came_before_and_fails(
    commonplace: CommonplaceHere, tmp_path: Path
) -> None:
    whole = json.dumps(chats(5))
    (tmp_path / "conversations.json").write_text(whole[: len(whole) * 7 // 10], "utf-8")
    done = commonplace("import", "conversations.json")
    assert done.returncode == 1
    assert "Imported 3 new conversations" in done.stdout
    assert done.stderr == (
        "commonplace: conversations.json ends in the middle; download it again (everything before that was imported)\n"
    )


def test_openclaws_memory_joins_the_notes_and_is_taken_back(
    commonplace: CommonplaceHere, tmp_path: Path
) -> None:
    commonplace.memory.mkdir(parents=True)
    (commonplace.memory / "MEMORY.md").write_text(
        "# Memory\n\n- Ben is her brother.\n- Cleo is a cat.\n", "utf-8"
    )
    (commonplace.memory / "2026-03-03.md").write_text("# 2026-03-03\n\n- Anna called.\n", "utf-8")
    (commonplace.memory / "USER.md").write_text("Somebody else.\n", "utf-8")
    before = notes_of(commonplace)
    folder = write_workspace(tmp_path / "claw")
    told = commonplace.output_of("import", str(folder))
    assert told.startswith(
        "OpenClaw: 8 files, from 2026-03-03 to 2026-03-04.\nWrote 3 new notes and added lines to 2;"
    )
    assert "  USER.md: imported/1/USER.md\n" in told
    assert "  SOUL.md: it holds OpenClaw's own instructions\n" in told
    assert "  canvas/index.html: it is not Markdown\n" in told
    after = notes_of(commonplace)
    assert after["MEMORY.md"] == (
        "# Memory\n\n- Ben is her brother.\n- Cleo is a cat.\n- Anna is allergic to peanuts.\n"
    )
    assert after["2026-03-03.md"] == "# 2026-03-03\n\n- Anna called.\n- The boiler was serviced.\n"
    assert after["2026-03-04.md"] == "# 2026-03-04\n\n- Ben moved.\n"
    assert after["projects/house.md"] == "The house has 4 rooms.\n"
    assert after["imported/1/USER.md"] == "# About Anna\n\n- Lives in Oslo.\n"
    again = commonplace.output_of("import", str(folder))
    assert "Wrote 0 new notes and added lines to 0; 5 were here already." in again
    assert notes_of(commonplace) == after
    assert "Undid import 1 (5 notes).\n" in commonplace.output_of("import", "--undo", "1")
    assert notes_of(commonplace) == before
    assert sorted(path.name for path in commonplace.memory.iterdir()) == sorted(before)


def test_what_a_person_has_edited_since_stays(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    commonplace.memory.mkdir(parents=True)
    (commonplace.memory / "MEMORY.md").write_text("# Memory\n\n- Cleo is a cat.\n", "utf-8")
    commonplace.output_of("import", str(write_workspace(tmp_path / "claw")))
    memory = commonplace.memory
    core = (memory / "MEMORY.md").read_text("utf-8")
    (memory / "MEMORY.md").write_text(core.replace("her brother", "her cousin") + "- Mine.\n", "utf-8")
    (memory / "projects/house.md").write_text("The house has 5 rooms.\n", "utf-8")
    with (memory / "2026-03-04.md").open("a", encoding="utf-8") as log:
        log.write("- Written later.\n")
    told = commonplace.output_of("import", "--undo", "1")
    assert told.startswith("Undid import 1 (3 notes).\n")
    assert "Kept: 2\n" in told
    assert "  projects/house.md: you've changed it since, so it stays\n" in told
    assert "  MEMORY.md: you've changed 1 line since; your version stays\n" in told
    assert notes_of(commonplace) == {
        "2026-03-04.md": "- Written later.\n",
        "MEMORY.md": "# Memory\n\n- Cleo is a cat.\n- Ben is her cousin.\n- Mine.\n",
        "projects/house.md": "The house has 5 rooms.\n",
    }


def test_a_folder_of_markdown_keeps_its_paths(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    for name, data in {
        "trips/oslo.md": "Tram 12.\n".encode("utf-16"),
        "old.md": b"caf\xe9\r\nline\r\n",
        "zeros.md": b"a\0b",
        "blank.md": b" \n",
        "CON.md": b"x",
        ".obsidian/x.md": b"hidden",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    with (folder / "huge.md").open("wb") as huge:
        huge.truncate(17 * 1024 * 1024)
    (tmp_path / "outside.md").write_text("secret", "utf-8")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (folder / "folder-link").symlink_to(tmp_path)
    before = sorted(folder.rglob("*"))
    document = json.loads(commonplace.output_of("import", str(folder), "--json"))
    assert sorted(folder.rglob("*")) == before
    assert notes_of(commonplace) == {"old.md": "café\nline\n", "trips/oslo.md": "Tram 12.\n"}
    reasons = {each["what"]: each["reason"] for each in document["skipped"]}
    assert reasons["zeros.md"] == "it is not text"
    assert reasons["blank.md"] == "it is empty"
    assert "16 MiB" in reasons["huge.md"]
    assert "leads out" in reasons["link.md"]
    assert "Windows" in reasons["CON.md"]


def test_names_in_an_archive_lead_nowhere(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    file = write_zip(
        tmp_path / "notes.zip",
        {
            "a/one.md": "One.\n",
            "../../up.md": "x",
            "/etc/abs.md": "x",
            "a/../../b.md": "x",
            "a\\b.md": "x",
            "C:/d.md": "x",
            "a/ONE.md": "Other.\n",
            "a/caf\u00e9.md": "Composed.\n",
            "a/cafe\u0301.md": "Decomposed.\n",
            "a/\x1b[2J.md": "x",
            ".hidden/x.md": "x",
            "photo.png": b"\x89PNG",
        },
    )
    document = json.loads(commonplace.output_of("import", str(file), "--json"))
    assert notes_of(commonplace) == {"a/café.md": "Composed.\n", "a/one.md": "One.\n"} or notes_of(
        commonplace
    ) == {
        "a/café.md": "Composed.\n",
        "a/ONE.md": "Other.\n",
    }
    assert document["skipped_total"] == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.zip", "workspace"]


def test_names_that_differ_in_case_only_do_not_meet(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    for name in ("a.md", "A.md"):
        (folder / name).write_text(name, "utf-8")
    told = commonplace.output_of("import", str(folder))
    assert notes_of(commonplace) == {"A.md": "A.md\n", "imported/1/a.md": "a.md\n"}
    assert "  a.md: imported/1/a.md\n" in told


@pytest.mark.thorough
def test_ctrl_c_says_how_to_go_on_and_going_on_completes_it(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    file = write_chatgpt_zip(tmp_path / "export.zip", chats(8_000))
    with commonplace.start("import", str(file)) as process:
        listed: list[dict[str, Any]] = []
        while not (listed and listed[0]["conversations"]):
            listed = json.loads(commonplace.output_of("import", "--list", "--json"))["imports"]
        assert "another import is running here" in commonplace.error_of("import", str(file))
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert (
        error
        == "commonplace: stopped. What is done so far is kept; to continue, run the same command again\n"
    )
    assert "interrupted" in commonplace.output_of("import", "--list")
    commonplace.output_of("import", str(file))
    (run,) = json.loads(commonplace.output_of("import", "--list", "--json"))["imports"]
    assert (run["run"], run["state"], run["conversations"]) == (1, "done", 8_000)


@pytest.mark.thorough
def test_a_service_may_run_beside_it(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    file = write_chatgpt_zip(tmp_path / "export.zip", chats(3_000))
    commonplace.output_of("chat", "-m", "/remember The key is under the pot.")
    with commonplace.start("import", str(file)) as process:
        said = 0
        while process.poll() is None:
            assert "Noted" in commonplace.output_of("chat", "-m", f"/remember Thing {said} is in the attic.")
            said += 1
        assert process.returncode == 0
        process.communicate()
    assert said
    assert "Undid import 1 (6,000 messages)" in commonplace.output_of("import", "--undo", "1")


def test_a_restore_waits_for_it(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    (commonplace.memory.parent / ".commonplace").mkdir()
    (commonplace.memory.parent / ".commonplace" / "restore.json").write_text("{}", "utf-8")
    file = write_chatgpt_zip(tmp_path / "export.zip", chats(1))
    assert "a restore of this workspace has not finished" in commonplace.error_of("import", str(file))


def test_our_own_notes_are_not_imported(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    commonplace.memory.mkdir(parents=True)
    (commonplace.memory / "a.md").write_text("x", "utf-8")
    for folder in (commonplace.memory, tmp_path):
        assert "is where your notes are already" in commonplace.error_of(
            "import", str(folder), "--from", "markdown"
        )


def test_an_export_may_be_named_by_a_link(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(write_chatgpt_zip(tmp_path / "export.zip", chats(1)))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "1 new conversation " in commonplace.output_of("import", "link")
    commonplace.error_of("import", "loop")


def test_words_are_forgotten_in_what_was_imported_and_do_not_come_back(
    commonplace: CommonplaceHere, tmp_path: Path
) -> None:
    said = [("user", "My locker is number 4711."), ("assistant", "I'll remember.")]
    export = tmp_path / "conversations.json"
    export.write_text(json.dumps([chatgpt_conversation("c1", said, title="Locker 4711")]), "utf-8")
    commonplace.output_of("import", str(export))
    told = commonplace.output_of("chat", "-m", "/forget 4711")
    code = re.search(r"/forget yes ([A-Z0-9]{4})", told)
    assert code, told
    commonplace.output_of("chat", "-m", f"/forget yes {code[1]}")
    export.write_text(
        json.dumps([chatgpt_conversation("c1", [*said, ("user", "Thanks.")], title="Locker 4711")]), "utf-8"
    )
    assert "(1 message)" in commonplace.output_of("import", str(export))
    exported = commonplace.output_of("export", "--json") + commonplace.output_of("export")
    assert "Thanks." in exported
    assert "4711" not in exported


def test_one_note_is_imported(commonplace: CommonplaceHere, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("One.\n", "utf-8")
    (tmp_path / "two.md").write_text("Two.\n", "utf-8")
    assert "Wrote 1 new note " in commonplace.output_of("import", "one.md")
    assert notes_of(commonplace) == {"one.md": "One.\n"}


def test_a_later_version_of_a_note_goes_beside_the_earlier_one(
    commonplace: CommonplaceHere, tmp_path: Path
) -> None:
    (tmp_path / "one.md").write_text("One.\n", "utf-8")
    commonplace.output_of("import", "one.md")
    (tmp_path / "one.md").write_text("One and a half.\n", "utf-8")
    commonplace.output_of("import", "one.md")
    assert notes_of(commonplace) == {"imported/2/one.md": "One and a half.\n", "one.md": "One.\n"}
