"""Pure: renders a note's Markdown as HTML, with an anchor for each line."""

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
"""Maximum length of a front matter block."""


def render_note(text: str, *, path: str, first_line: int = 1) -> str:
    """Return the HTML of a note, or of its part from `first_line` (1-based); it loads and runs nothing.

    Raw HTML is shown as text. Pictures become links, links to other notes lead to their pages, and URLs that would do
    more than open a page become text. Line n has the anchor `Ln`.
    """
    if first_line == 1:
        text = _fence_properties(text)
    env = {"path": path, "offset": first_line, "anchored": first_line - 1}
    html = str(_make_renderer().render(text, env))
    return html + _anchors_until(first_line + text.removesuffix("\n").count("\n"), env)


def render_lines(text: str, *, first_line: int = 1) -> str:
    """Return the HTML of lines as plain text, with the same anchors."""
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
    """Return a rule that also notes, in each line break, how many lines of the block are above it.

    They cannot be counted later: code, a link or a picture may itself span lines.
    """

    def with_numbers(state: Any, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        done = rule(state, silent)
        for token in state.tokens[before:]:
            if token.type in ("softbreak", "hardbreak"):
                token.meta = {"above": state.src.count("\n", 0, start) + 1}
        return done

    return with_numbers


def _restrict_links(state: Any) -> None:
    """Start each line of text with a token, and restrict links to safe targets."""
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
    """Return the target of a link in the note `path`, "" if it is not allowed."""
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
    """Return the anchor of a line, counted from 0, and those of the empty lines before it."""
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
    """Render a line break of the note as one, since daily logs rely on them."""
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
    """Open a frame in which a wide table scrolls, also by keyboard."""
    lines = tokens[index].map
    name = f"Table in line {lines[0] + env['offset']}" if lines else "Table"
    return f'<div class="table" role="region" aria-label="{name}" tabindex="0"><table>\n'


def _render_table_end(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    return "</table></div>\n"


def _fence_properties(text: str) -> str:
    """Turn front matter, between two lines of `---`, into a code block."""
    if not text.startswith("---\n"):
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines[1:_FRONT_MATTER_LINES], start=1):
        if line.rstrip() in ("---", "..."):
            return "\n".join(["```", *lines[1:number], "```", *lines[number + 1 :]])
    return text
