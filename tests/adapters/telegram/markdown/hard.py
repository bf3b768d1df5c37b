"""Hard Markdown for Telegram, by Hypothesis."""

from hypothesis import strategies as st

# Words that no markup takes for itself: not in a link's address, not the name of a tag, a language or an entity.
words = st.integers(0, 10**6).map(lambda number: f"wörd{number}") | st.sampled_from(["重要", "שלום", "слово"])
inline = st.recursive(
    words
    | st.sampled_from(
        ["「", "」", "。", "😀", "👨‍👩‍👧", "vector<", ">", "<b>", "&", "$", "||", "2*3", "\\", "[", "]("]
    ),
    lambda inner: st.builds(
        lambda mark, parts: mark[0] + "".join(parts) + mark[1],
        st.sampled_from(
            [
                *(("**", "**"), ("*", "*"), ("_", "_"), ("~~", "~~"), ("`", "`"), ("||", "||"), ("$", "$")),
                *(
                    ("<u>", "</u>"),
                    ("[", "](https://a.org)"),
                    ("[", "](tg://user?id=1)"),
                    ("``````", "``````"),
                ),
                *(("", " "), (" ", "\n")),
            ]
        ),
        st.lists(inner, max_size=4),
    ),
    max_leaves=8,
)
line = st.builds(lambda parts: "".join(parts), st.lists(inline, max_size=4))
lead = st.sampled_from(
    [
        "",
        "# ",
        "- ",
        "  - ",
        "    ",
        "1. ",
        "> ",
        "> > ",
        "- [x] ",
        "```\n",
        "~~~\n",
        "|",
        "[^1]: ",
        "<div>",
        "***\n",
        "$$",
    ]
)
block = st.builds(
    lambda lead, text, end: lead + text + end, lead, line, st.sampled_from(["\n", "\n\n", "|\n|-|\n"])
)
hard_markdown = st.lists(block, max_size=8).map("".join)
