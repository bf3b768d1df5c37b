"""Where changes of notes come from, for tests that do not ask."""

from bot.state.changes import ChangeOrigin

TOOL_CALL = ChangeOrigin("tool", person="telegram:1", chat="telegram:1", model="test/one")
