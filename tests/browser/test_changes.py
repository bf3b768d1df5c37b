from tests.browser.service import Service
from tests.browser.window import Window

ROW = ".changes > li"


def test_a_change_is_taken_back_and_done_again_by_its_button(reader: Window, household: Service) -> None:
    household.commonplace.output_of("memory", "write", "The wheelbarrow is with Omar")
    reader.open("/")
    assert "added “The wheelbarrow is with Omar”" in reader.text(ROW)
    number = reader.text(f"{ROW} .number")
    assert not reader.one(f"{ROW} pre").is_displayed()
    reader.click(f"{ROW} summary")
    assert reader.text(f"{ROW} pre") == "+- The wheelbarrow is with Omar"
    for label, told in (("Undo", "undid #"), ("Redo", "redid #")):
        assert reader.attribute(f"{ROW} button", "aria-label") == f"{label} change {number}"
        reader.click(f"{ROW} button")
        reader.wait(lambda told=told: told in reader.text(ROW), told)  # type: ignore[misc]
        assert reader.path.endswith("#done")
    day = next(note for note in household.memory.glob("2*.md") if "wheelbarrow" in note.read_text("utf-8"))
    assert day.read_text("utf-8").count("wheelbarrow") == 1


def test_a_change_whose_lines_were_edited_since_stays(reader: Window, household: Service) -> None:
    household.commonplace.output_of("memory", "write", "--target", "core", "The saw is with Omar")
    note = household.memory / "MEMORY.md"
    note.write_text(note.read_text("utf-8").replace("The saw is with Omar", "The saw is with Ada"), "utf-8")
    reader.open("/")
    reader.click(f"{ROW} button")
    reader.wait(lambda: reader.text("h1") == "Not undone", "the refusal")
    assert "+ - The saw is with Ada" in reader.text("pre")
    reader.expect("409")
    reader.click("main a")
    reader.wait(lambda: reader.path.endswith("#changes"), "the changes")
