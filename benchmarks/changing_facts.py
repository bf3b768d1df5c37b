"""Score searches for facts that change: which version comes first, and which hits say that they are superseded."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Results = dict[str, tuple[str, list[dict[str, Any]]]]
"""`{question id: (conversation, results)}`"""

Line = tuple[str, int]
"""A note's name, and a line of it."""


def run_updates(script: Path, questions: list[dict[str, Any]], results: Results) -> str:
    """Return what updates.py prints for these questions."""
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder, "results.jsonl")
        rows = ({"question_id": question, "results": hits} for question, (_, hits) in results.items())
        for file, lines in ((answers, rows), (Path(folder, "questions.jsonl"), questions)):
            file.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), "utf-8")
        command = [sys.executable, str(script), folder, str(answers)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def check_superseded(questions: list[dict[str, Any]], results: Results) -> str:
    """Return the precision of `superseded_by`, and its recall of the hits about the fact asked for.

    Right is a later line about the same fact; hits count for recall if such a line is among the results.
    """
    of_fact: dict[Line, set[Line]] = {}
    for question in questions:
        lines = {(Path(each["path"]).name, each["line"]) for each in question["evidence"] + question["older"]}
        of_fact |= dict.fromkeys(lines, lines)
    said = right = due = done = 0
    for question in questions:
        asked = (Path(question["evidence"][0]["path"]).name, question["evidence"][0]["line"])
        hits = results[question["question_id"]][1]
        found = {(Path(hit["path"]).name, hit["line_start"]): hit.get("superseded_by") for hit in hits}
        for old, later in found.items():
            if later:
                name, _, line = Path(later).name.rpartition(":")
                said += 1
                right += (name, int(line)) in of_fact.get(old, ()) and name > old[0]
            if old in of_fact[asked] and any(each in found and each[0] > old[0] for each in of_fact[asked]):
                due += 1
                done += bool(later)
    return (
        f"superseded_by: {said} hits, precision {right / max(1, said):.3f}, recall {done / max(1, due):.3f}\n"
    )


def rank_versions(questions: list[dict[str, Any]], results: Results) -> dict[str, dict[str, float]]:
    """Return, for each question about now and then, what updates.py averages: `{figure: {question: 0 or 1}}`.

    `found` is the share of the other versions among all results.
    """
    figures: dict[str, dict[str, float]] = {}
    for question in questions:
        hits = results[question["question_id"]][1]

        def rank(evidence: dict[str, Any], hits: list[dict[str, Any]] = hits) -> int:
            return next((place for place, hit in enumerate(hits) if _covers(hit, evidence)), len(hits))

        right = rank(question["evidence"][0])
        others = [rank(version) for version in question["older"]]
        kind, name = question["category_name"], question["question_id"]
        for figure, value in (
            ("right@1", right == 0),
            ("before", right < min([*others, len(hits)])),
            ("found", sum(other < len(hits) for other in others) / max(1, len(others))),
        ):
            figures.setdefault(f"{kind} {figure}", {})[name] = float(value)
    return figures


def _covers(hit: dict[str, Any], evidence: dict[str, Any]) -> bool:
    same = Path(hit["path"]).name == Path(evidence["path"]).name
    return same and hit["line_start"] <= evidence["line"] <= hit["line_end"]
