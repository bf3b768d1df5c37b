"""The day that a passage is about."""

from memory.chunker import split_passages
from memory.dates import passage_dates
from tests.fakes.table_test import table_test


def days(path: str, text: str) -> list[str]:
    return [str(day) for day in passage_dates(path, split_passages(text, max_tokens=400))]


@table_test(
    "line",
    [
        "2024-05-03: the code",
        "- 2024-05-03 the code",
        "- [ ] **2024-05-03** the code",
        "1. 2024/5/3 the code",
        "> 2024.05.03 the code",
        "| 2024-05-03 | the code |",
        "- (3.5.2024) the code",
        "- 03. 05. 2024 the code",
        "- 2024年5月3日 密码",
        "- 2024년 5월 3일 비밀번호",
    ],
)
def test_a_passage_has_the_day_at_its_beginning(line: str) -> None:
    assert days("a.md", line) == ["2024-05-03"]


@table_test(
    "line",
    [
        "- Anna was born on 1987-03-04",  # what it is about, not when it was written
        "- 2024-02-30 is no day",
        "- 3/5/2024 is May or March",
        "- 12024-05-03",
        "- 2024-05-031",
        "- 20240503",
        "- room 2024",
        "",
    ],
)
def test_other_numbers_are_not_read_as_a_day(line: str) -> None:
    assert set(days("a.md", line)) <= {"None"}


def test_the_nearest_heading_with_a_day_counts() -> None:
    text = "# Since 2023-01-01\n\n- one\n\n## Call of 2024-02-02\n\n- two\n- 2025-03-03: three\n\n### Rest\n\n- four"
    assert days("a.md", text) == [
        "2023-01-01",
        "2023-01-01",
        "2024-02-02",
        "2024-02-02",
        "2025-03-03",
        "2024-02-02",
        "2024-02-02",
    ]


def test_front_matter_and_file_name_date_the_other_passages() -> None:
    text = "---\ndate: 2024-05-03\nupdated: '2025-01-02'\nborn: 2026-01-01\n---\n\n- one\n- 2023-01-01: two"
    assert days("x 2020-01-01.md", text)[1:] == ["2025-01-02", "2023-01-01"]
    assert days("x 2020-01-01.md", "- one") == ["2020-01-01"]
    assert days("calls/2020/01/31.md", "- one") == ["2020-01-31"]
    assert days("call 20200131.md", "- one") == ["2020-01-31"]
    assert days("call 20201331.md", "- one") == ["None"]


def test_a_daily_log_has_its_own_day_whatever_it_contains() -> None:
    assert days("2026-03-02.md", "- 2024-05-03: we moved") == ["2026-03-02"]
    assert days("trips/2026-03-02 Oslo.md", "## 2024-05-03\n\n- moved") == ["2026-03-02", "2026-03-02"]


def test_the_core_note_has_no_day() -> None:
    assert days("MEMORY.md", "## 2024-05-03\n\n- 2024-05-03: moved") == ["None", "None"]
    assert days("old/MEMORY.md", "- 2024-05-03: moved") == ["2024-05-03"]
