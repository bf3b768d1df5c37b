import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GROWTH = """
import sys, threading
from pathlib import Path
from bot.malloc import tune_malloc

def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

def work(held):
    held.append(bytes(1000))
    for _ in range(2):
        picture = bytearray(b"x") * 12_000_000
        del picture
        held.append(bytes(1000))

if "tamed" in sys.argv:
    tune_malloc()
before = megabytes()
held = []
turns = [threading.Barrier(9), threading.Barrier(9)]

def stay():
    work(held)
    for barrier in turns:
        barrier.wait()

threads = [threading.Thread(target=stay) for _ in range(8)]
for thread in threads:
    thread.start()
turns[0].wait()
print(megabytes() - before)
turns[1].wait()
"""


def growth(*arguments: str, **environment: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, *arguments],
        env={"PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_what_threads_have_let_go_of_goes_back_to_the_system() -> None:
    kept = growth()
    if kept < 40:
        pytest.skip("this C library gives memory back by itself")
    assert growth("tamed") < 10
    assert growth("tamed", MALLOC_ARENA_MAX="8") > 40  # whoever runs it has set that otherwise


PIECES = """
from pathlib import Path
from bot.malloc import tune_malloc, trim_heap

def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

tune_malloc()
before = megabytes()
pieces = [bytes(600) for _ in range(60_000)]
pieces = pieces[::200]
kept = megabytes() - before
trim_heap()
print(kept, megabytes() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_what_lies_free_between_others_goes_back_when_it_is_asked_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PIECES],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    kept, left = map(float, done.stdout.split())
    if kept < 20:
        pytest.skip("this C library gives memory back by itself")
    assert left < kept / 3
