"""Renders a note's Markdown as HTML, with an anchor for each line; links and tags lead to pages."""

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

from bot import phrases
from bot.sanitize import cut
from bot.web.page.urls import file_url, heading_url, note_url, tag_url
from memory.backlinks import NO_LINKS, NoteLinks
from memory.front_matter import FrontMatter, Property, read_front_matter
from memory.link_targets import may_be_note
from memory.note_links import NoteLink, match_wiki_link
from memory.note_tags import clean_tag, split_tags
from memory.tasks import is_task, task_mark

FindFile = Callable[[str], str]
"""Returns the path of the file that a target in a note means; "" for none."""


def find_no_file(target: str) -> str:
    """Find nothing."""
    del target
    return ""


MAX_CHARACTERS: Final = 200_000
"""Limit for rendering Markdown; longer parts of a note are shown as plain text."""
MAX_TASK_CHARS: Final = 80
"""Limit for the name of a task's button."""
MAX_COLUMNS: Final = 100
"""Limit for the columns of a table. The renderer adds missing cells: ten tables of thousands take half a minute."""


def render_note(
    text: str,
    *,
    path: str,
    first_line: int = 1,
    links: NoteLinks = NO_LINKS,
    find_file: FindFile = find_no_file,
    ticks: bool = False,
) -> str:
    """Return the HTML of a note, or of its part from `first_line` (1-based); it runs nothing.

    Raw HTML is shown as text. Pictures that `find_file` finds are shown, and other files and pictures elsewhere become
    links. Links to other notes lead to their pages, tags to a search for them, and URLs that would do more than open a
    page become text. Line n has the anchor `Ln`. `links`: where the links of the note lead to; those to no note are
    marked. `ticks`: whether tasks are buttons of the form `tasks`.
    """
    env: dict[str, Any] = {
        "path": path,
        "offset": first_line,
        "anchored": first_line - 1,
        "links": links,
        "find_file": find_file,
    }
    front = read_front_matter(text) if first_line == 1 else FrontMatter()
    properties = _render_properties(front, env)
    if front.last_line:
        text = "\n" * front.last_line + text.split("\n", front.last_line)[-1]
    if ticks:
        env["lines"] = text.split("\n")
    html = str(_make_renderer().render(text, env))
    return properties + html + _anchors_until(first_line + text.removesuffix("\n").count("\n"), env)


def render_message(text: str, *, number: int) -> str:
    """Return the HTML of a message of a conversation, as safe as a note's, without anchors of lines.

    Its headings are bold lines, as the headings of the page are others. `number` tells its tables from those of other
    messages.
    """
    env = {
        "path": "",
        "offset": 1,
        "anchored": sys.maxsize,
        "links": NO_LINKS,
        "find_file": find_no_file,
        "message": number,
    }
    return str(_make_renderer().render(text, env))


def render_part(
    text: str,
    *,
    path: str,
    first_line: int = 1,
    links: NoteLinks = NO_LINKS,
    find_file: FindFile = find_no_file,
    ticks: bool = False,
) -> str:
    """Return what `render_note` returns, or what `render_lines` returns of a text that would take too long."""
    laid_out = len(text) <= MAX_CHARACTERS and all(
        line.count("|") <= MAX_COLUMNS for line in text.split("\n")
    )
    if not laid_out:
        return render_lines(text, first_line=first_line)
    return render_note(text, path=path, first_line=first_line, links=links, find_file=find_file, ticks=ticks)


def render_lines(text: str, *, first_line: int = 1) -> str:
    """Return the HTML of lines as plain text, with the same anchors."""
    env = {"offset": first_line, "anchored": first_line - 1}
    lines = enumerate(text.removesuffix("\n").split("\n"))
    shown = "\n".join(f"{_line_anchor(number, env)}{escape(line)}" for number, line in lines)
    return f'<pre tabindex="0"><code>{shown}</code></pre>\n'


def weigh_line(line: bytes) -> int:
    """Return about how many bytes of HTML a line of a note (UTF-8) becomes, rather too many than too few."""
    links = line.count(b"[") + line.count(b"://")
    weight = (
        _ANCHOR_BYTES + len(line) + 160 * links + 12 * line.count(b"|") + 4 * sum(map(line.count, b"&<>\"'"))
    )
    if links or b"#" in line:
        weight += 3 * len(line) + 60 * line.count(b"#")  # addresses have three bytes for one of other scripts
    return weight + 6 * sum(map(line.count, b"*_`~"))


_ANCHOR_BYTES = 65


@cache
def _make_renderer() -> "MarkdownIt":
    from markdown_it import MarkdownIt, rules_inline

    markdown = MarkdownIt("commonmark", {"html": False, "breaks": False}).enable(["table", "strikethrough"])
    markdown.inline.ruler.at("newline", _with_line_numbers(rules_inline.newline))
    markdown.inline.ruler.at("escape", _with_line_numbers(rules_inline.escape))
    markdown.inline.ruler.before("link", "wikilink", _parse_wiki_link)
    markdown.core.ruler.push("tame_links", _restrict_links)
    for name, rule in {
        "fence": _render_code,
        "code_block": _render_code,
        "image": _render_image,
        "hr": _render_rule,
        "heading_open": _render_heading,
        "heading_close": _render_heading_end,
        "table_open": _render_table,
        "table_close": _render_table_end,
        "softbreak": _render_line_break,
        "hardbreak": _render_line_break,
        "inline_line": _render_line,
        "wikilink": _render_wiki_link,
        "tag": _render_tag,
        "task": _render_task,
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
                token.meta = {"above": _count_breaks(state, start) + 1}
        return done

    return with_numbers


def _count_breaks(state: Any, end: int) -> int:
    """Return how many line breaks a block has before `end`; of a long block, they are found once."""
    blocks: dict[str, list[int]] = state.env.setdefault("line_breaks", {})
    if (places := blocks.get(state.src)) is None:
        places = blocks[state.src] = [each.start() for each in re.finditer("\n", state.src)]
    return bisect_left(places, end)


def _restrict_links(state: Any) -> None:
    """Start each line of text with a token, and restrict links to safe targets."""
    from markdown_it.token import Token

    for place, block in enumerate(state.tokens):
        if block.type != "inline" or block.children is None or block.map is None:
            continue
        line = block.map[0]
        children = [Token("inline_line", "", 0, meta={"line": line})]
        if task := _take_task_mark(block.children, state.tokens[max(place - 2, 0) : place]):
            children.append(Token("task", "", 0, meta={"is_done": task in "xX", "line": line}))
        open_links: list[bool] = []
        for before, child in zip((None, *block.children), block.children, strict=False):
            if child.type in ("softbreak", "hardbreak"):
                child.meta = {"line": line + child.meta["above"]}
            elif child.type == "link_open":
                href = str(child.attrs.get("href", ""))
                leads, is_broken = _find_target(href, state.env)
                open_links.append(bool(leads))
                child.tag = "a" if leads else "span"
                child.attrs = {}
                if leads:
                    child.attrs = {"href": leads, "rel": "noopener noreferrer"}
                elif is_broken:
                    child.attrs = {"class": _BROKEN, "title": phrases.WEB_NO_SUCH_NOTE}
            elif child.type == "link_close":
                child.tag = "a" if open_links.pop() else "span"
            elif child.type == "text" and "#" in child.content and not any(open_links):
                begins_line = before is None or before.type in ("softbreak", "hardbreak")
                children += _split_text(child.content, begins_line=begins_line)
                continue
            children.append(child)
        block.children = children


def _take_task_mark(children: "Sequence[Token]", before: "Sequence[Token]") -> str:
    """Remove the mark of a task from the beginning of a list item, and return it: " ", "x" or "X"; "" for none."""
    if [each.type for each in before] != ["list_item_open", "paragraph_open"]:
        return ""
    if not children or not (mark := _TASK.match(children[0].content)):
        return ""
    children[0].content = children[0].content[mark.end() :]
    before[0].attrSet("class", "task")
    return mark[1]


_TASK = re.compile(r"\[([ xX])\][ \t]+")
_BROKEN = "broken"
"""Class of a link that leads to no note."""


def _split_text(text: str, *, begins_line: bool) -> "Iterator[Token]":
    """Yield tokens for a text and the tags in it."""
    from markdown_it.token import Token

    for part, tag in split_tags(text) if begins_line else _split_later_tags(text):
        yield (
            Token("tag", "", 0, content=part, meta={"tag": tag})
            if tag
            else Token("text", "", 0, content=part)
        )


def _split_later_tags(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text within a line, as `split_tags` does; a tag needs a space before it."""
    yield from (
        (part[1:] if place == 0 else part, tag) for place, (part, tag) in enumerate(split_tags("." + text))
    )


def _parse_wiki_link(state: Any, silent: bool) -> bool:
    """Parse `[[target]]` and `![[target]]` for markdown-it."""
    is_embed = state.src.startswith("![[", state.pos)
    start = state.pos + is_embed
    if not state.src.startswith("[[", start) or (link := match_wiki_link(state.src, start)) is None:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.meta = {"link": link, "is_embed": is_embed}
    state.pos = link.end
    return True


def _render_wiki_link(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    meta = tokens[index].meta
    return _format_file_link(meta["link"], env, is_embed=meta["is_embed"]) or _format_wiki_link(
        meta["link"], env
    )


def _format_file_link(link: NoteLink, env: dict[str, Any], *, is_embed: bool) -> str:
    """Return the HTML of a wikilink to a file that is no note: a picture if it is embedded; "" if there is none."""
    if may_be_note(link.target) or not (file := env["find_file"](link.target)):
        return ""
    label = "" if link.label == link.target else link.label
    return _format_file(file, label, is_embed=is_embed, name=link.target)


def _format_file(file: str, label: str, *, is_embed: bool, name: str) -> str:
    """Return the HTML of a picture, or of a link to a file. As in Obsidian, a label such as `300` is a width."""
    if not (is_embed and is_picture(file)):
        return f'<a href="{escape(file_url(file))}">{escape(label or name)}</a>'
    text, _, width = label.rpartition("|")
    if not (sized := _WIDTH.fullmatch(width)):
        text = label
    size = f' width="{sized[1]}"' if sized else ""
    return f'<img src="{escape(file_url(file))}" alt="{escape(text or name)}"{size} loading="lazy">'


_WIDTH = re.compile(r"([1-9]\d{0,3})(?:x\d{1,4})?")


def is_picture(path: str) -> bool:
    """Return whether a file's name is that of a picture which pages show."""
    return path.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif"))


def _format_wiki_link(link: NoteLink, env: dict[str, Any]) -> str:
    """Return the HTML of a wikilink: a link to the note's page, or its text, marked if there is no such note."""
    shown = escape(
        link.label
        if link.label != link.target or not link.heading
        else " > ".join(filter(None, [link.label, *link.heading.split("#")]))
    )
    links: NoteLinks = env["links"]
    if note := links.find(link) if link.target else env["path"]:
        leads = heading_url(note, link.heading) if link.heading else note_url(note)
        return f'<a href="{escape(leads)}" rel="noopener noreferrer">{shown}</a>'
    if links.knows(link) and may_be_note(link.target):
        return f'<span class="{_BROKEN}" title="{escape(phrases.WEB_NO_SUCH_NOTE)}">{shown}</span>'
    return shown


def _render_tag(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    return _format_tag(tokens[index].meta["tag"], tokens[index].content)


def _render_task(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    line, is_done = tokens[index].meta["line"], tokens[index].meta["is_done"]
    if "lines" in env and is_task(text := env["lines"][line]):
        name = escape(cut(text.partition("]")[2].strip(), MAX_TASK_CHARS))
        wanted = f"{line + env['offset']} {task_mark(text)} {'open' if is_done else 'done'}"
        return (
            f'<button form="tasks" name="task" value="{wanted}" role="checkbox" '
            f'aria-checked="{"true" if is_done else "false"}" aria-label="{name}"></button> '
        )
    state = f'aria-label="{escape(phrases.WEB_TASK_DONE if is_done else phrases.WEB_TASK_OPEN)}"'
    state = f"checked {state}" if is_done else state
    return f'<input type="checkbox" disabled {state}> '


def _format_tag(tag: str, shown: str) -> str:
    return f'<a class="tag" href="{escape(tag_url(tag))}">{escape(shown)}</a>'


def _find_target(href: str, env: dict[str, Any]) -> tuple[str, bool]:
    """Return the URL that a Markdown link leads to, "" for none, and whether it names a note that does not exist."""
    leads = _link_target(href, env["path"])
    target, _, fragment = href.partition("#")
    link = NoteLink(1, 0, 0, unquote(target.partition("?")[0]), "", is_wiki=False)
    links: NoteLinks = env["links"]
    if not links.knows(link):
        file = "" if leads else _find_linked_file(href, env)
        return (file_url(file) if file else leads), False
    if note := links.find(link):
        return _url_of_part(note, fragment), False
    return "", may_be_note(link.target)


def _find_linked_file(href: str, env: dict[str, Any]) -> str:
    """Return the path of the file that the target of a Markdown link or picture means; "" for none."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    target = unquote(parts.path)
    if parts.scheme or parts.netloc or not target or may_be_note(target):
        return ""
    return str(env["find_file"](target))


def _url_of_part(note: str, fragment: str) -> str:
    """Return the URL of a note at a line, `L12`, or at a heading."""
    line = re.fullmatch(r"L([1-9]\d{0,8})", fragment)
    if line or not (heading := unquote(fragment).strip()):
        return note_url(note, int(line[1]) if line else None)
    return heading_url(note, heading)


def _render_properties(front: FrontMatter, env: dict[str, Any]) -> str:
    """Return front matter as a table, with the anchors of its lines."""
    if not front.last_line:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{_line_anchor(each.line - 1, env)}{escape(each.key)}</th>'
        f"<td>{_format_values(each, front, env)}</td></tr>\n"
        for each in front.properties
    )
    end = _anchors_until(front.last_line, env)
    label = escape(phrases.WEB_PROPERTIES)
    return f'<div class="table properties"><table aria-label="{label}">\n{rows}</table></div>{end}\n'


def _format_values(one: Property, front: FrontMatter, env: dict[str, Any]) -> str:
    if one.key.lower() in ("tags", "tag"):
        tags = (
            _format_tag(found, f"#{tag}") if (found := clean_tag(tag)) else escape(tag) for tag in front.tags
        )
        return " ".join(tags)
    return "<br>".join(_format_value(value, env) for value in one.values)


def _format_value(value: str, env: dict[str, Any]) -> str:
    link = match_wiki_link(value, 0)
    return _format_wiki_link(link, env) if link and link.end == len(value) else escape(value)


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
        if not path:  # a message has no lines and no headings that a link could lead to
            return ""
        if re.fullmatch(r"L\d+", parts.fragment):
            return f"#{parts.fragment}"
        return _url_of_part(path, parts.fragment) if parts.fragment else ""
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
    return _url_of_part(note, parts.fragment)


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


def _render_heading(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    if "message" in env:
        return "<p><strong>"
    return str(renderer.renderToken(tokens, index, options, env))


def _render_heading_end(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    if "message" in env:
        return "</strong></p>\n"
    return str(renderer.renderToken(tokens, index, options, env))


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
    src = str(token.attrs.get("src", ""))
    if file := _find_linked_file(src, env):
        return _format_file(file, token.content, is_embed=True, name=file.rpartition("/")[2])
    shown = escape(token.content or src)
    leads = _link_target(str(token.attrs.get("src", "")), env["path"])
    return f'<a href="{escape(leads)}" rel="noopener noreferrer">{shown}</a>' if leads else shown


def _render_table(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    """Open a frame in which a wide table scrolls, also by keyboard."""
    lines = tokens[index].map
    line, message = str(lines[0] + env["offset"]) if lines else "", str(env.get("message", ""))
    if message:
        name = phrases.WEB_TABLE_OF_MESSAGE if line else phrases.WEB_SOME_TABLE_OF_MESSAGE
    else:
        name = phrases.WEB_TABLE if line else phrases.WEB_SOME_TABLE
    name = escape(name.format(line=line, message=message))
    return f'<div class="table" role="region" aria-label="{name}" tabindex="0"><table>\n'


def _render_table_end(
    renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: dict[str, Any]
) -> str:
    return "</table></div>\n"
