"""`/memory cache clear`: remove cached vectors that no note needs."""

from bot import phrases
from bot.commands.command import CommandCall
from bot.services import Services


async def manage_cache(call: CommandCall, services: Services, what: str) -> str:
    """Clear the cache, or show the usage."""
    del call
    if what.strip().lower() != "clear":
        return phrases.CACHE_WHAT
    cleared = await services.memory.clear_cache()
    return phrases.CACHE_CLEARED.format(cleared=cleared.vectors, queries=cleared.queries, kept=cleared.kept)
