"""A chat and a loop of `commonplace memory write` at the same time: every line must exist exactly once.

`python benchmarks/two_writers.py [--writes 500] [--turns 200]`
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from workspaces import COMMAND, ENVIRONMENT, make_workspace


def main() -> None:
    """Write from both sides, then count; exit with 1 if a line is lost, doubled or torn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--writes", type=int, default=500, help="how often `memory write` is called")
    parser.add_argument("--turns", type=int, default=200, help="how many things the chat is told")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = make_workspace(Path(folder, "w"))
        where = ["--workspace", str(workspace)]
        started = time.perf_counter()
        with subprocess.Popen(
            [*COMMAND, "chat", *where],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        ) as chat:
            assert chat.stdin is not None
            told = 0
            for write in range(arguments.writes):
                # Spread evenly, so that both write from the first to the last.
                while told * arguments.writes < write * arguments.turns:
                    chat.stdin.write(f"Remember that parcel chat-{told:04} is on the shelf\n")
                    told += 1
                chat.stdin.flush()
                text = f"Parcel write-{write:04} is on the shelf"
                subprocess.run(
                    [*COMMAND, "memory", "write", text, *where],
                    cwd=folder,
                    env=ENVIRONMENT,
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
            chat.stdin.close()
            chat.wait()
        seconds = time.perf_counter() - started
        lines = [
            line
            for note in workspace.rglob("*.md")
            for line in note.read_text("utf-8").splitlines()
            if line.strip()
        ]
    found = Counter(re.findall(r"\b(?:chat|write)-\d{4}\b", "\n".join(lines)))
    wanted = [f"chat-{number:04}" for number in range(told)] + [
        f"write-{number:04}" for number in range(arguments.writes)
    ]
    wrong = {name: found[name] for name in wanted if found[name] != 1}
    torn = [line for line in lines if not re.match(r"(#|- \S)", line)]
    print(f"{told} lines from the chat, {arguments.writes} from the command line, {seconds:.0f} s")
    print(
        f"not exactly once: {wrong or 'none'}; torn: {torn or 'none'}; the chat ended with {chat.returncode}"
    )
    sys.exit(bool(wrong or torn or chat.returncode))


if __name__ == "__main__":
    main()
