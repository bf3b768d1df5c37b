"""Convert a message's text: mentions of the bot are removed, other marks become names; no I/O."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from adapters.incoming_text import trim_mentions
from memory.surrogates import replace_surrogates

_MENTION_OR_CODE = re.compile(
    # Code is matched first, as Discord shows no mentions in it.
    r"(?s:```.*?```)|``[^`]+``|`[^`\n]+`"
    r"|<(?:@!?(?P<user>\d{1,20})|@&(?P<role>\d{1,20})|\#(?P<channel>\d{1,20})|a?:(?P<emoji>\w+):\d+"
    r"|t:(?P<time>-?\d{1,13})(?::[A-Za-z])?|/(?P<command>[^:<>]+):\d+)>"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MentionNames:
    """Names for the ids in a text; "" if unknown."""

    me: int
    my_roles: frozenset[int]
    """Roles that Discord made for the bot itself."""
    users: Mapping[int, str]
    roles: Callable[[int], str]
    channels: Callable[[int], str]

    def is_mine(self, mark: re.Match[str]) -> bool:
        """Return whether a match mentions the bot."""
        if user := mark["user"]:
            return int(user) == self.me
        return bool(mark["role"]) and int(mark["role"]) in self.my_roles

    def read(self, mark: re.Match[str]) -> str:
        """Return the text that people see for a match."""
        match mark.lastgroup:
            case "user":
                name = self.users.get(int(mark["user"]), "")
                return f"@{name}" if name else mark[0]
            case "role":
                name = self.roles(int(mark["role"]))
                return f"@{name}" if name else mark[0]
            case "channel":
                name = self.channels(int(mark["channel"]))
                return f"#{name}" if name else mark[0]
            case "emoji":
                return f":{mark['emoji']}:"
            case "command":
                return f"/{mark['command']}"
        return _format_timestamp(int(mark["time"])) or mark[0]


def mentions_bot(text: str, names: MentionNames) -> bool:
    """Return whether the text mentions the bot."""
    return any(names.is_mine(mark) for mark in _find_mentions(text))


def read_text(text: str, names: MentionNames) -> str:
    """Return the text as people see it, without mentions of the bot at its start and end."""
    text = replace_surrogates(text)
    mine = [(mark.start(), mark.end()) for mark in _find_mentions(text) if names.is_mine(mark)]
    start, end = trim_mentions(lambda first, last: text[first:last], len(text), mine)
    pieces: list[str] = []
    at = start
    for mark in _find_mentions(text):
        if start <= mark.start() and mark.end() <= end:
            pieces += [text[at : mark.start()], names.read(mark)]
            at = mark.end()
    return "".join([*pieces, text[at:end]]).strip()


def _find_mentions(text: str) -> list[re.Match[str]]:
    return [mark for mark in _MENTION_OR_CODE.finditer(text) if mark.lastgroup]


def _format_timestamp(seconds: int) -> str:
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M} UTC"
    except OverflowError:
        return ""
