"""What a process that reads a stranger's file may use of this machine; called by that process itself."""

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
"""A number of Linux's prctl.h."""


def limit_this_process(*, memory_bytes: int, cpu_seconds: int) -> None:
    """Take away what a stranger's file could misuse; a system that does not know one of these has the others.

    Where the whole machine, or its container, runs out of memory, this process is what the system kills. It ends with
    the process that has started it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    limits = (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, most in limits:
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(OSError):
        os.nice(5)
