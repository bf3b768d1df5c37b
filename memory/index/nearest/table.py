"""Chooses how alike texts are looked for: by what is installed, and by how often it will be done."""

from memory.index.nearest.plain import PlainNearest
from memory.index.nearest.protocol import Nearest
from memory.index.nearest.sqlite_vec import ExtensionMissing, SqliteVecNearest


def open_nearest(*, lasting: bool) -> Nearest:
    """`lasting`: for a service that searches again and again; else for one search, as from the command line.

    `Nearest.reason` says why where it could not be the one that fits best.
    """
    if lasting:
        reason = numpy_fault()
        if not reason:
            return _sign_bits("")
        return _sqlite_vec(reason)
    try:
        return SqliteVecNearest()
    except ExtensionMissing as missing:
        reason = str(missing)
    fault = numpy_fault()
    return PlainNearest(reason=f"{reason}; {fault}") if fault else _sign_bits(reason)


def numpy_fault() -> str:
    """Why numpy cannot be used; empty where it can."""
    try:
        import numpy as np
    except ImportError:
        return "numpy is not installed"
    return "" if hasattr(np, "bitwise_count") else f"numpy {np.__version__} is older than 2"


def _sign_bits(reason: str) -> Nearest:
    from memory.index.nearest.sign_bits import SignBitsNearest

    return SignBitsNearest(reason=reason)


def _sqlite_vec(reason: str) -> Nearest:
    try:
        return SqliteVecNearest(reason=reason)
    except ExtensionMissing as missing:
        return PlainNearest(reason=f"{reason}; {missing}")
