"""Parse Markdown into blocks of styled text with pyromark, without losing a word."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyromark import events_with_range

from adapters.markdown.inline import InlineReader, ParserEvent, UnreadableEvents, mark_file_names
from adapters.markdown.normalize import FILLER, OPTIONS, normalize
from adapters.markdown.options import MAX_HEADING_LEVEL, MAX_NUMBER, MarkdownOptions
from adapters.markdown.styled import HIDDEN, Mark, Styled, StyledBuilder, find_lost_word, is_blank
from adapters.markdown.table import render_table
from bot.log.tracebacks import error_location

_MAX_DEPTH = 40
_INDENTED = 8
"""Levels of lists that are indented further than the one before."""
_RULE = "———"
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}")
_ATTRIBUTES = re.compile(r"(?:\{[^{}]*\}|[\w-]+=(?:\"[^\"]*\"|'[^']*'|[^\s\"']+)|\s)*+")
"""Attributes after a code block's language, such as `title="x.py" {1,3}`."""
_BLANK_BEFORE = re.compile(rb"\n[ \t>]*\n[ \t>]*$")
_LABEL = rb"\[(?:[^\[\]\\]|\\.)++\]:"
_DEFINITION = re.compile(rb"(" + _LABEL + rb").*?(?=\n[^\S\n]*+" + _LABEL + rb"|\Z)|\S[^\n]*+", re.DOTALL)
_NUMBER = re.compile(rb"\d+")
_MAX_EVENTS = 2
"""Parser events per byte; more come from a table whose short rows the parser fills with very many cells."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StyledBlock:
    """A block as it stands in a message, such as a paragraph, list or heading."""

    styled: Styled
    gap: str
    """Separator from the previous block: one line break or two."""
    is_code: bool = False
    is_heading: bool = False

    @property
    def language(self) -> str:
        return next((mark.detail for mark in self.styled.marks if mark.kind == "pre"), "")


BlockCache = dict[bytes, Styled]
"""Parsed blocks by their Markdown, so that only the new part of a growing reply is parsed."""


def parse_blocks(markdown: str, known: BlockCache, options: MarkdownOptions) -> list[StyledBlock]:
    """Return the blocks of `markdown` in order; a block that would lose a word becomes plain text.

    `known` holds the blocks of an earlier call, or nothing; it is replaced by those of this call.
    """
    text = normalize(markdown)
    source = text.encode()
    most = _MAX_EVENTS * len(source) + 1000
    events: list[ParserEvent] = list(islice(events_with_range(text, options=OPTIONS), most + 1))
    before = known.copy()
    known.clear()
    if len(events) > most:
        _log.info(
            "showing a reply of %d characters as plain text: it has a table that is too large", len(text)
        )
        return [StyledBlock(Styled(markdown.strip("\n")), "")]
    used = _find_labels(events)
    alone = b"]:" not in source  # a `[1]` may depend on another block's definition
    blocks: list[StyledBlock] = []
    done = 0

    def add(styled: Styled, start: int, *, is_code: bool = False, is_heading: bool = False) -> None:
        if FILLER in text:
            styled = _remove_filler(styled)
        if not is_blank(styled.text):
            gap = "" if not blocks else "\n\n" if _has_blank_before(source, start) else "\n"
            blocks.append(StyledBlock(styled, gap, is_code, is_heading))

    for first, last in _split_top_level(events):
        payload, span = events[first]
        start, end = span["start"], span["end"]
        for definition, place in _read_definitions(source, done, start, used, options):
            add(definition, place)
        name = _event_name(payload)
        # With the indentation, which changes the meaning.
        written = source[source.rfind(b"\n", 0, start) + 1 : end]
        styled = (alone and before.get(written)) or _read_block(
            source, events[first : last + 1], start, end, options
        )
        if alone:
            known[written] = styled
        add(styled, start, is_code=name == "CodeBlock", is_heading=name == "Heading")
        done = max(done, end)
    for definition, place in _read_definitions(source, done, len(source), used, options):
        add(definition, place)
    return blocks


def _read_definitions(
    source: bytes, start: int, end: int, used: set[str], options: MarkdownOptions
) -> Iterator[tuple[Styled, int]]:
    """Yield the link definitions between two blocks that no link uses."""
    place = start
    for match in _DEFINITION.finditer(source, start, end):
        place = place if place > start else match.start()
        label = _normalize_label((match[1] or b"")[1:-2].decode())
        if label in used:
            used.remove(label)  # a duplicate definition is unused
            continue
        shown = Styled(match[0].decode().strip())
        yield mark_file_names(shown) if options.file_names_as_code else shown, place
        place = match.end() + 1


def _normalize_label(label: str) -> str:
    return " ".join(label.split()).casefold()


def _find_labels(events: list[ParserEvent]) -> set[str]:
    """Return the labels that links refer to."""
    links = (
        payload["Start"].get("Link")
        for payload, _ in events
        if isinstance(payload, dict) and isinstance(payload.get("Start"), dict)
    )
    return {_normalize_label(link["id"]) for link in links if link and link["id"]}


def _split_top_level(events: list[ParserEvent]) -> Iterator[tuple[int, int]]:
    """Yield the first and last event of each top-level block."""
    depth = first = 0
    for at, (payload, _) in enumerate(events):
        if isinstance(payload, dict):
            if "Start" in payload:
                if not depth:
                    first = at
                depth += 1
                continue
            if "End" in payload:
                depth -= 1
                if not depth:
                    yield first, at
                continue
        if not depth:
            yield at, at


def _event_name(payload: Any) -> str:
    tag = payload if isinstance(payload, str) else payload.get("Start", "")
    return tag if isinstance(tag, str) else next(iter(tag))


def _read_block(
    source: bytes, events: list[ParserEvent], start: int, end: int, options: MarkdownOptions
) -> Styled:
    plain = source[start:end].decode()
    try:
        styled = _BlockReader(source, events, options).read_block()
        lost = find_lost_word(plain, styled)
    except (UnreadableEvents, LookupError, TypeError) as fault:
        _log.info("showing a block of %d characters as plain text: %s", len(plain), error_location(fault))
        return Styled(plain.strip("\n"))
    if lost or is_blank(styled.text):
        if lost:
            _log.info("showing a block of %d characters as plain text: a word would be lost", len(plain))
        return Styled(plain.strip("\n"))
    return styled


def _remove_filler(styled: Styled) -> Styled:
    return styled.remove_ranges((at.start(), at.end()) for at in re.finditer(FILLER, styled.text))


def _has_blank_before(source: bytes, start: int) -> bool:
    return _BLANK_BEFORE.search(source, max(0, start - 200), start) is not None


class _BlockReader(InlineReader):
    """Reads nested blocks."""

    def __init__(self, source: bytes, events: list[ParserEvent], options: MarkdownOptions) -> None:
        super().__init__(source, events, options)
        self.depth = 0
        self.list_depth = 0
        self.quote_depth = 0

    def read_block(self) -> Styled:
        """Return the block or run of inline events at the current position."""
        payload, span = self.events[self.at]
        if payload == "Rule":
            self.at += 1
            return Styled(_RULE)
        if isinstance(payload, str) or "Start" not in payload:
            return self.inline()
        tag = payload["Start"]
        name, data = (tag, None) if isinstance(tag, str) else next(iter(tag.items()))
        if name in ("Emphasis", "Strong", "Strikethrough", "Link", "Image"):
            return self.inline()
        if self.depth >= _MAX_DEPTH:
            raise UnreadableEvents("nested too deep")
        self.at += 1
        self.depth += 1
        styled = self._read_started(name, data, span["start"])
        self.depth -= 1
        self.at += 1  # its end event
        return styled

    def _read_started(self, name: str, data: Any, start: int) -> Styled:
        if name == "Paragraph":
            return self.inline()
        if name == "Heading":
            return self._read_heading(int(data["level"][1:]))
        if name == "CodeBlock":
            return self._read_code(data, start)
        if name == "HtmlBlock":
            html = Styled(self._read_raw().strip("\n"))
            return mark_file_names(html) if self.options.file_names_as_code else html
        if name == "BlockQuote":
            return self._read_quote()
        if name == "List":
            return self._read_list(data)
        if name == "Table":
            return self._read_table(data)
        if name == "FootnoteDefinition":
            return self._read_children().with_hanging_indent(f"[{data}] ", "")
        raise UnreadableEvents(name)

    def _read_heading(self, level: int) -> Styled:
        heading = self.inline()
        native = self.options.native and level <= MAX_HEADING_LEVEL and not self.list_depth
        kind, detail = ("heading", str(level)) if native else ("bold", "")
        text = heading.text.replace("\n", " ") if native else heading.text
        return Styled(text, (Mark(kind, 0, len(text), detail), *heading.marks))

    def _read_children(self) -> Styled:
        """Return the child blocks up to the end of their parent."""
        out = StyledBuilder()
        while not self._is_at_end():
            _, span = self.events[self.at]
            child = self.read_block()
            if child.text and out.size:
                out.write("\n\n" if _has_blank_before(self.source, span["start"]) else "\n")
            out.add(child)
        return out.build()

    def _is_at_end(self) -> bool:
        payload, _ = self.events[self.at]
        return isinstance(payload, dict) and "End" in payload

    def _read_raw(self) -> str:
        pieces = []
        while not self._is_at_end():
            payload, span = self.events[self.at]
            pieces.append("\n" if isinstance(payload, str) else str(next(iter(payload.values()))))
            self.last_end = span["end"]
            self.at += 1
        return "".join(pieces)

    def _read_code(self, kind: Any, start: int) -> Styled:
        info = kind["Fenced"] if isinstance(kind, dict) else ""
        fence = self.source[start : self.events[self.at][1]["start"]].decode(errors="replace")
        code = self._read_raw().removesuffix("\n")
        if is_blank(code):  # a run of backticks, or an empty fence
            end = self.events[self.at][1]["end"]
            return Styled(self.source[start:end].decode().strip())
        info = info.strip()
        language = _LANGUAGE.match(info)
        out = StyledBuilder()
        out.hide(fence)
        rest = info[language.end() :].strip() if language else info
        if not _ATTRIBUTES.fullmatch(rest):  # probably the first line of code: the info string is one word
            out.write(rest + "\n")
        start = out.size
        out.write(code)
        out.mark("pre", start, language[0] if language else "")
        return out.build()

    def _read_quote(self) -> Styled:
        self.quote_depth += 1
        quote = self._read_children()
        self.quote_depth -= 1
        if self.quote_depth:  # channels do not show nested quotes
            return quote.with_hanging_indent("› ", "› ")
        return Styled(quote.text, (Mark("blockquote", 0, len(quote.text)), *quote.marks))

    def _read_list(self, first: int | None) -> Styled:
        out = StyledBuilder()
        number = first
        self.list_depth += 1
        bullets = self.options.bullets
        bullet = bullets[min(self.list_depth, len(bullets)) - 1]
        while not self._is_at_end():
            start = self.events[self.at][1]["start"]
            self.at += 1
            written = _NUMBER.match(self.source, start)
            if out.size:
                out.write("\n\n" if _has_blank_before(self.source, start) else "\n")
            if written and number is not None:
                out.hide(written[0].decode())
            out.add(self._read_item(bullet, number))
            self.at += 1
            number = None if number is None else number + 1
        self.list_depth -= 1
        return out.build()

    def _read_item(self, bullet: str, number: int | None) -> Styled:
        task = self._read_task_marker()
        item = self._read_children()
        lead = bullet if number is None else f"{number}. "
        box = ""
        if task:
            hidden, box = task
            lead = "" if number is None and not self.options.native else lead
            item = Styled(item.text, (hidden, *item.marks))
        rest = self.options.indent(lead) if self.list_depth <= _INDENTED else ""
        if item.needs_own_lines:
            sign = "•" if self.options.native and number is None and not box else lead + box
            return item.with_hanging_indent(sign.rstrip() + "\n", rest)
        if self.options.native and not item.text and not box:  # otherwise the next line would join the list
            return item.with_hanging_indent(lead.rstrip(), rest)
        item = item.with_hanging_indent(lead + box, rest)
        if not self.options.native or (number is not None and not 0 < number <= MAX_NUMBER):
            return item
        return Styled(item.text, (Mark("lead", 0, len(lead)), *item.marks))

    def _read_task_marker(self) -> tuple[Mark, str] | None:
        """Return a task's checkbox; in a loose list the parser puts it inside the paragraph."""
        for at in (self.at, self.at + 1):
            payload, span = self.events[at]
            if isinstance(payload, dict) and "TaskListMarker" in payload:
                self.events[at] = {"Text": ""}, span
                words = self.source[span["start"] : span["end"]].decode()
                return Mark(HIDDEN, 0, 0, words), "☑ " if payload["TaskListMarker"] else "☐ "
            if not (isinstance(payload, dict) and payload.get("Start") == "Paragraph"):
                break
        return None

    def _read_table(self, alignments: Any) -> Styled:
        rows = []
        while not self._is_at_end():
            self.at += 1
            row = []
            while not self._is_at_end():
                self.at += 1
                row.append(self.inline())
                self.at += 1
            rows.append(row)
            self.at += 1
        return render_table(rows, alignments)
