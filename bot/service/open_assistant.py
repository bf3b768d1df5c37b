"""Open everything the assistant needs, in order, and close it in reverse."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from bot.assistant import Assistant
from bot.attachments.open_transcriber import open_transcriber
from bot.cannot_start import CannotStart
from bot.config.reload import LiveSettings
from bot.config.settings import Settings
from bot.conversations.open_search import open_conversation_search
from bot.embedding import open_embedding_from_settings
from bot.index_server import index_server
from bot.log import RecentErrors
from bot.metrics import Metrics
from bot.models.factory import open_model
from bot.open_state import open_state
from bot.process_lock import RESTORE_UNFINISHED, ProcessLock, is_unfinished
from bot.service.adapters import forget_typed_input
from bot.service.assembly import assemble, services_of
from bot.supervisor import Supervisor
from memory.memory import Memory

if TYPE_CHECKING:
    from bot.cluster.membership import Membership


@asynccontextmanager
async def open_assistant(
    settings: Settings,
    *,
    alone: bool = False,
    lasting: bool = True,
    membership: "Membership | None" = None,
    recent_errors: RecentErrors | None = None,
    supervisor: Supervisor | None = None,
) -> AsyncIterator[Assistant]:
    """Open the assistant and all its parts.

    `alone`: this process is the service, which watches the notes and re-indexes them regularly; a second watcher
    would pay twice for each note. `lasting`: more than one message will come. `membership`: this process's membership
    among other instances. `recent_errors`: recent errors of a log already started. `supervisor`: an existing one that
    already runs tasks.

    Raises CannotStart if the private folder cannot be used or a restore is unfinished.
    """
    embedding = open_embedding_from_settings(settings)
    notes, private, now = settings.memory, settings.private_folder, settings.now
    if not alone:
        notes = notes.model_copy(update={"watch": notes.watch.model_copy(update={"enabled": False})})
    async with AsyncExitStack() as stack:
        try:
            presence = stack.enter_context(ProcessLock(private / "locks"))  # prevents restores from here on
        except OSError as error:
            reason = error.strerror or error
            raise CannotStart(
                f"{private} cannot be used ({reason}): fix that, or set workspace to another folder"
            ) from error
        if is_unfinished(private):
            raise CannotStart(RESTORE_UNFINISHED)
        is_ours = (lambda: membership.is_uninterrupted) if membership else lambda: True
        state = await stack.enter_async_context(open_state(settings, is_ours=is_ours))
        if server := index_server(settings):
            stack.callback(server.close)
        memory = await stack.enter_async_context(
            Memory(
                notes,
                workspace=settings.workspace,
                now=now,
                embedding=embedding,
                lasting=lasting,
                server=server,
                instance=settings.instance.name,
            )
        )
        live_settings = LiveSettings(settings)
        conversations = open_conversation_search(live_settings, embedding=embedding, lasting=lasting, now=now)
        if conversations:
            stack.push_async_callback(conversations.aclose)
            state.on_append(conversations.note_said)
        metrics = Metrics()
        model = await stack.enter_async_context(open_model(settings, state, os.environ, metrics=metrics))
        services = services_of(
            live_settings,
            process_lock=presence,
            state=state,
            memory=memory,
            model=model,
            metrics=metrics,
            now=now,
            alone=alone,
            membership=membership,
            conversations=conversations,
            forget_typed=partial(forget_typed_input, private),
            supervisor=supervisor,
            embedding=embedding,
            recent_errors=recent_errors,
        )
        stack.push_async_callback(services.index_rebuilder.close)
        stack.push_async_callback(services.backup_maker.close)
        services.reader.speech.replace(*open_transcriber(settings, os.environ))
        stack.push_async_callback(services.reader.speech.close)
        yield assemble(services)
