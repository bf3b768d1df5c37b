"""Pure: which of the messages that were found tell most: not the questions, nor what only stands beside the words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.ranking.term_counter import TermCounter
from memory.tokenizer import Term, parse_query, tokenize

if TYPE_CHECKING:
    from bot.conversations.search import ConversationHit

BESIDE = 0.5
"""Weight of a message that stands beside the words asked for, such as an answer without any of them."""
ASKING = 0.5
"""Weight of a message that only asks …"""
REPEATING = 0.1
"""… and of one that asks for just what is searched for now."""

_ONLY_ASKS = re.compile(r"[^.!…。！?？؟\n]*[?？؟⁇⁈⸮՞]+[\s\"'”’»)）」』]*")
_MAX_QUESTION_CHARS = 300


def order_messages(hits: Iterable["ConversationHit"], terms: Sequence[Term]) -> list["ConversationHit"]:
    """Return messages with scores of their own, the best first; a question that was asked several times once.

    `hits` have the scores of their passages, which count what was said around them.
    """
    counter = TermCounter(terms)
    found = [(hit, bool(counter.count(tokenize(hit.snippet)))) for hit in hits]
    any_matches = any(matches for _, matches in found)  # none does if only a day was asked for
    kept: list[ConversationHit] = []
    asked: set[tuple[str, str]] = set()
    for hit, matches in found:
        weight = 1.0 if matches or not any_matches else BESIDE
        if only_asks(hit.snippet):
            question = (hit.who, " ".join(hit.snippet.casefold().split()))
            if question in asked:
                continue
            asked.add(question)
            weight *= REPEATING if repeats_question(hit.snippet, terms) else ASKING
        kept.append(replace(hit, score=hit.score * weight))
    return sorted(kept, key=lambda hit: hit.score, reverse=True)


def only_asks(text: str) -> bool:
    """Return whether a message is one question and nothing else, in any language that marks questions."""
    return len(text) <= _MAX_QUESTION_CHARS and bool(_ONLY_ASKS.fullmatch(text.strip()))


def repeats_question(text: str, terms: Sequence[Term]) -> bool:
    """Return whether a message only asks, and for nothing but these terms."""
    return only_asks(text) and set(parse_query(text)) <= set(terms)
