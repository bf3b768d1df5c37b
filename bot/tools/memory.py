"""The tools that every assistant has: its memory."""

from typing import Annotated, Any

from pydantic import Field

from bot.note_writes import OnceWriter
from bot.tools.toolbox import Tool, ToolUse, tool
from memory.memory import Memory, WriteTarget
from memory.notes import NoteText, WriteResult
from memory.search import SearchHit

GET_CHARS = 20_000
"""The longest piece of a note that one call gives."""

SEARCH_LIMIT = 50


def memory_tools(memory: Memory, journal: OnceWriter) -> tuple[Tool, ...]:
    """Give the tools by which a model searches, reads, writes and corrects the notes; a call is carried out once."""

    @tool
    async def memory_search(
        query: Annotated[str, Field(description="What the note would say: key words, or a question.")],
        limit: Annotated[
            int | None,
            Field(description="How many passages at most; usually left out.", ge=1, le=SEARCH_LIMIT),
        ] = None,
    ) -> dict[str, Any]:
        """Find passages in the notes, everything that was ever remembered.

        Use it before you answer about the person, their people, plans, things or past, and before you say
        that you do not know. If nothing fits, try other words once or twice.
        """
        found = await memory.search(query, limit=limit)
        results = [_format_hit(hit) for hit in found.hits]
        return {"results": results, "notice": found.notice} if found.notice else {"results": results}

    @tool
    async def memory_get(
        path: Annotated[
            str, Field(description="A note, as a search names it, such as 2026-11-21.md or MEMORY.md.")
        ],
        line: Annotated[int, Field(description="The first line, counted from 1.", ge=1)] = 1,
        limit: Annotated[int | None, Field(description="How many lines; left out: to the end.", ge=1)] = None,
    ) -> dict[str, Any]:
        """Read a note or some lines of it, when a passage from memory_search is not enough."""
        return _truncate_note(await memory.get(path, line=line, limit=limit))

    @tool
    async def memory_write(
        content: Annotated[
            str,
            Field(
                description="One fact in a sentence that will be understood in years: names, not pronouns; "
                'dates, not "tomorrow"; in the language of the person.'
            ),
        ],
        target: Annotated[
            WriteTarget,
            Field(
                description="daily: today's log, for most things. core: the few facts to know at all times."
            ),
        ],
        use: ToolUse,
    ) -> dict[str, Any]:
        """Keep something for good.

        Use it at once when the person asks to remember, or tells a fact, decision, plan or preference that
        will matter later; not for small talk, nor for what is in the notes already.
        """
        return _format_lines(await journal.write(content, key=use.key, target=target))

    @tool
    async def memory_edit(
        path: Annotated[str, Field(description="The note, as a search names it.")],
        old: Annotated[
            str, Field(description="The passage to be replaced, exactly as it stands there, just once.")
        ],
        new: Annotated[str, Field(description="What stands there from now on; empty to remove the passage.")],
        use: ToolUse,
    ) -> dict[str, Any]:
        """Correct or remove a passage of a note that is wrong or no longer true; read it first."""
        return _format_lines(await journal.edit(path, old, new, key=use.key))

    return memory_search, memory_get, memory_write, memory_edit


def _format_hit(hit: SearchHit) -> dict[str, Any]:
    told: dict[str, Any] = {
        "path": hit.path,
        "line_start": hit.line_start,
        "line_end": hit.line_end,
        "snippet": hit.snippet,
        "score": round(hit.score, 3),
        "source": hit.source,
        "told": hit.told and hit.told.isoformat(),
    }
    return {**told, "heading": hit.heading} if hit.heading else told


def _format_lines(written: WriteResult) -> dict[str, Any]:
    return {"path": written.path, "line_start": written.line_start, "line_end": written.line_end}


def _truncate_note(note: NoteText) -> dict[str, Any]:
    """Cut a long note after a whole line, and say how to go on."""
    text, last, more = note.text, note.line_end, ""
    if len(text) > GET_CHARS:
        text = text[: text.rfind("\n", 0, GET_CHARS) + 1] or text[:GET_CHARS]
        last = note.line_start + text.rstrip("\n").count("\n")
        more = f"Cut here; to go on: line={last + 1}."
    told = {
        "path": note.path,
        "line_start": note.line_start,
        "line_end": last,
        "total_lines": note.total_lines,
        "text": text,
    }
    return {**told, "note": more} if more else told
