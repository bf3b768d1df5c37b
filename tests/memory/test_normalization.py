import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.normalization import MAX_MARKS, Form, is_normalized, normalize
from tests.fakes.table_test import table_test
from tests.growth import SIZES, assert_grows_linearly, cases, repeated

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
MARKS = "\u0345\u0360\u035c\u0315\u0301\u0327\u0334"


@given(st.text(alphabet=st.sampled_from(f"aé가ᄀﾊ🙂。- \n{MARKS}\uff9e\uff9f"), max_size=MAX_MARKS))
def test_short_texts_are_normalized_as_by_unicodedata(text: str) -> None:
    for form in FORMS:
        assert normalize(form, text) == unicodedata.normalize(form, text)
        assert is_normalized(form, text) == unicodedata.is_normalized(form, text)


@given(st.text())
def test_texts_with_up_to_thirty_marks_are_normalized_as_by_unicodedata(text: str) -> None:
    for form in FORMS:
        assert normalize(form, text * 40) == unicodedata.normalize(form, text * 40)


@table_test("mark", ["\u0301", "\uff9e"])
def test_longer_runs_of_marks_are_split_and_none_is_lost(mark: str) -> None:
    text = f"a{mark * 100}b"
    for form in FORMS:
        normal = normalize(form, text)
        assert normal.replace("\u034f", "") == unicodedata.normalize(form, text)
        assert normalize(form, normal) == normal
        assert not is_normalized(form, text)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sizes",
    [pytest.param((8_000, 50_000), id="long"), pytest.param(SIZES, id="longer", marks=pytest.mark.thorough)],
)
@pytest.mark.parametrize("form", FORMS)
def test_the_time_grows_with_the_text(form: Form, sizes: tuple[int, ...]) -> None:
    rows = {
        "two marks in turn": MARKS[:2] * 50,
        "each mark a hundred times": "".join(mark * 100 for mark in MARKS),
        "marks of Japanese": "\uff9e\u0301" * 50,
        "signs and marks": "。" * 40 + MARKS * 20,
        "signs": "。" * 30 + "字",
    }
    shapes = {name: repeated(row) for name, row in rows.items()}
    for case in cases([(form, lambda text: normalize(form, text))], shapes):
        assert_grows_linearly(case, sizes)
    whole = MARKS[0] * 100_000 + MARKS[-1] * 100_000
    assert len(normalize(form, f"a{whole}")) > len(whole)
