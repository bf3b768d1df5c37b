"""Of several statements about one thing the notebook says which is the latest, and is silent where it cannot know."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot.memory_json import encode_search
from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.bot.models.notebook.test_model import Talk, hit
from tests.fakes.table_test import table_test

ROOT = Path(__file__).parents[4]
NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
CHANGED = {
    "en": ("Where does Anna live?", "Anna lives in Bonn", "Anna lives in Oslo"),
    "de": ("Wo wohnt Anna?", "Anna wohnt in Bonn", "Anna wohnt in Oslo"),
    "fr": ("Où habite Anna ?", "Anna habite à Bonn", "Anna habite à Oslo"),
    "es": ("¿Dónde vive Anna?", "Anna vive en Bonn", "Anna vive en Oslo"),
    "it": ("Dove vive Anna?", "Anna vive a Bonn", "Anna vive a Oslo"),
    "pt": ("Onde mora a Anna?", "Anna mora em Bonn", "Anna mora em Oslo"),
    "ru": ("Где живёт Анна?", "Анна живёт в Бонне", "Анна живёт в Осло"),
    "ar": ("أين تسكن آنا؟", "آنا تسكن في بون", "آنا تسكن في أوسلو"),
    "hi": ("अन्ना कहाँ रहती है?", "अन्ना बॉन में रहती है", "अन्ना ओस्लो में रहती है"),
    "zh": ("安娜住在哪里？", "安娜住在波恩", "安娜住在奥斯陆"),
    "ja": ("アンナはどこに住んでいますか？", "アンナはボンに住んでいる", "アンナはオスロに住んでいる"),
    "ko": ("안나는 어디에 살아?", "안나는 본에 살아", "안나는 오슬로에 살아"),
    "th": ("อันนาอยู่ที่ไหน", "อันนาอยู่ที่บอนน์", "อันนาอยู่ที่ออสโล"),
}


@table_test("language", LANGUAGES)
async def test_the_latest_statement_comes_first_and_says_since_when(language: Language) -> None:
    question, before, now = CHANGED[language.code]
    with TemporaryDirectory() as folder:
        notes = Path(folder, "memory")
        notes.mkdir()
        (notes / "2024-05-01.md").write_text(f"- {before}\n", "utf-8")
        (notes / "2026-03-02.md").write_text(f"- {now}\n", "utf-8")
        async with Memory(MemorySettings(), workspace=Path(folder), now=lambda: NOW) as memory:
            found = encode_search(await memory.search(question))
    answer = await Talk().say(question, memory_search=found)
    latest = language.say.since.format(date="2026-03-02", text=now)
    earlier = language.say.before_that.format(date="2024-05-01", text=before)
    assert answer.splitlines()[2:4] == [f"- {latest} `2026-03-02.md:1`", f"- {earlier} `2024-05-01.md:1`"]


async def ask(*lines: tuple[str, str], superseded: dict[int, int]) -> list[str]:
    """Return what is answered to a search with these lines, by the days they were told, the best first."""
    results = [hit(f"- {line}", f"{day}.md", told=day) for day, line in lines]
    for old, new in superseded.items():
        results[old]["superseded_by"] = f"{lines[new][0]}.md:3"
    answer = await Talk().say("Where does Anna live?", memory_search={"results": results})
    return [line for line in answer.splitlines() if line.startswith("- ")]


async def test_what_is_said_again_holds_since_it_was_said_first() -> None:
    assert await ask(
        ("2026-05-05", "Anna lives in Oslo."),
        ("2026-03-02", "Anna lives in Oslo."),
        ("2024-01-01", "Anna lives in Bonn."),
        ("2023-01-01", "Anna lives in Bonn."),
        superseded={2: 1, 3: 1},
    ) == [
        "- Since 2026-03-02: Anna lives in Oslo. `2026-05-05.md:3`",
        "- Before that, from 2023-01-01: Anna lives in Bonn. `2024-01-01.md:3`",
    ]


async def test_what_was_told_later_and_answers_better_leaves_it_open() -> None:
    lines = (
        ("2026-05-05", "Anna lives with Tom"),
        ("2025-05-05", "Anna lives in Oslo"),
        ("2024-05-05", "Anna lives in Bonn"),
    )
    assert await ask(*lines, superseded={2: 1}) == [f"- {line} `{day}.md:3`" for day, line in lines]


async def test_what_may_be_a_version_in_between_leaves_it_open() -> None:
    lines = (
        ("2026-05-05", "Anna lives in Oslo"),
        ("2025-05-05", "Anna now lives in Rome"),
        ("2024-05-05", "Anna lives in Bonn"),
    )
    assert await ask(*lines, superseded={2: 0}) == [f"- {line} `{day}.md:3`" for day, line in lines]


@table_test(
    ("question", "before", "now"),
    [
        ("Where did Anna live in May 2025?", "Anna lives in Bonn", "Anna lives in Oslo"),
        ("安娜2025年5月住在哪里？", "安娜住在波恩", "安娜住在奥斯陆"),
    ],
)
async def test_a_question_about_the_past_keeps_the_order_of_the_search(
    question: str, before: str, now: str
) -> None:
    results = [
        hit(f"- {before}", "2024-05-01.md", told="2024-05-01", superseded_by="2026-03-02.md:3"),
        hit(f"- {now}", "2026-03-02.md", told="2026-03-02"),
    ]
    answer = await Talk().say(question, memory_search={"results": results})
    assert answer.splitlines()[2:4] == [f"- {before} `2024-05-01.md:3`", f"- {now} `2026-03-02.md:3`"]


async def test_without_the_current_statement_nothing_is_said_of_since_when() -> None:
    results = [hit("- Anna lives in Bonn", told="2024-05-05", superseded_by="2026-05-05.md:7")]
    answer = await Talk().say("Where does Anna live?", memory_search={"results": results})
    assert "- Anna lives in Bonn `2026-11-21.md:3`" in answer.splitlines()


@pytest.mark.thorough
def test_seven_logs_are_answered_by_the_latest(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for number, year in enumerate(range(2018, 2025)):
        (tmp_path / f"memory/{year}-03-02.md").write_text(f"- My phone number is 555 {number}\n")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "bot", "chat", "-m", "What is my phone number?"),
            *("--workspace", str(tmp_path)),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COMMONPLACE_MEMORY__EMBEDDING__PROVIDER": "none"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    shown = [line for line in run.stdout.splitlines() if "phone number is" in line]
    assert "Since 2024-03-02: My phone number is 555 6" in shown[0]
    assert "Before that, from 2023-03-02: My phone number is 555 5" in shown[1]
    assert len(shown) == 5
