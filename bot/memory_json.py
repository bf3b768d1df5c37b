"""JSON forms of the memory's results, the same on the command line and over JSON-RPC."""

from dataclasses import asdict
from typing import Any

from memory.attribution import says_of
from memory.notes import NoteText
from memory.ranking.explanation import MatchedWords, explain_match
from memory.search import SearchHit, SearchResults
from memory.status import MemoryStatus
from memory.write_result import WriteResult


def encode_status(status: MemoryStatus) -> dict[str, Any]:
    """Return every field by name; running jobs also have their rate and the seconds left."""
    jobs = [
        {**asdict(job), "per_second": job.per_second, "seconds_left": job.seconds_left} for job in status.jobs
    ]
    return {**asdict(status), "jobs": jobs}


def encode_search(results: SearchResults, *, explain: bool = False) -> dict[str, Any]:
    """Return the query, the passages, and linked notes and a notice if there are any; `explain` adds matched words."""
    document: dict[str, Any] = {
        "query": results.query,
        "results": [encode_hit(hit) for hit in results.hits],
    }
    if explain:
        for told, hit in zip(document["results"], results.hits, strict=True):
            told["matched"] = asdict(explain_hit(results, hit))
    if results.neighbours:
        document["neighbours"] = [asdict(neighbour) for neighbour in results.neighbours]
    return {**document, "notice": results.notice} if results.notice else document


def explain_hit(results: SearchResults, hit: SearchHit) -> MatchedWords:
    """Return the words of the hit's snippet that matched the query."""
    return explain_match(results.terms, hit.snippet)


def encode_note(note: NoteText) -> dict[str, Any]:
    """Return lines of a note with their place, and whose words are among them."""
    return {**asdict(note), "says": says_of(note.path, note.text)}


def encode_write(written: WriteResult) -> dict[str, Any]:
    """Return the place of a write."""
    return {"path": written.path, "line_start": written.line_start, "line_end": written.line_end}


def encode_hit(hit: SearchHit) -> dict[str, Any]:
    """Return a passage of a note."""
    told = {**asdict(hit), "score": round(hit.score, 4), "told": hit.told and hit.told.isoformat()}
    del told["by_words"], told["by_meaning"], told["coverage"]  # only for the status page and recall
    return told
