"""How the C library hands out memory: such that a service of years gives back what it needs no more."""

import os

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Numbers of glibc's malloc.h."""
MMAP_THRESHOLD_BYTES = 256 * 1024
"""A piece from this size on is mapped by itself, and given back whole."""
MAX_ARENAS = 2


def tune_malloc() -> None:
    """Have glibc give back what threads have let go of; before there are any. Elsewhere it does nothing.

    Left alone, it takes the size of the largest picture that was ever decoded for usual, and each of a dozen threads
    keeps twice as much for later: 180 MB after an hour of attachments. Who has set it in the environment is heeded.
    """
    if "GLIBC_TUNABLES" in os.environ or any(name.startswith("MALLOC_") for name in os.environ):
        return
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(M_ARENA_MAX, MAX_ARENAS)
        library.mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)


def trim_heap() -> None:
    """Have glibc give back what lies free between pieces in use, which takes some milliseconds. Elsewhere nothing."""
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
