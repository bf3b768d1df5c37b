"""Pure: which notes somebody means who leaves out the folder, `.md`, or all but the date."""

from collections.abc import Sequence

from memory.dates.note_name import note_date
from memory.locks import same_name

NEAREST = 3
"""How many notes are named to somebody who asked for one that is not there."""


def with_ending(asked: str) -> str:
    """Return the path with `.md` at its end, whatever case it has there."""
    return asked if asked[-3:].lower() == ".md" else f"{asked}.md"


def notes_meant(asked: str, paths: Sequence[str]) -> Sequence[str]:
    """Return the notes that `asked`, a path with or without `.md`, fits; () where there is none.

    A path that fits but for case counts before a name in some folder, and that before another note of the same date.
    """
    wanted = same_name(with_ending(asked))
    named = [path for path in paths if same_name(path) == wanted]
    named = named or [path for path in paths if same_name(path).endswith(f"/{wanted}")]
    day = note_date(asked)
    if not named and day and len(asked) == len(day.isoformat()):
        named = [path for path in paths if note_date(path) == day]
    return sorted(named)


def nearest_notes(asked: str, paths: Sequence[str]) -> Sequence[str]:
    """Return the notes that are most like `asked`, nearest first: of a date the nearest days, else similar names."""
    day = note_date(asked)
    if day:
        dated = [(abs((of - day).days), path) for path in paths if (of := note_date(path))]
        if dated:
            return [path for _, path in sorted(dated)[:NEAREST]]
    from difflib import get_close_matches  # 3 ms, for nothing where the note is there

    wanted = same_name(with_ending(asked))
    names = sorted((same_name(path).rpartition("/")[2], path) for path in paths)
    like = get_close_matches(wanted.rpartition("/")[2], {name for name, _ in names}, n=NEAREST)
    found = [path for each in like for name, path in names if name == each]
    whole = {same_name(path): path for path in paths}
    found += [whole[each] for each in get_close_matches(wanted, whole, n=NEAREST)]
    return list(dict.fromkeys(found))[:NEAREST]
