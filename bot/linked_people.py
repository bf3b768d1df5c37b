"""Finds the ids on all channels that belong to one person, by the settings and the owners' links."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence


class LinkGraph:
    """Who is linked with whom; made once for many people."""

    def __init__(self, people: Mapping[str, Sequence[str]], links: Iterable[tuple[str, str]]) -> None:
        """`people`: ids (`channel:id`) by name, from the settings. `links`: pairs of ids, from the owners."""
        self._by_settings: dict[str, Sequence[str]] = {}
        for ids in people.values():
            for each in ids:
                self._by_settings.setdefault(each, ids)
        self._neighbours = defaultdict[str, set[str]](set)
        for first, second in links:
            self._neighbours[first].add(second)
            self._neighbours[second].add(first)

    def find(self, person: str, *, counts: Callable[[str], bool]) -> frozenset[str]:
        """Return all ids of a person, `person` among them.

        Links do not count for an id that the settings name, nor do they lead through it. `counts` returns whether an
        id may be linked at the moment; no link leads through one that may not.
        """
        if (ids := self._by_settings.get(person)) is not None:
            return frozenset({person, *filter(counts, ids)})
        found, waiting = {person}, [person]
        while waiting:
            for each in self._neighbours.get(waiting.pop(), set()) - found:
                if each not in self._by_settings and counts(each):
                    found.add(each)
                    waiting.append(each)
        return frozenset(found)


def find_linked(
    person: str,
    people: Mapping[str, Sequence[str]],
    links: Iterable[tuple[str, str]],
    *,
    counts: Callable[[str], bool],
) -> frozenset[str]:
    """Return all ids (`channel:id`) of a person, `person` among them, as `LinkGraph.find` does; pure."""
    return LinkGraph(people, links).find(person, counts=counts)
