"""Run the commands that README.md shows, and print what they said below them.

Every line `$ command` in a block marked `console` is run, in order, in one empty folder. With `--check`, change
nothing, but exit with 1 where the page is stale.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DAY = "2026-11-21"
"""Stands in the page for the day on which the commands are run."""

_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```)", re.MULTILINE | re.DOTALL)


def make_home(folder: Path) -> dict[str, str]:
    """Make `folder` a home with nothing in it but the `commonplace` command; give its environment."""
    command = folder / ".bin" / "commonplace"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m bot "$@"\n', "utf-8")
    command.chmod(0o755)
    path = os.pathsep.join([str(command.parent), os.environ["PATH"]])
    return {"HOME": str(folder), "PATH": path, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}


def run(command: str, folder: Path, environment: dict[str, str]) -> str:
    """What a shell command prints; exit where it fails or complains."""
    done = subprocess.run(  # noqa: S602
        command,
        shell=True,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode or done.stderr:
        sys.exit(f"README.md: {command} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.rstrip()


def printed(page: str) -> str:
    """The page with every transcript as it is now."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    with tempfile.TemporaryDirectory() as home:
        environment = make_home(Path(home))

        def run_block(block: re.Match[str]) -> str:
            commands = re.findall(r"^\$ (.+)$", block[0], flags=re.MULTILINE)
            said = [run(command.replace(DAY, today), Path(home), environment) for command in commands]
            entries = [
                f"$ {command}\n{text.replace(today, DAY)}\n"
                for command, text in zip(commands, said, strict=True)
            ]
            return "\n".join(entries)

        return _BLOCK.sub(run_block, page)


def main() -> None:
    """Print README.md anew, or see whether it is as it would be printed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 where it is stale")
    check = parser.parse_args().check
    before = README.read_text("utf-8")
    after = printed(before)
    if check and before != after:
        sys.exit("README.md: the transcript is not what happens; run: make docs")
    if before != after:
        README.write_text(after, "utf-8")


if __name__ == "__main__":
    main()
