"""Report the health of a connection, and log each problem and each recovery once."""

import logging
from collections.abc import Callable

from bot.messages import ChannelHealth
from bot.sanitize import one_line
from memory.redaction import remove_secrets
from memory.translatable import map_fields

log = logging.getLogger(__name__)

LOG_AFTER_FAILURES = 2
"""Consecutive failures before one is reported: a single one is common and passes within a second."""


class HealthReports:
    """Reports the health of one connection to a callback and to the log, without the bot's token."""

    def __init__(self, platform: str, report: Callable[[ChannelHealth], None], *, token: str) -> None:
        """`platform`: its name as people write it."""
        self._platform = platform
        self._report = report
        self._token = token
        self._problem = ""
        self.down = ""
        """Why the connection is down; "" while it works."""

    def report_up(self) -> None:
        """Report that the connection works, with the current problem if there is one."""
        if self.down:
            log.info("%s: connected again", self._platform)
        self.down = ""
        self._report(ChannelHealth("up", self._problem))

    def report_contested(self) -> None:
        """Report that the connection works for the moment, but is soon to be as it was."""
        self._report(ChannelHealth("up", self.down))

    def report_down(self, detail: str, *, is_network: bool) -> None:
        """Report why the connection does not work.

        Another problem is logged if its remedy differs, but not each new kind of network error.
        """
        detail = self._clean(detail)
        if not self.down or (detail != self.down and not is_network):
            self._warn(detail)
        self.down = detail
        self._report(ChannelHealth("down", detail))

    def set_problem(self, detail: str) -> bool:
        """Set a problem that leaves the connection working, with its remedy, in one line; "" for none.

        Return whether it changed; it is reported with the next `report_up`.
        """
        detail = self._clean(detail)
        if detail == self._problem:
            return False
        if detail:
            self._warn(detail)
        else:
            log.info("%s: works without problems again", self._platform)
        self._problem = detail
        return True

    def _warn(self, detail: str) -> None:
        # Most details begin with the platform's name themselves.
        log.warning("%s", detail if detail.startswith(self._platform) else f"{self._platform}: {detail}")

    def _clean(self, detail: str) -> str:
        return map_fields(detail, lambda text: one_line(remove_secrets(text, [self._token])))
