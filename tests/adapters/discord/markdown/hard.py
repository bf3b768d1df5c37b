"""Hard Markdown for Discord, by Hypothesis."""

from hypothesis import strategies as st

pieces = st.sampled_from(
    [
        *(
            "*",
            "**",
            "_",
            "__",
            "~~",
            "~",
            "||",
            "|",
            "`",
            "``",
            "```",
            "\\",
            "[",
            "]",
            "](",
            ")",
            "<",
            ">",
            "#",
        ),
        *(
            "https://a.org/x_y*",
            "https://b.org/_",
            "snake_case",
            "a:b:c",
            "👍",
            "`x_`",
            "`|| y`",
            "**b**",
            "*i*",
        ),
        *(
            "<u>",
            "</u>",
            "[l](https://a.org)",
            "[👍](https://a.org)",
            "@everyone",
            "<@123>",
            "<t:12:R>",
            "<:a:1>",
        ),
        *(
            "重",
            "。",
            " ",
            "\n",
            "\n\n",
            "- ",
            "  - ",
            "1. ",
            "3. ",
            "> ",
            "# ",
            "-# ",
            "    ",
            "- [x] ",
            "\n```py\n",
            "$x^2$",
        ),
    ]
)
words = st.integers(0, 10**6).map(lambda number: f"wörd{number}") | st.sampled_from(["重要", "שלום", "слово"])
hard_markdown = st.lists(pieces | words, max_size=30).map("".join)
