"""Which segments are proposed by similarity if several are equally similar."""

from array import array
from collections.abc import Collection, Iterable
from datetime import date

import pytest

from memory.embeddings.protocol import ModelId
from memory.embeddings.unit_vectors import pack_vector
from memory.index.mean_centering import mean_vector
from memory.index.protocol import VectorQuery
from memory.index.similarity import TextLocation, compute_similarities, most_similar_spans
from memory.ranking.candidates import Similarity
from tests.fakes.table_test import table_test

TODAY = date(2026, 11, 23)


class Texts:
    """Texts with their cosines, in the order in which an index returns ties: by id."""

    def __init__(self, *cosines: float) -> None:
        self._found = sorted(enumerate(cosines), key=lambda each: (-each[1], each[0]))
        self.asked: list[int] = []

    def search(self, limit: int) -> list[tuple[int, float]]:
        self.asked.append(limit)
        return self._found[:limit]

    def standing(self, texts: Collection[int]) -> Iterable[TextLocation]:
        """Put each text in a note of its own; the higher the id, the earlier the path."""
        return [TextLocation(text, f"{100 - text:03}.md", (text, 0, 1), None, 0) for text in texts]

    def places(self, limit: int, minimum: float = 0.0) -> list[int]:
        found = most_similar_spans(self.search, self.standing, limit=limit, minimum=minimum, today=TODAY)
        return [note for note, _, _ in found]


def test_ties_at_the_limit_are_decided_by_path() -> None:
    texts = Texts(0.9, *[0.5] * 20, 0.1)
    assert texts.places(3) == [0, 20, 19]
    assert texts.asked == [4, 8, 16, 32]


def test_without_ties_at_the_limit_one_extra_text_is_read() -> None:
    texts = Texts(0.9, 0.8, 0.7, 0.6)
    assert texts.places(2) == [0, 1]
    assert texts.asked == [3]


def test_with_fewer_texts_than_wanted_all_similar_ones_are_returned() -> None:
    assert Texts(0.2, 0.9).places(10, minimum=0.3) == [1]
    assert Texts().places(10) == []


@table_test("most", [0, -1])
def test_with_a_limit_of_0_nothing_is_searched(most: int) -> None:
    texts = Texts(0.9, 0.9)
    assert texts.places(most) == []
    assert texts.asked == []


def test_every_occurrence_of_a_text_counts() -> None:
    def standing(texts: Collection[int]) -> Iterable[TextLocation]:
        return [
            TextLocation(text, path, (note, 3, 4), None, 0)
            for text in texts
            for note, path in ((7, "b.md"), (8, "a.md"))
        ]

    found = most_similar_spans(Texts(0.9, 0.8).search, standing, limit=3, minimum=0.0, today=TODAY)
    assert found == [(8, 3, 4), (7, 3, 4), (8, 3, 4)]


def test_the_mean_is_subtracted_for_ranking_but_not_for_the_threshold() -> None:
    question = pack_vector(array("f", [1.0, 0.0]))
    likeness = VectorQuery(ModelId("fake", "small", 2), question, limit=3, min_similarity=0.5)
    assert compute_similarities(likeness, None, {1: (0.5,), 2: (0.4,)}) == {
        1: Similarity(0.5, True),
        2: Similarity(0.4, False),
    }
    common = mean_vector([pack_vector(array("f", [0.8, 0.6]))])
    found = compute_similarities(likeness, common, {1: (0.8, 1.0), 2: (1.0, 0.8)})
    assert found[1].cosine < 0.8
    assert found[2].cosine == pytest.approx(1.0)
    assert found[1].is_enough
