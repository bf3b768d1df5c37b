"""Pure: the text of a message of Discord as it is read: the bot's name gone, everything else by its name."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MENTION_OR_CODE = re.compile(
    # In code nothing is a mention, as Discord shows it: it is passed over.
    r"(?s:```.*?```)|``[^`]+``|`[^`\n]+`"
    r"|<(?:@!?(?P<user>\d{1,20})|@&(?P<role>\d{1,20})|\#(?P<channel>\d{1,20})|a?:(?P<emoji>\w+):\d+"
    r"|t:(?P<time>-?\d{1,13})(?::[A-Za-z])?|/(?P<command>[^:<>]+):\d+)>"
)
_BLANK = " \t\n\r,:;\N{NO-BREAK SPACE}"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def strip_surrogates(text: str) -> str:
    """`text` without half characters, which no file could hold."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(frozen=True, slots=True)
class MentionNames:
    """What stands behind the numbers in a text; "" for what nobody knows."""

    me: int
    my_roles: frozenset[int]
    """Those that Discord made for the bot itself."""
    users: Mapping[int, str]
    roles: Callable[[int], str]
    channels: Callable[[int], str]

    def is_mine(self, mark: re.Match[str]) -> bool:
        """Whether a mention is one of the bot."""
        if user := mark["user"]:
            return int(user) == self.me
        return bool(mark["role"]) and int(mark["role"]) in self.my_roles

    def read(self, mark: re.Match[str]) -> str:
        """What people see in a mark's place."""
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
    """Whether the text mentions the bot."""
    return any(names.is_mine(mark) for mark in _find_mentions(text))


def read_text(text: str, names: MentionNames) -> str:
    """The text as a person would say it: the bot's name is gone where it only calls, marks are what they show."""
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
    """Where the text begins and ends without the bot's name at its ends; all of it where nothing would be left."""
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
