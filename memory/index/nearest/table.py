"""Chooses how alike texts are looked for: by how often it will be done."""

from memory.index.nearest.protocol import Nearest
from memory.index.nearest.sign_bits import SignBitsNearest
from memory.index.nearest.sqlite_vec import ExtensionMissing, SqliteVecNearest


def open_nearest(*, lasting: bool) -> Nearest:
    """Return numpy's way where `lasting`, for a service that searches again and again; else sqlite-vec's.

    sqlite-vec reads all vectors for each search, and needs no numpy, whose import alone takes longer than that.
    Where it does not load, numpy takes its place, and `Nearest.reason` says why.
    """
    if lasting:
        return SignBitsNearest()
    try:
        return SqliteVecNearest()
    except ExtensionMissing as missing:
        return SignBitsNearest(reason=str(missing))
