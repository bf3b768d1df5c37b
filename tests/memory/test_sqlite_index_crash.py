"""Real processes that are killed while they index, rebuild and store vectors."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory.index.sqlite import SqliteIndex
from memory.notes import Notes
from memory.settings import ChunkSettings
from memory.sync import rebuild_index, sync_index
from tests.fakes.index_checks import assert_sound, read_index_contents

WORKER = """
import random, sys
from array import array
from itertools import count
from pathlib import Path
from memory import sync
from memory.embeddings.protocol import ModelId
from memory.index.sqlite import SqliteIndex
from memory.notes import Notes
from memory.settings import ChunkSettings
base, work, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sync.BATCH_BYTES = sync.REBUILD_BATCH_BYTES = 2000
notes = Notes(base / "memory", private=base / "private")
index = SqliteIndex(base / "index.db", fingerprint="test")
model = ModelId("fake", "small", 8)
rng = random.Random(seed)
print("begun", flush=True)
for turn in count():
    for _ in range(4):
        name = base / "memory" / f"{rng.randrange(30)}.md"
        if rng.random() < .3:
            name.unlink(missing_ok=True)
        else:
            lines = [f"- {rng.choice('abcdef') * 9} {rng.randrange(50)}\\n" * 3 for _ in range(20)]
            name.write_text("# Log\\n\\n" + "".join(lines))
    if work == "rebuild":
        sync.rebuild_index(notes, index, ChunkSettings())
    else:
        sync.sync_index(notes, index, ChunkSettings())
    if work == "vectors":
        missing = index.list_unembedded(model, limit=20)
        index.store_vectors(model, {m.digest: array("f", [1] + [0] * 7).tobytes() for m in missing[1:]},
                           {m.digest: "no" for m in missing[:1]})
        index.evict_unused(limit=100, wanted_models=[model])
"""


@pytest.mark.thorough
@pytest.mark.parametrize("work", ["sync", "rebuild", "vectors"])
def test_a_process_killed_at_any_moment_leaves_a_usable_index(tmp_path: Path, work: str) -> None:
    chance = random.Random(work)
    (tmp_path / "memory").mkdir()
    notes = Notes(tmp_path / "memory", private=tmp_path / "private")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    for turn in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), work, str(turn)],
            stdout=subprocess.PIPE,
            env=environment,
        ) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == b"begun\n"
            time.sleep(0.05 + chance.random() * 0.3)
            worker.send_signal(signal.SIGKILL)
            assert worker.wait() == -signal.SIGKILL, "it was still at work"
        index = SqliteIndex(tmp_path / "index.db", fingerprint="test")
        index.known()
        assert_sound(tmp_path / "index.db")
        sync_index(notes, index, ChunkSettings())
        index.close()
        assert_sound(tmp_path / "index.db")
        fresh = SqliteIndex(tmp_path / f"fresh{turn}.db", fingerprint="test")
        sync_index(notes, fresh, ChunkSettings())
        fresh.close()
        assert read_index_contents(tmp_path / "index.db") == read_index_contents(tmp_path / f"fresh{turn}.db")
    index = SqliteIndex(tmp_path / "index.db", fingerprint="test")
    rebuild_index(notes, index, ChunkSettings())
    index.close()
    assert_sound(tmp_path / "index.db")
