"""The services of the running assistant: opened once, and passed to everything that needs them."""

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
    from bot.conversations.search import ConversationSearch
    from bot.forgetting import ForgetService
    from bot.inbox import Inbox
    from bot.language.people import PeopleLanguages
    from bot.limits import DailyBudget, MessageRate
    from bot.log import RecentErrors
    from bot.maintenance.background import Background
    from bot.maintenance.backup_maker import BackupMaker
    from bot.maintenance.rebuild import IndexRebuilder
    from bot.metrics import Metrics
    from bot.models.fallback import FallbackModel
    from bot.note_writes import OnceWriter
    from bot.pairing import Pairing
    from bot.reminders import Reminders
    from bot.state.database import State
    from bot.supervisor import Supervisor
    from memory.embeddings.factory import Embedding
    from memory.memory import Memory


@dataclass(frozen=True, slots=True)
class Services:
    """All of them are open; whoever gets them must not close them."""

    live_settings: "LiveSettings"
    """The settings in force."""
    now: Callable[[], datetime]
    """The current time in the owner's time zone; timezone-aware."""
    memory: "Memory"
    embedding: "Embedding"
    """The embedding providers in use."""
    state: "State"
    model: "FallbackModel"
    commands: "Sequence[Command]"
    access: "Access"
    languages: "PeopleLanguages"
    pairing: "Pairing"
    channels: "Channels"
    inbox: "Inbox"
    note_writer: "OnceWriter"
    compactor: "Compactor"
    forgetting: "ForgetService"
    reminders: "Reminders"
    reader: "AttachmentReader"
    """Reads attachments; transcribes only if it has a provider for that."""
    document_saver: "DocumentSaver"
    """Saves documents that came as attachments."""
    rate: "MessageRate"
    budget: "DailyBudget"
    backups: "Backups"
    backup_maker: "BackupMaker"
    """Makes backups without anybody waiting for them."""
    index_rebuilder: "IndexRebuilder"
    """Must be closed before the memory."""
    background: "Background"
    """Not entered yet: its jobs start when there is a log."""
    supervisor: "Supervisor"
    """Runs the long-lived tasks and knows which of them have failed."""
    metrics: "Metrics"
    recent_errors: "RecentErrors"
    """The latest warnings and errors; empty unless the log collects them."""
    wake_event: "asyncio.Event"
    """Set it when something in state.db is due."""
    locks: Path
    """Folder for the locks of chats, shared by all processes."""
    own_locks: Mapping[str, Path] = field(default_factory=dict)
    """Separate lock folders by channel, for channels that only this process can own."""
    conversations: "ConversationSearch | None" = None
    """None if conversations are not to be searched."""
    instance: "Callable[[], InstanceStatus | None]" = lambda: None
    """Returns this instance's state in its cluster; None if it shares nothing with others."""

    @property
    def settings(self) -> "Settings":
        """The settings in force."""
        return self.live_settings.settings
