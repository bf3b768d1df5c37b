"""The lines of `commonplace memory status`; pure."""

from collections.abc import Iterator
from datetime import datetime

from bot import phrases
from bot.progress import format_progress
from memory.quantities import counted
from memory.status import MemoryStatus

WIDTH = 14
"""Of the column of names, in characters."""


def status_lines(status: MemoryStatus, *, now: datetime) -> Iterator[str]:
    """Yield all lines except the problems with notes; times are shown in the zone of `now`."""
    for name, value in _format_facts(status, now):
        yield f"{name:{WIDTH}}{value}"


def _format_facts(status: MemoryStatus, now: datetime) -> Iterator[tuple[str, str]]:
    yield "notes", str(status.files)
    yield "chunks", _format_count(status.total_chunks)
    yield "index", status.index
    for folder in status.folders:
        notes, access = counted(folder.notes, "note"), phrases.FOLDER_ACCESS[folder.write]
        state = f"{folder.away} ({notes})" if folder.away else f"{folder.path}, {access}, {notes}"
        yield "folder", f"{folder.name}/: {state}"
    if hidden := [
        f"{counted(each.hidden, 'line')} in {each.name}/" for each in status.folders if each.hidden
    ]:
        yield "hidden", ", ".join(hidden)
    if status.index_problem:
        yield "index error", status.index_problem
    yield "search", _describe_search(status)
    yield "text search", status.fts
    for name, value in _describe_vectors(status, now):
        if value:
            yield name, value
    for job in status.jobs:
        yield "running", format_progress(job)
    at = status.last_indexed_at
    yield "last indexed", phrases.NOT_KNOWN if at is None else _format_moment(at, now) or phrases.NEVER


def _describe_search(status: MemoryStatus) -> str:
    if status.index_problem:
        return phrases.BY_FILES_FOR_NOW
    return phrases.BY_MEANING if status.embedding_serving else phrases.BY_WORDS


def _describe_vectors(status: MemoryStatus, now: datetime) -> Iterator[tuple[str, str]]:
    yield "vectors from", status.embedding_reason
    yield "problem", status.embedding_problem
    yield "next try", _format_moment(status.embedding_next_try, now)
    if not status.vector_search_enabled:
        return
    yield "model", status.embedding_model
    yield "dimensions", str(status.dimensions or "unknown until the first answer")
    yield "fallback", status.embedding_fallback
    if status.embedding_fallback:
        now_by = " ".join(filter(None, (status.embedding_serving, status.embedding_serving_model)))
        yield "in use now", now_by or phrases.NOBODY
    vectors, cache = status.chunks_with_embedding, status.cache
    some = f"{vectors} chunks; {status.missing_vectors} missing"
    yield "vectors", phrases.NOT_KNOWN if vectors is None else some
    yield "compared by", "; ".join(filter(None, (status.vector_backend, status.vector_backend_reason)))
    kept = f"{cache.entries} vectors, {cache.hits} hits, {cache.misses} misses"
    yield "cache", phrases.NOT_KNOWN if cache.entries is None else kept


def _format_count(number: int | None) -> str:
    return phrases.NOT_KNOWN if number is None else str(number)


def _format_moment(at: str, now: datetime) -> str:
    """Format an ISO 8601 time in the owner's zone, which may differ from the machine's; "" for none."""
    if not at:
        return ""
    local = datetime.fromisoformat(at).astimezone(now.tzinfo)
    return f"{local:%Y-%m-%d %H:%M:%S} ({now.tzinfo})"
