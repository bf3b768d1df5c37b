"""Find the note that a person means who leaves out the folder, `.md`, or all but the date; pure."""

from collections.abc import Sequence

from memory.dates.note_name import note_date
from memory.locks import name_key

MAX_SUGGESTIONS = 3
"""Maximum number of notes suggested when one is missing."""


def add_extension(asked: str) -> str:
    """Return the path with `.md` at its end, whatever its case was."""
    return asked if asked[-3:].lower() == ".md" else f"{asked}.md"


def match_notes(asked: str, paths: Sequence[str]) -> Sequence[str]:
    """Return the notes that match `asked`, a path with or without `.md`.

    A path that differs only by case precedes a matching name in another folder, and that precedes another
    note of the same date.
    """
    wanted = name_key(add_extension(asked))
    named = [path for path in paths if name_key(path) == wanted]
    named = named or [path for path in paths if name_key(path).endswith(f"/{wanted}")]
    day = note_date(asked)
    if not named and day and len(asked) == len(day.isoformat()):
        named = [path for path in paths if note_date(path) == day]
    return sorted(named)


def suggest_notes(asked: str, paths: Sequence[str]) -> Sequence[str]:
    """Return the notes closest to `asked`: for a date the nearest days, else similar names."""
    day = note_date(asked)
    if day:
        dated = [(abs((of - day).days), path) for path in paths if (of := note_date(path))]
        if dated:
            return [path for _, path in sorted(dated)[:MAX_SUGGESTIONS]]
    from difflib import get_close_matches  # takes 3 ms, needless if the note exists

    wanted = name_key(add_extension(asked))
    names = sorted((name_key(path).rpartition("/")[2], path) for path in paths)
    like = get_close_matches(wanted.rpartition("/")[2], {name for name, _ in names}, n=MAX_SUGGESTIONS)
    found = [path for each in like for name, path in names if name == each]
    whole = {name_key(path): path for path in paths}
    found += [whole[each] for each in get_close_matches(wanted, whole, n=MAX_SUGGESTIONS)]
    return list(dict.fromkeys(found))[:MAX_SUGGESTIONS]
