from memory.embeddings.protocol import ModelId
from memory.embeddings.query_cache import MAX_CACHED_QUERIES, QueryCache

SMALL = ModelId("openai", "small", 3)
LARGE = ModelId("openai", "large", 3)


def test_a_query_is_cached_only_for_the_model_that_embedded_it() -> None:
    cache = QueryCache()
    cache.put(SMALL, "tea", b"one")
    cache.put(LARGE, "tea", b"two")

    assert (cache.get(SMALL, "tea"), cache.get(LARGE, "tea")) == (b"one", b"two")
    assert cache.get(SMALL, "Tea") is None
    assert cache.get(ModelId("openai", "small", 4), "tea") is None


def test_a_thousand_queries_are_kept_and_the_least_recently_used_is_evicted() -> None:
    cache = QueryCache()
    for number in range(MAX_CACHED_QUERIES):
        cache.put(SMALL, f"query {number}", b"v")
    assert cache.get(SMALL, "query 0") == b"v"
    cache.put(SMALL, "one more", b"v")

    assert len(cache) == MAX_CACHED_QUERIES == 1000
    assert cache.get(SMALL, "query 0") == b"v"
    assert cache.get(SMALL, "query 1") is None


def test_only_a_query_s_vector_is_kept_and_can_be_cleared() -> None:
    cache = QueryCache()
    cache.put(SMALL, "where are my secret papers", b"v")
    assert "secret" not in repr(vars(cache))
    cache.put(SMALL, "\ud800", b"v")

    cache.clear()

    assert (len(cache), cache.get(SMALL, "where are my secret papers")) == (0, None)
