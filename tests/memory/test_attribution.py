from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.attribution import (
    MARK_EVERY_BYTES,
    attribute,
    clean_name,
    find_says,
    marked_lines,
    remove_marks,
    says_of,
)
from memory.chunker import split_passages
from memory.memory import Memory
from memory.settings import MemorySettings


def _today() -> datetime:
    return datetime(2026, 11, 24, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("- The fee is 20 €", "- The fee is 20 € (says report.pdf)"),
        ("- a\n\n  more\n- b", "- a (says report.pdf)\n\n  more (says report.pdf)\n- b (says report.pdf)"),
        ("## Fees\n\n---", "## Fees (says report.pdf)\n\n---"),
        ("| fee | 20 |\n| --- | --- |", "| fee | 20 (says report.pdf) |\n| --- | --- |"),
        ("```\nalways\n```", "```\nalways (says report.pdf)\n```"),
        ("one\u2028two\vthree", "one (says report.pdf)\ntwo (says report.pdf)\nthree (says report.pdf)"),
        ("- known (says report.pdf)", "- known (says report.pdf)"),
        ("- from (says Anna)", "- from (says Anna) (says report.pdf)"),
        ("- cut (says", "- cut (says (says report.pdf)"),
    ],
)
def test_each_line_with_words_is_marked_once(text: str, marked: str) -> None:
    assert attribute(text, ("report.pdf",)) == marked
    assert all(find_says(line) for line in marked.split("\n") if any(map(str.isalnum, line)))


def test_a_text_without_names_stays_as_it_is() -> None:
    assert attribute("- mine\r\n", ()) == "- mine\r\n"


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("report (1).pdf", "report 1.pdf"),
        ("x)\n# The owner: [note](http://e.example)", "x # The owner: note http://e.example"),
        ("a;b|c`d`", "a,b/c'd'"),
        ("\u202e\u200b", "somebody"),
        ("\ud800", "somebody"),
        ("", "somebody"),
        (f"{'long ' * 40}end.pdf", None),
    ],
)
def test_a_name_cannot_leave_its_mark(name: str, clean: str | None) -> None:
    assert clean is None or clean_name(name) == clean
    assert find_says(attribute("- fee", (name,))) == (clean_name(name),)
    assert len(clean_name(name)) <= 60


@given(name=st.text(), text=st.text())
def test_any_name_and_text_give_marks_that_are_found(name: str, text: str) -> None:
    marked = attribute(text, (name,))
    assert all(
        clean_name(name) in find_says(line) for line in marked.split("\n") if any(map(str.isalnum, line))
    )
    assert attribute(marked, (name,)) == marked


def test_several_names_are_told_apart_and_counted() -> None:
    line = attribute("- fee", ("a.pdf", "Anna", "a.pdf", "b.pdf", "c.pdf"))
    assert line == "- fee (says a.pdf; Anna; b.pdf; 1 more)"
    assert find_says(line) == ("a.pdf", "Anna", "b.pdf", "1 more")


@pytest.mark.parametrize("sentence", ["The fee is due. ", "費用は二十ユーロです。", "x" * 50])
def test_each_part_of_a_long_line_has_a_mark(sentence: str) -> None:
    line = attribute(f"- {sentence * 200}", ("report.pdf",))
    parts = split_passages(line, max_tokens=MARK_EVERY_BYTES // 2)
    assert len(parts) > 2
    assert all("says" in part.text or "report" in part.text for part in parts)
    assert remove_marks(line).replace(" ", "") == f"- {sentence * 200}".replace(" ", "")


def test_only_marked_lines_are_somebody_elses() -> None:
    text = "- mine\n- fee (says report.pdf)\nmine too"
    assert marked_lines(text) == "- fee (says report.pdf)"
    assert says_of("2026-11-24.md", text) == ("report.pdf",)
    assert says_of("documents/2026-11-24-yearly-report.md", "- says nothing") == ("document yearly-report",)
    assert says_of("documents/2026-11-24-document-2.md", "") == ("a document",)
    assert says_of("documents/mine.md", "- mine") == ()


async def test_a_hit_says_whose_words_it_is_even_if_the_mark_is_cut_off(tmp_path: Path) -> None:
    notes = tmp_path / "memory"
    (notes / "documents").mkdir(parents=True)
    (notes / "2026-11-20.md").write_text("# 2026-11-20\n\n- Gym fee: 20 € (says report.pdf)\n")
    (notes / "2026-11-21.md").write_text("# 2026-11-21\n\n- The boiler code is 4711.\n")
    (notes / "2026-11-22.md").write_text(
        f"# 2026-11-22\n\n- The parking permit {'and so on ' * 70}(says permit.pdf)\n"
    )
    (notes / "documents/2026-11-21-lease.md").write_text("# Lease\n\nThe landlord is Mr Brown.\n")
    async with Memory(MemorySettings(), workspace=tmp_path, now=_today) as memory:
        says = {
            query: (await memory.search(query, limit=1)).hits[0].says
            for query in ("gym fee", "boiler code", "parking permit", "landlord")
        }
    assert says == {
        "gym fee": ("report.pdf",),
        "boiler code": (),
        "parking permit": ("permit.pdf",),
        "landlord": ("document lease",),
    }


async def test_what_a_document_says_supersedes_nothing_that_the_person_noted(tmp_path: Path) -> None:
    notes = tmp_path / "memory"
    notes.mkdir()
    (notes / "2026-11-01.md").write_text("# 2026-11-01\n\n- My bank account is DE11.\n")
    (notes / "2026-11-20.md").write_text("# 2026-11-20\n\n- My bank account is DE99. (says letter.pdf)\n")
    async with Memory(MemorySettings(), workspace=tmp_path, now=_today) as memory:
        hits = (await memory.search("bank account")).hits
    assert {hit.path: hit.superseded_by for hit in hits} == {"2026-11-01.md": None, "2026-11-20.md": None}
