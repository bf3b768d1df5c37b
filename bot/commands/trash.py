"""`/memory trash`: what edits and corrections have removed, and how it is put back."""

import re
from typing import TYPE_CHECKING

from bot import phrases
from bot.commands.command import CommandCall, CommandContext
from bot.journal import PutBack
from bot.places import written_place
from bot.plain_text import one_line
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from memory.memory import Memory

LISTED = 20
WORDS_SHOWN = 80
"""Characters of what was removed."""

_RESTORE = re.compile(r"restore\s+#?(\d{1,9})\.?", re.IGNORECASE)


async def look_into_trash(call: CommandCall, context: CommandContext, what: str) -> str:
    """List what was removed, newest first, or put one of it back."""
    if not what:
        return await _list(context)
    wanted = _RESTORE.fullmatch(what)
    if wanted is None:
        return phrases.TRASH_USAGE
    return await _restore(int(wanted[1]), call, context)


async def _list(context: CommandContext) -> str:
    removed = [each for each in await context.memory.removed() if not each.is_restored]
    rows = []
    for each in removed[:LISTED]:
        words = one_line(await context.memory.removed_text(each), limit=WORDS_SHOWN)
        if not words:  # torn by a crash
            continue
        time = f"{each.at.astimezone(context.now().tzinfo):%Y-%m-%d %H:%M}"
        rows.append(phrases.TRASH_ROW.format(number=each.number, time=time, note=each.note, words=words))
    if not rows:
        return phrases.TRASH_EMPTY
    if len(removed) > LISTED:
        rows.append(phrases.TRASH_MORE.format(count=len(removed) - LISTED))
    return phrases.TRASH.format(rows="\n".join(rows))


class _NotThere(Exception):
    """The text says why nothing is put back."""


async def _restore(number: int, call: CommandCall, context: CommandContext) -> str:
    try:
        written = await context.journal.put_back(
            lambda: _find(number, context.memory), key=f"{call.key}-{number}"
        )
    except _NotThere as problem:
        return str(problem)
    return phrases.RESTORED.format(place=written_place(written.path, written.line_start, written.line_end))


async def _find(number: int, memory: "Memory") -> PutBack:
    found = next((each for each in await memory.removed() if each.number == number), None)
    if found is None:
        raise _NotThere(phrases.TRASH_NO_NUMBER.format(number=number))
    if found.is_restored:
        raise _NotThere(phrases.RESTORED_BEFORE.format(number=number))
    text = await memory.removed_text(found)
    is_whole = found.is_whole
    if not (is_whole or found.is_exact):  # of an earlier version, which did not say
        is_whole = not await _is_there(found.note, memory)
    return PutBack(found.file, text, found.note, is_whole, found.stood)


async def _is_there(path: str, memory: "Memory") -> bool:
    try:
        await memory.get(path, limit=1)
    except MemoryFault:
        return False
    return True
