"""Links on Discord: text with a target, a bare address, or both."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence, Set

from adapters.discord.markdown.escaping import ADDRESS, MENTION, needs_escaping
from adapters.markdown.styled import FIXED_WIDTH, STYLES, Mark, Styled, find_ranges

_LONGEST = 500
"""Maximum length of a link's target, which counts toward the message's limit."""
_MAX_ADDRESS_CHARS = 2000
"""Maximum length of a bare address; a longer one would not fit into a message."""
_SCHEME = re.compile(r"(?:https?|steam)://")
_BODY = re.compile(r"[^\s<>]*+")
_PUNCTUATION = ".,:;\"']"
_LAST_SIGNS = re.compile(r"[.,:;\"'\]]*+(?![^\s<>])")
"""Only punctuation up to the end of an apparent address."""
_BEHIND = re.compile(r"\)?[.,:;\"'\]]*(?=\s|\Z)")
"""What may follow an address without becoming part of it."""
_LABEL = re.compile(r"(?:[^\[\]]++|\[[^\[\]]*+\])++")
# Discord shows a link's source if its text could pass for another link, a mention or an emoji.
_EMOJI = re.compile(
    "[\u203c\u2049\u2122\u2139\u2194-\u21aa\u2300-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\ufe0f\u20e3\U0001f000-\U0001faff]|:[\\w+-]++:"
)
_INVITE = re.compile(r"https?:|discord(?:app)?\.|://", re.IGNORECASE)
# Characters that would end the address or count as markup around the link.
_UNSAFE = re.compile(r"[()<>\\*|`~\"']|_(?!\w)|__", re.ASCII)


def show_link_targets(styled: Styled) -> Styled:
    """Write the target after the text of each link that Discord would not render."""
    if not any(mark.kind == "text_link" for mark in styled.marks):
        return styled
    added: list[tuple[int, str]] = []
    styles = sorted((mark.start, mark.end) for mark in styled.marks if mark.kind in STYLES)
    marks = [mark for mark in styled.marks if mark.kind != "text_link"]
    for mark in sorted(
        (mark for mark in styled.marks if mark.kind == "text_link"), key=lambda mark: mark.end
    ):
        label = styled.text[mark.start : mark.end]
        if label == mark.detail and ADDRESS.fullmatch(label):
            marks.append(mark._replace(kind="address"))
            continue
        address = _UNSAFE.sub(lambda match: "".join(map(_percent_encode, match[0])), mark.detail)
        inner = styles[bisect_left(styles, (mark.start,)) : bisect_left(styles, (mark.end,))]
        # A link cannot hold the separator that adjacent styles need.
        glued = {end for _, end in inner} & {start for start, _ in inner}
        if _is_label(label) and not glued and len(address) <= _LONGEST:
            marks.append(mark._replace(detail=address))
        else:
            added.append((mark.end, f" ({mark.detail})"))
    if not added:
        return Styled(styled.text, tuple(marks))
    shown = Styled(styled.text, tuple(marks)).insert(added)
    beside = {place: len(text) for place, text in added}
    grown = (  # the address after a heading's last words belongs to the heading
        new._replace(end=new.end + beside.get(old.end, 0)) if old.kind in ("heading", "blockquote") else new
        for old, new in zip(marks, shown.marks, strict=True)
    )
    return Styled(shown.text, tuple(grown))


def find_addresses(text: str, marks: Sequence[Mark]) -> list[Mark]:
    """Return the bare addresses, in order."""
    whole = [mark for mark in marks if mark.kind == "address"]
    taken = find_ranges(marks, ("address", "text_link", *FIXED_WIDTH))
    edges = sorted({place for mark in marks for place in (mark.start, mark.end)})
    end = 0
    while match := _SCHEME.search(text, end):
        start = match.start()
        if (behind := taken.find_end(start)) is not None:
            end = behind
            continue
        at = bisect_right(edges, start)
        most = min(len(text), start + _MAX_ADDRESS_CHARS, *edges[at : at + 1])
        end = _find_address_end(text, start, most)
        if text[end - 1] == ")" and text.count(")", start, end) > text.count("(", start, end):
            end -= 1
        if ADDRESS.fullmatch(text, start, end):
            whole.append(Mark("address", start, end))
        end = max(end, match.end())
    return sorted(whole)


def _find_address_end(text: str, start: int, limit: int) -> int:
    """Return the end of the address from `start` to at most `limit`, without trailing punctuation."""
    body = _BODY.match(text, start, limit)
    end = body.end() if body else start
    if end < limit or _LAST_SIGNS.match(text, limit):
        end = start + len(text[start:end].rstrip(_PUNCTUATION))
    link = text.find("](", start, end + 1)
    return end if link < 0 else min(end, link)


def bracket_address(text: str, address: Mark, begun: Set[int]) -> Mark:
    """Return `address` with "<>" if needed to end it before the next text; other marks begin at `begun`."""
    behind = _BEHIND.match(text, address.end)
    parted = behind and begun.isdisjoint(range(address.end, behind.end() + 1))
    return address._replace(detail="" if parted else "<>")


def _is_label(text: str) -> bool:
    looks = _EMOJI.search(text) or MENTION.search(text) or _INVITE.search(text) or needs_escaping(text)
    return not looks and _LABEL.fullmatch(text) is not None


def _percent_encode(char: str) -> str:
    return f"%{ord(char):02X}"
