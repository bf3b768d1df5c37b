"""Pure: Markdown → the messages that Telegram shows."""

import re
from dataclasses import dataclass

from adapters.telegram.markdown.blocks import Block, Known, blocks_of
from adapters.telegram.markdown.mending import closed, sendable
from adapters.telegram.markdown.splitting import Part, Units, parts_of
from adapters.telegram.markdown.styled import Mark, Pieces, Styled, is_blank

LIMIT = 4096
"""Units of UTF-16 that a message may have."""
_LONG_CODE = 2
"""Messages beyond which code is sent as a file."""
_ELLIPSIS = "…\n"
_ENDINGS = {
    **dict.fromkeys(("", "text", "plain"), "txt"),
    **dict.fromkeys(("python", "python3"), "py"),
    **dict.fromkeys(("javascript", "node"), "js"),
    **dict.fromkeys(("bash", "shell", "zsh", "console"), "sh"),
    **dict.fromkeys(("c++", "cxx"), "cpp"),
    **dict.fromkeys(("c#", "csharp"), "cs"),
    "typescript": "ts",
    "markdown": "md",
    "rust": "rs",
    "golang": "go",
    "ruby": "rb",
    "kotlin": "kt",
    "haskell": "hs",
    "latex": "tex",
    "perl": "pl",
    "powershell": "ps1",
}
_ENDING = re.compile(r"[a-z][a-z0-9]{0,4}")
"""A language that is an ending itself, such as json."""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity as in the Bot API; offset and length in units of UTF-16."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class TextMessage:
    """Text for one message, never blank and never too long."""

    text: str
    entities: tuple[Entity, ...] = ()


@dataclass(frozen=True, slots=True)
class FileMessage:
    """Code that would take more than two messages, to be sent as a document."""

    name: str
    content: str
    caption: str


def messages_of(
    markdown: str, *, limit: int = LIMIT, known: Known | None = None, files: bool = True
) -> list[TextMessage | FileMessage]:
    """`markdown` as Telegram shows it, in order; nothing where there is nothing to be seen.

    `limit` is in units of UTF-16, at least 2. `files`: whether very long code may be one. `known`, a dict kept for
    the time of one reply, saves reading again what has not changed since the last call.
    """
    blocks = _blocks(sendable(markdown), known)
    return _messages(blocks, limit) if files else [*_cut(blocks, limit)]


def preview_of(
    markdown: str, *, limit: int = LIMIT, known: Known | None = None
) -> list[TextMessage | FileMessage]:
    """As `messages_of`, for a reply that still grows: what it has begun is closed.

    All messages but the last stay as they are while text is added, but for links and footnotes whose target
    comes later, and for a paragraph or table longer than a message. So that this holds for code too, which may
    yet grow into a file, code that stands last and does not fit into one message shows its last lines alone.
    """
    blocks = _blocks(closed(sendable(markdown)), known, growing=True)
    led = _headings_before(blocks, len(blocks) - 1)
    last = blocks[led:]
    if last and last[-1].is_code and _size(last) > limit:
        return _messages(blocks[:led], limit) + _messages([_tail(last[-1], limit)], limit)
    return _messages(blocks, limit)


def _blocks(text: str, known: Known | None, *, growing: bool = False) -> list[Block]:
    if is_blank(text):
        return []
    blocks = blocks_of(text, {} if known is None else known)
    return blocks if blocks or growing else [Block(Styled(text.strip()), "")]


def _messages(blocks: list[Block], limit: int) -> list[TextMessage | FileMessage]:
    messages: list[TextMessage | FileMessage] = []
    names: set[str] = set()
    done = 0
    for at, block in enumerate(blocks):
        if block.is_code and _size([block]) > _LONG_CODE * limit:
            led = max(done, _headings_before(blocks, at))
            messages += [*_cut(blocks[done:led], limit), *_cut(blocks[led:at], limit)]
            name = _file_name(block.language, names)
            messages.append(FileMessage(name, block.styled.text + "\n", name))
            done = at + 1
    return messages + _cut(blocks[done:], limit)


def _headings_before(blocks: list[Block], at: int) -> int:
    """The first of the headings that stand right before the block `at`; else `at`, at least 0."""
    while at > 0 and blocks[at - 1].is_heading:
        at -= 1
    return max(at, 0)


def _size(blocks: list[Block]) -> int:
    """Units that `blocks` take in one message."""
    text = "".join(block.gap + block.styled.text for block in blocks)
    return Units(text).at(len(text)) - len(blocks[0].gap)


def _cut(blocks: list[Block], limit: int) -> list[TextMessage]:
    out = Pieces()
    headings: dict[int, int] = {}
    for block in blocks:
        if out.size:
            out.write(block.gap)
        start = out.size
        out.add(block.styled)
        if block.is_heading:
            headings[out.size] = start
    return [_message(part) for part in parts_of(out.done(), headings, limit=limit)]


def _message(part: Part) -> TextMessage:
    units = Units(part.text)
    return TextMessage(part.text, tuple(_entity(mark, units) for mark in part.marks))


def _entity(mark: Mark, units: Units) -> Entity:
    start = units.at(mark.start)
    url = mark.detail if mark.kind == "text_link" else ""
    language = mark.detail if mark.kind == "pre" else ""
    return Entity(mark.kind, start, units.at(mark.end) - start, url, language)


def _file_name(language: str, taken: set[str]) -> str:
    known = _ENDINGS.get(language.lower(), language.lower())
    ending = known if _ENDING.fullmatch(known) else "txt"
    name = f"code.{ending}"
    if name in taken:
        name = f"code-{len(taken) + 1}.{ending}"
    taken.add(name)
    return name


def _tail(block: Block, limit: int) -> Block:
    text = block.styled.text
    units = Units(text)
    room = units.at(len(text)) - limit + len(_ELLIPSIS)
    start = next((place for place in range(len(text)) if units.at(place) >= room), len(text))
    line = text.find("\n", start) + 1
    shown = _ELLIPSIS + text[line or start :]
    return Block(Styled(shown, (Mark("pre", 0, len(shown), block.language),)), block.gap, is_code=True)
