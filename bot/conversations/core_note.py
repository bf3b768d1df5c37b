"""The core note, MEMORY.md: how much of it every conversation sees, and the warning about a longer one."""

from bot import phrases
from bot.language.text import join_sentences
from memory.errors import NoteMissing
from memory.memory import CORE_NOTE, Memory

CORE_CHARS = 6_000
"""Characters of it that each conversation begins with."""
CUT = "[cut here: line {line} and what follows is left out; {how}]"


def visible_part(text: str, *, the_rest: str) -> str:
    """Return the beginning of the core note in whole lines, with a mark where it was cut.

    `the_rest`: tells the model how to see what follows.
    """
    kept = _truncate(text)
    if not is_too_long(text):
        return kept.strip()
    return f"{kept.strip()}\n{CUT.format(line=count_visible_lines(text) + 1, how=the_rest)}"


def count_visible_lines(text: str) -> int:
    """Return the number of the last line of the core note that every conversation sees."""
    above = len(text) - len(text.lstrip("\n"))
    return above + _truncate(text).count("\n") + 1


def is_too_long(text: str) -> bool:
    """Return whether conversations do not see all of the core note."""
    return len(text.strip("\n")) > CORE_CHARS


def length_warning(text: str) -> str:
    """Return two sentences that say that the core note is too long and what to do about it; "" if it is not."""
    if not is_too_long(text):
        return ""
    chars = len(text.strip("\n"))
    told = phrases.CORE_TOO_LONG.format(chars=chars, most=CORE_CHARS, line=count_visible_lines(text))
    return join_sentences([told, phrases.CORE_SHORTEN])


async def read_core_note(memory: Memory) -> str:
    """Return the text of MEMORY.md; "" if there is none. Raises MemoryFault."""
    try:
        return (await memory.get(CORE_NOTE)).text
    except NoteMissing:
        return ""


async def core_warning(memory: Memory) -> str:
    """Return `length_warning` of the present core note. Raises MemoryFault."""
    return length_warning(await read_core_note(memory))


def _truncate(text: str) -> str:
    text = text.strip("\n")
    if len(text) <= CORE_CHARS:
        return text
    end = text.rfind("\n", 0, CORE_CHARS)
    return text[: end if end > 0 else CORE_CHARS].rstrip("\n")
