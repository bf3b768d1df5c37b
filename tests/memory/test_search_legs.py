import pytest

from memory.ranking.candidates import CandidatePassage, PassageRun, SearchCandidates, Similarity
from memory.ranking.term_counter import count_frequencies
from memory.search import SearchHit, rank
from memory.tokenizer import parse_query, tokenize


def found(query: str, *passages: tuple[str, float | None]) -> list[SearchHit]:
    """Rank passages in notes of their own, with the cosine to the query if vectors are compared."""
    runs = tuple(
        PassageRun(
            f"{number}.md",
            (
                CandidatePassage(
                    1,
                    1,
                    "",
                    False,
                    text,
                    " ".join(tokenize(text)),
                    None if cosine is None else Similarity(cosine, True),
                ),
            ),
        )
        for number, (text, cosine) in enumerate(passages)
    )
    terms = parse_query(query)
    candidates = SearchCandidates(runs, count_frequencies(terms, runs), len(runs))
    return rank(terms, candidates, limit=9, snippet_max_chars=700, source="fts")


def test_a_hit_shows_its_scores_by_words_and_by_meaning() -> None:
    by_path = {hit.path: hit for hit in found("boiler code", ("boiler code", 0.2), ("the heating", 0.9))}
    words, meaning = by_path["0.md"], by_path["1.md"]
    assert words.by_words > 0.3 > meaning.by_words == 0
    assert words.by_meaning is not None
    assert meaning.by_meaning is not None
    assert meaning.by_meaning > 0.5 > words.by_meaning
    assert all(0 <= leg <= 1 for hit in by_path.values() for leg in (hit.by_words, hit.by_meaning or 0.0))


def test_without_vectors_words_are_the_score_and_meaning_is_not_compared() -> None:
    (hit,) = found("boiler code", ("the code of the boiler", None))
    assert hit.by_meaning is None
    assert hit.by_words == pytest.approx(hit.score)
