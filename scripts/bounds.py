"""The table of bounds in docs/security.md: what may grow, its limit, and what happens beyond it.

A row names a constant (`module:NAME`) or a setting (`section.key`), from which `make docs` reads the value.
"""

from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Literal

from pydantic import BaseModel

from bot.config.settings import Settings

Unit = Literal["", "characters", "bytes", "MB", "seconds", "", "", "files"]


@dataclass(frozen=True, slots=True)
class Bound:
    """One row of the table."""

    what: str
    at: str
    unit: Unit
    beyond: str
    """What happens to the excess."""

    @property
    def is_setting(self) -> bool:
        """Whether people can set it; its value is then the default."""
        return ":" not in self.at


BOUNDS: dict[str, tuple[Bound, ...]] = {
    "What people send": (
        Bound(
            "messages of a person in a minute",
            "limits.messages_per_minute",
            "",
            "they are told how long to wait; owners are exempt",
        ),
        Bound(
            "chats that are answered at the same time",
            "bot.assistant:MAX_CONCURRENT_TURNS",
            "",
            "the others wait for their turn",
        ),
        Bound(
            "tries of a message, a reply or a notice over which the process crashes",
            "bot.attempts:MAX_TURN_ATTEMPTS",
            "",
            "it is skipped, and the chat is told",
        ),
        Bound(
            "size of a file that came along",
            "attachments.max_megabytes",
            "MB",
            "it is not fetched, and the sender is told",
        ),
        Bound("files of a message", "bot.attachments.reader:MAX_ATTACHMENTS", "", "the others are not read"),
        Bound("pages of a PDF", "bot.attachments.pdf_worker:MAX_PAGES", "", "the others are not read"),
        Bound(
            "memory of the process that reads a PDF",
            "bot.attachments.pdf_worker:MEMORY_BYTES",
            "bytes",
            "it ends, and the file is told of as one that cannot be read",
        ),
        Bound("pixels of a picture", "bot.attachments.pictures:MAX_PIXELS", "", "it is not unpacked"),
        Bound(
            "words that are read for a moment (`/remind WHEN`)",
            "bot.timeparse.lexer:MAX_TOKENS",
            "",
            "the rest is text",
        ),
    ),
    "What Telegram and Discord send": (
        Bound(
            "an answer of Telegram",
            "adapters.telegram.http_request:MAX_JSON_BYTES",
            "bytes",
            "fewer updates are asked for; one that is larger by itself is left out, and logged",
        ),
        Bound(
            "an answer or a payload of Discord",
            "adapters.discord.private_api:MAX_BYTES",
            "bytes",
            "the connection ends, and is made anew",
        ),
        Bound(
            "entries of a list in an event of Discord",
            "adapters.discord.private_api:MAX_LIST_LENGTH",
            "",
            "the event is not read, and logged",
        ),
        Bound(
            "connections to Discord at once",
            "adapters.discord.gateway:MAX_SHARDS",
            "",
            "one is opened",
        ),
        Bound(
            "time for which a platform is left alone that wants that",
            "bot.messages:MAX_WAIT_SECONDS",
            "seconds",
            "it is asked again",
        ),
    ),
    "Files": (
        Bound(
            "crashes over a message's files",
            "bot.attempts:READING_ATTEMPTS",
            "",
            "the files are left alone, and their sender is told",
        ),
        Bound(
            "time for all files that are read together",
            "bot.attachments.document_text:READING_SECONDS",
            "seconds",
            "PDFs count as far as they were read; the sender is told of the others",
        ),
        Bound(
            "bytes of files on their way, in all",
            "bot.attachments.reader:MAX_FETCHED_BYTES",
            "bytes",
            "the next ones wait",
        ),
        Bound(
            "… of one person",
            "bot.attachments.reader:MAX_FETCHED_BYTES_PER_PERSON",
            "bytes",
            "that person's next ones wait",
        ),
        Bound(
            "processes that read PDFs and pictures",
            "bot.attachments.reader:MAX_PROCESSES",
            "",
            "the next ones wait",
        ),
        Bound(
            "memory of the process that reads a picture",
            "bot.attachments.pictures:MEMORY_BYTES",
            "bytes",
            "it ends, and the sender is told",
        ),
    ),
    "Strangers": (
        Bound(
            "strangers who wait with a code",
            "bot.pairing:MAX_PENDING_CODES",
            "",
            "owners are told that others were turned away; `/pair clear` makes room",
        ),
        Bound(
            "how long a code counts after it was last told",
            "bot.pairing_requests:CODE_LIFETIME",
            "",
            "whoever asks then gets a new one",
        ),
        Bound("answers to a stranger in ten minutes", "bot.pairing:REFUSALS_PER_PERIOD", "", "silence"),
        Bound(
            "strangers who are told in ten minutes that they cannot talk here",
            "bot.pairing:MAX_REFUSED_STRANGERS",
            "",
            "silence",
        ),
        Bound(
            "strangers an owner is told of in an hour",
            "bot.pairing:MAX_ANNOUNCEMENTS",
            "",
            "`/pair` lists whoever asks",
        ),
        Bound(
            "wrong codes of an owner in ten minutes",
            "bot.pairing:MAX_WRONG_CODES",
            "",
            "further codes have to wait",
        ),
    ),
    "Reminders": (
        Bound(
            "reminders and scheduled prompts of a person, in all chats",
            "bot.reminders:MAX_PER_PERSON",
            "",
            "refused, with the way to cancel some",
        ),
        Bound(
            "reminders and scheduled prompts in a chat",
            "bot.reminders:MAX_PER_CHAT",
            "",
            "refused, with the way to cancel some",
        ),
        Bound("length of a reminder", "bot.reminders:MAX_CHARACTERS", "characters", "refused"),
        Bound(
            "notices of one reminder that wait for their chat",
            "bot.reminders:MAX_UNDELIVERED",
            "",
            "it is skipped until that one has arrived, and the next one says how often",
        ),
    ),
    "What is imported": (
        Bound(
            "size of one text in an export",
            "bot.imports.json_bytes:MAX_TEXT_BYTES",
            "bytes",
            "the file is read up to there, and the import says so",
        ),
        Bound(
            "messages of a conversation", "bot.imports.json_items:MAX_PARTS", "", "it is left out and listed"
        ),
        Bound(
            "values within one message of an export",
            "bot.imports.json_items:MAX_VALUES",
            "",
            "it is left out",
        ),
        Bound("length of a message", "bot.imports.conversation:MAX_MESSAGE_CHARS", "characters", "it is cut"),
        Bound(
            "times that a file of an archive may grow when it is unpacked",
            "bot.imports.zip_files:MAX_RATIO",
            "",
            "it is refused",
        ),
        Bound("files of an archive", "bot.imports.zip_files:MAX_FILES", "files", "the archive is refused"),
        Bound(
            "notes of a folder or an archive", "bot.imports.note_files:MAX_NOTES", "files", "it is refused"
        ),
    ),
    "What a model does": (
        Bound(
            "a reply in a chat",
            "adapters.long_reply:MAX_CHARS_IN_CHAT",
            "characters",
            "its beginning is shown, and all of it comes as a file",
        ),
        Bound("steps of a turn", "limits.steps_per_turn", "", "it has to answer"),
        Bound(
            "calls of tools in one step",
            "bot.agent:MAX_CALLS_PER_STEP",
            "",
            "the others do not happen, and the model is told",
        ),
        Bound("calls of tools in one turn", "bot.agent:MAX_CALLS_PER_TURN", "", "it has to answer"),
        Bound(
            "arguments of one call",
            "bot.models.tool_calls:MAX_ARGUMENTS_CHARS",
            "characters",
            "they are not read, and the model is told",
        ),
        Bound(
            "result of one call",
            "bot.tools.toolbox:RESULT_CHARS",
            "characters",
            "cut, with a word on how to ask for less",
        ),
        Bound(
            "lines of a note that one call gives",
            "bot.tools.memory:GET_CHARS",
            "characters",
            "cut, with the line from which to go on",
        ),
        Bound(
            "an answer over HTTP",
            "bot.models.http:ANSWER_BYTES",
            "bytes",
            "it is left there, and the next model is asked",
        ),
        Bound(
            "one event of a stream",
            "bot.models.sse:MAX_EVENT_BYTES",
            "bytes",
            "it counts as broken, and the next model is asked",
        ),
        Bound(
            "events of one answer",
            "bot.models.http:MAX_EVENTS",
            "",
            "it counts as broken, and the next model is asked",
        ),
        Bound(
            "tool calls in one answer",
            "bot.models.answer_bounds:MAX_TOOL_CALLS",
            "",
            "it counts as broken, and the next model is asked",
        ),
        Bound(
            "lists and objects in each other, in an answer",
            "bot.models.answer_bounds:MAX_NESTING",
            "",
            "it counts as broken, and the next model is asked",
        ),
        Bound(
            "time of one answer",
            "models.total_timeout",
            "seconds",
            "it is left there, and the next model is asked",
        ),
        Bound(
            "an answer to a flush",
            "bot.conversations.log_section:ANSWER_MAX_CHARS",
            "characters",
            "the rest is not read, and what was said is kept beside it",
        ),
        Bound(
            "a section of the daily log",
            "bot.conversations.log_section:SECTION_CHARS",
            "characters",
            "cut, and marked as cut",
        ),
    ),
    "Notes": (
        Bound(
            "size of a note",
            "memory.note_file:NOTE_MAX_BYTES",
            "bytes",
            "it is neither indexed nor edited, and `doctor` names it",
        ),
        Bound(
            "a passage that one edit replaces, and the new one",
            "memory.note_edits:PASSAGE_MAX_CHARS",
            "characters",
            "refused, with what fits",
        ),
        Bound(
            "a text that is noted at once",
            "bot.note_writes:TEXT_MAX_CHARS",
            "characters",
            "refused, with what fits",
        ),
        Bound("a path", "memory.paths:PATH_MAX_CHARS", "characters", "refused"),
        Bound("a query", "memory.tokenizer:MAX_QUERY_CHARS", "characters", "the rest is not looked at"),
        Bound("words of a query", "memory.tokenizer:MAX_TERMS", "", "the rest is not looked for"),
        Bound(
            "a question in which dates are looked for",
            "memory.dates.query_dates:MAX_CHARACTERS",
            "characters",
            "the rest is not looked at",
        ),
        Bound(
            "marks on one letter",
            "memory.normalization:MAX_MARKS",
            "",
            "they are cut apart before they are sorted",
        ),
    ),
    "Requests over HTTP": (
        Bound("a request's body", "bot.web.request_body:MAX_BODY_BYTES", "bytes", "413"),
        Bound(
            "time for a body to arrive",
            "bot.web.request_body:BODY_SECONDS",
            "seconds",
            "the connection is closed",
        ),
        Bound(
            "connections of the HTTP server",
            "bot.web.connections:MAX_CONNECTIONS",
            "",
            "the oldest that is idle or unfinished is closed; where all are at work, a new one waits",
        ),
        Bound(
            "… from one address (of IPv6 a /64), but this machine and trusted proxies",
            "bot.web.connections:MAX_PER_ADDRESS",
            "",
            "its own oldest is closed",
        ),
        Bound("time to read a response", "bot.web.connections:SEND_SECONDS", "seconds", "cut off"),
        Bound(
            "responses that wait to be read, in all",
            "bot.web.connections:MAX_UNSENT_BYTES",
            "bytes",
            "clients that have read least are cut off",
        ),
        Bound(
            "time for a request's head, and between two requests",
            "bot.web.listener:KEEP_ALIVE_SECONDS",
            "seconds",
            "the connection is closed",
        ),
        Bound("a line of a request's head", "bot.web.listener:MAX_LINE_BYTES", "bytes", "400"),
        Bound("lines of a request's head", "bot.web.listener:MAX_FIELDS", "", "400"),
        Bound(
            "file descriptors kept for notes, state and calls",
            "bot.web.listener:SPARE_DESCRIPTORS",
            "",
            "connections are closed or turned away before they are touched",
        ),
        Bound(
            "entries of a conversation on one page",
            "bot.web.page.urls:ENTRIES_PER_PAGE",
            "",
            "they follow on the next page",
        ),
        Bound(
            "shown part of one message on the page",
            "bot.web.page.conversation:MAX_MESSAGE_CHARS",
            "characters",
            "cut; the downloaded file has all of it",
        ),
        Bound(
            "text of one page that is rendered as Markdown",
            "bot.web.page.conversation:MAX_RENDERED_CHARS",
            "characters",
            "the rest is plain text",
        ),
        Bound("a form of somebody who is not signed in", "bot.web.forms:MAX_FORM_BYTES", "bytes", "413"),
        Bound(
            "the text of a note that the page edits",
            "bot.web.page.note_edit:MAX_TEXT_BYTES",
            "bytes",
            "it says so, and offers plain text; what was typed stays in the form",
        ),
        Bound(
            "a picture or another file that the page sends",
            "bot.web.page.note_files:MAX_FILE_BYTES",
            "bytes",
            "503",
        ),
        Bound(
            "different pictures and files of a note that are looked for",
            "memory.folder_files:MAX_TARGETS",
            "",
            "the others are text",
        ),
        Bound("a `Host` header", "bot.web.auth:MAX_HOST_CHARS", "characters", "403 without a token"),
        Bound(
            "time between two log entries of the same error",
            "bot.log.throttle:REPEAT_SECONDS",
            "seconds",
            "they are counted, and the next entry says how many there were",
        ),
        Bound(
            "programs with a token for MCP",
            "bot.config.settings:MAX_MCP_TOKENS",
            "",
            "the settings are refused",
        ),
        Bound(
            "sessions of a program over MCP",
            "bot.web.mcp.client_servers:MAX_SESSIONS_EACH",
            "",
            "503; fewer with more than two programs",
        ),
        Bound(
            "… of all programs", "bot.web.mcp.client_servers:MAX_SESSIONS", "", "503; each has an equal share"
        ),
        Bound(
            "… without a request or an open stream",
            "bot.web.mcp.client_servers:SESSION_SECONDS",
            "seconds",
            "it ends, and the program begins another one",
        ),
        Bound(
            "requests and open streams of a program over MCP",
            "bot.web.mcp.client_servers:MAX_REQUESTS_EACH",
            "",
            "503",
        ),
        Bound("… of all programs at once", "bot.web.mcp.client_servers:MAX_REQUESTS", "", "503"),
        Bound(
            "a message on the input of `commonplace mcp`",
            "bot.mcp.stdio:MAX_LINE_BYTES",
            "bytes",
            "skipped, and refused",
        ),
        Bound(
            "notes in one page of a program's list",
            "bot.mcp.note_resources:PAGE_SIZE",
            "",
            "they follow on the next page",
        ),
        Bound(
            "notes that a program follows in one session",
            "bot.mcp.note_subscriptions:MAX_SUBSCRIPTIONS",
            "",
            "refused",
        ),
        Bound("calls in one batch of JSON-RPC", "bot.web.rpc.protocol:MAX_CALLS", "", "refused"),
        Bound("an answer of JSON-RPC", "bot.web.rpc.protocol:MAX_ANSWER_BYTES", "characters", "refused"),
        Bound(
            "wrong tokens from one address in a minute",
            "bot.web.auth:MAX_WRONG_TOKENS",
            "",
            "that address waits",
        ),
        Bound(
            "addresses whose wrong tokens are counted",
            "bot.web.auth:MAX_ADDRESSES",
            "",
            "the oldest is forgotten",
        ),
    ),
    "Archives that are restored": (
        Bound("files", "bot.archives.archive:MAX_FILES", "", "refused"),
        Bound("a path", "bot.archives.archive:MAX_NAME_CHARS", "characters", "refused"),
        Bound("all paths", "bot.archives.archive:MAX_NAMES_CHARS", "characters", "refused"),
        Bound("the header of a file", "bot.archives.tar_members:MAX_EXTENDED_BYTES", "bytes", "refused"),
        Bound("the list at the end", "bot.archives.archive:MAX_MANIFEST_BYTES", "bytes", "refused"),
    ),
}
"""Sorted by what they limit. The size that an archive claims is bounded by the free disk space."""


def bound_value(bound: Bound) -> object:
    """Return a constant's value, or a setting's default. Raises LookupError if the name does not exist."""
    try:
        if not bound.is_setting:
            module, _, name = bound.at.partition(":")
            return getattr(import_module(module), name)
        section: type[BaseModel] = Settings
        *sections, key = bound.at.split(".")
        for each in sections:
            found = section.model_fields[each].annotation
            assert isinstance(found, type)
            section = found
        return section.model_fields[key].default
    except (ImportError, AttributeError, KeyError) as error:
        raise LookupError(f"{bound.at}, which the bound of {bound.what} names, is gone") from error


def format_bound(bound: Bound) -> str:
    """Return a value as `200`, `16 MiB`, `65,536 characters`, `1 h`."""
    value = bound_value(bound)
    if isinstance(value, timedelta):
        value, unit = value.total_seconds(), "seconds"
    else:
        unit = bound.unit
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise LookupError(f"{bound.at} is {value!r}, and no bound")
    if unit == "bytes":
        for size, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
            if value >= size and value % size == 0:
                return f"{value // size:,.0f} {name}"
    if unit == "seconds" and value >= 3600 and value % 3600 == 0:
        return f"{value / 3600:,.0f} h"
    if unit == "seconds":
        return f"{value:g} s"
    return f"{value:,} {unit}".rstrip()


def bound_location(bound: Bound) -> str:
    """Return where it is set, or defined in the code, as Markdown."""
    if bound.is_setting:
        return f"setting `{bound.at}`"
    module, _, name = bound.at.partition(":")
    return f"`{name}` in `{module.replace('.', '/')}.py`"


def bounds_table() -> str:
    """Return the table, as Markdown."""
    lines = ["| what | at most | beyond that | where |", "|---|---|---|---|"]
    for group, bounds in BOUNDS.items():
        lines.append(f"| **{group}** | | | |")
        lines += [
            f"| {each.what} | {format_bound(each)} | {each.beyond} | {bound_location(each)} |"
            for each in bounds
        ]
    return "\n".join(lines)
