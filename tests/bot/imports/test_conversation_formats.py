import io
import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.imports.conversation import (
    CUT_MARK,
    MAX_MESSAGE_CHARS,
    ImportedConversation,
    ImportedFile,
    ImportedMessage,
    fill_moments,
    message_keys,
    parse_moment,
)
from bot.imports.formats import find_format, kept_parts
from bot.imports.json_bytes import JsonBytes
from bot.imports.json_items import read_items
from tests.fakes.assistant_exports import (
    MARCH,
    chatgpt_conversation,
    chatgpt_message,
    claude_conversation,
    talk,
)

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def read(document: object) -> list[ImportedConversation]:
    stream = JsonBytes(io.BytesIO(json.dumps(document).encode()), name="it")
    return [
        found.read(item)
        for item in read_items(stream, name="it", large=kept_parts())
        if (found := find_format(item))
    ]


def said(conversation: ImportedConversation) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in conversation.messages]


def branched(**more: Any) -> dict[str, Any]:
    """The first question was edited, and the answer to the edited one was asked for again."""
    tree = chatgpt_conversation("c1", [("user", "one"), ("assistant", "first"), ("user", "two")])
    mapping = tree["mapping"]
    for key, role, text, parent in (
        ("edited", "user", "ONE", "c1-system"),
        ("again", "assistant", "second", "edited"),
        ("other", "assistant", "third", "edited"),
    ):
        mapping[key] = {"id": key, "message": chatgpt_message(key, role, text, MARCH + 900), "parent": parent}
    return {**tree, "current_node": "other", **more}


# -- ChatGPT ------------------------------------------------------------------------------------------------


def test_chatgpt_is_recognised_by_its_content_and_read() -> None:
    (conversation,) = read([chatgpt_conversation("c1", talk("key"), title="  Where\nis it "), {"id": "x"}, 7])
    assert (conversation.id, conversation.title, conversation.at) == ("c1", "Where is it", MARCH)
    assert said(conversation) == talk("key")
    assert [each.at for each in conversation.messages] == [MARCH, MARCH + 60]
    assert [each.id for each in conversation.messages] == ["c1-0", "c1-1"]


def test_the_branch_that_was_shown_last_is_read() -> None:
    assert said(read([branched()])[0]) == [("user", "ONE"), ("assistant", "third")]
    assert said(read([branched(current_node="c1-2")])[0])[-1] == ("user", "two")


@pytest.mark.parametrize("end", [None, "nowhere", 7, "", "c1-root"])
def test_without_its_end_the_latest_branch_is_read(end: object) -> None:
    assert said(read([branched(current_node=end)])[0])[0] == ("user", "ONE")


def test_a_circle_is_walked_once() -> None:
    tree = chatgpt_conversation("c1", talk("key"))
    tree["mapping"]["c1-0"]["parent"] = "c1-1"
    assert said(read([tree])[0]) == talk("key")
    tree["mapping"]["c1-1"]["parent"] = "c1-1"
    assert said(read([tree])[0]) == talk("key")[1:]


def test_what_has_no_parent_begins_there() -> None:
    tree = chatgpt_conversation("c1", talk("key"))
    tree["mapping"]["c1-1"]["parent"] = "gone"
    assert said(read([tree])[0]) == talk("key")[1:]
    tree["mapping"]["c1-1"]["parent"] = ["c1-0"]
    assert said(read([tree])[0]) == talk("key")[1:]


@pytest.mark.parametrize(
    "more",
    [
        {"author": {"role": "system"}},
        {"author": {"role": "tool", "name": "python"}},
        {"author": None},
        {"weight": 0.0},
        {"recipient": "python"},
        {"recipient": "bio"},
        {"channel": "analysis"},
        {"metadata": {"is_visually_hidden_from_conversation": True}},
        {"content": {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}},
        {"content": {"content_type": "reasoning_recap", "content": "Thought for 3 s"}},
        {"content": {"content_type": "user_editable_context", "user_profile": "x"}},
        {"content": {"content_type": "execution_output", "text": "42"}},
        {"content": {"content_type": "text", "parts": [""]}},
        {"content": {"content_type": "text", "parts": "no list"}},
        {"content": None},
    ],
)
def test_what_was_not_shown_is_left_out(more: dict[str, Any]) -> None:
    tree = chatgpt_conversation("c1", talk("key"))
    tree["mapping"]["c1-1"]["message"] |= more
    assert said(read([tree])[0]) == talk("key")[:1]


def test_a_node_that_is_none_is_left_out() -> None:
    tree = chatgpt_conversation("c1", talk("key"))
    tree["mapping"] |= {"x": None, "y": [], "z": {"message": "text", "parent": {}}}
    assert said(read([tree])[0]) == talk("key")


def test_pictures_and_files_are_named_and_speech_is_read() -> None:
    tree = chatgpt_conversation("c1", [("user", ""), ("assistant", "")])
    tree["mapping"]["c1-0"]["message"] |= {
        "content": {
            "content_type": "multimodal_text",
            "parts": [
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                {"content_type": "audio_transcription", "text": "What is this?", "direction": "in"},
                {"content_type": "audio_asset_pointer"},
                "Please.",
            ],
        },
        "metadata": {"attachments": [{"name": "rent.pdf"}, {"name": "a.png", "mime_type": "image/png"}, 7]},
    }
    tree["mapping"]["c1-1"]["message"] |= {"content": {"content_type": "code", "text": "print(1)"}}
    first, second = read([tree])[0].messages
    assert first.text == "What is this?\n\nPlease."
    assert first.files == (ImportedFile("rent.pdf"), ImportedFile("picture"))
    assert second.text == "print(1)"


def test_references_are_no_text() -> None:
    text = (
        "Oslo\ue200cite\ue202turn0search1\ue201 is nice【4†source】, and "
        '\ue200entity\ue202["city","Bergen","a city"]\ue201 too.\ue200entity\ue202[\ue201'
    )
    assert said(read([chatgpt_conversation("c1", [("user", text)])])[0]) == [
        ("user", "Oslo is nice, and Bergen too.")
    ]


# -- Claude -------------------------------------------------------------------------------------------------


def test_claude_is_recognised_by_its_content_and_read() -> None:
    (conversation,) = read(
        [claude_conversation("u1", [("human", "Hello"), ("assistant", "Hi")], name="Talk")]
    )
    assert (conversation.id, conversation.title) == ("u1", "Talk")
    assert said(conversation) == [("user", "Hello"), ("assistant", "Hi")]
    assert conversation.messages[1].at == datetime(2026, 3, 3, 10, 1, 0, 123456, UTC).timestamp()


def test_of_claudes_blocks_the_texts_are_read() -> None:
    talk = claude_conversation("u1", [("human", "x"), ("assistant", "y"), ("assistant", "z"), ("tool", "t")])
    first, second, third, _ = talk["chat_messages"]
    first |= {
        "content": [],
        "text": "Old form",
        "attachments": [{"file_name": "", "extracted_content": "a long text"}, {"file_name": "rent.pdf"}],
        "files": [{"file_name": "rent.pdf"}, {"file_name": None}, None],
    }
    second["content"] = [
        {"type": "thinking", "thinking": "secretly"},
        {"type": "text", "text": "Before."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "tool_result", "content": [{"type": "text", "text": "result"}]},
        {"type": "text", "text": "After."},
        None,
    ]
    third |= {
        "content": None,
        "text": "So:\n```\nThis block is not supported on your current device yet.\n```\n\n\nDone.",
    }
    (conversation,) = read([talk])
    assert said(conversation) == [
        ("user", "Old form"),
        ("assistant", "Before.\n\nAfter."),
        ("assistant", "So:\n\nDone."),
    ]
    assert conversation.messages[0].files == (
        ImportedFile("pasted text", "a long text"),
        ImportedFile("rent.pdf"),
    )


# -- both ---------------------------------------------------------------------------------------------------


def test_a_huge_message_is_cut_and_controls_are_replaced() -> None:
    text = "a\0b\x1b[31m" + "x" * 5_000_000
    (conversation,) = read([claude_conversation("u1", [("human", text)])])
    (message,) = conversation.messages
    assert message.text.startswith("ab\ufffd[31mxx")
    assert message.text.endswith(CUT_MARK)
    assert len(message.text) <= MAX_MESSAGE_CHARS + len(CUT_MARK)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (MARCH, MARCH),
        (MARCH * 1000, MARCH),
        (str(MARCH), MARCH),
        ("2026-03-03T01:06:40Z", MARCH),
        ("2026-03-03T01:06:40", MARCH),
        ("2026-03-03T02:06:40+01:00", MARCH),
        (None, None),
        (True, None),
        (0, None),
        (-5, None),
        (math.nan, None),
        ("0001-01-01T00:00:00+14:00", None),
        ("99999-01-01T00:00:00Z", None),
        ("yesterday", None),
        ({}, None),
        ("1" * 400, None),
    ],
)
def test_times_are_read_in_every_form(value: object, seconds: float | None) -> None:
    assert parse_moment(value) == seconds


def test_a_message_without_a_credible_time_has_that_beside_it() -> None:
    def times(at: float | None, *messages: float | None) -> list[float]:
        talk = [ImportedMessage("", "user", "x", each) for each in messages]
        return [each.timestamp() for each in fill_moments(ImportedConversation("", "", at, talk), now=NOW)]

    assert times(MARCH, None, MARCH + 5, None) == [MARCH, MARCH + 5, MARCH + 5]
    assert times(None, None, MARCH + 5) == [MARCH + 5, MARCH + 5]
    assert times(None, 1e10, None) == [NOW.timestamp()] * 2
    assert times(math.inf, math.inf) == [NOW.timestamp()]


def test_a_message_keeps_its_key_in_every_export() -> None:
    one, two = (ImportedMessage(key, "user", "x", MARCH) for key in ("a", "b"))
    nameless = ImportedMessage("", "user", "x", MARCH)
    assert message_keys([one, two]) == message_keys([one, two, one])[:2]
    assert len({*message_keys([one, two, nameless, nameless])}) == 4
