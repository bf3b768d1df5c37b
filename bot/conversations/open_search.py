"""Opens the search of conversations as the settings say."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from bot.conversations.index_file import delete_index
from bot.conversations.search import ConversationSearch
from memory.disk import reason

if TYPE_CHECKING:
    from bot.config.reload import LiveSettings
    from memory.embeddings.factory import Embedding

log = logging.getLogger(__name__)


def open_conversation_search(
    live_settings: "LiveSettings",
    *,
    now: Callable[[], datetime],
    embedding: "Embedding | None" = None,
    lasting: bool = False,
) -> ConversationSearch | None:
    """Return the search; None if it is switched off: then an index that was made before is deleted.

    For `embedding`, `lasting` and `now` see `ConversationSearch`.
    """
    settings = live_settings.settings
    if settings.memory.conversations.enabled:
        return ConversationSearch(
            settings.private_folder,
            memory=settings.memory,
            settings=settings.memory.conversations,
            now=now,
            agent_name=lambda: live_settings.settings.agent.name,
            embedding=embedding,
            lasting=lasting,
        )
    try:
        delete_index(settings.private_folder)
    except OSError as error:
        log.warning("the index of conversations could not be deleted: %s", reason(error))
    return None
