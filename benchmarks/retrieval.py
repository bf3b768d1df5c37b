"""Share of the answering lines that a search returns: `python benchmarks/retrieval.py FOLDER`.

FOLDER holds `evaluate.py` and data sets (a folder each: `questions.jsonl`, `corpus/CONVERSATION/*.md`). Every
question goes through `commonplace memory search --batch`, and evaluate.py scores the results. With `--model
FILE`, an embedding model in GGUF, semantic search is used too; with `--postgres`, an index on PostgreSQL.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from workspaces import COMMAND, ENVIRONMENT, ROOT, make_workspace

sys.path.insert(0, str(ROOT))
from tests.fakes.postgres_server import PostgresServer

LIMIT = 40
BUDGET = "recall@4000c"
COLUMNS = (BUDGET, "recall@2000c", "recall@10", "mrr")


def command_environment(model: Path | None) -> dict[str, str]:
    """Return the command's environment: with this model, or without any."""
    prefix = "COMMONPLACE_MEMORY__EMBEDDING__"
    if model is None:
        return ENVIRONMENT | {f"{prefix}PROVIDER": "none"}
    return ENVIRONMENT | {f"{prefix}PROVIDER": "local", f"{prefix}LOCAL__MODEL_PATH": str(model)}


def run_queries(
    workspace: Path, queries: list[str], model: Path | None, url: str = ""
) -> list[list[dict[str, Any]]]:
    """Return the results of each query, in order, from the command line; `url` is that of the index."""
    one_a_line = "".join(" ".join(query.split()) + "\n" for query in queries)
    command = [
        *COMMAND,
        "memory",
        "search",
        "--batch",
        "-",
        "--limit",
        str(LIMIT),
        "--workspace",
        str(workspace),
    ]
    run = subprocess.run(
        command,
        input=one_a_line,
        capture_output=True,
        text=True,
        cwd=workspace,
        env=command_environment(model) | ({"COMMONPLACE_INDEX__URL": url} if url else {}),
        check=False,
    )
    if run.returncode:
        sys.exit(f"{' '.join(command)}: {run.stderr.strip()}")
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(queries), f"{len(queries)} queries, {len(answers)} answers"
    if notices := {answer["notice"] for answer in answers if "notice" in answer}:
        sys.exit(f"{' '.join(command)}: {notices}")
    return [answer["results"] for answer in answers]


def layouts(data: Path) -> Iterator[tuple[str, dict[Path, set[str] | None]]]:
    """Yield the layouts of the notes: each conversation alone, or all in one memory, in folders or side by side.

    A layout is its name and, for each memory folder, the conversations that are asked there (None: all).
    """
    conversations = sorted(path for path in (data / "corpus").iterdir() if path.is_dir())
    yield "own", {path: {path.name} for path in conversations}
    if len(conversations) > 1:
        yield "merged", {data / "corpus": None}
    if (data / "corpus_flat").is_dir():
        yield "merged, flat", {data / "corpus_flat": None}


def score(
    evaluate: Path, data: Path, results: dict[str, tuple[str, list[dict[str, Any]]]]
) -> dict[str, float]:
    """Return evaluate.py's row over all questions for `{question id: (conversation, results)}`."""
    with tempfile.TemporaryDirectory() as folder:
        answers, report = Path(folder, "results.jsonl"), Path(folder, "report.json")
        with answers.open("w", encoding="utf-8") as file:
            for question, (conversation, hits) in results.items():
                passages = [
                    {
                        "path": hit["path"],
                        "start_line": hit["line_start"],
                        "end_line": hit["line_end"],
                        "score": hit["score"],
                    }
                    for hit in hits
                ]
                row = {"conversation": conversation, "question_id": question, "results": passages}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        subprocess.run(
            [sys.executable, str(evaluate), str(data), str(answers), "--json", str(report)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        overall: dict[str, float] = json.loads(report.read_text("utf-8"))["overall"]
        return overall


def measure(
    folder: Path, *, only: str = "", model: Path | None = None, server: PostgresServer | None = None
) -> dict[str, dict[str, float]]:
    """Return `{"data set, layout": figures}`; `seconds` is the wall time of all searches, indexing included."""
    rows = {}
    for data in sorted(path.parent for path in folder.glob(f"{only or '*'}/questions.jsonl")):
        asked = defaultdict(list)
        for line in (data / "questions.jsonl").read_text("utf-8").splitlines():
            question = json.loads(line)
            asked[question["conversation"]].append(question)
        for layout, memories in layouts(data):
            results, started = {}, time.perf_counter()
            for notes, conversations in memories.items():
                questions = [
                    q
                    for name, some in asked.items()
                    if conversations is None or name in conversations
                    for q in some
                ]
                with ExitStack() as stack:
                    workspace = stack.enter_context(tempfile.TemporaryDirectory())
                    found = run_queries(
                        make_workspace(Path(workspace, "w"), notes),
                        [q["question"] for q in questions],
                        model,
                        stack.enter_context(server.database()) if server else "",
                    )
                for question, hits in zip(questions, found, strict=True):
                    results[question["question_id"]] = (question["conversation"], hits)
            seconds = time.perf_counter() - started
            rows[f"{data.name}, {layout}"] = score(folder / "evaluate.py", data, results) | {
                "seconds": seconds
            }
    return rows


def main() -> None:
    """Print a table, or with `--json` all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds evaluate.py and the data sets")
    parser.add_argument("--json", action="store_true", help="print every figure as JSON")
    parser.add_argument("--only", default="", metavar="NAME", help="this data set alone")
    parser.add_argument("--model", type=Path, metavar="FILE", help="an embedding model in GGUF")
    parser.add_argument(
        "--postgres", action="store_true", help="the index on a server that is started for it"
    )
    arguments = parser.parse_args()
    model = arguments.model.resolve() if arguments.model else None
    with ExitStack() as stack:
        server = stack.enter_context(closing(PostgresServer())) if arguments.postgres else None
        rows = measure(arguments.folder.resolve(), only=arguments.only, model=model, server=server)
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'':28}" + "".join(f"{column:>14}" for column in ("questions", *COLUMNS, "seconds")))
    for name, figures in rows.items():
        shares = "".join(f"{figures[column]:14.3f}" for column in COLUMNS)
        print(f"{name:28}{figures['n']:14.0f}{shares}{figures['seconds']:14.1f}")


if __name__ == "__main__":
    main()
