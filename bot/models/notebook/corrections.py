"""Pure: a message that corrects the statement before it ("no, it is May 4th"), and what that makes of the statement."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from bot.models.notebook.language import Language, phrases
from bot.models.notebook.lines import sentences
from bot.models.notebook.phrases import (
    CLOSERS,
    ENDS,
    OPENERS,
    SEPARATORS,
    Match,
    body_end,
    fold,
    has_words,
    is_question,
    phrase_at,
    phrase_up_to,
    skip,
)
from bot.models.notebook.reading import finish
from bot.models.notebook.sentence import DENIAL_ENDS, asks, read_command, without_greeting
from bot.models.notebook.wanted import read_request
from bot.models.notebook.whole_sentences import read_whole_sentence

_LONGEST = 300
"""Characters: a longer message tells something new."""
_MOST_OPENERS = 5
_SAME = 0.5
"""The share of its words that a statement has in common with another one about the same thing."""
_ARTICLES = frozenset(
    phrases(
        "a|an|the|der|die|das|den|dem|ein|eine|einen|le|la|les|l'|un|une|el|los|las|una|o|os|as|um|uma|il|lo|i|gli"
    )
)
_WITH_ARTICLE = frozenset(
    phrases(
        "am|im|ans|ins|zum|zur|beim|vom|au|aux|du|des|al|del|ao|do|da|no|na|nel|nella|dal|dalla|sul|sulla"
    )
)
"""Prepositions that hold an article."""
_PUNCTUATION = ENDS + OPENERS + CLOSERS + SEPARATORS


class Correction(NamedTuple):
    """What somebody says in the place of the statement before."""

    said: str
    """The whole message."""
    rest: str
    """The same without the words that only say that it is a correction."""
    certain: bool
    """It denies the statement before ("no", "I meant"); else it may also tell something new ("actually")."""


def read_correction(text: str, spoken: Language) -> Correction | None:
    """Read a message of one sentence that begins or ends as a correction does; None for any other."""
    text = text.strip()
    if "\n" in text or len(text) > _LONGEST or is_question(text):
        return None
    at, certain, amends = _read_openers(text, spoken)
    rest, amends_at_end = _without_ending(text[at:], spoken)
    if not (certain or amends or amends_at_end) or not has_words(rest):
        return None
    if command := read_command(rest, spoken):
        rest = command.rest
    pronoun = _pronoun(rest, spoken)
    if (
        not has_words(rest)
        or not has_words(without_greeting(rest, spoken).rest)
        or (asks(rest, spoken) and not pronoun)
        or read_request(rest, spoken)
        or read_whole_sentence(rest, spoken)
        or len(list(sentences(rest, language=spoken, casual=True))) > 1
    ):
        return None
    return Correction(text, rest, certain)


def _read_openers(text: str, spoken: Language) -> tuple[int, bool, bool]:
    """Where what is said begins behind "no, sorry, I meant"; whether those words deny, and whether they amend."""
    head = fold(text)
    at, certain, amends = 0, False, False
    for _ in range(_MOST_OPENERS):
        begin = skip(head, at, _PUNCTUATION + "-–—")
        matches = {kind: phrase_at(head, begin, kind, prefer=spoken, only=True) for kind in _OPENERS}
        kind, match = max(matches.items(), key=lambda each: each[1].end if each[1] else 0)
        if match is None or not _is_opener(kind, match, head, spoken):
            break
        at = match.end
        certain = certain or kind in ("denials", "wrong", "corrects")
        amends = amends or kind == "amends"
    return skip(head, at, _PUNCTUATION + "-–—") if at else 0, certain, amends


_OPENERS = ("denials", "wrong", "corrects", "amends", "fine", "before")


def _is_opener(kind: str, match: Match, head: str, spoken: Language) -> bool:
    if kind in ("corrects", "amends"):
        return True
    if kind == "before":
        return match.phrase not in spoken.intending
    if head[match.end : match.end + 1] in tuple(DENIAL_ENDS + ("" if spoken.spacing == "words" else " ")):
        return True
    return kind == "denials" and _goes_on_as_correction(head, match.end, spoken)


def _goes_on_as_correction(head: str, at: int, spoken: Language) -> bool:
    """Whether "no wait" or "no it is" stands there; "no milk today" denies nothing, nor does Spanish "no es"."""
    begin = skip(head, at, " ")
    if any(phrase_at(head, begin, kind, prefer=spoken, only=True) for kind in ("amends", "corrects")):
        return True
    pronoun = phrase_at(head, begin, "pronouns", prefer=spoken, only=True)
    if pronoun is None:
        return False
    first, *more = pronoun.phrase.split()
    return "'" in first or (bool(more) and first in spoken.pronouns)


def _without_ending(text: str, spoken: Language) -> tuple[str, bool]:
    end = body_end(text)
    ending = phrase_up_to(fold(text), end, "amends", prefer=spoken, only=True)
    if ending is None or not has_words(text[: ending.start]):
        return text, False
    return text[: ending.start].rstrip(SEPARATORS + "-–—"), True


# -- what it makes of the statement ----------------------------------------------------------------------


def corrected(old: str, correction: Correction, language: Language) -> str | None:
    """Return the line that is to stand in the place of `old`; None where the correction is about something else.

    Where it only says what is different ("it is May 4th"), that takes its place in the old line. Where that place is
    not plain, both stand in the new line, in the person's words: nothing is guessed, and nothing is lost.
    """
    old = " ".join(old.split())
    statement = old.rstrip(ENDS + " ")
    rest = correction.rest.rstrip(ENDS + " ")
    pronoun = _pronoun(rest, language)
    value = rest[pronoun.end :].lstrip(SEPARATORS) if pronoun else rest
    if not has_words(value):
        return None
    tokens, said = _tokens(statement, language), _tokens(value, language)
    start = _behind_copula(tokens, language)
    if pronoun is None and not _is_fragment(said, tokens[:start], tokens, language):
        return _replaced(tokens, rest, statement, correction, language)
    begun = start or (0 if language.spacing == "none" else 1)
    says_what = pronoun is None or _ends_in_copula(pronoun, language)
    if (found := _place(said, tokens[begun:])) is not None:
        first, last = begun + found[0], begun + found[1]
    elif start and says_what and (correction.certain or pronoun):
        first, last = start, len(tokens)
    elif correction.certain:
        joined = finish(old) + ("" if language.spacing == "none" else " ") + finish(correction.said)
        return joined if joined != old else None
    else:
        return None
    if _keeps_preposition(tokens[first:last], said, language):
        said = said[1:] if _bare(tokens[first]) in _WITH_ARTICLE and _is_article(said[0]) else said
        first += 1
    new = [*tokens[:first], *said, *tokens[last:]]
    return finish(("" if language.spacing == "none" else " ").join(new))


def _pronoun(text: str, language: Language) -> Match | None:
    return phrase_at(fold(text), skip(fold(text), 0, OPENERS), "pronouns", prefer=language, only=True)


def _ends_in_copula(pronoun: Match, language: Language) -> bool:
    return any(pronoun.phrase.endswith(each) or each in pronoun.phrase.split() for each in language.copulas)


def _tokens(text: str, language: Language) -> list[str]:
    """Words; where they are not set apart, characters, but for numbers and words in other scripts."""
    return re.findall(r"[0-9０-９]+|[A-Za-zÀ-ɏ]+|.", text) if language.spacing == "none" else text.split()


def _behind_copula(tokens: Sequence[str], language: Language) -> int:
    """The place behind the first "is" that has something before and behind it; 0 where there is none."""
    for at in range(1, len(tokens) - 1):
        if _bare(tokens[at]) in language.copulas or (
            language.spacing == "none" and "".join(tokens[: at + 1]).endswith(language.copulas)
        ):
            return at + 1
    return 0


def _is_fragment(
    said: Sequence[str], subject: Sequence[str], tokens: Sequence[str], language: Language
) -> bool:
    """Whether it tells only what is different: no statement of its own."""
    text = fold(("" if language.spacing == "none" else " ").join(said))
    if phrase_at(text, 0, "subjects", prefer=language, only=True):
        return False
    if _behind_copula(said, language):
        return False
    shared = 2 if _is_article(said[0]) else 1
    if language.spacing != "none" and subject and _begin_alike(said, subject, shared):
        return False
    if language.spacing == "words" and not language.verb_last:
        return len(said) < len(tokens) and set(language.verbs).isdisjoint(map(_bare, said[1:]))
    return len(said) < len(tokens)


def _replaced(
    tokens: Sequence[str], rest: str, old: str, correction: Correction, language: Language
) -> str | None:
    """A statement of its own takes the place of the old one, or of a part of it that begins alike."""
    from memory.words import query_terms

    new = _tokens(rest, language)
    for at in range(1, len(tokens) - 1):
        if language.spacing != "none" and _begin_alike(new, tokens[at:], 2):
            return finish(" ".join([*tokens[:at], *new, *tokens[at + len(new) :]]))
    new_terms, old_terms = set(query_terms(rest)), set(query_terms(old))
    most = max(len(new_terms), len(old_terms), 1)
    is_same = len(new_terms & old_terms) / most >= _SAME or (
        correction.certain and _begin_alike(new, tokens, 2)
    )
    return finish(rest) if is_same else None


def _begin_alike(one: Sequence[str], other: Sequence[str], count: int) -> bool:
    first, second = [_bare(each) for each in one[:count]], [_bare(each) for each in other[:count]]
    return len(first) == count and first == second


def _place(said: Sequence[str], among: Sequence[str]) -> tuple[int, int] | None:
    """Which of the words give way: those that begin or end alike, the only number, the only name."""
    new, there = [_bare(each) for each in said], [_bare(each) for each in among]
    if not new or not there:
        return None
    if new[0] in there:
        first = there.index(new[0])
        if len(new) > 1 and new[-1] in there[first + 1 :]:
            return first, there.index(new[-1], first + 1) + 1
        if not _is_article(said[0]):
            return first, min(first + len(new), len(there))
    if new[-1] in there and has_words(new[-1]):
        last = there.index(new[-1])
        return max(0, last + 1 - len(new)), last + 1
    if len(new) == 1:
        numbers = [at for at, word in enumerate(there) if any(map(str.isdigit, word))]
        if any(map(str.isdigit, new[0])):
            return (numbers[0], numbers[0] + 1) if len(numbers) == 1 else None
    return _only_name(said, among)


def _only_name(said: Sequence[str], among: Sequence[str]) -> tuple[int, int] | None:
    """The only words in a row that are written like a name, where a name is said."""
    if not all(each[0].isupper() for each in said):
        return None
    names = [at for at, word in enumerate(among) if word[0].isupper()]
    in_a_row = bool(names) and names[-1] - names[0] == len(names) - 1
    return (names[0], names[-1] + 1) if in_a_row else None


def _keeps_preposition(old: Sequence[str], new: Sequence[str], language: Language) -> bool:
    """Whether "under" of "under the mat" stays where "the stone" is said."""
    from memory.stop_words import stop_words_in

    stop_words = stop_words_in(language.code)
    if language.spacing != "words" or len(old) < 2 or _bare(old[0]) == _bare(new[0]):
        return False
    if old[0][0].isupper() or _is_article(old[0]) or _bare(old[0]) not in stop_words:
        return False
    return _is_article(new[0]) or _bare(new[0]) not in stop_words


def _is_article(word: str) -> bool:
    return _bare(word) in _ARTICLES


def _bare(word: str) -> str:
    return fold(word).strip(_PUNCTUATION) or word
