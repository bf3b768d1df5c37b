"""Log lines: for people in a terminal, as JSON elsewhere, and with no secret in them."""

from bot.log.known_secrets import secrets_of
from bot.log.opening import Log, LogFormat, keep_out_of_logs, log_to_file, log_to_stderr
from bot.log.troubles import Trouble, Troubles
from bot.log.work import working_on

__all__ = [
    "Log",
    "LogFormat",
    "Trouble",
    "Troubles",
    "keep_out_of_logs",
    "log_to_file",
    "log_to_stderr",
    "secrets_of",
    "working_on",
]
