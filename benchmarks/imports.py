"""Cost of importing a large export, and imports that are killed.

`python benchmarks/imports.py [--gigabytes 1] [--kills 100]`

The export is made up, in the form of ChatGPT's: conversations of 40 messages of 600 characters, with the metadata
that comes along. It is imported by the real command in a process of its own: its user and system time and its maximum
memory, the first time, the second time, and as a dry run; then one conversation with more messages than are taken, and
one text without end. `--kills` kills imports and undos that often each, and compares with an undisturbed one.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import Report
from workspaces import COMMAND, ENVIRONMENT, MadeUpNotes, make_workspace, run_measured, write_config

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.bot.imports.test_killed_imports import (
    show_that_kills_change_nothing,
    write_export,
    write_notes,
)
from tests.fakes.assistant_exports import chatgpt_conversation

MAX_MEGABYTES = 300
MAX_SECONDS_A_GIGABYTE = 150
MESSAGES = 40
MESSAGE_CHARS = 600
METADATA = {
    "model_slug": "gpt-5",
    "finish_details": {"type": "stop", "stop_tokens": [200002]},
    "citations": [],
    "content_references": [],
    "request_id": "a0b1c2d3-0000-4000-8000-000000000000",
    "message_type": "next",
    "parent_id": "a0b1c2d3-0000-4000-8000-000000000001",
}


def write_large_export(file: Path, size: int) -> None:
    """Write conversations until the file has that many bytes."""
    made_up = MadeUpNotes()
    texts = [made_up.words(150)[:MESSAGE_CHARS] for _ in range(500)]
    number = 0
    with file.open("w", encoding="utf-8") as out:
        out.write("[")
        while out.tell() < size:
            said = [
                ("user" if place % 2 == 0 else "assistant", texts[(number * 7 + place) % len(texts)])
                for place in range(MESSAGES)
            ]
            chat = chatgpt_conversation(f"conversation-{number:08}", said, at=1.6e9 + 1000 * number)
            for node in chat["mapping"].values():
                if node["message"]:
                    node["message"]["metadata"] = METADATA | node["message"]["metadata"]
            out.write("," if number else "")
            json.dump(chat, out)
            number += 1
        out.write("]")


def write_huge_conversation(file: Path, nodes: int) -> None:
    """Write one conversation with that many messages."""
    with file.open("w", encoding="utf-8") as out:
        out.write(f'[{{"id": "huge", "title": "Huge", "current_node": "n{nodes - 1}", "mapping": {{')
        for number in range(nodes):
            message = {
                "author": {"role": "user"},
                "content": {"content_type": "text", "parts": [f"text {number}"]},
            }
            node = {"id": f"n{number}", "parent": f"n{number - 1}", "message": message}
            out.write(f"{',' if number else ''}{json.dumps(f'n{number}')}: {json.dumps(node)}")
        out.write("}}]")


def measure(report: Report, folder: Path, size: int) -> None:
    workspace = make_workspace(folder / "w")
    config = write_config(folder / "config.toml", workspace)
    command = [*COMMAND, "import", "--config", str(config)]
    export = folder / "conversations.json"
    write_large_export(export, size)
    gigabytes = export.stat().st_size / 1e9
    print(f"an export of {gigabytes:.2f} GB")
    for what, more in (("dry run", ["--dry-run"]), ("first import", []), ("the same again", [])):
        cost = run_measured([*command, str(export), *more], folder)
        report.figure(f"{what}: CPU seconds a GB", cost.seconds / gigabytes, limit=MAX_SECONDS_A_GIGABYTE)
        report.figure(f"{what}: MB of memory at most", cost.megabytes, limit=MAX_MEGABYTES)
    cost = run_measured([*command, "--undo", "1"], folder)
    report.figure("undo: CPU seconds a GB", cost.seconds / gigabytes)
    report.figure("undo: MB of memory at most", cost.megabytes, limit=MAX_MEGABYTES)
    export.unlink()
    huge = folder / "huge.json"
    for nodes in (240_000, 1_000_000):
        write_huge_conversation(huge, nodes)
        cost = run_measured([*command, str(huge), "--dry-run"], folder)
        report.figure(
            f"a conversation of {nodes:,} messages: MB at most", cost.megabytes, limit=MAX_MEGABYTES
        )
    first = json.dumps(chatgpt_conversation("c1", [("user", "Hello")])).encode()
    huge.write_bytes(b"[" + first + b', {"mapping": {"n": "' + b"x" * 200_000_000)
    before = time.perf_counter()
    done = subprocess.run(
        [*command, str(huge)], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done
    assert "a text of more than" in done.stderr, done
    report.figure("a text without end is refused: seconds", time.perf_counter() - before)


def measure_kills(report: Report, folder: Path, kills: int) -> None:
    for name, write in (("conversations", write_export), ("notes", write_notes)):
        folder_of_kind = folder / name
        folder_of_kind.mkdir()
        source = write(folder_of_kind)
        in_import = in_undo = seed = 0
        while min(in_import, in_undo) < kills:
            hits = show_that_kills_change_nothing(
                folder_of_kind / str(seed), ("import", str(source)), kills=10, seed=seed
            )
            in_import, in_undo, seed = in_import + hits[0], in_undo + hits[1], seed + 1
        report.figure(f"{name}: kills of an import without a trace", in_import)
        report.figure(f"{name}: kills of an undo without a trace", in_undo)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--kills", type=int, default=100)
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        if options.gigabytes:
            measure(report, Path(name), round(options.gigabytes * 1e9))
        if options.kills:
            measure_kills(report, Path(name), options.kills)
    print(f"not as promised: {'; '.join(report.failed) or 'nothing'}")
    sys.exit(bool(report.failed))


if __name__ == "__main__":
    main()
