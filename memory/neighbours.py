"""Choose the notes that are linked with the hits of a search; pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from memory.index.note_graph import ResolvedLink
from memory.search import Neighbour, SearchHit

MAX_NEIGHBOURS = 5


def choose_neighbours(hits: Sequence[SearchHit], links: Iterable[ResolvedLink]) -> tuple[Neighbour, ...]:
    """Return the notes that hits link to or that link to hits, the best connected first, then by path.

    Notes are ordered by the sum of the scores of the hits that they are linked with. `links`: those from and to the
    notes of the hits. Of several links, the one of the best hit is named.
    """
    scores: dict[str, float] = {}
    for hit in hits:
        scores[hit.path] = max(hit.score, scores.get(hit.path, 0.0))
    ties: defaultdict[str, dict[str, Neighbour]] = defaultdict(dict)
    for link in links:
        if link.target is None or (link.path in scores) == (link.target in scores):
            continue
        is_out = link.path in scores
        hit_path, path = (link.path, link.target) if is_out else (link.target, link.path)
        ties[path].setdefault(hit_path, Neighbour(path, hit_path, "to" if is_out else "from", link.line))
    ordered = sorted(ties, key=lambda path: (-sum(scores[hit] for hit in ties[path]), path))
    return tuple(
        max(ties[path].values(), key=lambda tie: scores[tie.hit]) for path in ordered[:MAX_NEIGHBOURS]
    )
