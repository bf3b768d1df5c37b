"""Finds the ids on all channels that belong to one person, by the settings and the owners' links."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence


def find_linked(
    person: str,
    people: Mapping[str, Sequence[str]],
    links: Iterable[tuple[str, str]],
    *,
    counts: Callable[[str], bool],
) -> frozenset[str]:
    """Return all ids (`channel:id`) of a person, `person` among them; pure.

    `people`: ids by name, from the settings. Links do not count for an id that is named there, nor do they lead
    through it. `counts` returns whether an id may be linked at the moment; no link leads through one that may not.
    """
    for ids in people.values():
        if person in ids:
            return frozenset({person, *filter(counts, ids)})
    named = {each for ids in people.values() for each in ids}
    neighbours = defaultdict[str, set[str]](set)
    for first, second in links:
        neighbours[first].add(second)
        neighbours[second].add(first)
    found, waiting = {person}, [person]
    while waiting:
        for each in neighbours[waiting.pop()] - found - named:
            if counts(each):
                found.add(each)
                waiting.append(each)
    return frozenset(found)
