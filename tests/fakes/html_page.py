"""A page, roughly as a browser parses it: its elements with their attributes and texts."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass(slots=True)
class Element:
    tag: str
    attributes: dict[str, str]
    inside: tuple[str, ...]
    """Tags of the enclosing elements, the outermost first."""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text on one line, including that of nested elements."""
        return " ".join("".join(self.pieces).split())


class HtmlPage(HTMLParser):
    """Parses a page. Raises ValueError if an element is not closed, or if another one is closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()
        if self._open:
            raise ValueError(f"not closed: {[each.tag for each in self._open]}")

    def all(self, tag: str) -> list[Element]:
        return [each for each in self.elements if each.tag == tag]

    def by_id(self, name: str) -> Element:
        (found,) = (each for each in self.elements if each.attributes.get("id") == name)
        return found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        around = tuple(each.tag for each in self._open)
        element = Element(tag, {name: value or "" for name, value in attrs}, around)
        self.elements.append(element)
        if tag not in EMPTY:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1].tag != tag:
            raise ValueError(f"</{tag}> within {[each.tag for each in self._open]}")
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for each in self._open:
            each.pieces.append(data)
