"""The first paragraph of a note, which says what the note is about; pure."""

from collections.abc import Sequence

from memory.ranking.candidates import CandidatePassage


def find_lead(passages: Sequence[CandidatePassage]) -> int:
    """Return the index of the first passage that is neither front matter nor a heading; 0 if there is none.

    `passages`: at least one, from the beginning of a note on.
    """
    first = _front_matter_end(passages)
    leads = (place for place in range(first, len(passages)) if not passages[place].is_heading)
    return next((place for place in leads if passages[place].words), 0)


def _front_matter_end(passages: Sequence[CandidatePassage]) -> int:
    """Return the index of the first passage below the front matter."""
    if passages[0].line_start != 1 or not passages[0].text.startswith("---\n"):
        return 0
    return next(
        (place + 1 for place, one in enumerate(passages) if one.text.endswith("\n---") or one.text == "---"),
        0,
    )
