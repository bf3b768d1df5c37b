"""What an installation weighs: `python benchmarks/installation.py`.

Installs the project into a new environment, from the lock: with the libraries of all channels, with bytecode, and
beside pip. Needs a package index, or the packages in pip's cache.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from figures import Report
from workspaces import ROOT

MAX_MEGABYTES, MAX_PACKAGES = 260, 60


def pip(environment: Path, *arguments: str | Path) -> str:
    """Run the environment's pip and return its output."""
    python = environment / "bin" / "python"
    # Where Python is told to write no bytecode, pip compiles nothing either.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [python, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout


def megabytes(folder: Path) -> float:
    """Return the space that a folder takes on the disk, as `du -m` does."""
    found = [path.lstat() for path in folder.rglob("*")]
    return sum({status.st_ino: status.st_blocks for status in found}.values()) * 512 / 2**20


def main() -> None:
    """Print the size and the number of packages; exit with 1 if there is more than wanted."""
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder)
        venv.create(environment, with_pip=True)
        locked = ("--no-deps", "--require-hashes", "-r", ROOT / "requirements" / "runtime.txt")
        pip(environment, "install", "--quiet", *locked)
        pip(environment, "install", "--quiet", "--no-deps", ROOT)
        packages = json.loads(pip(environment, "list", "--format=json"))
        report.figure("MB on the disk", megabytes(environment), limit=MAX_MEGABYTES)
        report.figure("packages, pip among them", len(packages), limit=MAX_PACKAGES)
    sys.exit(bool(report.failed))


if __name__ == "__main__":
    main()
