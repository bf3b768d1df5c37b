"""Pure: quote lines as Markdown that shows them literally, and tell how much of a question stands in them."""

import re
from itertools import pairwise

from bot.models.notebook.language import Language

# A string: `re` compiles it on first use and caches it.
_MARKERS = r"(?:[-*+•][ \t]+|#{1,6}[ \t]+|>[ \t]?)*"
_WHOLE = r"\w(?:[^*_`<>\[\]\\&~|]*[^\W_])?"
_KEPT = (
    rf"(`[^`]+`|(?<![\w*])\*\*{_WHOLE}\*\*(?![\w*])"
    rf"|(?<![\w*_])\*(?!_){_WHOLE}\*(?![\w*_])|(?<![\w*])_(?!_){_WHOLE}_(?![\w*]))"
)
_ACTIVE = (
    r"\\(?=[!-/:-@\[-`{-~]|$)|`|(?<!\s)\*|\*(?!\s)|(?<![^\W_])_|_(?![^\W_])|(?<=\])[(:]"
    r"|<(?=[A-Za-z/!?])|&(?=#?\w+;)|~(?=~)|\|(?=\|)"
)
_OPENING = r"(\d{1,9})?(?(1)(?=[.)](?:\s|$))|(?=>|#{1,6}(?:\s|$)|[-+](?:\s|$)|=+$|[-:|][-:| ]*$|~~~))"


def share_of_words(query: str, text: str, language: Language) -> float:
    """Return the share of a question's words that stand in a text."""
    from memory.tokenizer import parse_query, tokenize

    if language.spacing != "words":
        for asking in sorted((*language.ask_anywhere, *language.ask_last), key=len, reverse=True):
            query = query.replace(asking, " ")
    terms = parse_query(query)
    words = tokenize(text)
    there = {(word,) for word in words} | set(pairwise(words))
    return sum(term.tokens in there for term in terms) / len(terms) if terms else 0.0


def quote_line(line: str) -> str:
    """Return a line without the marks of a list, heading or quotation."""
    return re.sub(f"^{_MARKERS}", "", " ".join(line.split()))


def escape_line(line: str) -> str:
    """Return Markdown that shows a line literally, except for complete bold, italics and code."""
    whole = "``" not in line and line.count("`") % 2 == 0
    pieces = re.split(_KEPT, line) if whole else [line]
    escaped = "".join(
        piece if index % 2 else re.sub(_ACTIVE, lambda active: f"\\{active[0]}", piece)
        for index, piece in enumerate(pieces)
    )
    opening = re.match(_OPENING, escaped)
    return f"{opening[0]}\\{escaped[opening.end() :]}" if opening else escaped
