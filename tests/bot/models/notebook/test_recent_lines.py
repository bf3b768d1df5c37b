"""Which lines of the notes the conversation was about last."""

import json

from bot.models.notebook.recent_lines import last_lines
from bot.models.protocol import AssistantMessage, ToolCall, ToolResult, UserMessage


def test_a_passage_counts_as_shown_only_where_its_own_line_is_named() -> None:
    hits = [
        {"path": "house.md", "line_start": line, "line_end": line, "snippet": text}
        for line, text in ((1, "The roof leaks."), (12, "The boiler is blue."))
    ]
    turn = (
        UserMessage("What about the boiler?"),
        AssistantMessage("", (ToolCall("1", "memory_search", json.dumps({"query": "boiler"})),)),
        ToolResult("1", "memory_search", json.dumps({"results": hits})),
        AssistantMessage("The boiler is blue. `house.md:12`"),
    )
    assert [each.text for each in last_lines(turn).lines] == ["The boiler is blue."]
