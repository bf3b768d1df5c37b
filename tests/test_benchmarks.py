"""What benchmarks must not do, or claim, on any machine; what they measure is not tested here."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(code: str, **environment: str) -> str:
    start = f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", start + code],
        env={"PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_no_key_is_handed_on() -> None:
    keys = {"OPENAI_API_KEY": "a", "GOOGLE_API_KEY": "b", "COMMONPLACE_MEMORY__EMBEDDING__API_KEY": "c"}
    told = run("from workspaces import ENVIRONMENT; print(*ENVIRONMENT)", HOME="/nowhere", **keys).split()
    assert "HOME" in told
    assert [name for name in told if name in keys] == []


@pytest.mark.thorough
def test_a_cold_search_is_one_by_words() -> None:
    code = "import cold_search; print(cold_search.cost([sys.executable, '-c', CODE], Path('.')))"
    wanted = "import os, sys; sys.exit(os.environ['COMMONPLACE_MEMORY__EMBEDDING__PROVIDER'] != 'none')"
    run(f"from pathlib import Path\nCODE = {wanted!r}\n{code}")


@pytest.mark.thorough
def test_what_was_not_measured_is_not_claimed(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    code = (
        "from pathlib import Path\nimport vector_search as v\n"
        f"v.synthetic(v.Report(), Path({str(tmp_path)!r}), 1000, 16, with_vec0=False)"
    )
    printed = run(code)
    assert "sqlite-vec's functions" not in printed or "our leg / vec0: not measured (--full)" in printed


@pytest.mark.thorough
def test_the_search_of_a_million_vectors_runs_with_few(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    printed = run(
        "from pathlib import Path\nimport vector_search as v\n"
        f"v.million(v.Report(), Path({str(tmp_path)!r}), 3000, 64)"
    )
    assert "recall@10 0.9" in printed or "recall@10 1.0" in printed


@pytest.mark.thorough
def test_tests_ask_nobody_though_there_is_a_key() -> None:
    test = "tests/bot/test_embedding.py::test_without_any_key_nobody_is_opened"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--assert=plain", "-p", "no:xdist", test],
        cwd=ROOT,
        env={"OPENAI_API_KEY": "k", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.thorough
def test_a_proxy_does_not_stand_between_a_benchmark_and_its_servers() -> None:
    code = "import os, model_clients as m\nwith m.model_servers(m.servers): print(*os.environ)"
    left = run(code, ALL_PROXY="http://127.0.0.1:1", http_proxy="http://127.0.0.1:1").split()
    assert [name for name in left if name.lower().endswith("_proxy")] == []


def test_a_chain_that_asks_too_often_or_too_long_is_told() -> None:
    code = (
        "import fallback as f\n"
        "case = f.Case('500', (3, 3, 0), (1.0, 2.0))\n"
        "print(f.faults(case, [f.Told(3.1, 3, [1.0, 2.0])]))\n"
        "print(f.faults(case, [f.Told(9.0, 9, [1.0, 2.0, 4.0])]))"
    )
    assert run(code).splitlines() == [
        "[]",
        "['9.00 s for call 1', '9 requests by call 1', 'waits of 7.00 s']",
    ]


CONVERSATIONS = """
import asyncio, random
from datetime import datetime, UTC
from pathlib import Path
import conversations as c
from tests.fakes.chat_platform import Platform, Shown
platform = Platform(Path("unused"))
people = c.People(platform, random.Random(1), soon="4s", now=lambda: datetime.now(UTC))
found = c.Findings()
def show(key, text, *answers, connection=1, kept=True, final=True):
    at = len(platform.shown)
    platform.shown.append(Shown(f"m{at}", "c00", key, 0, connection, at, text, at if final else None, answers, kept))
def told():
    print(sorted(fault.partition(":")[0] for fault in found.faults))
"""


def test_a_message_that_is_lost_doubled_or_out_of_order_is_told() -> None:
    said = "first, second, third = [people.post('c00', 'say').id for _ in range(3)]\n"
    right = "show('r1', 'T00000 is done.', first); show('r2', 'T00001, T00002', second, third)\n"
    wrong = (
        "show('r2', 'T00001 is done.', second); show('r1', 'What?', first); show('r3', 'T00001', second)\n"
        "show('r4', 'Well', final=False)\n"
    )
    check = "c.check_answers(found, people, platform); c.check_doubles(found, platform, killed=True); told()"
    again = "\nplatform.shown.clear(); found.faults.clear()\n"
    faults = [
        "answers out of order",
        "answers that do not speak of their message",
        "messages answered by two replies",
        "messages without an answer",
        "replies that were begun and never ended",
    ]
    told = run(CONVERSATIONS + said + right + check + again + wrong + check)
    assert told.splitlines() == ["[]", str(faults)]


@pytest.mark.thorough
def test_a_reply_sent_twice_is_excused_only_where_nobody_could_have_known_of_it() -> None:
    for first, second, excused in (
        ("connection=1, kept=False", "connection=2", True),
        ("connection=1, kept=True", "connection=2", False),
        ("connection=1, kept=False", "connection=1", False),
    ):
        code = (
            f"show('r1', 'Well', final=False, {first}); show('r1', 'Well', {second})\n"
            "c.check_doubles(found, platform, killed=True); told()"
        )
        assert run(CONVERSATIONS + code) == ("[]\n" if excused else "['sent twice for no such reason']\n")


@pytest.mark.thorough
def test_facts_that_are_lost_doubled_or_torn_are_told(tmp_path: Path) -> None:
    code = (
        "for _ in range(4): people.post('c00', 'write')\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "items = ''.join(f'- {c.item_line(number, \"new\")}\\n' for number in range(c.ITEMS))\n"
        "(folder / 'items.md').write_text(items)\n"
        "lines = [f'- {c.parcel_fact(f\"T{number:05}\")}\\n' for number in range(4)]\n"
        "def check(text):\n"
        "    (folder / 'day.md').write_text(text); found.faults.clear()\n"
        "    c.check_notes(found, people, folder, excused=set()); told()\n"
        "check(''.join(lines))\n"
        "check(''.join(lines[1:]))\n"
        "check(''.join([*lines, lines[2]]))\n"
        "check(''.join(lines) + '- Parcel T000')\n"
    )
    assert run(CONVERSATIONS + code).splitlines() == [
        "[]",
        "['facts lost']",
        "['facts that stand twice']",
        "['torn lines of the notes']",
    ]
