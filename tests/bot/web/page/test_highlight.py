from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bot.web.page.highlight import HighlightPiece, highlight
from memory.tokenizer import parse_query, tokenize, tokenize_with_offsets
from tests.fakes.table_test import table_test

TEXTS = st.text(
    alphabet=st.sampled_from(
        "aAéÉçßﬁİıΣς'’ -.\n1²½护照北京大学がｶﾞ한국ᄒ\u1161\u11abہندیहिन्दीไทยน้ำམ\u0301\u00ad\u200b😀ｆ"
    )
    | st.characters(codec="utf-8", max_codepoint=0x2FF),
    max_size=60,
)


def shown(query: str, text: str) -> str:
    pieces = highlight(text, parse_query(query))
    return "".join(f"[{piece.text}]" if piece.is_asked_for else piece.text for piece in pieces)


@table_test(
    ("query", "text", "marked"),
    [
        ("passport", "Two passports, one Passport.", "Two [passports], one [Passport]."),
        ("where is the passport", "the passport is there", "the [passport] is there"),
        (
            "école",
            "L'École, e\u0301cole et ECOLE",
            "L'[École], e\u0301cole et [ECOLE]".replace("e\u0301cole", "[e\u0301cole]"),
        ),
        ("护照", "我的护照在家", "我的[护照]在家"),
        ("北京大学", "在北京大学里，不在东京", "在[北京大学]里，不在东京"),
        ("ガラス", "ｶﾞﾗｽの窓", "[ｶﾞﾗｽ]の窓"),
        ("file", "a ﬁle and ｆｉｌｅ", "a [ﬁle] and [ｆｉｌｅ]"),
        ("istanbul", "İİ İstanbul", "İİ [İstanbul]"),
        ("soft", "very so\u00adft", "very [so\u00adft]"),
        ("script", "<script>alert(1)</script>", "<[script]>alert(1)</[script]>"),
        ("oslo", "nothing of it", "nothing of it"),
        ("oslo", "", ""),
    ],
)
def test_the_words_that_were_asked_for_are_marked_as_they_are_written(
    query: str, text: str, marked: str
) -> None:
    assert shown(query, text) == marked


def test_a_stretch_between_two_words_is_one_piece() -> None:
    assert highlight("a b, c d", parse_query("b")) == [
        HighlightPiece("a ", False),
        HighlightPiece("b", True),
        HighlightPiece(", c d", False),
    ]


@given(TEXTS, TEXTS)
def test_the_pieces_are_the_text(query: str, text: str) -> None:
    pieces = highlight(text, parse_query(query))
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)
    assert all(one.is_asked_for != following.is_asked_for for one, following in pairwise(pieces))


@given(TEXTS)
def test_tokens_are_those_of_the_index_and_stand_in_order(text: str) -> None:
    places = tokenize_with_offsets(text)
    assert [token for token, _, _ in places] == tokenize(text)
    ends = [0, *(end for _, _, end in places)]
    assert all(start < end for _, start, end in places)
    assert all(
        before <= start or text[start:before] for before, (_, start, _) in zip(ends, places, strict=False)
    )
