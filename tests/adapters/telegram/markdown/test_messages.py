"""What Telegram shows of a model's Markdown."""

from time import thread_time

import pytest

from adapters.markdown.layout import FileMessage
from adapters.telegram.markdown.messages import FORMAT, Entity, TextMessage
from tests.adapters.telegram.markdown.shown import covered, entities_of, text_of, texts, the_message
from tests.fakes.table_test import table_test


@table_test(
    "text",
    [
        "vector<int> and <your name>",
        "<table>\n<tr><td>x</td></tr>\n</table>",
        "before <!-- a comment --> after",
        "<unknown>tags</unknown> and an open <b>",
        "AT&T, a & b, &unknown; and 1 &lt 2",
        "2*3*4 is 24, 5*x and 3*y are not",
        "call __init__() in snake_case_words",
        "about ~5 or ~6",
        "from $5 to $10, $5-$10, $HOME/bin:$PATH",
        "a || b || c",
        "`" * 20,
        "**",
        "*not closed, **nor this, [nor](this",
        "https://example.com/_a_/b_c*d*",
    ],
)
def test_text_that_only_looks_like_markup_stays_as_it_is(text: str) -> None:
    assert text_of(text) == text


def test_emphasis_nests_and_covers_what_it_should() -> None:
    assert entities_of("**bold _both_** ~~gone~~ ***all***") == [
        ("bold", "bold both"),
        ("italic", "both"),
        ("strikethrough", "gone"),
        ("bold", "all"),
        ("italic", "all"),
    ]


def test_offsets_are_in_units_of_utf_16() -> None:
    assert the_message("😀 **b**").entities == (Entity("bold", 3, 1),)


@table_test(
    ("markdown", "bold"),
    [
        ("**「重要」**です", ["「重要」"]),
        ("これは**重要。**だ", ["重要。"]),
        ("「A」**次**も**「B」**", ["次", "「B」"]),
        ("中文**“重点”**很重要", ["“重点”"]),
        ("한국어 **“강조”**입니다", ["“강조”"]),
    ],
)
def test_emphasis_holds_beside_letters_that_know_no_spaces(markdown: str, bold: list[str]) -> None:
    assert entities_of(markdown) == [("bold", each) for each in bold]
    assert text_of(markdown) == markdown.replace("*", "")


def test_stars_in_code_are_left_alone_beside_chinese() -> None:
    assert text_of("`「**重**」` と **「重」**です") == "「**重**」 と 「重」です"


def test_headings_are_bold_and_code_in_bold_is_code() -> None:
    assert entities_of("# One\n\ntwo\n===\n\n###### **x** `y` z") == [
        ("bold", "One"),
        ("bold", "two"),
        ("bold", "x"),
        ("code", "y"),
        ("bold", "z"),
    ]


def test_html_for_emphasis_is_obeyed_only_where_it_is_closed() -> None:
    assert text_of("<b>b</b><br><u>u</u> <kbd>Ctrl</kbd> <i>open") == "b\nu Ctrl <i>open"
    assert [kind for kind, _ in entities_of("<b>b</b><br><u>u</u> <kbd>Ctrl</kbd> <i>open")] == [
        "bold",
        "underline",
        "code",
    ]


def test_a_link_to_the_web_is_one_and_any_other_keeps_its_text() -> None:
    message = the_message(
        "[**web**](https://a.org/x_y) [Anna](tg://user?id=1) [script](javascript:alert) [note](trips/oslo.md) "
        "[mail](mailto:a@b.org) [here](http://localhost:8321/) [up](#top) [`c`](http://b.org) <https://c.org>"
    )
    assert message.text == (
        "web Anna script note (trips/oslo.md) mail (a@b.org) here (http://localhost:8321/) up c https://c.org"
    )
    assert [entity.url for entity in message.entities if entity.type == "text_link"] == [
        "https://a.org/x_y",
        "http://b.org",
        "https://c.org",
    ]
    assert "text_mention" not in {entity.type for entity in message.entities}


def test_a_custom_emoji_is_no_more_than_its_text() -> None:
    assert entities_of("![👍](tg://emoji?id=5368324170671202286)") == []


def test_pictures_are_links_and_references_are_looked_up() -> None:
    text = "![the **cellar**](https://a.org/c.png) [one][1] [two]\n\n"
    text += "[1]: https://b.org\n[two]: <https://c.org>\n[3]: https://d.org\n[4]: /e"
    message = the_message(text)
    assert message.text == "the cellar one two\n\n[3]: https://d.org\n[4]: /e"
    assert [entity.url for entity in message.entities if entity.url] == [
        "https://a.org/c.png",
        "https://b.org",
        "https://c.org",
    ]


@table_test("name", ["README.md", "src/main.rs", "docs/setup.md", "a-b.test.py", "run.sh"])
def test_names_of_files_become_code_so_that_they_become_no_links(name: str) -> None:
    assert entities_of(f"See {name}, or **{name}**.") == [("code", name), ("code", name)]


@table_test(
    "text", ["https://a.org/README.md", "me@place.md", "3.14", "e.g. this", "[README.md](https://a.org)"]
)
def test_what_is_no_bare_name_of_a_file_is_no_code(text: str) -> None:
    assert "code" not in [kind for kind, _ in entities_of(text)]


def test_lists_keep_their_depth_numbers_and_boxes() -> None:
    markdown = "3. three\n   - [x] done\n   - [ ] open\n     more\n4. four\n   1. deep\n\n      a paragraph"
    markdown += "\n\n- loose\n\n- list"
    assert text_of(markdown) == (
        "3. three\n    ☑ done\n    ☐ open\n        more\n4. four\n    1. deep\n\n        a paragraph"
        "\n\n• loose\n\n• list"
    )


def test_code_in_a_list_is_not_pushed_in() -> None:
    message = the_message("1. run\n   ```sh\n   a\n     b\n   ```\n2. done")
    assert message.text == "1. run\na\n  b\n2. done"
    assert message.entities == (Entity("pre", 7, 5, language="sh"),)


def test_code_knows_its_language_whatever_its_fence() -> None:
    for fence in ("```", "~~~", "`````"):
        message = the_message(f'{fence}python title="x.py" {{1,3}}\n# **x** <b>\n{fence}')
        assert (message.text, message.entities) == ("# **x** <b>", (Entity("pre", 0, 11, language="python"),))
    assert entities_of("a\n\n    in\n      dented") == [("pre", "in\n  dented")]


def test_quotes_are_quotes_and_long_ones_are_folded() -> None:
    assert entities_of("> a **b**\n> > c") == [("blockquote", "a b\n› c"), ("bold", "b")]
    assert [kind for kind, _ in entities_of("> " + "word " * 100)] == ["expandable_blockquote"]


def test_spoilers_hide_what_stands_between_the_bars() -> None:
    assert entities_of("||a **b**|| \\||c|| `||d||`") == [
        ("spoiler", "a b"),
        ("bold", "b"),
        ("code", "||d||"),
    ]
    assert entities_of("**a ||b** c||") == [("bold", "a ||b")]


def test_a_small_table_stands_in_columns_by_the_width_of_its_letters() -> None:
    message = the_message("| a | b |\n|---|--:|\n| 日本 | 1 |\n| x `y` | 22 |")
    assert message.text == "a    |  b\n-----+---\n日本 |  1\nx y  | 22"
    assert [entity.type for entity in message.entities] == ["pre"]


def test_a_wide_table_or_one_with_links_is_a_list() -> None:
    assert text_of("|Name|What it is for|\n|-|-|\n|a|" + "long " * 9 + "|\n|b|c|") == (
        "Name · What it is for\n• a: long long long long long long long long long\n• b: c"
    )
    message = the_message("|a|b|c|\n|-|-|-|\n|1|[x](https://a.org)|3|\n|1||")
    assert message.text == "a · b · c\n• 1\n    b: x\n    c: 3\n• 1"
    assert "https://a.org" in [entity.url for entity in message.entities]


def test_formulas_can_be_read() -> None:
    assert text_of(
        "$x^2$ and \\(\\alpha \\leq \\beta_1\\):\n\n$$\\frac{a}{b}$$\n\n\\[ \\sum_{i=1}^{n} i \\]"
    ) == ("x² and α ≤ β₁:\n\na/b\n\n∑ᵢ₌₁ⁿ i")
    assert entities_of("An unknown one: $\\weird{thing}$") == [("code", "\\weird{thing}")]
    assert text_of("\\[brackets\\] and \\(round ones\\)") == "[brackets] and (round ones)"


def test_footnotes_stand_where_they_were_written() -> None:
    assert text_of("a[^1] b[^x]\n\n[^1]: One.\n\n[^2]: Two.") == "a[1] b[^x]\n\n[1] One.\n\n[2] Two."


def test_what_nobody_can_see_is_no_message() -> None:
    for blank in ("", " \n\t\n", "\u200b", "\u3164\u2800", "\ud800", "\x00\x01", "&#32;"):
        assert all(text.strip() and not text.isspace() for text in texts(FORMAT.render(blank)))
    assert FORMAT.render("\u200b \u2800\u3164") == []


def test_what_cannot_be_sent_is_taken_out() -> None:
    assert text_of("a\ud83d b\x00c\r\nd") == "a bc\nd"


def test_a_block_nested_beyond_measure_is_plain_text() -> None:
    assert text_of("> " * 60 + "word\n\n**bold**") == "> " * 60 + "word\n\nbold"


def test_very_long_code_is_a_file_in_its_place() -> None:
    code = "\n".join(f"print({number})" for number in range(900))
    before, head, file, after = FORMAT.render(
        f"First **this**.\n\n## Then\n\n```python\n{code}\n```\n\nAfter."
    )
    assert file == FileMessage("code.py", code + "\n")
    assert texts([before, head, after]) == ["First this.", "Then", "After."]
    one, other = FORMAT.render(f"```c#\n{code}\n```\n~~~../../etc/passwd\n{code}\n~~~")
    assert isinstance(one, FileMessage)
    assert isinstance(other, FileMessage)
    assert [one.name, other.name] == ["code.cs", "code.txt"]
    again = FORMAT.render(f"```\n{code}\n```\n\n```\n{code}\n```")
    assert [file.name for file in again if isinstance(file, FileMessage)] == ["code.txt", "code-2.txt"]


@table_test(
    ("begun", "shown"),
    [
        ("Hello **bold so", [("bold", "bold so")]),
        ("a **b *c", [("bold", "b c"), ("italic", "c")]),
        ("a `cod", [("code", "cod")]),
        ("a **b `c", [("bold", "b"), ("code", "c")]),
        ("x ||sec", [("spoiler", "sec")]),
        ("a [link](https://exam", []),
        ("x\n\n```py\nprint(", [("pre", "print(")]),
        ("x\n\n```py\nprint()\n``", [("pre", "print()")]),
        ("a ~~b", [("strikethrough", "b")]),
    ],
)
def test_a_preview_closes_what_is_still_being_written(begun: str, shown: list[tuple[str, str]]) -> None:
    (message,) = FORMAT.render_preview(begun)
    assert isinstance(message, TextMessage)
    whole = the_message(message.text)
    assert not set("*`|~[]()") - {"(", ")"} & set(whole.text)
    data = message.text.encode("utf-16-le")
    assert [
        (each.type, data[2 * each.offset : 2 * (each.offset + each.length)].decode("utf-16-le"))
        for each in message.entities
    ] == shown


def test_a_preview_of_nothing_but_a_beginning_is_empty() -> None:
    assert FORMAT.render_preview("**") == []
    assert FORMAT.render_preview("```python") == []
    assert texts(FORMAT.render_preview("2*3 is 6")) == ["2*3 is 6"]


def test_a_preview_of_long_code_shows_its_last_lines() -> None:
    lines = [f"line {number}" for number in range(400)]
    (message,) = FORMAT.render_preview("```python\n" + "\n".join(lines), limit=100)
    assert isinstance(message, TextMessage)
    assert message.text.startswith("…\nline 3")
    assert message.text.endswith("\nline 398\nline 399")
    assert [(entity.type, entity.language) for entity in message.entities] == [("pre", "python")]


@pytest.mark.parametrize(
    "markdown",
    [
        "a <br>&copy; **b**",
        '`x` &amp; [l](https://a.org/?a&amp;b "t &lt; u") **b**',
        "1. a\n1. 1 b\n1. **c**",
        "- [x] x **y**\n- [ ] z",
        "$x^2$ 2 **b**",
        "```a&amp;b c\nd\n```",
    ],
)
def test_what_markup_takes_for_itself_is_not_thought_lost(
    markdown: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert entities_of(markdown)
    assert not caplog.records


def test_a_block_that_would_lose_a_word_is_plain_text_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    # The parser takes a definition within a quote for itself, and yields nothing of it.
    quote = "> **a**\n>\n> [1]: https://a.org/secret"
    assert text_of(f"{quote}\n\n**b**") == f"{quote}\n\nb"
    (record,) = caplog.records
    assert "plain text" in record.getMessage()
    assert "secret" not in record.getMessage()


def test_a_table_whose_rows_are_filled_up_without_measure_is_plain_text() -> None:
    columns = rows = 700
    text = "|" + "a|" * columns + "\n|" + "-|" * columns + "\n" + "x\n" * rows
    began = thread_time()
    shown = FORMAT.render(text)
    assert thread_time() - began < 0.5
    words = "".join(message.text for message in shown if isinstance(message, TextMessage))
    assert (words.count("a"), words.count("x")) == (columns, rows)


def test_of_code_that_is_cut_before_its_last_blank_nothing_but_the_blank_is_not_marked() -> None:
    one, two = FORMAT.render(f"{'x' * 46}\n\n    {'y' * 15} \n```\nzzzzz\n", limit=66)
    assert isinstance(one, TextMessage)
    assert isinstance(two, TextMessage)
    assert [covered(one, each) for each in one.entities] == ["y" * 15]
    assert (two.text, [covered(two, each) for each in two.entities]) == (" \nzzzzz", ["zzzzz"])


def test_a_small_table_with_short_rows_is_still_one() -> None:
    assert entities_of("| a | b | c |\n|-|-|-|\n" + "x\n" * 30)[0][0] == "pre"


def test_a_formula_that_is_nested_without_measure_is_shown_as_it_was_written() -> None:
    latex = "x^{" * 2000 + "}" * 2000
    began = thread_time()
    shown = FORMAT.render(f"${latex}$")
    assert thread_time() - began < 0.1
    assert "".join(message.text for message in shown if isinstance(message, TextMessage)) == latex


@table_test("text", ["<b>one ||two</b> three||", "||one <b>two|| three</b>"])
def test_marks_that_cross_are_not_both_marks(text: str) -> None:
    (kind, inside), *others = entities_of(text)
    assert (kind in ("bold", "spoiler"), others) == (True, [])
    assert "one" in inside


@table_test("fence", ["```", "~~~"])
def test_a_first_line_of_code_that_stands_beside_the_fence_is_not_lost(fence: str) -> None:
    assert (
        the_message(f"Look:\n\n{fence}python and more\nx\n{fence}\n\nSo.").text
        == "Look:\n\nand more\nx\n\nSo."
    )
    assert entities_of(f"{fence}select * from x\nwhere y\n{fence}") == [("pre", "where y")]
    assert text_of(f"{fence}select * from x\nwhere y\n{fence}") == "* from x\nwhere y"


@table_test("info", [" " * 4000 + "x", "a=b" * 1500 + '"', "{}" * 2000 + "x", "a= " * 1500])
def test_what_stands_beside_a_fence_takes_no_time(info: str) -> None:
    began = thread_time()
    FORMAT.render(f"~~~python {info}\nx\n~~~")
    assert thread_time() - began < 0.2


# -- without measure ------------------------------------------------------------------------------------------


def test_a_formula_of_roots_within_roots_is_shown_as_it_was_written() -> None:
    formula = "\\sqrt" * 40 + "x"
    assert the_message(f"${formula}$").text == formula


def test_roots_side_by_side_are_readable() -> None:
    assert the_message("$" + " + ".join(["\\sqrt{x}"] * 30) + "$").text == " + ".join(["√x̅"] * 30)


def test_emphasis_nested_beyond_measure_is_shown_as_it_was_written() -> None:
    markdown = "*a **b " * 50 + "c" + "** d*" * 50
    assert the_message(markdown).text == markdown


def test_a_long_name_of_a_column_stands_whole_once() -> None:
    name = "n" * 300
    text = the_message(f"|{name}|b|c|\n|-|-|-|\n|1|2|3|\n|4|5|6|\n|7|8|9|\n").text
    assert text.count(name) == 1
    assert "1" in text
    assert len(text) < 500
