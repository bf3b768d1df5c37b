"""Use names and links of notes in a search, the same way for every index; pure, over the rows of a database."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from memory.folder_scope import FolderScope
from memory.index.proposals import Proposal
from memory.link_targets import LinkName, LinkTargets
from memory.ranking.candidates import PassageRun, SearchCandidates

MAX_NAMESAKES = 5
"""A name that more notes share mentions none of them."""

MAX_MENTIONED = 10
"""Notes that a query may mention by their names."""

LEAD_REACH = 7
"""Index of the last passage that is read of a mentioned note, among which its first paragraph is."""

MAX_SHOWN = 1_000
"""Links with the same text that are looked at."""

MAX_LINKS = 1_000
"""Links that are returned from some notes, and to some notes."""


class NameRow(NamedTuple):
    """A name of a note, as it is stored."""

    path: str
    name: str
    """"" for the file name."""
    key: str
    """Its `link_key`; "" if links do not call the note so."""
    words: str


class LinkRow(NamedTuple):
    """A link, as it is stored; see `NoteReference`."""

    path: str
    """The note that contains it."""
    line: int
    key: str
    target: str
    is_wiki: bool
    shown: str


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """A link from one note to another."""

    path: str
    """The note that contains it."""
    line: int
    """1-based."""
    written: str
    """The target as written, but folded and without `.md`."""
    is_wiki: bool
    target: str | None
    """The path of the note that it leads to; None if there is none."""
    shown: str = ""
    """The tokens of its text; "" if they are those of the target."""


class LinkTables(Protocol):
    """The names and links of an index, within one transaction. Rows come in no order, unless it says so."""

    def names_of(self, paths: Collection[str]) -> list[NameRow]:
        """Return the names of notes."""
        ...

    def names_with_keys(self, keys: Collection[str]) -> list[NameRow]:
        """Return the names with any of these `link_key`s."""
        ...

    def names_with_words(self, phrases: Collection[str]) -> list[NameRow]:
        """Return the names that consist of one of these sequences of tokens."""
        ...

    def links_showing(self, phrases: Collection[str], *, limit: int) -> list[LinkRow]:
        """Return links whose text consists of one of these sequences of tokens, the first ones by path and line."""
        ...

    def links_from(self, paths: Collection[str], *, limit: int) -> list[LinkRow]:
        """Return links in these notes, the first ones by path and line."""
        ...

    def links_to(
        self, keys: Collection[str], *, limit: int, among: Collection[str] | None = None
    ) -> list[LinkRow]:
        """Return links with any of these keys, the first ones by path and line; with `among`, only in these notes."""
        ...


def find_mentions(
    tables: LinkTables, phrases: Collection[str], folders: FolderScope | None
) -> dict[str, tuple[str, ...]]:
    """Return the notes that a query mentions by a name or by the text of links to them, with the tokens of each name.

    `phrases`: the sequences of the query's tokens, joined by spaces. The notes mentioned by the longest names come
    first, then by path.
    """
    if not phrases:
        return {}
    named: defaultdict[str, set[str]] = defaultdict(set)
    for row in tables.names_with_words(phrases):
        if _is_in(folders, row.path):
            named[row.words].add(row.path)
    for link in resolve_links(tables, tables.links_showing(phrases, limit=MAX_SHOWN), folders):
        if link.target and link.target != link.path:
            named[link.shown].add(link.target)
    mentioned: defaultdict[str, set[str]] = defaultdict(set)
    for words, paths in named.items():
        for path in paths if len(paths) <= MAX_NAMESAKES else ():
            mentioned[path].add(words)
    ordered = sorted(mentioned, key=lambda path: (-max(map(len, mentioned[path])), path))
    return {path: tuple(sorted(mentioned[path])) for path in ordered[:MAX_MENTIONED]}


def resolve_links(
    tables: LinkTables, rows: Iterable[LinkRow], folders: FolderScope | None
) -> list[ResolvedLink]:
    """Return these links, without those in notes outside of `folders`, in the order of path and line."""
    inside = sorted(row for row in rows if _is_in(folders, row.path))
    called: defaultdict[str, LinkTargets] = defaultdict(LinkTargets)
    for name in tables.names_with_keys({row.key for row in inside}) if inside else ():
        if _is_in(folders, name.path):
            called[name.key].add(LinkName(name.path, name.name))
    return [_resolve(row, called[row.key]) for row in inside]


def list_links(tables: LinkTables, paths: Collection[str], folders: FolderScope | None) -> list[ResolvedLink]:
    """Return the links in these notes, resolved or not, and those of other notes that lead to them."""
    inside = {path for path in paths if _is_in(folders, path)}
    if not inside:
        return []
    keys = {row.key for row in tables.names_of(inside) if row.key}
    rows = {*tables.links_from(inside, limit=MAX_LINKS), *tables.links_to(keys, limit=MAX_LINKS)}
    found = resolve_links(tables, rows, folders)
    from_them = [link for link in found if link.path in inside]
    return [*from_them, *(link for link in found if link.target in inside and link.path not in inside)]


def links_among(
    tables: LinkTables, names: Mapping[str, Sequence[NameRow]], folders: FolderScope | None
) -> list[ResolvedLink]:
    """Return the links between these notes; `names` holds all names of each."""
    keys = {row.key for rows in names.values() for row in rows if row.key}
    rows = tables.links_to(keys, limit=MAX_LINKS, among=names.keys()) if len(names) > 1 else []
    found = resolve_links(tables, rows, folders)
    return [link for link in found if link.target in names and link.target != link.path]


def build_candidates(
    tables: LinkTables,
    runs: Sequence[PassageRun],
    mentions: Mapping[str, Sequence[str]],
    proposal: Proposal,
    folders: FolderScope | None,
) -> SearchCandidates:
    """Return the candidates of a search: the runs with the names of their notes, and the links between these.

    The text of links between the notes counts as a name of the note that they lead to.
    """
    names: defaultdict[str, list[NameRow]] = defaultdict(list)
    for row in sorted(tables.names_of({run.path for run in runs})):
        names[row.path].append(row)
    links = links_among(tables, names, folders)
    called: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for path, rows in names.items():
        called[path].update(dict.fromkeys(row.words for row in rows if row.name))
    for link in links:
        if link.target and link.shown:
            called[link.target][link.shown] = None
    for path, phrases in mentions.items():
        called[path].update(dict.fromkeys(phrases))
    begun: set[str] = set()
    named: list[PassageRun] = []
    for run in runs:
        mentioned = () if run.path in begun else mentions.get(run.path, ())  # runs of a note are in order
        begun.add(run.path)
        named.append(replace(run, names=" ".join(called[run.path]), mentioned=" ".join(mentioned)))
    pairs = frozenset((link.path, link.target) for link in links if link.target)
    return SearchCandidates(tuple(named), proposal.frequencies, proposal.total, pairs)


def line_of_passage(text: str, first: int, line: int) -> str:
    """Return a line of a passage that begins at the line `first`; of a very long line, a part."""
    lines = text.split("\n")
    return lines[line - first] if 0 <= line - first < len(lines) else ""


def _resolve(row: LinkRow, called: LinkTargets) -> ResolvedLink:
    written = row.target or row.key
    target = called.resolve(written, path=row.path, is_wiki=row.is_wiki)
    return ResolvedLink(row.path, row.line, written, row.is_wiki, target, row.shown)


def _is_in(folders: FolderScope | None, path: str) -> bool:
    return folders is None or folders.contains(path)
