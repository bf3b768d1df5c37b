"""Pure: split a stored message of an earlier version, whose text holds quotes and attachments, into its parts.

`user_text` makes the same text of the parts again, so that providers still find it in their cache.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

from bot.messages import Quoted
from bot.models.protocol import AttachedText, Image, UserMessage
from bot.models.user_text import user_text

_QUOTED = re.compile(
    r"\[In reply to (?P<who>[^\[\]\n]{1,80}):\]\n(?P<lines>>[^\n]*(?:\n>[^\n]*)*)(?:\n\n|\Z)"
)
_FORWARDED = re.compile(r"\[Forwarded from (?P<who>[^\[\]\n]{1,80}):\](?:\n\n|\Z)")
_ATTACHED = re.compile(
    r"(?:\A|\n\n)\[(?:In a (?P<spoken>voice message[^\[\]\n]*):\]\n"
    r"|Attached (?P<heading>[^\[\]\n]*)\](?:\n<<<(?P<mark>[0-9a-f]{12})\n)?)"
)
_END = re.compile(r"(?=\n([0-9a-f]{12})>>>(?:\n\n|\Z))")
_END_LETTERS = len("\n0123456789ab>>>")
_NUMBER = re.compile(r"document (\d{1,9})(?=[:. ]|$)")


def split_inline_text(text: str, images: tuple[Image, ...], speaker: str) -> UserMessage:
    """Return the message that `text` was made of; `text` begins with the speaker's name if there is one."""
    whole = UserMessage(text.removeprefix(f"{speaker}: ") if speaker else text, images, speaker)
    parts = _split(whole)
    return parts if user_text(parts) == text else whole


def _split(whole: UserMessage) -> UserMessage:
    text, quoted, forwarded_from = whole.text, None, ""
    if match := _QUOTED.match(text):
        quoted, text = _read_quoted(match), text[match.end() :]
    if match := _FORWARDED.match(text):
        forwarded_from, text = match["who"], text[match.end() :]
    end, documents = _split_attached(text)
    return replace(whole, text=text[:end], quoted=quoted, forwarded_from=forwarded_from, documents=documents)


def _read_quoted(match: re.Match[str]) -> Quoted:
    mine = match["who"] == "what you said"
    lines = (line.removeprefix(">").removeprefix(" ") for line in match["lines"].split("\n"))
    name = "" if mine or match["who"] == "somebody" else match["who"]
    return Quoted("\n".join(lines), name, mine)


def _split_attached(text: str) -> tuple[int, tuple[AttachedText, ...]]:
    """Return where the person's own words end, and the attachments that follow up to the end of the text."""
    end, documents = len(text), list[AttachedText]()
    for document, start, stop in reversed(list(_find_attached(text))):
        if document.spoken:  # nothing marks its end
            documents.append(replace(document, content=text[stop:end]))
        elif stop == end:
            documents.append(document)
        else:
            break
        end = start
    return end, tuple(reversed(documents))


def _find_attached(text: str) -> Iterator[tuple[AttachedText, int, int]]:
    """Yield what looks like an attachment, its start and its end; of a voice message the start of its words."""
    match = _ATTACHED.search(text)
    ends: dict[str, list[int]] = {}
    if match:  # all at once, since a text may hold thousands of starts without an end
        for each in _END.finditer(text):
            ends.setdefault(each[1], []).append(each.start())
    while match:
        heading, mark, end = match["heading"], match["mark"], match.end()
        if match["spoken"]:
            yield AttachedText(match["spoken"], spoken=True), match.start(), end
        else:
            number = _NUMBER.match(heading)
            document = AttachedText(heading, number=int(number[1]) if number else None)
            of_mark = ends.get(mark or "", [])
            at = bisect_left(of_mark, end)
            if at < len(of_mark):
                document = replace(document, content=text[end : of_mark[at]], mark=mark)
                end = of_mark[at] + _END_LETTERS
            elif mark:
                end = match.start("mark") - len("\n<<<")
            yield document, match.start(), end
        match = _ATTACHED.search(text, end)
