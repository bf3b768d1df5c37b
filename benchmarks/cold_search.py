"""Cost of one search when nothing has changed: `python benchmarks/cold_search.py FOLDER…`.

Each FOLDER of notes becomes a memory. The CPU time (user + system) of `commonplace memory search` is compared
with that of `python -c "import pydantic_settings, apsw"`; the two alternate, so that the ratio is valid on a
busy machine too.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from workspaces import COMMAND, ENVIRONMENT, Cost, make_workspace, run_measured

FLOOR = [sys.executable, "-c", "import pydantic_settings, apsw"]
HEAVY = {"aiohttp", "discord", "httpx", "numpy", "prompt_toolkit", "rich", "telegram"}
MAX_RATIO, MAX_MEGABYTES = 1.6, 60
WITHOUT_VECTORS = ENVIRONMENT | {"COMMONPLACE_MEMORY__EMBEDDING__PROVIDER": "none"}
"""Full text only: an available model would be loaded and measured as well."""


def cost(command: list[str], folder: Path) -> Cost:
    """Return the cost of one run of `command`."""
    return run_measured(command, folder, environment=WITHOUT_VECTORS)


def heavy_imports(command: list[str], folder: Path) -> set[str]:
    """Return the heavy packages that a run of `command` imports."""
    environment = WITHOUT_VECTORS | {"PYTHONPROFILEIMPORTTIME": "1"}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return {line.rpartition("|")[2].strip().split(".")[0] for line in run.stderr.splitlines()} & HEAVY


def main() -> None:
    """Print a line for each folder; exit with 1 if one costs too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--query", default="When did we go to the support group?")
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    failed = False
    print(f"{'':24}{'search':>10}{'floor':>10}{'times':>8}{'memory':>10}")
    for notes in arguments.folders:
        with tempfile.TemporaryDirectory() as folder:
            workspace = make_workspace(Path(folder, "w"), notes)
            search = [*COMMAND, "memory", "search", arguments.query, "--workspace", str(workspace)]
            for warm_up in (search, search, FLOOR):
                cost(warm_up, workspace)
            pairs = [(cost(search, workspace), cost(FLOOR, workspace)) for _ in range(arguments.runs)]
            heavy = heavy_imports(search, workspace)
        seconds, floor = (statistics.median(pair[side].seconds for pair in pairs) for side in (0, 1))
        times, megabytes = seconds / floor, max(pair[0].megabytes for pair in pairs)
        name = "/".join(notes.resolve().parts[-2:])
        costs = f"{seconds * 1000:7.0f} ms{floor * 1000:7.0f} ms{times:8.2f}{megabytes:7.0f} MB"
        print(f"{name:24}{costs}", *sorted(heavy))
        failed = failed or times > MAX_RATIO or megabytes > MAX_MEGABYTES or bool(heavy)
    if failed:
        sys.exit(f"wanted: at most {MAX_RATIO} times, {MAX_MEGABYTES} MB, none of {', '.join(sorted(HEAVY))}")


if __name__ == "__main__":
    main()
