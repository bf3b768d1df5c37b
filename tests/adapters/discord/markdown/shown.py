"""What Discord's desktop client makes of a message, as its users have found out; and whether Discord would take it."""

import re

from adapters.discord.markdown.messages import FORMAT, TextMessage
from adapters.markdown.layout import FileMessage

Char = tuple[str, frozenset[str]]
STYLES = (
    ("bold", re.compile(r"\*\*((?:\\.|[^\\])+?)\*\*(?!\*)", re.DOTALL)),
    ("underline", re.compile(r"__((?:\\.|[^\\])+?)__(?!_)", re.DOTALL)),
    ("italic", re.compile(r"\*(?!\s)((?:\\.|\*\*|[^*\\])+?)(?<!\s) {0,2}\*(?!\*)", re.DOTALL)),
    ("italic", re.compile(r"_((?:\\.|__|[^_\\])+?)_(?![A-Za-z0-9_])", re.DOTALL)),
    ("strikethrough", re.compile(r"~~(.+?)~~(?!_)", re.DOTALL)),
    ("spoiler", re.compile(r"\|\|(.+?)\|\|", re.DOTALL)),
)
FENCE = re.compile(r"```(?:([A-Za-z0-9_+.-]*)\n)?(.*?[^\n].*?)```", re.DOTALL)
CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)", re.DOTALL)
ESCAPE = re.compile(r"\\([^A-Za-z0-9\s])")
LINK = re.compile(r"\[((?:\[[^\]]*\]|[^\[\]])*[^\[]*)\]\(<?(https?://[^\s()>]+)>?\)")
ADDRESS = re.compile(r"<(https?://[^ >]+)>|(https?://[^\s<]+[^\s<.,:;\"'\]])")
REFERENCE = re.compile(
    r"@everyone|@here|<(?:@[!&$]?|#)\d+>|<t:-?\d+(?::\w)?>|<a?:\w+:\d+>|</[^>\n]+:\d+>|<id:[\w-]+(?::\d+)?>"
    r"|<sound:\d+:\d+>|<\+[\d -]+>|<[^\s<>@]+@[^\s<>@]+>"
)
QUOTE = re.compile(r"(?:(?:^|(?<=\n)) *> [^\n]*(?:\n|$))+")
HEADING = re.compile(r"(#{1,3})\s+(?!#)([^\n]*)\n?\n?")
SUBTEXT = re.compile(r" *-# +(?!-#)([^\n]+)\n?")
ITEM = re.compile(r" *((?:[*-]|\d+\.) +)([^\n]*(?:\n {2}[^\n]*)*)(?:\n|$)")


def read(text: str, kinds: frozenset[str] = frozenset(), *, bare: bool = False) -> list[Char]:
    """Each character that is seen, and what it is shown as."""
    seen: list[Char] = []
    at = 0
    while at < len(text):
        begins = at == 0 or text[at - 1] == "\n"
        if begins and (match := QUOTE.match(text, at)) and "quote" not in kinds:
            inner = re.sub(r"^ *> ", "", match[0], flags=re.MULTILINE)
            seen += read(inner, kinds | {"quote"})
        elif begins and (match := HEADING.match(text, at)) and "list" not in kinds:
            seen += read(match[2].rstrip().rstrip("#"), kinds | {f"heading {len(match[1])}"})
        elif begins and (match := SUBTEXT.match(text, at)):
            seen += read(match[1], kinds | {"subtext"})
        elif begins and (match := ITEM.match(text, at)):
            seen.append((f"[{match[1].strip()}]", kinds | {"list"}))
            inner = re.sub(f"^ {{1,{len(match[1])}}}", "", match[2], flags=re.MULTILINE)
            seen += [*read(inner, kinds | {"list"}), ("\n", kinds)]
        elif match := ESCAPE.match(text, at):
            seen.append((match[1], kinds))
        elif match := FENCE.match(text, at):
            seen += [(char, kinds | {f"code {match[1] or ''}"}) for char in match[2].strip("\n")]
        elif match := CODE.match(text, at):
            inner = match[2]
            inner = inner[inner.lstrip(" ").startswith("`") and inner[0] == " " :]
            inner = inner[: -1 if inner.rstrip(" ").endswith("`") and inner[-1] == " " else None]
            seen += [(char, kinds | {"code"}) for char in inner]
        elif not bare and (match := LINK.match(text, at)):
            seen += read(match[1], kinds | {match[2]}, bare=True)
        elif match := ADDRESS.match(text, at):
            seen += [(char, kinds) for char in match[1] or match[2]]
        elif match := REFERENCE.match(text, at):
            seen.append((match[0], kinds | {"reference"}))
        elif found := [(each, kind) for kind, rule in STYLES if (each := rule.match(text, at))]:
            match, kind = max(found, key=lambda each: each[0].end())
            seen += read(match[1], kinds | {kind}, bare=bare)
        else:
            seen.append((text[at], kinds))
            at += 1
            continue
        at = match.end()
    return seen


def seen_text(content: str) -> str:
    return "".join(char for char, _ in read(content) if char != "\u200b")


def kinds_of(content: str) -> list[tuple[str, str]]:
    """Runs of text that are more than text, each with what they are."""
    runs: list[tuple[frozenset[str], str]] = []
    for char, kinds in read(content):
        if char == "\u200b":
            continue
        if runs and runs[-1][0] == kinds:
            runs[-1] = kinds, runs[-1][1] + char
        else:
            runs.append((kinds, char))
    return [(" ".join(sorted(kinds)), text.strip()) for kinds, text in runs if kinds and text.strip()]


def content_of(markdown: str) -> str:
    (message,) = FORMAT.render(markdown)
    assert isinstance(message, TextMessage)
    return message.text


def contents(messages: list[TextMessage | FileMessage]) -> list[str]:
    return [message.text if isinstance(message, TextMessage) else message.content for message in messages]


def seen_texts(messages: list[TextMessage | FileMessage]) -> list[str]:
    return [
        seen_text(message.text) if isinstance(message, TextMessage) else message.content
        for message in messages
    ]


def assert_sendable(messages: list[TextMessage | FileMessage], limit: int = 2000) -> None:
    """Not blank and within the limit."""
    for message in messages:
        if isinstance(message, FileMessage):
            assert re.fullmatch(r"code(-\d+)?\.[a-z0-9]+", message.name)
            continue
        assert len(message.text) <= limit
        assert message.text.strip().strip("\u200b")
