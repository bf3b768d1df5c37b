"""docs/comparison.md claims nothing for Commonplace that no test or benchmark holds; README.md quotes its figures."""

import re
import tomllib
from pathlib import Path

from bot.config.settings import Settings
from bot.service.agents import build_agents
from bot.service.open_assistant import open_assistant
from bot.version import VERSION
from tests.document_claims import ROOT, missing, sections, table_rows

PAGE = (ROOT / "docs" / "comparison.md").read_text("utf-8")
SECTIONS = sections(PAGE)

TOOLS = "tests/test_comparison_docs.py::test_a_model_has_tools_for_notes_chats_documents_and_reminders_alone"
CHANNELS = "tests/test_comparison_docs.py::test_there_are_two_chat_apps_and_the_terminal"
PROJECT = "tests/test_comparison_docs.py::test_version_and_licence_are_those_of_the_project"
HTTP_NAMES = "tests/contracts/test_public_names.py::test_json_over_http_keeps_its_names"
ONE_MEMORY = "tests/test_end_to_end.py::test_what_was_told_in_one_conversation_is_found_in_the_next"
VOICE = "tests/bot/attachments/test_transcription.py::test_a_voice_message_is_written_down"
POISONED = "tests/test_poisoned_documents.py::test_a_poisoned_document_does_not_act_in_a_later_chat"
IN_THE_LINE = (
    "tests/bot/tools/test_foreign_writes.py::test_what_others_say_is_marked_and_stays_out_of_memory_md"
)
UNDO = "tests/bot/test_undo.py::test_each_kind_of_write_is_taken_back"
OWN_REMINDER = (
    "tests/bot/models/test_notebook_for_newcomers.py::"
    "test_a_reminder_in_ones_own_words_is_set_like_one_by_command"
)

HELD_BY: dict[str, dict[str, tuple[str, ...]]] = {
    "What each is good at": {
        "It needs no language model": (
            "tests/bot/models/test_factory.py::test_the_default_chain_needs_nothing",
            "tests/bot/models/notebook/test_model.py::test_it_answers_with_the_passage_and_its_place",
            OWN_REMINDER,
        ),
        "You can check it": (
            "tests/bot/commands/test_changes.py::test_one_change_is_shown_in_full",
            "tests/bot/commands/test_why.py::test_the_message_behind_a_line_is_quoted",
            UNDO,
            "tests/bot/cli/test_main.py::test_search_tells_place_headings_passage_and_score",
        ),
        "It keeps other people's words apart": (IN_THE_LINE,),
        "A model that is fooled can do little": (TOOLS, POISONED),
        "It loses nothing": (
            "tests/adapters/telegram/test_telegram_crash.py::"
            "test_killed_at_random_it_answers_everybody_and_loses_nothing",
            "tests/bot/test_note_writes.py::test_a_killed_process_that_tries_again_writes_every_line_once",
            "benchmarks/conversations.py",
        ),
        "It costs little to run": ("benchmarks/service.py", "benchmarks/turns.py"),
    },
    "What Commonplace does not do": {
        "It does not act for you": (TOOLS,),
        "It is on two chat apps": (CHANNELS,),
        "It has no apps": (HTTP_NAMES,),
        "It does not speak, call or draw": (
            TOOLS,
            VOICE,
            "tests/bot/attachments/test_reader.py::test_a_photo_goes_along_with_its_caption",
        ),
        "It has no skills, plugins or subagents": (TOOLS,),
        "All its people share one memory": (ONE_MEMORY,),
        "It runs on Linux and macOS": (
            "tests/bot/setup/test_service.py::test_systemd_takes_the_unit",
            "tests/bot/setup/test_service.py::test_launchd_gets_a_property_list",
            "tests/test_docker.py::test_compose_holds_the_container_in",
        ),
        "It is young": (PROJECT,),
    },
    "As an assistant": {
        "chat apps": (CHANNELS,),
        "apps and pages of its own": (HTTP_NAMES,),
        "runs on": (
            "tests/bot/setup/test_service.py::test_systemd_takes_the_unit",
            "tests/bot/setup/test_service.py::test_launchd_gets_a_property_list",
        ),
        "without a language model": (
            "tests/bot/models/test_factory.py::test_the_default_chain_needs_nothing",
            "tests/bot/models/notebook/test_model.py::test_it_answers_with_the_passage_and_its_place",
            OWN_REMINDER,
        ),
        "models on your machine": (
            "tests/bot/setup/test_model.py::test_ollama_is_found_with_its_models",
            "tests/bot/models/test_llama_cpp_chat.py::test_an_answer_streams_and_is_counted",
            "tests/bot/setup/test_model.py::test_another_server_is_asked_for_all_it_needs_and_tested_by_one_call",
        ),
        "another model if one fails": (
            "tests/bot/models/test_fallback.py::test_the_next_model_answers_when_the_first_fails",
            "benchmarks/fallback.py",
        ),
        "shell, files, web": (TOOLS,),
        "browser": (TOOLS,),
        "tools of MCP servers": (TOOLS,),
        "skills": (TOOLS,),
        "subagents": (TOOLS,),
        "hears voice messages": (VOICE,),
        "speaks": (TOOLS,),
        "makes pictures": (TOOLS,),
        "reminders and scheduled questions": (
            OWN_REMINDER,
            "tests/bot/test_timeparse_languages.py::test_the_same_thirty_times_are_understood_in",
            "tests/bot/test_reminders.py::test_a_prompt_becomes_a_message_of_who_scheduled_it",
        ),
        "what was due while it was off": (
            "tests/bot/test_reminders.py::test_one_that_was_missed_says_when_it_was_due",
        ),
        "a stranger who writes": (
            "tests/bot/test_assistant.py::test_a_stranger_gets_a_code_whatever_he_says_and_no_model_hears_it",
            "tests/bot/test_pairing.py::test_a_code_lets_its_person_in_with_the_memory_which_the_owner_is_told",
        ),
        "licence": (PROJECT,),
    },
    "As a memory": {
        "your notes are": (ONE_MEMORY,),
        "found by words, without any model": (
            "tests/contracts/test_index.py::test_every_script_is_found",
            "tests/memory/test_search.py::test_words_of_scripts_without_spaces_are_found_inside_sentences",
        ),
        "found by meaning": (
            "tests/memory/test_embedding_backfill.py::test_a_local_model_fills_and_finds",
            "tests/bot/cli/test_vectors.py::test_what_was_indexed_is_found_by_its_meaning",
        ),
        "past chats searched": (
            "tests/bot/service/test_said_and_found.py::"
            "test_what_was_never_noted_is_found_by_who_said_it_alone",
            "tests/bot/conversations/test_search.py::test_meaning_finds_what_shares_no_word",
        ),
        "sent along with a message unasked": (
            "tests/bot/test_automatic_recall.py::test_a_passage_goes_along_with_file_and_line",
            "benchmarks/recall.py",
        ),
        "whose words a note is": (IN_THE_LINE,),
        "changes shown and undone": (
            UNDO,
            "tests/bot/commands/test_changes.py::test_changes_are_listed_newest_first_with_who_and_where",
        ),
        "a fact that changed": (
            "tests/memory/ranking/test_supersession.py::test_the_same_fact_with_another_value_is_marked",
            "tests/bot/cli/test_main.py::test_search_shows_since_when_a_fact_is_true",
        ),
        "looks for duplicates, contradictions, dead links": (
            "tests/memory/health/test_examination.py::test_nearly_the_same_words_are_a_near_duplicate",
            "tests/memory/health/test_examination.py::test_a_fact_with_a_newer_value_is_superseded",
            "tests/memory/health/test_examination.py::test_a_link_to_nothing_is_broken",
            "benchmarks/health.py",
        ),
        "a folder elsewhere, such as an Obsidian vault": (
            "tests/memory/test_note_folders.py::test_a_read_only_folder_is_never_written",
            "tests/memory/test_note_folders.py::test_a_writable_folder_is_edited_in_place",
            "benchmarks/vault.py",
        ),
        "links, aliases and tags": (
            "tests/memory/test_search.py::test_a_note_is_found_by_its_names_as_by_its_path",
            "tests/memory/test_search.py::test_among_near_ties_a_note_linked_with_a_better_hit_comes_first",
            "benchmarks/note_names.py",
        ),
        "notes for other programs, by MCP": (
            "tests/bot/mcp/test_server.py::test_a_program_searches_reads_writes_corrects_and_undoes",
            "tests/bot/mcp/test_server.py::test_tools_without_the_right_are_not_listed_and_refused",
        ),
        "imports": (
            "tests/bot/cli/test_imports.py::test_an_export_of_chatgpt_is_imported_listed_exported_and_undone",
            "tests/bot/cli/test_imports.py::test_claudes_export_is_found_out_and_may_be_named",
            "tests/bot/cli/test_imports.py::test_openclaws_memory_joins_the_notes_and_is_taken_back",
            "tests/bot/cli/test_imports.py::test_a_folder_of_markdown_keeps_its_paths",
        ),
        "licence": (PROJECT,),
    },
    "What it costs": {
        "installed, with dependencies": ("benchmarks/installation.py",),
        "--help": ("tests/test_architecture.py::test_importing_brings_nothing_heavy",),
        "start of the service; memory when idle": ("benchmarks/service.py",),
        "own time for a turn, with an instant model": ("benchmarks/turns.py",),
        "200 notes of 4 KB indexed, vectors from a server": ("benchmarks/indexing.py",),
        "again, with nothing changed": ("benchmarks/indexing.py",),
        "one search from the command line": ("benchmarks/cold_search.py",),
    },
}
"""What holds each claim about Commonplace: by section, then by the table's row or the item's first words."""


def claims(section: str) -> list[str]:
    """The first cells of its tables, and the first words of its items, without footnotes."""
    rows = [row[0].strip("`").rstrip("¹²³⁴⁵⁶⁷ ").strip("`") for row in table_rows(section)]
    return rows + [each.rstrip(".") for each in re.findall(r"^- \*\*(.+?)\*\*", section, flags=re.MULTILINE)]


def test_every_claim_about_commonplace_says_what_holds_it() -> None:
    assert {name: claims(SECTIONS[name]) for name in HELD_BY} == {
        name: list(held) for name, held in HELD_BY.items()
    }
    assert "- **" not in "".join(text for name, text in SECTIONS.items() if name not in HELD_BY)


def test_what_holds_the_claims_exists() -> None:
    named = [each for held in HELD_BY.values() for several in held.values() for each in several]
    assert missing(named) == []
    gone = ["tests/test_gone.py::test_x", "benchmarks/gone.py", "tests/test_start.py::test_gone"]
    assert missing(gone) == gone
    assert missing(re.findall(r"`(benchmarks/\w+\.py)`", PAGE)) == []


def test_the_versions_that_were_measured_are_those_that_were_read() -> None:
    read = {f"{row[0]} {row[1]}" for row in table_rows(SECTIONS["Where this comes from"])}
    head = next(line for line in SECTIONS["What it costs"].splitlines() if line.startswith("|"))
    measured = [cell.strip() for cell in head.strip("|").split("|")][2:]
    assert len(measured) == 4
    assert set(measured) <= read


def test_the_figures_that_readme_quotes_stand_in_the_table() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    section = readme.partition("## How it compares")[2].partition("\n## ")[0]
    quoted = re.findall(r"\d[\d.]* (?:MB|ms|s|packages)\b", section)
    assert len(quoted) > 3
    ours = " ".join(row[1] for row in table_rows(SECTIONS["What it costs"]))
    assert [figure for figure in quoted if figure not in ours] == []


async def test_a_model_has_tools_for_notes_chats_documents_and_reminders_alone(tmp_path: Path) -> None:
    async with open_assistant(Settings.model_validate({"workspace": tmp_path}), alone=True) as assistant:
        agents = build_agents(assistant.services)
    reminders = {"remind", "list_reminders", "cancel_reminder"}
    assert agents.for_guests._tool_names == reminders
    notes = {"memory_search", "memory_get", "memory_write", "memory_edit"}
    assert agents.with_memory._tool_names == notes | reminders | {"conversation_get", "keep_document"}


def test_there_are_two_chat_apps_and_the_terminal() -> None:
    assert Settings().channels.keys() == {"telegram", "discord"}
    folders = {path.name for path in (ROOT / "adapters").iterdir() if (path / "__init__.py").is_file()}
    assert folders - {"markdown"} == {"telegram", "discord", "terminal"}


def test_version_and_licence_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (told,) = re.findall(r"\*\*It is young\*\*: version (\d+\.\d+)\.", PAGE)
    assert VERSION.rpartition(".")[0] == told
    assert project["license"] == "MIT"
    for name in ("As an assistant", "As a memory"):
        assert [row[1] for row in table_rows(SECTIONS[name]) if row[0] == "licence"] == ["MIT"]
