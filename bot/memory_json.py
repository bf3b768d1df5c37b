"""What the memory tells, for programs: the same from the command line as over JSON-RPC."""

from dataclasses import asdict
from typing import Any

from memory.memory import MemoryStatus
from memory.notes import NoteText, WriteResult
from memory.search import SearchHit, SearchResults


def encode_status(status: MemoryStatus) -> dict[str, Any]:
    """Every field by its name, and of running work also the rate and the time left."""
    jobs = [
        {**asdict(job), "per_second": job.per_second, "seconds_left": job.seconds_left} for job in status.jobs
    ]
    return {**asdict(status), "jobs": jobs}


def encode_search(results: SearchResults) -> dict[str, Any]:
    """The query, the passages, and a notice where there is one."""
    document: dict[str, Any] = {
        "query": results.query,
        "results": [_encode_hit(hit) for hit in results.hits],
    }
    return {**document, "notice": results.notice} if results.notice else document


def encode_note(note: NoteText) -> dict[str, Any]:
    """Lines of a note, and where they stand."""
    return asdict(note)


def encode_write(written: WriteResult) -> dict[str, Any]:
    """Where something was written."""
    return {"path": written.path, "line_start": written.line_start, "line_end": written.line_end}


def _encode_hit(hit: SearchHit) -> dict[str, Any]:
    told = {**asdict(hit), "score": round(hit.score, 4), "told": hit.told and hit.told.isoformat()}
    del told["by_words"], told["by_meaning"]  # how the score came about, for the status page
    return told
