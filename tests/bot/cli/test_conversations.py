"""`commonplace memory search --source`: the user whose files they are finds what was said in any chat."""

import json
from pathlib import Path

import pytest

from bot import phrases
from tests.fakes.commonplace import Commonplace, CommonplaceHere


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    return CommonplaceHere(tmp_path)


def test_each_source_by_its_name(commonplace: Commonplace) -> None:
    commonplace.output_of("memory", "write", "The boat is noted")
    commonplace.output_of("chat", "--session", "one", "-m", "Do you know my boat?")
    notes = commonplace.output_of("memory", "search", "boat")
    assert notes == commonplace.output_of("memory", "search", "boat", "--source", "notes")
    assert "Do you know" not in notes
    said = commonplace.output_of("memory", "search", "boat", "--source", "conversations")
    place, line, *_ = said.splitlines()
    assert place.startswith("Terminal, ")
    assert "somebody  1:2  0." in place, "the notes recalled come first"
    assert line == "    Do you know my boat?"
    both = commonplace.output_of("memory", "search", "boat", "--source", "all")
    assert "Do you know my boat?" in both
    assert "- The boat is noted" in both
    assert "matched: boat" in commonplace.output_of(
        "memory", "search", "boat", "--source", "conversations", "--explain"
    )


def test_the_results_as_json_and_in_batches(commonplace: Commonplace) -> None:
    commonplace.output_of("chat", "-m", "Do you know my boat?")
    found = json.loads(
        commonplace.output_of("memory", "search", "boat", "--source", "all", "--json", "--explain")
    )
    (hit,) = found["results"]
    assert (hit["source"], hit["ref"], hit["chat"]) == ("conversation", "1:1", "terminal:main")
    assert hit["matched"]["words"] == ["boat"]
    lines = commonplace.output_of(
        "memory", "search", "--batch", "-", "--source", "conversations", stdin="boat\nlandlord\n"
    )
    documents = [json.loads(line) for line in lines.splitlines()]
    assert [len(each["results"]) for each in documents] == [1, 0]


def test_without_conversations_nothing_is_found(commonplace: Commonplace) -> None:
    assert (
        commonplace.output_of("memory", "search", "boat", "--source", "conversations") == "Nothing found.\n"
    )
    assert not (commonplace.folder / "workspace/.commonplace/state.db").exists()


def test_where_they_are_not_searched_their_index_is_deleted(commonplace: Commonplace) -> None:
    commonplace.output_of("chat", "-m", "Do you know my boat?")
    commonplace.output_of("memory", "search", "boat", "--source", "conversations")
    index = commonplace.folder / "workspace/.commonplace/conversations.db"
    assert index.exists()
    commonplace.environment["COMMONPLACE_MEMORY__CONVERSATIONS__ENABLED"] = "false"
    told = commonplace.output_of("memory", "search", "boat", "--source", "all")
    assert told == f"Nothing found.\n{phrases.CONVERSATIONS_OFF}\n"
    assert not index.exists()
    assert "I found nothing about that in my notes." in commonplace.output_of("chat", "-m", "/recall boat")


def test_a_source_that_does_not_exist_is_wrong_usage(commonplace: Commonplace) -> None:
    assert "conversations" in commonplace.error_of("memory", "search", "x", "--source", "web", code=2)
