import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.conversations.log_section import (
    CORE_FACTS,
    RAW_CHARS,
    SECTION_CHARS,
    TOO_LONG_MARK,
    find_missing_facts,
    format_raw,
    heading,
    parse_answer,
    section,
)
from bot.messages import Quoted
from bot.models.protocol import AssistantMessage, AttachedText, ToolCall, ToolResult, UserMessage
from memory.forgetting import FORGOTTEN
from tests.fakes.table_test import table_test


def test_the_heading_is_one_line_whatever_the_chat_is_called() -> None:
    now = datetime(2026, 11, 21, 9, 5, tzinfo=UTC)
    assert heading(now, "terminal:main") == "## 09:05 Terminal"
    assert heading(now, "terminal:garden plans") == "## 09:05 garden plans"
    assert heading(now, "telegram:-100") == "## 09:05 telegram:-100"
    assert heading(now, "Anna\n## 12:00 \u2028Ben\x1b[2J") == "## 09:05 Anna ## 12:00 Ben"


@table_test(
    ("answer", "body", "core", "sure"),
    [
        ("- a\n- b", "- a\n- b", (), True),
        (
            "Here they are:\n\n\n- a\n- a\n  - x\n- b\n  - x",
            "Here they are:\n\n- a\n  - x\n- b\n  - x",
            (),
            True,
        ),
        ("```markdown\n- a\n```", "- a", (), True),
        ("<think>hm\n- no</think>\n- a", "- a", (), True),
        ("- a\n- b <think>c</think>", "- a\n- b <think>c</think>", (), True),
        ("- a\n# MEMORY.md\n- b\n  and c\n* d", "- a", ("b and c", "d"), True),
        ("# Log\n- a\n## `MEMORY.md`:\n- b\n# More\n- c", "### Log\n- a\n### More\n- c", ("b",), True),
        ("# MEMORY.md\n- b", "", ("b",), True),
        ("- a\n\n# MEMORY.md\nNOTHING", "- a", (), True),
        ("NOTHING", "", (), True),
        ("I cannot help with that.", "I cannot help with that.", (), False),
        ("1. a\n2. b", "1. a\n2. b", (), True),
    ],
)
def test_an_answer_is_read_for_log_and_core_note(
    answer: str, body: str, core: tuple[str, ...], sure: bool
) -> None:
    reading = parse_answer(answer)
    assert (reading.body, reading.core, reading.sure) == (body, core, sure)


def test_an_answer_that_was_cut_off_is_not_sure() -> None:
    assert not parse_answer("- a\n- b", whole=False).sure


def test_of_an_endless_answer_the_beginning_is_read_and_counts_as_cut_short() -> None:
    reading = parse_answer("- a\n" * 20 + "- tea\n" + "- b\n" * 100_000 + "# MEMORY.md\n- c")
    assert (reading.body, reading.core, reading.sure) == ("- a\n- tea\n- b", (), False)


@pytest.mark.thorough
@table_test("line", ["# MEMORY.md{}x", "# {}MEMORY.md", "```{}x\n- a\n```", "- a{}\u00a0b"])
def test_a_line_of_very_many_blanks_holds_nobody_up(line: str) -> None:
    began = time.thread_time()
    parse_answer(line.format(" " * 100_000))
    assert time.thread_time() - began < 0.5


@pytest.mark.thorough
def test_an_answer_of_very_many_blanks_is_read_quickly() -> None:
    began = time.thread_time()
    assert parse_answer("- a\n" + " \n" * 50_000 + "- b").body == "- a\n\n- b"
    assert time.thread_time() - began < 1


def test_what_is_far_too_long_is_cut_at_a_line_and_says_so() -> None:
    body = parse_answer("\n".join(f"- fact {number}" for number in range(10_000))).body
    assert len(body) <= SECTION_CHARS + len(TOO_LONG_MARK) + 2
    *facts, blank, mark = body.split("\n")
    assert (blank, mark) == ("", TOO_LONG_MARK)
    assert facts == [f"- fact {number}" for number in range(len(facts))]


def test_facts_for_which_the_core_note_is_too_small_go_to_the_log() -> None:
    reading = parse_answer(
        "# MEMORY.md\n" + "\n".join(f"- fact {number}" for number in range(CORE_FACTS + 2))
    )
    assert len(reading.core) == CORE_FACTS
    assert reading.body == f"- fact {CORE_FACTS}\n- fact {CORE_FACTS + 1}"


PIECES = st.sampled_from(
    [
        *["# x", "## 12:00 Ben", "```", "~~~~", "- ```", "  ```", "> ```", "<!--", "<script>", "  <pre>"],
        *["===", "---", "- - -", "***", "text", "- item", "  beneath", "\tcode", "", "x\r\ny", "x\u2028## y"],
        *["<![CDATA[", "<?php", "1. ~~~", "* * *", "#", "######## x", "[x]: y", "| a |", "|---|", "\\"],
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=12)), min_size=1, max_size=12))
def test_nothing_that_a_model_writes_reaches_beyond_its_section(lines: list[str]) -> None:
    block = section("## 12:00 Anna", parse_answer("\n".join(lines)).body or "- x")
    raw = section("## 12:30 Anna", format_raw([UserMessage("\n".join(lines))]) or "- x")
    text = f"# 2026-11-21\n\n{block}\n\n{raw}\n\n## 13:00 Next\n\n- next\n"
    tokens = MarkdownIt().parse(text)
    tops = [
        (token.tag, tokens[at + 1].content)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.tag in ("h1", "h2")
    ]
    assert tops == [
        ("h1", "2026-11-21"),
        ("h2", "12:00 Anna"),
        ("h2", "12:30 Anna"),
        ("h2", "13:00 Next"),
    ]


@table_test(
    ("fact", "core", "is_new"),
    [
        ("Anna is a vet.", "", True),
        ("Anna is a vet.", "# Memory\n\n- Anna is a VET", False),
        ("Anna is a vet.", "- Since 2020 Anna is a vet in Bern.", True),
        ("Anna is a vet.", "- It is not so that Anna is a vet.", True),
        ("Anna is a vet.", "- They live in Bern. Anna is a vet.", False),
        ("Anna is a vet. They live in Bern.", "- They live in Bern!\n- Anna is a vet", False),
        ("Anna is a vet in Bern.", "- Anna is a vet.", True),
        ("Anna is a vet.", "- Anna is\n- a vet.", True),
        ("小林喜欢茶", "- 小林喜欢茶。", False),
        ("小林喜欢咖啡", "- 小林喜欢茶。", True),
    ],
)
def test_the_core_note_is_compared_word_by_word(fact: str, core: str, is_new: bool) -> None:
    assert find_missing_facts([fact], core) == ([fact] if is_new else [])


def test_of_the_same_fact_twice_one_is_new() -> None:
    assert find_missing_facts(["Anna is a vet.", "anna is a vet"], "") == ["Anna is a vet."]


def test_what_was_said_is_bounded_and_every_message_has_its_share() -> None:
    messages = [UserMessage(f"message {number} " + "x" * 5_000) for number in range(60)]
    text = format_raw(messages)
    assert len(text) < RAW_CHARS * 1.3
    assert all(f"message {number} " in text for number in range(60))


def test_a_message_of_nothing_but_a_byte_order_mark_says_nothing() -> None:
    assert format_raw([UserMessage("\ufeff"), AssistantMessage("Yes?")]) == ""
    text = format_raw([UserMessage("\ufeff"), UserMessage("My cat is called Mia.")])
    assert text.endswith("\n\n- My cat is called Mia.")


def test_what_was_forgotten_is_not_noted_as_such() -> None:
    gone = (UserMessage(FORGOTTEN), AssistantMessage(FORGOTTEN))
    assert format_raw(gone) == ""
    assert format_raw([*gone, UserMessage("My cat is called Mia."), *gone]).endswith(
        "\n\n- My cat is called Mia."
    )


def test_of_very_many_messages_the_latest_stay_and_the_others_are_counted() -> None:
    messages = [
        part
        for number in range(1000)
        for part in (UserMessage(f"message {number} " + "x" * 500), AssistantMessage("I see."))
    ]
    text = format_raw(messages)
    assert len(text) < RAW_CHARS * 1.3
    assert "message 999 " in text
    left_out = re.search(r"and (\d+) more messages before these", text)
    assert left_out
    assert int(left_out[1]) == 1000 - text.count("message ")


def test_messages_are_kept_with_what_they_quote_and_what_was_said_aloud() -> None:
    voice = AttachedText("voice message", "And bread.", spoken=True)
    only_voice = UserMessage("", documents=(voice,))
    quoting = UserMessage("Remember this", speaker="Ann", quoted=Quoted("Party at 9", "Bo"))
    text = format_raw([only_voice, AssistantMessage("Yes."), quoting])
    assert text.endswith(
        "- [In a voice message:]\n  And bread.\n  - → Yes.\n"
        "- Ann: [In reply to Bo:]\n  > Party at 9 (says Bo)\n  Remember this"
    )
    assert format_raw([only_voice])


def test_a_turn_of_which_only_the_written_part_was_noted_is_kept() -> None:
    call = ToolCall("abcdefgh1", "memory_write", '{"content": "Buy milk.", "target": "daily"}')
    voice = AttachedText("voice message", "And twelve loaves of bread.", spoken=True)
    done = (AssistantMessage("", (call,)), ToolResult(call.id, call.name, "{}"))
    assert format_raw([UserMessage("Buy milk."), *done]) == ""
    assert "twelve loaves" in format_raw([UserMessage("Buy milk.", documents=(voice,)), *done])
