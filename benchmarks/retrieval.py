"""Share of the answering lines that a search returns: `python benchmarks/retrieval.py FOLDER`.

FOLDER holds `evaluate.py` and data sets (a folder each: `questions.jsonl`, `corpus/CONVERSATION/*.md`). Every
question goes through `commonplace memory search --batch`, and evaluate.py scores the results. updates.py scores
questions about facts that change (those with `older` lines); for these, the precision and recall of
`superseded_by` are printed too. *Session* is the share of questions with an answering log among the first five
and ten distinct logs, as others publish it.

`--every 4` asks every fourth question. `--save FILE` keeps each question's figures, and `--against FILE` prints the
mean differences to such a file, with their 95 % confidence intervals. With `--model FILE`, an embedding model in
GGUF, semantic search is used too; with `--postgres`, an index on PostgreSQL.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from workspaces import COMMAND, ENVIRONMENT, ROOT, make_workspace

sys.path.insert(0, str(ROOT))
from changing_facts import Results, check_superseded, rank_versions, run_updates
from figures import paired_difference

from tests.fakes.postgres_server import PostgresServer

LIMIT = 40
BUDGET = "recall@4000c"
UNANSWERABLE = 5
"""Category of questions that the notes do not answer."""
LANGUAGE = "xq-"
"""Beginning of the names of conversations that are one language each."""
PAIRED = (BUDGET, "mrr")
"""Figures whose differences to an earlier run are printed."""
COLUMNS = (BUDGET, "recall@2000c", "recall@10", "mrr", "session@5", "session@10")


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


def score(folder: Path, data: Path, questions: list[dict[str, Any]], results: Results) -> dict[str, Any]:
    """Return evaluate.py's report for these questions, and what updates.py prints for facts that change.

    `overall`, each conversation and each question (`questions`) have their figures.
    """
    passages = {
        question: (
            conversation,
            [{**hit, "start_line": hit["line_start"], "end_line": hit["line_end"]} for hit in hits],
        )
        for question, (conversation, hits) in results.items()
    }
    report = run_evaluation(folder / "evaluate.py", data, questions, passages)
    if any("older" in question for question in questions):
        report["updates"] = run_updates(folder / "updates.py", questions, passages)
        report["updates"] += check_superseded(questions, results)
        report["questions"] |= rank_versions(questions, results)
    return report


def run_evaluation(
    script: Path, data: Path, questions: list[dict[str, Any]], results: Results
) -> dict[str, Any]:
    """Return evaluate.py's report by group, and under `questions` figures of each: `{figure: {question: value}}`."""
    spec = importlib.util.spec_from_file_location("evaluate", script)
    assert spec
    assert spec.loader
    evaluate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(evaluate)
    corpus = evaluate.Corpus(str(data))
    passages = {question: hits for question, (_, hits) in results.items()}
    report: dict[str, Any] = evaluate.evaluate(str(data), passages, corpus, questions)
    counted = [question for question in questions if question["category"] != UNANSWERABLE]
    report["overall"] |= session_recall(corpus, counted, results)
    scored = {
        name: evaluate.score_one(question, passages[name], corpus)
        for question in counted
        for name in (question["question_id"],)
    }
    report["questions"] = {
        figure: {name: figures[figure] for name, figures in scored.items()} for figure in PAIRED
    }
    return report


def session_recall(corpus: Any, questions: list[dict[str, Any]], results: Results) -> dict[str, float]:
    """Return the share of questions with an answering log among the first five and ten distinct logs."""
    found = {5: 0, 10: 0}
    for question in questions:
        conversation, hits = results.get(question["question_id"], ("", []))
        logs = list(dict.fromkeys(corpus.canonical(hit["path"], conversation) for hit in hits))
        for most in found:
            found[most] += any(line["path"] in logs[:most] for line in question["evidence"])
    return {f"session@{most}": number / len(questions) for most, number in found.items()}


def measure(
    folder: Path,
    *,
    only: str = "",
    model: Path | None = None,
    server: PostgresServer | None = None,
    every: int = 1,
) -> dict[str, dict[str, Any]]:
    """Return `{"data set, layout": report}`; `seconds` is the wall time of all searches, indexing included."""
    reports = {}
    for data in sorted(path.parent for path in folder.rglob("questions.jsonl")):
        name = data.relative_to(folder).as_posix()
        if only not in ("", name, name.partition("/")[0]):
            continue
        lines = (data / "questions.jsonl").read_text("utf-8").splitlines()[::every]
        asked = [json.loads(line) for line in lines]
        for layout, memories in layouts(data):
            results, started = {}, time.perf_counter()
            for notes, conversations in memories.items():
                questions = [q for q in asked if conversations is None or q["conversation"] in conversations]
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
            report = score(folder, data, asked, results)
            report["overall"]["seconds"] = time.perf_counter() - started
            reports[f"{name}, {layout}"] = report
    return reports


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
    parser.add_argument("--every", type=int, default=1, metavar="N", help="ask every Nth question")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write each question's figure as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="print differences to figures so saved")
    arguments = parser.parse_args()
    model = arguments.model.resolve() if arguments.model else None
    with ExitStack() as stack:
        server = stack.enter_context(closing(PostgresServer())) if arguments.postgres else None
        reports = measure(
            arguments.folder.resolve(),
            only=arguments.only,
            model=model,
            server=server,
            every=arguments.every,
        )
    by_question = {name: report.pop("questions") for name, report in reports.items()}
    if arguments.save:
        arguments.save.write_text(json.dumps(by_question), "utf-8")
    if arguments.json:
        print(json.dumps({name: report["overall"] for name, report in reports.items()}, indent=1))
        return
    before = json.loads(arguments.against.read_text("utf-8")) if arguments.against else {}
    print(f"{'':28}" + "".join(f"{column:>14}" for column in ("questions", *COLUMNS, "seconds")))
    for name, report in reports.items():
        figures = report["overall"]
        shares = "".join(f"{figures[column]:14.3f}" for column in COLUMNS)
        print(f"{name:28}{figures['n']:14.0f}{shares}{figures['seconds']:14.1f}")
        if by_language := {group: row for group, row in report.items() if group.startswith(LANGUAGE)}:
            told = (f"{group.removeprefix(LANGUAGE)} {row[BUDGET]:.3f}" for group, row in by_language.items())
            print(f"  {BUDGET} by language: {', '.join(told)}")
        print("".join(f"  {line}\n" for line in report.get("updates", "").splitlines()), end="")
        for figure, values in by_question[name].items() if name in before else ():
            mean, margin = paired_difference(
                [(after, before[name][figure][q]) for q, after in values.items()]
            )
            print(f"  {figure} differs by {mean:+.3f} ± {margin:.3f}")


if __name__ == "__main__":
    main()
