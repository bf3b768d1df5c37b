"""Choose the vector searcher by how often it will be used."""

from memory.index.vector_search.binary_quantization import BinaryVectorSearcher
from memory.index.vector_search.protocol import VectorSearcher
from memory.index.vector_search.sqlite_vec import ExtensionMissing, SqliteVecSearcher


def open_vector_searcher(*, lasting: bool) -> VectorSearcher:
    """Return numpy's searcher if `lasting`, for a service that searches often; else sqlite-vec's.

    sqlite-vec reads all vectors for each search but needs no numpy, whose import alone takes longer. If it
    cannot be loaded, numpy replaces it, and `VectorSearcher.reason` says why.
    """
    if lasting:
        return BinaryVectorSearcher()
    try:
        return SqliteVecSearcher()
    except ExtensionMissing as missing:
        return BinaryVectorSearcher(reason=str(missing))
