"""JSON forms of what was found in conversations, alone or beside notes."""

from dataclasses import asdict
from typing import Any

from bot.conversations.search import ConversationHit, Excerpt
from bot.memory_json import encode_hit
from bot.search_sources import FoundPassages
from memory.ranking.explanation import explain_match


def encode_sources(found: FoundPassages, *, explain: bool = False) -> dict[str, Any]:
    """Return what was found in each source in one list, best first, and a notice if there is one.

    `explain` adds the words that matched.
    """
    document: dict[str, Any] = {"query": found.notes.query, "results": []}
    for hit in found.by_score():
        told = encode_conversation_hit(hit, digits=4) if isinstance(hit, ConversationHit) else encode_hit(hit)
        if explain:
            told["matched"] = asdict(explain_match(found.notes.terms, hit.snippet))
        document["results"].append(told)
    notice = " ".join(filter(None, [found.notes.notice, found.notice]))
    return {**document, "notice": notice} if notice else document


def encode_conversation_hit(hit: ConversationHit, *, digits: int = 3) -> dict[str, Any]:
    """Return a message that was found; `digits`: of its score."""
    return {
        "source": "conversation",
        "ref": hit.ref,
        "chat": hit.chat,
        **({"chat_name": hit.chat_name} if hit.chat_name else {}),
        "who": hit.who,
        "date": hit.day.isoformat(),
        "snippet": hit.snippet,
        "score": round(hit.score, digits),
        **({"says": hit.says} if hit.says else {}),
    }


def encode_excerpt(excerpt: Excerpt) -> dict[str, Any]:
    """Return messages of a conversation, in order."""
    return {
        "chat": excerpt.chat,
        **({"chat_name": excerpt.chat_name} if excerpt.chat_name else {}),
        "messages": [
            {
                "ref": each.ref,
                "who": each.who,
                "at": each.at.isoformat(timespec="seconds"),
                "text": each.text,
                **({"says": each.says} if each.says else {}),
            }
            for each in excerpt.messages
        ],
    }
