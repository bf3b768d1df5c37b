"""Pure: build the `/forget` command that finds the passage shown."""

from collections.abc import Sequence

from bot.models.notebook.language import Language
from bot.models.notebook.phrases import ENDS, SEPARATORS, clip, fold, has_words
from bot.sanitize import one_line

_MAX_CHARS = 200
_MIN_PIECE_CHARS = 2
"""Minimum characters in scripts without spaces: a single character occurs in too many notes."""


def words_to_forget(asked: str, lines: Sequence[str], language: Language) -> str:
    """Return words that all stand in one of the lines shown; "" if no line can be found by its words.

    `asked` is what somebody wants to have removed, in their words. If the lines share none of them, for
    example after a semantic search, the words of the best line itself are used.
    """
    from memory.forgetting import WordsToForget

    asked = _as_argument(asked)
    candidates = [(_shared_words(asked, line, language), _as_argument(line)) for line in lines]
    for shared, line in sorted(candidates, key=lambda each: -len(each[0])):
        for words in (shared, line):
            if has_words(words) and WordsToForget(words).is_in(line):
                return words
    return ""


def _as_argument(text: str) -> str:
    text = clip(one_line(text), _MAX_CHARS)
    return text.replace("`", "'").strip(SEPARATORS).rstrip(ENDS)


def _shared_words(asked: str, line: str, language: Language) -> str:
    """Return the requested words that stand in a line, without articles and other fillers."""
    from memory.tokenizer import is_unspaced_character, tokenize

    there = tokenize(line)
    if language.spacing != "words":
        for filler in sorted(language.forget_fillers, key=len, reverse=True):
            if language.spacing == "none" or " " in filler:
                asked = asked.replace(filler, " ")
    shared: list[str] = []
    for word in asked.split():
        word = word.strip(SEPARATORS)
        tokens = tokenize(word)
        if not tokens or fold(word).strip("\"'.,!?()") in language.forget_fillers:
            continue
        if all(map(is_unspaced_character, tokens)):
            shared += _shared_pieces(word, fold(line))
        elif set(tokens) <= set(there):
            shared.append(word)
    return " ".join(dict.fromkeys(shared))


def _shared_pieces(word: str, line: str) -> list[str]:
    """Return the longest parts of a text without spaces that stand in a line."""
    pieces, at = [], 0
    while at < len(word):
        end = at
        while end < len(word) and fold(word[at : end + 1]) in line:
            end += 1
        if end - at >= min(_MIN_PIECE_CHARS, len(word)):
            pieces.append(word[at:end])
        at = max(end, at + 1)
    return pieces
