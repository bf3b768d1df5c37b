import time

import pytest

from memory.search import Candidate, Candidates, Hit, Run, count_frequencies, cut_snippet, rank
from memory.words import cut, is_look_up, query_terms


def run(path: str, *texts: str) -> Run:
    """A run of passages, one a line; a text that begins with # is a heading."""
    return Run(
        path,
        tuple(
            Candidate(line, line, "", text.startswith("#"), text, " ".join(cut(text)))
            for line, text in enumerate(texts, 1)
        ),
    )


def hits(query: str, *runs: Run, limit: int = 10, chunks: int | None = None) -> list[Hit]:
    terms = query_terms(query)
    candidates = Candidates(runs, count_frequencies(terms, runs), chunks or len(runs))
    return rank(
        terms,
        candidates,
        limit=limit,
        snippet_max_chars=700,
        source="fts",
        looked_up=is_look_up(query, terms),
    )


def lines(found: list[Hit]) -> list[tuple[str, int]]:
    return [(hit.path, hit.line_start) for hit in found]


def test_the_passage_with_more_of_the_words_comes_first() -> None:
    found = hits(
        "blue passport folder", run("a.md", "blue"), run("b.md", "blue passport folder"), run("c.md", "red")
    )
    assert lines(found) == [("b.md", 1), ("a.md", 1)]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    common = [run(f"{n}.md", "passport " * 2) for n in range(9)]
    assert lines(hits("passport oslo", *common, run("x.md", "oslo")))[0] == ("x.md", 1)


def test_neighbours_carry_a_passage_but_not_as_far_as_its_own_words() -> None:
    found = hits(
        "Where is the marathon?", run("a.md", "far", "far", "near", "next", "marathon", "next", "near", "far")
    )
    assert lines(found)[0] == ("a.md", 5)
    assert sorted(line for _, line in lines(found)) == [3, 4, 5, 6, 7]


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


def test_a_heading_is_passed_over_for_what_stands_below_it() -> None:
    below = Candidate(
        2, 2, "Oslo trip", False, "- Grand, three nights", " ".join(cut("- Grand, three nights"))
    )
    heading = Candidate(1, 1, "Oslo trip", True, "# Oslo trip", " ".join(cut("# Oslo trip")))
    found = hits("Grand Oslo", Run("a.md", (heading, below)))
    assert lines(found)[0] == ("a.md", 2)
    assert hits("nights", Run("a.md", (heading, below)))[-1].line_start == 2


def test_the_note_s_name_counts() -> None:
    found = hits("oslo hotel", run("trips/rome.md", "hotel"), run("trips/oslo.md", "hotel"))
    assert lines(found)[0] == ("trips/oslo.md", 1)


@pytest.mark.parametrize("query", ["护照", "パスポート", "여권", "หนังสือเดินทาง"])
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


def test_repeated_query_words_weigh_once() -> None:
    notes = run("a.md", "passport"), run("b.md", "folder")
    once, often = hits("passport folder", *notes), hits("passport passport passport folder", *notes)
    assert once == often


def test_scores_lie_between_0_and_1_and_say_how_much_of_the_query_was_met() -> None:
    full = hits("blue passport", run("a.md", "blue passport " * 50), chunks=1000)[0].score
    half = hits("blue passport", run("a.md", "blue " * 50), chunks=1000)[0].score
    assert 0 < half < full <= 1


def test_equal_scores_are_ordered_by_path_then_line() -> None:
    lines_of_one = ["passport", "-", "-", "-", "-", "-", "passport"]
    found = hits("passport", run("b.md", *lines_of_one), run("a.md", *lines_of_one))
    assert lines(found)[:4] == [("a.md", 1), ("a.md", 7), ("b.md", 1), ("b.md", 7)]


def test_no_line_comes_twice() -> None:
    pieces = tuple(Candidate(1, 1, "", False, "passport here", "passport here") for _ in range(3))
    assert len(hits("passport", Run("a.md", pieces))) == 1


def test_limit_bounds_the_hits() -> None:
    assert len(hits("a1", run("a.md", *["a1"] * 30), limit=7)) == 7


@pytest.mark.parametrize(
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
    snippet = cut_snippet(text, query_terms(query), most)
    assert len(snippet) <= most
    assert snippet == expected


def test_lines_that_begin_with_many_spaces_are_ranked_in_no_time() -> None:
    began = time.process_time()
    assert hits("passport", run("a.md", *[" " * 1500 + "passport"] * 10))
    assert time.process_time() - began < 1


def test_a_neighbour_comes_after_the_passage_whose_words_it_lives_by() -> None:
    found = hits(
        "Where does Anna keep passports now?",
        run("a.md", "x", "Anna keeps all passports, old and new, in the blue folder", "y"),
    )
    assert lines(found)[0] == ("a.md", 2)
    assert len(found) == 3


def test_what_is_looked_up_stands_in_every_hit() -> None:
    note = run("a.md", "tea", "- the boiler code is 4711", "coffee", "-", "-", "-", "- boiler man: Tom")
    assert {line for _, line in lines(hits("boiler", note))} == {2, 7}
    assert {line for _, line in lines(hits("boiler code", note))} == {2, 7}


def test_a_line_without_words_is_no_hit() -> None:
    table = run("a.md", "| animal | legs |", "|---|---|", "| ostrich | 2 |")
    assert set(lines(hits("ostrich legs", table))) == {("a.md", 3), ("a.md", 1)}
    assert ("a.md", 2) not in lines(hits("how many legs has an ostrich or another animal", table))
