"""What a note links to, and the lines that link to it, for its page."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice

from memory.index.protocol import Index
from memory.link_targets import fold
from memory.note_links import NoteLink

MAX_BACKLINKS = 100


@dataclass(frozen=True, slots=True)
class Backlink:
    """A line of another note that links to a note."""

    path: str
    line: int
    """1-based."""
    text: str
    """The whole line; "" if it cannot be shown."""


@dataclass(frozen=True, slots=True)
class NoteLinks:
    """The links of one note, in both directions."""

    targets: Mapping[tuple[str, bool], str | None]
    """The path of the note that each target means, or None; by the folded target and whether it is a wikilink."""
    backlinks: tuple[Backlink, ...] = ()
    """The lines that link to it, by path and line, each once."""
    more: int = 0
    """How many more lines link to it, at least."""

    def find(self, link: NoteLink) -> str | None:
        """Return the path of the note that a link of the note leads to; None if it leads to none."""
        return self.targets.get((fold(link.target).removesuffix(".md"), link.is_wiki))

    def knows(self, link: NoteLink) -> bool:
        """Return whether the index has such a link of the note, whether it leads to a note or not."""
        return (fold(link.target).removesuffix(".md"), link.is_wiki) in self.targets


NO_LINKS = NoteLinks({})


def read_note_links(index: Index, path: str, *, within: Collection[str] | None) -> NoteLinks:
    """Return the links of a note, from the index."""
    links = index.links([path], within=within)
    places = list(dict.fromkeys((link.path, link.line) for link in links if link.target == path != link.path))
    shown = list(islice(places, MAX_BACKLINKS))
    texts = index.lines(shown) if shown else ()
    return NoteLinks(
        {(link.written, link.is_wiki): link.target for link in links if link.path == path},
        tuple(Backlink(*place, text) for place, text in zip(shown, texts, strict=True)),
        len(places) - len(shown),
    )
