"""Pure: letters, words and phrases in any language, and language detection."""

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from bot.models.notebook.language import Language, phrases
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.english import ENGLISH

QUESTION_MARKS = "?？؟⁇⁈⸮՞"
FULL_STOPS = ".。．｡।॥۔"
ENDS = QUESTION_MARKS + FULL_STOPS + "!！…‥"
OPENERS = "\"'“‘„«‹([{（「『【《〈"
CLOSERS = "\"'”’»›)]}）」』】》〉"
SEPARATORS = " \t\u3000,，、،:：;；"


def fold(text: str) -> str:
    """Return `text` in lower case with straight apostrophes; every character keeps its index."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    return low.replace("’", "'")


def has_words(text: str) -> bool:
    """Return whether the text contains a letter or digit."""
    return any(map(str.isalnum, text))


def clip(text: str, limit: int) -> str:
    """Return `text`, or its beginning up to the last space within `limit` characters."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    return head[: head.rfind(" ")] if " " in head else head


def is_mark(letter: str) -> bool:
    return letter > "\u02ff" and unicodedata.category(letter)[0] == "M"


def continues_word(text: str, at: int) -> bool:
    """Return whether the word before `at` continues there."""
    letter = text[at : at + 1]
    if not letter:
        return False
    if letter.isalnum() or letter == "_" or is_mark(letter):
        return True
    return letter in "-'" and text[at + 1 : at + 2].isalnum()


def plain_words(folded: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*", folded)


@cache
def own_words(language: Language) -> frozenset[str]:
    single = (
        language.hints,
        language.ask_first,
        language.verbs,
        language.chat,
        language.thanks,
        language.fine,
        language.remember,
        language.search,
        language.undo,
        language.forget_that,
        language.good_night,
        language.goodbye,
    )
    listed = [phrase for each in single for phrase in each if " " not in phrase]
    listed += language.subjects
    orders = (*language.remind, *language.forget, *language.change, *language.orders)
    listed += [phrase.split()[0] for phrase in orders]
    return frozenset(word for phrase in listed for word in plain_words(fold(phrase)))


UNKNOWN = frozenset(
    phrases(
        "ik|het|een|niet|mijn|waar|wat|zijn|ligt|heet|hoe|gaat|jeg|og|ikke|det|hvor|hvad|mitt|jag|är|och"
        "|inte|var|się|gdzie|jest|moja|mój|w|jsem|není|kde|jak|můj|nerede|benim|bir|hol|egy|nem|hoi|hei|hej"
        "|minun|missä|unde|saya|yang|ini|gde|moj|nije"
    )
)
"""Frequent words of unsupported languages that resemble a supported one."""


def language_of(text: str) -> Language:
    """Return the language of `text`; English unless there is clear evidence for another."""
    sample = text[:2000]
    by_script = language_by_script(sample)
    if by_script is not None:
        return ENGLISH if any(letter in by_script.foreign for letter in sample) else by_script
    words = plain_words(sample)
    # Names keep their letters in any language.
    beyond = {letter for word in words if word[0].islower() for letter in word if letter > "\x7f"} - {"’"}
    words = [fold(word) for word in words]
    best, most = ENGLISH, 0
    for language in LANGUAGES:
        if language.script or beyond - set(language.accents):
            continue
        score = sum(map(own_words(language).__contains__, words))
        score += 2 * any(letter in language.letters for letter in fold(sample))
        if score > most:
            best, most = language, score
    unknown = 3 * sum(map(UNKNOWN.__contains__, words))
    clear = most > unknown and (most > 1 or len(words) <= 3)
    return best if clear else ENGLISH


def language_by_script(text: str) -> Language | None:
    if text.isascii():
        return None
    letters = {
        language.code: len(re.findall(f"[{language.script}]", text))
        for language in LANGUAGES
        if language.script
    }
    if letters["ja"] and letters["ja"] * 6 >= letters["zh"]:
        letters["ja"] += letters.pop("zh")
    first = next((letter for letter in text if letter.isalpha()), "")
    weights: dict[Language | None, float] = {None: float(len(re.findall("[A-Za-zÀ-ɏ]+", text)))}
    for language in LANGUAGES:
        if count := letters.get(language.code):
            # A word of a script with spaces has about four letters.
            weights[language] = (
                count if language.spacing == "none" else count / (2 if language.spacing == "particles" else 4)
            )
            weights[language] += 2 if re.match(f"[{language.script}]", first) else 0
    return max(weights, key=lambda language: weights[language])


class Match(NamedTuple):
    start: int
    end: int
    phrase: str
    language: Language


@cache
def _phrases(kind: str, edge: int) -> dict[str, list[tuple[str, Language]]]:
    """Return the phrases of a kind in all languages by their first (0) or last (-1) letter, the longest first."""
    found: dict[str, list[tuple[str, Language]]] = {}
    for language in LANGUAGES:
        listed: tuple[str, ...] = getattr(language, kind)
        if kind == "remember":
            listed += language.never_forget
        elif kind == "chat":
            listed += language.thanks + language.fine + language.good_night + language.goodbye
        for phrase in dict.fromkeys(fold(unicodedata.normalize("NFC", phrase)) for phrase in listed):
            found.setdefault(phrase[edge], []).append((phrase, language))
    for longest_first in found.values():
        longest_first.sort(key=lambda item: -len(item[0]))
    return found


def phrase_at(folded: str, at: int, kind: str, *, prefer: Language, only: bool = False) -> Match | None:
    """Return the longest phrase of a kind that begins at `at`; among equals, that of the preferred language."""
    best: Match | None = None
    for phrase, language in _phrases(kind, 0).get(folded[at : at + 1], ()):
        if best is not None and len(phrase) < len(best.phrase):
            break
        if (best is not None or only) and language is not prefer:
            continue
        if folded.startswith(phrase, at) and not _word_continues(
            folded, at + len(phrase), kind, phrase, language
        ):
            best = Match(at, at + len(phrase), phrase, language)
    return best


def _word_continues(folded: str, end: int, kind: str, phrase: str, language: Language) -> bool:
    if not (phrase[-1].isalnum() or is_mark(phrase[-1])):
        return False
    if language.spacing != "words":
        return is_mark(folded[end : end + 1] or " ")
    if folded[end : end + 1] == "'" and kind == "ask_first":
        return False
    return continues_word(folded, end)


def phrase_ending_at(
    folded: str, end: int, kind: str, *, prefer: Language, only: bool = False
) -> Match | None:
    """Return the longest phrase of a kind that ends at `end`."""
    if not end:
        return None
    best: Match | None = None
    for phrase, language in _phrases(kind, -1).get(folded[end - 1], ()):
        if best is not None and len(phrase) < len(best.phrase):
            break
        if (best is not None or only) and language is not prefer:
            continue
        start = end - len(phrase)
        if start < 0 or not folded.endswith(phrase, 0, end):
            continue
        before = folded[start - 1 : start] if start else ""
        if language.spacing == "words" and (before.isalnum() or (before and is_mark(before))):
            continue
        best = Match(start, end, phrase, language)
    return best


def skip(folded: str, at: int, skipped: str) -> int:
    while at < len(folded) and folded[at] in skipped:
        at += 1
    return at


def body_end(text: str) -> int:
    """Return the end of a sentence without its closing marks, emoji and spaces."""
    end = len(text)
    while end and not (
        text[end - 1].isalnum() or (is_mark(text[end - 1]) and text[end - 1] not in "\ufe0f\u20e3")
    ):
        end -= 1
    return end


def is_question(text: str) -> bool:
    """Return whether it ends in a question mark that is not part of a quotation or a URL."""
    end = len(text)
    while end and (
        text[end - 1].isspace() or unicodedata.category(text[end - 1]) in ("So", "Sk", "Cf", "Mn")
    ):
        end -= 1
    tail = text[:end]
    quoted = tail.rstrip(CLOSERS)
    if quoted != tail and not (quoted and tail[0] in OPENERS):
        return False
    marks = quoted[len(quoted.rstrip(ENDS)) :]
    if not any(mark in QUESTION_MARKS for mark in marks):
        return quoted.endswith((";", "\u037e")) and bool(re.search("[Ͱ-Ͽἀ-῿]", quoted))
    last = quoted.rsplit(maxsplit=1)[-1]
    return "://" not in last
