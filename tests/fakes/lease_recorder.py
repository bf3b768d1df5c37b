"""Record when a process holds which lease, on the clock that all processes share.

A line of its file: name, token, process id, from, to. A thread records, so a busy loop does not matter.
"""

import os
import threading
import time
from pathlib import Path

from bot.cluster.lease import Lease
from bot.cluster.times import boot_time

LOOK_SECONDS = 0.004
WRITE_SECONDS = 0.05
MAX_GAP_SECONDS = 0.02
MAX_LOOK_SECONDS = 0.001
"""Maximum seconds between two clock readings of one record: a process stopped between them gives a wrong time."""


def start_recording(leases: dict[str, Lease], us: str, file: Path) -> None:
    """Record until the process ends; `leases` by name may change meanwhile."""
    threading.Thread(target=_record, args=(leases, us, file), daemon=True).start()


def _record(leases: dict[str, Lease], us: str, file: Path) -> None:
    spans: dict[str, tuple[int, float, float]] = {}
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    written = boot_time()
    while True:
        for name, lease in list(leases.items()):
            token, before = lease.token, boot_time()
            held, after = lease.is_held, boot_time()
            if not held or after - before > MAX_LOOK_SECONDS or lease.token != token:
                continue
            span = spans.get(name)
            if span and span[0] == token and before - span[2] < MAX_GAP_SECONDS:
                spans[name] = (token, span[1], before)
                continue
            if span:
                _write_span(fd, name, us, span)
            spans[name] = (token, before, before)
            _write_span(
                fd, name, us, spans[name]
            )  # at once, because a process killed a moment later has held it too
        if boot_time() - written > WRITE_SECONDS:
            written = boot_time()
            for name, span in list(spans.items()):
                _write_span(fd, name, us, span)
                if written - span[2] > MAX_GAP_SECONDS:
                    del spans[name]
        time.sleep(LOOK_SECONDS)


def _write_span(fd: int, name: str, us: str, span: tuple[int, float, float]) -> None:
    os.write(fd, f"{name} {span[0]} {us} {span[1]:.6f} {span[2]:.6f}\n".encode())
