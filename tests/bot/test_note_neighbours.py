from bot.commands.memory import format_passages
from bot.memory_json import encode_search
from bot.note_neighbours import describe_neighbours
from memory.search import Neighbour, SearchHit, SearchResults

NEIGHBOURS = (Neighbour("b.md", "a.md", "to", 3), Neighbour("c\u202e.md", "a.md", "from", 7))


def test_each_is_named_with_its_link() -> None:
    told = describe_neighbours(NEIGHBOURS)
    assert told.startswith("See also: b.md (linked in a.md:3), c")
    assert told.endswith(".md:7 (links to a.md)")
    assert "\u202e" not in told


def test_results_name_them_where_there_are_some() -> None:
    hit = SearchHit("a.md", 1, 1, "text", 0.5, "fts", "")
    assert "See also" in format_passages(SearchResults("q", (hit,), neighbours=NEIGHBOURS))
    assert "See also" not in format_passages(SearchResults("q", (hit,)))
    assert encode_search(SearchResults("q", (hit,), neighbours=NEIGHBOURS[:1]))["neighbours"] == [
        {"path": "b.md", "hit": "a.md", "direction": "to", "line": 3}
    ]
    assert "neighbours" not in encode_search(SearchResults("q", (hit,)))
