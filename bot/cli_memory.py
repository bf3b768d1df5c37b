"""`commonplace memory …`: the memory without a bot, for people and for programs."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, TextIO

from bot.cli import DONE, CommandFailed, WrongUsage
from bot.config import Settings
from bot.places import read_place, written_place
from bot.plain_text import json_for_terminals, without_controls
from memory.listing import Problem
from memory.memory import Memory
from memory.search import Hit, SearchResults

NOTHING_FOUND = "Nothing found."


async def run_memory_action(options: argparse.Namespace, settings: Settings) -> int:
    """Do what was asked and print it; raise MemoryFault, CommandFailed or WrongUsage where it cannot be done."""
    logging.getLogger().addHandler(logging.NullHandler())  # on failure, standard error holds one line alone
    actions = {"status": _status, "search": _search, "get": _get, "write": _write, "index": _index}
    async with Memory(settings.memory, workspace=settings.workspace, now=settings.now) as memory:
        await actions[options.action](memory, options)
    return DONE


async def _status(memory: Memory, options: argparse.Namespace) -> None:
    status = await memory.status()
    if options.json:
        _print_json(asdict(status))
        return
    _print(f"notes         {status.files}")
    _print(f"chunks        {status.total_chunks}")
    _print(f"search        by words: {status.fts}")
    _print(f"last indexed  {status.last_indexed_at or 'never'}")
    _print_problems(status.problems)


async def _search(memory: Memory, options: argparse.Namespace) -> None:
    query = " ".join(options.query)
    if bool(options.query) == (options.batch is not None):
        raise WrongUsage("memory search takes either a QUERY or --batch FILE")
    if options.batch is not None:
        with _opened(options.batch) as lines:
            for line in lines:
                _print_json(_as_json(await memory.search(line.strip(), limit=options.limit)))
                sys.stdout.flush()
        return
    results = await memory.search(query, limit=options.limit)
    if options.json:
        _print_json(_as_json(results))
    else:
        _print_hits(results)


def _as_json(results: SearchResults) -> dict[str, Any]:
    document: dict[str, Any] = {
        "query": results.query,
        "results": [_hit_as_json(hit) for hit in results.hits],
    }
    return {**document, "notice": results.notice} if results.notice else document


def _hit_as_json(hit: Hit) -> dict[str, Any]:
    return {**asdict(hit), "score": round(hit.score, 4)}


@contextmanager
def _opened(name: str) -> Iterator[TextIO]:
    if name == "-":
        yield sys.stdin
        return
    try:
        stream = open(name, encoding="utf-8-sig", errors="replace")  # noqa: PTH123, SIM115
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    with stream:
        yield stream


def _print_hits(results: SearchResults) -> None:
    place, dim, plain = ("\x1b[36m", "\x1b[2m", "\x1b[0m") if _colourful() else ("", "", "")
    for hit in results.hits:
        where = written_place(hit.path, hit.line_start, hit.line_end)
        heading = f"  {hit.heading}" if f"{hit.heading}.md" != hit.path and hit.heading else ""
        sys.stdout.write(f"{place}{without_controls(where)}{plain}{without_controls(heading)}")
        sys.stdout.write(f"  {dim}{hit.score:.2f}{plain}\n")
        for line in hit.snippet.strip("\n").splitlines():
            sys.stdout.write(f"    {without_controls(line)}\n".rstrip(" "))
        sys.stdout.write("\n")
    if not results.hits:
        _print(NOTHING_FOUND)
    if results.notice:
        _print(results.notice)


def _colourful() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


async def _get(memory: Memory, options: argparse.Namespace) -> None:
    place = read_place(options.path)
    line = options.line or (1 if place.line is None else place.line)
    limit = options.limit
    if limit is None and options.line is None and place.last_line is not None:
        limit = place.last_line - line + 1
    note = await memory.get(place.path, line=line, limit=limit)
    if options.json:
        _print_json(asdict(note))
    elif sys.stdout.isatty():
        _print(note.text.rstrip("\n"))
    else:
        sys.stdout.write(note.text)  # whoever reads this gets the note as it is


async def _write(memory: Memory, options: argparse.Namespace) -> None:
    text = sys.stdin.read() if options.text == ["-"] else " ".join(options.text)
    written = await memory.write(text, target=options.target)
    if options.json:
        lines = {"line_start": written.line_start, "line_end": written.line_end}
        _print_json({"path": written.path, **lines})
    else:
        _print(f"Noted in {written_place(written.path, written.line_start, written.line_end)}.")


async def _index(memory: Memory, options: argparse.Namespace) -> None:
    report = await memory.sync(rebuild=options.rebuild)
    if options.json:
        _print_json(asdict(report))
        return
    _print(
        f"Indexed in {report.seconds:.1f} s: {report.added} new, {report.changed} changed, {report.removed} gone."
    )
    _print_problems(report.problems)


def _print_problems(problems: Iterable[Problem]) -> None:
    for problem in problems:
        _print(f"problem       {problem.path}: {problem.reason}")


def _print(text: str) -> None:
    sys.stdout.write(without_controls(text) + "\n")


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json_for_terminals(json.dumps(document, ensure_ascii=False)) + "\n")
