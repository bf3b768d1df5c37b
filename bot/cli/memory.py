"""`commonplace memory …`: the memory without a bot, for people and programs."""

import argparse
import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO
from uuid import uuid4

from bot import phrases
from bot.cli.outcome import DONE, CommandFailed, WrongUsage
from bot.config.settings import Settings
from bot.embedding import open_embedding_from_settings
from bot.fact_history import describe_histories
from bot.hit_source import describe_says
from bot.memory_json import encode_note, encode_search, encode_status, encode_write, explain_hit
from bot.note_neighbours import describe_neighbours
from bot.note_refs import format_note_ref, parse_note_ref
from bot.open_memory import open_memory
from bot.progress import format_download, format_progress, show_progress
from bot.sanitize import escape_json_controls, strip_controls
from bot.visible_names import escape_path
from memory.embeddings.errors import EmbeddingError
from memory.embeddings.factory import Embedding
from memory.errors import MemoryFault
from memory.listing import Problem
from memory.memory import Memory
from memory.ranking.explanation import MatchedWords, explain_match
from memory.search import SearchResults, Source

if TYPE_CHECKING:
    from bot.search_sources import FoundPassages

MAX_FILL_SECONDS = 3.0
"""How long a search waits for new vectors, and a status for the embedding provider."""
FAILING_SECONDS = 60.0
"""How long a batch of searches keeps asking for vectors while every provider fails."""
NOTHING_FOUND = "Nothing found."


async def run_memory_action(options: argparse.Namespace, settings: Settings) -> int:
    """Run the action, print the result, and return 0. Raises MemoryFault, CommandFailed and WrongUsage."""
    logging.getLogger().addHandler(logging.NullHandler())  # on failure, standard error gets a single line
    embedding = (
        Embedding()
        if options.action in {"get", "write", "health", "changes", "undo", "redo"}
        else open_embedding_from_settings(settings)
    )
    many_searches = options.action == "search" and options.batch is not None
    async with open_memory(settings, embedding=embedding, lasting=many_searches) as memory:
        match options.action:
            case "status":
                await _status(memory, options, embedding, now=settings.now())
            case "health":
                await _examine(memory, options)
            case "search":
                search = _search if options.source == "notes" else _search_all
                await search(memory, options, embedding, settings)
            case "get":
                await _get(memory, options)
            case "write":
                await _write(memory, options, settings)
            case "changes" | "undo" | "redo":
                from bot.cli.changes import run_change_action

                await run_change_action(memory, options, settings)
            case "index":
                await _index(memory, options, embedding)
    return DONE


async def _status(
    memory: Memory, options: argparse.Namespace, embedding: Embedding, *, now: datetime
) -> None:
    async with show_progress(lambda: format_running_work(memory, embedding)):
        # A new process only knows whether the provider works once it has asked.
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_FILL_SECONDS):
                await memory.probe()
        status = await memory.status()
    if options.json:
        _print_json(encode_status(status))
        return
    from bot.cli.memory_status import status_lines

    for line in status_lines(status, now=now):
        _print(line)
    _print_problems(status.problems)


async def _examine(memory: Memory, options: argparse.Namespace) -> None:
    from bot.memory_health import describe_health, encode_health, examine_memory, summarize_health
    from memory.health.report import MAX_FINDINGS

    gc.enable()  # a long job, unlike the others
    report = await examine_memory(memory)
    if options.json:
        _print_json(encode_health(report))
        return
    place, dim, plain = _choose_colours()
    for group in describe_health(report, most=MAX_FINDINGS):
        _print(group.title)
        sys.stdout.write(f"{dim}{strip_controls(group.advice.replace('`', ''))}{plain}\n\n")
        for finding in group.findings:
            for where, text in finding.places:
                sys.stdout.write(
                    f"  {place}{strip_controls(where)}{plain}  {strip_controls(text)}".rstrip() + "\n"
                )
            if finding.why:
                sys.stdout.write(f"    {dim}{strip_controls(finding.why)}{plain}\n")
            for command in finding.commands:
                _print(f"    {command}")
        if group.left_out:
            _print(f"  and {group.left_out:,} more")
        _print("")
    _print(summarize_health(report))
    if report.findings:
        _print("Send these commands to your assistant, for example with: commonplace chat")


async def _search(
    memory: Memory, options: argparse.Namespace, embedding: Embedding, settings: Settings
) -> None:
    del settings
    query = _read_query(options)
    if options.batch is not None:
        with _open_input(options.batch) as lines:
            with suppress(MemoryFault):  # each search reports what is wrong
                await memory.sync()
                gc.enable()  # what follows is no small job
                async with show_progress(lambda: format_running_work(memory, embedding)):
                    await fill_until_failing(memory, embedding)
            for line in lines:
                found = await memory.search(line.strip(), limit=options.limit)
                _print_json(encode_search(found, explain=options.explain))
                sys.stdout.flush()
        return
    async with show_progress(lambda: format_running_work(memory, embedding)):
        await _fill_vectors_briefly(memory, embedding)
        results = await memory.search(query, limit=options.limit)
    if options.json:
        _print_json(encode_search(results, explain=options.explain))
    else:
        _print_hits(results, explain=options.explain)


def _read_query(options: argparse.Namespace) -> str:
    if bool(options.query) == (options.batch is not None):
        raise WrongUsage("memory search takes either a QUERY or --batch FILE")
    return " ".join(options.query)


async def _search_all(
    memory: Memory, options: argparse.Namespace, embedding: Embedding, settings: Settings
) -> None:
    """Search conversations, or conversations and notes. Raises CommandFailed if state.db cannot be used."""
    from bot.state.database import StateFault

    try:
        await _search_sources(memory, options, embedding, settings)
    except StateFault as fault:
        raise CommandFailed(str(fault)) from fault


async def _search_sources(
    memory: Memory, options: argparse.Namespace, embedding: Embedding, settings: Settings
) -> None:
    from bot.cli.conversations import open_search_of_all
    from bot.sources_json import encode_sources

    query = _read_query(options)
    opened = open_search_of_all(
        settings,
        memory,
        embedding,
        source=options.source,
        limit=options.limit,
        lasting=options.batch is not None,
    )
    async with opened as (search, conversations):

        def progress() -> str:
            jobs = (*memory.jobs(), *(conversations.jobs() if conversations else ()))
            return "; ".join(map(format_progress, jobs))

        if options.batch is not None:
            with _open_input(options.batch) as lines:
                for line in lines:
                    _print_json(encode_sources(await search(line.strip()), explain=options.explain))
                    sys.stdout.flush()
            return
        async with show_progress(progress):
            found = await search(query)
    if options.json:
        _print_json(encode_sources(found, explain=options.explain))
    else:
        _print_found(found, explain=options.explain)


def _print_found(found: "FoundPassages", *, explain: bool) -> None:
    """Print what was said, below the notes if they were searched too."""
    from bot.cli.conversations import describe_hit

    if found.notes.hits:
        _print_hits(replace(found.notes, notice=""), explain=explain)
    place, dim, plain = _choose_colours()
    for hit in found.conversations:
        where = f"{place}{strip_controls(describe_hit(hit))}{plain}"
        sys.stdout.write(f"{where}  {dim}{hit.ref}  {hit.score:.2f}{plain}\n")
        for line in hit.snippet.strip("\n").splitlines():
            sys.stdout.write(f"    {strip_controls(line)}\n".rstrip(" "))
        if explain:
            matched = _format_matched(explain_match(found.notes.terms, hit.snippet), "fts")
            sys.stdout.write(f"    {dim}{strip_controls(matched)}{plain}\n")
        sys.stdout.write("\n")
    if not (found.notes.hits or found.conversations):
        _print(NOTHING_FOUND)
    for notice in filter(None, (found.notes.notice, found.notice)):
        _print(notice)


async def _fill_vectors_briefly(memory: Memory, embedding: Embedding) -> None:
    """Embed new text for at most MAX_FILL_SECONDS; the search that follows reports errors."""
    if embedding.embedder is None:
        return
    with suppress(MemoryFault):
        await memory.sync()
        with suppress(EmbeddingError, TimeoutError):
            async with asyncio.timeout(MAX_FILL_SECONDS):
                await memory.fill_vectors()


async def _fill_vectors(memory: Memory, embedding: Embedding) -> str:
    """Embed every text, however long it takes; return the error, "" for none."""
    gc.enable()  # what follows is no small job
    try:
        async with show_progress(lambda: format_running_work(memory, embedding)):
            await memory.fill_vectors()
    except EmbeddingError as error:
        return str(error)
    return ""


async def fill_until_failing(
    memory: Memory, embedding: Embedding, *, timeout_seconds: float = FAILING_SECONDS
) -> None:
    """Embed every text, until all providers have failed for `timeout_seconds` seconds.

    The searches that follow report errors.
    """
    if embedding.embedder is None:
        return
    filling = asyncio.create_task(memory.fill_vectors())
    try:
        while not filling.done():
            await asyncio.wait([filling], timeout=0.1)
            state = embedding.embedder.state
            since = [lane.since for lane in (state.primary, state.fallback) if lane]
            if all(each and (datetime.now(UTC) - each).total_seconds() > timeout_seconds for each in since):
                break
    finally:
        filling.cancel()
        with suppress(EmbeddingError, asyncio.CancelledError):
            await filling


def format_running_work(memory: Memory, embedding: Embedding) -> str:
    """Describe running work and its progress in one line; "" for none."""
    fetching = embedding.fetching
    said = [format_progress(job) for job in memory.jobs()]
    return "; ".join([f"downloading the model: {format_download(fetching)}", *said] if fetching else said)


@contextmanager
def _open_input(name: str) -> Iterator[TextIO]:
    if name == "-":
        yield sys.stdin
        return
    try:
        stream = open(name, encoding="utf-8-sig", errors="replace")  # noqa: PTH123, SIM115
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{name} can't be read: {getattr(error, 'strerror', None) or error}") from error
    with stream:
        yield stream


def _print_hits(results: SearchResults, *, explain: bool) -> None:
    place, dim, plain = _choose_colours()
    for hit, history in zip(results.hits, describe_histories(results.hits), strict=True):
        where = format_note_ref(hit.path, hit.line_start, hit.line_end)
        heading = f"  {hit.heading}" if f"{hit.heading}.md" != hit.path and hit.heading else ""
        sys.stdout.write(f"{place}{strip_controls(where)}{plain}{strip_controls(heading)}")
        sys.stdout.write(f"  {dim}{hit.score:.2f}{plain}\n")
        for line in hit.snippet.strip("\n").splitlines():
            sys.stdout.write(f"    {strip_controls(line)}\n".rstrip(" "))
        for detail in filter(None, (describe_says(hit), history)):
            sys.stdout.write(f"    {dim}{strip_controls(detail)}{plain}\n")
        if explain:
            sys.stdout.write(
                f"    {dim}{strip_controls(_format_matched(explain_hit(results, hit), hit.source))}{plain}\n"
            )
        sys.stdout.write("\n")
    if results.neighbours:
        _print(strip_controls(describe_neighbours(results.neighbours)))
    if not results.hits:
        _print(NOTHING_FOUND)
    if results.notice:
        _print(results.notice)


def _format_matched(matched: MatchedWords, source: Source) -> str:
    named = [
        f"{name}: {', '.join(words)}"
        for name, words in (("matched", matched.words), ("words that begin alike", matched.forms))
        if words
    ]
    if named:
        return "; ".join(named)
    around = "its headings, its note's name or the lines around it"
    found_by = {"vector": "its meaning", "hybrid": f"its meaning, and by {around}"}.get(source, around)
    return f"no word of its own matched; found by {found_by}"


def _choose_colours() -> tuple[str, str, str]:
    """Return what begins a place and what begins a detail, and what ends both."""
    use = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return ("\x1b[36m", "\x1b[2m", "\x1b[0m") if use else ("", "", "")


async def _get(memory: Memory, options: argparse.Namespace) -> None:
    place = parse_note_ref(options.path)
    line = options.line or (1 if place.line is None else place.line)
    limit = options.limit
    if limit is None and options.line is None and place.last_line is not None:
        limit = place.last_line - line + 1
    note = await memory.get(await memory.resolve_path(place.path), line=line, limit=limit)
    if options.json:
        _print_json(encode_note(note))
    elif sys.stdout.isatty():
        _print(note.text.rstrip("\n"))
    else:
        sys.stdout.write(note.text)  # a program gets the note unchanged


async def _write(memory: Memory, options: argparse.Namespace, settings: Settings) -> None:
    from bot.cli.backup import block_restore
    from bot.messages import OWNER_AT_TERMINAL
    from bot.note_writes import OnceWriter
    from bot.open_state import open_state
    from bot.state.changes import ChangeOrigin
    from bot.state.database import StateFault

    text = sys.stdin.read() if options.text == ["-"] else " ".join(options.text)
    origin = ChangeOrigin("cli", person=str(OWNER_AT_TERMINAL))
    notice = ""
    with block_restore(settings):
        try:
            async with open_state(settings) as state:
                written = await OnceWriter(memory, state).write(
                    text, key=f"cli/{uuid4().hex}", target=options.target, origin=origin
                )
        except StateFault as fault:  # state.db can't be opened, and a text is worth more than its record
            written = await memory.write(text, target=options.target)
            notice = f"It is not in the list of changes, and can't be undone: {fault}"
    if options.json:
        _print_json(encode_write(written) | ({"notice": notice} if notice else {}))
        return
    _print(f"Noted in {format_note_ref(written.path, written.line_start, written.line_end)}.")
    if notice:
        _print(notice)


async def _index(memory: Memory, options: argparse.Namespace, embedding: Embedding) -> None:
    async with show_progress(lambda: format_running_work(memory, embedding)):
        report = await memory.sync(rebuild=options.rebuild, whole=True)
    # Without vectors the notes are still indexed and found by their words, so this is no failure.
    problem = ""
    if options.no_cache:
        try:
            await memory.forget_vectors()
        except EmbeddingError as error:
            problem = f"the old ones were kept: {error}"
    problem = problem or await _fill_vectors(memory, embedding)
    status = await memory.status()
    problem = problem or status.embedding_problem
    if options.json:
        vectors = {
            "embedded": status.chunks_with_embedding,
            "missing": status.missing_vectors,
            "error": problem,
            "provider": status.embedding_serving,
        }
        _print_json({**asdict(report), "vectors": vectors})
        return
    _print(
        f"Indexed in {report.seconds:.1f} s: {report.added} new, {report.changed} changed, {report.removed} removed."
    )
    if options.rebuild:
        for each in report.problems:
            if each.away:
                _print(phrases.REBUILT_WITHOUT.format(folder=each.path))
    if problem and status.embedding_serving and not status.missing_vectors:
        _print(
            f"Vectors: {status.chunks_with_embedding} of {status.total_chunks} chunks, "
            f"made by the fallback {status.embedding_serving}: {problem}"
        )
    elif problem:
        _print(f"Vectors: {status.missing_vectors or 'none'} missing: {problem}")
    elif status.vector_search_enabled:
        _print(f"Vectors: {status.chunks_with_embedding} of {status.total_chunks} chunks.")
    _print_problems(report.problems)


def _print_problems(problems: Iterable[Problem]) -> None:
    for problem in problems:
        _print(f"problem       {escape_path(problem.path)}: {problem.reason}")


def _print(text: str) -> None:
    sys.stdout.write(strip_controls(text) + "\n")


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(escape_json_controls(json.dumps(document, ensure_ascii=False)) + "\n")
