"""Text to words, for every script: the one place that decides what can be found by which word.

Scripts that put spaces between words give folded, stemmed words. Scripts that do not (Chinese, Japanese,
Thai, Lao, Khmer, Burmese) and Korean, whose particles cling to the words, give one token a character
(with its marks); a query then asks for pairs of neighbours, so that any two characters in a row are found.
"""

import re
import threading
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from memory.stop_words import stop_words_of

VERSION = 1
"""Part of the index's fingerprint: raise it when the same text would give other words."""

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
# Letters and signs of the scripts below; their digits stay words of their own kind.
_THAI_LAO = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf"
_THAI_LAO_MARKS = "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
_MYANMAR = "\u1000-\u103f\u1050-\u109f"
_MYANMAR_MARKS = (
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u109a-\u109d"
)
_KHMER = "\u1780-\u17d3"
_KHMER_MARKS = "\u17b4-\u17d3"
_UNSPACED = (
    f"[{_HAN}{_KANA}{_HANGUL}]"
    f"|[{_THAI_LAO}][{_THAI_LAO_MARKS}]*"
    f"|[{_MYANMAR}][{_MYANMAR_MARKS}]*"
    f"|[{_KHMER}][{_KHMER_MARKS}]*"
)
# Python's \w leaves out combining marks, without which Hindi, Arabic or Hebrew words fall to pieces.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0903\u093a-\u094f\u0955-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71"
    "\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83"
    "\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0d82\u0d83\u0dca-\u0df3\u0f18\u0f19\u0f35-\u0f3f\u0f71-\u0f84\u0f8d-\u0fbc"
)
_LETTER = f"(?:(?![{_HAN}{_KANA}{_HANGUL}{_THAI_LAO}{_MYANMAR}{_KHMER}])[^\\W_]|[{_MARKS}])"
# "Anna's" and "don't" are one word each; "l'école" is two.
_WORD = f"{_LETTER}+(?:['’](?:s|t|d|m|ll|re|ve)(?!\\w))?"
_TOKEN = re.compile(f"({_WORD})|{_UNSPACED}")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:'(?:s|t|d|m|ll|re|ve)(?![a-z0-9_]))?")
_APOSTROPHE = re.compile("['’].*")

_MEMO_LIMIT = 200_000
_memo: dict[str, str] = {}
_stemming = threading.Lock()


@dataclass(frozen=True, slots=True)
class Term:
    """Something to look for: one word, or two neighbouring characters of a script without spaces."""

    tokens: tuple[str, ...]
    """One token, or two that stand side by side."""


def cut(text: str) -> list[str]:
    """The tokens of `text` in order, as they are indexed; none holds white space."""
    if text.isascii():
        return [_memo.get(word) or _fold(word) for word in _ASCII_TOKEN.findall(text.lower())]
    text = unicodedata.normalize("NFKC", text).lower()
    return [
        (_memo.get(word) or _fold(word)) if word else match[0]
        for match in _TOKEN.finditer(text)
        for word in (match[1],)
    ]


def query_terms(query: str) -> list[Term]:
    """What a query asks for, in its order, none twice; stop words only where there is nothing else."""
    spaced: list[str] = []
    terms: list[Term] = []
    run: list[str] = []
    run_end = -1

    def end_run() -> None:
        if len(run) == 1:
            terms.append(Term((run[0],)))
        terms.extend(Term(pair) for pair in pairwise(run))
        run.clear()

    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", query).lower()):
        if match[1]:
            end_run()
            spaced.append(match[1])
            terms.append(Term((_fold(match[1]),)))
            continue
        if match.start() != run_end:
            end_run()
        run.append(match[0])
        run_end = match.end()
    end_run()
    stopped = {Term((_fold(word),)) for word in stop_words_of(spaced)}
    distinct = list(dict.fromkeys(terms))
    return [term for term in distinct if term not in stopped] or distinct


def _fold(word: str) -> str:
    """Case, accents and endings away, so that forms of one word meet."""
    known = _memo.get(word)
    if known is not None:
        return known
    plain = _APOSTROPHE.sub("", word.casefold())
    if not plain.isascii():
        plain = _without_accents(plain)
    folded = _stem(plain) or word
    if len(_memo) >= _MEMO_LIMIT:
        _memo.clear()
    _memo[word] = folded
    return folded


def _without_accents(word: str) -> str:
    # Only over Latin, Greek and Cyrillic letters: elsewhere a mark makes another letter.
    if not any("\u00c0" <= letter <= "\u052f" or "\u1e00" <= letter <= "\u1fff" for letter in word):
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f"))


@cache
def _english() -> Callable[[str], str]:
    import Stemmer

    stem: Callable[[str], str] = Stemmer.Stemmer("english").stemWord
    return stem


def _stem(word: str) -> str:
    with _stemming:  # a stemmer keeps the word it works on
        return _english()(word)
