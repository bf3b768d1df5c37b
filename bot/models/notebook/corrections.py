"""Pure: detect a message that corrects the previous statement ("no, it is May 4th"), and apply it."""

import re
from collections.abc import Sequence, Set
from typing import NamedTuple

from bot.models.notebook.language import Language, phrases
from bot.models.notebook.message_parser import format_fact
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
    phrase_ending_at,
    skip,
)
from bot.models.notebook.sentence import DENIAL_ENDS, asks, read_command, split_greeting
from bot.models.notebook.splitting import split_sentences
from bot.models.notebook.unsupported import read_request
from bot.models.notebook.whole_sentences import read_whole_sentence

_MAX_CHARS = 300
"""Maximum characters of a correction: a longer message says something new."""
_MAX_OPENERS = 5
_MIN_SHARED_WORDS = 0.5
"""Minimum share of words that two statements about the same thing have in common."""
_MAX_WORDS_AFTER_COPULA = 4
"""Maximum words after "is" that a few other words may replace as a whole."""
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
"""Prepositions that contain an article."""
_PUNCTUATION = ENDS + OPENERS + CLOSERS + SEPARATORS


class SpokenCorrection(NamedTuple):
    """What somebody says in place of the previous statement."""

    said: str
    """The whole message."""
    rest: str
    """The message without the words that only mark it as a correction."""
    certain: bool
    """Whether it denies the previous statement ("no", "I meant"); else it may also be new ("actually")."""
    not_this: str = ""
    """The words that `rest` replaces, if said: "not tea, coffee"."""


UNSURE = ""
"""Returned by `apply_correction` if it is unclear which words are replaced."""


def read_correction(text: str, language: Language) -> SpokenCorrection | None:
    """Read a one-sentence message that begins or ends like a correction; None for any other."""
    text = text.strip()
    if "\n" in text or len(text) > _MAX_CHARS or is_question(text):
        return None
    at, certain, amends = _read_openers(text, language)
    if found := _split_replacement(text, at, language):
        return SpokenCorrection(text, found[1], certain, found[0])
    rest, amends_at_end = _strip_ending(text[at:], language)
    if not (certain or amends or amends_at_end) or not has_words(rest):
        return None
    if command := read_command(rest, language):
        rest = command.rest
    pronoun = _match_pronoun(rest, language)
    if (
        not has_words(rest)
        or not has_words(split_greeting(rest, language).rest)
        or (asks(rest, language) and not pronoun)
        or read_request(rest, language)
        or read_whole_sentence(rest, language)
        or len(list(split_sentences(rest, language=language, casual=True))) > 1
    ):
        return None
    return SpokenCorrection(text, rest, certain)


def _split_replacement(text: str, at: int, language: Language) -> tuple[str, str] | None:
    """Return the two parts of "not tea, coffee": the wrong one and the right one."""
    whole = text[: body_end(text)]
    for begin in dict.fromkeys((at, 0)):  # Spanish "no" is both opener and denial
        for pattern in language.instead:
            found = re.fullmatch(pattern, fold(whole[begin:]))
            if found is None:
                continue
            old, new = (
                whole[begin:][slice(*found.span(each))].strip(_PUNCTUATION) for each in ("old", "new")
            )
            if has_words(old) and has_words(new) and not _is_own_statement(new, language):
                return old, new
    return None


def _is_own_statement(text: str, language: Language) -> bool:
    """Return whether a part is more than a name of something: "I am" in "I am not hungry"."""
    last = _strip_marks(text.split()[-1])
    return bool(phrase_at(fold(text), 0, "subjects", prefer=language, only=True)) or (
        language.spacing == "words" and last in {*language.copulas, *language.verbs, *language.pronouns}
    )


def _read_openers(text: str, language: Language) -> tuple[int, bool, bool]:
    """Return where the statement begins after "no, sorry, I meant", and whether these words deny and amend."""
    head = fold(text)
    at, certain, amends = 0, False, False
    for _ in range(_MAX_OPENERS):
        begin = skip(head, at, _PUNCTUATION + "-–—")
        matches = {kind: phrase_at(head, begin, kind, prefer=language, only=True) for kind in _OPENERS}
        kind, match = max(matches.items(), key=lambda each: each[1].end if each[1] else 0)
        if match is None or not _is_opener(kind, match, head, language):
            break
        at = match.end
        certain = certain or kind in ("denials", "wrong", "corrects")
        amends = amends or kind == "amends"
    return skip(head, at, _PUNCTUATION + "-–—") if at else 0, certain, amends


_OPENERS = ("denials", "wrong", "corrects", "amends", "fine", "before")


def _is_opener(kind: str, match: Match, head: str, language: Language) -> bool:
    if kind in ("corrects", "amends"):
        return True
    if kind == "before":
        return match.phrase not in language.intending
    if head[match.end : match.end + 1] in tuple(DENIAL_ENDS + ("" if language.spacing == "words" else " ")):
        return True
    return kind == "denials" and _continues_correction(head, match.end, language)


def _continues_correction(head: str, at: int, language: Language) -> bool:
    """Return whether "no wait" or "no it is" stands there; "no milk today" and Spanish "no es" deny nothing."""
    begin = skip(head, at, " ")
    if any(phrase_at(head, begin, kind, prefer=language, only=True) for kind in ("amends", "corrects")):
        return True
    pronoun = phrase_at(head, begin, "pronouns", prefer=language, only=True)
    if pronoun is None:
        return False
    first, *more = pronoun.phrase.split()
    return "'" in first or (bool(more) and first in language.pronouns)


def _strip_ending(text: str, language: Language) -> tuple[str, bool]:
    end = body_end(text)
    ending = phrase_ending_at(fold(text), end, "amends", prefer=language, only=True)
    if ending is None or not has_words(text[: ending.start]):
        return text, False
    return text[: ending.start].rstrip(SEPARATORS + "-–—"), True


# -- applying it to the statement ------------------------------------------------------------------------


def apply_correction(old: str, correction: SpokenCorrection, language: Language) -> str | None:
    """Return the line that replaces `old`; None if the correction is about something else.

    If it says only what is different ("it is May 4th"), that part of the old line is replaced. Returns UNSURE
    if the part is unclear: nothing is guessed. The new line keeps the closing marks of the old one.
    """
    old = " ".join(old.split())
    statement = old.rstrip(ENDS + " ")
    new = corrected_statement(statement, correction, language)
    if not new:
        return new
    marks = old[len(statement) :].strip()
    return format_fact(new.rstrip(ENDS + " ") + marks if marks else new)


def corrected_statement(statement: str, correction: SpokenCorrection, language: Language) -> str | None:
    """Return the same without capital and full stop; `statement` has no closing marks."""
    if correction.not_this:
        return _replace_wrong_words(statement, correction, language)
    rest = correction.rest.rstrip(ENDS + " ")
    pronoun = _match_pronoun(rest, language)
    value = rest[pronoun.end :].lstrip(SEPARATORS) if pronoun else rest
    if not has_words(value):
        return None
    tokens, said = _tokens(statement, language), _tokens(value, language)
    start = _copula_end(tokens, language)
    if pronoun is None and not _is_fragment(said, tokens[:start], tokens, language):
        return _replace_statement(tokens, rest, statement, correction, language)
    gap = "" if language.spacing == "none" else " "
    if pronoun is None and language.spacing == "words" and _replaces_subject(said, tokens, language):
        return gap.join([*said, *tokens[len(said) :]])
    begun = start or (0 if language.spacing == "none" else 1)
    says_what = pronoun is None or _ends_in_copula(pronoun, language)
    if (found := _find_span(said, tokens[begun:], language)) is not None:
        first, last = begun + found[0], begun + found[1]
    elif (found := _find_last_noun(said, tokens, begun, language)) is not None:
        first, last = found
        if _is_article(said[0]) and _strip_marks(tokens[first - 1]) in _WITH_ARTICLE:
            said = said[1:]
    elif (
        start
        and says_what
        and (correction.certain or pronoun)
        and len(tokens) - start <= _MAX_WORDS_AFTER_COPULA
    ):
        first, last = start, len(tokens)
    else:
        return UNSURE if correction.certain else None
    if _keeps_preposition(tokens[first:last], said, language):
        said = said[1:] if _strip_marks(tokens[first]) in _WITH_ARTICLE and _is_article(said[0]) else said
        first += 1
    return gap.join([*tokens[:first], *said, *tokens[last:]])


def _replace_wrong_words(statement: str, correction: SpokenCorrection, language: Language) -> str | None:
    """Return the line with the wrong words replaced; they must occur in it exactly once."""
    old, new = correction.not_this, correction.rest
    nothing = UNSURE if correction.certain else None
    if language.spacing == "none":
        return statement.replace(old, new) if statement.count(old) == 1 else nothing
    tokens, wrong = statement.split(), old.split()
    for shorter in range(min(2, len(wrong))):  # "not the peanuts" matches "to peanuts"
        words = [_strip_marks(each) for each in wrong[shorter:]]
        places = [
            at
            for at in range(len(tokens))
            if [_strip_marks(each) for each in tokens[at : at + len(words)]] == words
        ]
        if len(places) == 1 and (shorter == 0 or _strip_marks(wrong[0]) in _stop_words(language)):
            right = new.split()
            if shorter and len(right) > 1 and _strip_marks(right[0]) == _strip_marks(wrong[0]):
                right = right[1:]
            at = places[0]
            return " ".join([*tokens[:at], *right, *tokens[at + len(words) :]])
    return nothing


def _replaces_subject(said: Sequence[str], tokens: Sequence[str], language: Language) -> bool:
    """Return whether "my brother" replaces "my sister" at the beginning of the statement."""
    size = len(said)
    return (
        1 < size < len(tokens) - 1
        and _strip_marks(said[0]) == _strip_marks(tokens[0])
        and not _is_article(said[0])
        and _strip_marks(said[0]) in _stop_words(language)
        and _strip_marks(said[-1]) not in map(_strip_marks, tokens)
        and _strip_marks(tokens[size]) in {*language.verbs, *language.copulas}
    )


def _find_last_noun(
    said: Sequence[str], tokens: Sequence[str], begun: int, language: Language
) -> tuple[int, int] | None:
    """Return the span of the last noun, which another noun replaces: "peanuts" in "allergic to peanuts".

    None if it is unclear. The noun stands alone after a preposition, an article or a verb: "green tea" may
    become "coffee" or "green coffee".
    """
    if language.spacing != "words" or language.script or any(map(str.isdigit, said[0])):
        return None
    function_words = _stop_words(language) | set(language.verbs) | set(language.copulas)
    words = said[1:] if _is_article(said[0]) else said
    if not words or _strip_marks(words[0]) in function_words:
        return None
    last = len(tokens)
    first = next(
        (at + 1 for at in reversed(range(begun, last)) if _strip_marks(tokens[at]) in function_words), begun
    )
    if last - first != 1 or any(map(str.isdigit, tokens[first])) or tokens[first - 1][-1] in _PUNCTUATION:
        return None
    if _is_article(said[0]) and first > begun and _is_article(tokens[first - 1]):
        first -= 1
    return first, last


def _stop_words(language: Language) -> Set[str]:
    from memory.stop_words import load_stop_words

    return set(load_stop_words(language.code))


def _match_pronoun(text: str, language: Language) -> Match | None:
    return phrase_at(fold(text), skip(fold(text), 0, OPENERS), "pronouns", prefer=language, only=True)


def _ends_in_copula(pronoun: Match, language: Language) -> bool:
    return any(pronoun.phrase.endswith(each) or each in pronoun.phrase.split() for each in language.copulas)


def _tokens(text: str, language: Language) -> list[str]:
    """Return the words; in scripts without spaces single characters, numbers and words of other scripts."""
    return re.findall(r"[0-9０-９]+|[A-Za-zÀ-ɏ]+|.", text) if language.spacing == "none" else text.split()


def _copula_end(tokens: Sequence[str], language: Language) -> int:
    """Return the index after the first "is" that has words on both sides; 0 if there is none."""
    for at in range(1, len(tokens) - 1):
        if _strip_marks(tokens[at]) in language.copulas or (
            language.spacing == "none" and "".join(tokens[: at + 1]).endswith(language.copulas)
        ):
            return at + 1
    return 0


def _is_fragment(
    said: Sequence[str], subject: Sequence[str], tokens: Sequence[str], language: Language
) -> bool:
    """Return whether it says only what is different and is no statement of its own."""
    text = fold(("" if language.spacing == "none" else " ").join(said))
    if phrase_at(text, 0, "subjects", prefer=language, only=True):
        return False
    if _copula_end(said, language):
        return False
    shared = 2 if _is_article(said[0]) else 1
    if language.spacing != "none" and subject and _share_prefix(said, subject, shared):
        return False
    if language.spacing == "words" and not language.verb_last:
        return len(said) < len(tokens) and set(language.verbs).isdisjoint(map(_strip_marks, said[1:]))
    return len(said) < len(tokens)


def _replace_statement(
    tokens: Sequence[str], rest: str, old: str, correction: SpokenCorrection, language: Language
) -> str | None:
    """Return the line in which a full statement replaces the old one, or a part of it that begins alike."""
    from memory.tokenizer import parse_query

    new = _tokens(rest, language)
    for at in range(1, len(tokens) - 1):
        if language.spacing != "none" and _share_prefix(new, tokens[at:], 2):
            return " ".join([*tokens[:at], *new, *tokens[at + len(new) :]])
    new_terms, old_terms = set(parse_query(rest)), set(parse_query(old))
    most = max(len(new_terms), len(old_terms), 1)
    is_same = len(new_terms & old_terms) / most >= _MIN_SHARED_WORDS or (
        correction.certain and _share_prefix(new, tokens, 2)
    )
    return rest if is_same else None


def _share_prefix(one: Sequence[str], other: Sequence[str], count: int) -> bool:
    first, second = (
        [_strip_marks(each) for each in one[:count]],
        [_strip_marks(each) for each in other[:count]],
    )
    return len(first) == count and first == second


def _find_span(said: Sequence[str], among: Sequence[str], language: Language) -> tuple[int, int] | None:
    """Return the span that is replaced: words that begin or end alike, the only number, the only name."""
    new, there = [_strip_marks(each) for each in said], [_strip_marks(each) for each in among]
    if not new or not there:
        return None
    if new[0] in there:
        first = there.index(new[0])
        if len(new) > 1 and new[-1] in there[first + 1 :]:
            return first, there.index(new[-1], first + 1) + 1
        if not _is_article(said[0]) or (there.count(new[0]) == 1 and len(new) > 1):
            return first, min(first + len(new), len(there))
    if (weekday := _find_weekday(new, there)) is not None:
        return weekday
    if (
        new[-1] in there
        and has_words(new[-1])
        and (language.spacing != "none" or _is_only_number(new[0], there))
    ):
        last = there.index(new[-1])
        return max(0, last + 1 - len(new)), last + 1
    if len(new) == 1:
        numbers = [at for at, word in enumerate(there) if any(map(str.isdigit, word))]
        if any(map(str.isdigit, new[0])):
            return (numbers[0], numbers[0] + 1) if len(numbers) == 1 else None
    return _find_name(said, among)


def _find_weekday(said: Sequence[str], among: Sequence[str]) -> tuple[int, int] | None:
    """Return the span of the only weekday if another weekday is said."""
    from memory.dates.folding import fold_letters
    from memory.dates.lexicon import load_lexicon

    weekdays = load_lexicon().weekdays
    if len(said) != 1 or fold_letters(said[0]) not in weekdays:
        return None
    places = [at for at, word in enumerate(among) if fold_letters(word) in weekdays]
    return (places[0], places[0] + 1) if len(places) == 1 else None


def _is_only_number(said: str, among: Sequence[str]) -> bool:
    """Return whether a number is said, and no other number."""
    return said.isdecimal() and sum(map(str.isdecimal, among)) == 1


def _find_name(said: Sequence[str], among: Sequence[str]) -> tuple[int, int] | None:
    """Return the span of the only words written like a name if a name is said."""
    if not all(each[0].isupper() for each in said):
        return None
    names = [at for at, word in enumerate(among) if word[0].isupper()]
    in_a_row = bool(names) and names[-1] - names[0] == len(names) - 1
    return (names[0], names[-1] + 1) if in_a_row else None


def _keeps_preposition(old: Sequence[str], new: Sequence[str], language: Language) -> bool:
    """Return whether "under" of "under the mat" stays if "the stone" is said."""
    stop_words = _stop_words(language)
    if language.spacing != "words" or len(old) < 2 or _strip_marks(old[0]) == _strip_marks(new[0]):
        return False
    if old[0][0].isupper() or _is_article(old[0]) or _strip_marks(old[0]) not in stop_words:
        return False
    return _is_article(new[0]) or _strip_marks(new[0]) not in stop_words


def _is_article(word: str) -> bool:
    return _strip_marks(word) in _ARTICLES


def _strip_marks(word: str) -> str:
    return fold(word).strip(_PUNCTUATION) or word
