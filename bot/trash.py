"""What the trash holds, and how it is restored, for chats and the page."""

from typing import TYPE_CHECKING

from bot import phrases
from bot.note_writes import RestorePlan
from memory.errors import MemoryFault
from memory.formatting import format_block

if TYPE_CHECKING:
    from memory.memory import Memory
    from memory.trash import TrashItem


class NotInTrash(Exception):
    """Nothing can be restored; the text says why."""


async def find_removed(number: str, memory: "Memory") -> "TrashItem":
    """Return what has this number in the trash. Raises NotInTrash."""
    found = await memory.find_removed(number)
    if not found:
        raise NotInTrash(phrases.TRASH_NO_NUMBER.format(number=number))
    if len(found) > 1:
        raise NotInTrash(phrases.TRASH_SEVERAL.format(number=number))
    if found[0].is_restored:
        raise NotInTrash(phrases.RESTORED_BEFORE.format(number=number))
    return found[0]


async def plan_restore(removed: "TrashItem", memory: "Memory") -> RestorePlan:
    """Return how to restore something. Raises EditRefused if it is in its note already."""
    text = await memory.read_trash(removed)
    is_whole = removed.is_whole
    if not (is_whole or removed.is_exact):  # written by an earlier version, which did not record it
        is_whole = not await _note_exists(removed.note, memory)
    replaces = await memory.find_replacement(removed, block=format_block(text)) if removed.new_lines else None
    return RestorePlan(removed.file, text, removed.note, is_whole, removed.stood, replaces)


async def _note_exists(path: str, memory: "Memory") -> bool:
    try:
        await memory.get(path, limit=1)
    except MemoryFault:
        return False
    return True
