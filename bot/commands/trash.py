"""`/memory trash`: list what edits and corrections removed, and restore it."""

import re

from bot import phrases
from bot.commands.command import CommandCall
from bot.note_refs import format_note_ref
from bot.note_writes import RestorePlan
from bot.sanitize import one_line
from bot.services import Services
from bot.trash import NotInTrash, find_removed, plan_restore

MAX_LISTED = 20
MAX_SHOWN_CHARS = 80
"""The most characters of a removed text that the list shows."""

_RESTORE = re.compile(r"restore\s+#?(\d{1,17})\.?", re.IGNORECASE)


async def manage_trash(call: CommandCall, services: Services, what: str) -> str:
    """List removed texts, newest first, or restore one."""
    if not what:
        return await _list(services)
    wanted = _RESTORE.fullmatch(what)
    if wanted is None:
        return phrases.TRASH_USAGE
    return await _restore(wanted[1], call, services)


async def _list(services: Services) -> str:
    removed = [each for each in await services.memory.removed() if not each.is_restored]
    rows = []
    for each in removed[:MAX_LISTED]:
        words = one_line(await services.memory.read_trash(each), limit=MAX_SHOWN_CHARS)
        if not words:  # torn by a crash
            continue
        time = f"{each.at.astimezone(services.now().tzinfo):%Y-%m-%d %H:%M}"
        rows.append(phrases.TRASH_ROW.format(number=each.number, time=time, note=each.note, words=words))
    if not rows:
        return phrases.TRASH_EMPTY
    if len(removed) > MAX_LISTED:
        rows.append(phrases.TRASH_MORE.format(count=len(removed) - MAX_LISTED))
    return phrases.TRASH.format(rows="\n".join(rows))


async def _restore(number: str, call: CommandCall, services: Services) -> str:
    was_replaced = False

    async def find() -> RestorePlan:
        nonlocal was_replaced
        removed = await find_removed(number, services.memory)
        was_replaced = removed.new_lines is not None
        return await plan_restore(removed, services.memory)

    try:
        done = await services.note_writer.restore(find, key=f"{call.key}-{number}", origin=call.origin)
    except NotInTrash as problem:
        return str(problem)
    place = format_note_ref(done.written.path, done.written.line_start, done.written.line_end)
    if done.correction:
        old, new = _quote(done.correction.old), _quote(done.correction.new)
        return phrases.RESTORED_IN_PLACE.format(place=place, old=old, new=new)
    return (phrases.RESTORED_BESIDE if was_replaced else phrases.RESTORED).format(place=place)


def _quote(lines: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in lines.split("\n"))
