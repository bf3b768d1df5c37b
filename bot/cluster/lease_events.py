"""What the log tells of the instances: who does which job from now on, and who has died; each change once."""

import logging
from collections.abc import Collection, Sequence

from bot.cluster.instance import Instance
from bot.cluster.lease_table import LeaseRow
from bot.cluster.status import JOB_PREFIX, format_lease_name
from bot.sanitize import one_line

log = logging.getLogger(__name__)


class LeaseEvents:
    """Compares each look at the leases with the one before. Who was dead already at the first look is not told of."""

    def __init__(self, us: Instance) -> None:
        self._us = us
        self._jobs: dict[str, str] = {}
        """Who was last told to do them, by his id."""
        self._silent: set[str] = set()
        """Ids of those that have not renewed what they have."""
        self._told: set[str] = set()
        """Of these, those that were told of."""
        self._is_new = True

    def mark_unreachable(self) -> None:
        """The server did not answer: who is silent at the next look could perhaps not reach it either."""
        self._is_new = True

    def log_changes(self, rows: Sequence[LeaseRow], *, free: Collection[str]) -> None:
        """Tell what has changed; `free`: the leases that may be taken."""
        for row in rows:
            if row.name.startswith(JOB_PREFIX) and row.holder and not self._is_silent(row, free):
                self._log_job(row)
        others = {row.holder: row for row in rows if row.holder not in ("", self._us.id)}
        silent = others.keys() - {row.holder for row in rows if not self._is_silent(row, free)}
        for holder in silent - self._silent:
            if not (self._is_new or self._is_our_previous(others[holder])):
                self._told.add(holder)
                log.warning(
                    "%s has died, or cannot reach the server of index.url: it renews its leases no longer",
                    one_line(others[holder].holder_name),
                )
        for holder in self._told & (others.keys() - silent):
            log.info("%s is heard of again", one_line(others[holder].holder_name))
        self._told &= silent
        self._silent, self._is_new = silent, False

    def _log_job(self, row: LeaseRow) -> None:
        if self._jobs.get(row.name) != row.holder:
            self._jobs[row.name] = row.holder
            who = "this instance" if row.holder == self._us.id else one_line(row.holder_name)
            log.info("%s: by %s from now on", format_lease_name(row.name), who)

    def _is_silent(self, row: LeaseRow, free: Collection[str]) -> bool:
        """Who was so at the first look is so too where what he has may not be taken yet."""
        return row.name in free or (row.expired and (self._is_new or row.holder in self._silent))

    def _is_our_previous(self, row: LeaseRow) -> bool:
        """Whether an earlier process of this very instance had it."""
        return row.workspace == self._us.workspace and row.holder_name == self._us.name
