"""Convert a message's text: mentions of the bot are removed, other marks become names; no I/O."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MENTION_OR_CODE = re.compile(
    # Code is matched first, as Discord shows no mentions in it.
    r"(?s:```.*?```)|``[^`]+``|`[^`\n]+`"
    r"|<(?:@!?(?P<user>\d{1,20})|@&(?P<role>\d{1,20})|\#(?P<channel>\d{1,20})|a?:(?P<emoji>\w+):\d+"
    r"|t:(?P<time>-?\d{1,13})(?::[A-Za-z])?|/(?P<command>[^:<>]+):\d+)>"
)
_BLANK = " \t\n\r,:;\N{NO-BREAK SPACE}"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def strip_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded as UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


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
    text = strip_surrogates(text)
    start, end = _trim_bot_mentions(text, names)
    pieces: list[str] = []
    at = start
    for mark in _find_mentions(text):
        if start <= mark.start() and mark.end() <= end:
            pieces += [text[at : mark.start()], names.read(mark)]
            at = mark.end()
    return "".join([*pieces, text[at:end]]).strip()


def _find_mentions(text: str) -> list[re.Match[str]]:
    return [mark for mark in _MENTION_OR_CODE.finditer(text) if mark.lastgroup]


def _trim_bot_mentions(text: str, names: MentionNames) -> tuple[int, int]:
    """Return the bounds of the text without the bot's mentions at its ends; the whole text if nothing else is left."""
    start, end = 0, len(text)
    mine = [(mark.start(), mark.end()) for mark in _find_mentions(text) if names.is_mine(mark)]
    for begin, stop in mine:
        if not text[start:begin].strip(_BLANK):
            start = stop
    for begin, stop in reversed(mine):
        if begin >= start and not text[stop:end].strip(_BLANK):
            end = begin
    left = text[start:end]
    if not left.strip(_BLANK):
        return 0, len(text)
    if start:
        start += len(left) - len(left.lstrip(_BLANK))
    if end < len(text):
        end -= len(left) - len(left.rstrip(_BLANK))
    return start, end


def _format_timestamp(seconds: int) -> str:
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M} UTC"
    except OverflowError:
        return ""
