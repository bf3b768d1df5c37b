"""Pages: every message is found as itself, whatever its Markdown, and nothing but what was said is in them."""

import json
from datetime import UTC, date
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.conversations.conversation import RECALLED, RETRACTION, SUMMARIZED, parse_entries
from bot.conversations.message_rows import encode_message
from bot.conversations.pages import (
    PAGE_ENTRIES,
    EntryHead,
    PagePath,
    SpokenMessage,
    make_page,
    page_start,
    plain_lines,
    scope_of,
    split_spans,
    spoken_messages,
)
from bot.messages import Quoted
from bot.models.protocol import (
    AssistantMessage,
    AttachedText,
    Image,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.state.conversations import Row, TimedRow
from memory.chunker import split_passages
from memory.forgetting import FORGOTTEN
from memory.paths import find_name_fault
from memory.tokenizer import tokenize

AT = "2026-03-03T12:00:00.000+00:00"


def stored(*said: Message | str) -> list[TimedRow]:
    """Entries as they are stored; a string is the kind of an entry that is no message."""
    rows = []
    for seq, each in enumerate(said, 1):
        kind, payload = (each, "{}") if isinstance(each, str) else encode_message(each, by="telegram:1")
        rows.append(TimedRow(Row(1, seq, kind, payload), AT))
    return rows


def texts(*said: Message | str) -> list[str]:
    return [each.text for each in spoken_messages(stored(*said))]


# -- what is in them ----------------------------------------------------------------------------------------


def test_a_page_says_who_said_what() -> None:
    page = make_page(
        spoken_messages(
            stored(
                UserMessage("The boiler was serviced\n\nby Mr Lang", speaker="Ben"),
                AssistantMessage("Noted."),
                UserMessage("Thanks"),
            )
        )
    )
    assert page.text == "- Ben: The boiler was serviced\n\n    by Mr Lang\n- Assistant: Noted.\n- You: Thanks"
    assert [line.seq for line in page.lines] == [1, 1, 1, 2, 3]
    assert [line.text for line in page.lines][2:] == ["by Mr Lang", "Noted.", "Thanks"]


def test_only_what_was_said_is_in_them() -> None:
    call = ToolCall("abcdefgh1", "memory_search", '{"query": "secret"}')
    said = texts(
        UserMessage(
            "Look at this",
            (Image("image/png", b"secret"),),
            quoted=Quoted("secret quotation", "Ben"),
            documents=(
                AttachedText("document 1: secret.pdf", "secret text", mark="0123456789ab"),
                AttachedText("voice message (0:05)", "and listen", spoken=True),
            ),
        ),
        AssistantMessage("I will look.", (call,)),
        ToolResult("abcdefgh1", "memory_search", '{"secret": 1}'),
        AssistantMessage("", (call,)),
        RECALLED,
        SUMMARIZED,
        AssistantMessage("It is a ship."),
    )
    assert said == ["Look at this\n\nand listen", "I will look.", "It is a ship."]


def test_a_message_of_pictures_alone_is_in_no_page() -> None:
    assert texts(UserMessage("", (Image("image/png", b"x"),)), UserMessage(" \n")) == []


def test_words_that_somebody_forwarded_are_their_authors() -> None:
    (said,) = spoken_messages(stored(UserMessage("The ship leaves at nine", forwarded_from="Cap: Hook")))
    assert (said.name, said.is_forwarded) == ("Cap: Hook", True)
    assert make_page([said]).text == "- Cap Hook: The ship leaves at nine"


def test_what_the_notebook_repeats_is_in_no_page_but_read_on() -> None:
    said = spoken_messages(
        stored(UserMessage("the boat"), AssistantMessage("Noted: the boat", (), "builtin/notebook"))
    )
    assert [each.text for each in said] == ["the boat", "Noted: the boat"]
    assert make_page(said).text == "- You: the boat"


def test_a_forgotten_message_is_in_no_page() -> None:
    assert texts(UserMessage(FORGOTTEN), AssistantMessage(FORGOTTEN), UserMessage("tea")) == ["tea"]


def test_an_interrupted_answer_is_found_without_the_mark() -> None:
    assert (
        texts(UserMessage("tell me"), AssistantMessage("Once upon\n\n[interrupted]"))[1].strip()
        == "Once upon"
    )


def test_a_damaged_entry_hides_nothing_else() -> None:
    rows = stored(UserMessage("one"), UserMessage("two"), UserMessage("three"))
    for payload in ("{", "[]", "5", '{"text": 5}', '{"text": "x", "documents": 7}', "{}"):
        rows[1] = TimedRow(Row(1, 2, "user", payload), AT)
        assert [said.text for said in spoken_messages(rows) if said.seq != 2] == ["one", "three"]


MESSAGES: st.SearchStrategy[Message | str] = st.one_of(
    st.just(RETRACTION),
    st.just(SUMMARIZED),
    st.sampled_from([UserMessage("ask"), UserMessage("")]),
    st.sampled_from(
        [
            AssistantMessage("answer"),
            AssistantMessage("a", (ToolCall("abcdefgh1", "x", "{}"),)),
            AssistantMessage(""),
        ]
    ),
    st.just(ToolResult("abcdefgh1", "x", "{}")),
)


@given(st.lists(MESSAGES, max_size=20))
def test_what_was_retracted_is_in_no_page(said: list[Message | str]) -> None:
    rows = stored(*said)
    # A summary ends what a conversation holds, but not what was said.
    kept = parse_entries(row.row for row in rows if row.row.kind != SUMMARIZED)
    expected = [e.seq for e in kept if not isinstance(e.message, ToolResult) and e.message.text.strip()]
    assert [each.seq for each in spoken_messages(rows)] == expected


@given(st.lists(MESSAGES, min_size=1, max_size=90))
def test_a_page_is_decided_by_the_entries_that_it_names(said: list[Message | str]) -> None:
    """No later entry changes it: so an unchanged stamp is an unchanged page."""
    rows = stored(*said)
    heads = [EntryHead(each.row.seq, each.row.kind, each.at, 1) for each in rows]
    for span in split_spans(heads, UTC):
        whole = [m for m in spoken_messages(rows) if span.first <= m.seq <= span.last]
        alone = [m for m in spoken_messages(rows[span.first - 1 : span.decided_by]) if m.seq <= span.last]
        assert whole == alone


# -- where they are -----------------------------------------------------------------------------------------


def heads(*at: str, kinds: dict[int, str] | None = None) -> list[EntryHead]:
    return [EntryHead(seq, (kinds or {}).get(seq, "user"), each, 10) for seq, each in enumerate(at, 1)]


def test_a_page_ends_with_the_owners_day() -> None:
    spans = split_spans(
        heads(
            "2026-03-03T20:00:00.000+00:00", "2026-03-03T22:59:00.000+00:00", "2026-03-03T23:00:00.000+00:00"
        ),
        ZoneInfo("Europe/Berlin"),
    )
    assert [(each.first, each.last, each.day) for each in spans] == [
        (1, 2, date(2026, 3, 3)),
        (3, 3, date(2026, 3, 4)),
    ]


def test_a_time_that_is_damaged_is_of_the_first_day() -> None:
    assert [each.day for each in split_spans(heads("soon", "0001-01-01T00:00:00+14:00"), UTC)] == [date.min]


@given(st.integers(1, 200), st.integers(0, 100))
def test_a_new_entry_changes_the_last_page_alone(before: int, more: int) -> None:
    old, new = split_spans(heads(*[AT] * before), UTC), split_spans(heads(*[AT] * (before + more)), UTC)
    start = page_start(before)
    assert [each for each in old if each.first < start] == [each for each in new if each.first < start]
    assert [each for each in old[:-1] if each not in new] == []
    assert all(each.last - each.first < PAGE_ENTRIES for each in new)


def test_a_retraction_changes_the_page_before_it() -> None:
    kinds = {PAGE_ENTRIES: "assistant", PAGE_ENTRIES + 1: RETRACTION, PAGE_ENTRIES + 2: "assistant"}
    spans = split_spans(heads(*[AT] * (PAGE_ENTRIES + 2), kinds=kinds), UTC)
    assert [each.decided_by for each in spans] == [PAGE_ENTRIES + 1, PAGE_ENTRIES + 2]


def test_a_path_says_what_its_page_is() -> None:
    path = PagePath(scope_of("telegram:1"), 12, 33, date(2026, 3, 3))
    assert str(path) == "telegram:1/c12/m33/2026-03-03.md"
    assert PagePath.parse(str(path)) == path
    for wrong in ("2026-03-03.md", "telegram:1/c12/m33/2026-02-31.md", "a/b/c12/m33/2026-03-03.md"):
        assert PagePath.parse(wrong) is None
    assert {"12", "33"}.isdisjoint(tokenize(str(path))), "a search for a number would find every page with it"


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_chat_has_a_folder_of_its_own(one: str, other: str) -> None:
    folder = scope_of(one)
    assert "/" not in folder
    assert folder.isprintable()
    assert "\\" not in folder
    assert (folder == scope_of(other)) == (one == other)
    assert scope_of("telegram:-100/5") == "telegram:-100%2F5"
    assert not find_name_fault(scope_of("discord:9876"))


# -- their Markdown -----------------------------------------------------------------------------------------

ODD_LINES = st.sampled_from(
    [
        "```", "```python", "~~~", "- ```", "1. ```sh", "# Title", "###### six", "=====", "-----", "- - -", "***",
        "| a | b |", "|---|---|", "> quoted", "- item", "  - inner", "12) twelve", "---", "title: x", "", " ", "\t",
        "\x0c", "a\u2028b", "\r", "Ben: hello", "\x1b[31mred\x1b[0m", "\ud800", "word " * 400, "字" * 900, "x" * 3000,
        "    code", "<b>", "\\", "`", "``", "x ``` y",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.lists(st.one_of(ODD_LINES, st.text(max_size=30)), max_size=12).map("\n".join), st.text())
NAMES = st.one_of(
    st.just(""), st.text(max_size=60), st.sampled_from(["Ben", "# Ben", "```", "- x", "a:b", "\n"])
)


@given(st.lists(st.tuples(TEXTS, NAMES, st.booleans()), max_size=8))
def test_every_passage_of_a_page_is_of_one_message(said: list[tuple[str, str, bool]]) -> None:
    numbers = count(1)
    messages = [
        SpokenMessage(next(numbers), text, AT, by_assistant=by_assistant, name="" if by_assistant else name)
        for text, name, by_assistant in said
    ]
    page = make_page(messages)
    passages = split_passages(page.text)
    assert len(page.lines) == (page.text.count("\n") + 1 if page.text else 0)
    of_message: dict[int, str] = {}
    before = 0
    for passage in passages:
        owners = {line.seq for line in page.lines[passage.line_start - 1 : passage.line_end]}
        assert len(owners) == 1, f"joined by {passage.text!r}"
        assert not passage.is_heading
        assert not passage.heading
        seq = owners.pop()
        # A line that is too long for a passage is cut.
        mark = "" if passage.line_start == before else "\n"
        of_message[seq] = f"{of_message.get(seq, '')}{mark}{passage.text}"
        before = passage.line_end
    for message in messages:
        lines = plain_lines(message.text)
        assert [line.text for line in page.lines if line.seq == message.seq] == lines
        found = tokenize(of_message.get(message.seq, ""))
        words = tokenize("\n".join(lines))
        assert found[len(found) - len(words) :] == words


def words_of(text: str) -> list[str]:
    return [word for line in plain_lines(text) for word in tokenize(line)]


@pytest.mark.parametrize("text", ["```python\nprint('boiler')\n```", "~~~~\nboiler", "a ```b``` c"])
def test_code_is_found_by_its_words(text: str) -> None:
    assert words_of(text) == tokenize(text.replace("`", " ").replace("~", " "))


def test_a_message_of_a_megabyte_is_found_to_its_end() -> None:
    text = "the quick brown fox " * 50_000 + "xylophagous"
    page = make_page([SpokenMessage(1, text, AT), SpokenMessage(2, "tea", AT)])
    passages = split_passages(page.text)
    assert "xylophagous" in passages[-2].text
    assert passages[-1].text == "- You: tea"
    assert max(len(passage.text) for passage in passages) < 3000


def test_encoded_pictures_are_not_decoded() -> None:
    """It would take long, and a damaged one would hide its caption."""
    payload = json.dumps({"text": "look", "documents": [], "images": [{"type": "image/png", "data": "A"}]})
    (said,) = spoken_messages([TimedRow(Row(1, 1, "user", payload), AT)])
    assert said.text == "look"
