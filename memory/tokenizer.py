"""Split text into words, for every script; this alone decides which words a text is found by.

Scripts with spaces between words yield folded words, stemmed by their script. Scripts without (Chinese,
Japanese, Thai, Lao, Khmer, Burmese) and Korean, whose particles are attached to words, yield one token per
character (with its marks); queries then look for pairs of adjacent characters. Each emoji is a word, without
its skin tone; a composed one is split into its parts (a family: its members).
"""

import re
import threading
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from memory.normalization import is_normalized, normalize
from memory.note_tags import is_tag_word
from memory.stop_words import detect_stop_words

VERSION = 5
"""Part of the index's fingerprint: increase it when the same text would yield other words."""

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
# Letters and signs of the scripts below; their digits are words like any number.
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
# Python's \w excludes combining marks, without which Hindi, Arabic or Hebrew words fall apart.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0903\u093a-\u094f\u0955-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71"
    "\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83"
    "\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0d82\u0d83\u0dca-\u0df3\u0f18\u0f19\u0f35-\u0f3f\u0f71-\u0f84\u0f8d-\u0fbc"
)
_LETTER = f"(?:(?![{_HAN}{_KANA}{_HANGUL}{_THAI_LAO}{_MYANMAR}{_KHMER}])[^\\W_]|[{_MARKS}])"
# "Anna's" and "don't" are one word each; "l'école" is two.
_WORD = f"{_LETTER}+(?:['’](?:s|t|d|m|ll|re|ve)(?!\\w))?"
# A flag is two letters of its own; #️⃣ and *️⃣ have no digit to be found by. Skin tones are left out, and
# what NFKC turns into letters is no emoji.
_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}|[#*]\u20e3"
    "|[\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
)
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:'(?:s|t|d|m|ll|re|ve)(?![a-z0-9_]))?")
# A character with what may combine with it: marks, parts of Korean syllables, Japanese voicing.
_CLUSTER = re.compile(
    f"(?s:.)[{_MARKS}{_MYANMAR_MARKS}{_THAI_LAO_MARKS}\u1160-\u11ff\u3099\u309a\uff9e\uff9f]*"
)
_SPELLED_WORD = re.compile(r"[^\W\d_]+")
_APOSTROPHE = re.compile("['’].*")
# Soft hyphens, joiners, direction marks and variant selectors: invisible inside words and emoji, and never
# typed.
_INVISIBLE = re.compile("[\u00ad\u200c-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
# Letters that Unicode does not decompose, and letters of Arabic and Persian that are typed for each other.
_EQUIVALENT_LETTERS = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"}
    | {"ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ـ": ""}
)
# Accents; the vowels of Hebrew and Arabic, which most people leave out.
_ACCENT = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc]")

_STEMMERS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
"""The stemmer of each script, by its first and last letter; English for all others.

A word alone decides, so that it is the same token in every text. Snowball knows fourteen languages in Latin
letters, but guessing which one a word is from found no more than English stems and beginnings of words.
"""

BEGINNING_LENGTH = 4
"""How many letters words must at least share at their beginning to be taken for forms of each other.

Measured, 4 and 5 are about equally good; 3 also finds unrelated words.
"""

QUESTION_MARKS = ("?", "？", "؟")

MAX_TERMS = 1_000
"""Maximum terms of a query; each costs an index lookup, and a query may be a whole document."""

MAX_QUERY_CHARS = 10_000
"""Maximum characters of a query that are parsed; more would block the event loop for seconds."""

_MEMO_LIMIT = 50_000
"""Entries, 6 MB in all: about as many words as are not rare in a large memory. Evicted words are folded again."""
_MEMO_MAX_CHARS = 40
_DIGIT = re.compile(r"\d")
_memo: dict[str, str] = {}
_stemming = threading.Lock()


class Term(NamedTuple):
    """A search term: one word, two adjacent characters of a script without spaces, or how words begin."""

    tokens: tuple[str, ...]
    """One token, or two adjacent ones."""
    is_beginning: bool = False
    """True if every word that begins with the token matches; the token has `BEGINNING_LENGTH` letters."""


def tokenize(text: str) -> list[str]:
    """Return the tokens of `text` in order, as they are indexed; none contains white space."""
    if text.isascii():
        return [_memo.get(word) or _fold_word(word) for word in _ASCII_TOKEN.findall(text.lower())]
    text = _normalize_text(text)
    return [
        (_memo.get(word) or _fold_word(word)) if word else match[0]
        for match in _token_pattern().finditer(text)
        for word in (match[1],)
    ]


def tokenize_with_offsets(text: str) -> list[tuple[str, int, int]]:
    """Return the tokens of `tokenize` with their positions: `text[start:end]`."""
    plain = _normalize_text(text)
    starts: Sequence[int] = range(len(text))
    ends: Sequence[int] = range(1, len(text) + 1)
    if not _keeps_offsets(text, plain):
        clusters = [(_normalize_text(cluster[0]), *cluster.span()) for cluster in _CLUSTER.finditer(text)]
        plain = "".join(piece for piece, _, _ in clusters)
        starts = [start for piece, start, _ in clusters for _ in piece]
        ends = [end for piece, _, end in clusters for _ in piece]
    return [
        (_fold_word(match[1]) if match[1] else match[0], starts[match.start()], ends[match.end() - 1])
        for match in _token_pattern().finditer(plain)
    ]


def _keeps_offsets(text: str, plain: str) -> bool:
    """Return whether each character of `text` corresponds to one of `plain`, its `_normalize_text` form."""
    if text.isascii():
        return True
    return len(plain) == len(text) and is_normalized("NFKC", text) and not _INVISIBLE.search(text)


def is_lookup(query: str, terms: Sequence[Term]) -> bool:
    """Return whether a query names something ("boiler code", "护照") rather than asks a question."""
    words = [term for term in terms if not term.is_beginning and not is_tag_word(term.tokens[0])]
    return len(words) <= 3 and len(query.split()) <= 2 and not query.rstrip().endswith(QUESTION_MARKS)


def parse_query(query: str) -> list[Term]:
    """Return the query's distinct terms in order; stop words only if there is nothing else."""
    spaced: list[tuple[str, Term]] = []
    terms: list[Term] = []
    run: list[str] = []
    run_end = -1

    def end_run() -> None:
        if len(run) == 1:
            terms.append(Term((run[0],)))
        terms.extend(Term(pair) for pair in pairwise(run))
        run.clear()

    for match in _token_pattern().finditer(_normalize_text(query)):
        if match[1]:
            end_run()
            terms.append(Term((_fold_word(match[1]),)))
            spaced.append((_APOSTROPHE.sub("", match[1]), terms[-1]))
            continue
        if match.start() != run_end:
            end_run()
        run.append(match[0])
        run_end = match.end()
    end_run()
    stop_words = {_strip_accents(word) for word in detect_stop_words(word for word, _ in spaced)}
    # By the word and not by its stem: of "mine" and "mining" only one is a stop word.
    asked = {term for word, term in spaced if _strip_accents(word) not in stop_words}
    stopped = {term for _, term in spaced if term not in asked}
    distinct = list(dict.fromkeys(terms))
    return ([term for term in distinct if term not in stopped] or distinct)[:MAX_TERMS]


def find_spellings(query: str, terms: Sequence[Term]) -> frozenset[str]:
    """Return the words of these terms as the query spells them, in lower case."""
    tokens = {term.tokens[0] for term in terms if len(term.tokens) == 1 and not term.is_beginning}
    return frozenset(word for word in split_spelled_words(query) if _fold_word(word) in tokens)


def split_spelled_words(text: str) -> list[str]:
    """Return the words of a text in lower case, with their accents and endings."""
    return _SPELLED_WORD.findall(text.lower())


def word_beginning(token: str) -> str | None:
    """Return the beginning that a word may be found by.

    None if the word is too short, has a digit in its beginning, or is in a script without spaces.
    """
    beginning = token[:BEGINNING_LENGTH]
    if len(token) < BEGINNING_LENGTH or any(map(str.isdigit, beginning)) or is_unspaced_character(token):
        return None
    return beginning


def find_beginnings(terms: Sequence[Term]) -> list[Term]:
    """Return the distinct beginnings of these terms' words; a word with a digit is a name and has no forms."""
    words = (term.tokens[0] for term in terms if len(term.tokens) == 1 and not _DIGIT.search(term.tokens[0]))
    found = dict.fromkeys(filter(None, map(word_beginning, words)))
    return [Term((beginning,), is_beginning=True) for beginning in found]


def is_unspaced_character(token: str) -> bool:
    """Return whether a token is a character of a script without spaces; queries look for two adjacent ones."""
    return _unspaced_pattern().fullmatch(token) is not None


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile(_UNSPACED)


@cache
def _token_pattern() -> re.Pattern[str]:
    """Compile the pattern on first use, since that takes 4 ms."""
    return re.compile(f"({_WORD}|{_EMOJI})|{_UNSPACED}")


def _normalize_text(text: str) -> str:
    """Return the text in lower case and one normal form, without invisible characters."""
    return _INVISIBLE.sub("", normalize("NFKC", text).lower()).replace("ʼ", "’")


def _fold_word(word: str) -> str:
    """Return the word without case, accents and endings, so that its forms match."""
    if word.isdecimal() and word.isascii():  # numbers are unlimited, so they are not cached
        return word
    known = _memo.get(word)
    if known is not None:
        return known
    folded = _stem_word(_strip_accents(word)) or word
    if folded == word:
        folded = word  # most words are their own stem: store one object
    if len(word) <= _MEMO_MAX_CHARS and not _DIGIT.search(word):  # names such as b12 are unlimited too
        if len(_memo) >= _MEMO_LIMIT:
            _memo.clear()
        _memo[word] = folded
    return folded


def _strip_accents(word: str) -> str:
    """Return the word without accents and the part after an apostrophe, and with the digits 0 to 9."""
    plain = _APOSTROPHE.sub("", word.casefold())
    if not plain.isascii():
        plain = "".join(str(unicodedata.decimal(c, c)) for c in plain)
    # Only from letters that stay the same without them: elsewhere a mark makes another letter.
    if not plain.isascii() and any("\u00c0" <= c <= "\u06ff" or "\u1e00" <= c <= "\u1fff" for c in plain):
        decomposed = normalize("NFD", plain.translate(_EQUIVALENT_LETTERS))
        plain = normalize("NFC", _ACCENT.sub("", decomposed))
    return plain


def _stem_word(word: str) -> str:
    language = next((name for first, last, name in _STEMMERS if first <= word[:1] <= last), "english")
    with _stemming:  # a stemmer stores the word it works on
        return _load_stemmer(language)(word)


@cache
def _load_stemmer(language: str) -> Callable[[str], str]:
    import Stemmer

    # Without its own cache of ten thousand words, 3 MB, since we have one.
    stem: Callable[[str], str] = Stemmer.Stemmer(language, maxCacheSize=0).stemWord
    return stem
