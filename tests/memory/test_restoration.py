from pathlib import Path

from memory.notes import Notes
from memory.restoration import LATER_REMOVALS_READ, find_correction

DAY = "2026-11-21.md"


def test_a_replaced_line_is_followed_through_a_limited_number_of_removals(notes: Notes, folder: Path) -> None:
    notes.append(DAY, "- blue\n- round", title="2026-11-21")
    notes.edit(DAY, "- blue", "- red")
    (removed,) = notes.trash.items()
    kept = folder.parent / ".commonplace/trash"
    later = "2100-01-01T00-00-00.{:06}Z .line-4-0123abcd 2026-11-21.md"
    for number in range(LATER_REMOVALS_READ):
        (kept / later.format(number)).write_text("- square\n")
    (kept / later.format(LATER_REMOVALS_READ)).mkdir()  # reading it would fail
    correction = find_correction(notes, removed, block="- blue")
    assert correction is not None
    assert (correction.line, correction.old, correction.new) == (3, "- red", "- blue")
