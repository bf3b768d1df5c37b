"""Slash commands for the memory: note, search, and maintain it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import Standing
from bot.commands.command import CommandCall
from bot.commands.memory_cache import manage_cache
from bot.commands.notes import list_notes, show_note
from bot.commands.trash import manage_trash
from bot.conversations.core_note import core_warning
from bot.fact_history import describe_histories
from bot.hit_source import describe_says
from bot.language.text import join_sentences, localize
from bot.note_neighbours import describe_neighbours
from bot.note_refs import format_note_ref
from bot.progress import format_progress
from bot.said_in_chats import format_said
from bot.searchable_chats import searchable_chats
from bot.services import Services
from bot.supervisor import format_failure
from bot.timeparse import moment_in_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bot.attachments.save_document import DocumentSaver
    from bot.maintenance.scheduler import JobStatus
    from bot.search_sources import FoundPassages
    from memory.listing import Problem
    from memory.note_draft import WriteTarget
    from memory.search import SearchResults
    from memory.status import FolderStatus, MemoryStatus

MemoryAction = Callable[[CommandCall, Services, str], Awaitable[str]]
"""An action of `/memory`; it gets the text after its name."""

MAX_FINDINGS = 4
"""Findings of each kind that `/memory health` shows."""

_CORE = re.compile(r"core\s*[:：]\s*", re.IGNORECASE)
"""The prefix of text for MEMORY.md."""


async def remember(call: CommandCall, services: Services) -> str:
    """Note text, and the transcript of a voice message, in today's log; file documents as separate notes.

    An owner's text that starts with `core:` goes into MEMORY.md.
    """
    text = call.options.get("text", "")
    target: WriteTarget = "daily"
    if core := _CORE.match(text):
        if call.standing is not Standing.OWNER:
            return phrases.REMEMBER_CORE_OWNERS
        text, target = text[core.end() :], "core"
    if not (text or call.message.attachments):
        return phrases.REMEMBER_CORE_WHAT if core else phrases.REMEMBER_WHAT
    words, told = [text] if text else [], list[str]()
    words, told = await _save_attachments(call, services.document_saver, text, may_be_title=not core)
    if words:
        written = await services.note_writer.write(
            "\n\n".join(words), key=call.key, target=target, origin=call.origin
        )
        place = format_note_ref(written.path, written.line_start, written.line_end)
        warning = await core_warning(services.memory) if core else ""
        told.insert(0, "\n\n".join(filter(None, [phrases.REMEMBERED.format(place=place), warning])))
    return "\n\n".join(told) or phrases.FILED_NOT_A_DOCUMENT


async def _save_attachments(
    call: CommandCall, document_saver: "DocumentSaver", text: str, *, may_be_title: bool
) -> tuple[list[str], list[str]]:
    """File the attachments; return the text to note and the messages for the person."""
    from bot.attachments.document_note import is_title
    from bot.attachments.markup import display_name
    from bot.attachments.save_document import (
        DocumentNotSaved,  # loads httpx, which most calls do not need
    )

    words, told, named = [text] if text else [], list[str](), False
    for each in call.message.attachments:
        try:
            if each.kind == "voice":
                words.append(await document_saver.transcribe(call.message, each))
                continue
            title = text if may_be_title and is_title(text) else ""
            filed = await document_saver.save_sent(
                call.message, each, key=call.key, origin=call.origin, title=title
            )
        except DocumentNotSaved as problem:
            name = display_name(each.name)
            told.append(phrases.NOT_FILED.format(name=name, reason=problem) if name else str(problem))
        else:
            named = named or bool(title)
            phrase = phrases.FILED_BEFORE if filed.before else phrases.FILED
            told.append(join_sentences([phrase.format(path=filed.path), filed.remark]))
    return words[1:] if named else words, told


async def recall(call: CommandCall, services: Services) -> str:
    """Show matching passages from the notes, and from conversations if the notes don't answer the query.

    Only owners see why semantic search failed, since that may name files and addresses.
    """
    found = await _search_all(call, services, call.options["query"])
    if found.notes.notice and call.standing is not Standing.OWNER:
        notice = phrases.SEARCHED.format(how=phrases.BY_WORDS_FOR_NOW)
        found = replace(found, notes=replace(found.notes, notice=notice))
    return _format_found(found, call, services)


async def manage_memory(call: CommandCall, services: Services) -> str:
    """Run one of `MEMORY_ACTIONS`; show the status if none is given."""
    action = MEMORY_ACTIONS[call.options.get("action", "status")]
    return await action(call, services, call.options.get("what", ""))


async def _status(call: CommandCall, services: Services, what: str) -> str:
    del call, what
    status = await services.memory.status()
    text = phrases.MEMORY_STATUS.format(
        files=status.files,
        chunks=format_count(status.total_chunks),
        search=describe_search(status, why=True),
        fts=status.fts,
        indexed=_format_last_indexed(status, services.now()),
    )
    warning = await core_warning(services.memory)
    lines = [text, *describe_indexing(status, services), *filter(None, [warning])]
    return "\n".join(lines) + _format_problems(status.problems_of_notes)


async def _examine(call: CommandCall, services: Services, what: str) -> str:
    """Show what to fix in the notes; change nothing."""
    del call, what
    from bot.memory_health import examine_memory, format_health

    return format_health(await examine_memory(services.memory), most=MAX_FINDINGS)


async def _search(call: CommandCall, services: Services, what: str) -> str:
    if not what:
        return phrases.SEARCH_WHAT
    return _format_found(await _search_all(call, services, what), call, services)


async def _search_all(call: CommandCall, services: Services, query: str) -> "FoundPassages":
    from bot.search_sources import search_sources

    said = call.message
    return await search_sources(
        services.memory,
        services.conversations,
        query,
        source=None,
        chats=lambda: searchable_chats(services, said.sender, said.chat, groups=said.groups),
        today=services.now().date(),
    )


def _format_found(found: "FoundPassages", call: CommandCall, services: Services) -> str:
    if not (found.notes.hits or found.conversations):
        nothing = phrases.NOTHING_FOUND_ANYWHERE if services.conversations else phrases.NOTHING_FOUND
        return "\n\n".join(filter(None, [nothing, localize(found.notes.notice)]))
    said = format_said(found.conversations, chat=call.message.chat, today=services.now().date())
    notes = format_passages(found.notes) if found.notes.hits or found.notes.notice else ""
    return "\n\n".join(filter(None, [notes, said]))


async def _turn_on(call: CommandCall, services: Services, what: str) -> str:
    del what
    return await _open_memory(call, services, memory=True)


async def _turn_off(call: CommandCall, services: Services, what: str) -> str:
    del what
    return await _open_memory(call, services, memory=False)


async def _open_memory(call: CommandCall, services: Services, *, memory: bool) -> str:
    if not call.message.in_room:
        return phrases.MEMORY_ALWAYS_ON
    if not memory:  # what was recalled would still be in the conversation
        # In this order: after a crash between the two, nobody would know that memory was on.
        was_open = await services.access.is_memory_open(call.message)
        await services.compactor.end_later(call.message.chat, flush=was_open, key=call.key)
    await services.access.open_memory(call.message.chat, memory=memory)
    return phrases.MEMORY_ON if memory else phrases.MEMORY_OFF


async def _rebuild(call: CommandCall, services: Services, what: str) -> str:
    """Rebuild the index, or join a rebuild that is already running."""
    del call, what
    joined, work = services.index_rebuilder.is_running, services.index_rebuilder.run()
    report = await work
    told = phrases.REBUILT.format(notes=report.added, seconds=report.seconds)
    lines = [told, *([phrases.REBUILD_JOINED] if joined else ())]
    lines += [phrases.REBUILT_WITHOUT.format(folder=each.path) for each in report.problems if each.away]
    return "\n".join(lines) + _format_problems(report.problems)


async def reindex(call: CommandCall, services: Services) -> str:
    """Scan all notes now; vectors for new text follow in the background."""
    del call
    report = await services.memory.sync(whole=True)
    counts = {"added": report.added, "changed": report.changed, "removed": report.removed}
    return phrases.REINDEXED.format(seconds=report.seconds, **counts) + _format_problems(report.problems)


def format_count(count: int | None) -> str:
    """Format a number, or say that it is unknown."""
    return phrases.NOT_KNOWN if count is None else str(count)


def describe_search(status: "MemoryStatus", *, why: bool) -> str:
    """Describe the search mode; `why`: add the reason, which may name files and addresses."""
    if status.index_problem:
        return phrases.BY_FILES_FOR_NOW
    if status.vector_search_enabled and not status.embedding_serving:
        return phrases.BY_WORDS_FOR_NOW
    if status.vector_search_enabled and status.embedding_problem:
        model = status.embedding_serving_model
        provider = status.embedding_serving
        return (
            phrases.BY_MEANING_FOR_NOW.format(model=model, provider=provider) if why else phrases.BY_MEANING
        )
    if status.vector_search_enabled:
        reason, model = status.embedding_reason, status.embedding_model
        return phrases.BY_MEANING_WITH.format(model=model, reason=reason) if why else phrases.BY_MEANING
    reason = status.embedding_problem or localize(status.embedding_reason).removeprefix("none: ")
    return phrases.BY_WORDS_SINCE.format(reason=reason) if why else phrases.BY_WORDS


def describe_folder(folder: "FolderStatus") -> str:
    """Describe another folder of notes in one line."""
    notes = phrases.NOTES.format(count=folder.notes)
    if folder.away:
        return phrases.FOLDER_AWAY.format(
            name=folder.name, problem=phrases.WITH_REASON.format(what=folder.away, reason=notes)
        )
    state = [phrases.FOLDER_ACCESS[folder.write], notes]
    if folder.hidden:
        state.append(phrases.FOLDER_HIDDEN.format(lines=phrases.LINES.format(count=folder.hidden)))
    told = phrases.COMMA.join(state)
    if why := folder.watch_problem:
        told = phrases.WITH_REASON.format(what=told, reason=why)
    return phrases.FOLDER.format(name=folder.name, state=told)


def describe_indexing(status: "MemoryStatus", services: Services) -> "Iterator[str]":
    """Yield a line each on index problems, vectors, watcher, failed tasks, nightly jobs and running work."""
    background, now, redact_server_address = (
        services.background,
        services.now(),
        services.memory.redact_server_address,
    )
    if status.index_problem:
        # The server's own message may contain its address.
        away = status.index_on_server
        yield phrases.INDEX_AWAY if away else phrases.INDEX_PROBLEM.format(problem=status.index_problem)
    if status.vector_search_enabled and status.missing_vectors is not None:
        yield _describe_vectors(status.missing_vectors, status, now)
    if watch := status.watch:
        line = phrases.WATCH[watch.mode] if watch.alive or watch.mode == "waiting" else phrases.WATCH_DEAD
        reason = watch.reason or watch.error
        yield phrases.WITH_REASON.format(what=line, reason=reason) if reason else line
    for folder in status.folders:
        yield describe_folder(folder)
    if (conversations := services.conversations) and conversations.problem:
        yield phrases.CONVERSATIONS_PROBLEM.format(problem=conversations.problem)
    for failure in services.supervisor.failures:
        yield redact_server_address(format_failure(failure, now))
    if background and (reindex := background.reindex):
        yield (
            phrases.REINDEX_ELSEWHERE.format(holder=reindex.elsewhere)
            if reindex.elsewhere
            else phrases.REINDEX_NOW
            if reindex.running
            else phrases.REINDEX.format(
                last=_format_last_run(reindex, now, redact_server_address),
                next=_format_time(reindex.next_run, now),
            )
        )
    if background and (backup := background.backup):
        if backup.elsewhere:
            yield phrases.BACKUP_ELSEWHERE.format(holder=backup.elsewhere)
        yield (
            phrases.BACKUP_NOW
            if backup.running
            else phrases.BACKUP_JOB.format(
                last=_format_last_run(backup, now, redact_server_address),
                next=_format_time(backup.next_run, now),
            )
        )
    for job in status.jobs:
        progress = format_progress(job)
        yield progress[:1].upper() + progress[1:]


def _format_last_run(job: "JobStatus", now: datetime, redact: Callable[[str], str]) -> str:
    told = (_format_time(job.last_run, now), localize(redact(job.last_outcome)))
    return phrases.COMMA.join(filter(None, told)) or phrases.NEVER


def _format_time(moment: str, now: datetime) -> str:
    """Format an ISO 8601 time in the owner's time zone; "" for none."""
    return moment_in_short(datetime.fromisoformat(moment), now) if moment else ""


def _format_last_indexed(status: "MemoryStatus", now: datetime) -> str:
    at = status.last_indexed_at
    return phrases.NOT_KNOWN if at is None else _format_time(at, now) or phrases.NEVER


def _describe_vectors(missing: int, status: "MemoryStatus", now: datetime) -> str:
    if problem := status.embedding_problem:
        next_try = _format_time(status.embedding_next_try, now)
        again = phrases.NEXT_TRY.format(time=next_try) if next_try else ""
        return phrases.VECTORS_PROBLEM.format(missing=missing, problem=problem) + again
    return phrases.MISSING_VECTORS.format(missing=missing) if missing else phrases.ALL_VECTORS


def format_passages(results: "SearchResults") -> str:
    """Format hits as Markdown: note reference, heading, the passage as a quotation, and since when it is true."""
    shown = []
    for hit, history in zip(results.hits, describe_histories(results.hits), strict=True):
        heading = f" {hit.heading}" if hit.heading else ""
        quotation = "\n".join(f"> {line}".rstrip() for line in hit.snippet.strip().splitlines())
        place = format_note_ref(hit.path, hit.line_start, hit.line_end)
        parts = [f"**{place}**{heading}", quotation, describe_says(hit), history]
        shown.append("\n\n".join(filter(None, parts)))
    if results.neighbours:
        shown.append(describe_neighbours(results.neighbours))
    if results.notice:
        shown.append(localize(results.notice))
    return "\n\n".join(shown or [phrases.NOTHING_FOUND])


def _format_problems(problems: "Iterable[Problem]") -> str:
    return "".join(f"\n- {problem.path}: {localize(problem.reason)}" for problem in problems)


MEMORY_ACTIONS: Mapping[str, MemoryAction] = {
    "status": _status,
    "search": _search,
    "get": show_note,
    "list": list_notes,
    "trash": manage_trash,
    "health": _examine,
    "rebuild": _rebuild,
    "cache": manage_cache,
    "on": _turn_on,
    "off": _turn_off,
}
"""The actions of `/memory`, in the order in which they are offered."""
