"""Find notes that no search finds: without words, not text at all, or with no word that few other notes have."""

import re
from array import array
from collections import Counter
from collections.abc import Set

from memory.tokenizer import tokenize
from memory.translatable import Translatable

MAX_OTHERS = 20
"""A word that at most this many notes have finds each of them."""

MAX_ASKED_WORDS = 8
"""How many of a note's rarest words are used to search for it."""

MAX_BROKEN_SHARE = 0.1
"""Share of control and replacement characters from which a file is not text."""

MAX_CHARS = 200_000
"""Characters of a note in which a word is looked for."""

SAMPLE_CHARS = 4_000
"""Characters by which a file is judged to be text."""

_BROKEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ud800-\udfff]")
_PLAIN_WORD = re.compile("[A-Za-z0-9]")

NO_TEXT = Translatable("it is empty")
NO_WORDS = Translatable("it has no words to search for")
NOT_TEXT = Translatable("it doesn't look like text")


def find_text_fault(text: str) -> str:
    """Return why no search can find a note with this text; "" if one can."""
    if not text.strip():
        return NO_TEXT
    sample = text[:SAMPLE_CHARS]
    if len(_BROKEN.findall(sample)) > MAX_BROKEN_SHARE * len(sample):
        return NOT_TEXT
    return "" if _PLAIN_WORD.search(sample) or tokenize(text[:MAX_CHARS]) else NO_WORDS


class WordCounts:
    """In how many notes each word occurs."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._notes = array("I")
        self._words: dict[str, array[int]] = {}

    def add(self, path: str, words: Set[str], *, is_log: bool) -> None:
        """Count the words of a note. A daily log is found by its day, so it is only counted."""
        known, counts, numbers = self._numbers, self._notes, array("I")
        for word in words:
            number = known.get(word)
            if number is None:
                known[word] = number = len(counts)
                counts.append(1)
            else:
                counts[number] += 1
            numbers.append(number)
        if not is_log:
            self._words[path] = numbers

    def find_common(self, limit: int) -> list[str]:
        """Return up to `limit` notes all of whose words are in many other notes; the most common first."""
        found = Counter[str]()
        for path, numbers in self._words.items():
            rarest = min((self._notes[number] for number in numbers), default=0)
            if rarest > MAX_OTHERS:
                found[path] = rarest
        return [path for path, _ in found.most_common(limit)]

    def choose_rarest(self, words: Set[str]) -> list[str]:
        """Return the words that the fewest notes have."""
        known = sorted(
            (word for word in words if word in self._numbers), key=lambda word: (self._count(word), word)
        )
        return known[:MAX_ASKED_WORDS]

    def _count(self, word: str) -> int:
        return self._notes[self._numbers[word]]
