"""Logging: text for people in a terminal, JSON elsewhere, and no secrets in either."""

from bot.log.context import log_context
from bot.log.known_secrets import collect_secrets
from bot.log.recent_errors import RecentError, RecentErrors
from bot.log.setup import Log, LogFormat, log_to_file, log_to_stderr, redact_logs

__all__ = [
    "Log",
    "LogFormat",
    "RecentError",
    "RecentErrors",
    "collect_secrets",
    "log_context",
    "log_to_file",
    "log_to_stderr",
    "redact_logs",
]
