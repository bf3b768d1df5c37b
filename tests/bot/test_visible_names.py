"""Names of files as people are shown them."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.visible_names import escape_path, unescape_path
from tests.fakes.table_test import table_test


@table_test(
    ("name", "shown"),
    [
        ("report.pdf", "report.pdf"),
        ("invoice\u202efdp.exe", "invoice⟨U+202E⟩fdp.exe"),
        ("a\u2066b\u2069c", "a⟨U+2066⟩b⟨U+2069⟩c"),
        ("a\u200bb\ufeff", "a⟨U+200B⟩b⟨U+FEFF⟩"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("re\u200dport\u200c", "re⟨U+200D⟩port⟨U+200C⟩"),
        ("👩\u200d👩\u200d👧 می\u200cخواهم ❤\ufe0f", "👩\u200d👩\u200d👧 می\u200cخواهم ❤\ufe0f"),
        ("👩\u200d\u200d\u200d👧", "👩⟨U+200D⟩⟨U+200D⟩⟨U+200D⟩👧"),
        ("חשבון.pdf", "חשבון.pdf"),
        ("日本語 ไทย.md", "日本語 ไทย.md"),
    ],
)
def test_nothing_hides_in_a_name(name: str, shown: str) -> None:
    assert escape_path(name) == shown
    assert unescape_path(shown) == name


@given(st.text(alphabet=st.characters(categories=["Cf", "Lu", "Lo", "Nd"])))
def test_what_is_shown_has_no_sign_that_turns_letters_around_and_is_understood(name: str) -> None:
    shown = escape_path(name)
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not [sign for sign in shown if unicodedata.bidirectional(sign) in turning]
    assert unescape_path(shown) == name


def test_only_what_would_be_shown_so_is_understood() -> None:
    assert unescape_path("⟨U+0041⟩ ⟨U+FFFFFF⟩ ⟨U+202E⟩") == "⟨U+0041⟩ ⟨U+FFFFFF⟩ \u202e"


@pytest.mark.thorough
@table_test("piece", ["\u202e", "\u200d", "a\u200d", "⟨U+", "⟨U+202E⟩"])
def test_a_long_name_takes_no_more_than_its_length(piece: str) -> None:
    name = piece * (200_000 // len(piece))
    began = time.thread_time()
    escape_path(name)
    unescape_path(name)
    assert time.thread_time() - began < 2, "the square of its length would be hours"
