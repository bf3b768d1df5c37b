import random
import time
from dataclasses import replace
from datetime import date
from itertools import pairwise

import pytest

from memory.ranking.candidates import CandidatePassage, PassageRun, SearchCandidates, Similarity
from memory.ranking.fusion import Weights
from memory.ranking.lead import find_lead
from memory.ranking.snippets import cut_snippet
from memory.ranking.term_counter import count_frequencies
from memory.ranking.ties import EXACT_TIE, score_band
from memory.search import SearchHit, rank
from memory.search_query import read_query
from memory.tokenizer import find_spellings, is_lookup, parse_query, tokenize
from tests.fakes.table_test import table_test


def run(path: str, *texts: str) -> PassageRun:
    """Return a run with a passage for each line; a text that begins with # is a heading."""
    return PassageRun(
        path,
        tuple(
            CandidatePassage(line, line, "", text.startswith("#"), text, " ".join(tokenize(text)))
            for line, text in enumerate(texts, 1)
        ),
    )


def hits(query: str, *runs: PassageRun, limit: int = 10, chunks: int | None = None) -> list[SearchHit]:
    terms, _ = read_query(query, date(2026, 11, 23))
    candidates = SearchCandidates(runs, count_frequencies(terms, runs), chunks or len(runs))
    return rank(
        terms,
        candidates,
        limit=limit,
        snippet_max_chars=700,
        source="fts",
        looked_up=is_lookup(query, terms),
    )


def lines(found: list[SearchHit]) -> list[tuple[str, int]]:
    return [(hit.path, hit.line_start) for hit in found]


def test_the_passage_with_more_of_the_words_comes_first() -> None:
    found = hits(
        "blue passport folder", run("a.md", "blue"), run("b.md", "blue passport folder"), run("c.md", "red")
    )
    assert lines(found) == [("b.md", 1), ("a.md", 1)]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    common = [run(f"{n}.md", "passport " * 2) for n in range(9)]
    assert lines(hits("passport oslo", *common, run("x.md", "oslo")))[0] == ("x.md", 1)


def test_neighbours_raise_a_passage_less_than_its_own_words() -> None:
    found = hits(
        "Where is the marathon?", run("a.md", "far", "far", "near", "next", "marathon", "next", "near", "far")
    )
    assert lines(found)[0] == ("a.md", 5)
    assert set(lines(found)[1:3]) == {("a.md", 4), ("a.md", 6)}


def test_an_answer_counts_for_more_than_what_was_said_before() -> None:
    found = hits("Where is the marathon?", run("a.md", "far", "before", "marathon", "after", "far"))
    assert found[0].line_start == 3
    scores = [
        hits("Where is the marathon?", run("a.md", *texts))[-1].score
        for texts in (("before", "marathon"), ("marathon", "after"))
    ]
    assert scores[0] < scores[1]


def test_lines_without_a_blank_one_between_share_their_words() -> None:
    together = run("a.md", "- the boiler is old", "- a", "- b", "- c", "- its code is 4711", "- d")
    first, *others = together.passages
    later = (replace(one, line_start=one.line_start + 1, line_end=one.line_end + 1) for one in others)
    apart = replace(together, passages=(first, *later))
    near, far = (
        next(hit.score for hit in hits("What is the code of the boiler?", note) if "4711" in hit.snippet)
        for note in (together, apart)
    )
    assert near > far


def test_the_answer_after_the_question_is_found_by_the_question_s_words() -> None:
    talk = run(
        "a.md",
        "Anna: where did you put the passport?",
        "Ben: second shelf, blue folder.",
        "Anna: ok",
        "x",
        "y",
        "z",
    )
    assert ("a.md", 2) in lines(hits("Where is the passport?", talk))[:2]


def test_a_named_label_is_preferred() -> None:
    talk = run("a.md", "- Anna: I went hiking", "-", "-", "-", "-", "- Ben: Anna and I went hiking")
    assert lines(hits("What did Ben go hiking for?", talk))[0] == ("a.md", 6)


def test_a_passage_ranks_before_its_heading() -> None:
    below = CandidatePassage(
        2, 2, "Oslo trip", False, "- Grand, three nights", " ".join(tokenize("- Grand, three nights"))
    )
    heading = CandidatePassage(1, 1, "Oslo trip", True, "# Oslo trip", " ".join(tokenize("# Oslo trip")))
    found = hits("Grand Oslo", PassageRun("a.md", (heading, below)))
    assert lines(found)[0] == ("a.md", 2)
    assert hits("nights", PassageRun("a.md", (heading, below)))[-1].line_start == 2


def test_forms_of_a_word_are_found_and_the_word_itself_comes_first() -> None:
    found = hits(
        "Wo wohnen die Kinder?",
        run("a.md", "Sie hat ein Kind"),
        run("b.md", "Drei Kinder spielten"),
        run("c.md", "Wir haben ein Auto"),
    )
    assert lines(found) == [("b.md", 1), ("a.md", 1)]


@table_test(
    ("query", "text", "is_found"),
    [
        ("Wo ist die Versicherung?", "Der Zug hatte Verspätung", False),
        ("Where is the Krankenhaus?", "Krankenhäuser in Bonn", True),
        ("mappa", "A dokumentumok a mappában vannak", True),
        ("паспорт", "Срок паспорта истёк", True),
        ("Kinder", "Sie hat ein Kind", True),
    ],
)
def test_words_that_share_less_than_most_of_the_shorter_one_are_no_forms(
    query: str, text: str, is_found: bool
) -> None:
    assert bool(hits(query, run("a.md", text))) is is_found


def test_a_label_is_named_by_the_word_itself_and_not_by_a_form_of_it() -> None:
    labels = run("a.md", "Annabelle: hiking", "-", "-", "-", "-", "Anna: hiking")
    found = hits("What did Anna do?", labels)
    assert lines(found)[0] == ("a.md", 6)
    assert found[0].score > 2 * found[-1].score


def test_the_snippet_shows_the_form_that_was_found() -> None:
    text = "word " * 100 + "Kindheit " + "word " * 100
    terms, _ = read_query("Kinder", date(2026, 11, 23))
    assert "Kindheit" in cut_snippet(text, terms, 60)


def test_the_note_s_name_counts() -> None:
    found = hits("oslo hotel", run("trips/rome.md", "hotel"), run("trips/oslo.md", "hotel"))
    assert lines(found)[0] == ("trips/oslo.md", 1)


@table_test("query", ["护照", "パスポート", "여권", "หนังสือเดินทาง"])
def test_words_of_scripts_without_spaces_are_found_inside_sentences(query: str) -> None:
    note = run(
        "a.md",
        "安娜的护照在文件夹里",
        "アンナのパスポートは棚に",
        "안나의 여권은 선반에",
        "หนังสือเดินทางของแอนนา",
        "x",
    )
    best = hits(query, note)[0]
    assert query in best.snippet


def test_repeated_query_words_count_once() -> None:
    notes = run("a.md", "passport"), run("b.md", "folder")
    once, often = hits("passport folder", *notes), hits("passport passport passport folder", *notes)
    assert once == often


def test_scores_between_0_and_1_show_how_much_of_the_query_matched() -> None:
    full = hits("blue passport", run("a.md", "blue passport " * 50), chunks=1000)[0].score
    half = hits("blue passport", run("a.md", "blue " * 50), chunks=1000)[0].score
    assert 0 < half < full <= 1


def test_equal_scores_are_ordered_by_path_then_line() -> None:
    lines_of_one = ["passport", "-", "-", "-", "-", "-", "passport"]
    found = hits("passport", run("b.md", *lines_of_one), run("a.md", *lines_of_one))
    assert lines(found)[:4] == [("a.md", 1), ("a.md", 7), ("b.md", 1), ("b.md", 7)]


def test_no_line_is_in_two_hits() -> None:
    pieces = tuple(CandidatePassage(1, 1, "", False, "passport here", "passport here") for _ in range(3))
    assert len(hits("passport", PassageRun("a.md", pieces))) == 1


def test_limit_bounds_the_hits() -> None:
    assert len(hits("a1", run("a.md", *["a1", "b1 b2 b3", ""] * 30), limit=7)) == 7


@table_test(
    ("text", "query", "most", "expected"),
    [
        ("short", "x", 10, "short"),
        ("word " * 10 + "passport " + "word " * 10, "passport", 30, "…word passport word word word…"),
        ("passport " + "word " * 20, "passport", 20, "passport word word …"),
        ("word " * 20 + "passport", "passport", 20, "…word word passport"),
        ("字" * 50 + "护照" + "字" * 50, "护照", 11, "…字字护照字字字字字…"),
        ("字" * 50 + "猫" + "字" * 50, "猫", 11, "…字字猫字字字字字字…"),
        ("y " * 20 + "x", "x", 1, "…"),
        ("x" * 50, "nothing", 5, "xxxx…"),
    ],
)
def test_a_long_passage_is_cut_around_the_word(text: str, query: str, most: int, expected: str) -> None:
    snippet = cut_snippet(text, parse_query(query), most)
    assert len(snippet) <= most
    assert snippet == expected


def test_lines_with_many_leading_spaces_are_ranked_quickly() -> None:
    began = time.process_time()
    assert hits("passport", run("a.md", *[" " * 1500 + "passport"] * 10))
    assert time.process_time() - began < 1


def test_a_neighbour_ranks_after_the_passage_that_has_the_words() -> None:
    found = hits(
        "Where does Anna keep passports now?",
        run("a.md", "x", "Anna keeps all passports, old and new, in the blue folder", "y"),
    )
    assert lines(found)[0] == ("a.md", 2)
    assert sorted(line for hit in found for line in range(hit.line_start, hit.line_end + 1)) == [1, 2, 3]


def test_every_hit_of_a_lookup_contains_a_term() -> None:
    note = run("a.md", "tea", "- the boiler code is 4711", "coffee", "-", "-", "-", "- boiler man: Tom")
    assert {line for _, line in lines(hits("boiler", note))} == {2, 7}
    assert {line for _, line in lines(hits("boiler code", note))} == {2, 7}


def test_a_line_without_words_is_no_hit() -> None:
    table = run("a.md", "| animal | legs |", "|---|---|", "| ostrich | 2 |")
    assert set(lines(hits("ostrich legs", table))) == {("a.md", 3), ("a.md", 1)}
    assert ("a.md", 2) not in lines(hits("how many legs has an ostrich or another animal", table))


# With vectors


def alike(path: str, *passages: tuple[str, float | None], minimum: float = 0.3) -> PassageRun:
    """Return a run of passages, each with its cosine to the query."""
    return PassageRun(
        path,
        tuple(
            replace(passage, similarity=None if cosine is None else Similarity(cosine, cosine >= minimum))
            for passage, (_, cosine) in zip(
                run(path, *(text for text, _ in passages)).passages, passages, strict=True
            )
        ),
    )


def hybrid(
    query: str, *runs: PassageRun, weights: Weights | None = None, limit: int = 10, max_chars: int = 700
) -> list[SearchHit]:
    terms = parse_query(query)
    return rank(
        terms,
        SearchCandidates(runs, count_frequencies(terms, runs), max(len(runs), 1)),
        limit=limit,
        snippet_max_chars=max_chars,
        source="fts",
        looked_up=is_lookup(query, terms),
        weights=weights,
    )


def test_a_hit_names_its_source() -> None:
    found = hybrid(
        "passport",
        alike("a.md", ("passport", 0.1)),
        alike("b.md", ("passport", 0.8)),
        alike("c.md", ("travel papers", 0.8)),
        alike("d.md", ("passport", None)),
    )
    assert {hit.path: hit.source for hit in found} == {
        "a.md": "fts",
        "b.md": "hybrid",
        "c.md": "vector",
        "d.md": "fts",
    }


def test_a_hit_of_both_searches_ranks_before_a_hit_of_one() -> None:
    found = hybrid(
        "passport",
        alike("a.md", ("passport", 0.0)),
        alike("b.md", ("passport", 0.6)),
        alike("c.md", ("travel papers", 0.6)),
    )
    assert found[0].path == "b.md"


def test_a_dissimilar_passage_is_never_a_hit_by_meaning() -> None:
    found = hybrid(
        "passport",
        alike("a.md", ("tea and toast", -0.9)),
        alike("b.md", ("passport", -0.9)),
        alike("c.md", ("passport", 0.0)),
        alike("d.md", ("travel papers", 0.9)),
    )
    assert "a.md" not in {hit.path for hit in found}
    scores = {hit.path: hit.score for hit in found}
    assert scores["b.md"] == scores["c.md"]
    assert all(0 <= score <= 1 for score in scores.values())


@table_test("cosine", [1.0000001, -1.0000001, 0.0, 1e-30])
def test_a_cosine_slightly_out_of_range_is_accepted(cosine: float) -> None:
    assert 0 <= hybrid("passport", alike("a.md", ("passport", cosine)))[0].score <= 1


def test_a_hit_by_words_survives_any_weights() -> None:
    runs = alike("a.md", ("passport", None)), alike("b.md", ("travel papers", 0.95))
    for vector in (0.01, 0.5, 0.99, 1.0):
        found = hybrid("passport", *runs, weights=Weights(vector, 0.01))
        assert {hit.path for hit in found} == {"a.md", "b.md"}


def test_weights_decide_between_words_and_meaning() -> None:
    runs = alike("words.md", ("passport", 0.0)), alike("meaning.md", ("travel papers", 0.8))
    assert hybrid("passport", *runs, weights=Weights(1, 0.05))[0].path == "meaning.md"
    assert hybrid("passport", *runs, weights=Weights(0.05, 1))[0].path == "words.md"


def test_without_a_weight_for_words_meaning_alone_ranks() -> None:
    found = hybrid(
        "passport",
        alike("a.md", ("passport", 0.4)),
        alike("b.md", ("travel papers", 0.5)),
        alike("c.md", ("passport passport", None)),
        weights=Weights(0.7, 0.0),
    )
    assert [hit.path for hit in found] == ["b.md", "a.md"]


def test_where_no_passage_has_a_vector_the_weights_do_not_matter() -> None:
    runs = run("a.md", "passport"), run("b.md", "blue passport")
    assert hybrid("blue passport", *runs) == hybrid("blue passport", *runs, weights=Weights(1.0, 0.0))


def test_higher_similarity_never_lowers_a_score() -> None:
    scores = [
        hybrid("passport", alike("a.md", ("travel papers", cosine)), alike("b.md", ("passport", 0.5)))
        for cosine in (0.3, 0.5, 0.7, 0.9, 1.0)
    ]
    of_a = [next(hit.score for hit in found if hit.path == "a.md") for found in scores]
    assert of_a == sorted(of_a)
    assert len(set(of_a)) == len(of_a)


def score_by_meaning(*words: tuple[str, float]) -> float:
    """Return the score of a similar passage beside others with words of the query."""
    similar = alike("travel.md", ("papers for the journey", 0.9))
    others = [alike(f"{number}.md", passage) for number, passage in enumerate(words)]
    found = hybrid("blue passport", similar, *others, limit=len(others) + 1)
    return next(hit.score for hit in found if hit.path == "travel.md")


def test_meaning_counts_less_where_similarity_has_nothing_to_do_with_the_words() -> None:
    more, less, one = "blue passport", "my passport is lost", "the sky over the sea is blue"
    known = score_by_meaning(*[(more, 0.8), (less, 0.5), (one, 0.2)] * 40)
    unknown = score_by_meaning(
        *[(more, 0.5), (less, 0.8), (one, 0.5), (more, 0.5), (less, 0.2), (one, 0.5)] * 20
    )
    assert 0 < unknown < known / 2


def test_few_passages_do_not_show_that_a_model_does_not_know_the_language() -> None:
    agreeing = score_by_meaning(("blue passport", 0.8), ("the sky over the sea is blue", 0.2))
    disagreeing = score_by_meaning(("blue passport", 0.2), ("the sky over the sea is blue", 0.8))
    assert disagreeing > 0.7 * agreeing


def test_where_words_do_not_count_meaning_counts_in_full() -> None:
    turned = [("blue passport", 0.2), ("the sky over the sea is blue", 0.8)] * 60
    others = [alike(f"{number}.md", passage) for number, passage in enumerate(turned)]
    similar = alike("travel.md", ("papers for the journey", 1.0))
    found = hybrid("blue passport", similar, *others, weights=Weights(1, 0), limit=1)
    assert (found[0].path, found[0].score) == ("travel.md", 1.0)


@table_test("weights", [Weights(), Weights(0.7, 0), Weights(0.05, 1), Weights(1, 1)])
def test_scores_fall_from_band_to_band_and_no_line_is_in_two_hits(weights: Weights) -> None:
    dice = random.Random(5)
    words = ["passport", "blue", "folder", "tea", "oslo", "-"]
    runs = [
        alike(
            f"{dice.randrange(1000)}-{n}.md",
            *(
                (" ".join(dice.choices(words, k=dice.randrange(1, 5))), dice.choice([None, 0.1, 0.5, 0.9]))
                for _ in range(dice.randrange(1, 6))
            ),
        )
        for n in range(40)
    ]
    found = hybrid("blue passport in a folder", *runs, weights=weights, limit=100)
    assert all(0 <= hit.score <= 1 for hit in found)
    bands = [score_band(hit.score, EXACT_TIE) for hit in found]
    assert all(after - before <= 1 for before, after in pairwise(bands))  # scores are rounded
    lines_taken = [(hit.path, line) for hit in found for line in range(hit.line_start, hit.line_end + 1)]
    assert len(lines_taken) == len(set(lines_taken))


def test_high_scores_stay_distinct() -> None:
    found = hybrid(
        "blue passport",
        alike("a.md", ("blue passport " * 3, 0.9)),
        alike("b.md", ("blue passport " * 9, 0.95)),
        alike("c.md", ("blue passport " * 27, 1.0)),
        alike("d.md", *[("tea", None)] * 5),
        weights=Weights(0.05, 1),
    )
    assert [hit.score for hit in found[:3]] != [1.0, 1.0, 1.0]


def test_a_match_of_the_note_s_name_ranks_before_similar_passages() -> None:
    found = hybrid(
        "trips/oslo.md",
        alike("trips/oslo.md", ("Grand hotel, three nights", 0.2)),
        alike("trips/rome.md", ("A journey, by train", 0.45)),
        alike("diary.md", ("We went away", 0.45)),
    )
    assert found[0].path == "trips/oslo.md"


def test_an_exact_match_ranks_before_many_similar_passages() -> None:
    near = [alike(f"{n}.md", (f"The heating's number, version {n}", 0.5)) for n in range(20)]
    found = hybrid("KX-4711-99", *near, alike("z.md", ("boiler KX-4711-99", 0.3)))
    assert found[0].path == "z.md"


def test_the_snippet_of_a_hybrid_hit_shows_the_words() -> None:
    text = "word " * 100 + "passport " + "word " * 100
    [hit] = hybrid("passport", alike("a.md", (text, 0.9)), max_chars=60)
    assert "passport" in hit.snippet
    assert len(hit.snippet) <= 60


def test_a_query_without_words_is_answered_by_meaning_alone() -> None:
    found = hybrid("🎉", alike("a.md", ("birthday", 0.9), ("tea", 0.1)), alike("b.md", ("tax", 0.2)))
    assert [(hit.path, hit.line_start, hit.source) for hit in found] == [("a.md", 1, "vector")]


# Merging


def test_adjacent_hits_are_merged_in_line_order() -> None:
    found = hits("passport", run("a.md", "passport passport 1", "passport passport 2", "passport passport 3"))
    [hit] = found
    assert (hit.line_start, hit.line_end) == (1, 3)
    assert hit.snippet == "passport passport 1\npassport passport 2\npassport passport 3"


def test_hits_separated_by_a_blank_line_are_not_merged() -> None:
    pieces = tuple(CandidatePassage(line, line, "", False, "passport", "passport") for line in (1, 3))
    assert sorted(lines(hits("passport", PassageRun("a.md", pieces)))) == [("a.md", 1), ("a.md", 3)]


def test_a_much_worse_neighbour_is_not_merged() -> None:
    found = hybrid("What about papers?", alike("a.md", ("passport", 0.4), ("tickets", 0.9)))
    assert lines(found) == [("a.md", 2), ("a.md", 1)]


def test_a_merged_hit_fits_the_snippet_length_without_cutting_words() -> None:
    texts = [f"passport {'x' * 90}{n}" for n in range(30)]
    found = hits("passport", run("a.md", *texts), limit=40)
    for hit in found:
        assert hit.snippet == "\n".join(texts[hit.line_start - 1 : hit.line_end])
        assert len(hit.snippet) <= 700
    assert sum(hit.line_end - hit.line_start + 1 for hit in found) == 30


def test_sections_are_not_merged() -> None:
    first, second = (
        CandidatePassage(line, line, heading, False, "passport", "passport")
        for line, heading in ((1, "Oslo"), (2, "Rome"))
    )
    assert len(hits("passport", PassageRun("a.md", (first, second)))) == 2


def test_a_heading_is_not_merged_with_what_stands_below() -> None:
    heading = CandidatePassage(1, 1, "Passport", True, "# Passport", "passport")
    below = CandidatePassage(2, 2, "Passport", False, "passport", "passport")
    assert len(hits("passport", PassageRun("a.md", (heading, below)))) == 2


def test_a_merged_hit_has_the_best_score_and_all_sources() -> None:
    query = "Where might the passport be?"
    apart = hybrid(query, alike("a.md", ("passport", 0.5), ("travel papers", 0.8)), max_chars=15)
    assert [(hit.line_start, hit.source) for hit in apart] == [(1, "hybrid"), (2, "hybrid")]
    [hit] = hybrid(query, alike("a.md", ("passport", 0.6), ("passport", 0.58)))
    assert (hit.line_start, hit.line_end, hit.source) == (1, 2, "hybrid")
    assert (
        hit.score == hybrid(query, alike("a.md", ("passport", 0.6), ("passport", 0.58)), max_chars=9)[0].score
    )


def test_a_limit_counts_merged_hits() -> None:
    texts = ["passport", "passport", "-", "-", "-", "-", "-"] * 10
    found = hits("passport", run("a.md", *texts), limit=4)
    assert len(found) == 4


def test_the_parts_of_a_long_line_are_at_most_one_hit() -> None:
    pieces = tuple(CandidatePassage(2, 2, "", False, f"passport {n}", "passport") for n in range(5))
    around = (CandidatePassage(1, 1, "", False, "passport", "passport"), *pieces)
    found = hits("passport", PassageRun("a.md", around))
    taken = [line for hit in found for line in range(hit.line_start, hit.line_end + 1)]
    assert sorted(taken) == [1, 2]


def test_list_items_raise_each_other_less_than_lines_of_a_dialogue() -> None:
    facts = run(
        "facts.md", "- our cat is called Minka", "- cello lesson is Friday", "- the dentist is Dr Lind"
    )
    talk = run(
        "talk.md", "- Ben: what about the music", "- Anna: cello lesson is Friday", "- Ben: fine by me"
    )
    query = "When is the cello lesson?"
    of_facts, of_talk = ({hit.line_start: hit.score for hit in hits(query, note)} for note in (facts, talk))
    assert lines(hits(query, facts))[0] == ("facts.md", 2)
    assert max(of_facts[1], of_facts[3]) < 0.6 * of_facts[2]
    assert of_talk[1] / of_talk[2] > of_facts[1] / of_facts[2]


def test_a_passage_with_every_word_comes_before_one_with_the_rarest_and_a_label() -> None:
    notes = run(
        "a.md",
        "- Shoes for Dora: 37",
        "-",
        "-",
        "- Moritz takes shoes in size 41",
        "-",
        "-",
        "- Moritz slept",
    )
    assert lines(hits("What is Moritz's shoe size?", notes))[0] == ("a.md", 4)


def test_a_label_counts_by_the_share_of_its_words_that_the_query_names() -> None:
    one = run("a.md", "- Dora: 37 in shoes", "-", "-", "- Dora and Ben: 37 in shoes")
    first, second = hits("Which shoes does Dora take?", one)[:2]
    assert (first.line_start, second.line_start) == (1, 4)
    assert first.score > 1.2 * second.score


def test_a_question_comes_after_a_statement_with_the_same_words() -> None:
    notes = [run("a.md", "- Is the cello lesson on Friday?"), run("b.md", "- On Friday is the cello lesson.")]
    assert lines(hits("cello lesson Friday time", *notes))[0] == ("b.md", 1)


def test_a_nested_item_is_raised_by_its_parent() -> None:
    nested = run("home.md", "- the boiler in the cellar", "  - code 1234", "  - serviced in May")
    assert lines(hits("Which code does the boiler have?", nested))[0] == ("home.md", 2)


def test_a_word_as_the_query_spells_it_comes_before_another_form() -> None:
    runs = (run("a.md", "- Houses are dear"), run("b.md", "- The house is dear"))
    terms = parse_query("house")
    candidates = SearchCandidates(runs, count_frequencies(terms, runs), len(runs))
    found = rank(
        terms,
        candidates,
        limit=5,
        snippet_max_chars=700,
        source="fts",
        spelled=find_spellings("house", terms),
    )
    assert lines(found)[0] == ("b.md", 1)


# -- evidence: what a hit is worth whatever else was found --------------------------------------------------------


def best(query: str, *runs: PassageRun, chunks: int | None = None) -> SearchHit:
    return hits(query, *runs, chunks=chunks)[0]


def test_the_best_hit_has_little_evidence_if_it_has_little_of_the_query() -> None:
    note = run("a.md", "The boiler's service code is 4471.")
    asked, other = best("What is the boiler's service code?", note), best("Which code has the garage?", note)
    assert asked.coverage == 1
    assert other.coverage < 0.5
    assert asked.evidence == 1
    assert other.evidence < 0.65 < asked.evidence


def test_a_single_common_word_is_less_evidence_than_a_rare_one() -> None:
    talk = [run(f"{number}.md", "many thanks") for number in range(30)]
    common = best("thanks so much?", *talk, chunks=40)
    rare = best("Ada?", *talk, run("a.md", "Ada lives in Lisbon"), chunks=40)
    assert common.coverage < 0.3
    assert rare.coverage == 0.5


def test_evidence_does_not_depend_on_what_else_was_found() -> None:
    note = run("a.md", "Ada's shoe size is 38")
    alone = best("Which shoe size has Ada?", note, chunks=20)
    [beside] = [
        hit
        for hit in hits("Which shoe size has Ada?", note, run("b.md", "Ada's garden"), chunks=20)
        if hit.path == "a.md"
    ]
    assert abs(alone.coverage - beside.coverage) < 0.05


def test_headings_and_neighbours_count_as_evidence() -> None:
    below = PassageRun("a.md", (CandidatePassage(2, 2, "Ada", False, "- shoe size: 38", "shoe size 38"),))
    assert best("Which shoe size has Ada?", below).coverage == 1
    talk = run("b.md", "What is the marathon's date?", "In May.")
    [answer] = [hit for hit in hits("When is the marathon's date", talk) if hit.line_end == 2]
    assert answer.coverage > 0.5


def test_similarity_adds_to_evidence_and_its_absence_is_average() -> None:
    hit = SearchHit("a.md", 1, 1, "x", 1.0, "fts", "", coverage=0.5)
    assert hit.evidence == 0.65
    assert replace(hit, by_meaning=0.0).evidence == 0.5
    assert replace(hit, by_meaning=1.0).evidence == 1
    assert replace(hit, coverage=0.0, by_meaning=0.5).evidence == pytest.approx(0.707107)


def test_a_note_is_found_by_its_names_as_by_its_path() -> None:
    named = replace(run("nyc.md", "A harbour.", "A bridge."), names="big appl")
    other = run("b.md", "An apple.")
    assert lines(hits("big apple", named, other))[0] == ("b.md", 1)
    assert ("nyc.md", 1) in lines(hits("big apple", named, other))


@table_test("title", ["# Oslo", "Norway"])
def test_a_query_that_is_only_a_name_finds_the_note_before_what_mentions_it(title: str) -> None:
    note = replace(run("Trips/Oslo.md", title, "The city by the fjord, with the opera."), mentioned="oslo")
    logs = [run(f"2026-11-0{day}.md", "- Talked about Oslo with Anna", "- Milk") for day in range(1, 8)]
    assert hits("Oslo", note, *logs)[0].path == "Trips/Oslo.md"
    assert hits("Oslo Anna", note, *logs)[0].path != "Trips/Oslo.md"


def test_a_mentioned_note_is_found_by_its_first_paragraph() -> None:
    texts = ("# NYC", "A harbour.", "A bridge to the big island with apple trees.")
    mentioned = replace(run("nyc.md", *texts), names="big appl", mentioned="big appl")
    other = run("b.md", "We ate an apple, a big one, and then another.")
    assert lines(hits("big apple harbour", mentioned, other))[0] == ("nyc.md", 2)
    front = PassageRun(
        "nyc.md", (CandidatePassage(1, 3, "", False, "---\na: b\n---", "b"), *mentioned.passages)
    )
    assert find_lead(front.passages) == 2
    assert find_lead((front.passages[0],)) == 0


def test_a_tag_that_no_note_has_is_only_a_word() -> None:
    assert lines(hits("#oslo", run("a.md", "oslo"))) == [("a.md", 1)]
    assert hits("#oslo", run("a.md", "oslo"))[0].score == hits("oslo", run("a.md", "oslo"))[0].score


def ranked(links: set[tuple[str, str]], *runs: PassageRun) -> list[str]:
    terms, _ = read_query("oslo fjord", date(2026, 11, 23))
    found = SearchCandidates(runs, count_frequencies(terms, runs), 50, frozenset(links))
    return [hit.path for hit in rank(terms, found, limit=10, snippet_max_chars=700, source="fts")]


def test_among_near_ties_a_note_linked_with_a_better_hit_comes_first() -> None:
    best = run("best.md", "oslo fjord")
    ties = [run(f"{name}.md", "oslo harbour") for name in "abc"]
    assert ranked(set(), best, *ties) == ["best.md", "a.md", "b.md", "c.md"]
    assert ranked({("best.md", "c.md")}, best, *ties) == ["best.md", "c.md", "a.md", "b.md"]
    assert ranked({("b.md", "best.md"), ("a.md", "x.md")}, best, *ties) == ["best.md", "b.md", "a.md", "c.md"]


def test_no_link_displaces_an_exact_hit() -> None:
    exact, partly = run("z.md", "oslo fjord"), run("a.md", "oslo oslo")
    assert ranked({("a.md", "z.md"), ("b.md", "a.md")}, run("b.md", "fjord"), exact, partly)[0] == "z.md"
