"""Collects what the first page shows: what needs attention, and what was and will be today."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from bot.conversations.core_note import core_warning
from bot.messages import ChannelHealth
from bot.services import Services
from bot.web.changes import shows_changes
from bot.web.page import alerts
from bot.web.page.changes import ChangesView, changes_view
from bot.web.page.models import ModelView, model_panel
from bot.web.page.panel import Panel, load_panel
from bot.web.page.progress import ProgressView, progress_view
from bot.web.page.times import PageClock
from bot.web.page.todo import read_todo
from memory.status import MemoryStatus


@dataclass(frozen=True, slots=True)
class TodayView:
    """The values of the template."""

    alerts: tuple[str, ...]
    """What needs attention."""
    changes: Panel[ChangesView] | None
    """None if they may not be shown."""
    memory: Panel[MemoryStatus]
    progress: ProgressView
    models: Panel[tuple[ModelView, ...]]
    channels: Mapping[str, ChannelHealth]
    unread: Mapping[str, int]
    """Messages of each channel that could not be read, and were kept."""
    clock: PageClock


async def today_view(services: Services) -> TodayView:
    """Ask all parts concurrently; one that fails or is slow becomes a `Panel` that says so."""
    memory, core_note, models, todo, changes = await asyncio.gather(
        load_panel(services.memory.status()),
        load_panel(core_warning(services.memory)),
        load_panel(model_panel(services)),
        load_panel(read_todo(services)),
        _changes(services),
    )
    now, channels = services.now(), services.channels.health()
    clock = PageClock(now)
    return TodayView(
        alerts=(
            *alerts.channel_alerts(channels),
            *alerts.instance_alerts(services.instance()),
            *alerts.memory_alerts(memory),
            *alerts.core_note_alerts(core_note),
            *alerts.model_alerts(models.shown or (), clock),
            *alerts.task_alerts(services.supervisor.failures, now),
            *alerts.job_alerts(services.background.jobs),
            *alerts.error_alerts(services.recent_errors.recent(), now),
        ),
        changes=changes,
        memory=memory,
        progress=progress_view(services),
        models=models,
        channels=channels,
        unread=todo.shown[0].unread if todo.shown else {},
        clock=clock,
    )


async def _changes(services: Services) -> Panel[ChangesView] | None:
    return await load_panel(changes_view(services)) if shows_changes(services) else None
