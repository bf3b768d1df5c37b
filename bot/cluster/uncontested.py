"""Which of our leases nobody else waits for, so that they may outlast their fence; no I/O."""


class UncontestedLeases:
    """Names of our leases that nobody waits for: first offered to the server as such, and kept once it knows.

    A kept lease must never be one that the server has as strict, which others could take; so `discard` it before
    anything else about it is sent.
    """

    def __init__(self) -> None:
        self._offered: set[str] = set()
        """Ours, with nobody waiting: the server is told that we may keep them past the fence."""
        self._kept: set[str] = set()
        """Those that we do keep, since the server knows."""

    @property
    def offered(self) -> frozenset[str]:
        """The leases to name in the next renewal as those that we may keep past the fence."""
        return frozenset(self._offered)

    @property
    def kept(self) -> frozenset[str]:
        """The leases that are held past the fence while the server cannot be reached."""
        return frozenset(self._kept)

    def record_renewal(self, name: str, *, wanted: bool, offered: bool) -> bool:
        """Record that a lease was renewed; return whether the server must learn of a change soon.

        `wanted`: whether another process waits for the lease. `offered`: whether this renewal named it as one
        that we may keep.
        """
        if wanted:
            changed = (
                name in self._offered
            )  # others may rely on the fence as soon as they see that we know of them
            self.discard(name)
            return changed
        if offered:
            self._kept.add(name)
            return False
        changed = name not in self._offered
        self._offered.add(name)
        return changed

    def keep_at_start(self, name: str) -> None:
        """Keep a lease that the server has never reported, as if it had been ours before."""
        self._kept.add(name)

    def discard(self, name: str) -> None:
        """Hold the lease no longer than its fence."""
        self._offered.discard(name)
        self._kept.discard(name)
