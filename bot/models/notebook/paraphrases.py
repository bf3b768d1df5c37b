"""Pure: match a question about the person ("what is my name?") with differently worded notes ("call me Sam")."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.models.notebook.language import Language
from bot.models.notebook.phrases import fold
from bot.models.notebook.sentence import contains_phrase


def find_phrases(question: str, language: Language) -> tuple[str, ...]:
    """Return the phrases for the topic asked about: "my name", "i am called", "call me"; empty for most questions."""
    folded = fold(question)
    for group in language.paraphrases:
        if any(contains_phrase(folded, phrase, language) for phrase in group):
            return group
    return ()


def topic_search_words(group: Sequence[str]) -> str:
    """Return search words that find every note with one of the phrases, and some others."""
    return " ".join(dict.fromkeys(word for phrase in group for word in phrase.split()))


def hits_with_phrase(
    group: Sequence[str], hits: Sequence[Mapping[str, Any]], language: Language
) -> list[Mapping[str, Any]]:
    """Return the lines that contain one of the phrases, each as a hit of its own, without duplicates."""
    found: dict[str, Mapping[str, Any]] = {}
    for hit in hits:
        for line in _split_hit(hit):
            if any(contains_phrase(fold(line["snippet"]), phrase, language) for phrase in group):
                found.setdefault(f"{line['path']}:{line['line_start']}", line)
    return list(found.values())


def _split_hit(hit: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    first = hit.get("line_start")
    if isinstance(first, int):
        for number, line in enumerate(str(hit.get("snippet", "")).splitlines(), first):
            yield {"path": "", **hit, "line_start": number, "line_end": number, "snippet": line}
