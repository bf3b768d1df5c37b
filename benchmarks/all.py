"""Run all benchmarks: `make bench`, or `make bench ARGS="watch two_writers"` for some.

EVAL_FOLDER, with questions and notes (see README.md), VAULT, notes with links, and MODEL_FILE, an embedding model in
GGUF, name data that is not part of the project. A benchmark whose data is not given is skipped with a message.
"""

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from workspaces import ENVIRONMENT, ROOT


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A script beside this one, its duration on two cores, and its arguments.

    `{EVAL_FOLDER}` and `{MODEL_FILE}` in an argument stand for the data; `*` for all files found there.
    """

    script: str
    takes: str
    arguments: tuple[str, ...] = ()


BENCHMARKS = (
    Benchmark("retrieval", "half a minute", ("{EVAL_FOLDER}",)),
    Benchmark("retrieval", "5 minutes", ("{EVAL_FOLDER}", "--model={MODEL_FILE}")),
    Benchmark("note_names", "2 minutes", ("{VAULT}",)),
    Benchmark("cold_search", "1 minute", ("{EVAL_FOLDER}/*/corpus",)),
    Benchmark("vector_search", "3 minutes"),
    Benchmark("full_text", "5 minutes"),
    Benchmark("ten_years", "2 minutes"),
    Benchmark("folder_search", "1 minute"),
    Benchmark("folder_search", "2 minutes", ("--vectors",)),
    Benchmark("claims", "1 second", ("tests/bot/ordinary_replies.txt",)),
    Benchmark("recall", "half a minute"),
    Benchmark("recall", "10 minutes", ("--data={EVAL_FOLDER}/locomo-dev", "--embedding={MODEL_FILE}")),
    Benchmark("postgres", "8 minutes"),
    Benchmark("indexing", "1 minute"),
    Benchmark("vault", "1 minute"),
    Benchmark("said_and_found", "4 minutes"),
    Benchmark("said_and_found", "6 minutes", ("--messages=0", "--turns=0", "--kills=100")),
    Benchmark("health", "2 minutes"),
    Benchmark("watch", "8 minutes"),
    Benchmark("two_writers", "5 minutes"),
    Benchmark("crash", "4 minutes"),
    Benchmark("changes", "8 minutes", ("--kills=300",)),
    Benchmark("imports", "20 minutes"),
    Benchmark("instances", "12 minutes"),
    Benchmark("model_clients", "1 minute"),
    Benchmark("fallback", "half a minute"),
    Benchmark("turns", "3 minutes"),
    Benchmark("installation", "2 minutes"),
    Benchmark("service", "2 minutes"),
    Benchmark("telegram_channel", "5 minutes"),
    Benchmark("discord_channel", "4 minutes"),
    Benchmark("status_page", "1 minute"),
    Benchmark("note_listing", "2 minutes"),
    Benchmark("mcp_server", "1 minute"),
    Benchmark("conversations", "5 minutes"),
    Benchmark("conversations", "2 minutes", ("--signal=TERM", "--kills=60", "--messages=400")),
    Benchmark("conversations", "3 minutes", ("--full-disk", "--kills=20", "--messages=300")),
    Benchmark("conversations", "4 minutes", ("--clock", "--kills=150", "--messages=500")),
    Benchmark("standstill", "4 minutes"),
    Benchmark("soak", "12 minutes"),
)


def missing_data(argument: str) -> str | None:
    """Return why the data for this argument is missing; None if it is there."""
    for variable in (field for _, field, _, _ in Formatter().parse(argument) if field):
        if not (place := os.environ.get(variable)):
            return f"{variable} is not set"
        if not Path(place).exists():
            return f"{variable}={place} does not exist"
    return None


def fill_in(argument: str) -> list[str]:
    """Return the argument with its data, one for each file that a pattern matches."""
    text = argument.format_map({name: str(Path(value).resolve()) for name, value in os.environ.items()})
    if "*" not in argument:
        return [text]
    return sorted(str(path) for path in Path("/").glob(text.removeprefix("/")))


def main() -> None:
    """Run the named benchmarks, or all; exit with 1 after all have run if one failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = list(dict.fromkeys(benchmark.script for benchmark in BENCHMARKS))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(names)}")
    wanted = parser.parse_args().names or names
    if unknown := set(wanted) - set(names):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    failed: list[str] = []
    skipped: set[tuple[str, str]] = set()
    for benchmark in BENCHMARKS:
        if benchmark.script not in wanted:
            continue
        if reason := next(filter(None, map(missing_data, benchmark.arguments)), None):
            if (benchmark.script, reason) not in skipped:
                print(f"\n=== {benchmark.script}: skipped, {reason}", flush=True)
            skipped.add((benchmark.script, reason))
            continue
        print(f"\n=== {benchmark.script} (about {benchmark.takes})", flush=True)
        arguments = [text for argument in benchmark.arguments for text in fill_in(argument)]
        command = [sys.executable, str(ROOT / "benchmarks" / f"{benchmark.script}.py"), *arguments]
        if subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=False).returncode:
            failed.append(benchmark.script)
    if failed:
        sys.exit(f"\nfailed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
