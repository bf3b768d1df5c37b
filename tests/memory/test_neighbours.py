from memory.index.note_graph import ResolvedLink
from memory.neighbours import MAX_NEIGHBOURS, choose_neighbours
from memory.search import Neighbour, SearchHit


def hit(path: str, score: float) -> SearchHit:
    return SearchHit(path, 1, 1, "", score, "fts", "")


def link(path: str, target: str | None, line: int = 1) -> ResolvedLink:
    return ResolvedLink(path, line, "x", True, target)


def test_both_directions_best_connected_first() -> None:
    hits = [hit("a.md", 0.9), hit("b.md", 0.4), hit("b.md", 0.3)]
    links = [
        link("a.md", "both.md", 3),
        link("b.md", "both.md", 4),
        link("a.md", "b.md"),
        link("from.md", "a.md", 7),
        link("b.md", "weak.md", 5),
        link("b.md", None),
        link("x.md", "y.md"),
    ]
    assert choose_neighbours(hits, links) == (
        Neighbour("both.md", "a.md", "to", 3),
        Neighbour("from.md", "a.md", "from", 7),
        Neighbour("weak.md", "b.md", "to", 5),
    )


def test_at_most_five() -> None:
    links = [link("a.md", f"{number}.md") for number in range(9)]
    found = choose_neighbours([hit("a.md", 1)], links)
    assert [each.path for each in found] == [f"{number}.md" for number in range(MAX_NEIGHBOURS)]
    assert choose_neighbours([], links) == ()
