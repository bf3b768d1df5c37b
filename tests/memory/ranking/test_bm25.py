"""The formula is the same in Python, in SQL and in FTS5."""

import random
import sqlite3

import pytest

from memory.ranking import bm25


def test_sql_computes_what_python_does() -> None:
    choose = random.Random(1)
    sql = bm25.score_sql(weight=":weight", count=":count", length=":length", average=":average")
    db = sqlite3.connect(":memory:")
    for _ in range(200):
        weight, average = choose.uniform(0, 12), choose.uniform(1, 500)
        count, length = choose.randrange(0, 300), choose.randrange(1, 900)
        values = {"weight": weight, "count": count, "length": length, "average": average}
        (computed,) = db.execute(f"SELECT {sql}", values).fetchone()
        expected = bm25.score([weight], [count], bm25.length_norm(length, average))
        assert computed == pytest.approx(expected, rel=1e-12)
    db.close()


def test_fts5_scores_by_the_same_formula_with_its_own_weights() -> None:
    choose = random.Random(2)
    words = [f"w{n}" for n in range(12)]
    texts = [
        choose.choices(words, [1 / (n + 1) for n in range(12)], k=choose.randint(3, 40)) for _ in range(90)
    ]
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE texts USING fts5 (words)")
    db.executemany("INSERT INTO texts (rowid, words) VALUES (?, ?)", enumerate(map(" ".join, texts), 1))
    frequencies = {word: sum(word in text for text in texts) for word in words}
    average = sum(map(len, texts)) / len(texts)
    assert min(frequencies.values()) < len(texts) / 2 < max(frequencies.values())
    for one in words:
        for other in words:
            asked = [one, other][: 1 + (one != other)]
            weights = [bm25.fts5_weight(frequencies[word], len(texts)) for word in asked]
            for row, score in db.execute(
                "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?", (" OR ".join(asked),)
            ):
                text = texts[row - 1]
                expected = bm25.score(weights, map(text.count, asked), bm25.length_norm(len(text), average))
                assert score == pytest.approx(expected, rel=1e-9)
    db.close()


def test_the_frequency_follows_from_the_weight_in_fts5() -> None:
    for chunks in (3, 40, 100_000):
        for frequency in {1, chunks // 9 or 1, chunks // 3}:
            weight = bm25.fts5_weight(frequency, chunks)
            assert bm25.fts5_frequency(weight, chunks) == pytest.approx(frequency, abs=1e-6)


def test_each_word_once_in_a_text_of_average_length_scores_the_sum_of_the_weights() -> None:
    weights = [0.5, 0.3, 0.2]
    norm = bm25.length_norm(40, 40)
    assert norm == pytest.approx(bm25.AVERAGE_NORM)
    assert bm25.score(weights, [1, 1, 1], norm) == pytest.approx(1.0)
    assert bm25.score(weights, [10**9] * 3, norm) == pytest.approx(bm25.MAX_SCORE)
    assert bm25.length_norm(5, 0) == bm25.AVERAGE_NORM


def test_a_word_in_every_chunk_still_counts_a_little_and_a_rarer_one_more() -> None:
    weights = [bm25.term_weight(frequency, 500) for frequency in (500, 100, 10, 1, 0)]
    assert weights[0] > 0
    assert weights == sorted(weights)
