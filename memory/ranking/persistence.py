"""Recognises statements that hold until something else is said: "lives in Bonn", "Phone: 123", not "went to Bonn"."""

from collections.abc import Mapping, Sequence, Set
from functools import cache, lru_cache
from itertools import pairwise

from memory.ranking.state_words import (
    ARTICLES,
    DAYS,
    GENITIVES,
    NO_SPACES,
    PASSING,
    PASSING_BY_LETTER,
    SLOTS,
    SLOTS_BY_LETTER,
    WITHOUT_COPULA,
    StateWords,
    load_state_words,
)
from memory.stop_words import load_all_stop_words, load_stop_words

MAX_OWN_WORDS = 4
"""Maximum words before a number where no "is" is needed: "мой номер телефона 123"."""

MAX_FUNCTION_LETTERS = 2
"""A word with so few letters means nothing by itself; few languages have a list of stop words."""

MIN_LONG_SLOT = 5
"""A longer slot may be part of a word: "Telefonnummer", "Lieblingscafé"."""

SMALL_VALUES = (
    *(
        "password",
        "passwort",
        "kennwort",
        "code",
        "contraseña",
        "senha",
        "wachtwoord",
        "lösenord",
        "hasło",
        "пароль",
    ),
    *("key", "schlüssel", "clé", "clave", "llave", "chave", "chiave", "sleutel", "nyckel", "klucz", "ключ"),
    *("favo", "liebl", "préféré", "preferit", "ulubion", "любим", "улюблен"),
)
"""Slots whose values may begin with a small letter."""

MAX_WORDS_KEPT = 4096
"""Words for which it is remembered whether they name a slot."""

CONTACTS = ("phone", "tel", "mobil", "handy", "e-mail", "email", "mail", "тел")
"""Beginnings of labels that may also say with whom somebody talked."""

NAMING = ("called", "named")
"""Words between "is" and a name."""

FIRST_PERSONS = ("我", "私", "僕", "俺")

NAME_SLACK = 2
"""Letters that two values may share at their beginning in scripts without spaces: 波恩, 波士顿."""

_LONG_SLOTS = tuple(slot for slot in SLOTS if len(slot) > MIN_LONG_SLOT)
_LONG_PASSING = tuple(word for word in PASSING if len(word) > MIN_LONG_SLOT)
_POSSESSIVES = ("'s", "’s")


def is_lasting_label(label: Sequence[str], values: Sequence[Sequence[str]], *, by_letter: bool) -> bool:
    """Return whether a label names a slot of one value: not "Todo: call Tom" or "Lunch with Anna: soup"."""
    languages = load_state_words()
    numbers = all(map(_has_digit, values))
    if _names_day(label, by_letter=by_letter) or not _names_slot(label, by_letter=by_letter):
        return False
    if by_letter:
        return numbers or any(own in "".join(label) for code in NO_SPACES for own in languages[code].own)
    own = GENITIVES.union(*(words.own for words in languages.values()))
    is_owned = any(word.lower() in own or word.lower().endswith(_POSSESSIVES) for word in label)
    if is_owned and all(len(value) == 1 for value in values):
        return True
    is_contact = any(word.lower().startswith(CONTACTS) for word in label)
    if not is_contact and all(map(_is_name, values)):
        return True  # "Doctor: Weber", but not "Phone: Anna", with whom somebody talked
    return all(_has_digit(value) or "@" in value[0] for value in values)


def is_lasting_value(
    before: Sequence[str], after: Sequence[str], values: Sequence[Sequence[str]], *, by_letter: bool
) -> bool:
    """Return whether the words before and after a value say how something is.

    "Is" needs a subject of two words ("Anna's bank"), or what is mine ("my bank"): "Anna is tired" is no fact that
    "Anna is a teacher" changes. For a number, and after a verb such as "lives", one word is enough.
    """
    numbers = all(map(_has_digit, values))
    if _names_day((*before, *after), by_letter=by_letter):
        return False
    if by_letter:
        return _lasts_by_letter("".join(before), "".join(after), numbers)
    if len({_kind_of(value) for value in values}) > 1:
        return False  # "her teacher is Mrs Park" and "her teacher is ill"
    languages = load_state_words()
    if numbers and any(
        word in load_all_stop_words() for value in values for word in map(str.lower, value[1:])
    ):
        return False  # "1.20 at Aldi"
    if (
        numbers
        and not after
        and _names_slot(before, by_letter=False)
        and any(_is_short_and_mine(before, languages[code]) for code in WITHOUT_COPULA)
    ):
        return True
    spoken = {code for word in (*before, *after[-2:]) for code in _languages_of_states().get(word, ())}
    return not _is_passing((*before, *after)) and any(
        _lasts_in(languages[code], load_stop_words(code), before, after, values) for code in spoken
    )


def is_lasting(words: Sequence[str], label: int, after_shared: int, value: int, *, number: bool) -> bool:
    """Return whether a statement says that it lasts: by a word for it, or by "is" before its value.

    `words`: in lower case; `label`: how many of them are its label; `after_shared`: the index after those that name
    the fact; `value`: that of the value, a name or a number.
    """
    if _names_day(words, by_letter=False) or _is_passing(words):
        return False
    if after_shared <= label <= value:
        return True
    for language in _spaced_languages().values():
        if not (language.verbs | language.lasting).isdisjoint([*words, *map("_".join, pairwise(words))]):
            return True
        if not language.copulas.isdisjoint(words[after_shared:value]) and _names_slot(words, by_letter=False):
            return True
        if number and not language.has.isdisjoint(words):
            return True
    return False


def tells_state(spelled: Sequence[str], *, by_letter: bool) -> bool:
    """Return whether a statement alone says how something is, for long: "Anna lives in Bonn", not "Anna is tired".

    "Is" needs an article, a name or a number after it, or the name of a slot: "is a teacher", "is called Tom".
    """
    words = [word.lower() for word in spelled]
    if _names_day(words, by_letter=by_letter):
        return False
    if by_letter:
        text = "".join(words)
        return _names_slot(words, by_letter=True) or any(
            state in text[1:] for code in NO_SPACES for state in load_state_words()[code].verbs
        )
    if _is_passing(words):
        return False
    pairs = list(map("_".join, pairwise(words)))
    for language in _spaced_languages().values():
        if not language.verbs.isdisjoint((*words, *pairs)):
            return True
        for at, word in enumerate(words):
            if at and word in language.copulas and _is_named(spelled[at + 1 :]):
                return True
    return _names_slot(words, by_letter=False) and _has_digit(spelled)


def _is_named(after: Sequence[str]) -> bool:
    """Return whether what follows "is" begins with an article, a name or a number."""
    for word in after:
        if word[0].isupper() or word[0].isdigit() or word in ARTICLES:
            return True
        if word not in load_all_stop_words() and word not in NAMING:
            return False
    return False


def names_subject(spelled: Sequence[str], *, by_letter: bool) -> bool:
    """Return whether a statement names whom it is about before its first word of state: not "She lives in Bonn"."""
    if by_letter:
        return not "".join(spelled).startswith(FIRST_PERSONS)
    words = [word.lower() for word in spelled]
    states = _languages_of_states()
    at = next((at for at, word in enumerate(words) if word in states), 0)
    subject = [word for word in words[:at] if word not in ARTICLES | GENITIVES]
    return bool(subject) and not any(word in load_all_stop_words() for word in subject)


def says_nothing(word: str) -> bool:
    """Return whether a word, in lower case, names neither a person nor a thing: "is", "now", "the"."""
    return word in load_all_stop_words() or word in _words_of_states()


def _names_day(words: Sequence[str], *, by_letter: bool) -> bool:
    if by_letter:
        text = "".join(words)
        return any(day in text for day in DAYS)
    return not DAYS.isdisjoint(word.lower().removesuffix("'s") for word in words)


def _names_slot(words: Sequence[str], *, by_letter: bool) -> bool:
    """Return whether words name what somebody has one of, such as a bank, and nothing that is soon over."""
    if by_letter:
        text = "".join(words)
        return any(slot in text for slot in SLOTS_BY_LETTER) and not any(
            passing in text for passing in PASSING_BY_LETTER
        )
    return any(map(_is_slot, words)) and not _is_passing(words)


@lru_cache(MAX_WORDS_KEPT)
def _is_slot(word: str) -> bool:
    word = word.lower().removesuffix("'s").removesuffix("’s")
    return any(
        part in SLOTS or part.startswith(_LONG_SLOTS) or part.endswith(_LONG_SLOTS)
        for part in (word, *word.split("-"))
    )


def _is_passing(words: Sequence[str]) -> bool:
    return any(map(_is_passing_word, words))


@lru_cache(MAX_WORDS_KEPT)
def _is_passing_word(word: str) -> bool:
    return any(part in PASSING or part.endswith(_LONG_PASSING) for part in word.lower().split("-"))


def _lasts_in(
    language: StateWords,
    function_words: Set[str],
    before: Sequence[str],
    after: Sequence[str],
    values: Sequence[Sequence[str]],
) -> bool:
    numbers = all(map(_has_digit, values))
    states = language.copulas | language.verbs
    if numbers and len(after) < 2 and all(len(value) == 1 for value in values):
        states |= language.has  # "has 2 children", not "has brought 3 cakes"
    if len(after) > 1 and after[-2] in language.verbs and after[-1] in language.copulas:
        after = after[:-1]  # "रहती है"
    # Before a number there may be one other word: "my address is calle Mayor 5".
    found = _find_state(before, after, states, function_words, others=int(numbers))
    if found is None:
        return False
    place, state = found
    led = [value[0].lower() in function_words - ARTICLES for value in values]
    if any(led) if state in language.verbs else len(set(led)) > 1:
        return False  # "lives in Bonn" and "lives with Tom" are both true
    if state not in language.verbs and not _names_slot((*before, *after), by_letter=False):
        return False
    is_small = not numbers and any(value[0][0].islower() for value in values)
    may_be_small = any(word.startswith(SMALL_VALUES) or word.endswith(SMALL_VALUES) for word in before)
    if state not in language.verbs and is_small and not may_be_small:
        return False  # "My boss is angry" is soon over, "my favourite colour is blue" is not.
    subject = before[:place]
    content = sum(1 + word.count("-") for word in subject if word not in load_all_stop_words())
    if state in language.own or (content and not language.own.isdisjoint(subject)):
        return True
    return content > (0 if numbers or state in language.verbs else 1)


def _find_state(
    before: Sequence[str], after: Sequence[str], states: Set[str], function_words: Set[str], *, others: int
) -> tuple[int, str] | None:
    """Return the word of state, and where the subject ends.

    Only function words and as many `others` may stand between it and the value; or else it is the last word.
    """
    for place in range(len(before) - 1, -1, -1):
        pair = "_".join(before[max(0, place - 1) : place + 1])
        if pair in states:
            return max(0, place - 1), pair
        if before[place] in states:
            return place, before[place]
        others -= len(before[place]) > MAX_FUNCTION_LETTERS and before[place] not in function_words
        if others < 0:
            break
    return (len(before), after[-1]) if after and after[-1] in states else None


def _is_short_and_mine(before: Sequence[str], language: StateWords) -> bool:
    return len(before) <= MAX_OWN_WORDS and before[0] in language.own


def _lasts_by_letter(before: str, after: str, numbers: bool) -> bool:
    before, after = before.rstrip(" 0123456789" if numbers else " "), after.strip()
    for code in NO_SPACES:
        language = load_state_words()[code]
        is_enough = _names_slot((before, after), by_letter=True) and (
            numbers or any(own in before for own in language.own)
        )
        for state in language.verbs:
            at = before.rfind(state, max(0, len(before) - len(state) - NAME_SLACK))
            if at > 1 or before[: max(0, at)] in FIRST_PERSONS or (len(before) > 1 and after.endswith(state)):
                return True
        for state in language.copulas:
            if (
                is_enough
                and len(before) > len(state) + 1
                and (before.endswith(state) or after.endswith(state))
            ):
                return True
        if is_enough and numbers and not after and any(map(before.endswith, language.lasting)):
            return True
    return False


@cache
def _spaced_languages() -> Mapping[str, StateWords]:
    return {code: words for code, words in load_state_words().items() if code not in NO_SPACES}


@cache
def _words_of_states() -> Set[str]:
    return {
        word
        for language in _spaced_languages().values()
        for states in (language.copulas, language.verbs, language.lasting, language.own, language.has)
        for state in states
        for word in state.split("_")
    }


@cache
def _languages_of_states() -> Mapping[str, Set[str]]:
    """Return the languages in which a word is one of state, or the last of two, by word.

    Most statements have no such word, and comparing each with the words of all languages takes .2 ms a pair.
    """
    found: dict[str, set[str]] = {}
    for code, language in _spaced_languages().items():
        for state in language.copulas | language.verbs | language.has:
            found.setdefault(state.rpartition("_")[2], set()).add(code)
    return found


def _has_digit(value: Sequence[str]) -> bool:
    return any(map(str.isdigit, "".join(value)))


def _is_name(value: Sequence[str]) -> bool:
    return all(word[0].isupper() for word in value)


def _kind_of(value: Sequence[str]) -> str:
    """Return whether a value begins with a capital letter, a small one, a digit, or a letter without case."""
    first = value[0][0]
    return "digit" if first.isdigit() else "upper" if first.isupper() else "lower" if first.islower() else ""
