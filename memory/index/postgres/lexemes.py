"""Convert a chunk's words to a tsvector, without any dictionary, and terms to its lexemes; pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from memory.tokenizer import Term, is_unspaced_character, word_beginning

LONGEST = 2_000
"""Maximum bytes of a lexeme; PostgreSQL takes 2,046. A longer one is cut, and found by its beginning."""
MAX_BYTES = 900_000
"""Maximum bytes of a tsvector as text; PostgreSQL takes 1 MB. Only chunks of over 100,000 words are cut."""
_MAX_POSITIONS = 256
"""PostgreSQL stores no more positions of a lexeme."""


def format_tsvector(tokens: Iterable[str]) -> tuple[str, int, list[str]]:
    """Return the literal of a tsvector, the number of tokens and the lexemes.

    Pairs of adjacent characters, which queries for scripts without spaces consist of, are lexemes too: a
    lookup is as fast as for a word, while a phrase would be checked in every chunk with both characters.
    Beginnings of words are lexemes too, with a star, since only a lexeme can be counted quickly.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    before = ""
    count = 0
    beginnings: dict[str, str | None] = {}
    for count, token in enumerate(tokens, 1):
        places[token].append(count)
        if token not in beginnings:
            beginnings[token] = word_beginning(token)
        if beginning := beginnings[token]:
            places[f"{beginning}*"].append(count)
        now = token if not token.isascii() and is_unspaced_character(token) else ""
        if before and now:
            places[f"{before} {now}"].append(count)
        before = now
    parts: list[str] = []
    lexemes: list[str] = []
    size = 0
    for token, where in places.items():
        lexeme = _shorten(token)
        part = f"'{_escape(lexeme)}':{','.join(map(str, where[:_MAX_POSITIONS]))}"
        size += len(part.encode()) + 1
        if size > MAX_BYTES:
            break
        parts.append(part)
        lexemes.append(lexeme)
    return " ".join(parts), count, lexemes


def format_lexeme(term: Term) -> str:
    """Return the lexeme to look up for a term."""
    return _shorten(" ".join(term.tokens)) + "*" * term.is_beginning


def format_tsquery(lexeme: str) -> str:
    """Return the literal of a tsquery for one lexeme."""
    return f"'{_escape(lexeme)}'"


def format_any_query(lexemes: Sequence[str]) -> str:
    """Return the literal of a tsquery for any of the lexemes."""
    return " | ".join(map(format_tsquery, lexemes))


def format_all_query(lexemes: Sequence[str]) -> str:
    """Return the literal of a tsquery for all of the lexemes."""
    return " & ".join(map(format_tsquery, lexemes))


def _shorten(token: str) -> str:
    if len(token) * 4 <= LONGEST:
        return token
    return token.encode()[:LONGEST].decode(errors="ignore")


def _escape(token: str) -> str:
    return token.replace("\\", "\\\\").replace("'", "''")
