"""What another instance has indexed of a note, shown as it is here."""

from pathlib import Path

from memory.errors import NoteUnreadable
from memory.hidden_lines import HiddenLines
from memory.hidden_passages import blank_passages
from memory.ranking.candidates import CandidatePassage, PassageRun, SearchCandidates, Similarity

SIMILAR = Similarity(0.9, is_enough=True)


def passage(line: int, text: str, heading: str = "People > Ada") -> CandidatePassage:
    return CandidatePassage(
        line, line + text.count("\n"), heading, text.startswith("#"), text, text.lower(), SIMILAR
    )


def test_hidden_lines_and_headings_are_empty_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    hidden = HiddenLines(tmp_path)
    hidden.hide("vault/a.md", ["## Ada", "her number is 4711"])
    kept = passage(9, "- Ben likes tea", "People")
    runs = (
        PassageRun("vault/a.md", (passage(3, "She called:\nher number is 4711"), kept), names="ada"),
        PassageRun("vault/b.md", (passage(3, "her number is 4711"),), names="ada"),
    )
    shown = blank_passages(SearchCandidates(runs, {}, 3), hidden.blank)
    changed, other = shown.runs
    assert changed.passages == (
        CandidatePassage(3, 4, "People", False, "She called:\n", "she call", None),
        kept,
    )
    assert changed.names == ""
    assert other == runs[1]


def test_nothing_is_shown_of_a_note_whose_hidden_lines_are_unknown() -> None:
    def blank(path: str, text: str) -> str:
        if path == "vault/a.md":
            raise NoteUnreadable("damaged")
        return text

    runs = tuple(PassageRun(path, (passage(1, "x"),)) for path in ("vault/a.md", "own.md"))
    assert blank_passages(SearchCandidates(runs, {}, 2), blank).runs == runs[1:]
