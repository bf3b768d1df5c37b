"""Inline Markdown: emphasis, links, code, formulas, spoilers, and text that only looks like them."""

import re
from itertools import count
from typing import Any, NamedTuple

from adapters.markdown.formula import is_formula, to_unicode
from adapters.markdown.options import MarkdownOptions
from adapters.markdown.styled import HIDDEN, Mark, Styled, StyledBuilder, find_ranges

ParserEvent = tuple[Any, Any]
"""An event of the parser: one of the shapes in pyromark.event, and its byte range."""

_EMPHASIS = {"Emphasis": ("italic", 1), "Strong": ("bold", 2), "Strikethrough": ("strikethrough", 2)}
_TAGS = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "del", "strike"), "strikethrough"),
    **dict.fromkeys(("code", "kbd"), "code"),
    "tg-spoiler": "spoiler",
}
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_BLANK = re.compile(r"\s", re.ASCII)
_AUTHORITY_END = re.compile(r"[/?#]")
MAX_NESTING = 40
"""Maximum nesting of emphasis or images; deeper text is shown as plain text."""
_MAX_ADDRESS_CHARS = 2048
"""Bytes before emphasis that are searched for the start of a URL."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_IDENTIFIER = re.compile(rb"[a-z0-9_]+")
# File names whose ending is also a top-level domain, which Telegram would link.
_FILE_NAME = re.compile(
    r"(?<![\w/@:.#?=&%~-])(?:[\w.-]++/)*+[\w-]++(?:\.[\w-]++)*"
    r"\.(?:md|py|rs|sh|pl|ps|cc|so|ml|mk|st|tf|app|zip|mov|pub|java)(?![\w/@-]|\.\w)"
)


class UnreadableEvents(ValueError):
    """The parser's events are malformed or nested too deep."""


class _OpenTag(NamedTuple):
    tag: str
    start: int
    serial: int
    literal: str
    address: str


class InlineReader:
    """Reads runs of inline events; `at` is the next event."""

    def __init__(self, source: bytes, events: list[ParserEvent], options: MarkdownOptions) -> None:
        self.source = source
        self.options = options
        self.events = events
        self.at = 0
        self.last_end = 0
        """Byte up to which the source was read."""

    def inline(self) -> Styled:
        """Read all events up to the next block's start or end."""
        return _InlineRun(self).read()


class _InlineRun:
    """A single run, such as a paragraph, heading or cell."""

    def __init__(self, reader: InlineReader) -> None:
        self.reader = reader
        self.out = StyledBuilder()
        self.open: list[_OpenTag] = []
        self.addresses = 0
        """Number of open links with an address."""
        self.serials = count(1)
        self.waiting: dict[tuple[str, int], tuple[int, int]] = {}
        """Start of open `||` and tags in order, by enclosing emphasis, so that marks never overlap."""
        self.cuts: list[tuple[int, int]] = []

    def read(self) -> Styled:
        reader = self.reader
        events, out = reader.events, self.out
        while reader.at < len(events):
            payload, where = events[reader.at]
            if isinstance(payload, str):
                if payload == "Rule":
                    break
                out.write("\n")
            else:
                ((name, value),) = payload.items()
                if name == "Text":
                    self._add_text(value, where["start"], where["end"])
                elif name == "Start":
                    if not self._open_tag(value, where["start"], where["end"]):
                        break
                elif name == "End":
                    if not self.open:
                        break
                    self._close_tag(where["end"])
                else:
                    self._add_leaf(name, value, where["start"], where["end"])
            reader.at += 1
            if not isinstance(payload, dict) or "Start" not in payload:
                reader.last_end = where["end"]
        styled = out.build()
        if self.cuts:
            styled = styled.remove_ranges(self.cuts)
        return mark_file_names(styled) if reader.options.file_names_as_code else styled

    @property
    def _innermost_serial(self) -> int:
        return self.open[-1].serial if self.open else 0

    def _source_text(self, start: int, end: int) -> str:
        return self.reader.source[start:end].decode(errors="replace")

    def _add_text(self, text: str, start: int, end: int) -> None:
        source = self.reader.source
        if source[start : start + 1] == b"&" and end - start > 1 and source[end - 1 : end] == b";":
            self.out.hide(self._source_text(start, end))  # &copy; is ©
        if "||" not in text:
            self.out.write(text)
            return
        escaped = source[start - 1 : start] == b"\\"
        for number, piece in enumerate(text.split("||")):
            if number and not (escaped and number == 1 and text.startswith("||")):
                self._toggle_spoiler(opens=not piece[:1].isspace())
            elif number:
                self.out.write("||")
            self.out.write(piece)

    def _toggle_spoiler(self, *, opens: bool) -> None:
        key = ("||", self._innermost_serial)
        place = self.out.size
        self.out.write("||")
        opened = self.waiting.pop(key, None)
        if opened and place > opened[1]:
            self._drop_opened_since(opened)
            self.cuts += [opened, (place, place + 2)]
            self.out.marks.append(Mark("spoiler", opened[1], place))
        elif opens:
            self._wait(key, place)

    def _drop_opened_since(self, opened: tuple[int, int]) -> None:
        """Treat what began after `opened` as text: it could only end outside."""
        while self.waiting and next(reversed(self.waiting.values())) > opened:
            self.waiting.popitem()

    def _wait(self, key: tuple[str, int], place: int) -> None:
        """Record that `||` or a tag begins at `place`, before what was written last."""
        self.waiting.pop(key, None)  # otherwise it would keep its predecessor's position
        self.waiting[key] = (place, self.out.size)

    def _open_tag(self, tag: Any, start: int, end: int) -> bool:
        """Open an inline tag; return False for other tags."""
        out, literal, address = self.out, "", ""
        if len(self.open) >= MAX_NESTING:
            raise UnreadableEvents("nested too deep")
        if isinstance(tag, str):
            if tag not in _EMPHASIS:
                return False
            name = tag
            if is_literal(self.reader.source, name, start, end):
                size = 1 if name == "Strikethrough" else _EMPHASIS[name][1]
                literal = self._source_text(start, start + size)
                out.write(literal)
        else:
            ((name, data),) = tag.items()
            if name not in ("Link", "Image"):
                return False
            address = data["dest_url"]
            if data["link_type"] == "Email":
                address = ""
        self.addresses += bool(address)
        self.open.append(_OpenTag(name, out.size, next(self.serials), literal, address))
        return True

    def _close_tag(self, end: int) -> None:
        opened = self.open.pop()
        self.addresses -= bool(opened.address)
        if opened.tag in _EMPHASIS:
            if opened.literal:
                self.out.write(opened.literal)
            else:
                self.out.mark(_EMPHASIS[opened.tag][0], opened.start)
            return
        self._close_link(opened)
        self.out.hide(self._source_text(self.reader.last_end, end))

    def _close_link(self, opened: _OpenTag) -> None:
        """Mark a web link; for others write the address after the text if that helps and mentions nobody."""
        out, address = self.out, opened.address
        if opened.tag == "Image" and out.size == opened.start:
            out.write(address)
        if is_web_address(address):
            if not self.addresses:
                out.mark("text_link", opened.start, address)
            return
        address = address.removeprefix("mailto:")
        scheme = _SCHEME.match(address)
        shown = out.text_since(opened.start)
        if (
            address
            and address[0] != "#"
            and (scheme is None or scheme[0] in ("http:", "https:"))
            and address not in shown
        ):
            out.write(f" ({address})")

    def _add_leaf(self, name: str, value: Any, start: int, end: int) -> None:
        out = self.out
        place = out.size
        if name == "Code":
            out.write(value)
            out.mark("code", place)
        elif name in ("InlineHtml", "Html"):
            self._add_html_tag(value)
        elif name in ("InlineMath", "DisplayMath"):
            self._add_formula(value, start, end, display=name == "DisplayMath")
        elif name == "FootnoteReference":
            out.write(f"[{value}]")
        else:
            raise UnreadableEvents(name)

    def _add_html_tag(self, html: str) -> None:
        """Apply a supported tag when it is closed; all other HTML is text."""
        out = self.out
        if _BREAK.fullmatch(html):
            out.write("\n")
            out.hide(html)
            return
        name = html.strip("</>").lower()
        kind = _TAGS.get(name)
        place = out.size
        out.write(html)
        if kind is None:
            return
        if not html.startswith("</"):
            self._wait((name, self._innermost_serial), place)
        elif opened := self.waiting.pop((name, self._innermost_serial), None):
            self._drop_opened_since(opened)
            self.cuts += [opened, (place, out.size)]
            out.marks += [
                Mark(kind, opened[1], place),
                Mark(HIDDEN, opened[0], opened[0], name),
                Mark(HIDDEN, place, place, name),
            ]

    def _add_formula(self, latex: str, start: int, end: int, *, display: bool) -> None:
        out = self.out
        price = self.reader.source[end : end + 1].isdigit()  # $5 to $10
        if not display and (price or not is_formula(latex)):
            out.write(self._source_text(start, end))
            return
        out.hide(latex)
        if display and out.size:
            out.write("\n")
        shown = to_unicode(latex)
        place = out.size
        out.write(latex.strip() if shown is None else shown)
        if shown is None or "\n" in shown:
            out.mark("pre" if display else "code", place)
        if display and self._has_more():
            out.write("\n")

    def _has_more(self) -> bool:
        payload, _ = self.reader.events[self.reader.at + 1]
        return payload != "SoftBreak" and not (isinstance(payload, dict) and "End" in payload)


def is_web_address(address: str) -> bool:
    """Return whether `address` is http(s) with a dot in its host, and at most a user name and a port."""
    scheme, separator, rest = address.partition("://")
    if scheme not in ("http", "https") or not separator or _BLANK.search(rest):
        return False
    end = _AUTHORITY_END.search(rest)
    authority = rest[: end.start()] if end else rest
    name, at, host = authority.rpartition("@")
    if at and (not name or "@" in name):
        return False
    host, colon, port = host.partition(":")
    if colon and not (port.isascii() and port.isdigit()):
        return False
    return "." in host[1:-1]


def is_literal(source: bytes, tag: str, start: int, end: int) -> bool:
    """Return whether parsed emphasis was meant literally: 2*3*4, __init__.py, ~5."""
    size = _EMPHASIS[tag][1]
    if tag == "Strikethrough":
        return source[start + 1 : start + 2] != b"~"
    before, after = source[start - 1 : start] if start else b"", source[end : end + 1]
    inner = source[start + size : end - size]
    near = max(0, start - _MAX_ADDRESS_CHARS)
    word = max(source.rfind(b" ", near, start) + 1, source.rfind(b"\n", near, start) + 1, near)
    if b"://" in source[word:start]:
        return True
    if source[start : start + 1] == b"_":
        called = after == b"(" or (after == b"." and source[end + 1 : end + 2].isalnum())
        return tag == "Strong" and called and _IDENTIFIER.fullmatch(inner) is not None
    if before.isalnum() and after.isalnum():
        return before.isdigit() or after.isdigit() or len(inner) <= 2 or b" " in inner
    return False


def mark_file_names(styled: Styled) -> Styled:
    """Mark bare file names as code, which prevents Telegram from linking them."""
    if "." not in styled.text:
        return styled
    taken = find_ranges(styled.marks, ("code", "pre", "text_link"))
    found = [
        Mark("code", match.start(), match.end())
        for match in _FILE_NAME.finditer(styled.text)
        if not taken.overlap(match.start(), match.end())
    ]
    return Styled(styled.text, (*styled.marks, *found)) if found else styled
