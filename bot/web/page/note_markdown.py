"""Pure: a note's Markdown as HTML, with an anchor for each line that says something."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

from bot.web.page.urls import note_url

_FRONT_MATTER_LINES = 100
"""How far the end of a block of properties at the beginning of a note is looked for."""


def render_note(text: str, *, path: str, first_line: int = 1) -> str:
    """HTML of a note, or of its part that begins at `first_line` (1-based); nothing in it is loaded or run.

    Raw HTML is shown as text. Pictures are links, links to other notes lead to where they are shown, and addresses
    that a browser would do something else with than to open a page are text. Line n has the anchor `Ln`.
    """
    if first_line == 1:
        text = _fence_properties(text)
    env = {"path": path, "offset": first_line, "anchored": first_line - 1}
    html = str(_make_renderer().render(text, env))
    return html + _anchors_until(first_line + text.removesuffix("\n").count("\n"), env)


def render_lines(text: str, *, first_line: int = 1) -> str:
    """The same lines as they are written, with the same anchors."""
    env = {"offset": first_line, "anchored": first_line - 1}
    lines = enumerate(text.removesuffix("\n").split("\n"))
    shown = "\n".join(f"{_line_anchor(number, env)}{escape(line)}" for number, line in lines)
    return f'<pre tabindex="0"><code>{shown}</code></pre>\n'


@cache
def _make_renderer() -> "MarkdownIt":
    from markdown_it import MarkdownIt, rules_inline

    markdown = MarkdownIt("commonmark", {"html": False, "breaks": False}).enable(["table", "strikethrough"])
    markdown.inline.ruler.at("newline", _with_line_numbers(rules_inline.newline))
    markdown.inline.ruler.at("escape", _with_line_numbers(rules_inline.escape))
    markdown.core.ruler.push("tame_links", _restrict_links)
    for name, rule in {
        "fence": _render_code,
        "code_block": _render_code,
        "image": _render_image,
        "hr": _render_rule,
        "table_open": _render_table,
        "table_close": _render_table_end,
        "softbreak": _render_line_break,
        "hardbreak": _render_line_break,
        "inline_line": _render_line,
    }.items():
        markdown.add_render_rule(name, rule)
    return markdown


def _with_line_numbers(rule: Callable[[Any, bool], bool]) -> Callable[[Any, bool], bool]:
    """The same rule; a break that it makes tells how many of the block's lines are above it.

    They cannot be counted afterwards: code, a link or a picture may itself go on in the next line.
    """

    def telling(state: Any, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        done = rule(state, silent)
        for token in state.tokens[before:]:
            if token.type in ("softbreak", "hardbreak"):
                token.meta = {"above": state.src.count("\n", 0, start) + 1}
        return done

    return telling


def _restrict_links(state: Any) -> None:
    """Make each line of running text begin with a token of its own, and each link lead only where it may."""
    from markdown_it.token import Token

    for block in state.tokens:
        if block.type != "inline" or block.children is None or block.map is None:
            continue
        line = block.map[0]
        children = [Token("inline_line", "", 0, meta={"line": line})]
        open_links: list[bool] = []
        for child in block.children:
            if child.type in ("softbreak", "hardbreak"):
                child.meta = {"line": line + child.meta["above"]}
            elif child.type == "link_open":
                leads = _link_target(str(child.attrs.get("href", "")), state.env["path"])
                open_links.append(bool(leads))
                child.tag = "a" if leads else "span"
                child.attrs = {"href": leads, "rel": "noopener noreferrer"} if leads else {}
            elif child.type == "link_close":
                child.tag = "a" if open_links.pop() else "span"
            children.append(child)
        block.children = children


def _link_target(target: str, path: str) -> str:
    """Where a link in the note `path` leads; "" where it is to lead nowhere."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return ""
    if parts.scheme.lower() in ("http", "https", "mailto"):
        return target
    if parts.scheme or parts.netloc:
        return ""
    if not parts.path:
        return f"#{parts.fragment}" if re.fullmatch(r"L\d+", parts.fragment) else ""
    steps: list[str] = []
    for step in (PurePosixPath(path).parent / unquote(parts.path)).parts:
        if step == "..":
            if not steps:
                return ""
            steps.pop()
        else:
            steps.append(step)
    note = "/".join(steps)
    if not note.endswith(".md") or note.startswith("/"):
        return ""
    line = re.fullmatch(r"L([1-9]\d{0,8})", parts.fragment)
    return note_url(note, int(line[1]) if line else None)


def _line_anchor(line: int, env: dict[str, Any]) -> str:
    """That of a line, counted from 0 in what is rendered, and of those before it that show nothing."""
    number = line + env["offset"]
    if number <= env["anchored"]:  # another cell of the same row
        return ""
    before = _anchors_until(number - 1, env)
    env["anchored"] = number
    return f'{before}<span class="line" id="L{number}" data-line="{number}"></span>'


def _anchors_until(line: int, env: dict[str, Any]) -> str:
    anchors = "".join(f'<span id="L{number}"></span>' for number in range(env["anchored"] + 1, line + 1))
    env["anchored"] = max(env["anchored"], line)
    return anchors


def _render_line(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    return _line_anchor(tokens[index].meta["line"], env)


def _render_line_break(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    """A line of the note stays a line: that is how a daily log is written."""
    meta = tokens[index].meta
    return f"<br>\n{_line_anchor(meta['line'], env)}" if meta else "<br>\n"


def _render_rule(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    lines = tokens[index].map
    return f"{_line_anchor(lines[0], env) if lines else ''}<hr>\n"


def _render_code(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    token = tokens[index]
    assert token.map is not None
    first = token.map[0] + (1 if token.type == "fence" else 0)
    lines = token.content.removesuffix("\n").split("\n")
    shown = "\n".join(
        f"{_line_anchor(first + number, env)}{escape(line)}" for number, line in enumerate(lines)
    )
    opening = _line_anchor(token.map[0], env) if token.type == "fence" else ""
    return f'{opening}<pre tabindex="0"><code>{shown}</code></pre>\n'


def _render_image(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    token = tokens[index]
    shown = escape(token.content or str(token.attrs.get("src", "")))
    leads = _link_target(str(token.attrs.get("src", "")), env["path"])
    return f'<a href="{escape(leads)}" rel="noopener noreferrer">{shown}</a>' if leads else shown


def _render_table(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    """A wide one is moved within its frame, by the keys too."""
    lines = tokens[index].map
    name = f"Table in line {lines[0] + env['offset']}" if lines else "Table"
    return f'<div class="table" role="region" aria-label="{name}" tabindex="0"><table>\n'


def _render_table_end(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    return "</table></div>\n"


def _fence_properties(text: str) -> str:
    """A block of properties between two lines of `---`, as many programs write it, becomes a block of code."""
    if not text.startswith("---\n"):
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines[1:_FRONT_MATTER_LINES], start=1):
        if line.rstrip() in ("---", "..."):
            return "\n".join(["```", *lines[1:number], "```", *lines[number + 1 :]])
    return text
