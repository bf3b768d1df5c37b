"""Pure: words of a chunk as a tsvector, with no dictionary between, and terms as its lexemes."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from memory.tokenizer import Term, is_unspaced_character

LONGEST = 2_000
"""Bytes of a lexeme; PostgreSQL takes 2,046. What is longer is found by its beginning."""
MOST_BYTES = 900_000
"""Of a tsvector as text; PostgreSQL takes a megabyte. Only chunks of some hundred thousand words are cut short."""
_MOST_PLACES = 256
"""PostgreSQL keeps no more places of a lexeme."""


def format_tsvector(tokens: Iterable[str]) -> tuple[str, int, list[str]]:
    """The literal of a tsvector, how many tokens there are, and its lexemes.

    Two characters side by side, which are what is asked for in scripts without spaces, are a lexeme too: it is
    looked up as quickly as a word, and a phrase would have to be looked for in every chunk with both of them.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    before = ""
    count = 0
    for count, token in enumerate(tokens, 1):
        places[token].append(count)
        now = token if not token.isascii() and is_unspaced_character(token) else ""
        if before and now:
            places[f"{before} {now}"].append(count)
        before = now
    parts: list[str] = []
    lexemes: list[str] = []
    size = 0
    for token, where in places.items():
        lexeme = _shorten(token)
        part = f"'{_escape(lexeme)}':{','.join(map(str, where[:_MOST_PLACES]))}"
        size += len(part.encode()) + 1
        if size > MOST_BYTES:
            break
        parts.append(part)
        lexemes.append(lexeme)
    return " ".join(parts), count, lexemes


def format_lexeme(term: Term) -> str:
    """What is looked up for a term."""
    return _shorten(" ".join(term.tokens))


def format_tsquery(lexeme: str) -> str:
    """The literal of a tsquery for one lexeme."""
    return f"'{_escape(lexeme)}'"


def format_any_query(lexemes: Sequence[str]) -> str:
    """For any of them."""
    return " | ".join(map(format_tsquery, lexemes))


def format_all_query(lexemes: Sequence[str]) -> str:
    """For all of them."""
    return " & ".join(map(format_tsquery, lexemes))


def _shorten(token: str) -> str:
    if len(token) * 4 <= LONGEST:
        return token
    return token.encode()[:LONGEST].decode(errors="ignore")


def _escape(token: str) -> str:
    return token.replace("\\", "\\\\").replace("'", "''")
