from hypothesis import given
from hypothesis import strategies as st

from memory.note_tags import clean_tag, find_tags, is_tag_word, split_tags, tag_words
from memory.tokenizer import tokenize
from tests.fakes.table_test import table_test


@table_test(
    ("text", "tags"),
    [
        ("#a and #b/c.", ["a", "b/c"]),
        ("- #work-x_y, #1a #2026", ["work-x_y", "1a"]),
        ("# Heading\n## #tag", ["tag"]),
        ("x#no (#no) http://a.example/#no [x](#no) ##no #", []),
        ("`#no` #yes `#no", ["yes"]),
        ("```\n#no\n```\n#yes", ["yes"]),
        ("#日本，然后 #über #теги #😀", ["日本", "über", "теги", "😀"]),
        ("#a/ #/b #a//b", ["a", "b", "a/b"]),
    ],
)
def test_tags_are_read(text: str, tags: list[str]) -> None:
    assert [tag for _, tag in find_tags(text)] == tags


def test_a_tag_has_the_words_of_those_above_it() -> None:
    assert tag_words("Work/Old-Projects") == ["＃work", "＃work／old－projects"]
    assert tag_words("WORK") == tag_words("work")
    assert all(map(is_tag_word, tag_words("a/b")))
    assert not any(map(is_tag_word, tokenize("＃work #work")))
    assert (clean_tag("#a/b/"), clean_tag("a b"), clean_tag("1"), clean_tag("")) == ("a/b", "", "", "")


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    line = text.replace("\n", " ")
    assert "".join(part for part, _ in split_tags(line)) == line
    for _, tag in find_tags(text):
        words = tag_words(tag)
        assert len(words) == tag.count("/") + 1 or "/" not in tag
        assert not any(word.split() != [word] for word in words)
