from datetime import date
from time import thread_time

import pytest

from bot.attachments.document_note import MAX_BYTES, DocumentNote, document_note, is_title, slugify
from bot.attachments.document_text import DocumentText
from memory.chunker import split_passages
from memory.paths import split_note_path
from tests.fakes.table_test import table_test
from tests.growth import Case, assert_grows_linearly, repeated

DAY = date(2026, 11, 21)


def made(
    text: str, *, name: str = "report.pdf", kind: str = "PDF", title: str = "", whole: bool = True
) -> DocumentNote:
    characters = len(text) if whole else None
    document = DocumentText(kind, text, characters)  # type: ignore[arg-type]
    return document_note(document, name=name, title=title, sender="Anna", day=DAY)


def body(note: DocumentNote) -> str:
    return note.block.partition("\n\n")[2]


def headings(note: DocumentNote) -> list[str]:
    passages = split_passages(f"# {note.title}\n\n{note.block}\n")
    return [each.heading for each in passages if each.is_heading]


def test_a_text_becomes_a_note_that_tells_where_it_is_from() -> None:
    note = made("The boiler was serviced.\n\nNext time in May.", name="Boiler report.pdf")
    assert note.path == "documents/2026-11-21-boiler-report.md"
    assert note.title == "Boiler report"
    assert note.block.split("\n\n") == [
        "Sent as `Boiler report.pdf` by `Anna` on 2026-11-21.",
        "The boiler was serviced.",
        "Next time in May.",
    ]
    assert note.is_whole


def test_nothing_hides_in_the_name_that_a_note_tells() -> None:
    note = made("text", name="bill\u202efdp.exe")
    assert note.title == "bill⟨U+202E⟩fdp"
    assert "Sent as `bill⟨U+202E⟩fdp.exe`" in note.block
    assert note.path == "documents/2026-11-21-bill-u-202e-fdp.md"


@table_test("title", ["Tax return 2025", "  Tax \n return 2025 "])
def test_the_title_that_a_person_gives_wins(title: str) -> None:
    note = made("text", title=title)
    assert (note.title, note.path) == ("Tax return 2025", "documents/2026-11-21-tax-return-2025.md")


@table_test(
    ("title", "expected"),
    [
        ("../../etc/passwd", "etc-passwd"),
        ("..", "document"),
        ("", "document"),
        (".hidden", "hidden"),
        ("C:\\Users\\me\\notes.txt", "c-users-me-notes-txt"),
        ("a\0b\nc‮d", "a-b-cd"),
        ("合同 2025（最终）", "合同-2025-最终"),
        ("Straße & Öl", "straße-öl"),
        ("हिन्दी रिपोर्ट", "हिन्दी-रिपोर्ट"),
        ("रिपोर्ट\u200d", "रिपोर्ट"),
        ("👍🏽", "document"),
        ("x" * 300, "x" * 60),
        ("word " * 50, "-".join(["word"] * 12)),
    ],
)
def test_a_file_name_is_safe_whatever_the_title(title: str, expected: str) -> None:
    assert slugify(title) == expected
    assert split_note_path(f"documents/2026-11-21-{slugify(title)}-99.md")


def test_a_long_title_without_spaces_fits_a_file_system() -> None:
    assert len(slugify("合" * 500).encode()) <= 180


def test_lines_of_a_text_do_not_become_headings_code_or_rules() -> None:
    lines = ["# 5 apples", "Total", "=====", "---", "***", "```", "> said he", "~~~ x", "#hash", "-5 degrees"]
    note = made("\n".join(lines), kind="text", name="list.txt")
    assert headings(note) == ["list"]
    assert body(note).replace("\\", "").split("\n") == lines
    assert "\\```" in note.block


@table_test(
    ("text", "expected"),
    [
        # Its own title is the note's.
        ("# Oslo\n\nText\n\n## Food\n\nFish", ["Oslo", "Oslo > Food"]),
        ("Oslo\n====\n\nText\n\n## Food\n\nFish", ["Oslo", "Oslo > Food"]),
        # Several of the first level, or one further down: all go one level down.
        ("# One\n\na\n\n## Two\n\nb\n\n# Three\n\nc", ["One", "One > Two", "One > Three"]),
        ("text\n\n# One\n\n## Two", ["trip", "trip > One", "trip > One > Two"]),
        ("text\n\nOne\n===\n\nb", ["trip", "trip > One"]),
        # What stands in code is none.
        ("```\n# no heading\n```\n\n# One", ["trip", "trip > One"]),
        ("###### deep\n\n# One", ["trip", "trip > deep", "trip > One"]),
        ("# ", ["trip"]),
    ],
)
def test_markdown_stays_markdown_below_one_heading(text: str, expected: list[str]) -> None:
    note = made(text, kind="Markdown", name="trip.md")
    assert headings(note) == expected


def test_the_title_of_a_markdown_document_stays_below_another_one() -> None:
    note = made("# Oslo\n\nText", kind="Markdown", name="trip.md", title="Norway")
    assert headings(note) == ["Norway", "Norway > Oslo"]


def test_fields_above_markdown_stay_fields_below_the_title() -> None:
    note = made("---\ntags: [a]\ntitle: x\n---\n# Oslo\n\nText", kind="Markdown", name="trip.md")
    assert note.title == "Oslo"
    assert body(note) == "```yaml\ntags: [a]\ntitle: x\n```\n\n\nText"


def test_a_fence_that_a_document_leaves_open_is_closed() -> None:
    assert made("text\n\n````py\ncode", kind="Markdown").block.endswith("code\n````")


@table_test("kind", ["CSV", "code", "JSON", "HTML"])
def test_code_stands_in_a_fence_that_it_cannot_close(kind: str) -> None:
    note = made("a,b\n```\n# no heading\n`````\nend", kind=kind, name="table.csv")
    assert body(note) == "``````csv\na,b\n```\n# no heading\n`````\nend\n``````"
    assert headings(note) == ["table"]


@table_test("name", ["x.`rm`", "x.```", "x.c d", "x", "x.ÿ"])
def test_what_a_file_is_called_gets_into_no_fence(name: str) -> None:
    assert body(made("code", kind="code", name=name)) == "```\ncode\n```"


def test_names_are_shown_as_names() -> None:
    note = document_note(
        DocumentText("text", "words", 5), name="a`*b\n# c.txt", title="", sender="An`na\n#", day=DAY
    )
    assert note.block.split("\n")[0] == "Sent as `a'*b # c.txt` by `An'na #` on 2026-11-21."
    nameless = document_note(DocumentText("text", "words", 5), name="", title="", sender="", day=DAY)
    assert nameless.block.split("\n")[0] == "Sent as a document on 2026-11-21."
    assert nameless.path == "documents/2026-11-21-document.md"


@pytest.mark.thorough
def test_more_than_fits_is_cut_at_a_line_and_said_so() -> None:
    line = "汉字 and words\n"
    text = line * (MAX_BYTES // len(line.encode()) + 1000)
    note = made(text, kind="text", name="long.txt")
    assert len(body(note).encode()) <= MAX_BYTES
    assert body(note).endswith("and words")
    assert not note.is_whole
    assert f"This is only its beginning: {note.kept:,} of {len(text):,} characters." in note.block


def test_what_was_not_read_to_its_end_is_said_so() -> None:
    note = made("words", whole=False)
    assert not note.is_whole
    assert "This is only its beginning: 5 characters." in note.block


def test_a_title_is_one_short_line() -> None:
    assert is_title("Tax return 2025")
    assert not is_title("two\nlines")
    assert not is_title("x" * 121)
    assert not is_title("")


def test_signs_within_a_line_of_text_stay_as_they_are() -> None:
    text = "5 > 3 in C# and F# too\nBo <bo@example.org> -\nx ==="
    assert body(made(text, kind="text")) == text


@pytest.mark.thorough
@table_test("line", ["- " * 100_000 + "x", "* " * 100_000 + "x", "=" * 200_000 + "x"])
def test_a_long_line_is_filed_at_once(line: str) -> None:
    began = thread_time()
    made(line, kind="text")
    assert thread_time() - began < 2


HEADINGS = ["a\n=\n\n", "# a\n"]


@pytest.mark.thorough
@table_test("heading", HEADINGS)
def test_the_time_for_a_document_of_nothing_but_headings_grows_with_its_length(heading: str) -> None:
    def file(text: str) -> None:
        assert made(text, kind="Markdown").block.endswith("\n## a")

    assert_grows_linearly(Case("headings", file, repeated(heading)))


@pytest.mark.thorough
@pytest.mark.parametrize("heading", HEADINGS)
def test_a_document_of_nothing_but_headings_is_filed_at_once(heading: str) -> None:
    text = heading * 400_000
    began = thread_time()
    note = made(text[:MAX_BYTES], kind="Markdown")
    assert thread_time() - began < 8
    assert note.block.endswith("\n## a")
