"""The limit on files and connections that this process may have open."""

import resource

WANTED_DESCRIPTORS = 8192
"""Many systems start a program with 1,024 and allow more on request."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit as far as the hard one allows, up to `WANTED_DESCRIPTORS`; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(WANTED_DESCRIPTORS, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # macOS has a lower limit of its own
        return soft
    return wanted
