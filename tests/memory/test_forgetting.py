from memory.forgetting import FORGOTTEN, WordsToForget
from tests.fakes.table_test import table_test


def found(text: str, query: str, lines: tuple[str, ...] = ()) -> list[str]:
    split = text.split("\n")
    return [
        "\n".join(split[first : last + 1]) for first, last in WordsToForget(query, lines).find_matches(text)
    ]


NOTE = """\
# Anna

- Anna's passport is in the blue folder
  on the second shelf
  - its number is 4711

  - it ends in 2031
- Ben likes tea

Anna came by.
The passport was lost in Oslo, and Anna
was sad.

Their passport office is in the town. Ask Anna's
brother about it.
"""


def test_a_bullet_is_found_with_all_that_is_indented_beneath() -> None:
    assert found(NOTE, "passport Anna folder") == [
        "- Anna's passport is in the blue folder\n  on the second shelf\n  - its number is 4711\n\n  - it ends in 2031"
    ]
    assert found(NOTE, "shelf passport") == found(NOTE, "Anna folder")
    assert found(NOTE, "number 4711") == ["  - its number is 4711"]


def test_the_matching_line_of_a_paragraph_is_found_or_else_all_of_it() -> None:
    assert found(NOTE, "passport lost") == ["The passport was lost in Oslo, and Anna"]
    assert found(NOTE, "Oslo sad") == ["Anna came by.\nThe passport was lost in Oslo, and Anna\nwas sad."]


def test_all_words_must_stand_together() -> None:
    assert found(NOTE, "Ben passport") == []
    assert found(NOTE, "pass") == []
    assert found(NOTE, "") == []


@table_test(
    ("query", "text"),
    [("护照", "- 安娜的护照在蓝色文件夹里"), ("FOLDERS", "- the folder"), ("cafe", "- Café")],
)
def test_words_are_matched_as_in_a_search(query: str, text: str) -> None:
    assert found(text, query) == [text]
    assert WordsToForget(query).remove_from(text) == ""


def test_a_line_that_is_repeated_is_found_by_its_words() -> None:
    wanted = WordsToForget("diagnosis", ["- Anna's diagnosis:", "  - diabetes of type 2", "  - yes"])
    assert wanted.is_in("They told her it was Diabetes of type 2, I think")
    assert not wanted.is_in("yes, I think so")
    assert not wanted.is_in("type 2 of diabetes")


def test_the_rest_of_a_text_is_kept() -> None:
    assert WordsToForget("Ben tea").remove_from("- a\n- Ben likes tea\n- b\n") == "- a\n- b\n"
    summary = "They spoke of tea. Anna's passport is blue! Then they went home.\n- Ben came"
    blanked = WordsToForget("passport Anna").blank_sentences(summary)
    assert blanked == f"They spoke of tea. {FORGOTTEN} Then they went home.\n- Ben came"
    assert WordsToForget("passport sad").blank_sentences("Her passport is lost. She is sad.") == FORGOTTEN
