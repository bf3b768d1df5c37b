"""What Discord shows of a model's Markdown."""

from adapters.discord.markdown.messages import FORMAT, TextMessage
from adapters.markdown.layout import FileMessage
from tests.adapters.discord.markdown.shown import content_of, contents, kinds_of, read, seen_text
from tests.fakes.table_test import table_test


@table_test(
    ("markdown", "content"),
    [
        ("**bold _both_** ~~gone~~ ***all***", "**bold *both*** ~~gone~~ ***all***"),
        ("un*frigging*believable and __this__", "un*frigging*believable and **this**"),
        ("<u>under</u> ||secret `code`||", "__under__ ||secret `code`||"),
        ("# One\n\ntwo\n===\n\n### three", "# One\n\n# two\n\n### three"),
        ("#### Four\n\n###### six", "**Four**\n\n**six**"),
        ("-# small", "\\-# small"),
        ("a\n-# small\n\n> -# small", "a\n\\-# small\n\n> \\-# small"),
        ("* a\n* b\n  - c\n    1. d\n    2. e", "- a\n- b\n  - c\n    1. d\n    2. e"),
        ("3. three\n4. four\n\n10. ten", "3. three\n4. four\n\n5. ten"),
        ("- [x] done\n- [ ] open", "- ☑ done\n- ☐ open"),
        ("> a **b**\n> > c\n>\n> - d", "> a **b**\n> › c\n> \n> - d"),
        ('~~~python title="x.py"\nx = 1\n~~~', "```python\nx = 1\n```"),
        ("a\n\n    in\n      dented", "a\n\n```\nin\n  dented\n```"),
        ("[the manual](https://a.org/x_y 'T')", "[the manual](https://a.org/x_y)"),
        ("<https://a.org> and (https://b.org/_c_).", "https://a.org and (https://b.org/_c_)."),
        ("snake_case and 2 < 3 > 1, #tag, a-b, 1.5", "snake_case and 2 < 3 > 1, #tag, a-b, 1.5"),
        ("$x^2$ and ![a cat](https://a.org/c.png)", "x² and [a cat](https://a.org/c.png)"),
        ("README.md :tada: AT&T &copy;", "README.md :tada: AT&T ©"),
    ],
)
def test_markdown_becomes_discords_own(markdown: str, content: str) -> None:
    assert content_of(markdown) == content


@table_test(
    "text",
    [
        "vector<int> and <your name>",
        "2*3*4 is 24, 5*x and 3*y are not",
        "call __init__() in snake_case_words, a_b_ and _c_d",
        "äöü_mit_ümlaut_",
        "a || b || c, a | b",
        "`" * 20,
        "**",
        "*not closed, **nor this, [nor](this",
        "about ~5 or ~6 and ~~",
        "root:x:1000:on:b: at 10:30:45, [:100:]",
        "<!-- a comment --> and ¯\\_(ツ)_/¯ and C:\\path\\_x",
        "<t:1700000000:R> and <:smile:123456789012345678> and </say:123456789012345678>",
        "https://example.com/_a_/b_c*d*",
        "-# not small",
        "above\n-# not small",
        "#tag, -#tag and - #tag",
        "<a:wave:123456789012345678>, <t:1700000000>, <t:-1:F> and </say loud:123456789012345678>",
        "call <+41 44 668 18 00>, not <+1",
        "[no](link",
    ],
)
def test_text_that_only_looks_like_markup_is_shown_as_it_is(text: str) -> None:
    content = content_of(text)
    assert seen_text(content) == text
    assert kinds_of(content) == []


@table_test(
    ("text", "shown"),
    [
        (
            "<id:customize> <id:linked-roles:123456789012345678>",
            "id:customize id:linked-roles:123456789012345678",
        ),
        ("<sound:1:2> <anna@example.org>", "sound:1:2 anna@example.org"),
        ("`<id:guide>` \\<sound:1:2> \\<anna@example.org>", "<id:guide> <sound:1:2> <anna@example.org>"),
    ],
)
def test_what_is_an_address_in_markdown_leads_nowhere_in_discord(text: str, shown: str) -> None:
    content = content_of(text)
    assert seen_text(content) == shown
    assert "reference" not in {kind for _, kinds in read(content) for kind in kinds}


@table_test(
    "text",
    ["\\# no heading", "\\- no point", "1986\\. A year", "\\> no quote", "0. zero", "a\n\\# b", "+1 \\- 2"],
)
def test_the_beginning_of_a_line_is_no_markup_where_none_was_meant(text: str) -> None:
    content = content_of(text)
    assert seen_text(content) == text.replace("\\", "")
    assert kinds_of(content) == []


@table_test(
    "text",
    [
        "@everyone",
        "@here!",
        "<@123456789012345678>",
        "<@&1234567890>",
        "<@!12>",
        "<@$34>",
        "<#123>",
        "**@everyone**",
    ],
)
def test_a_mention_in_a_text_is_shown_and_reaches_nobody(text: str) -> None:
    content = content_of(text)
    assert seen_text(content) == text.strip("*")
    assert "reference" not in {kind for _, kinds in read(content) for kind in kinds}
    assert not any(each in content for each in ("@everyone", "@here", "<@1", "<@&1", "<@!1"))


@table_test(
    ("markdown", "content"),
    [
        ("[Anna](tg://user?id=1) [s](javascript:x) [n](a/b.md)", "Anna s n (a/b.md)"),
        ("[https://bank.org](https://evil.org)", "https://bank.org (https://evil.org)"),
        ("[👍 yes](https://a.org)", "👍 yes (https://a.org)"),
        ("[@everyone](https://a.org)", "@\u200beveryone (https://a.org)"),
        ("[**a***b*](https://a.org)", "**a**\u200b*b* (https://a.org)"),
        ("[a*b](https://a.org)", "a\\*b (https://a.org)"),
        ("[[1]](https://a.org) and [2]", "[[1]](https://a.org) and \\[2]"),
        ("[x](https://a.org/a_(b)*c)", "[x](https://a.org/a%5F%28b%29%2Ac)"),
        ("# [👍](https://a.org)", "# 👍 (https://a.org)"),
    ],
)
def test_a_link_that_discord_would_not_take_keeps_its_words_and_its_address(
    markdown: str, content: str
) -> None:
    assert content_of(markdown) == content


def test_an_address_does_not_swallow_the_markup_beside_it() -> None:
    assert kinds_of(content_of("**https://a.org/b** https://a.org<b>b</b>")) == [
        ("bold", "https://a.org/b"),
        ("bold", "b"),
    ]


def test_signs_that_would_grow_together_are_kept_apart() -> None:
    assert kinds_of(content_of("**a**<i>b</i><b>c</b> ~~d~~<u>e</u> ||f||\\| ~~g~~\\~")) == [
        ("bold", "a"),
        ("italic", "b"),
        ("bold", "c"),
        ("strikethrough", "d"),
        ("underline", "e"),
        ("spoiler", "f"),
        ("strikethrough", "g"),
    ]


def test_lists_side_by_side_are_not_counted_on() -> None:
    assert seen_text(content_of("- a\n1. b\n2. c\n7) d")) == "[-]a\n\n[1.]b\n[2.]c\n\n[7.]d\n"


def test_code_in_a_list_stands_below_its_point_and_numbers_go_on() -> None:
    assert (
        content_of("1. run\n   ```sh\n   a\n     b\n   ```\n2. done") == "1. run\n```sh\na\n  b\n```\n2. done"
    )


@table_test("inner", ["```js\nlet x\n```", "a ``` b", "````", "`", "x`"])
def test_code_may_hold_backticks(inner: str) -> None:
    fence = "`" * 9
    content = content_of(f"{fence}md\n{inner}\n{fence}")
    assert kinds_of(content) == [("code md", inner)]


@table_test("inner", ["a ` b", "`", "a `` b", "a ``` b ` c", "`a`", "x\\"])
def test_code_in_a_line_may_hold_backticks(inner: str) -> None:
    fence = "`" * 9
    assert kinds_of(content_of(f"x {fence} {inner} {fence} y")) == [("code", inner)]


def test_a_spoiler_hides_code_with_bars_in_it() -> None:
    assert kinds_of(content_of("||a `b || c` d||")) == [
        ("spoiler", "a"),
        ("code spoiler", "b || c"),
        ("spoiler", "d"),
    ]


def test_a_language_that_discord_does_not_read_is_put_in_its_words_or_left_out() -> None:
    assert content_of("```C#\nx\n```") == "```cs\nx\n```"
    assert content_of("```日本\nx\n```") == "```\nx\n```"


def test_tables_are_columns_or_lists() -> None:
    assert content_of("| a | b |\n|---|--:|\n| 日本 | 1 |\n| x `y` | 22 |") == (
        "```\na    |  b\n-----+---\n日本 |  1\nx y  | 22\n```"
    )
    assert content_of("|a|b|c|\n|-|-|-|\n|1|[x](https://a.org)|3|") == (
        "**a · b · c**\n• 1\n    *b*: [x](https://a.org)\n    *c*: 3"
    )


def test_what_nobody_can_see_is_no_message() -> None:
    for blank in ("", " \n\t\n", "\u200b", "\u3164\u2800", "\ud800", "\x00\x01"):
        assert FORMAT.render(blank) == []


def test_very_long_code_is_a_file_in_its_place() -> None:
    code = "\n".join(f"print({number})" for number in range(500))
    before, head, file, after = FORMAT.render(
        f"First **this**.\n\n## Then\n\n```python\n{code}\n```\n\nAfter."
    )
    assert file == FileMessage("code.py", code + "\n")
    assert contents([before, head, after]) == ["First **this**.", "## Then", "After."]


@table_test(
    ("begun", "content"),
    [
        ("Hello **bold so", "Hello **bold so**"),
        ("a **b `c", "a **b** `c`"),
        ("x ||sec", "x ||sec||"),
        ("a [link](https://exam", "a link"),
        ("x\n\n```py\nprint(", "x\n\n```py\nprint(\n```"),
        ("x\n\n```py\nprint()\n``", "x\n\n```py\nprint()\n```"),
    ],
)
def test_a_preview_closes_what_is_still_being_written(begun: str, content: str) -> None:
    assert FORMAT.render_preview(begun) == [TextMessage(content)]


def test_a_preview_of_long_code_shows_its_last_lines() -> None:
    lines = [f"line {number}" for number in range(400)]
    (text,) = contents(FORMAT.render_preview("```python\n" + "\n".join(lines), limit=100))
    assert len(text) <= 100
    assert text.startswith("```python\n…\nline 3")
    assert text.endswith("\nline 398\nline 399\n```")
