"""What the assistant is made of: opened once, and handed to all who work with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from bot.access import Access
    from bot.archives.backup import Backups
    from bot.attachments.reader import AttachmentReader
    from bot.attachments.save_document import DocumentSaver
    from bot.channels import Channels
    from bot.cluster.status import InstanceStatus
    from bot.commands.command import Command
    from bot.config.reload import LiveSettings
    from bot.config.settings import Settings
    from bot.conversations.compaction import Compactor
    from bot.forgetting import ForgetService
    from bot.inbox import Inbox
    from bot.limits import DailyBudget, MessageRate
    from bot.log import RecentErrors
    from bot.maintenance.background import Background
    from bot.maintenance.rebuild import IndexRebuilder
    from bot.metrics import Metrics
    from bot.models.fallback import FallbackModel
    from bot.note_writes import OnceWriter
    from bot.reminders import Reminders
    from bot.state.database import State
    from bot.supervisor import Supervisor
    from memory.embeddings.factory import Embedding
    from memory.memory import Memory


@dataclass(frozen=True, slots=True)
class Services:
    """All of them are open. Take what you need, and close nothing."""

    current: "LiveSettings"
    """The settings in force now."""
    now: Callable[[], datetime]
    """The time on the owner's clock; aware."""
    memory: "Memory"
    embedding: "Embedding"
    """Which providers make the vectors of the notes."""
    state: "State"
    model: "FallbackModel"
    commands: "Sequence[Command]"
    access: "Access"
    channels: "Channels"
    inbox: "Inbox"
    journal: "OnceWriter"
    compactor: "Compactor"
    forgetting: "ForgetService"
    reminders: "Reminders"
    reader: "AttachmentReader"
    """Reads attachments. It transcribes nothing until it is given a provider for that."""
    filing: "DocumentSaver"
    """Files documents that came as attachments."""
    rate: "MessageRate"
    budget: "DailyBudget"
    backups: "Backups"
    rebuilding: "IndexRebuilder"
    """Close it before the memory."""
    upkeep: "Background"
    """Not entered: its jobs start once there is a log."""
    supervisor: "Supervisor"
    """Runs the long-lived tasks and knows which of them have failed."""
    measures: "Metrics"
    troubles: "RecentErrors"
    """The latest warnings and errors, where the log keeps them."""
    woken: "asyncio.Event"
    """Set it when something in state.db is due."""
    locks: Path
    """The folder for the locks of chats, shared by all processes."""
    own_locks: Mapping[str, Path] = field(default_factory=dict)
    """Another folder, by channel, for locks that no other process can have, even one that was halted."""
    instance: "Callable[[], InstanceStatus | None]" = lambda: None
    """How this instance stands to the others; None where it shares nothing with any."""

    @property
    def settings(self) -> "Settings":
        """The settings in force now."""
        return self.current.settings
