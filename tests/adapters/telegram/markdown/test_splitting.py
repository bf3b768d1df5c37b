"""Where a long reply is cut into messages."""

import re
from pathlib import Path

import pytest

from adapters.markdown.layout import FileMessage
from adapters.telegram.markdown.messages import FORMAT, TextMessage
from tests.adapters.telegram.markdown.shown import assert_sendable, covered, texts, units
from tests.fakes.table_test import table_test

HARD = (Path(__file__).parents[2] / "markdown/hard.md").read_text(encoding="utf-8")


def cut(markdown: str, limit: int) -> list[TextMessage]:
    messages = FORMAT.render(markdown, limit=limit)
    assert_sendable(messages, limit)
    return [message for message in messages if isinstance(message, TextMessage)]


def cut_texts(markdown: str, limit: int) -> list[str]:
    return [message.text for message in cut(markdown, limit)]


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_the_limit_counts_units_of_utf_16() -> None:
    assert cut_texts("😀" * 10, 7) == ["😀" * 3] * 3 + ["😀"]
    assert [units(text) for text in cut_texts("a" + "😀" * 5000, 4096)] == [4095, 4096, 1810]


def test_emphasis_over_a_cut_is_closed_and_opened_again() -> None:
    parts = cut("**one two** [three four](https://a.org) ||five six||", 8)
    assert [(part.text, [(e.type, covered(part, e), e.url) for e in part.entities]) for part in parts] == [
        ("one two", [("bold", "one two", "")]),
        ("three", [("text_link", "three", "https://a.org")]),
        ("four", [("text_link", "four", "https://a.org")]),
        ("five six", [("spoiler", "five six", "")]),
    ]


@table_test("fence", ["```", "~~~", "````````", "> ```", "- ```"])
def test_code_over_a_cut_is_opened_again_with_its_language(fence: str) -> None:
    lead = "> " if fence[0] == ">" else "  " if fence[0] == "-" else ""
    lines = [f"    line {number}" for number in range(8)]
    markdown = "\n".join(
        [f'{fence}python title="and more"', *(lead + line for line in lines), lead + fence.strip("->" + " ")]
    )
    parts = [part for part in cut(markdown, 60) if part.text != "•"]
    assert len(parts) == 2
    for part in parts:
        (pre,) = [entity for entity in part.entities if entity.type == "pre"]
        assert (covered(part, pre), pre.language) == (part.text.removeprefix("•\n"), "python")
    assert "\n".join(part.text for part in parts).removeprefix("•\n").split("\n") == lines


def test_code_that_fits_into_one_message_stays_whole_and_keeps_its_heading() -> None:
    code = "\n".join(["x = 1"] * 10)
    assert cut_texts(f"Some words.\n\n## Head\n\n```\n{code}\n```\n\nAfter", 74) == [
        "Some words.",
        f"Head\n\n{code}\n\nAfter",
    ]


@pytest.mark.thorough
def test_the_hundredth_entity_is_the_last_of_a_message() -> None:
    parts = cut(" ".join(f"**word {number}** and what follows" for number in range(150)), 4096)
    assert [len(part.entities) for part in parts] == [100, 50]
    many = cut(" ".join(["*a* `b`"] * 2000), 4096)
    assert len(many) <= 5
    assert squeezed("".join(part.text for part in many)) == "ab" * 2000


@pytest.mark.parametrize("limit", [4096, 1000, 100, 20])
def test_twelve_thousand_characters_of_hard_markdown_arrive_whole(
    limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(HARD) >= 12_000
    caplog.set_level("INFO")
    messages = FORMAT.render(HARD, limit=limit)
    assert_sendable(messages, limit)
    assert not caplog.records  # nothing had to be shown as plain text
    whole = FORMAT.render(HARD, limit=10**6)
    assert squeezed("".join(texts(messages))) == squeezed("".join(texts(whole)))


def test_every_word_of_the_hard_markdown_is_shown_in_order() -> None:
    # What is not for reading: addresses and titles of links, info strings, boxes, tags that were obeyed, LaTeX.
    source = re.sub(
        r"\]\([^()\s]*(?: \"[^\"]*\")?\)(?!`)|\]\[ref\]|^\[ref\]:.*$|\]\(javascript:alert\(1\)\)",
        " ",
        HARD,
        flags=re.MULTILINE,
    )
    source = re.sub(
        r"^[ >]*(`{3,}|~{3,}) ?\w[^\n`]*$|\[[xX ]\]|<br>|</?(?:b|i|u|kbd)>(?!\W+\+)",
        " ",
        source,
        flags=re.MULTILINE,
    )
    source = re.sub(r"\\\[[^\n]*\\\](?=\n)|\\\([^\n]*?\\\)|\$\$[^\n]*\$\$|\$[xE\\][^$]*\$", " ", source)
    shown = "\n".join(
        message.content
        if isinstance(message, FileMessage)
        else message.text + " ".join(entity.url for entity in message.entities)
        for message in FORMAT.render(HARD)
    )
    at = 0
    for word in re.findall(r"[^\W_]+", source):
        found = shown.find(word, at)
        assert found >= 0, f"{word!r} after {shown[at - 60 : at]!r}"
        at = found + len(word)
