"""Log changes between instances, each once: who does which job, and who has died."""

import logging
from collections.abc import Collection, Sequence

from bot.cluster.instance import Instance
from bot.cluster.lease_table import LeaseRow
from bot.cluster.status import JOB_PREFIX, format_lease_name
from bot.sanitize import one_line

log = logging.getLogger(__name__)


class LeaseEvents:
    """Compares the leases with the previous look; instances already silent at the first look are not logged."""

    def __init__(self, us: Instance) -> None:
        self._us = us
        self._jobs: dict[str, str] = {}
        """Id of the holder last logged, by job."""
        self._silent: set[str] = set()
        """Ids of instances that have not renewed their leases."""
        self._logged: set[str] = set()
        """The silent ones whose silence was logged."""
        self._is_new = True

    def mark_unreachable(self) -> None:
        """Note that the server did not answer: instances silent at the next look may not have reached it either."""
        self._is_new = True

    def log_changes(self, rows: Sequence[LeaseRow], *, free: Collection[str]) -> None:
        """Log what has changed; `free`: names of the leases that may be taken."""
        for row in rows:
            if row.name.startswith(JOB_PREFIX) and row.holder and not self._is_silent(row, free):
                self._log_job(row)
        others = {row.holder: row for row in rows if row.holder not in ("", self._us.id)}
        silent = others.keys() - {row.holder for row in rows if not self._is_silent(row, free)}
        for holder in silent - self._silent:
            if not (self._is_new or self._is_our_previous(others[holder])):
                self._logged.add(holder)
                log.warning(
                    "%s stopped renewing its leases: it has died or cannot reach the server of index.url",
                    one_line(others[holder].holder_name),
                )
        for holder in self._logged & (others.keys() - silent):
            log.info("%s is back", one_line(others[holder].holder_name))
        self._logged &= silent
        self._silent, self._is_new = silent, False

    def _log_job(self, row: LeaseRow) -> None:
        if self._jobs.get(row.name) != row.holder:
            self._jobs[row.name] = row.holder
            who = "this instance" if row.holder == self._us.id else one_line(row.holder_name)
            log.info("%s: now done by %s", format_lease_name(row.name), who)

    def _is_silent(self, row: LeaseRow, free: Collection[str]) -> bool:
        """Return whether its holder is silent; one silent at the first look stays so until its lease may be taken."""
        return row.name in free or (row.expired and (self._is_new or row.holder in self._silent))

    def _is_our_previous(self, row: LeaseRow) -> bool:
        """Return whether an earlier process of this instance held it."""
        return row.workspace == self._us.workspace and row.holder_name == self._us.name
