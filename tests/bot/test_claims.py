"""What a reply claims to have done, and everything that only looks like it."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.claim_words import WORDS
from bot.claims import find_claims, is_acknowledgement
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.english import ENGLISH
from tests.fakes.table_test import table_test

ORDINARY = Path(__file__).parent / "claims_ordinary.txt"
TRUE = Path(__file__).parent / "claims_true.txt"
THOUSAND = Path(__file__).parent / "ordinary_replies.txt"
"""Ordinary replies in 18 languages, written by somebody who had not seen the code."""


def read_replies(file: Path) -> list[str]:
    """Replies as benchmarks/claims.py reads them."""
    lines = file.read_text("utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines if line.strip() and not line.startswith("#")]


def true_claims() -> Iterator[tuple[str, str]]:
    for line in read_replies(TRUE):
        kind, _, reply = line.partition(": ")
        yield kind, reply


@table_test(("kind", "reply"), list(true_claims()))
def test_claim(kind: str, reply: str) -> None:
    assert find_claims(reply) == {kind}
    sentence = reply.rstrip(".!。।")
    if not re.search("[.!。।?](?![0-9a-z])", sentence):
        assert find_claims(f"{sentence}?") == frozenset(), "a question claims nothing"
        assert find_claims(f"I see. {reply}") == {kind}


@table_test("reply", read_replies(ORDINARY))
def test_no_claim(reply: str) -> None:
    assert find_claims(reply) == frozenset()


def test_hardly_any_of_a_thousand_ordinary_replies_is_taken_for_a_claim() -> None:
    replies = read_replies(THOUSAND)
    assert len(replies) >= 1000
    alarms = [reply for reply in replies if find_claims(reply)]
    assert len(alarms) <= 0.01 * len(replies), alarms


@pytest.mark.parametrize(
    "sentence",
    [
        "I've noted that your plan for the trip is good. ",
        "Ich habe das alles für dich schon lange und breit mal so aufge ",
        "мы это всё записал и так далее. ",
        "我都不也已经笔记",
        "I've saved ",
        "your x's ",
    ],
)
def test_a_reply_of_20_000_characters_costs_little(sentence: str) -> None:
    reply = (sentence * 20_000)[:20_000]
    find_claims(reply)  # compiles the words
    costs = []
    for _ in range(5):
        began = time.process_time()
        find_claims(reply)
        costs.append(time.process_time() - began)
    assert min(costs) < 0.04, "twice what is wanted, for slow machines"


def test_there_are_enough_of_both() -> None:
    assert len(read_replies(ORDINARY)) >= 280
    assert len(list(true_claims())) >= 120
    assert set(WORDS) >= {language.code for language in LANGUAGES}


@table_test("code", [language.code for language in LANGUAGES])
def test_what_the_notebook_says_without_a_tool_is_no_claim(code: str) -> None:
    say = next(language.say for language in LANGUAGES if language.code == code)
    done = {"noted", "already_noted", "corrected", "removed", "back", "reminded", "reminded_again", "reminder_moved"}
    done |= {"reminder_cancelled", "since", "before_that", "said", "refused"}
    for name, text in say._asdict().items():
        if name not in done:
            assert (name, find_claims(str(text))) == (name, frozenset())


def test_what_stands_in_the_middle_of_a_long_reply_is_what_it_is_about() -> None:
    story = ["Once there was a robot."] * 20
    assert find_claims(" ".join([*story, "I've saved that to your notes.", *story])) == frozenset()
    assert find_claims(" ".join([*story, "I've saved that to your notes."])) == {"noted"}


@pytest.mark.parametrize(
    "piece", ["“", "«", "```", "`", "\n", " ", "I've saved ", "> \n", "** ", "'", '"', "「", "–", ". ", "\n-"]
)
def test_a_long_reply_is_read_in_no_time(piece: str) -> None:
    began = time.perf_counter()
    find_claims(piece * (200_000 // len(piece)))
    assert time.perf_counter() - began < 2


@table_test(
    ("reply", "wanted"),
    [
        ("Noted!", True),
        ("Got it, noted. How old is she?", True),
        ("C'est noté !", True),
        ("¡Anotado!", True),
        ("记下了。", True),
        ("Notes are Markdown files.", False),
        ("", False),
        (ENGLISH.say.thanks, False),
    ],
)
def test_acknowledgement(reply: str, wanted: bool) -> None:
    assert is_acknowledgement(reply) is wanted
