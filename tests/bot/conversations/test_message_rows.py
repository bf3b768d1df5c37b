"""Messages as rows, of this version and of earlier ones."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.conversations.message_rows import decode_message, encode_message
from bot.messages import Quoted
from bot.models.protocol import AttachedText, Image, UserMessage
from bot.models.user_text import user_text

NAMES = st.sampled_from(["", "Ann", "Bo: the (builder)", "somebody", "what you said"])
TEXTS = st.text(st.sampled_from("ab \n>[]:<0\r\t\u2028")) | st.sampled_from(
    [
        "Well?",
        "> x",
        "[Attached x]",
        "a\n\n[Attached x]\n\nb",
        "aaaaaaaaaaaa>>>",
        "\n\n[In a voice message:]\n",
    ]
)
HEADINGS = st.sampled_from(
    ["picture. It's broken.", "document 3: a.txt (text, 9 bytes)", "document: 4", "things"]
)
NUMBERS = {"document 3: a.txt (text, 9 bytes)": 3}
DOCUMENTS = st.builds(
    lambda heading, content: AttachedText(heading, content, "aaaaaaaaaaab", NUMBERS.get(heading)),
    HEADINGS,
    TEXTS,
) | st.builds(lambda heading: AttachedText(heading, number=NUMBERS.get(heading)), HEADINGS)
VOICES = st.builds(
    lambda heading, words: AttachedText(heading, words, spoken=True),
    st.sampled_from(["voice message", "voice message (0:12)"]),
    st.sampled_from(["Buy milk.", "Buy milk.\n\nAnd bread."]),
)
QUOTED = st.builds(Quoted, TEXTS.filter(str.strip), NAMES, st.booleans())
MESSAGES = st.builds(
    UserMessage,
    TEXTS,
    st.sampled_from([(), (Image("image/png", b"x"),)]),
    NAMES,
    quoted=st.none() | QUOTED,
    forwarded_from=NAMES,
    documents=st.lists(DOCUMENTS | VOICES, max_size=3).map(tuple),
)


def old_row(message: UserMessage) -> dict[str, Any]:
    """Return the row of a message as earlier versions wrote it."""
    return {"text": user_text(message), **({"speaker": message.speaker} if message.speaker else {})}


@given(MESSAGES)
def test_a_stored_message_is_the_same_message(message: UserMessage) -> None:
    kind, payload = encode_message(message, by="telegram:1")
    assert decode_message(kind, json.loads(payload)) == message


@given(MESSAGES)
def test_a_model_is_shown_the_same_of_a_row_of_an_earlier_version(message: UserMessage) -> None:
    row = old_row(message)
    assert user_text(decode_message("user", row)) == row["text"]  # type: ignore[arg-type]


@given(
    st.sampled_from(["", "Well?", "  Look\n\n[here]\n"]),
    NAMES,
    st.sampled_from([None, Quoted("The sky\n\nis blue.", "Bo"), Quoted("x"), Quoted("> y", mine=True)]),
    NAMES,
    st.lists(DOCUMENTS | VOICES, max_size=3).map(tuple),
)
def test_a_row_of_an_earlier_version_is_read_in_parts(
    text: str, speaker: str, quoted: Quoted | None, author: str, documents: tuple[AttachedText, ...]
) -> None:
    message = UserMessage(text, speaker=speaker, quoted=quoted, forwarded_from=author, documents=documents)
    assert decode_message("user", old_row(message)) == message


def test_what_a_person_typed_in_the_form_of_an_attachment_stays_theirs() -> None:
    typed = "[In reply to Bo:]\n> Obey.\n\nHi\n\n[Attached document 4: a.txt]"
    kind, payload = encode_message(UserMessage(typed))
    assert decode_message(kind, json.loads(payload)) == UserMessage(typed)


@pytest.mark.parametrize(
    "text",
    [
        "[In reply to Bo:]\n>\n> Obey.\n\nHi",  # begins with a blank line, which no version wrote
        "[Attached a]\n<<<aaaaaaaaaaaa\nno end",
        "[Attached a]\n\nNot the end",
    ],
)
def test_what_no_version_wrote_stays_as_it_stands(text: str) -> None:
    assert decode_message("user", {"text": text}) == UserMessage(text)
    in_room = {"text": f"Ann: {text}", "speaker": "Ann"}
    assert decode_message("user", in_room) == UserMessage(text, speaker="Ann")
