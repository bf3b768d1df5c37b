"""Chooses how alike texts are looked for: by how often it will be done."""

from memory.index.vector_search.binary_quantization import BinaryVectorSearcher
from memory.index.vector_search.protocol import VectorSearcher
from memory.index.vector_search.sqlite_vec import ExtensionMissing, SqliteVecSearcher


def open_vector_searcher(*, lasting: bool) -> VectorSearcher:
    """Return numpy's way where `lasting`, for a service that searches again and again; else sqlite-vec's.

    sqlite-vec reads all vectors for each search, and needs no numpy, whose import alone takes longer than that.
    Where it does not load, numpy takes its place, and `VectorSearcher.reason` says why.
    """
    if lasting:
        return BinaryVectorSearcher()
    try:
        return SqliteVecSearcher()
    except ExtensionMissing as missing:
        return BinaryVectorSearcher(reason=str(missing))
