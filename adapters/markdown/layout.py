"""Arrange blocks as messages: prose together, very long code as a file in its place."""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from adapters.markdown.blocks import StyledBlock
from adapters.markdown.splitting import Ruler
from adapters.markdown.styled import Mark, Styled, StyledBuilder


class HasText(Protocol):
    """A text message of any platform."""

    @property
    def text(self) -> str:
        """The text, with a platform's markup if it has one."""
        ...


Text = TypeVar("Text", bound=HasText)
"""A platform's own type for a text message."""
Measure = Callable[[Styled], Ruler]
Cut = Callable[[Styled, Mapping[int, int]], list[Text]]
"""Splits text into messages; gets the start of each heading by its end."""
_LONG_CODE = 2
"""Number of messages above which code is sent as a file."""
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
"""A language that is itself a file ending, such as json."""


@dataclass(frozen=True, slots=True)
class FileMessage:
    """Code too long for two messages, sent as a file."""

    name: str
    content: str


def lay_out(
    blocks: list[StyledBlock], measure: Measure, cut: Cut[Text], limit: int, *, files: bool = True
) -> list[Text | FileMessage]:
    """Return the blocks as messages of at most `limit` by `measure`; `files`: whether long code may be a file."""
    messages: list[Text | FileMessage] = []
    names: set[str] = set()
    done = 0
    for at, block in enumerate(blocks):
        if files and block.is_code and _measure_blocks([block], measure) > _LONG_CODE * limit:
            led = max(done, _find_headings_before(blocks, at))
            messages += [*cut(*_join_blocks(blocks[done:led])), *cut(*_join_blocks(blocks[led:at]))]
            name = _choose_file_name(block.language, names)
            messages.append(FileMessage(name, block.styled.text + "\n"))
            done = at + 1
    return [*messages, *cut(*_join_blocks(blocks[done:]))]


def growing(
    blocks: list[StyledBlock], measure: Measure, cut: Cut[Text], limit: int
) -> list[Text | FileMessage]:
    """Like `lay_out` for a growing reply: code at the end that is too long shows only its last lines."""
    led = _find_headings_before(blocks, len(blocks) - 1)
    last = blocks[led:]
    if not last or not last[-1].is_code or _measure_blocks(last, measure) <= limit:
        return lay_out(blocks, measure, cut, limit)
    tail = _take_tail(last[-1], measure, limit)
    return [*lay_out(blocks[:led], measure, cut, limit), *cut(tail, {})]


def _find_headings_before(blocks: Sequence[StyledBlock], at: int) -> int:
    """Return the index of the first heading directly before block `at`; `at` if there is none, at least 0."""
    while at > 0 and blocks[at - 1].is_heading:
        at -= 1
    return max(at, 0)


def _join_blocks(blocks: Sequence[StyledBlock]) -> tuple[Styled, dict[int, int]]:
    out = StyledBuilder()
    headings: dict[int, int] = {}
    for block in blocks:
        if out.size:
            out.write(block.gap)
        start = out.size
        out.add(block.styled)
        if block.is_heading:
            headings[out.size] = start
    return out.build(), headings


def _measure_blocks(blocks: Sequence[StyledBlock], measure: Measure) -> int:
    styled, _ = _join_blocks(blocks)
    return measure(styled).size(0, len(styled.text))


def _choose_file_name(language: str, taken: set[str]) -> str:
    known = _ENDINGS.get(language.lower(), language.lower())
    ending = known if _ENDING.fullmatch(known) else "txt"
    name = f"code.{ending}"
    if name in taken:
        name = f"code-{len(taken) + 1}.{ending}"
    taken.add(name)
    return name


def _take_tail(block: StyledBlock, measure: Measure, limit: int) -> Styled:
    text = block.styled.text[-limit:]
    ruler = measure(Styled(text, (Mark("pre", 0, len(text), block.language),)))
    room = limit - len(_ELLIPSIS)
    start = bisect_left(range(len(text)), -room, key=lambda place: -ruler.size(place, len(text)))
    line = text.find("\n", start) + 1
    shown = _ELLIPSIS + text[line or start :]
    return Styled(shown, (Mark("pre", 0, len(shown), block.language),))
