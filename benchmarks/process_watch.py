"""Resources of a running process, seen from outside: memory, open files by kind, threads, children. Linux only."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

CLOSE_WAIT = "08"
"""State of a socket that the other side has closed, and ours has not."""


@dataclass(frozen=True, slots=True)
class Held:
    """Resources at one moment."""

    rss: float
    """MB."""
    pss: float
    """MB, with shared memory divided among its users."""
    threads: int
    children: int
    files: Counter[str] = field(default_factory=Counter)
    """Open file descriptors: `pipe`, `[eventpoll]`, or a file name without its digits; no sockets."""
    peers: Counter[str] = field(default_factory=Counter)
    """Sockets by peer; `other` for listening, internal and unknown ones."""
    forsaken: int = 0
    """Sockets that the other side has closed."""

    @property
    def sockets(self) -> int:
        return self.peers.total()

    @property
    def descriptors(self) -> int:
        return self.files.total() + self.sockets


def held_by(pid: int, ports: Mapping[int, str]) -> Held:
    """Return a process's resources; `ports` maps peers' ports to names."""
    place = Path(f"/proc/{pid}")
    memory = _fields(place / "smaps_rollup")
    status = _fields(place / "status")
    files: Counter[str] = Counter()
    peers: Counter[str] = Counter()
    forsaken = 0
    connections = dict(_connections(place))
    for target in _targets(place):
        kind, _, rest = target.partition(":")
        if kind == "socket":
            port, state = connections.get(rest.strip("[]"), (0, ""))
            peers[ports.get(port, "other")] += 1
            forsaken += state == CLOSE_WAIT
        elif kind in ("pipe", "anon_inode"):
            files[rest if kind == "anon_inode" else kind] += 1
        else:
            files[re.sub(r"\d+|[0-9a-f]{16,}", "#", Path(target).name)] += 1
    return Held(
        rss=memory["Rss"] / 1000,
        pss=memory["Pss"] / 1000,
        threads=status["Threads"],
        children=sum(1 for _ in _children(place)),
        files=files,
        peers=peers,
        forsaken=forsaken,
    )


def _fields(file: Path) -> dict[str, int]:
    """Return the numbers in a file such as /proc/1/status, memory in KB of 1000 bytes."""
    found = {}
    for line in file.read_text().splitlines():
        if match := re.match(r"(\w+):\s+(\d+)( kB)?$", line):
            found[match[1]] = round(int(match[2]) * 1.024) if match[3] else int(match[2])
    return found


def _targets(place: Path) -> Iterator[str]:
    for entry in (place / "fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            yield str(entry.readlink())


def _children(place: Path) -> Iterator[str]:
    for task in (place / "task").iterdir():
        with suppress(OSError):  # the thread has ended, or the kernel does not report it
            yield from (task / "children").read_text().split()


def _connections(place: Path) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield every connection by its inode: the peer's port, and the state."""
    for name in ("tcp", "tcp6"):
        with suppress(FileNotFoundError):
            for line in (place / "net" / name).read_text().splitlines()[1:]:
                columns = line.split()
                yield columns[9], (int(columns[2].rpartition(":")[2], 16), columns[3])
